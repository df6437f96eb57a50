//! Controllers: from what is seen of a server to what is set. A file a controller, its constants
//! with their sources on top.
//!
//! This crate knows no clock, no socket and no thread: time is an argument, what is seen is a
//! value, and so is what is decided. So the same code runs in a server, in a model of one, and over
//! samples that were recorded.
#![forbid(unsafe_code)]

pub mod admission;
pub mod batching;
pub mod loads;
pub mod phase;
pub mod pool;
pub mod record;
pub mod response;
