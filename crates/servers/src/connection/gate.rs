//! Whether a worker accepts connections: until it holds as many as it may, or the machine refuses
//! one; during a drain only those who wait already.

use measure::{Duration, Instant};

use crate::shared::server::{Server, Worker};

/// How long accepting rests when the machine has refused, if no connection closes before.
pub(crate) const REFUSED_FOR: Duration = Duration::from_millis(100);

/// A connection that has waited for its next request for less is not evicted, because the client
/// has perhaps just read the reply.
const IDLE_MIN: Duration = Duration::from_millis(100);
/// A connection that has sent no whole head is not evicted before it has waited for so long. A
/// client sends its head with the end of the handshake, and while places are short it has waited in
/// the queue since then. Where 64 processes have a connection each, this is for how long slow
/// clients hold one of them.
pub(crate) const HEAD_MIN: Duration = Duration::from_millis(2);
/// A connection in a reply or a body is not evicted before its peer is so far behind the rate that
/// `crowded-rate-min` asks for: a lost packet that is sent again may take most of a second.
pub(crate) const BEHIND_MIN: Duration = Duration::from_secs(1);
/// The least of that where many connections wait for a process or a thread: on a network that loses
/// nothing most clients are silent for less.
const BEHIND_MIN_CROWDED: Duration = Duration::from_millis(100);
/// So long in a flood, if it has been answered: its user reads what he has got.
const STAYS_IN_FLOOD: Duration = Duration::from_secs(5);
/// How long a full worker leaves a connection that waits to workers that have room, once it has
/// seen that one waits. They accept it at once if they run, but a worker may be stopped, or wait
/// for the disk. The full worker looks as often, so a connection waits twice as long at most.
pub(super) const DEFERS_FOR: Duration = Duration::from_millis(50);
/// Of those that have waited for longest, how many are looked at for one that may go: few of them
/// happen to have something to be looked at in the same round.
pub(crate) const LOOKED_AT_MAX: usize = 16;

/// How long whoever has been answered stays before he goes for another: in a flood others are
/// refused first, because who is admitted is to be served to the end.
pub(crate) fn stays(server: &Server) -> Duration {
    if server.is_flooded() { STAYS_IN_FLOOD } else { IDLE_MIN }
}

/// How far behind a transfer has to be to be evicted, where so many places are taken and so many
/// connections wait for one: each of these is to wait for a second at most.
pub(crate) fn behind_min(taken: usize, waiting: usize) -> Duration {
    let share = taken as f64 / (taken + waiting).max(1) as f64;
    BEHIND_MIN.mul_f64(share).max(BEHIND_MIN_CROWDED)
}

/// A worker's gate.
#[derive(Clone)]
pub(crate) struct Gate {
    state: State,
    /// During a drain: how many more it lets in, for the queue may be refilled as fast as it is
    /// emptied.
    left: Option<u32>,
    open_max: usize,
    /// Whether accepting rests at the maximum until a ninth of the connections have gone, as in the
    /// papers. If not, one that is idle is evicted for a new one.
    has_hysteresis: bool,
    deferral: Deferral,
}

/// What a full worker knows of connections that it leaves to other workers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Deferral {
    /// When it last left them to others.
    looked: Option<Instant>,
    /// Since when a connection has waited at each look.
    waits_since: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// As many are open as may be.
    Full,
    /// So, but one of them goes for whoever comes.
    Crowded,
    /// The machine had no descriptor or no memory: others may have given some back by then.
    Refused {
        until: Instant,
    },
    /// Nobody waits any more, and a drain goes on.
    Shut,
}

impl Gate {
    /// Open, for at most as many connections at once as each loop of the server may hold.
    pub(crate) fn new(server: &Server) -> Self {
        Self::of(server.connections_max, !server.settings.make_room)
    }

