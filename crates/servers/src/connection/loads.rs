//! Which of the threads that ask for the same loads it.

use std::collections::HashSet;
use std::hash::Hash;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What threads are loading, so that others who ask for it wait.
pub(crate) struct Loads<K> {
    names: Mutex<HashSet<K>>,
    ended: Condvar,
}

/// The right to load a name; given up when dropped.
pub(crate) struct Alone<'l, K: Hash + Eq> {
    loads: &'l Loads<K>,
    name: K,
}

impl<K: Hash + Eq + Clone> Loads<K> {
    pub(crate) fn new() -> Self {
        Self { names: Mutex::new(HashSet::new()), ended: Condvar::new() }
    }

    /// The right to load that name; nothing where another thread had it: that has ended by now, and
    /// what it has found is in memory, if it can be kept.
    pub(crate) fn alone(&self, name: &K) -> Option<Alone<'_, K>> {
        let mut names = self.locked();
        if names.insert(name.clone()) {
            return Some(Alone { loads: self, name: name.clone() });
        }
        drop(self.ended.wait_while(names, |names| names.contains(name)));
        None
    }
}

impl<K: Hash + Eq> Loads<K> {
    // A thread that panicked has not left them half changed.
    fn locked(&self) -> MutexGuard<'_, HashSet<K>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> Drop for Alone<'_, K> {
    fn drop(&mut self) {
        self.loads.locked().remove(&self.name);
        self.loads.ended.notify_all();
    }
}
