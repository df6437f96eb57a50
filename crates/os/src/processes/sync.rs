//! What threads wait for each other with. A test that explores every order of them has its own in
//! this place.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) use crate::Wake;
