//! How long something took, many times over.

use std::fmt;

use hdrhistogram::Histogram;
use measure::Duration;
use serde::{Deserialize, Serialize};

/// Durations: a histogram of nanoseconds, and exactly their number, sum and longest.
///
/// What a histogram tells of a time is at most its fineness or [`GRAIN_NS`] above it, never below.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Times {
    /// Grows with the longest it is given, so that a server that answers within a millisecond
    /// costs no memory for the minute that another takes.
    ns: Histogram<u64>,
    sum_ns: u64,
    longest_ns: u64,
}

/// How finely a histogram tells times apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// To 1 %, for the many parts of a result: 1 KiB for each doubling of the longest time.
    Two = 2,
    /// To 0.1 %, for the whole: 8 KiB for each.
    Three = 3,
}

/// No histogram tells apart what differs by less: replies of 10 us still differ by 1 %, and the
/// clock is hardly finer. Nanoseconds alone would take six doublings more.
pub const GRAIN_NS: u64 = 64;

/// 146 years. A histogram takes more, but the ends of its last places would leave 64 bits.
const LONGEST_NS: u64 = 1 << 62;

/// More than any run has, and few enough that sums of them stay in 64 bits.
const COUNT_MAX: u64 = 1 << 60;

impl Times {
    /// None yet.
    ///
    /// # Panics
    /// Never: a histogram can have these digits.
    #[must_use]
    pub fn new(digits: Digits) -> Self {
        let ns = Histogram::new_with_bounds(GRAIN_NS, 2 * GRAIN_NS, digits as u8);
        let mut ns = ns.expect("bounds and digits that a histogram can have");
        ns.auto(true);
        Self { ns, sum_ns: 0, longest_ns: 0 }
    }

    /// One more.
    ///
    /// # Panics
    /// Never: the histogram grows up to any time.
    pub fn record(&mut self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.ns.record(ns.min(LONGEST_NS)).expect("a growing histogram holds any time");
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// All of another's.
    ///
    /// # Panics
    /// Never: the histogram grows up to any time.
    pub fn add(&mut self, other: &Self) {
        self.ns.add(&other.ns).expect("a growing histogram holds any other");
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// The same as finely or less, in a tenth of the room: for who keeps hundreds of runs.
    ///
    /// # Panics
    /// Never: the histogram grows up to any time.
    #[must_use]
    pub fn told_to(&self, digits: Digits) -> Self {
        let mut ns = Self::new(digits).ns;
        for place in self.ns.iter_recorded() {
            let (at, count) = (place.value_iterated_to(), place.count_at_value());
            ns.record_n(at, count).expect("a growing histogram holds any time");
        }
        Self { ns, sum_ns: self.sum_ns, longest_ns: self.longest_ns }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ns.len()
    }

    /// All of them together.
    #[must_use]
    pub const fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// Exactly; zero if there is none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.checked_div(self.count()).unwrap_or_default())
    }

    /// What this share of them (0.0 to 1.0) do not exceed; zero if there is none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.ns.value_at_quantile(share)).min(self.longest())
    }

    /// Exactly; zero if there is none.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_ns)
    }

    /// In nanoseconds, for who tells the whole of it.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.ns
    }
}

impl fmt::Debug for Times {
    /// In short: a histogram has thousands of places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, mean, longest) = (self.count(), self.mean(), self.longest());
        write!(f, "{count} times, mean {mean:?}, longest {longest:?}")
    }
}

/// As it stands in a file: only the places of the histogram that hold something.
#[derive(Serialize, Deserialize)]
struct Written {
    digits: u8,
    count: u64,
    sum_ns: u64,
    longest_ns: u64,
    /// The most that a place stands for, and how many are there.
    ns: Vec<(u64, u64)>,
}

impl From<Times> for Written {
    fn from(times: Times) -> Self {
        let places = times.ns.iter_recorded();
        Self {
            digits: times.ns.sigfig(),
            count: times.count(),
            sum_ns: times.sum_ns,
            longest_ns: times.longest_ns,
            ns: places.map(|place| (place.value_iterated_to(), place.count_at_value())).collect(),
        }
    }
}

