use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use h1::{Chunk, Date, FilePart, Limits, Loaded, Miss, Now, Shared, Status};
use os::{File, Listener, SharedWords, Wake};
use site::Site;

use crate::counters::Counters;
use crate::dials::Dials;
use crate::error_log::{By, ErrorLog};
use crate::session::{Session, Sessions};
use crate::settings::{Level, Settings};
use crate::trace::TraceFile;

/// What all workers share: made once by the supervisor, before the first fork.
pub struct House {
    /// The operator's decisions.
    pub settings: Settings,
    /// What is served.
    pub site: Site,
    /// What a client may ask.
    pub limits: Shared<Limits>,
    /// Owned by the supervisor; a worker only accepts from them.
    pub listeners: Vec<Arc<Listener>>,
    /// The statistics.
    pub counters: Counters,
    /// From the supervisor to its workers.
    pub orders: Orders,
    /// Open connections a worker holds at most.
    pub connections_max: usize,
    /// What may be changed while workers serve.
    pub dials: Dials,
    /// Makes a session for each connection.
    pub sessions: Sessions,
    /// What went wrong, and what changed.
    pub errors: Arc<ErrorLog>,
    /// Whether sessions have to be told who their peer is.
    pub asks_who: bool,
    /// Where traces go.
    pub trace: Option<TraceFile>,
}

/// Bytes of a file that pass through memory at once, where they must.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

impl House {
    /// The listening sockets, the `n`th of them first, counted around.
    pub(crate) fn listeners_from(&self, n: usize) -> impl Iterator<Item = &Arc<Listener>> {
        let (before, after) = self.listeners.split_at(n % self.listeners.len());
        after.iter().chain(before)
    }

    /// A worker is ready to serve.
    pub(crate) fn started(&self, worker: usize) {
        self.counters.started(worker);
        let text = format!("serves as process {}", os::process::id());
        self.errors.write(Level::Info, By::Worker(worker), &text);
    }

    /// In a drain, when nobody waits any more: whoever comes now is told at once.
    pub(crate) fn stop_listening(&self) {
        // While others serve in their place the sockets are theirs.
        let mine = self.listeners.iter().filter(|_| !self.orders.is_retiring());
        for listener in mine {
            // Refused only when another worker has done so already.
            let _ = listener.stop();
        }
    }

    /// Connections taken consecutively.
    pub(crate) fn accept_limit(&self) -> u32 {
        self.dials.accept_limit()
    }

    /// Bytes sent to one connection before the others' turn.
    pub(crate) fn work_bytes_max(&self) -> u64 {
        self.dials.work_bytes_max()
    }

    /// Connections that may wait to be accepted.
    pub(crate) fn waiting_max(&self) -> u32 {
        self.settings.backlog.saturating_mul(self.listeners.len() as u32)
    }

    /// Does what may touch the disk here and now, and blocks for as long as that takes.
    pub(crate) fn load(&self, miss: &Miss<File>, now: &Now) -> Loaded<File> {
        match miss {
            Miss::Path(lookup) => self.site.load(lookup, now),
            Miss::Pages(_) => Loaded::Pages,
            Miss::More(part) => piece(part)
                .map_or_else(|_| Loaded::Status(Status::INTERNAL_SERVER_ERROR), Loaded::More),
        }
    }
}

/// Reads the next piece of a file into memory; shorter than asked for when the file ends.
pub(crate) fn piece(part: &FilePart<File>) -> io::Result<Chunk> {
    let mut bytes = vec![0; part.len().min(PIECE_BYTES) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match part.file.read_at(&mut bytes[filled..], part.at + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    bytes.truncate(filled);
    Ok(Chunk::whole(bytes.into()))
}

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
const LEAVE: u64 = 1;
const RETIRE: u64 = 2;
const DRAIN: u64 = 3;

impl Orders {
    /// Nothing ordered.
    ///
    /// # Errors
    /// The machine has no memory or descriptor for it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { words: Arc::new(SharedWords::new(ORDERS)?), wake: Arc::new(Wake::new()?) })
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

    /// Orders every worker to end, because others serve in its place.
    pub fn retire(&self) {
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

/// Reads the clocks; formats the date once a second (JAWS97 3.2.2).
pub(crate) struct Clock {
    date: Date,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { date: Date::new(os::clock::wall_seconds()) }
    }

    pub(crate) fn now(&mut self) -> Now {
        let seconds = os::clock::wall_seconds();
        if seconds != self.date.seconds {
            self.date = Date::new(seconds);
        }
        Now { at: os::clock::monotonic(), date: self.date }
    }
}
