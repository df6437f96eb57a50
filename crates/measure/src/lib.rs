//! Time as data. Nothing in this crate reads a clock: `os::clock` makes an [`Instant`], everybody
//! else is handed one, so that the same code runs in a server, in a test and in a simulator.
#![forbid(unsafe_code)]

mod instant;

pub use core::time::Duration;
pub use instant::Instant;
