//! Decides whether another load may wait for the helpers: only if it will be done soon.
//!
//! A load costs far more than a reply from memory, and its request is here already, so a request
//! whose load would wait for too long is refused (503). A bound in loads would be right for one
//! disk only. What matters is how long the last load waits: the number of loads before it, times
//! what one takes, divided by the number of helpers (Little's law).

use measure::{Duration, Instant};

/// Weight of the former estimate at each load that is done.
const KEPT: f64 = 0.9;

/// The estimate halves in this time without a load. A disk that was slow is tried again soon,
/// whatever was measured last.
const HALF_LIFE_S: f64 = 1.0;

/// How long a load of a worker's helpers takes.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// Seconds for one load, and when the last one was done. `None` before the first.
    known: Option<(f64, Instant)>,
    /// When a request first found all helpers busy, since the last load was done.
    busy_since: Option<Instant>,
}

impl Loads {
    /// Records a load that is done at `now`, and how long its helper worked on it.
    pub fn done(&mut self, now: Instant, took: Duration) {
        let took_s = took.as_secs_f64();
        let load_s = self.known.map_or(took_s, |(load_s, at)| {
            let kept = KEPT * left_after(now - at);
            kept * load_s + (1.0 - kept) * took_s
        });
        self.known = Some((load_s, now));
        self.busy_since = None;
    }

    /// Records that a helper is free again without a load, because it has found the answer in
    /// memory.
    pub const fn returned(&mut self) {
        self.busy_since = None;
    }

    /// Whether a request may wait that comes at `now`, with so many loads unfinished: whether it is
    /// loaded `within` that time. If a helper is free, the request is always admitted, because only
    /// loads renew the estimate.
    pub fn admit(&mut self, now: Instant, out: usize, helpers: usize, within: Duration) -> bool {
        if out < helpers {
            self.busy_since = None;
            return true;
        }
        // Loads that are not done yet take at least as long as all helpers have been busy.
        let busy = now - *self.busy_since.get_or_insert(now);
        let load_s = self.estimate_s(now).max(busy.as_secs_f64());
        out as f64 * load_s / helpers as f64 <= within.as_secs_f64()
    }

    /// Seconds for one load, as far as they are known: 0 before the first.
    fn estimate_s(&self, now: Instant) -> f64 {
        self.known.map_or(0.0, |(load_s, at)| load_s * left_after(now - at))
    }
}