    pub(super) fn of(open_max: usize, has_hysteresis: bool) -> Self {
        let deferral = Deferral::default();
        Self { state: State::Open, left: None, open_max, has_hysteresis, deferral }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Crowded)
    }

    /// Whether it depends on [`Self::may_make_room`] who is let in.
    pub(crate) const fn is_full(&self) -> bool {
        matches!(self.state, State::Full | State::Crowded) && !self.is_draining()
    }

    pub(crate) const fn is_draining(&self) -> bool {
        self.left.is_some()
    }

    /// How many more may come in when so many are open.
    pub(crate) const fn room(&self, open: usize) -> usize {
        self.open_max.saturating_sub(open)
    }

    /// One more is open: now so many.
    pub(crate) fn accepted(&mut self, open: usize) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
        if self.left == Some(0) {
            self.state = State::Shut;
        } else if open >= self.open_max {
            self.state = State::Full;
        }
    }

    /// The machine has refused one.
    pub(crate) fn refused(&mut self, now: Instant) {
        if self.is_open() {
            self.state = State::Refused { until: now + REFUSED_FOR };
        }
    }

    /// One was closed: now so many are open. A gate that rests at the maximum opens when a ninth of
    /// them have gone: at nine tenths and eight tenths of all descriptors (lighttpd's hysteresis).
    /// Any other opens at once, and so does each in a drain. The state of other workers does not
    /// matter, because a worker that left its connections to others could wait for one that does
    /// the same.
    pub(crate) fn closed(&mut self, open: usize) {
        let rests = self.has_hysteresis && !self.is_draining();
        let resume = if rests { self.open_max * 8 / 9 } else { self.open_max };
        match self.state {
            State::Full if open <= resume && open < self.open_max => self.state = State::Open,
            State::Crowded if open < self.open_max => self.state = State::Open,
            State::Refused { .. } => self.resume(open),
            _ => {}
        }
    }

    /// The machine is asked again, unless as many are open as may be.
    fn resume(&mut self, open: usize) {
        self.state = if open < self.open_max { State::Open } else { State::Full };
    }

    /// Whether whoever is let in takes another's place.
    pub(crate) fn is_crowded(&self) -> bool {
        self.state == State::Crowded
    }

    /// So many are open; `may`: one of them goes for whoever comes. In a drain nobody does.
    pub(crate) fn may_make_room(&mut self, may: bool, open: usize) {
        if self.is_full() {
            self.state = match may {
                true if open < self.open_max => State::Open,
                true => State::Crowded,
                false => State::Full,
            };
        }
    }

    /// Whether a worker that is full leaves new connections to others, which have room, rather than
    /// evict one of its own. To be asked in each round, or [`Self::looks_again`] lies in the past.
    pub(crate) fn defers(&mut self, worker: &Worker<'_>, now: Instant) -> bool {
        if self.has_hysteresis {
            return true;
        }
        let waits = || {
            let sockets = worker.listeners().map(|(_, listener)| listener.as_fd_ref());
            os::wait_readable(sockets, Some(Duration::ZERO)).is_ok_and(|are| are.contains(&true))
        };
        self.defers_if(now, worker.has_room_beside(), waits)
    }

    /// The same, if it is known whether others have room, and whether a connection waits.
    pub(super) fn defers_if(
        &mut self,
        now: Instant,
        others_have_room: bool,
        is_waiting: impl FnOnce() -> bool,
    ) -> bool {
        self.deferral.observe(now, others_have_room, is_waiting)
    }

    /// When a full worker is to look again whether others have taken the connections that it has
    /// left to them.
    pub(crate) fn looks_again(&self) -> Option<Instant> {
        let looked = self.deferral.looked.filter(|_| self.state == State::Full && self.is_full());
        looked.map(|looked| looked + DEFERS_FOR)
    }

    /// It is now so late; so many are open.
    pub(crate) fn tick(&mut self, now: Instant, open: usize) {
        if self.due().is_some_and(|until| until <= now) {
            self.resume(open);
        }
    }

    /// When to tick.
    pub(crate) const fn due(&self) -> Option<Instant> {
        match self.state {
            State::Refused { until } => Some(until),
            _ => None,
        }
    }

    /// From now on it lets in who waits already, and those are at most so many; so many are open.
    pub(crate) fn drain(&mut self, waiting_max: u32, open: usize) {
        self.left = Some(waiting_max);
        if let State::Full | State::Crowded = self.state {
            self.resume(open);
        }
    }

    /// Whether nobody is let in any more, whatever happens.
    pub(crate) fn is_shut(&self) -> bool {
        self.state == State::Shut
    }

    /// Nobody waits any more: a drain lets in nobody else.
    pub(crate) fn emptied(&mut self) {
        if self.is_draining() {
            self.state = State::Shut;
        }
    }
}

