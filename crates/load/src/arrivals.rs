//! When sessions begin.

use std::borrow::Borrow;

use measure::Duration;
use measure::draw::{Draw, Stream};

/// See the head of this file.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// Open loop: sessions begin when they are to, whatever the server does. One that could not
    /// begin in time begins late, and its times count from when it was to.
    Open(Gaps),
    /// Closed loop: so many clients, each of which begins its next session when the one before is
    /// over and it has thought for so long.
    Closed {
        /// How many.
        clients: u32,
        /// Between two sessions of one client.
        think: Draw,
    },
}

impl Arrivals {
    /// Whether there is a time at which a session is to begin. Clients that never rest have none:
    /// each begins as soon as it can.
    #[must_use]
    pub const fn have_times(&self) -> bool {
        !matches!(self, Self::Closed { think: Draw::Constant(0.0), .. })
    }
}

/// The time between one arrival and the next.
#[derive(Debug, Clone, PartialEq)]
pub enum Gaps {
    /// All the same: so many in a second.
    Fixed {
        /// Arrivals in a second.
        rate: f64,
    },
    /// Drawn: as of many clients that know nothing of each other, whose rate is that of these on
    /// the average (a Poisson process; where the rate changes, an inhomogeneous one).
    Poisson(Box<Self>),
    /// One rate after the other.
    Steps(Vec<Stage>),
    /// From one rate to another, evenly.
    Ramp {
        /// At the start.
        from: f64,
        /// At the end of `over`, and from then on.
        to: f64,
        /// For how long.
        over: Duration,
    },
    /// At these times from the start, which never decrease.
    Times(Vec<Duration>),
}

/// A rate for a time; the last one stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Arrivals in a second.
    pub rate: f64,
    /// For how long.
    pub lasts: Duration,
}

/// The arrivals of an open loop, as times from the start.
pub struct Schedule<G> {
    gaps: G,
    stream: Stream,
    /// Arrivals so far.
    count: u64,
    /// How many there would have been, if their gaps are drawn.
    drawn: f64,
}

impl<G: Borrow<Gaps>> Schedule<G> {
    /// Begins anew; `stream` is used where gaps are drawn.
    #[must_use]
    pub const fn new(gaps: G, stream: Stream) -> Self {
        Self { gaps, stream, count: 0, drawn: 0.0 }
    }
}

impl<G: Borrow<Gaps>> Iterator for Schedule<G> {
    type Item = Duration;

    /// Without end, but for times that were given and a rate that ends at 0.
    fn next(&mut self) -> Option<Duration> {
        let at = match self.gaps.borrow() {
            Gaps::Poisson(mean) => mean.reach(self.drawn),
            // Not summed up, so that no error of rounding grows.
            even => even.reach(self.count as f64),
        };
        self.count += 1;
        self.drawn += Draw::Exponential { mean: 1.0 }.draw(&mut self.stream);
        Duration::try_from_secs_f64(at?).ok()
    }
}

impl Gaps {
    /// Whether somebody comes at all, one after the other; drawn are those of rates alone.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        let are_rates = |rates: &[f64]| {
            let is_rate = |rate: &f64| rate.is_finite() && *rate >= 0.0;
            rates.iter().all(is_rate) && rates.iter().any(|rate| *rate > 0.0)
        };
        match self {
            Self::Fixed { rate } => are_rates(&[*rate]),
            Self::Steps(stages) => {
                are_rates(&stages.iter().map(|stage| stage.rate).collect::<Vec<_>>())
            }
            Self::Ramp { from, to, .. } => are_rates(&[*from, *to]),
            Self::Times(times) => times.is_sorted(),
            Self::Poisson(mean) => {
                !matches!(**mean, Self::Times(_) | Self::Poisson(_)) && mean.are_sound()
            }
        }
    }

    /// When so many arrivals have come, in seconds from the start, by these rates; `None`: never.
    fn reach(&self, number: f64) -> Option<f64> {
        match self {
            Self::Fixed { rate } => Some(number / rate),
            Self::Steps(stages) => Some(of_steps(stages, number)),
            Self::Ramp { from, to, over } => Some(of_ramp(*from, *to, over.as_secs_f64(), number)),
            Self::Times(times) => times.get(number as usize).map(Duration::as_secs_f64),
            Self::Poisson(mean) => mean.reach(number),
        }
    }
}