/// What is left of an estimate after that time without a load.
fn left_after(time: Duration) -> f64 {
    (-time.as_secs_f64() / HALF_LIFE_S).exp2()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const HELPERS: usize = 4;
    const WITHIN: Duration = Duration::from_millis(200);

    /// Helpers in front of a disk, and the requests that come to them.
    struct Model {
        loads: Loads,
        /// When each helper is free, milliseconds.
        free_ms: [u64; HELPERS],
        /// When each load will be done, and how long it takes, milliseconds.
        out: VecDeque<(u64, u64)>,
    }

    impl Model {
        fn new() -> Self {
            Self { loads: Loads::default(), free_ms: [0; HELPERS], out: VecDeque::new() }
        }

        /// A request comes, whose load takes so long. Returns how long it waits until it is loaded,
        /// or `None` if it is refused.
        fn ask(&mut self, now_ms: u64, load_ms: u64) -> Option<u64> {
            self.out.make_contiguous().sort_unstable();
            while let Some(&(done_ms, took_ms)) = self.out.front().filter(|out| out.0 <= now_ms) {
                self.out.pop_front();
                self.loads.done(Instant::from_ms(done_ms), Duration::from_millis(took_ms));
            }
            let now = Instant::from_ms(now_ms);
            if !self.loads.admit(now, self.out.len(), HELPERS, WITHIN) {
                return None;
            }
            let free_ms = self.free_ms.iter_mut().min().unwrap();
            *free_ms = now_ms.max(*free_ms) + load_ms;
            self.out.push_back((*free_ms, load_ms));
            Some(*free_ms - now_ms)
        }

        /// So many requests come at once, each period. Returns how many were refused, and the
        /// longest wait of the others, milliseconds.
        fn bursts(&mut self, times_ms: (u64, u64, u64), n: usize, load_ms: u64) -> (usize, u64) {
            let (mut refused, mut longest_ms) = (0, 0);
            let (from_ms, to_ms, period_ms) = times_ms;
            for at_ms in (from_ms..to_ms).step_by(period_ms as usize) {
                for _ in 0..n {
                    match self.ask(at_ms, load_ms) {
                        Some(wait_ms) => longest_ms = longest_ms.max(wait_ms),
                        None => refused += 1,
                    }
                }
            }
            (refused, longest_ms)
        }
    }

    #[test]
    fn admits_as_many_as_are_loaded_in_time() {
        for (load_ms, most) in [(4, 200), (40, 20), (100, 8), (1_000, HELPERS)] {
            let mut model = Model::new();
            model.bursts((0, 60_000, 2_000), 1, load_ms);
            let now_ms = 60_000 - 2_000 + load_ms;
            let admitted = (0..1_000).filter(|_| model.ask(now_ms, load_ms).is_some()).count();
            assert!(admitted.abs_diff(most) <= most / 10 + 1, "{load_ms} ms: {admitted}");
        }
    }

    /// Requests are refused while the disk is slow, and not long after. Neither a busy nor an idle
    /// time between the bursts keeps the estimate from falling.
    #[test]
    fn requests_are_admitted_soon_after_the_disk_recovers() {
        for slow_ms in [600, 3_000, 60_000] {
            for (n, period_ms) in [(6, 100), (12, 100), (100, 100), (12, 5_000), (2, 10)] {
                let mut model = Model::new();
                let (refused, _) = model.bursts((0, 10_000, 100), 12, 1);
                assert_eq!(refused, 0, "a quick disk");
                let (refused, _) = model.bursts((10_000, 22_000, 37), 1, slow_ms);
                assert!(refused > 0, "{slow_ms} ms a load");
                let quick_ms = *model.free_ms.iter().max().unwrap();
                model.bursts((quick_ms, quick_ms + 10_000, period_ms), n, 1);
                let later = (quick_ms + 10_000, quick_ms + 60_000, period_ms);
                let (refused, _) = model.bursts(later, n, 1);
                assert_eq!(refused, 0, "{slow_ms} ms a load, then {n} each {period_ms} ms");
            }
        }
    }

    /// What is admitted while a disk is slow, once that is known, waits for no more than was said
    /// and what the helpers have in hand.
    #[test]
    fn what_is_admitted_does_not_wait_for_long() {
        for load_ms in [10, 50, 150, 600, 3_000] {
            let mut model = Model::new();
            model.bursts((0, 5_000, 20), 1, 1);
            model.bursts((5_000, 20_000, 20), 3, load_ms);
            let (_, longest_ms) = model.bursts((20_000, 60_000, 20), 3, load_ms);
            let bound_ms = WITHIN.as_millis() as u64 * 5 / 4 + 2 * load_ms;
            assert!(longest_ms <= bound_ms, "{load_ms} ms a load: {longest_ms} ms");
        }
    }

    /// Helpers that answer from memory are not silent.
    #[test]
    fn helpers_that_need_no_disk_are_not_taken_for_a_dead_disk() {
        let mut loads = Loads::default();
        for ms in 0..10_000 {
            assert!(loads.admit(Instant::from_ms(ms), 2 * HELPERS, HELPERS, WITHIN), "{ms} ms");
            loads.returned();
        }
    }

    /// Nothing comes back from a disk that has died: no load tells how slow it is.
    #[test]
    fn a_dead_disk_is_noticed_by_its_silence() {
        let mut model = Model::new();
        model.bursts((0, 5_000, 20), 1, 1);
        let for_ever_ms = 1_000_000_000;
        let (refused, _) = model.bursts((5_000, 6_000, 1), 1, for_ever_ms);
        assert!((950..990).contains(&refused), "{refused} of 1,000");
    }
}
