//! What comes as time passes: over the measured time, and in each interval of the run.

use measure::Duration;
use serde::{Deserialize, Serialize};

use super::times::{Digits, Times};
use super::{bounded, counts};
use crate::record::{Outcome, Record};

/// What came in a time, whenever it was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Whole replies.
    pub replies: u64,
    /// Those of them that were good and came within the client's patience.
    pub goodput: u64,
    /// Requests that ended without a whole reply.
    pub failed: u64,
    /// Received, heads included, also for what failed.
    pub bytes: u64,
    /// Connections on which a first reply came whole.
    pub connections: u64,
}

impl Flow {
    pub(super) fn record(&mut self, record: &Record, is_in_time: bool) {
        let is_reply = counts::is_reply(record.outcome);
        self.replies += u64::from(is_reply);
        self.goodput += u64::from(record.outcome == Outcome::Good && is_in_time);
        self.failed += u64::from(!is_reply);
        self.bytes = self.bytes.saturating_add(record.bytes);
        self.connections += u64::from(is_reply && record.connected.is_some());
    }

    /// What ended otherwise than by a good reply in time, a 404 included.
    #[must_use]
    pub const fn not_good(&self) -> u64 {
        self.replies.saturating_add(self.failed).saturating_sub(self.goodput)
    }

    pub(super) const fn add(&mut self, other: &Self) {
        self.replies = self.replies.saturating_add(other.replies);
        self.goodput = self.goodput.saturating_add(other.goodput);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.connections = self.connections.saturating_add(other.connections);
    }
}

/// A piece of the run's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Requests that were to be made in it.
    pub offered: u64,
    /// What ended in it.
    pub flow: Flow,
    /// Of the good replies that ended in it, from the intended start.
    pub whole: Times,
}

impl Interval {
    fn new() -> Self {
        Self { offered: 0, flow: Flow::default(), whole: Times::new(Digits::Two) }
    }

    /// All of another's.
    pub fn add(&mut self, other: &Self) {
        self.offered = self.offered.saturating_add(other.offered);
        self.flow.add(&other.flow);
        self.whole.add(&other.whole);
    }
}

/// The run from its start on, warm-up included, in pieces of the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Intervals {
    lasts_ns: u64,
    all: Vec<Interval>,
}

/// Ten minutes by the second, in at most 15 MB. A longer run has longer intervals.
const INTERVALS_MAX: usize = 600;

/// Shorter intervals hold too little to tell anything.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

impl Intervals {
    pub(super) fn new(lasts: Duration) -> Self {
        Self { lasts_ns: nanoseconds(lasts.max(INTERVAL_MIN)), all: Vec::new() }
    }

    /// How long each is: what was asked for, doubled as often as the run's length made needful.
    #[must_use]
    pub const fn lasts(&self) -> Duration {
        Duration::from_nanos(self.lasts_ns)
    }

