//! Verbs of threads that have one connection in hand.

mod holds;
pub(crate) mod life;
pub(crate) mod pool;
