//! The architectures: who performs which step of a request, and where.
//!
//! A [`Session`](session::Session) says what it wants; each architecture performs those wants in
//! its own way, in one short file that reads like its paper. [`registry`] is the table of them,
//! [`knobs`] the table of what an operator may change, [`counters`] the table of what is counted,
//! `phases` and `perform` the verbs that they share. [`serve`] runs one under the supervisor.
//!
//! Nothing here knows a header field, opens a socket by itself or calls the kernel: `h1`, `site`
//! and `os` do.
#![forbid(unsafe_code)]

mod admin;
pub mod admission;
mod amped;
mod completions;
mod confine;
pub mod counters;
mod crew;
mod dials;
pub mod error_log;
mod failure;
mod gate;
mod generation;
mod house;
pub mod knobs;
mod log;
mod mt;
mod orders;
mod party;
mod peer;
mod perform;
pub mod performer;
mod phases;
mod pool;
mod porter;
mod proactor;
pub mod proxy_protocol;
pub mod registry;
pub mod session;
pub mod settings;
mod slots;
mod sped;
pub mod stamps;
mod start;
mod supervisor;
mod timers;
mod trace;
mod upgrade;

pub use failure::Failure;
pub use house::House;
pub use start::judge;
pub use supervisor::{Program, plain, serve};
