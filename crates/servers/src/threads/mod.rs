//! Verbs of threads that have one connection in hand.

mod holds;
pub(crate) mod life;
mod loads;
mod members;
pub(crate) mod pool;
mod sync;
