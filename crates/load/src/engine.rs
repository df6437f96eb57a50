//! Performs a run: one loop over one epoll set, which begins what is to begin, hears what came and
//! gives up what takes too long.
//!
//! What happens when is decided by values: [`Arrivals`] and a [`Workload`] say what is to be asked,
//! a [`Behaviour`] how, a [`Stop`] for how long. Times of the schedule are absolute, so a loop that
//! was late makes up for it: every arrival fires, late ones are recorded as such, and nothing that
//! the server does moves the schedule of an open loop (Pariag07 3.2, Brecht04 5).
//!
//! The loop knows sessions, requests and records. How requests are written and replies read stands
//! in `talk.rs` alone, how bytes get to the server in `wire.rs` alone.

mod alarms;
mod asked;
mod asking;
mod connection;
mod ending;
mod hearing;
mod judge;
mod observer;
mod reach;
mod reads;
mod slab;
mod talk;
mod visit;
mod wire;

use std::collections::HashMap;
use std::io;
use std::iter::{Peekable, Skip, StepBy};
use std::net::SocketAddr;

use measure::draw::Stream;
use measure::{Duration, Instant};
use os::clock::monotonic;
use os::poller::{Mechanism, Poller};

use self::alarms::Alarms;
use self::connection::Connection;
pub use self::observer::{BEAT, Beat, Course, Observer, Over};
pub use self::reach::reach;
use self::reads::Reads;
use self::slab::{Slab, Token};
use self::talk::{Manner, Validators};
pub(crate) use self::talk::{header, is_target};
use self::visit::{Draws, Visit};
use crate::Purpose;
use crate::arrivals::{Arrivals, Gaps, Schedule};
use crate::behaviour::Behaviour;
use crate::files::FileId;
use crate::stop::Stop;
use crate::workload::{self, Workload};

/// All that is the same for a whole run, but for what is asked.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub to: SocketAddr,
    /// Its name, and its port unless that is 80: what requests say whom they ask.
    pub host: String,
    /// When sessions begin.
    pub arrivals: Arrivals,
    /// How clients behave.
    pub behaviour: Behaviour,
    /// When it is over.
    pub stop: Stop,
    /// Of all random numbers.
    pub seed: u64,
    /// When the schedule begins; several processes agree on it.
    pub begin: Instant,
    /// Which part of it this process performs.
    pub part: Part,
    /// Whether the process never sleeps: a virtual machine takes some 50 µs to wake one up, which
    /// would be told as the server's time. It takes a whole processor.
    pub spins: bool,
}

impl Plan {
    /// For how long replies are waited for behind the end of its time, or when it is stopped.
    fn waits(&self) -> Duration {
        self.behaviour.patience.unwrap_or(DRAIN_MAX)
    }
}

/// A share of a run: of `of` processes, the one at `place` begins each `of`-th session from that
/// of its own number on, so that together they do what one alone would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Part {
    /// From 0 on.
    pub place: u32,
    /// How many there are; at least 1.
    pub of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { place: 0, of: 1 };

    /// Of so many, this part's.
    #[must_use]
    pub const fn share(self, count: u32) -> u32 {
        count / self.of + (self.place < count % self.of) as u32
    }
}

/// What a run comes to, besides its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Sessions that began.
    pub sessions: u64,
    /// Connections that were tried.
    pub connections: u64,
    /// Connections that were open at the same time, at most.
    pub connections_open: usize,
    /// Arrivals that were due and never fired: the machine was so slow that nobody's patience would
    /// have lasted, or its time was over. The latter are not counted beyond [`MISSED_MAX`].
    pub missed: u64,
    /// When it was over.
    pub ended: Instant,
}

/// Why a run did not take place, or not to its end: one line.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for makes no sense.
    Operator(String),
    /// The machine refuses.
    Machine(String),
}

/// Who rests for longer does not come again.
const REST_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Missed arrivals that are counted at the end; a schedule of a million a second has as many in a
/// minute.
pub const MISSED_MAX: u64 = 60_000_000;

/// Who has no patience of his own gets this, from the end of the schedule: a run ends.
const DRAIN_MAX: Duration = Duration::from_secs(15);

/// Events that are worked on before it is looked again whether anybody is to arrive: at 20 µs for
/// each, an arrival waits for a third of a millisecond, however much there is to hear.
const EVENTS_MAX: usize = 16;

