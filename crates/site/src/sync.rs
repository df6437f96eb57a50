//! The lock of an entry: a model of the cache has another.

pub(crate) use std::sync::Mutex;
