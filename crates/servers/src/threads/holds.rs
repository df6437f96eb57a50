//! The connections that threads hold: which of them wait, since when, and which go for others.

use std::collections::HashMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::Instant;
use os::Socket;

/// It waits for neither; it was told to go.
const BUSY: u64 = u64::MAX;
const LEAVES: u64 = u64::MAX - 1;

/// All of them, by descriptor.
#[derive(Default)]
pub(super) struct Holds {
    all: Mutex<HashMap<u32, Arc<Hold>>>,
    /// Those that were told to go and have not gone yet.
    leaving: AtomicU32,
}

/// One of them.
pub(super) struct Hold {
    pub(super) socket: Arc<Socket>,
    /// The place of its listening socket.
    pub(super) listener: usize,
    /// It is between two requests.
    is_idle: AtomicBool,
    /// Nanoseconds since when it has waited for a request or the rest of a head; or one of the two.
    waits_since: AtomicU64,
}

impl Holds {
    pub(super) fn insert(&self, socket: Arc<Socket>, listener: usize) -> Arc<Hold> {
        let hold = Arc::new(Hold {
            socket,
            listener,
            is_idle: AtomicBool::new(false),
            waits_since: AtomicU64::new(BUSY),
        });
        self.locked().insert(hold.socket.id(), Arc::clone(&hold));
        hold
    }

    /// Its thread lets go of it, before the descriptor is closed: no later one has it yet.
    pub(super) fn remove(&self, hold: &Hold) {
        self.locked().remove(&hold.socket.id());
        self.set(hold, BUSY);
    }

    /// What its thread says of it.
    pub(super) fn waits(&self, hold: &Hold, is_idle: bool, since: Option<Instant>) {
        if hold.is_idle.load(Relaxed) != is_idle {
            hold.is_idle.store(is_idle, SeqCst);
        }
        let since = since.map_or(BUSY, |since| since.ns);
        if hold.waits_since.load(Relaxed) != since {
            self.set(hold, since);
        }
    }

    pub(super) fn leaving(&self) -> u32 {
        self.leaving.load(Relaxed)
    }

    /// Closes up to `most` that have waited since `latest` or before, those that have for longest;
    /// `idle`: between two requests. Returns how many.
    pub(super) fn close_longest(&self, most: usize, idle: bool, latest: Instant) -> usize {
        let all = self.locked();
        let waits = |hold: &Hold| {
            let since = hold.waits_since.load(Relaxed);
            (since <= latest.ns && (!idle || hold.is_idle.load(Relaxed))).then_some(since)
        };
        let waiting = all.values().filter_map(|hold| Some((waits(hold)?, hold)));
        let mut longest: Vec<_> = waiting.collect();
        if longest.len() > most {
            longest.select_nth_unstable_by_key(most, |(since, _)| *since);
            longest.truncate(most);
        }
        longest.iter().filter(|(since, hold)| self.close(hold, *since)).count()
    }

    /// `false`: its thread was faster, and it does not wait any more.
    fn close(&self, hold: &Hold, since: u64) -> bool {
        self.leaving.fetch_add(1, SeqCst);
        if hold.waits_since.compare_exchange(since, LEAVES, SeqCst, SeqCst).is_err() {
            self.leaving.fetch_sub(1, SeqCst);
            return false;
        }
        // Its thread receives an end, as if the peer had closed; a request that was faster is
        // answered before.
        hold.socket.shutdown_read().is_ok()
    }

    fn set(&self, hold: &Hold, since: u64) {
        if hold.waits_since.swap(since, SeqCst) == LEAVES {
            self.leaving.fetch_sub(1, SeqCst);
        }
    }

    /// Ends the wait of every thread whose connection is idle; the others end after their reply.
    pub(super) fn end_idle(&self) {
        for hold in self.locked().values().filter(|hold| hold.is_idle.load(SeqCst)) {
            let _ = hold.socket.shutdown_read();
        }
    }

    // A thread that panicked has not left it half changed.
    fn locked(&self) -> MutexGuard<'_, HashMap<u32, Arc<Hold>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