impl TryFrom<Written> for Times {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let digits = match written.digits {
            2 => Digits::Two,
            3 => Digits::Three,
            other => return Err(format!("a histogram of {other} digits; there are 2 and 3")),
        };
        let mut ns = Self::new(digits).ns;
        for (at, count) in written.ns.into_iter().filter(|&(_, count)| count > 0) {
            if at >= 2 * LONGEST_NS {
                return Err(format!("a time of {at} ns, which is longer than there are"));
            }
            ns.record_n(at, count).expect("a growing histogram holds any time");
        }
        if ns.len() != written.count || written.count > COUNT_MAX {
            let (held, told) = (ns.len(), written.count);
            return Err(format!("a histogram of {told} times that holds {held}"));
        }
        Ok(Self { ns, sum_ns: written.sum_ns, longest_ns: written.longest_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ns: &[u64]) -> Times {
        let mut times = Times::new(Digits::Three);
        ns.iter().for_each(|&ns| times.record(Duration::from_nanos(ns)));
        times
    }

    #[test]
    fn times_are_told_within_their_fineness() {
        // (nanoseconds, of which quantile, least and most nanoseconds that may be told)
        let rows: [(&[u64], f64, f64, f64); 9] = [
            (&[], 0.5, 0.0, 0.0),
            (&[10], 0.5, 10.0, 10.0),
            (&[1_500, 1_600], 1.0, 1600.0, 1600.0),
            (&[10_000, 10_100, 10_200, 90_000], 0.5, 10_100.0, 10_163.0),
            (&[1_000, 2_000, 3_000, 4_000], 0.5, 2_000.0, 2_063.0),
            (&[1_000, 2_000, 3_000, 4_000], 0.51, 3_000.0, 3_063.0),
            (&[60_000_000_000; 3], 0.99, 60e9, 60e9),
            (&[60_000_000_000, 90_000_000_000], 0.5, 60e9, 60.06e9),
            (&[u64::MAX], 1.0, 4.6e18, 9.3e18),
        ];
        for (ns, share, least, most) in rows {
            let told = of(ns).quantile(share).as_nanos() as f64;
            assert!(told >= least && told <= most, "{ns:?} {share}: {told}");
        }
    }

    #[test]
    fn the_mean_and_the_longest_are_exact() {
        let times = of(&[1, 2, 1_000_000_007]);
        assert_eq!(times.mean(), Duration::from_nanos(333_333_336));
        assert_eq!(times.longest(), Duration::from_nanos(1_000_000_007));
        assert_eq!(times.quantile(1.0), times.longest());
        assert_eq!(of(&[]).mean(), Duration::ZERO);
    }

    #[test]
    fn what_is_told_less_finely_is_the_same_otherwise() {
        let times = of(&[10, 1_500, 1_000_000, 1_002_000, 1_004_000, 60_000_000_000]);
        let told = times.told_to(Digits::Two);
        assert_eq!((told.count(), told.mean()), (times.count(), times.mean()));
        assert_eq!(told.longest(), times.longest());
        for share in [0.3, 0.5, 0.7, 1.0] {
            let ratio = told.quantile(share).as_secs_f64() / times.quantile(share).as_secs_f64();
            assert!((1.0..=1.01).contains(&ratio), "{share}: {ratio}");
        }
        let places = [&told, &times].map(|times| times.histogram().iter_recorded().count());
        assert!(places[0] < places[1], "{places:?}");
    }

    #[test]
    fn what_cannot_have_been_written_is_not_read() {
        let rows = [
            (r#"{"digits":3,"count":2,"sum_ns":5,"longest_ns":3,"ns":[[1,2]]}"#, true),
            (r#"{"digits":3,"count":0,"sum_ns":0,"longest_ns":0,"ns":[]}"#, true),
            (r#"{"digits":5,"count":0,"sum_ns":0,"longest_ns":0,"ns":[]}"#, false),
            (r#"{"digits":3,"count":3,"sum_ns":5,"longest_ns":3,"ns":[[1,2]]}"#, false),
            (
                r#"{"digits":3,"count":1,"sum_ns":5,"longest_ns":3,"ns":[[9300000000000000000,1]]
                }"#,
                false,
            ),
        ];
        for (text, is_read) in rows {
            let read = serde_json::from_str::<Times>(text);
            assert_eq!(read.is_ok(), is_read, "{text}: {read:?}");
        }
    }
}