    /// Each with its beginning, from the start of the run; those after the last have nothing.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Duration, &Interval)> {
        let begin = |place: usize| Duration::from_nanos(self.lasts_ns.saturating_mul(place as u64));
        self.all.iter().enumerate().map(move |(place, interval)| (begin(place), interval))
    }

    /// The last one that is over at a time since the start.
    pub(super) fn over_at(&self, since: Duration) -> Option<(Duration, &Interval)> {
        let count = usize::try_from(nanoseconds(since) / self.lasts_ns).unwrap_or(usize::MAX);
        self.iter().nth(count.checked_sub(1)?)
    }

    /// The one that a time since the start falls into.
    pub(super) fn at(&mut self, since: Duration) -> &mut Interval {
        let ns = nanoseconds(since);
        while ns / self.lasts_ns >= INTERVALS_MAX as u64 {
            self.widen();
        }
        let place = (ns / self.lasts_ns) as usize;
        if place >= self.all.len() {
            self.all.resize_with(place + 1, Interval::new);
        }
        &mut self.all[place]
    }

    /// Makes two into one.
    fn widen(&mut self) {
        self.lasts_ns = self.lasts_ns.saturating_mul(2);
        let narrow = std::mem::take(&mut self.all);
        self.all.extend(narrow.chunks(2).map(|two| {
            let mut wide = two[0].clone();
            two[1..].iter().for_each(|second| wide.add(second));
            wide
        }));
    }

    /// All of another's, whose intervals were asked to be as long. `false`: they were not, and
    /// nothing was taken in.
    pub(super) fn merge(&mut self, mut other: Self) -> bool {
        let longer = self.lasts_ns.max(other.lasts_ns);
        let shorter = self.lasts_ns.min(other.lasts_ns);
        if !longer.is_multiple_of(shorter) || !(longer / shorter).is_power_of_two() {
            return false;
        }
        for one in [&mut *self, &mut other] {
            while one.lasts_ns < longer {
                one.widen();
            }
        }
        self.all.resize_with(self.all.len().max(other.all.len()), Interval::new);
        self.all.iter_mut().zip(&other.all).for_each(|(ours, theirs)| ours.add(theirs));
        true
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// As they stand in a file.
#[derive(Deserialize)]
struct Written {
    lasts_ns: u64,
    #[serde(deserialize_with = "bounded::at_most::<_, _, INTERVALS_MAX>")]
    all: Vec<Interval>,
}

impl TryFrom<Written> for Intervals {
    type Error = String;

    fn try_from(Written { lasts_ns, all }: Written) -> Result<Self, String> {
        if lasts_ns < nanoseconds(INTERVAL_MIN) {
            return Err(format!("intervals of {lasts_ns} ns, shorter than there are"));
        }
        Ok(Self { lasts_ns, all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each interval's beginning in ms and what was offered in it.
    fn told(intervals: &Intervals) -> Vec<(u128, u64)> {
        intervals.iter().map(|(begin, one)| (begin.as_millis(), one.offered)).collect()
    }

    #[test]
    fn a_long_run_has_longer_intervals() {
        // (interval in ms, times in ms, expected interval in ms, expected intervals)
        type Told<'t> = &'t [(u128, u64)];
        let rows: [(u64, &[u64], u64, Told<'_>); 4] = [
            (1000, &[0, 999, 1000, 2500], 1000, &[(0, 2), (1000, 1), (2000, 1)]),
            (0, &[0, 1], 1, &[(0, 1), (1, 1)]),
            (1000, &[], 1000, &[]),
            (1, &[0, 1, 2, 600], 2, &[]),
        ];
        for (lasts, times, expected_lasts, expected) in rows {
            let mut intervals = Intervals::new(Duration::from_millis(lasts));
            times.iter().for_each(|&ms| intervals.at(Duration::from_millis(ms)).offered += 1);
            assert_eq!(intervals.lasts(), Duration::from_millis(expected_lasts), "{times:?}");
            if !expected.is_empty() {
                assert_eq!(told(&intervals), expected);
            }
            let sum: u64 = intervals.iter().map(|(_, interval)| interval.offered).sum();
            assert_eq!(sum, times.len() as u64, "{times:?}");
        }
    }

    #[test]
    fn a_time_without_end_has_an_interval() {
        let mut intervals = Intervals::new(Duration::from_millis(1));
        intervals.at(Duration::MAX).offered += 1;
        intervals.at(Duration::ZERO).offered += 1;
        assert!(intervals.iter().len() <= INTERVALS_MAX);
    }

    #[test]
    fn intervals_of_other_lengths_do_not_merge() {
        // (milliseconds of both, whether they merge)
        for (ours, theirs, do_merge) in [(1, 1, true), (1, 8, true), (8, 1, true), (1, 3, false)] {
            let [mut ours, theirs] =
                [ours, theirs].map(|ms| Intervals::new(Duration::from_millis(ms)));
            assert_eq!(ours.clone().merge(theirs.clone()), do_merge, "{ours:?} {theirs:?}");
            ours.at(Duration::from_secs(1)).offered += 1;
            assert_eq!(ours.merge(theirs), do_merge);
        }
    }

    #[test]
    fn the_last_interval_that_is_over_is_told() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        intervals.at(Duration::from_millis(2500)).offered = 3;
        let begin = |ms| intervals.over_at(Duration::from_millis(ms)).map(|(begin, _)| begin);
        let rows = [(0, None), (999, None), (1000, Some(0)), (3100, Some(2)), (4000, None)];
        for (ms, expected) in rows {
            assert_eq!(begin(ms), expected.map(Duration::from_secs), "{ms}");
        }
    }
}
