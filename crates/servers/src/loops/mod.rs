//! Verbs of the loops that wait until a connection is ready.

pub(crate) mod helpers;
pub(crate) mod phases;
