//! The intake: how many connections an accept phase takes, and who of those that knock is admitted.
//!
//! Every accept verb asks [`Intake::quota`] and tells [`Intake::took`] what it took. Of all loops
//! that share a listening socket, of whichever worker, one looks at its queue and decides for all
//! ([`control::admission`]); for processes with one connection each their supervisor does. None
//! takes more in a phase than it can soon work on ([`control::phase`]), and the rest waits in the
//! kernel, where the wait is seen (Brecht04 8).

use std::collections::BTreeMap;
use std::mem;

use control::admission::{ALL, Admission, Bounds, Sample, Setting};
use control::phase::{Phase, Work};
use control::record::Record;
use measure::{Duration, Instant};

use crate::shared::admissions::{Admitted, Claim, RENEWED_WITHIN};
use crate::shared::counters::Counter;
use crate::shared::error_log::By;
use crate::shared::server::{Server, Worker};
use crate::shared::settings::{ACCEPT_INF, Level};

/// What was decided is set again after so long, in a flood and out of one: whoever has had the
/// socket before, or has it besides, may have set something else.
const SET_AGAIN_FLOOD: Duration = Duration::from_millis(200);
const SET_AGAIN_CALM: Duration = Duration::from_secs(1);

/// For how long evictions are counted before they tell whether places are short.
const SCARCITY_WINDOW: Duration = Duration::from_millis(50);

/// That of a worker.
pub(crate) struct Intake {
    /// Of each listening socket that it accepts from, by its place.
    sides: BTreeMap<usize, Side>,
    phase: Phase,
    /// Of those that all workers run on.
    processors: u32,
    /// The last phase has left somebody waiting.
    leaves: bool,
    scarcity: Scarcity,
}

/// Whether slow clients hold the places: whether more than half of the connections that were
/// accepted in a window took the place of one with a slow head, body or reply. What waits then
/// waits for places and not for the processor, so it does not tell that SYNs are to be refused.
struct Scarcity {
    /// When the window began, and what was counted by then.
    since: Instant,
    slow: u64,
    accepted: u64,
    /// Places freed by evictions in the last window and not taken in it. They count in the next,
    /// because a busy machine fills them late.
    unused: u64,
    /// What the last window told.
    lacks_places: bool,
}

/// What it decides of a listening socket.
struct Side {
    admission: Admission,
    looked: Instant,
    applied: Option<(Setting, Instant)>,
    lifted: u64,
    /// Connections that were taken since the last look and that had waited until then.
    brought: u32,
    /// The last round has brought nobody: it was for something else.
    is_idle: bool,
    /// A phase since the last look has left nobody waiting.
    emptied: bool,
    /// Connections that were accepted when this was last watched, and when that was seen to grow.
    accepted: u64,
    last_growth: Instant,
    /// It can be told to admit a share.
    filters: bool,
    /// What is yet to be told of its begin.
    begins: Option<Record>,
}

impl Intake {
    /// That of a worker where a connection that asks for one thing has so many turns.
    pub(crate) fn new(worker: &Worker<'_>, turns: u32) -> Self {
        let server = worker.server;
        let now = os::clock::monotonic();
        let side = |place: &usize| (*place, Side::new(server, *place, now));
        Self {
            sides: worker.places().iter().map(side).collect(),
            phase: Phase::new(turns),
            processors: u32::try_from(os::thread::cpu_affinity_count()).unwrap_or(u32::MAX),
            leaves: false,
            scarcity: Scarcity::new(now),
        }
    }

    /// How many connections may be taken from the listening socket at that place before other work.
    pub(crate) fn quota(&mut self, worker: &Worker<'_>, place: usize, now: Instant) -> u32 {
        let Server { dials, architecture, .. } = worker.server;
        if self.phase.is_due(now) {
            self.phase.observe(now, &work(worker));
        }
        self.look(worker, place, now);
        dials.accept_limit().unwrap_or_else(|| {
            let own = architecture.accept_limit;
            let is_tuned = own == ACCEPT_INF && !self.sides[&place].admission.is_frozen();
            let is_flood = worker.server.admissions.is_flood(place);
            let time = if is_flood { dials.phase() } else { dials.queue_delay() };
            let among = worker.server.loops().div_ceil(self.processors);
            if is_tuned { self.phase.limit(time, among) } else { own }
        })
    }

    /// A phase has taken so many; `emptied`: because nobody else waited.
    pub(crate) fn took(&mut self, worker: &Worker<'_>, place: usize, taken: u32, emptied: bool) {
        worker.server.admissions.took(place, taken);
        self.leaves |= !emptied;
        self.side(place).emptied |= emptied;
    }

