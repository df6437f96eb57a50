use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Barrier};

use h1::{Chunk, Date, FilePart, Limits, Loaded, Miss, Now, Shared, Status};
use measure::Duration;
use os::landlock::Rules;
use os::queue_drops::QueueDrops;
use os::ring::Ring;
use os::thread::Schedule;
use os::{File, Listener, Wake};
use site::{Opening, Site};

use crate::session::{LOADS_MAX, Sessions};
use crate::shared::admissions::Admissions;
use crate::shared::architecture::{Holder, LOOPS_MAX, Row};
use crate::shared::auth_slots::AuthSlots;
use crate::shared::counters::Counters;
use crate::shared::dials::Dials;
use crate::shared::error_log::{By, ErrorLog};
use crate::shared::ledger::Ledger;
use crate::shared::line_file::LineFile;
use crate::shared::listening::Listening;
use crate::shared::log::{self, AccessLog};
use crate::shared::orders::{Order, Orders};
use crate::shared::scoreboard::Scoreboard;
use crate::shared::settings::{Level, Sendfile, Settings};
use crate::shared::stops::Stops;
use crate::shared::verifiers::Verifiers;

/// An architecture, as workers run it.
pub type Architecture = Row<Run>;

/// What runs one worker until it has drained.
pub enum Run {
    /// By system calls.
    Calls(fn(&Worker<'_>) -> io::Result<()>),
    /// By a ring, which is made before the worker is confined: from then on it makes none.
    Ring {
        /// For so many connections.
        make: fn(&Settings, connections: usize) -> io::Result<Ring>,
        /// With that.
        run: fn(&Worker<'_>, Ring) -> io::Result<()>,
    },
}

/// What all workers share: made once by the supervisor, before the first fork.
pub struct Server {
    /// What the workers run.
    pub architecture: &'static Architecture,
    /// The operator's decisions.
    pub settings: Settings,
    /// What is served.
    pub site: Site,
    /// What a client may ask.
    pub limits: Shared<Limits>,
    /// Owned by the supervisor; a worker only accepts from them.
    pub listeners: Listening,
    /// The statistics.
    pub counters: Counters,
    /// From the supervisor to its workers.
    pub orders: Orders,
    /// Open connections that each loop holds at most, or all threads of a worker that has none.
    pub connections_max: usize,
    /// There where workers have one connection each.
    pub(crate) common: Option<Common>,
    /// What may be changed while workers serve.
    pub dials: Dials,
    /// Who of those that knock is let in.
    pub admissions: Admissions,
    /// Makes a session for each connection.
    pub sessions: Sessions,
    /// What workers are confined to.
    pub(crate) rules: Option<Rules>,
    /// What went wrong, and what changed.
    pub errors: Arc<ErrorLog>,
    /// Whether sessions have to be told who their peer is.
    pub asks_who: bool,
    /// Where a line for each reply goes.
    pub(crate) access_log: Option<log::Target>,
    /// Where traces go.
    pub trace: Option<LineFile>,
    /// Where looks at listening queues go.
    pub admission_log: Option<LineFile>,
    /// Where tests have workers stand still.
    pub(crate) stops: Stops,
    /// What the kernel had counted before.
    pub dropped_before: QueueDrops,
}

/// What workers keep together that have one connection each.
pub(crate) struct Common {
    /// What addresses have of all of them.
    pub(crate) ledger: Arc<Ledger>,
    /// Who verifies passwords.
    pub(crate) auth_slots: AuthSlots,
    /// What each of them does.
    pub(crate) scoreboard: Scoreboard,
}

/// Bytes of a file that pass through memory at once, where they must.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

impl Common {
    /// What the process had that was this worker.
    pub(crate) fn ended(&self, worker: usize) {
        self.ledger.ended(worker);
        self.auth_slots.ended(worker);
    }
}

impl Server {
    /// What a worker needs of its parent's descriptors.
    pub(crate) fn descriptors(&self, worker: usize) -> Vec<RawFd> {
        let listeners = self.listeners.places_of(worker).map(|at| self.listeners[at].number());
        let bell = self.listeners.bell(worker).map(|bell| bell.number());
        let own = [self.orders.wake(worker).number(), self.errors.descriptor()];
        let files = self.trace.iter().chain(&self.admission_log).map(LineFile::number);
        let log = self.access_log.iter().filter_map(log::Target::number);
        let rules = self.rules.iter().map(Rules::number);
        listeners.chain(bell).chain(own).chain(log).chain(files).chain(rules).collect()
    }

    /// In a drain, when nobody waits any more: whoever comes now to one of these places is told at
    /// once, unless others accept there.
    pub(crate) fn stop_listening(&self, order: Order<'_>, places: impl Iterator<Item = usize>) {
        for place in places.filter(|place| !order.is_handed_on(*place)) {
            // Refused only when another worker has done so already.
            let _ = self.listeners[place].stop();
        }
    }

    /// As in calm, where no worker decides any more: whom the operator refuses is refused still.
    pub(crate) fn calm(&self, place: usize) {
        if self.dials.admitted() == Some(self.admissions.share(place)) {
            // No error is known of it.
            let _ = self.listeners[place].set_backlog(self.dials.backlog_max());
            self.admissions.end_flood(place);
        } else {
            self.lift(place);
        }
    }

    /// All who knock at the listening socket at that place are admitted, and may wait, until a
    /// worker decides anew.
    pub(crate) fn lift(&self, place: usize) {
        let listener = &self.listeners[place];
        // What cannot be set cannot have been set before.
        let _ = listener.admit_all();
        let _ = listener.set_backlog(self.dials.backlog_max());
        self.admissions.lift(place);
    }

    /// The same at those listening sockets at which somebody is refused.
    pub(crate) fn lift_refused(&self) {
        let refuses = |place: &usize| self.admissions.of(*place).share < 1.0;
        (0..self.listeners.len()).filter(refuses).for_each(|place| self.lift(place));
    }

    /// Whether more come to one of the listening sockets than can be served soon.
    pub(crate) fn is_flooded(&self) -> bool {
        (0..self.listeners.len()).any(|place| self.admissions.is_flood(place))
    }

    /// Bytes sent to one connection before the others' turn.
    pub(crate) fn work_bytes_max(&self) -> u64 {
        // A send that waits is made once, and then it is their turn.
        if self.parts_wait() { u64::MAX } else { self.dials.work_bytes_max() }
    }

    /// Whether loops send file parts on sockets that block.
    pub(crate) fn parts_wait(&self) -> bool {
        self.settings.sendfile == Some(Sendfile::Blocking)
    }

    /// Whether a knob can be turned to what is set in `settings` while these workers serve.
    ///
    /// # Errors
    /// What would do.
    pub(crate) fn judge_turn(&self, knob: &str, settings: &Settings) -> Result<(), String> {
        let changes = settings.processes.is_some_and(|n| n != self.dials.workers());
        if knob == "processes" && changes && self.listeners.has_left_over() {
            // Of the sockets at an address only the last may end, and that is nobody's own.
            return Err(String::from("as it is, until a restart: there are more queues than that"));
        }
        if knob == "admit-percent"
            && self.architecture.admits_itself(&self.settings)
            && settings.admit_percent != Some(100)
        {
            return Err(String::from("100, as --stage-admission response decides who is admitted"));
        }
        self.dials.judge(knob, settings)
    }

    /// Loops of all workers that are to serve; where threads serve, workers.
    pub(crate) fn loops(&self) -> u32 {
        self.dials.workers() * self.counters.loops() as u32
    }

    /// Connections that all workers that are to serve hold at most.
    pub(crate) fn connections_max_of_all(&self) -> usize {
        self.connections_max * self.loops() as usize
    }

    /// Connections that may wait to be accepted by one worker: the first has as many sockets as
    /// any.
    pub(crate) fn waiting_max(&self) -> u32 {
        let sockets = self.listeners.places_of(0).count();
        self.dials.backlog_max().saturating_mul(sockets as u32)
    }

    /// Requests of a worker that may wait to hear whether who asks is let in.
    fn askers_max(&self) -> usize {
        match self.architecture.holder {
            // A thread each, and the others are to serve.
            Holder::Thread | Holder::Process => (self.connections_max / 2).max(1),
            Holder::Fiber => self.connections_max,
            Holder::Loop | Holder::Stages => {
                self.connections_max * self.counters.loops() * LOADS_MAX
            }
        }
    }

    /// Takes what was opened into the cache, answers with it, and logs what the operator may not
    /// know of the answer. Blocks if it is unread.
    pub(crate) fn keep(&self, worker: usize, mut opening: Opening, now: &Now) -> Loaded<File> {
        self.site.read(&mut opening);
        if let Some(hint) = opening.hint() {
            self.errors.hint(worker, hint, now.at);
        }
        self.site.keep(opening, now)
    }

    /// Does what may touch the disk here and now, and blocks for as long as that takes.
    pub(crate) fn load(&self, worker: usize, miss: &Miss<File>, now: &Now) -> Loaded<File> {
        match miss {
            Miss::Path(lookup) => self.keep(worker, self.site.open(lookup), now),
            Miss::Pages(_) => Loaded::Pages,
            Miss::More(part) => piece(part)
                .map_or_else(|_| Loaded::Status(Status::INTERNAL_SERVER_ERROR), Loaded::More),
        }
    }
}

/// One process of those that run an architecture, as one of its loops has it.
pub struct Worker<'s> {
    /// What it shares with all others.
    pub(crate) server: &'s Server,
    /// Which of them it is: its order, its name in logs.
    pub(crate) number: usize,
    /// Where the loop counts.
    pub(crate) row: usize,
    pub(crate) order: Order<'s>,
    /// Of the listening sockets that it accepts from.
    places: Vec<usize>,
    /// Of the thread in which the loop runs.
    pub(crate) schedule: Schedule,
    /// There if lines are wanted; each loop and each thread has an end of its own.
    pub(crate) log: Option<AccessLog>,
    /// There where a rule asks for passwords.
    pub(crate) verifiers: Option<Verifiers>,
    /// There where it has several loops, which begin together.
    begin: Option<Arc<Barrier>>,
}

impl<'s> Worker<'s> {
    /// In the process itself, before it serves, for its first loop. `schedule`: that of the calling
    /// thread.
    ///
    /// # Errors
    /// No thread can be made for its log, or no descriptor is left.
    pub(crate) fn new(server: &'s Server, number: usize, schedule: Schedule) -> io::Result<Self> {
        let order = server.orders.of(number);
        let Server { settings, orders, counters, errors, .. } = server;
        let format = settings.log_format;
        let log = server.access_log.as_ref().map(|to| match server.architecture.holder {
            Holder::Process => Ok(log::here(to, format, number, orders, counters, errors)),
            _ => log::start(to, format, number, orders, counters, errors),
        });
        let log = log.transpose()?;
        let failures = settings.auth_failures_per_min;
        let asks = settings.rules.ask_for_passwords() && server.common.is_none();
        let verifiers =
            asks.then(|| Verifiers::new(failures, server.askers_max(), counters)).transpose()?;
        let (row, loops) = (counters.row_of(number, 0), counters.loops());
        let begin = (loops > 1).then(|| Arc::new(Barrier::new(loops)));
        let places = server.listeners.places_of(number).collect();
        Ok(Self { server, number, row, order, places, schedule, log, verifiers, begin })
    }

    /// The same for another of its loops, which is counted from 0 and brings a schedule of its own.
    pub(crate) fn beside(&self, nth: usize) -> Self {
        let Self { server, number, order, .. } = *self;
        Self {
            server,
            number,
            row: server.counters.row_of(number, nth),
            order,
            places: self.places.clone(),
            schedule: Schedule::none(),
            log: self.log.clone(),
            verifiers: self.verifiers.as_ref().map(|verifiers| verifiers.of_loop(nth)),
            begin: self.begin.clone(),
        }
    }

    /// The supervisor, who serves nobody but its operator.
    pub(crate) const fn supervisor(server: &'s Server) -> Self {
        let order = server.orders.of_supervisor();
        let schedule = Schedule::none();
        Self {
            server,
            number: 0,
            row: 0,
            order,
            places: Vec::new(),
            schedule,
            log: None,
            verifiers: None,
            begin: None,
        }
    }

    /// The supervisor, where it looks at the listening queues for all workers.
    pub(crate) fn lookout(server: &'s Server) -> Self {
        let places = (0..server.listeners.len()).collect();
        Self { row: LOOPS_MAX as usize, places, ..Self::supervisor(server) }
    }

    /// Whether it may be the one that looks at the queues.
    pub(crate) fn may_look(&self) -> bool {
        let has_lookout = self.server.architecture.holder == Holder::Process;
        !has_lookout || self.row == LOOPS_MAX as usize
    }

    /// The loop is ready to serve, and waits until all are.
    pub(crate) fn ready(&self) {
        let Self { server, number, begin, .. } = self;
        if begin.as_ref().is_none_or(|begin| begin.wait().is_leader()) {
            server.counters.started(*number);
            let text = format!("serves as process {}", os::process::id());
            server.errors.write(Level::Info, By::Worker(*number), &text);
        }
        // Whoever has an answer may rely on it that the supervisor knows of the worker.
        if let Some(begin) = begin {
            let _ = begin.wait();
        }
        if server.architecture.kept {
            server.stops.begin();
        }
    }

    /// Becomes readable with the order to end, and when the connection of a process is evicted.
    pub(crate) fn wake(&self) -> &Arc<Wake> {
        self.server.orders.wake(self.number)
    }

    /// Whether another loop has spare capacity that accepts from the same listening sockets.
    pub(crate) fn has_room_beside(&self) -> bool {
        let Server { counters, listeners, orders, .. } = self.server;
        let are_shared = self.places.iter().all(|place| listeners.is_shared(*place));
        let accepts = |of: usize| of == self.number || are_shared && !orders.of(of).is_draining();
        let has_room = |row| counters.open(row) < self.server.connections_max as u64;
        let is_other = |row: &usize| *row != self.row && accepts(*row / counters.loops());
        (0..counters.rows()).filter(is_other).any(|row| counters.serves(row) && has_room(row))
    }

    /// The places of the listening sockets that it accepts from.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// These sockets, with their places.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (usize, &'s Arc<Listener>)> + Clone {
        let server = self.server;
        self.places.iter().map(move |place| (*place, &server.listeners[*place]))
    }

    /// The same, the `n`th of them first, counted around.
    pub(crate) fn listeners_from(
        &self,
        n: usize,
    ) -> impl Iterator<Item = (usize, &'s Arc<Listener>)> {
        let count = self.places.len();
        self.listeners().cycle().skip(n % count).take(count)
    }

    /// Those that nobody else accepts from, once it is to end.
    pub(crate) fn kept_listeners(&self) -> impl Iterator<Item = &'s Arc<Listener>> {
        let order = self.order;
        let kept = self.listeners().filter(move |(place, _)| !order.is_handed_on(*place));
        kept.map(|(_, listener)| listener)
    }

