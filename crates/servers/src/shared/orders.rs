//! Orders: what the supervisor tells its workers, in words that they can read and it alone writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use os::{Notices, Wake};

/// What workers are told: to serve until something else is ordered, and then to end; and to open
/// the logs again. Each has an order and a wake-up of its own, so that one can end alone.
#[derive(Clone)]
pub struct Orders {
    words: Arc<Notices>,
    /// One for each worker.
    wakes: Arc<[Arc<Wake>]>,
    listeners: usize,
}

/// What one worker is told, or all of them, or the supervisor, who is told nothing.
#[derive(Clone, Copy)]
pub struct Order<'o> {
    orders: &'o Orders,
    to: To,
}

#[derive(Clone, Copy)]
enum To {
    All,
    Worker(usize),
    Supervisor,
}

/// Places of the words; behind them is one for each listening socket, then one for each worker.
const END: usize = 0;
const LOGS: usize = 1;
const LEFT: usize = 2;

/// What an order to end says; it stands until something greater is ordered.
const LEAVE: u64 = 1;
const RETIRE: u64 = 2;
const DRAIN: u64 = 3;

impl Orders {
    /// Nothing ordered, to so many workers with so many listening sockets.
    ///
    /// # Errors
    /// The machine has no memory or descriptors for it.
    pub fn new(listeners: usize, workers: usize) -> io::Result<Self> {
        let words = Arc::new(Notices::new(LEFT + listeners + workers)?);
        let wakes = (0..workers).map(|_| Wake::new().map(Arc::new)).collect::<io::Result<_>>()?;
        Ok(Self { words, wakes, listeners })
    }

    /// What all are told.
    #[must_use]
    pub const fn all(&self) -> Order<'_> {
        Order { orders: self, to: To::All }
    }

    /// What one worker is told.
    #[must_use]
    pub const fn of(&self, worker: usize) -> Order<'_> {
        Order { orders: self, to: To::Worker(worker) }
    }

    /// What the supervisor is told, who goes on whatever it orders.
    #[must_use]
    pub const fn of_supervisor(&self) -> Order<'_> {
        Order { orders: self, to: To::Supervisor }
    }

    /// Becomes readable when a worker is told to end, and stays so unless the worker clears it. A
    /// worker that has one connection is also woken so when its connection is evicted.
    ///
    /// # Panics
    /// There is no such worker.
    #[must_use]
    pub fn wake(&self, worker: usize) -> &Arc<Wake> {
        &self.wakes[worker]
    }

    /// The listening sockets of the site that are to be accepted from by workers that end, because
    /// nobody else does.
    pub fn leave_behind(&self, left: impl Iterator<Item = usize>) {
        let words = self.words.words();
        left.for_each(|listener| words[LEFT + listener].store(1, Release));
    }

    /// As [`Self::leave_behind`] for these listening sockets. All others are handed on, also those
    /// that were left behind before.
    pub fn leave_behind_only(&self, left: impl Iterator<Item = usize>) {
        let sockets = &self.words.words()[LEFT..LEFT + self.listeners];
        sockets.iter().for_each(|socket| socket.store(0, Release));
        self.leave_behind(left);
    }

    /// A worker that has ended on its order is to begin again: none was given, and of these
    /// listening sockets it is again the one that accepts.
    ///
    /// # Panics
    /// There is no such worker.
    pub fn take_back(&self, worker: usize, left: impl Iterator<Item = usize>) {
        let words = self.words.words();
        left.for_each(|listener| words[LEFT + listener].store(0, Release));
        words[self.word_of(worker)].store(0, Release);
        self.wakes[worker].clear();
    }

    const fn word_of(&self, worker: usize) -> usize {
        LEFT + self.listeners + worker
    }

    /// Orders every process to open its logs again before it writes to them: who rotates them has
    /// given the files other names.
    pub fn reopen_logs(&self) {
        self.words.words()[LOGS].fetch_add(1, Release);
    }

    /// How often that was ordered.
    #[must_use]
    pub fn logs_generation(&self) -> u64 {
        self.words.load(LOGS, Acquire)
    }
}

impl Order<'_> {
    /// Will soon be told to end: serves on, and sends clients elsewhere with what they ask next.
    pub fn leave(self) {
        self.tell(LEAVE);
    }

    /// Is to end: the site is no longer served.
    pub fn drain(self) {
        self.tell(DRAIN);
    }

    /// Is to end, because others serve in its place: on all listening sockets but those that are
    /// left behind.
    pub fn retire(self) {
        self.tell(RETIRE);
    }

    /// Whether the end was ordered or is near: nobody new should come.
    #[must_use]
    pub fn is_ending(self) -> bool {
        self.said() != 0
    }

    /// Whether the reply to a request looked up now is the last on its connection.
    #[must_use]
    pub fn is_end_near(self) -> bool {
        self.said() == LEAVE
    }

    /// Whether what is in hand is to be finished, and that is the end.
    #[must_use]
    pub fn is_draining(self) -> bool {
        self.said() >= RETIRE
    }

    /// Whether others serve in its place, so that it need not hurry.
    #[must_use]
    pub fn is_retiring(self) -> bool {
        self.said() == RETIRE
    }

    /// Whether others accept from a listening socket: nobody who waits there waits for this worker.
    #[must_use]
    pub fn is_handed_on(self, listener: usize) -> bool {
        self.is_retiring() && self.orders.words.load(LEFT + listener, Acquire) == 0
    }

    fn tell(self, what: u64) {
        let Orders { words, wakes, .. } = self.orders;
        let (word, wakes) = match self.to {
            To::All => (END, &wakes[..]),
            To::Worker(worker) => (self.orders.word_of(worker), &wakes[worker..=worker]),
            To::Supervisor => return,
        };
        words.words()[word].fetch_max(what, Release);
        if what != LEAVE {
            wakes.iter().for_each(|wake| wake.wake());
        }
    }

    fn said(self) -> u64 {
        let words = &self.orders.words;
        match self.to {
            To::All => words.load(END, Acquire),
            To::Worker(worker) => {
                let own = words.load(self.orders.word_of(worker), Acquire);
                own.max(words.load(END, Acquire))
            }
            To::Supervisor => 0,
        }
    }
}
