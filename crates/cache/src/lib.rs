//! What to keep and what to let go: replacement policies over a flat slab linked by `u32` index.
//!
//! [`Slab`] holds the entries and weighs them; a [`Policy`] decides who goes when they weigh too
//! much. A policy sees nothing but a slice of its own nodes and the index of an entry, so the same
//! code runs on the heap, in memory that processes share, and in a simulator that has no files.
//!
//! This crate never opens a file, never takes a lock and never hashes a key: finding an entry by
//! its name is its user's work. One policy is one file; [`Lru`] is the one that exists.
#![forbid(unsafe_code)]

mod list;
mod lru;
mod policy;
mod slab;
mod weight;

pub use lru::Lru;
pub use policy::Policy;
pub use slab::Slab;
pub use weight::Weight;