    /// How many connections wait to be accepted from its listening sockets. A Unix socket tells
    /// only whether one does.
    pub(crate) fn waiting(&self) -> usize {
        let of = |(_, listener): (usize, &Arc<Listener>)| {
            let length = listener.queue().map_or(0, |queue| queue.length as usize);
            let is_ready = || os::wait_readable([listener.as_fd_ref()], Some(Duration::ZERO));
            if length > 0 { length } else { is_ready().is_ok_and(|ready| ready[0]).into() }
        };
        self.listeners().map(of).sum()
    }

    /// In a drain, when nobody waits any more: whoever comes now is told at once.
    pub(crate) fn stop_listening(&self) {
        self.server.stop_listening(self.order, self.places.iter().copied());
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
    Ok(Chunk::whole(bytes))
}

/// Reads the clocks; formats the date once a second (JAWS97 3.2.2).
pub(crate) struct Clock {
    date: Date,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { date: Date::new(os::clock::wall_seconds()) }
    }

    pub(crate) const fn at(date: Date) -> Self {
        Self { date }
    }

    pub(crate) fn now(&mut self) -> Now {
        let seconds = os::clock::wall_seconds();
        if seconds != self.date.seconds {
            self.date = Date::new(seconds);
        }
        Now { at: os::clock::monotonic(), date: self.date }
    }
}
