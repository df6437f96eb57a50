//! What the pool waits with: as the queue does, with atomics and a socket of which only its end is
//! known.

#[path = "../../../../os/tests/it/queue_model/sync.rs"]
#[allow(dead_code, reason = "the queue waits in more ways")]
mod waits;

use std::io;
use std::sync::atomic::Ordering::SeqCst;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

pub(crate) use waits::{Condvar, Mutex, MutexGuard, PoisonError, Wake};

/// A connection.
pub(crate) struct Socket {
    id: u32,
    /// Who reads it receives an end.
    pub(crate) is_over: AtomicBool,
    /// What was sent is not kept when it is closed.
    pub(crate) is_reset: AtomicBool,
}

impl Socket {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, is_over: AtomicBool::new(false), is_reset: AtomicBool::new(false) }
    }

    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn shutdown_read(&self) -> io::Result<()> {
        self.is_over.store(true, SeqCst);
        Ok(())
    }

    pub(crate) fn shutdown_both(&self) -> io::Result<()> {
        self.shutdown_read()
    }

    pub(crate) fn reset_on_close(&self) {
        self.is_reset.store(true, SeqCst);
    }
}
