//! A queue with a bound, between those who have work and those who do it.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;

use measure::Duration;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError, Wake};

/// Waited for by threads, or by a poller that watches [`Queue::wake`].
pub struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    more: Condvar,
    /// Some were taken, by [`Queue::take_some`] or [`Queue::drain`].
    room: Condvar,
    wake: Option<Arc<Wake>>,
    max: usize,
}

/// What was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Took {
    /// One item at least.
    Some,
    /// Nothing came in time.
    Nothing,
    /// Nothing, and nothing will come: the queue is closed.
    End,
}

struct Waiting<T> {
    items: VecDeque<T>,
    /// No more will come.
    is_closed: bool,
}

impl<T> Queue<T> {
    /// An empty queue that takes at most `max` items, for threads.
    #[must_use]
    pub fn new(max: usize) -> Self {
        let waiting = Waiting { items: VecDeque::new(), is_closed: false };
        let (more, room) = (Condvar::new(), Condvar::new());
        Self { waiting: Mutex::new(waiting), more, room, wake: None, max }
    }

    /// As [`Self::new`], for a poller.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn polled(max: usize) -> io::Result<Self> {
        Ok(Self { wake: Some(Arc::new(Wake::new()?)), ..Self::new(max) })
    }

    /// Becomes readable when something is there.
    ///
    /// # Panics
    /// The queue is not one for a poller.
    #[must_use]
    pub const fn wake(&self) -> &Arc<Wake> {
        self.wake.as_ref().expect("made for a poller")
    }

    /// Whoever waits with a poller is to look up, though nothing has come.
    pub fn try_wake(&self) {
        self.wake.iter().for_each(|wake| wake.wake());
    }

    /// Adds an item.
    ///
    /// # Errors
    /// The queue is full: the item, for who pushed it to do without.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut waiting = self.locked();
        if waiting.items.len() >= self.max {
            return Err(item);
        }
        waiting.items.push_back(item);
        drop(waiting);
        self.tell();
        Ok(())
    }

    /// Adds items that belong together. Whoever waits is told of the first, and again when
    /// there are `enough`. `false`: not all of them have room, and none is added.
    #[must_use]
    pub fn push_all(&self, items: &[T], enough: usize) -> bool
    where
        T: Copy,
    {
        let mut waiting = self.locked();
        let before = waiting.items.len();
        let after = before + items.len();
        if after > self.max {
            return false;
        }
        waiting.items.extend(items);
        drop(waiting);
        if before == 0 || (before < enough && after >= enough) {
            self.tell();
        }
        true
    }

    /// Moves items to the queue, in their order, as far as there is room for them; the others stay.
    /// Returns how many were moved.
    pub fn put(&self, items: &mut VecDeque<T>) -> usize {
        let mut waiting = self.locked();
        let before = waiting.items.len();
        let moved = items.len().min(self.max.saturating_sub(before));
        waiting.items.extend(items.drain(..moved));
        drop(waiting);
        match (&self.wake, moved) {
            (_, 0) => {}
            // Whoever takes any takes all, and clears it first.
            (Some(wake), _) if before == 0 => wake.wake(),
            (Some(_), _) => {}
            (None, 1) => self.more.notify_one(),
            (None, _) => self.more.notify_all(),
        }
        moved
    }

    /// The same, and waits until there is room for all of them. Where nobody takes any it waits for
    /// ever, unless the queue is closed: what is left then stays.
    pub fn put_all(&self, items: &mut VecDeque<T>) {
        while !items.is_empty() {
            self.put(items);
            let is_full =
                |waiting: &mut Waiting<T>| waiting.items.len() >= self.max && !waiting.is_closed;
            if !items.is_empty() {
                let waited = self.room.wait_while(self.locked(), is_full);
                if waited.unwrap_or_else(PoisonError::into_inner).is_closed {
                    return;
                }
            }
        }
    }

    /// Waits for the first item, no longer than that, and moves up to `most` into `into`.
    pub fn take_some(&self, into: &mut VecDeque<T>, most: usize, patience: Duration) -> Took {
        let is_empty = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waited = self.more.wait_timeout_while(self.locked(), patience, is_empty);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let some = waiting.items.len().min(most);
        into.extend(waiting.items.drain(..some));
        let is_closed = waiting.is_closed;
        drop(waiting);
        match some {
            0 if is_closed => Took::End,
            0 => Took::Nothing,
            _ => {
                self.room.notify_all();
                Took::Some
            }
        }
    }

    /// How many items wait.
    pub fn length(&self) -> usize {
        self.locked().items.len()
    }

    /// Waits for an item; nothing: the queue is closed and empty.
    pub fn pop(&self) -> Option<T> {
        let is_empty = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waiting = self.more.wait_while(self.locked(), is_empty);
        waiting.unwrap_or_else(PoisonError::into_inner).items.pop_front()
    }

    /// Waits for the first item, and then, for so long, until there are `enough`; swaps all of them
    /// with `into`, which has to be empty. `false`: the queue is closed and empty.
    pub fn take(&self, into: &mut VecDeque<T>, enough: usize, patience: Duration) -> bool {
        let is_empty = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waiting = self.more.wait_while(self.locked(), is_empty);
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let are_few = |waiting: &mut Waiting<T>| waiting.items.len() < enough && !waiting.is_closed;
        let waited = self.more.wait_timeout_while(waiting, patience, are_few);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut waiting.items, into);
        !into.is_empty()
    }

    /// Swaps all items there are with `into`, which has to be empty, without waiting: the poller's
    /// end.
    ///
    /// # Panics
    /// The queue is not one for a poller.
    pub fn drain(&self, into: &mut VecDeque<T>) {
        // First, so that what comes in between is told of again.
        self.wake().clear();
        mem::swap(&mut self.locked().items, into);
        self.room.notify_all();
    }

    /// No more will come: whoever waits hears so when all is taken.
    pub fn close(&self) {
        self.locked().is_closed = true;
        self.more.notify_all();
        self.room.notify_all();
    }

    fn tell(&self) {
        match &self.wake {
            Some(wake) => wake.wake(),
            None => self.more.notify_one(),
        }
    }

    // Nothing that could panic happens while it is held.
    fn locked(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
