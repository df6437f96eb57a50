//! Who of those that ask is admitted, by how long replies take: SEDA's admission controller.
//!
//! Of the response times of a while the 90th percentile is compared with a target. Below it the
//! rate at which requests are admitted grows by a little, above it is divided (Welsh03 section 3.2,
//! with the constants of its program). What comes beyond the rate is refused.

use measure::{Duration, Instant};

/// So many replies, or so long, make a while.
const SAMPLES: usize = 100;
/// See [`SAMPLES`].
const WHILE: Duration = Duration::from_secs(1);
/// Weight of the percentile before.
const KEPT: f64 = 0.7;
/// Below the target by so much of it, the rate grows by so many a second;
const ROOM: f64 = -0.1;
/// see [`ROOM`];
const GROWS: f64 = 2.0;
/// above it, the rate is divided by this.
const FALLS: f64 = 1.2;
/// Requests a second, at first and at the ends.
const RATE_FIRST: f64 = 100.0;
/// See [`RATE_FIRST`].
const RATES: (f64, f64) = (0.05, 5000.0);
/// Of a second: what is not used up in so long is lost.
const SAVED_S: f64 = 1.0;
/// Of a hundred.
const PERCENTILE: usize = 90;

/// The controller.
#[derive(Debug, Clone)]
pub struct Response {
    target_s: f64,
    /// Requests a second.
    rate: f64,
    /// Requests that may come at once.
    tokens: f64,
    filled: Instant,
    begun: Instant,
    /// Seconds each.
    times: Vec<f64>,
    /// Nothing is known yet: 0.
    percentile_s: f64,
}

impl Response {
    /// With that target, from then on.
    #[must_use]
    pub fn new(target: Duration, now: Instant) -> Self {
        Self {
            target_s: target.as_secs_f64(),
            rate: RATE_FIRST,
            tokens: RATE_FIRST * SAVED_S,
            filled: now,
            begun: now,
            times: Vec::with_capacity(SAMPLES),
            percentile_s: 0.0,
        }
    }

    /// Requests a second that are admitted.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether one that comes now is admitted.
    pub fn admits(&mut self, now: Instant) -> bool {
        let more = (now - self.filled).as_secs_f64() * self.rate;
        // Of threads that look at the clock by themselves one may be behind.
        self.filled = self.filled.max(now);
        self.tokens = (self.tokens + more).min((self.rate * SAVED_S).max(1.0));
        let admits = self.tokens >= 1.0;
        if admits {
            self.tokens -= 1.0;
        }
        admits
    }

    /// A reply has taken so long.
    pub fn observe(&mut self, now: Instant, took: Duration) {
        self.times.push(took.as_secs_f64());
        if self.times.len() < SAMPLES && now - self.begun < WHILE {
            return;
        }
        self.begun = now;
        self.times.sort_by(f64::total_cmp);
        let place = (self.times.len() * PERCENTILE / 100).min(self.times.len() - 1);
        let seen = self.times[place];
        self.times.clear();
        let before = if self.percentile_s > 0.0 { self.percentile_s } else { seen };
        self.percentile_s = KEPT * before + (1.0 - KEPT) * seen;
        let error = (self.percentile_s - self.target_s) / self.target_s;
        let rate = match error {
            error if error < ROOM => self.rate + GROWS,
            error if error > 0.0 => self.rate / FALLS,
            _ => self.rate,
        };
        let (least, most) = RATES;
        self.rate = rate.clamp(least, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(100);

    /// Of a server that answers so many a second soon, and makes all wait beyond; what is admitted
    /// behind so many seconds of so many requests a second.
    fn admitted(capacity: f64, offered: u64, seconds: u64) -> f64 {
        let mut response = Response::new(TARGET, Instant::ORIGIN);
        let mut queue: f64 = 0.0;
        let (mut last_s, mut count) = (0_u64, 0_u64);
        for n in 0..offered * seconds {
            let now = Instant::from_ms(1000 * n / offered);
            queue = (queue - capacity / offered as f64).max(0.0);
            if response.admits(now) {
                queue += 1.0;
                count += u64::from(n >= offered * (seconds - 10));
                response.observe(now, Duration::from_secs_f64(0.001 + queue / capacity));
            }
            last_s = last_s.max(n / offered);
        }
        count as f64 / 10.0
    }

    #[test]
    fn who_comes_too_much_is_refused() {
        let served = admitted(1000.0, 3000, 120);
        assert!((700.0..1100.0).contains(&served), "{served}");
    }

    #[test]
    fn who_could_be_served_is_admitted_in_the_end() {
        let served = admitted(1000.0, 500, 120);
        assert!(served > 450.0, "{served}");
    }

    #[test]
    fn the_rate_keeps_within_its_ends() {
        for (took_ms, expected) in [(1, RATES.1), (10_000, RATES.0)] {
            let mut response = Response::new(TARGET, Instant::ORIGIN);
            for n in 0..1_000_000 {
                response.observe(Instant::from_ms(n), Duration::from_millis(took_ms));
            }
            assert_eq!(response.rate(), expected, "{took_ms} ms");
        }
    }
}
