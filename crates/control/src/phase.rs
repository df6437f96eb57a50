//! How many connections an accept phase takes: as many as are worked on soon.
//!
//! Accepting and working have to be balanced (Brecht04 8). Who is taken out of the kernel's queue
//! waits where nobody sees it, so no more are taken than fit into a short time, however many others
//! are ready: then the rounds are long, few newcomers come in, and who has been let in is served to
//! the end. Newcomers as many as are ready would double those with each round.

use std::mem;

use measure::{Duration, Instant};

/// So many are taken by all who share a processor, however much each costs: what the others cost is
/// not told apart.
const LIMIT_MIN: u32 = 16;
/// Of those who share one each takes so many: in smaller rounds a server does less (four rings that
/// took 4 each had 3,300 replies/s where those that took 16 had 4,300).
const ROUND_MIN: u32 = 8;
/// What a connection costs while nothing is known of it.
const COST_FIRST_NS: f64 = 100_000.0;
/// Of so many it is known well enough.
const COSTED_MIN: f64 = 16.0;
const COST_EVERY: Duration = Duration::from_millis(20);
/// Weight of what was done before, each time.
const KEPT: f64 = 0.9;

/// What a worker has done since whenever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Connections that were accepted, and the time of that.
    pub accepted: u64,
    /// Nanoseconds.
    pub accept_ns: u64,
    /// Turns of connections, and the time of those.
    pub worked: u64,
    /// Nanoseconds.
    pub work_ns: u64,
}

/// The accept phases of a worker.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Turns of a connection with one request.
    turns: f64,
    /// What a newcomer costs: to be taken, and its turns.
    each_ns: f64,
    is_known: bool,
    looked: Instant,
    seen: Work,
    /// What was done lately, in the order of [`Work`].
    lately: [f64; 4],
}

impl Phase {
    /// Nothing is known yet but how many turns a connection has that asks for one thing.
    #[must_use]
    pub fn new(turns: u32) -> Self {
        Self {
            turns: turns.into(),
            each_ns: COST_FIRST_NS,
            is_known: false,
            looked: Instant::ORIGIN,
            seen: Work::default(),
            lately: [0.0; 4],
        }
    }

    /// How many a phase takes, for work of a time that so many workers have in turn.
    #[must_use]
    pub fn limit(&self, time: Duration, workers: u32) -> u32 {
        let soon = time.as_nanos() as f64 / self.each_ns.max(1.0);
        ((soon as u32).max(LIMIT_MIN) / workers.max(1)).max(ROUND_MIN)
    }

    /// How many newcomers a second it could take, if it did nothing else; 0: not known.
    #[must_use]
    pub fn could(&self) -> u32 {
        if self.is_known { (1e9 / self.each_ns.max(1.0)) as u32 } else { 0 }
    }

    /// Whether what a worker has done is to be told again.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now - self.looked >= COST_EVERY
    }

    /// Takes note of what it has done. Counts that go back tell nothing.
    pub fn observe(&mut self, now: Instant, work: &Work) {
        self.looked = now;
        let seen = mem::replace(&mut self.seen, *work);
        let grown = [
            work.accepted.saturating_sub(seen.accepted),
            work.accept_ns.saturating_sub(seen.accept_ns),
            work.worked.saturating_sub(seen.worked),
            work.work_ns.saturating_sub(seen.work_ns),
        ];
        for (sum, grown) in self.lately.iter_mut().zip(grown) {
            *sum = KEPT * *sum + grown as f64;
        }
        let [accepted, accept_ns, worked, work_ns] = self.lately;
        if accepted >= COSTED_MIN && worked >= COSTED_MIN {
            self.each_ns = accept_ns / accepted + self.turns * work_ns / worked;
            self.is_known = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(5);

    fn known(each_ns: u64) -> Phase {
        let mut phase = Phase::new(1);
        let mut work = Work::default();
        for n in 1..100 {
            let half_ns = 20 * each_ns / 2;
            work.accepted += 20;
            work.accept_ns += half_ns;
            work.worked += 20;
            work.work_ns += half_ns;
            phase.observe(Instant::from_ms(20 * n), &work);
        }
        phase
    }

    #[test]
    fn as_many_are_taken_as_fit_into_its_time() {
        // What each costs; how many share the time; how many are taken.
        let rows = [
            (10_000, 1, 500),
            (100_000, 1, 50),
            (1_000_000, 1, 16),
            (50_000_000, 1, 16),
            (10_000, 4, 125),
            (1_000_000, 2, 8),
            (1_000_000, 64, 8),
        ];
        for row @ (each_ns, workers, limit) in rows {
            let taken = known(each_ns).limit(TIME, workers);
            assert!(taken.abs_diff(limit) <= limit / 20, "{row:?}: {taken}");
        }
    }

    #[test]
    fn few_connections_tell_nothing() {
        let mut phase = Phase::new(1);
        let first = phase.limit(TIME, 1);
        let work = Work { accepted: 2, accept_ns: 1_000_000_000, worked: 2, work_ns: 0 };
        phase.observe(Instant::from_ms(1), &work);
        assert_eq!(phase.limit(TIME, 1), first);
    }
}
