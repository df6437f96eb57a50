//! The intake: how many connections an accept phase takes, and who of those that knock is admitted.
//!
//! Every accept verb asks [`Intake::quota`] and tells `Admissions::took` what it took. Of all
//! workers that share a listening socket one looks at its queue and decides for all
//! ([`control::admission`]). None takes more in a phase than it can soon work on, and the rest
//! waits in the kernel, where the wait is seen (Brecht04 8).

use std::hash::BuildHasher;

use control::admission::{ALL, Admission, Bounds, Sample, Setting};
use measure::{Duration, Instant};
use os::Listener;

use crate::shared::admissions::{Admitted, Claim};
use crate::shared::counters::Counter;
use crate::shared::error_log::By;
use crate::shared::server::{Server, Worker};
use crate::shared::settings::{ACCEPT_INF, Level};

/// What was decided is set again after so long, in a flood and out of one: whoever has had the
/// socket before, or has it besides, may have set something else.
const SET_AGAIN_FLOOD: Duration = Duration::from_millis(200);
const SET_AGAIN_CALM: Duration = Duration::from_secs(1);

/// What a connection costs while nothing is known of it.
const COST_FIRST_NS: f64 = 100_000.0;
/// Connections whose cost is known well enough.
const COSTED_MIN: u64 = 16;
const COST_EVERY: Duration = Duration::from_millis(20);
/// Weight of what was known of it before.
const COST_KEPT: f64 = 0.8;

/// That of a worker.
pub(crate) struct Intake {
    /// Of each listening socket.
    sides: Vec<Side>,
    cost: Cost,
}

/// What it decides of a listening socket.
struct Side {
    admission: Admission,
    looked: Instant,
    applied: Option<(Setting, Instant)>,
    lifted: u64,
    salt: u32,
    /// Connections that were taken in this round without being asked for.
    brought: u32,
    /// It can be told to admit a share.
    filters: bool,
}

/// What a connection costs this worker: to be taken, and to be worked on once.
#[derive(Default)]
struct Cost {
    each_ns: f64,
    looked: Instant,
    /// What was counted by then.
    seen: [u64; COUNTED.len()],
}

const COUNTED: [Counter; 4] =
    [Counter::Accepted, Counter::AcceptNs, Counter::Worked, Counter::WorkNs];

impl Intake {
    pub(crate) fn new(worker: &Worker<'_>) -> Self {
        let server = worker.server;
        let now = os::clock::monotonic();
        let places = 0..server.listeners.len();
        let sides = places.map(|place| Side::new(server, place, now)).collect();
        Self { sides, cost: Cost { each_ns: COST_FIRST_NS, ..Cost::default() } }
    }

    /// How many connections may be taken from the listening socket at that place before other work.
    pub(crate) fn quota(&mut self, worker: &Worker<'_>, place: usize, now: Instant) -> u32 {
        let server = worker.server;
        self.cost.look(worker, now);
        if !worker.order.is_draining() {
            self.look(worker, place, now);
        }
        self.sides[place].brought = 0;
        server.dials.accept_limit().unwrap_or_else(|| {
            let own = server.architecture.accept_limit;
            let is_tuned = own == ACCEPT_INF && !self.sides[place].admission.is_frozen();
            if is_tuned { self.soon(server, place) } else { own }
        })
    }

    /// How many are worked on soon: in a flood by what all workers together can, else by what each
    /// connection costs this one.
    fn soon(&self, server: &Server, place: usize) -> u32 {
        let told = server.admissions.of(place).told;
        let most = if told.is_flood {
            let workers = server.counters.workers() as f64;
            server.dials.phase().as_secs_f64() * told.capacity / workers
        } else {
            server.dials.queue_delay().as_nanos() as f64 / self.cost.each_ns.max(1.0)
        };
        most.max(1.0) as u32
    }

    /// Whether the listening socket at that place may bring whoever comes, without being asked.
    pub(crate) fn is_unlimited(&self, server: &Server, place: usize) -> bool {
        let limit = server.dials.accept_limit().unwrap_or(server.architecture.accept_limit);
        limit == ACCEPT_INF && !server.admissions.of(place).told.is_flood
    }

    /// It has brought somebody, who has waited with all the others of this round.
    pub(crate) fn brought(&mut self, place: usize) {
        self.sides[place].brought += 1;
    }

