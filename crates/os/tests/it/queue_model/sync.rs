//! What the queue waits with, made of loom's.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::LockResult;
pub(crate) use std::sync::PoisonError;

use measure::Duration;

pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

pub(crate) struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    held: loom::sync::MutexGuard<'m, T>,
}

pub(crate) struct Condvar(loom::sync::Condvar);

/// A descriptor that is readable or not, and one that waits for it.
pub(crate) struct Wake {
    is_readable: Mutex<bool>,
    more: Condvar,
}

impl<T> Mutex<T> {
    pub(crate) fn new(of: T) -> Self {
        Self(loom::sync::Mutex::new(of))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.locked())
    }

    #[allow(dead_code, reason = "a pool tries, a queue waits")]
    pub(crate) fn try_lock(&self) -> Result<MutexGuard<'_, T>, ()> {
        let held = self.0.try_lock().map_err(drop)?;
        Ok(MutexGuard { mutex: self, held })
    }

    fn locked(&self) -> MutexGuard<'_, T> {
        // A thread that panics ends the exploration.
        MutexGuard { mutex: self, held: self.0.lock().expect("nobody has panicked") }
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    #[allow(dead_code, reason = "turns wait so, a queue does not")]
    pub(crate) fn wait<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
    ) -> LockResult<MutexGuard<'m, T>> {
        guard.held = self.0.wait(guard.held).expect("nobody has panicked");
        Ok(guard)
    }

    pub(crate) fn wait_while<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        Ok(self.waited(guard, condition))
    }

    fn waited<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        while condition(&mut guard) {
            guard.held = self.0.wait(guard.held).expect("nobody has panicked");
        }
        guard
    }

    /// Zero is over as soon as it has begun, but others may have held the lock meanwhile, for as
    /// long as they liked: so it stands for every time. Any other is never over.
    pub(crate) fn wait_timeout_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        patience: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'m, T>, bool)> {
        if patience > Duration::ZERO {
            return Ok((self.waited(guard, condition), false));
        }
        let is_over = condition(&mut guard);
        if is_over {
            let mutex = guard.mutex;
            drop(guard);
            guard = mutex.locked();
        }
        Ok((guard, is_over))
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
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
        *self.is_readable.locked() = true;
        self.more.notify_all();
    }

    pub(crate) fn clear(&self) {
        *self.is_readable.locked() = false;
    }

    /// Until it is readable.
    pub(crate) fn wait(&self) {
        drop(self.more.waited(self.is_readable.locked(), |is_readable| !*is_readable));
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}
