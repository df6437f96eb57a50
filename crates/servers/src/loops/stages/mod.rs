//! Verbs of the pipelines: a connection goes from stage to stage, whole, and each stage performs
//! some of its wants (Pariag07 section 6; Choi05 section 4).
//!
//! Stages that wait for sockets hold connections ([`holding`]); the others take them from a queue,
//! a batch at a time ([`belt`]). The first of them accepts ([`door`]). What all of a pipeline have
//! to know of each other is in [`plant`].

pub(crate) mod belt;
pub(crate) mod carried;
pub(crate) mod crew;
pub(crate) mod door;
mod fetching;
pub(crate) mod holding;
pub(crate) mod line;
pub(crate) mod plant;
mod turn;
pub(crate) mod turns;

use std::io;

use crate::connection::sync;
use crate::shared::error_log::said_of_thread;

/// Stack of a stage's thread: its receive buffer is on the heap.
pub(crate) const STACK_BYTES: usize = 128 << 10;

/// A pipeline that cannot begin for want of a thread says so.
pub(crate) fn no_thread(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), said_of_thread(&error))
}
