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

/// Places of the words; behind them is one for each listening socket.
const END: usize = 0;
const LOGS: usize = 1;
const LEFT: usize = 2;

/// What the first of them says; what was ordered stands until something greater is.
const LEAVE: u64 = 1;
const RETIRE: u64 = 2;
const DRAIN: u64 = 3;

impl Orders {
    /// Nothing ordered, to workers with so many listening sockets.
    ///
    /// # Errors
    /// The machine has no memory or descriptor for it.
    pub fn new(listeners: usize) -> io::Result<Self> {
        let words = Arc::new(SharedWords::new(LEFT + listeners)?);
        Ok(Self { words, wake: Arc::new(Wake::new()?) })
    }

    /// Tells every worker that it will soon be ordered to end: it serves on, and sends its clients
    /// elsewhere with what they ask next.
    pub fn leave(&self) {
        self.words[END].fetch_max(LEAVE, Release);
    }

    /// Orders every worker to end: the site is no longer served.
    pub fn drain(&self) {
        self.words[END].fetch_max(DRAIN, Release);
        self.wake.wake();
    }

    /// Orders every worker to end, because others serve in its place: on all listening sockets but
    /// those that are left.
    pub fn retire(&self, left: impl Iterator<Item = usize>) {
        left.for_each(|listener| self.words[LEFT + listener].store(1, Release));
        self.words[END].fetch_max(RETIRE, Release);
        self.wake.wake();
    }

    /// Whether the end was ordered or is near: nobody new should come.
    pub fn is_ending(&self) -> bool {
        self.words[END].load(Acquire) != 0
    }

    /// Whether a worker is to finish what it has and to end.
    pub fn is_draining(&self) -> bool {
        self.words[END].load(Acquire) >= RETIRE
    }

    /// Whether others serve in its place, so that it need not hurry.
    pub fn is_retiring(&self) -> bool {
        self.words[END].load(Acquire) == RETIRE
    }

    /// Whether others accept from a listening socket, so that it is theirs.
    pub fn is_handed_on(&self, listener: usize) -> bool {
        self.is_retiring() && self.words[LEFT + listener].load(Acquire) == 0
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

    /// Where the end is near, tells a session that the reply to the request it has is its last.
    pub(crate) fn tell_near_end(&self, session: &mut dyn Session, now: &Now) {
        if self.words[END].load(Acquire) == LEAVE {
            session.retire(now);
        }
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
