//! What the pool waits with, made of loom's, and a socket of which only its end is known.

use std::io;
use std::sync::LockResult;
pub(crate) use std::sync::PoisonError;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use loom::sync::{Mutex, MutexGuard};

pub(crate) struct Condvar(loom::sync::Condvar);

/// A descriptor that is readable or not, and one that waits for it.
pub(crate) struct Wake {
    is_readable: Mutex<bool>,
    more: Condvar,
}

/// A connection.
pub(crate) struct Socket {
    pub(crate) id: u32,
    /// Who reads it receives an end.
    pub(crate) is_over: AtomicBool,
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn wait_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        while condition(&mut guard) {
            guard = self.0.wait(guard)?;
        }
        Ok(guard)
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { is_readable: Mutex::new(false), more: Condvar::new() })
    }

    pub(crate) fn wake(&self) {
        *self.locked() = true;
        self.more.notify_all();
    }

    /// Until it is readable; it is not, then.
    pub(crate) fn wait(&self) {
        let waited = self.more.wait_while(self.locked(), |is_readable| !*is_readable);
        *waited.expect("nobody has panicked") = false;
    }

    fn locked(&self) -> MutexGuard<'_, bool> {
        // A thread that panics ends the exploration.
        self.is_readable.lock().expect("nobody has panicked")
    }
}

impl Socket {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, is_over: AtomicBool::new(false) }
    }

    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn shutdown_read(&self) -> io::Result<()> {
        self.is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}
