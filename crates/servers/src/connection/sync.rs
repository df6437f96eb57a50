//! What those wait for each other with who ask for the same, or take turns. A test that explores
//! every order of them has its own in this place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
