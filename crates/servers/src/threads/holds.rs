//! The connections that threads hold: which of them wait, since when, and which go for others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use measure::Instant;

use super::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, PoisonError, Socket};

/// It waits for neither; it was told to go.
const BUSY: u64 = u64::MAX;
const LEAVES: u64 = u64::MAX - 1;
/// Set in the time since when it waits: in a transfer.
const TRANSFERS: u64 = 1;

/// What a thread does with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Waits for a request or for the rest of a head, since then.
    Waits(Instant),
    /// Sends a reply or receives a body, and its peer has been too slow since then.
    Transfers(Instant),
    Serves,
    /// Has told it all, and lets go of it.
    Ends,
}

/// Since when a connection has to have waited to be evicted. `None`: those are not.
pub(super) struct Latest {
    pub(super) idle: Instant,
    pub(super) head: Option<Instant>,
    pub(super) transfer: Option<Instant>,
}

/// All of them, by descriptor.
pub(super) struct Holds {
    all: Mutex<HashMap<u32, Arc<Hold>>>,
    /// Those that were told to go and have not gone yet.
    leaving: AtomicU32,
    /// Evicted connections that were not between two requests, since this was last read.
    slow: AtomicU32,
}

/// One of them.
pub(super) struct Hold {
    pub(super) socket: Arc<Socket>,
    /// The place of its listening socket.
    pub(super) listener: usize,
    /// It is between two requests.
    is_idle: AtomicBool,
    /// Nanoseconds since when it has waited for a request or the rest of a head, an even number;
    /// since when its peer has been too slow in a transfer, an odd one; or one of the two.
    waits_since: AtomicU64,
}

impl Holds {
    pub(super) fn new() -> Self {
        let (leaving, slow) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { all: Mutex::new(HashMap::new()), leaving, slow }
    }

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

    /// Its thread has let go of it and is free again; the descriptor is not closed yet, so no later
    /// one has it.
    pub(super) fn remove(&self, hold: &Hold) {
        self.locked().remove(&hold.socket.id());
        if hold.waits_since.swap(BUSY, AcqRel) == LEAVES {
            self.leaving.fetch_sub(1, Release);
            self.slow.fetch_add(u32::from(!hold.is_idle.load(Relaxed)), Relaxed);
        }
    }

    /// What its thread says of it. Returns whether it was told to go meanwhile: a request that was
    /// faster is its last.
    pub(super) fn says(&self, hold: &Hold, is_idle: bool, does: Does) -> bool {
        if hold.is_idle.load(Relaxed) != is_idle {
            hold.is_idle.store(is_idle, SeqCst);
        }
        let says = match does {
            Does::Waits(since) => since.ns & !TRANSFERS,
            Does::Transfers(since) => since.ns | TRANSFERS,
            Does::Serves | Does::Ends => BUSY,
        };
        let known = hold.waits_since.load(Relaxed);
        let changes = || hold.waits_since.compare_exchange(known, says, AcqRel, Relaxed);
        if known != LEAVES && (known == says || changes().is_ok()) {
            return false;
        }
        // While it still waits, or ends, it goes. A reply may take long: somebody else has to.
        if let Does::Serves | Does::Transfers(_) = does {
            hold.waits_since.store(BUSY, Release);
            self.leaving.fetch_sub(1, Release);
        }
        true
    }

    /// How many were told to go and have not gone yet. Asked before how many threads are free: who
    /// goes in between counts twice, and not never.
    pub(super) fn leaving(&self) -> u32 {
        self.leaving.load(Acquire)
    }

    /// Reads how many connections were evicted that were not between two requests, since this was
    /// last read. A request that was faster has been answered, and does not count.
    pub(super) fn take_slow(&self) -> u32 {
        self.slow.swap(0, Relaxed)
    }

    /// Closes up to `most` connections, those that have waited for longest, and transfers only
    /// after all that wait for a request. Returns how many.
    pub(super) fn close_longest(&self, most: usize, latest: &Latest) -> usize {
        let all = self.locked();
        let waits = |hold: &Hold| {
            let since = hold.waits_since.load(Relaxed);
            let until = match since & TRANSFERS {
                TRANSFERS => latest.transfer,
                _ if hold.is_idle.load(Relaxed) => Some(latest.idle),
                _ => latest.head,
            };
            until.is_some_and(|until| since <= until.ns).then_some(since)
        };
        let waiting = all.values().filter_map(|hold| Some((waits(hold)?, hold)));
        let mut longest: Vec<_> = waiting.collect();
        if longest.len() > most {
            let order = |(since, _): &(u64, _)| (since & TRANSFERS, *since);
            longest.select_nth_unstable_by_key(most, order);
            longest.truncate(most);
        }
        longest.iter().filter(|(since, hold)| self.close(hold, *since)).count()
    }

    /// `false`: its thread was faster, and it does not wait any more.
    fn close(&self, hold: &Hold, since: u64) -> bool {
        self.leaving.fetch_add(1, AcqRel);
        if hold.waits_since.compare_exchange(since, LEAVES, AcqRel, Relaxed).is_err() {
            self.leaving.fetch_sub(1, AcqRel);
            return false;
        }
        if since & TRANSFERS != 0 {
            // What the peer has not taken is not kept for it.
            hold.socket.reset_on_close();
            return hold.socket.shutdown_both().is_ok();
        }
        // Its thread receives an end, as if the peer had closed; a request that was faster is
        // answered before.
        hold.socket.shutdown_read().is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.locked().len()
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
