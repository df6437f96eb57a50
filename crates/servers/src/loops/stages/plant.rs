//! What all stages of a pipeline have to know of each other: how many connections there are, how
//! many of them wait for a stage, and whether it all ends.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use control::response::Response;
use h1::FilePart;
use measure::{Duration, Instant};
use os::{File, Wake};

use crate::connection::revalidator::Revalidator;
use crate::shared::error_log::By;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::shared::settings::Level;

/// Words that stages share. All of them are in one order (`SeqCst`): whoever waits says so first
/// and looks then, whoever changes something does so first and looks then who waits.
pub(crate) struct Plant<'s> {
    pub(crate) worker: &'s Worker<'s>,
    /// Connections, in whichever stage: what the gate counts.
    open: AtomicUsize,
    /// How often one was closed.
    closes: AtomicU64,
    /// Of those that have had no reply yet, those that nobody works on and that wait for no client
    /// and no disk.
    queued: AtomicUsize,
    /// By stage: of the connections that wait for their client there, so many are to be evicted.
    to_go: [AtomicUsize; STAGES_MAX],
    /// By stage: when the first that waits for a request or for the rest of a head may be, and the
    /// first transfer; in nanoseconds, or [`NEVER`].
    goes_at: [[AtomicU64; 2]; STAGES_MAX],
    /// The order to end has come.
    is_draining: AtomicBool,
    /// All have gone, and nobody comes any more.
    is_over: AtomicBool,
    /// What the stage that accepts waits for where it waits for others: for somebody to go, or
    /// until so few wait for a stage.
    door: Wake,
    waits_for_room: AtomicBool,
    waits_for_stages: AtomicBool,
    low: AtomicUsize,
    /// Threads that read from the disk.
    fetching: AtomicUsize,
    /// Compares old answers with the disk. `None`: no helpers look at the disk.
    pub(super) revalidator: Option<Revalidator>,
    /// Who of those that ask is admitted, where that is decided here.
    admission: Option<Mutex<Response>>,
}

/// Ends the process where its thread panics: other stages would wait for it for ever.
pub(crate) struct Guard;

const NEVER: u64 = u64::MAX;
/// As many as [`super::carried::Carried::armed`] has bits.
const STAGES_MAX: usize = 8;

impl<'s> Plant<'s> {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(worker: &'s Worker<'s>, admission: Option<Response>) -> io::Result<Self> {
        let server = worker.server;
        Ok(Self {
            worker,
            open: AtomicUsize::new(0),
            closes: AtomicU64::new(0),
            queued: AtomicUsize::new(0),
            to_go: Default::default(),
            goes_at: [const { [const { AtomicU64::new(NEVER) }; 2] }; STAGES_MAX],
            is_draining: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            door: Wake::new()?,
            waits_for_room: AtomicBool::new(false),
            waits_for_stages: AtomicBool::new(false),
            low: AtomicUsize::new(0),
            fetching: AtomicUsize::new(0),
            revalidator: (server.architecture.path == Performer::Helper)
                .then(|| Revalidator::new(server)),
            admission: admission.map(Mutex::new),
        })
    }

    /// Connections, in whichever stage.
    pub(super) fn open(&self) -> usize {
        self.open.load(SeqCst)
    }

    /// How often one was closed.
    pub(super) fn closes(&self) -> u64 {
        self.closes.load(SeqCst)
    }

    /// As many as there may be, those of a drain included.
    pub(super) fn connections_max(&self) -> usize {
        let server = self.worker.server;
        server.connections_max + server.waiting_max() as usize
    }

    /// How many wait for a stage.
    pub(super) fn queued(&self) -> usize {
        self.queued.load(SeqCst)
    }

    /// One was accepted; now there are so many.
    pub(super) fn opened(&self) -> usize {
        self.open.fetch_add(1, SeqCst) + 1
    }

