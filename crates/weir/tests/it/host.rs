//! What the server gives up, what a service manager hears, and whom it believes.

mod addresses;
mod confinement;
mod memory;
mod packages;
mod proxies;
mod systemd;
mod terminal;
mod unix_sockets;