/// Arrivals, alarms and deadlines that are each worked on before replies are looked at again: at
/// 25 µs for each, a reply waits for less than a millisecond. More than events, because a loop that
/// was held up is to be on its schedule again as soon as it can; that arrivals are kept and replies
/// are not by a generator that cannot do both is told by the processor time that it uses.
const PER_ROUND_MAX: usize = 32;

/// Arrivals where some were missed already: as many as there are events for, of which a session has
/// four (it is connected, answered, its connection has ended, and perhaps one more). Else it would
/// hear later and later of those that it has begun, until all of them have given up.
const BEYOND_PER_ROUND_MAX: usize = EVENTS_MAX / 4;

/// Arrivals that are passed over at once: at 50 ns for each, less than a millisecond.
const MISSED_PER_ROUND_MAX: usize = 10_000;

/// Bytes received at once, in one buffer for all connections.
const BUFFER_BYTES: usize = 64 << 10;

/// Performs a run; `observer` gets the record of every request that is over. Ends when all are, and
/// at the latest when the patience of those that began last is over.
///
/// # Errors
/// See [`Failure`]; what happens to single requests is in their records.
pub fn run(
    plan: &Plan,
    workload: &mut dyn Workload,
    observer: &mut dyn Observer,
) -> Result<Summary, Failure> {
    judge::judge(plan, workload).map_err(Failure::Operator)?;
    plan.behaviour.ports.as_ref().map_or(Ok(()), wire::judge).map_err(Failure::Machine)?;
    let machine = |error: io::Error| Failure::Machine(format!("the load generator: {error}"));
    let poller = Poller::new(Mechanism::Epoll, EVENTS_MAX).map_err(machine)?;
    os::thread::wake_exactly();
    let mut engine = Engine::new(plan, workload, observer, poller);
    engine.perform().map_err(machine)?;
    Ok(Summary { ended: monotonic(), ..engine.summary })
}

/// The sessions of an open loop that have not begun.
type Arriving<'g> = Option<Peekable<StepBy<Skip<Schedule<&'g Gaps>>>>>;

struct Engine<'r> {
    plan: &'r Plan,
    workload: &'r mut dyn Workload,
    observer: &'r mut dyn Observer,
    manner: Manner,
    /// From when on nothing begins.
    stop: Instant,
    /// When all that has not ended is cut.
    end: Instant,
    poller: Poller,
    connections: Slab<Connection>,
    /// When somebody's patience with a connection may be over, by its place.
    deadlines: Alarms,
    /// How fast replies are read, if not as they come.
    reads: Option<Reads>,
    visits: Slab<Visit>,
    /// When a client does something next, by its place.
    wakes: Alarms,
    /// Requests that are not sent yet: for which connection, from where on in `out`.
    outgoing: Vec<(Token, usize)>,
    out: Vec<u8>,
    buffer: Box<[u8]>,
    /// Connections that had more to say than one turn takes, and whether the server has ended them.
    unread: Vec<(Token, bool)>,
    /// What clients have of files that were asked for with a condition; what is not there was
    /// copied before the run.
    copies: HashMap<FileId, Validators>,
    copied_before: Validators,
    /// Connections that clients of an open loop have left to others, by their address, the last one
    /// behind.
    kept: Vec<Vec<Token>>,
    next_beat: Instant,
    spun: Duration,
    /// Arrivals were missed, and since then it has not been on its schedule again: whoever was to
    /// arrive before that does not come.
    missed_before: Option<Instant>,
    summary: Summary,
}

impl<'r> Engine<'r> {
    fn new(
        plan: &'r Plan,
        workload: &'r mut dyn Workload,
        observer: &'r mut dyn Observer,
        poller: Poller,
    ) -> Self {
        let stop = plan.begin + plan.stop.after;
        let reads = Reads::of(&plan.behaviour);
        Self {
            plan,
            workload,
            observer,
            manner: Manner::new(&plan.host, &plan.behaviour.headers),
            stop,
            end: stop + plan.waits(),
            poller,
            connections: Slab::new(),
            deadlines: Alarms::new(),
            visits: Slab::new(),
            wakes: Alarms::new(),
            outgoing: Vec::new(),
            out: Vec::new(),
            buffer: vec![0; reads.as_ref().map_or(BUFFER_BYTES, Reads::piece_bytes)].into(),
            reads,
            unread: Vec::new(),
            copies: HashMap::new(),
            copied_before: talk::copied_at(os::clock::wall_seconds()),
            kept: vec![Vec::new(); plan.behaviour.sources.len().max(1)],
            next_beat: plan.begin + BEAT,
            spun: Duration::ZERO,
            missed_before: None,
            summary: Summary::default(),
        }
    }

