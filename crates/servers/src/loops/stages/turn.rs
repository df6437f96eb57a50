//! Whose turn it is: one who gives a batch and waits until all of it has been worked on, or those
//! who share it out among themselves.

use std::collections::VecDeque;
use std::mem;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// See the head of this file.
pub(crate) struct Turn<T> {
    shared: Mutex<Shared<T>>,
    /// Something is to be done, or nothing will be any more.
    more: Condvar,
    /// All of a batch has been.
    over: Condvar,
}

struct Shared<T> {
    batch: VecDeque<T>,
    /// How many of them one takes.
    each: usize,
    /// So many are at work.
    working: usize,
    /// So many have nothing to do.
    idle: usize,
    /// One of them was woken and has not come yet.
    is_called: bool,
    worked: Worked<T>,
    is_end: bool,
}

/// What became of a batch.
pub(crate) struct Worked<T> {
    /// Something else is wanted.
    pub(crate) done: VecDeque<T>,
    /// More of the same is.
    pub(crate) unfinished: VecDeque<T>,
}

impl<T> Turn<T> {
    pub(crate) fn new() -> Self {
        let (batch, worked) = (VecDeque::new(), Worked::default());
        let (is_called, is_end) = (false, false);
        let shared = Shared { batch, each: 0, working: 0, idle: 0, is_called, worked, is_end };
        Self { shared: Mutex::new(shared), more: Condvar::new(), over: Condvar::new() }
    }

    /// Has a batch worked on by so many at most, and waits for all of it. Called by one thread.
    pub(crate) fn give(&self, batch: &mut VecDeque<T>, among: usize) -> Worked<T> {
        if batch.is_empty() {
            return Worked::default();
        }
        let mut shared = self.locked();
        mem::swap(&mut shared.batch, batch);
        shared.each = shared.batch.len().div_ceil(among);
        if shared.calls() {
            self.more.notify_one();
        }
        let goes_on = |shared: &mut Shared<T>| !shared.batch.is_empty() || shared.working > 0;
        let waited = self.over.wait_while(shared, goes_on);
        mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).worked)
    }

    /// Waits for a share of a batch, which is to be given back; `false`: there will be none.
    pub(crate) fn take(&self, own: &mut VecDeque<T>) -> bool {
        let mut shared = self.locked();
        while shared.batch.is_empty() && !shared.is_end {
            shared.idle += 1;
            shared = self.more.wait(shared).unwrap_or_else(PoisonError::into_inner);
            shared.idle -= 1;
            shared.is_called = false;
        }
        let count = shared.each.min(shared.batch.len());
        if count == 0 {
            return false;
        }
        own.extend(shared.batch.drain(..count));
        shared.working += 1;
        // In case this one has to wait for the disk.
        let calls = !shared.batch.is_empty() && shared.calls();
        drop(shared);
        if calls {
            self.more.notify_one();
        }
        true
    }

    /// A share that was taken has been worked on.
    pub(crate) fn give_back(&self, worked: &mut Worked<T>) {
        let mut shared = self.locked();
        shared.working -= 1;
        shared.worked.done.append(&mut worked.done);
        shared.worked.unfinished.append(&mut worked.unfinished);
        if shared.batch.is_empty() && shared.working == 0 {
            self.over.notify_one();
        }
    }

    /// No batch comes any more.
    pub(crate) fn end(&self) {
        self.locked().is_end = true;
        self.more.notify_all();
    }

    // A thread that panics ends the process.
    fn locked(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Shared<T> {
    /// Whether one more is to be woken: none is on its way. Who comes wakes the next one; those who
    /// need not wait for the disk take the rest meanwhile, and no more are woken than are wanted.
    fn calls(&mut self) -> bool {
        let calls = self.idle > 0 && !self.is_called;
        self.is_called |= calls;
        calls
    }
}

impl<T> Default for Worked<T> {
    fn default() -> Self {
        Self { done: VecDeque::new(), unfinished: VecDeque::new() }
    }
}
