//! What MT's threads wait for each other with, and what a hold is on. A test that explores every
//! order of them has its own in this place.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) use os::{Socket, Wake};
