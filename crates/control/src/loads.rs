//! Whether another load may wait for the helpers: as long as it will be done soon.
//!
//! A load costs far more than a reply from memory, and the request is here already, so whoever is
//! one too many is told so (503). A bound in loads would be right for one disk: what matters is how
//! long the last one waits, which is their number over the rate at which they are done (Little).

use measure::{Duration, Instant};

/// Weight of what was known of the rate before, each time.
const KEPT: f64 = 0.9;

/// The loads of a worker's helpers.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// Seconds from one that is done to the next, while helpers have enough to do; 0: not known.
    each_s: f64,
    /// Since when they have had enough to do, or the last one was done.
    since: Option<Instant>,
}

impl Loads {
    /// So many were done by now, and so many are still out, for so many helpers. If there are fewer
    /// than helpers some of these have waited for work, and the next one tells nothing. None were
    /// done where one had been found meanwhile: the next one takes its time from then on.
    pub fn done(&mut self, now: Instant, n: usize, out: usize, helpers: usize) {
        if let Some(since) = self.since
            && n > 0
        {
            let each_s = (now - since).as_secs_f64() / n as f64;
            let known = if self.each_s > 0.0 { KEPT.powi(n.min(100) as i32) } else { 0.0 };
            self.each_s = known * self.each_s + (1.0 - known) * each_s;
        }
        self.since = (out >= helpers).then_some(now);
    }

    /// Whether one more than so many would be done within that time.
    #[must_use]
    pub fn has_room(&self, out: usize, within: Duration) -> bool {
        self.wait_s(out) <= within.as_secs_f64()
    }

    /// How long one that comes now would wait, in seconds.
    fn wait_s(&self, out: usize) -> f64 {
        out as f64 * self.each_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELPERS: usize = 4;
    const WITHIN: Duration = Duration::from_millis(200);

    /// What is known of helpers who do one each so many milliseconds, while so many are out.
    fn known(each_ms: u64, out: usize) -> Loads {
        let mut loads = Loads::default();
        for n in 0..200 {
            loads.done(Instant::from_ms(1000 + each_ms * n), 1, out, HELPERS);
        }
        loads
    }

    #[test]
    fn as_many_wait_as_are_done_in_time() {
        for (each_ms, most) in [(1, 200), (10, 20), (100, 2)] {
            let loads = known(each_ms, 50);
            assert!(loads.has_room(most - 1, WITHIN), "{each_ms} ms each");
            assert!(!loads.has_room(most + 1, WITHIN), "{each_ms} ms each");
        }
    }

    #[test]
    fn helpers_that_wait_for_work_tell_nothing() {
        assert!(Loads::default().has_room(1000, WITHIN), "nothing is known yet");
        assert!(known(10_000, HELPERS - 1).has_room(1000, WITHIN), "one an hour is not slow");
    }

    #[test]
    fn what_others_have_found_meanwhile_is_no_time_of_the_disk() {
        for out in [0, 50] {
            let mut loads = known(1, 50);
            loads.done(Instant::from_ms(60_000), 0, out, HELPERS);
            loads.done(Instant::from_ms(60_001), 1, 50, HELPERS);
            assert!(loads.has_room(100, WITHIN), "while {out} are out");
        }
    }

    #[test]
    fn a_disk_that_gets_slower_or_faster_is_followed() {
        let mut loads = known(1, 50);
        for (each_ms, has_room) in [(50, false), (1, true)] {
            for n in 0..100 {
                loads.done(Instant::from_ms(100_000 + each_ms * n), 1, 50, HELPERS);
            }
            assert_eq!(loads.has_room(20, WITHIN), has_room, "{each_ms} ms each");
        }
    }
}
