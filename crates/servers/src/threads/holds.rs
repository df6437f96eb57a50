//! The connections that threads hold: which of them wait, since when, and which go for others.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use measure::Instant;

use super::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, PoisonError, Socket};

/// It waits for neither; it was told to go.
const BUSY: u64 = u64::MAX;
const LEAVES: u64 = u64::MAX - 1;
/// Its transfer was ended.
const CUT: u64 = u64::MAX - 2;
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

/// How many connections are to be evicted, and since when each has to have waited. `None`: those
/// are not.
pub(super) struct Wanted {
    pub(super) most: usize,
    pub(super) idle: Instant,
    pub(super) head: Option<Instant>,
    pub(super) transfer: Option<Instant>,
}

/// How many connections were evicted.
#[derive(Default)]
pub(super) struct Evicted {
    pub(super) all: usize,
    /// Of these, those that were not between two requests.
    pub(super) slow: usize,
}

/// All of them, by descriptor.
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
    /// Nanoseconds since when it has waited for a request or the rest of a head, an even number;
    /// since when its peer has been too slow in a transfer, an odd one; or one of the two.
    waits_since: AtomicU64,
}

impl Holds {
    pub(super) fn new() -> Self {
        Self { all: Mutex::new(HashMap::new()), leaving: AtomicU32::new(0) }
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

    /// Closes a connection, and only then frees its thread by `free`: an accept in its place has a
    /// descriptor. If it was told to go, it counts as leaving until its thread is free, so that an
    /// evictor always sees one of the two.
    pub(super) fn remove(&self, hold: Arc<Hold>, free: impl FnOnce()) {
        // The descriptor is not closed yet, so no later one has it.
        self.locked().remove(&hold.socket.id());
        let known = hold.waits_since.swap(BUSY, AcqRel);
        if known == CUT {
            // What its peer has not taken is not kept for it.
            hold.socket.reset_on_close();
        }
        drop(hold);
        free();
        if let LEAVES | CUT = known {
            self.leaving.fetch_sub(1, Release);
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
        loop {
            let known = hold.waits_since.load(Acquire);
            let changes = || hold.waits_since.compare_exchange(known, says, AcqRel, Relaxed);
            match (known, does) {
                (LEAVES, _) => break,
                (CUT, Does::Transfers(_)) => return true,
                // The transfer was complete by then: its last bytes are not to be lost.
                (CUT, _) => {
                    hold.waits_since.store(LEAVES, Release);
                    return true;
                }
                _ if known == says || changes().is_ok() => return false,
                _ => {}
            }
        }
        // While it still waits, or ends, its thread will be free. A reply may take long: another
        // connection has to be evicted.
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

    /// Evicts connections: first those between two requests, then heads and transfers in the order
    /// in which they became evictable. The thread of a new connection may not have read its head
    /// yet, so a transfer that has been slow for longer is ended before it.
    pub(super) fn evict(&self, wanted: &Wanted) -> Evicted {
        let all = self.locked();
        let overdue_ns = |hold: &Hold| {
            let since = hold.waits_since.load(Relaxed);
            let is_idle = hold.is_idle.load(Relaxed);
            let until = match since & TRANSFERS {
                TRANSFERS => wanted.transfer?,
                _ if is_idle => wanted.idle,
                _ => wanted.head?,
            };
            let overdue_ns = until.ns.checked_sub(since)?;
            Some((!is_idle, Reverse(overdue_ns), since))
        };
        let waiting = all.values().filter_map(|hold| Some((overdue_ns(hold)?, hold)));
        let mut longest: Vec<_> = waiting.collect();
        if longest.len() > wanted.most {
            longest.select_nth_unstable_by_key(wanted.most, |(order, _)| *order);
            longest.truncate(wanted.most);
        }
        let mut evicted = Evicted::default();
        for ((is_slow, _, since), hold) in longest {
            if self.close(hold, since) {
                evicted.all += 1;
                evicted.slow += usize::from(is_slow);
            }
        }
        evicted
    }

    /// `false`: its thread was faster, and it does not wait any more.
    fn close(&self, hold: &Hold, since: u64) -> bool {
        let transfers = since & TRANSFERS != 0;
        let leaves = if transfers { CUT } else { LEAVES };
        self.leaving.fetch_add(1, AcqRel);
        if hold.waits_since.compare_exchange(since, leaves, AcqRel, Relaxed).is_err() {
            self.leaving.fetch_sub(1, AcqRel);
            return false;
        }
        // Its thread receives an end, as if the peer had closed; a request that was faster is
        // answered before. In a transfer it may wait to send.
        let ended =
            if transfers { hold.socket.shutdown_both() } else { hold.socket.shutdown_read() };
        ended.is_ok()
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
