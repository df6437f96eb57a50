//! Time and chance as data. Nothing in this crate reads a clock: `os::clock` makes an [`Instant`],
//! everybody else is handed one, so that the same code runs in a server, in a test and in a
//! simulator. What is random comes from a seeded [`Stream`](draw::Stream), so that it can be
//! repeated.
#![forbid(unsafe_code)]

pub mod draw;
mod instant;
pub mod student;

pub use core::time::Duration;
pub use instant::Instant;