/// When so many arrivals have come by stages.
fn of_steps(stages: &[Stage], number: f64) -> f64 {
    let (mut before, mut since) = (0.0, 0.0);
    for (at, stage) in stages.iter().enumerate() {
        let lasts = stage.lasts.as_secs_f64();
        let is_last = at + 1 == stages.len();
        if is_last || number < before + stage.rate * lasts {
            return since + (number - before) / stage.rate;
        }
        before += stage.rate * lasts;
        since += lasts;
    }
    since
}

/// When so many arrivals have come by a rate that grows or falls evenly: the count is the integral
/// of the rate, and this is its inverse.
fn of_ramp(from: f64, to: f64, over: f64, number: f64) -> f64 {
    let during = f64::midpoint(from, to) * over;
    if number >= during {
        return over + (number - during) / to;
    }
    let slope = (to - from) / over;
    if number == 0.0 {
        return 0.0;
    }
    // Of the two roots of slope/2 t^2 + from t - number, the one that also stands where the slope
    // is zero.
    2.0 * number / (from + (from * from + 2.0 * slope * number).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_when_they_are_to() {
        let s = Duration::from_secs;
        let stage = |rate, lasts| Stage { rate, lasts: s(lasts) };
        let rows: [(Gaps, &[u64]); 6] = [
            (Gaps::Fixed { rate: 4.0 }, &[0, 250, 500, 750, 1000]),
            (Gaps::Steps(vec![stage(2.0, 1), stage(4.0, 1)]), &[0, 500, 1000, 1250, 1500]),
            // The last rate stays.
            (Gaps::Steps(vec![stage(1.0, 1)]), &[0, 1000, 2000]),
            (Gaps::Ramp { from: 0.0, to: 2.0, over: s(1) }, &[0, 1000, 1500, 2000]),
            (Gaps::Ramp { from: 2.0, to: 2.0, over: s(1) }, &[0, 500, 1000, 1500]),
            (Gaps::Times(vec![s(1), s(3)]), &[1000, 3000]),
        ];
        for (gaps, expected) in rows {
            let schedule = Schedule::new(&gaps, Stream::new(1, 1)).take(expected.len());
            let times: Vec<u64> = schedule.map(|at| at.as_millis() as u64).collect();
            assert_eq!(times, expected, "{gaps:?}");
        }
        let ended = [
            (Gaps::Times(vec![s(1)]), 1),
            (Gaps::Steps(vec![stage(2.0, 1), stage(0.0, 1)]), 2),
            (Gaps::Ramp { from: 4.0, to: 0.0, over: s(1) }, 2),
        ];
        for (gaps, count) in ended {
            assert_eq!(Schedule::new(&gaps, Stream::new(1, 1)).count(), count, "{gaps:?}");
        }
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_spread() {
        let gaps = Gaps::Poisson(Box::new(Gaps::Fixed { rate: 100.0 }));
        let times: Vec<f64> = Schedule::new(&gaps, Stream::new(3, 1))
            .take(100_001)
            .map(|at| at.as_secs_f64())
            .collect();
        let mean = times[100_000] / 100_000.0;
        assert!((mean * 100.0 - 1.0).abs() < 0.02, "{mean}");
        let longer = times.windows(2).filter(|two| two[1] - two[0] > 0.01).count();
        let expected = 100_000.0 / std::f64::consts::E;
        assert!((longer as f64 / expected - 1.0).abs() < 0.02, "{longer} of {expected}");
    }

    #[test]
    fn poisson_arrivals_follow_a_rate_that_changes() {
        let s = Duration::from_secs;
        let steps = vec![Stage { rate: 1e4, lasts: s(1) }, Stage { rate: 2e4, lasts: s(1) }];
        // (by which rates, arrivals in the first second, in the second one)
        let rows = [
            (Gaps::Steps(steps), 10_000, 20_000),
            (Gaps::Ramp { from: 0.0, to: 4e4, over: s(2) }, 10_000, 30_000),
        ];
        for (mean, first, second) in rows {
            let gaps = Gaps::Poisson(Box::new(mean));
            let times = Schedule::new(&gaps, Stream::new(3, 1)).take_while(|at| *at < s(2));
            let (early, late): (Vec<_>, Vec<_>) = times.partition(|at| *at < s(1));
            for (came, expected) in [(early.len(), first), (late.len(), second)] {
                let deviation = f64::from(expected).sqrt();
                assert!((came as f64 - f64::from(expected)).abs() < 4.0 * deviation, "{gaps:?}");
            }
        }
    }
}