    /// One was closed.
    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, SeqCst);
        self.closes.fetch_add(1, SeqCst);
        self.tell(&self.waits_for_room);
    }

    /// So many wait for a stage.
    pub(super) fn queues(&self, n: usize) {
        self.queued.fetch_add(n, SeqCst);
    }

    /// One does not any more.
    pub(super) fn unqueues(&self) {
        let left = self.queued.fetch_sub(1, SeqCst) - 1;
        if left <= self.low.load(SeqCst) {
            self.tell(&self.waits_for_stages);
        }
    }

    /// What the stage that accepts waits for where it waits for others.
    pub(super) const fn door(&self) -> &Wake {
        &self.door
    }

    /// It does from now on, and looks once more before: for somebody to go, or until no more than
    /// so many wait for a stage.
    pub(super) fn door_waits(&self, for_stages: Option<usize>) {
        match for_stages {
            Some(low) => {
                self.low.store(low, SeqCst);
                self.waits_for_stages.store(true, SeqCst);
            }
            None => self.waits_for_room.store(true, SeqCst),
        }
    }

    /// It looks.
    pub(super) fn door_looks(&self) {
        self.waits_for_room.store(false, SeqCst);
        self.waits_for_stages.store(false, SeqCst);
        self.door.clear();
    }

    fn tell(&self, waits: &AtomicBool) {
        if waits.load(SeqCst) && waits.swap(false, SeqCst) {
            self.door.wake();
        }
    }

    /// Somebody reads from the disk from now on, or does not any more.
    pub(super) fn fetches(&self, begins: bool) {
        match begins {
            true => self.fetching.fetch_add(1, SeqCst),
            false => self.fetching.fetch_sub(1, SeqCst),
        };
    }

    /// Whether a part of a file is in memory: pages that are on their way are not.
    pub(super) fn has_pages(&self, part: &FilePart<File>) -> bool {
        match self.fetching.load(SeqCst) {
            0 => part.file.is_resident(part.at, part.end),
            _ => part.file.is_resident_throughout(part.at, part.end),
        }
    }

    /// Whether helpers wait for pages; if not, who sends them does.
    pub(super) fn has_helpers(&self) -> bool {
        self.worker.server.architecture.pages == Performer::Helper
    }

    /// When a connection may be evicted; `None`: none waits for its client.
    pub(super) fn goes_at(&self) -> Option<Instant> {
        let firsts = [0, 1].map(|kind| self.goes_first(kind).0);
        firsts.into_iter().min().filter(|ns| *ns != NEVER).map(|ns| Instant { ns })
    }

    /// When the first of a kind may be evicted, and the number of its stage.
    fn goes_first(&self, kind: usize) -> (u64, usize) {
        let all = self.goes_at.iter().map(|kinds| kinds[kind].load(SeqCst)).zip(0..);
        all.min().expect("there are stages")
    }

    /// In the stage of that number the first that waits may be evicted from then on, and the first
    /// transfer.
    pub(super) fn may_go(&self, number: usize, firsts: [Option<Instant>; 2]) {
        let mut is_earlier = false;
        for (word, at) in self.goes_at[number].iter().zip(firsts) {
            let ns = at.map_or(NEVER, |at| at.ns);
            is_earlier |= ns < word.swap(ns, SeqCst);
        }
        if is_earlier {
            self.tell(&self.waits_for_room);
        }
    }

    /// One connection is to be evicted: a transfer only if none that waits may be. Returns the
    /// number of its stage, which is to be told.
    pub(super) fn sends_away(&self, now: Instant) -> usize {
        let [waits, transfers] = [0, 1].map(|kind| self.goes_first(kind));
        let (_, number) = if waits.0 <= now.ns { waits } else { waits.min(transfers) };
        self.to_go[number].store(1, SeqCst);
        number
    }

    /// How many are to be evicted in that stage, since this was last asked.
    pub(super) fn to_go(&self, number: usize) -> usize {
        let to_go = &self.to_go[number];
        if to_go.load(SeqCst) == 0 { 0 } else { to_go.swap(0, SeqCst) }
    }

    /// Whether the order to end has come.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(SeqCst)
    }

    pub(super) fn drain(&self) {
        self.is_draining.store(true, SeqCst);
    }

    /// Whether all have gone, and nobody comes any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, SeqCst);
    }

    /// Whether that is decided by this pipeline.
    pub(super) const fn has_admission(&self) -> bool {
        self.admission.is_some()
    }

    /// Whether who asks is admitted, where it is for this pipeline to say.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let admits = |response: &Mutex<Response>| {
            response.lock().unwrap_or_else(PoisonError::into_inner).admits(now)
        };
        self.admission.as_ref().is_none_or(admits)
    }

    /// A reply has taken so long.
    pub(super) fn replied(&self, now: Instant, took: Duration) {
        if let Some(response) = &self.admission {
            response.lock().unwrap_or_else(PoisonError::into_inner).observe(now, took);
        }
    }

    /// A stage cannot go on: the process ends, and another takes its place.
    pub(crate) fn fail(&self, error: &io::Error) -> ! {
        let server = self.worker.server;
        let text = format!("{}: {error}", server.architecture.name);
        server.errors.write(Level::Error, By::Worker(self.worker.number), &text);
        os::process::exit(1)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            os::process::exit(1);
        }
    }
}
