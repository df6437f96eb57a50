//! What to keep, where, and what to let go: the bookkeeping of a cache, in words.
//!
//! [`Slab`] gives entries their indices and weighs them; a [`Policy`] decides who goes when they
//! weigh too much, and who may come. [`Table`] finds an index by a hash, and [`Extents`] shares out
//! an arena for what is kept. Whatever they remember is in plain words of a [`Memory`] and is
//! linked by `u32`, so the same code runs on the heap, in memory that processes share, and in a
//! simulator that has no files. Zero words are empty structures.
//!
//! Whoever writes to shared memory can die halfway. So each has a `check`, which says whether words
//! are [`Corrupt`]; and with whatever words, each operation ends, be it by a panic.
//!
//! This crate never opens a file, never takes a lock and never hashes or compares a key: that is
//! its user's work, as is to keep what an index stands for. One policy is one file, and one row of
//! [`PolicyKind`].
#![forbid(unsafe_code)]

mod corrupt;
mod extents;
mod ghosts;
mod hinted;
mod lfu;
mod lru;
mod memory;
mod none;
mod policies;
mod policy;
mod ring;
mod s3_fifo;
mod sieve;
mod sketch;
mod slab;
mod state;
mod structured;
mod table;
mod w_tinylfu;
mod weight;

pub use corrupt::Corrupt;
pub use extents::Extents;
pub use hinted::Hinted;
pub use lfu::Lfu;
pub use lru::Lru;
pub use memory::Memory;
pub use none::NoCache;
pub use policies::{Class, PolicyKind};
pub use policy::{Arrival, Policy, STEPS_MAX};
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;
pub use slab::Slab;
pub use state::{OWN, State};
pub use structured::Structured;
pub use table::Table;
pub use w_tinylfu::WTinyLfu;
pub use weight::Weight;