    /// The loop.
    fn perform(&mut self) -> io::Result<()> {
        let Plan { arrivals, part, seed, .. } = self.plan;
        let mut arrivals = match arrivals {
            Arrivals::Open(gaps) => {
                let all = Schedule::new(gaps, Stream::new(*seed, Purpose::Arrivals as u64));
                let ours = all.skip(part.place as usize).step_by(part.of as usize);
                Some(ours.peekable())
            }
            Arrivals::Closed { clients, .. } => {
                (0..part.share(*clients)).for_each(|client| self.come(client));
                None
            }
        };
        loop {
            let next = self.arrive(&mut arrivals);
            self.wake(monotonic());
            let now = monotonic();
            self.expire(now);
            self.resume(now);
            self.beat(now);
            self.flush();
            if now >= self.end || (next.is_none() && self.visits.count() == 0) {
                break;
            }
            self.wait(next)?;
            for at in 0..self.poller.events().len() {
                let event = self.poller.events()[at];
                self.happened(event);
            }
            for (token, has_ended) in std::mem::take(&mut self.unread) {
                self.hear(token, has_ended);
            }
            self.flush();
        }
        self.miss(&mut arrivals, self.stop, MISSED_MAX as usize);
        self.cut();
        Ok(())
    }

    /// Begins the sessions whose time has come; returns when the next one is to.
    fn arrive(&mut self, arrivals: &mut Arriving<'_>) -> Option<Instant> {
        let is_beyond = self.missed_before.is_some();
        for _ in 0..if is_beyond { BEYOND_PER_ROUND_MAX } else { PER_ROUND_MAX } {
            let at = self.next_arrival(arrivals)?;
            let now = monotonic();
            if at > now {
                self.missed_before = None;
                return Some(at);
            }
            self.judge_lateness(at, now);
            if let Some(before) = self.missed_before.filter(|before| at < *before) {
                self.miss(arrivals, before, MISSED_PER_ROUND_MAX);
                break;
            }
            arrivals.as_mut()?.next();
            let token = self.visits.insert(Visit::new(at));
            self.begin(token, at, now);
        }
        self.next_arrival(arrivals)
    }

    /// Sees who comes too late to come at all. When somebody's patience is over before he could
    /// begin, neither do those come who have spent half of theirs: else a generator that is asked
    /// for more than it can do would stay one patience behind, and each client that it begins would
    /// give up at once, by no fault of the server.
    fn judge_lateness(&mut self, at: Instant, now: Instant) {
        if let Some(patience) = self.plan.behaviour.patience
            && at + patience <= now
        {
            let half = (patience / 2).as_nanos() as u64;
            self.missed_before = Some(Instant { ns: now.ns.saturating_sub(half) });
        }
    }

    /// Passes over at most so many arrivals, as far as they were due before that time.
    fn miss(&mut self, arrivals: &mut Arriving<'_>, before: Instant, most: usize) {
        for _ in 0..most {
            if self.next_arrival(arrivals).is_none_or(|at| at >= before) {
                return;
            }
            if let Some(arrivals) = arrivals {
                arrivals.next();
            }
            self.summary.missed += 1;
        }
    }

    fn next_arrival(&self, arrivals: &mut Arriving<'_>) -> Option<Instant> {
        if !self.may_begin() {
            return None;
        }
        let at = self.plan.begin + *arrivals.as_mut()?.peek()?;
        (at < self.stop).then_some(at)
    }

    /// Whether another session may begin.
    fn may_begin(&self) -> bool {
        self.plan.stop.sessions_max.is_none_or(|most| self.next_number() < most)
    }

    /// Whether a session, or a request of one, may still begin.
    fn goes_on(&self) -> bool {
        self.may_begin() || self.visits.iter().any(Visit::asks_on)
    }

    /// Of the next session, over all processes. One that was missed has used up its own.
    fn next_number(&self) -> u64 {
        let Part { place, of } = self.plan.part;
        (self.summary.sessions + self.summary.missed) * u64::from(of) + u64::from(place)
    }

    /// A client of a closed loop comes. Who rests between sessions is in the middle of a rest when
    /// the run begins: else all of them would come at once, again and again.
    fn come(&mut self, client: u32) {
        let Plan { part, seed, begin, .. } = *self.plan;
        let client = u64::from(client) * u64::from(part.of) + u64::from(part.place);
        // Rests behind sessions are drawn by their numbers, which count from 0.
        let mut resting = Stream::of(seed, Purpose::Resting as u64, !client);
        let left = resting.unit();
        let at = begin + self.drawn_rest(&mut resting).mul_f64(left);
        let token = self.visits.insert(Visit::new(at));
        self.wakes.set(token.place(), at.min(self.stop));
    }