    /// Looks at the queue, if that is due and this worker's to do, and sets what follows.
    fn look(&mut self, worker: &Worker<'_>, place: usize, now: Instant) {
        let (server, side) = (worker.server, &mut self.sides[place]);
        let (listener, admissions) = (&server.listeners[place], &server.admissions);
        let is_due = now - side.looked >= side.admission.look_after();
        if !is_due || !listener.is_tcp() {
            return;
        }
        side.looked = now;
        let Some(claim) = admissions.claim(place, worker.number, now) else { return };
        if claim == Claim::TakesOver || side.lifted != admissions.lifted(place) {
            // What another has set, and for which setting of the knobs, is not known.
            *side = Side { looked: now, applied: None, ..Side::new(server, place, now) };
        }
        side.admission.bind(bounds(server, side.filters));
        if !side.admission.is_frozen() {
            let Ok(queue) = listener.queue() else { return };
            let accepted = admissions.accepted(place);
            let waits = queue.length.saturating_add(side.brought);
            let sample = Sample { queue: waits, accepted, refused: queue.drops };
            side.admission.observe(now, &sample);
        }
        let told = side.admission.told();
        let again = if told.is_flood { SET_AGAIN_FLOOD } else { SET_AGAIN_CALM };
        let is_old = |at: Instant| !side.admission.is_frozen() && now - at >= again;
        let setting = side.admission.setting();
        if side.applied.is_none_or(|(set, at)| set != setting || is_old(at)) {
            side.apply(worker, listener, now);
        }
        admissions.decided(place, side.admission.setting(), &told);
    }
}

impl Side {
    /// Begins in calm, or goes on where another worker has ended.
    fn new(server: &Server, place: usize, now: Instant) -> Self {
        let Admitted { share, told, .. } = server.admissions.of(place);
        let random = std::hash::RandomState::new();
        let admission = Admission::resumed(bounds(server, true), now, share, &told);
        // What an operator has frozen was set when the socket was bound.
        let bound = Setting { backlog: server.dials.backlog_max(), share: ALL };
        Self {
            applied: admission.is_frozen().then_some((bound, now)),
            admission,
            looked: Instant::ORIGIN,
            lifted: server.admissions.lifted(place),
            salt: random.hash_one(place) as u32,
            brought: 0,
            filters: true,
        }
    }

    fn apply(&mut self, worker: &Worker<'_>, listener: &Listener, now: Instant) {
        let setting = self.admission.setting();
        self.applied = Some((setting, now));
        let Setting { backlog, share } = setting;
        // No error is known of it; the next time it is set again.
        let _ = listener.set_backlog(backlog);
        let admitted = match u16::try_from(share) {
            Ok(share) => listener.admit(share, self.salt),
            Err(_) => listener.admit_all(),
        };
        if let Err(e) = admitted
            && share < ALL
        {
            self.filters = false;
            let text =
                format!("cannot refuse SYNs: {e}; in a flood the backlog alone bounds waits");
            worker.server.errors.write(Level::Warn, By::Worker(worker.number), &text);
        }
    }
}

impl Cost {
    fn look(&mut self, worker: &Worker<'_>, now: Instant) {
        if now - self.looked < COST_EVERY {
            return;
        }
        self.looked = now;
        let counted = COUNTED.map(|counter| worker.server.counters.of(worker.number, counter));
        let grown = |at: usize| counted[at].saturating_sub(self.seen[at]);
        let [accepted, accept_ns, worked, work_ns] = [0, 1, 2, 3].map(grown);
        if accepted < COSTED_MIN || worked < COSTED_MIN {
            return;
        }
        let each_ns = accept_ns as f64 / accepted as f64 + work_ns as f64 / worked as f64;
        self.each_ns = COST_KEPT * self.each_ns + (1.0 - COST_KEPT) * each_ns;
        self.seen = counted;
    }
}

fn bounds(server: &Server, filters: bool) -> Bounds {
    let dials = &server.dials;
    Bounds {
        wait: dials.queue_delay(),
        backlog_max: dials.backlog_max(),
        backlog: dials.backlog(),
        share: dials.admitted().or((!filters).then_some(ALL)),
    }
}
