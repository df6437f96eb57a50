//! Whether a worker accepts connections: until it holds as many as it may, or the machine refuses
//! one; during a drain only those who wait already.

use measure::{Duration, Instant};

use crate::shared::server::Server;

/// How long accepting rests when the machine has refused, if no connection closes before.
pub(crate) const REFUSED_FOR: Duration = Duration::from_millis(100);

/// A connection that has waited for less has perhaps a request on its way: it is not closed for
/// another's sake.
pub(crate) const WAITED_MIN: Duration = Duration::from_millis(100);
/// So long in a flood, if it has been answered: its user reads what he has got.
const STAYS_IN_FLOOD: Duration = Duration::from_secs(5);
/// Of those that have waited for longest, how many are looked at for one that may go: few of them
/// happen to have something to be looked at in the same round.
pub(crate) const LOOKED_AT_MAX: usize = 16;

/// How long whoever has been answered stays before he goes for another: in a flood others are
/// refused first, because who is admitted is to be served to the end.
pub(crate) fn stays(server: &Server) -> Duration {
    if server.is_flooded() { STAYS_IN_FLOOD } else { WAITED_MIN }
}

/// A worker's gate.
pub(crate) struct Gate {
    state: State,
    /// During a drain: how many more it lets in, for the queue may be refilled as fast as it is
    /// emptied.
    left: Option<u32>,
    open_max: usize,
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
    /// Open, for at most `open_max` connections at once.
    pub(crate) const fn new(open_max: usize) -> Self {
        Self { state: State::Open, left: None, open_max }
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

    /// One was closed: now so many are open. From the maximum accepting rests until a ninth of
    /// them have gone: at nine tenths and eight tenths of all descriptors (lighttpd's hysteresis).
    /// In a drain whoever goes makes room for one who waits.
    pub(crate) fn closed(&mut self, open: usize) {
        let resume = if self.is_draining() { self.open_max } else { self.open_max * 8 / 9 };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_from_the_maximum_until_a_ninth_have_gone() {
        for (open_max, resume) in [(1, 0), (2, 1), (8, 7), (9, 8), (900, 800), (13_000, 11_555)] {
            let mut gate = Gate::new(open_max);
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
    fn a_newcomer_is_let_in_at_the_maximum_if_another_goes_for_it() {
        let mut gate = Gate::new(900);
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
        let mut gate = Gate::new(10);
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
        let mut gate = Gate::new(10);
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

        let mut gate = Gate::new(10);
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
