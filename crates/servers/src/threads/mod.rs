//! Verbs of threads that have one connection in hand, in one process or each in its own.

pub(crate) mod entrance;
mod holds;
pub(crate) mod life;
mod loads;
mod members;
pub(crate) mod pool;
pub(crate) mod single;
pub(crate) mod spawner;
mod sync;
