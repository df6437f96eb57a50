//! What is kept of records: all that a run is told by. Nothing here reads a clock or a socket.
//!
//! Two questions are asked of a run, and each has its own choice of records. *What became of the
//! requests* is told of those that were to be made within the measured time, whenever they ended
//! ([`Requests`](results::Requests)). *What came in a second* is told of the replies that came
//! within it, whenever they were asked for ([`Flow`](flow::Flow)): else a server in a flood would
//! seem slower than it is by all it answers late.
//!
//! The measured time is from the end of the warm-up to the end of the arrivals.

mod bounded;
pub mod counts;
pub mod figures;
pub mod flow;
pub mod kinds;
pub mod lines;
pub mod results;
pub mod times;

use measure::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::files::Files;
use crate::record::{Outcome, Record};
use crate::stop::Stop;
use flow::Interval;
use kinds::Kinds;
use results::Results;

/// What a collector has to know of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// When the run begins: the same for all processes of a run, by the machine's one clock.
    pub start: Instant,
    /// What counts, and how long intervals are.
    pub stop: Stop,
    /// As in [`Behaviour::patience`](crate::behaviour::Behaviour::patience): what comes later is
    /// no goodput.
    pub patience: Option<Duration>,
    /// Whether times tell of all who would have come.
    pub pace: Pace,
    /// Sessions are told by so many clients, in turn by their number: as many as there are source
    /// addresses tell the addresses apart. At least 1, at most [`CLIENTS_MAX`].
    pub clients: u32,
    /// Of the replies, those whose content is compared with what was made: 0.0 to 1.0. `None`:
    /// nobody knows what it, and its length, should be.
    pub verified: Option<f64>,
    /// A session that begins so long after its time by the schedule, or longer, begins late; see
    /// [`LATE`].
    pub lag_max: Duration,
}

/// Who says when the next request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// A schedule: whoever comes while the server stalls waits for it, and his time tells.
    Open,
    /// The server, because each client waits for its reply: while it stalls nobody comes, and no
    /// time tells of those who would have come.
    Closed,
}

impl From<&Arrivals> for Pace {
    fn from(arrivals: &Arrivals) -> Self {
        match arrivals {
            Arrivals::Open(_) => Self::Open,
            Arrivals::Closed { .. } => Self::Closed,
        }
    }
}

/// A /24 of source addresses. Each takes some 8 KiB, up to 24 where replies take a minute.
pub const CLIENTS_MAX: u32 = 256;

/// By default a start later than that by the schedule is a late one (wrk2's timers are as fine as
/// that, and the research for this project takes it as the limit of a generator that keeps up).
pub const LATE: Duration = Duration::from_millis(1);

/// Takes records as they come to their end, in any order.
#[derive(Debug, Clone)]
pub struct Collector {
    plan: Plan,
    kinds: Kinds,
    /// The measured time.
    from: Instant,
    to: Instant,
    results: Results,
}

impl Collector {
    /// Nothing has happened yet. Each process of a run has a collector of the same plan and files.
    #[must_use]
    pub fn new(plan: &Plan, files: &Files, class_name: fn(u16) -> String) -> Self {
        let kinds = Kinds::new(files);
        let mut results = Results::new(plan, kinds.all());
        let classes = kinds.all().iter().map(|kind| (kind.class, class_name(kind.class)));
        results.class_names = classes.collect();
        let from = plan.start + plan.stop.warm_up;
        let to = (plan.start + plan.stop.measured_until()).max(from);
        Self { plan: *plan, kinds, from, to, results }
    }

    /// One more request is over.
    ///
    /// # Panics
    /// Its file is none of the plan's.
    pub fn record(&mut self, record: &Record) {
        let whole = record.ended.since(record.intended);
        let is_in_time = self.plan.patience.is_none_or(|patience| whole <= patience);
        self.pass(record, is_in_time);
        if self.measures(record.ended) {
            self.results.flow.record(record, is_in_time);
        }
        if self.measures(record.intended) {
            let kind = self.kinds.place(record.file);
            self.results.requests.record(record, self.plan.lag_max);
            self.results.kinds[kind].detail.record(record);
            self.results.client(record.session).record(record, kind);
        } else {
            self.results.left_out += 1;
        }
    }

    /// Into the intervals.
    fn pass(&mut self, record: &Record, is_in_time: bool) {
        let (start, intervals) = (self.plan.start, &mut self.results.intervals);
        intervals.at(record.intended.since(start)).offered += 1;
        let ended = intervals.at(record.ended.since(start));
        ended.flow.record(record, is_in_time);
        if record.outcome == Outcome::Good {
            ended.whole.record(record.ended.since(record.intended));
        }
    }

    fn measures(&self, at: Instant) -> bool {
        (self.from..self.to).contains(&at)
    }

    /// The last interval that is over, with its beginning from the start of the run and how long it
    /// was: for a line that tells how it goes.
    #[must_use]
    pub fn latest(&self, now: Instant) -> Option<(Duration, Duration, &Interval)> {
        let intervals = &self.results.intervals;
        let (begin, interval) = intervals.over_at(now.since(self.plan.start))?;
        Some((begin, intervals.lasts(), interval))
    }

    /// Nothing begins from now on, earlier than planned: what replies still come is measured no
    /// more. To be called when the run is stopped, not when it has ended.
    pub fn stop(&mut self, now: Instant) {
        self.to = self.to.min(now).max(self.from);
    }

    /// The run is over. What was measured ended at `ended`, if that is earlier than planned: where
    /// nobody was to come any more, and not where nobody happened to.
    #[must_use]
    pub fn finish(mut self, ended: Instant) -> Results {
        let end = self.to.min(ended).max(self.from);
        self.results.measured = end.since(self.from);
        self.results
    }
}

#[cfg(test)]
mod tests;
