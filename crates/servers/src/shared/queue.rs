//! A queue with a bound, between those who have work and those who do it.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use measure::Duration;
use os::Wake;

/// Waited for by threads, or by a poller that watches [`Queue::wake`].
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    more: Condvar,
    wake: Option<Wake>,
    max: usize,
}

struct Waiting<T> {
    items: VecDeque<T>,
    /// No more will come.
    is_closed: bool,
}

impl<T> Queue<T> {
    /// An empty queue that takes at most `max` items, for threads.
    pub(crate) const fn new(max: usize) -> Self {
        let waiting = Waiting { items: VecDeque::new(), is_closed: false };
        Self { waiting: Mutex::new(waiting), more: Condvar::new(), wake: None, max }
    }

    /// As [`Self::new`], for a poller.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn polled(max: usize) -> io::Result<Self> {
        Ok(Self { wake: Some(Wake::new()?), ..Self::new(max) })
    }

    /// Becomes readable when something is there.
    ///
    /// # Panics
    /// The queue is not one for a poller.
    pub(crate) const fn wake(&self) -> &Wake {
        self.wake.as_ref().expect("made for a poller")
    }

    /// Adds an item.
    ///
    /// # Errors
    /// The queue is full: the item, for who pushed it to do without.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
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
    /// there are `enough`.
    ///
    /// # Errors
    /// Not all of them have room: none is added.
    pub(crate) fn push_all(&self, items: &[T], enough: usize) -> Result<(), ()>
    where
        T: Copy,
    {
        let mut waiting = self.locked();
        let before = waiting.items.len();
        let after = before + items.len();
        if after > self.max {
            return Err(());
        }
        waiting.items.extend(items);
        drop(waiting);
        if before == 0 || (before < enough && after >= enough) {
            self.tell();
        }
        Ok(())
    }

    /// Waits for an item; nothing: the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let is_empty = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waiting = self.more.wait_while(self.locked(), is_empty);
        waiting.unwrap_or_else(PoisonError::into_inner).items.pop_front()
    }

    /// Waits for the first item, and then, for so long, until there are `enough`; swaps all of them
    /// with `into`, which has to be empty. `false`: the queue is closed and empty.
    pub(crate) fn take(&self, into: &mut VecDeque<T>, enough: usize, patience: Duration) -> bool {
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
    pub(crate) fn drain(&self, into: &mut VecDeque<T>) {
        // First, so that what comes in between is told of again.
        self.wake().clear();
        mem::swap(&mut self.locked().items, into);
    }

    /// No more will come: whoever waits hears so when all is taken.
    pub(crate) fn close(&self) {
        self.locked().is_closed = true;
        self.more.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_comes_back() {
        let queue = Queue::new(2);
        assert_eq!([1, 2, 3].map(|item| queue.push(item)), [Ok(()), Ok(()), Err(3)]);
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.push_all(&[4, 5], 1), Err(()));
        assert_eq!(queue.push_all(&[4], 1), Ok(()));
        queue.close();
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(2), Some(4), None]);
    }

    #[test]
    fn threads_share_what_comes_and_end_with_it() {
        let (queue, took) = (Queue::new(10), Queue::new(1000));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(item) = queue.pop() {
                        took.push(item).unwrap();
                    }
                });
            }
            for item in 0..1000 {
                while queue.push(item).is_err() {
                    std::thread::yield_now();
                }
            }
            queue.close();
        });
        let mut all = VecDeque::new();
        assert!(took.take(&mut all, 1, Duration::ZERO));
        all.make_contiguous().sort_unstable();
        assert!(all.iter().copied().eq(0..1000));
    }

    #[test]
    fn a_poller_hears_of_what_is_there() {
        let queue = Queue::polled(4).unwrap();
        let is_told =
            || os::wait_readable([queue.wake().as_fd_ref()], Some(Duration::ZERO)).unwrap()[0];
        assert!(!is_told());
        queue.push(1).unwrap();
        assert!(is_told());
        let mut all = VecDeque::new();
        queue.drain(&mut all);
        assert!(!is_told() && all == [1]);
    }
}
