//! How many of those that wait a stage takes at a time: as few as keep its throughput.
//!
//! SEDA's batching controller (Welsh01 section 4.2), with the constants of its program. A large
//! batch costs least for each of its members, a small one is through sooner. So the factor falls
//! until throughput does, and rises again by as little as brings that back; where load changes by
//! much it begins anew.

use measure::{Duration, Instant};

/// It begins with as many as this, and comes down to as few as that.
pub const BATCH_MAX: u32 = 1000;
/// See [`BATCH_MAX`].
pub const BATCH_MIN: u32 = 2;
/// So often throughput is looked at,
const WINDOW: Duration = Duration::from_secs(1);
/// and of so many windows one changes something.
const WINDOWS: u32 = 5;
/// Weight of the throughput before.
const KEPT: f64 = 0.7;
/// What a change multiplies or divides by.
const STEP: f64 = 1.2;
/// Of the best throughput: at so much it has fallen, at so much it has come back.
const FALLEN: f64 = 0.90;
/// See [`FALLEN`].
const BACK: f64 = 0.98;
/// With so much of it, or so many times as much, the load is another one.
const ANOTHER: (f64, f64) = (0.2, 2.0);

/// The controller of a stage.
#[derive(Debug, Clone)]
pub struct Batching {
    limit: f64,
    is_falling: bool,
    /// Members a second: lately, and at best.
    rate: f64,
    best: f64,
    windows: u32,
    begun: Instant,
    /// Members since then.
    members: u64,
}

impl Batching {
    /// With the largest batches, from then on.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        let limit = f64::from(BATCH_MAX);
        Self { limit, is_falling: true, rate: 0.0, best: 0.0, windows: 0, begun: now, members: 0 }
    }

    /// How many are taken at a time.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// So many more are through.
    pub fn observe(&mut self, now: Instant, members: usize) {
        self.members += members as u64;
        let lasted = now - self.begun;
        if lasted < WINDOW {
            return;
        }
        let rate = self.members as f64 / lasted.as_secs_f64();
        let is_first = self.rate == 0.0;
        self.rate = if is_first { rate } else { KEPT * self.rate + (1.0 - KEPT) * rate };
        (self.begun, self.members) = (now, 0);
        self.windows += 1;
        if self.windows >= WINDOWS {
            self.windows = 0;
            self.change();
        }
    }

    fn change(&mut self) {
        let (less, more) = ANOTHER;
        if self.best == 0.0 || self.rate < less * self.best || self.rate >= more * self.best {
            *self = Self { rate: self.rate, best: self.rate, ..Self::new(self.begun) };
            return;
        }
        self.best = self.best.max(self.rate);
        if self.is_falling && self.rate <= FALLEN * self.best {
            self.is_falling = false;
        } else if !self.is_falling && self.rate >= BACK * self.best {
            self.is_falling = true;
        }
        let limit = if self.is_falling { self.limit / STEP } else { self.limit * STEP };
        self.limit = limit.clamp(f64::from(BATCH_MIN), f64::from(BATCH_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it comes to behind so many seconds of a stage with that throughput.
    fn after(batching: &mut Batching, from_s: u64, seconds: u64, rate: impl Fn(u32) -> usize) {
        for second in from_s..from_s + seconds {
            batching.observe(Instant::from_ms(1000 * (second + 1)), rate(batching.limit()));
        }
    }

    #[test]
    fn it_falls_as_far_as_throughput_stays() {
        let mut batching = Batching::new(Instant::ORIGIN);
        after(&mut batching, 0, 600, |_| 1000);
        assert_eq!(batching.limit(), BATCH_MIN, "where batches make no difference");
        // Below 50 each batch costs more than it saves.
        let mut batching = Batching::new(Instant::ORIGIN);
        after(&mut batching, 0, 2000, |limit| if limit < 50 { 600 } else { 1000 });
        assert!((35..=90).contains(&batching.limit()), "{}", batching.limit());
    }

    #[test]
    fn another_load_begins_anew() {
        let mut batching = Batching::new(Instant::ORIGIN);
        after(&mut batching, 0, 300, |_| 1000);
        assert!(batching.limit() < 10, "{}", batching.limit());
        after(&mut batching, 300, 10, |_| 10_000);
        assert!(batching.limit() > 500, "{}", batching.limit());
    }

    #[test]
    fn nothing_changes_within_a_window() {
        let mut batching = Batching::new(Instant::ORIGIN);
        for ms in 0..4_999 {
            batching.observe(Instant::from_ms(ms), 1);
            assert_eq!(batching.limit(), BATCH_MAX);
        }
    }
}
