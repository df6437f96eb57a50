//! Verbs of threads that have one connection in hand.

pub(crate) mod life;
pub(crate) mod pool;