impl Deferral {
    /// Whether new connections are left to workers that have room. That ends if one has waited for
    /// too long.
    fn observe(
        &mut self,
        now: Instant,
        others_have_room: bool,
        is_waiting: impl FnOnce() -> bool,
    ) -> bool {
        if !others_have_room {
            *self = Self::default();
            return false;
        }
        self.looked = Some(now);
        if !is_waiting() {
            self.waits_since = None;
            return true;
        }
        now - *self.waits_since.get_or_insert(now) < DEFERS_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_without_eviction_rests_until_a_ninth_have_gone() {
        for (open_max, resume) in [(1, 0), (2, 1), (8, 7), (9, 8), (900, 800), (13_000, 11_555)] {
            let mut gate = Gate::of(open_max, true);
            gate.accepted(open_max - 1);
            assert!(gate.is_open(), "{open_max}");
            gate.accepted(open_max);
            gate.closed(resume + 1);
            assert!(!gate.is_open(), "{open_max}");
            gate.closed(resume);
            assert!(gate.is_open(), "{open_max}");
        }
    }

    #[test]
    fn transfers_are_evicted_sooner_where_many_wait() {
        for (taken, waiting, ms) in
            [(64, 0, 1000), (64, 64, 500), (64, 192, 250), (64, 640, 100), (0, 0, 100)]
        {
            assert_eq!(behind_min(taken, waiting).as_millis(), ms, "{waiting} wait for {taken}");
        }
    }

    #[test]
    fn a_gate_with_eviction_opens_when_one_has_gone() {
        for open_max in [1, 2, 900] {
            let mut gate = Gate::of(open_max, false);
            gate.accepted(open_max);
            assert!(!gate.is_open(), "{open_max}");
            gate.closed(open_max - 1);
            assert!(gate.is_open(), "{open_max}");
        }
    }

    #[test]
    fn connections_are_left_to_others_as_long_as_these_take_them() {
        // Milliseconds, whether others have room, whether a connection waits, whether it defers.
        let rows = [
            (0, true, false, true),
            (1_000, true, true, true),
            (1_040, true, true, true),
            // It was taken, and another has come.
            (1_045, true, false, true),
            (1_050, true, true, true),
            (1_099, true, true, true),
            (1_100, true, true, false),
            (1_101, true, true, false),
            (1_102, true, false, true),
            (1_103, false, true, false),
            (1_104, true, true, true),
        ];
        let mut deferral = Deferral::default();
        for (ms, others_have_room, waits, expected) in rows {
            let defers = deferral.observe(Instant::from_ms(ms), others_have_room, || waits);
            assert_eq!(defers, expected, "at {ms} ms");
        }
    }

    #[test]
    fn a_newcomer_is_let_in_at_the_maximum_if_another_goes_for_it() {
        let mut gate = Gate::of(900, true);
        gate.may_make_room(true, 10);
        gate.accepted(900);
        assert!(!gate.is_open());
        gate.may_make_room(true, 900);
        assert!(gate.is_open());
        gate.may_make_room(false, 900);
        assert!(!gate.is_open(), "that one has got busy");
        gate.closed(899);
        gate.may_make_room(true, 899);
        assert!(gate.is_open(), "no rest where there is room");
        gate.accepted(900);
        gate.may_make_room(true, 900);
        gate.drain(3, 900);
        gate.may_make_room(true, 900);
        assert!(!gate.is_open(), "in a drain nobody goes for another");
    }

    #[test]
    fn a_refusal_is_over_in_time_or_when_one_is_closed() {
        let mut gate = Gate::of(10, true);
        gate.refused(Instant::ORIGIN);
        gate.tick(Instant::from_ms(99), 9);
        assert!(!gate.is_open());
        gate.tick(Instant::from_ms(100), 9);
        assert!(gate.is_open() && gate.due().is_none());
        gate.refused(Instant::ORIGIN);
        gate.closed(9);
        assert!(gate.is_open() && gate.due().is_none());
        gate.accepted(10);
        gate.may_make_room(true, 10);
        gate.refused(Instant::ORIGIN);
        gate.tick(Instant::from_ms(100), 10);
        assert!(!gate.is_open() && gate.is_full(), "there was none to spare before");
    }

    #[test]
    fn a_drain_lets_in_who_waits_and_nobody_else() {
        let mut gate = Gate::of(10, true);
        gate.accepted(10);
        gate.drain(3, 10);
        assert!(!gate.is_open());
        gate.closed(9);
        assert!(gate.is_open(), "whoever goes makes room");
        gate.accepted(10);
        gate.closed(9);
        gate.emptied();
        gate.closed(0);
        gate.tick(Instant::from_ms(1000), 0);
        assert!(!gate.is_open(), "nobody waits any more");

        let mut gate = Gate::of(10, true);
        gate.accepted(10);
        gate.closed(9);
        gate.drain(2, 9);
        gate.accepted(1);
        assert!(gate.is_open());
        gate.accepted(2);
        gate.refused(Instant::ORIGIN);
        gate.closed(0);
        assert!(!gate.is_open(), "more than could wait have come");
    }
}
