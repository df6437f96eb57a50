//! How many threads do a stage's work, and how many connections each takes at a time.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Mutex, MutexGuard, PoisonError};

use control::batching::Batching;
use control::pool::{IDLE, Pool};
use measure::{Duration, Instant};

/// Those of a stage, or of several together.
pub(crate) struct Crew {
    threads: AtomicU32,
    /// Where others may come and go (SEDA's controller).
    pool: Option<Mutex<Pool>>,
    /// Where batches are bounded (the same).
    batching: Option<Mutex<Batching>>,
}

/// Longer than anything.
const FOR_EVER: Duration = Duration::MAX;

impl Crew {
    /// One thread, which takes all that wait.
    pub(crate) const fn single() -> Self {
        Self { threads: AtomicU32::new(1), pool: None, batching: None }
    }

    /// With these controllers.
    pub(crate) fn controlled(pool: Option<Pool>, batching: Option<Batching>) -> Self {
        let (pool, batching) = (pool.map(Mutex::new), batching.map(Mutex::new));
        Self { threads: AtomicU32::new(1), pool, batching }
    }

    /// How many connections a thread takes at a time.
    pub(super) fn batch_max(&self) -> usize {
        self.batching.as_ref().map_or(usize::MAX, |batching| locked(batching).limit() as usize)
    }

    /// Whether threads come and go.
    pub(super) const fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// How many there are.
    pub(super) fn threads(&self) -> usize {
        self.threads.load(Acquire) as usize
    }

    /// How long a thread waits for some.
    pub(super) fn patience(&self) -> Duration {
        if self.pool.is_some() && self.threads.load(Acquire) > 1 { IDLE } else { FOR_EVER }
    }

    /// So many have been worked on.
    pub(super) fn worked(&self, now: Instant, worked: usize) {
        if let Some(batching) = &self.batching {
            locked(batching).observe(now, worked);
        }
    }

    /// Whether another thread is to come while so many wait.
    pub(super) fn grows(&self, now: Instant, waiting: usize) -> bool {
        let observes =
            |pool: &Mutex<Pool>| locked(pool).observe(now, waiting, self.threads.load(Acquire));
        self.pool.as_ref().is_some_and(observes)
    }

    /// It has come. Not before: one that may go would leave nobody if it could not be made.
    pub(super) fn has_come(&self) {
        self.threads.fetch_add(1, AcqRel);
    }

    /// Whether a thread that has waited in vain may go: it does then.
    pub(super) fn may_go(&self) -> bool {
        let leaves = |threads: u32| (threads > 1).then(|| threads - 1);
        self.threads.fetch_update(AcqRel, Acquire, leaves).is_ok()
    }
}

// A thread that panics ends the process.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