    /// So many have come without being asked for, and have waited for this round.
    pub(crate) fn brought(&mut self, worker: &Worker<'_>, place: usize, n: u32, emptied: bool) {
        self.took(worker, place, n, emptied);
        let side = self.side(place);
        side.brought += n;
        side.is_idle = n == 0;
    }

    /// A round has ended. Where it has left somebody waiting there is more to do than can be, and
    /// the system lets a loop go on for several rounds: whoever waits for another one, or for the
    /// one that decides, waits for all of them. So it is the others' turn where they share a
    /// processor.
    pub(crate) fn give_way(&mut self, worker: &Worker<'_>) {
        let shares = worker.server.loops() > self.processors;
        if mem::take(&mut self.leaves) && shares {
            std::thread::yield_now();
        }
    }

    /// Looks at the queues while this worker cannot accept. Once no connection has been accepted
    /// from a socket for [`RENEWED_WITHIN`], this stops looking at its queue, so that the
    /// supervisor lifts the decision. A knob that was turned meanwhile is applied.
    pub(crate) fn watch(&mut self, worker: &Worker<'_>, now: Instant) {
        for place in worker.places() {
            let accepted = worker.server.admissions.accepted(*place);
            let side = self.side(*place);
            side.is_idle = false;
            if mem::replace(&mut side.accepted, accepted) != accepted {
                side.last_growth = now;
            }
            let is_held = now - side.last_growth >= RENEWED_WITHIN;
            let is_turned = *side.admission.bounds() != bounds(worker.server, side.filters);
            if !is_held || is_turned {
                self.look(worker, *place, now);
            }
        }
    }

    /// Whether the listening socket at that place may bring whoever comes, without being asked.
    pub(crate) fn is_unlimited(&self, server: &Server, place: usize) -> bool {
        let limit = server.dials.accept_limit().unwrap_or(server.architecture.accept_limit);
        limit == ACCEPT_INF && !server.admissions.is_flood(place)
    }

    fn side(&mut self, place: usize) -> &mut Side {
        self.sides.get_mut(&place).expect("a place that this worker accepts from")
    }

    /// Looks at the queue, if that is due and this worker's to do, and sets what follows.
    fn look(&mut self, worker: &Worker<'_>, place: usize, now: Instant) {
        let server = worker.server;
        let Server { listeners, admissions, .. } = server;
        let side = self.sides.get_mut(&place).expect("a place that this worker accepts from");
        let listener = &listeners[place];
        let is_due = worker.may_look() && now - side.looked >= side.admission.look_after();
        if !is_due || !listener.is_tcp() || worker.order.is_draining() {
            return;
        }
        side.looked = now;
        let claim = admissions.claim(place, worker.row, now, !side.is_idle);
        let Some(claim) = claim else { return };
        if claim == Claim::TakesOver || side.lifted != admissions.lifted(place) {
            // What another has set, and for which setting of the knobs, is not known.
            *side = Side { looked: now, applied: None, ..Side::new(server, place, now) };
        }
        let bounds = bounds(server, side.filters);
        side.admission.bind(bounds);
        let mut seen = Sample::default();
        if !side.admission.is_frozen() {
            let Ok(queue) = listener.queue() else { return };
            let accepted = admissions.accepted(place);
            let sharers = if listeners.owner(place).is_some() { 1 } else { server.loops() };
            let waiting = queue.length.saturating_add(mem::take(&mut side.brought));
            let lacks_places = self.scarcity.observe(now, |of| server.counters.total(of));
            seen = Sample {
                queue: if lacks_places { 0 } else { waiting },
                room: queue.max,
                emptied: mem::take(&mut side.emptied),
                accepted,
                refused: queue.drops,
                could: self.phase.could().saturating_mul(sharers),
            };
            side.admission.observe(now, &seen);
        }
        if let Some(log) = &server.admission_log {
            let of = format!("{}.{place}", worker.row);
            side.tell((now, bounds, seen), |record| log.write(format!("{of} {record}")));
        }
        let told = side.admission.told();
        let again = if told.is_flood { SET_AGAIN_FLOOD } else { SET_AGAIN_CALM };
        let is_old = |at: Instant| !side.admission.is_frozen() && now - at >= again;
        let setting = side.admission.setting();
        if side.applied.is_none_or(|(set, at)| set != setting || is_old(at)) {
            side.apply(worker, place, now);
        }
        admissions.decided(place, side.admission.setting(), &told);
    }
}

