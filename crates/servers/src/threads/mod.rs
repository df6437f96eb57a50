//! Verbs of threads that have one connection in hand, in one process or each in its own.

mod holds;
pub(crate) mod life;
mod loads;
mod members;
pub(crate) mod pool;
pub(crate) mod single;
mod sync;
