//! Verbs of the loops that wait until a connection is ready, and of pipelines of them.

pub(crate) mod accepting;
pub(crate) mod helpers;
mod holding;
pub(crate) mod phases;
pub(crate) mod stages;