impl Scarcity {
    const fn new(now: Instant) -> Self {
        Self { since: now, slow: 0, accepted: 0, unused: 0, lacks_places: false }
    }

    /// Whether places are short, by the totals of two counters, which are read once in a window.
    fn observe(&mut self, now: Instant, total: impl Fn(Counter) -> u64) -> bool {
        if now - self.since < SCARCITY_WINDOW {
            return self.lacks_places;
        }
        let [slow, accepted] = [Counter::EvictedSlow, Counter::Accepted].map(total);
        // While none is accepted nothing is known.
        if accepted != self.accepted {
            let evicted = slow.saturating_sub(self.slow);
            let taken = accepted.saturating_sub(self.accepted);
            let places = evicted + self.unused;
            let lacks_places = 2 * places > taken;
            let unused = evicted.min(places.saturating_sub(taken));
            *self = Self { since: now, slow, accepted, unused, lacks_places };
        }
        self.lacks_places
    }
}

impl Side {
    /// Begins in calm, or goes on where another worker has ended.
    fn new(server: &Server, place: usize, now: Instant) -> Self {
        let Admitted { share, told, .. } = server.admissions.of(place);
        let bounds = bounds(server, true);
        let admission = Admission::resumed(bounds, now, share, &told);
        // What an operator has frozen was set when the socket was bound.
        let bound = Setting { backlog: server.dials.backlog_max(), share: ALL };
        Self {
            applied: admission.is_frozen().then_some((bound, now)),
            admission,
            looked: Instant::ORIGIN,
            lifted: server.admissions.lifted(place),
            brought: 0,
            is_idle: false,
            emptied: false,
            accepted: 0,
            last_growth: Instant::ORIGIN,
            filters: true,
            begins: Some(Record::Begins { now, bounds, share, told }),
        }
    }

    /// Tells what was seen and is set, and first how it began.
    fn tell(&mut self, seen: (Instant, Bounds, Sample), tell: impl Fn(&Record)) {
        self.begins.take().iter().for_each(&tell);
        let ((now, bounds, sample), setting) = (seen, self.admission.setting());
        tell(&Record::Looks { now, bounds, sample, setting });
    }

    fn apply(&mut self, worker: &Worker<'_>, place: usize, now: Instant) {
        let Server { listeners, admissions, errors, .. } = worker.server;
        let listener = &listeners[place];
        let setting = self.admission.setting();
        self.applied = Some((setting, now));
        let Setting { backlog, share } = setting;
        // No error is known of it; the next time it is set again.
        let _ = listener.set_backlog(backlog);
        let admitted = match u16::try_from(share) {
            Ok(share) => listener.admit(share, admissions.salt(place)),
            Err(_) => listener.admit_all(),
        };
        if let Err(e) = admitted
            && share < ALL
        {
            self.filters = false;
            let text =
                format!("cannot refuse SYNs: {e}; in a flood the backlog alone bounds waits");
            errors.write(Level::Warn, By::Worker(worker.number), &text);
        }
    }
}

fn work(worker: &Worker<'_>) -> Work {
    let of = |counter| worker.server.counters.in_row(worker.row, counter);
    Work {
        accepted: of(Counter::Accepted),
        accept_ns: of(Counter::AcceptNs),
        worked: of(Counter::Worked),
        work_ns: of(Counter::WorkNs),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_freed_in_one_window_count_in_the_next() {
        // Evicted and accepted in each window, and whether places are short after it.
        let rows: [&[(u64, u64, bool)]; 6] = [
            &[(0, 16, false), (16, 16, true), (0, 16, false)],
            &[(9, 16, true), (8, 16, false)],
            // While none is accepted nothing is known.
            &[(0, 0, false), (16, 16, true), (0, 0, true)],
            &[(16, 3, true), (0, 13, true), (0, 16, false)],
            &[(16, 0, false), (0, 16, true), (0, 16, false)],
            // But in no later one.
            &[(100, 1, true), (0, 1, true), (0, 1, false)],
        ];
        for row in rows {
            let mut scarcity = Scarcity::new(Instant::ORIGIN);
            let (mut now, mut slow, mut taken) = (Instant::ORIGIN, 0, 0);
            for (evicted, accepted, lacks_places) in row {
                now = now + SCARCITY_WINDOW;
                (slow, taken) = (slow + evicted, taken + accepted);
                let total = |of| if of == Counter::EvictedSlow { slow } else { taken };
                assert_eq!(scarcity.observe(now, total), *lacks_places, "{row:?}");
            }
        }
    }
}
