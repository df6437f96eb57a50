//! Orders: what the supervisor tells its workers, in words that they share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use h1::Now;
use os::{SharedWords, Wake};

use crate::session::Session;

/// What workers are told: to serve until something else is ordered, and then to end; and to open
/// the logs again.
#[derive(Clone)]
pub struct Orders {
    words: Arc<SharedWords>,
    wake: Arc<Wake>,
}

/// Places of the words.
const END: usize = 0;
const LOGS: usize = 1;
const ORDERS: usize = 2;

/// What the first of them says.
const RETIRE: u64 = 1;
const DRAIN: u64 = 2;

impl Orders {
    /// Nothing ordered.
    ///
    /// # Errors
    /// The machine has no memory or descriptor for it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { words: Arc::new(SharedWords::new(ORDERS)?), wake: Arc::new(Wake::new()?) })
    }

    /// Orders every worker to end: the site is no longer served.
    pub fn drain(&self) {
        self.words[END].fetch_max(DRAIN, Release);
        self.wake.wake();
    }

    /// Orders every worker to end, because others serve in its place.
    pub fn retire(&self) {
        self.words[END].fetch_max(RETIRE, Release);
        self.wake.wake();
    }

    /// Whether a worker is to finish what it has and to end.
    pub fn is_draining(&self) -> bool {
        self.words[END].load(Acquire) != 0
    }

    /// Whether others serve in its place, so that it has nobody to accept and need not hurry.
    pub fn is_retiring(&self) -> bool {
        self.words[END].load(Acquire) == RETIRE
    }

    /// Orders every process to open its logs again before it writes to them: who rotates them has
    /// given the files other names.
    pub fn reopen_logs(&self) {
        self.words[LOGS].fetch_add(1, Release);
    }

    /// How often that was ordered.
    pub fn logs_generation(&self) -> u64 {
        self.words[LOGS].load(Acquire)
    }

    /// Tells a session of the order to end: without haste where others serve in its place.
    pub(crate) fn tell(&self, session: &mut dyn Session, now: &Now) {
        if self.is_retiring() { session.retire(now) } else { session.drain() }
    }

    /// Becomes readable with the order to end, and stays so: every worker waits for it.
    pub fn wake(&self) -> &Arc<Wake> {
        &self.wake
    }
}
