//! Replacement policies, slabs, tables and extents, against naive models.
#![forbid(unsafe_code)]

mod corruption;
mod extents;
mod policies;
mod slab;
mod table;
