//! The locks of the cache: a model of it has others.

pub(crate) use std::sync::{Mutex, MutexGuard};
