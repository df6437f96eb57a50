//! Verbs of the loops that wait until an operation is done.

pub(crate) mod completions;
mod connection;
pub(crate) mod ways;
