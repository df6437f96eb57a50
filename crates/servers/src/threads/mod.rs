//! Verbs of threads that have one connection in hand: the kernel's, in one process or each in its
//! own, and user-level ones.

pub(crate) mod entrance;
pub(crate) mod fibers;
mod holds;
pub(crate) mod life;
mod members;
pub(crate) mod pool;
pub(crate) mod single;
pub(crate) mod spawner;
mod sync;