    /// How long a client of a closed loop rests.
    fn drawn_rest(&self, resting: &mut Stream) -> Duration {
        let Arrivals::Closed { think, .. } = &self.plan.arrivals else { return Duration::ZERO };
        let seconds = think.draw(resting).clamp(0.0, REST_MAX.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }

    /// Lets clients go on whose pause is over.
    fn wake(&mut self, now: Instant) {
        for _ in 0..PER_ROUND_MAX {
            let Some(place) = self.wakes.rung(now) else { return };
            let Some(token) = self.visits.at(place) else { continue };
            match self.visits.named(token).and_then(|visit| visit.begins()) {
                Some(at) => self.begin_next(token, at, now),
                None => self.advance(token, now),
            }
        }
    }

    /// A client of a closed loop begins its next session, or leaves. Where clients never rest, a
    /// session counts from when its first request leaves: nobody set it a time, so that many come
    /// one after the other makes none of them late. A rest sets a time, as a rate does.
    fn begin_next(&mut self, token: Token, at: Instant, now: Instant) {
        let has_time = self.plan.arrivals.have_times();
        let now = if has_time { now } else { monotonic() };
        let at = if has_time { at } else { now };
        if at >= self.stop || !self.may_begin() {
            self.leave(token);
        } else {
            self.begin(token, at, now);
        }
    }

    /// A client begins its next session.
    fn begin(&mut self, token: Token, at: Instant, now: Instant) {
        let number = self.next_number();
        let (mut asking, mut thinking) = workload::draws(self.plan.seed, number);
        let session = self.workload.session(number, &mut asking, &mut thinking);
        let draws = Draws::new(self.plan.seed, number);
        self.summary.sessions += 1;
        if let Some(visit) = self.visits.named(token) {
            visit.begin(number, self.plan.behaviour.asks(session), draws, at);
        }
        self.advance(token, now);
        if !self.may_begin() {
            // Whoever rests has nothing to wait for.
            self.wakes.all_at(now);
        }
    }

    /// Gives up connections that somebody's patience with is over.
    fn expire(&mut self, now: Instant) {
        for _ in 0..PER_ROUND_MAX {
            let Some(place) = self.deadlines.rung(now) else { return };
            let Some(token) = self.connections.at(place) else { continue };
            self.judge_patience(token, now);
        }
    }

    /// Tells that time passes.
    fn beat(&mut self, now: Instant) {
        if now < self.next_beat {
            return;
        }
        self.next_beat = now + BEAT;
        if self.stop > now && !self.goes_on() {
            self.stop = now;
            // Who has no patience of his own waits for all of what was asked for.
            self.end = self.plan.behaviour.patience.map_or(self.end, |patience| now + patience);
        }
        let over = (self.stop <= now).then_some(Over { since: self.stop, until: self.end });
        let (open, asking) = (self.connections.count(), self.visits.count());
        match self.observer.beat(Beat { now, open, asking, over, spun: self.spun }) {
            Course::Stop if self.stop > now => {
                self.stop = now;
                self.end = now + self.plan.waits();
                // Whoever thinks learns of it now.
                self.wakes.all_at(now);
            }
            Course::Cut => {
                self.stop = self.stop.min(now);
                self.end = now;
            }
            Course::On | Course::Stop => {}
        }
    }

    /// Waits for events, or until something else is to be done.
    fn wait(&mut self, next: Option<Instant>) -> io::Result<()> {
        let timeout = self.timeout(next);
        if !self.plan.spins {
            self.poller.wait_exactly(Some(timeout))?;
            return Ok(());
        }
        let begun = monotonic();
        // Ends: at the latest with the next beat.
        loop {
            let is_idle = self.poller.wait_exactly(Some(Duration::ZERO))?.is_empty();
            let spun = monotonic() - begun;
            if !is_idle || spun >= timeout {
                self.spun += spun;
                return Ok(());
            }
        }
    }

    /// Until something is to be done that no event tells of.
    fn timeout(&self, next: Option<Instant>) -> Duration {
        if !self.unread.is_empty() {
            return Duration::ZERO;
        }
        let resumes = self.reads.as_ref().and_then(Reads::earliest);
        let alarms = [next, self.wakes.earliest(), self.deadlines.earliest(), resumes];
        let first = alarms.into_iter().flatten().fold(self.next_beat.min(self.end), Instant::min);
        first - monotonic()
    }
}
