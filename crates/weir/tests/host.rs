//! What the server gives up, what a service manager hears, and whom it believes.
#![forbid(unsafe_code)]

#[path = "host/addresses.rs"]
mod addresses;
#[path = "host/confinement.rs"]
mod confinement;
#[path = "host/memory.rs"]
mod memory;
#[path = "host/packages.rs"]
mod packages;
#[path = "host/proxies.rs"]
mod proxies;
mod support;
#[path = "host/systemd.rs"]
mod systemd;
