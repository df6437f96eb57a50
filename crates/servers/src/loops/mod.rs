//! Verbs of the loops that wait until a connection is ready.

pub(crate) mod accepting;
pub(crate) mod helpers;
mod holding;
pub(crate) mod phases;
