//! The load generator against servers that are scripted.
#![forbid(unsafe_code)]

mod engine;
