//! Verbs of threads that have one connection in hand.

pub(crate) mod pool;
