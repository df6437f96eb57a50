//! The results of a process, or of several as one.

use std::collections::BTreeMap;
use std::fmt;

use measure::Duration;
use serde::{Deserialize, Serialize};

use super::counts::{self, Counts};
use super::flow::{Flow, Intervals};
use super::kinds::{KINDS_MAX, Kind};
use super::times::{Digits, Times};
use super::{CLIENTS_MAX, LATE, Pace, Plan, bounded};
use crate::record::{Outcome, Record};

/// All that is known of a run, exactly: results of parts, merged, are the results of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// When the run began, by the machine's monotonic clock. Processes of one run have the same.
    pub start_ns: u64,
    /// How long the warm-up was.
    #[serde(rename = "warm_up_ns", with = "nanoseconds")]
    pub warm_up: Duration,
    /// How long was measured, from the end of the warm-up on.
    #[serde(rename = "measured_ns", with = "nanoseconds")]
    pub measured: Duration,
    /// How long that was to be; more, where the run was stopped or had nothing left to do.
    #[serde(rename = "planned_ns", with = "nanoseconds")]
    pub planned: Duration,
    /// The client's.
    #[serde(rename = "patience_ns", with = "nanoseconds::optional")]
    pub patience: Option<Duration>,
    /// Whether those who wait for the server tell of all who would have come.
    pub pace: Pace,
    /// Of the replies, those whose content was compared with what was made: 0.0 to 1.0. `None`:
    /// nobody knows what it, and its length, should be.
    pub verified: Option<f64>,
    /// See [`Plan::lag_max`].
    #[serde(rename = "lag_max_ns", with = "nanoseconds", default = "late")]
    pub lag_max: Duration,
    /// What became of those that were to be made within the measured time.
    pub requests: Requests,
    /// What came within the measured time.
    pub flow: Flow,
    /// Requests that were to be made before or after the measured time.
    pub left_out: u64,
    /// The same of each kind of files.
    #[serde(deserialize_with = "bounded::at_most::<_, _, KINDS_MAX>")]
    pub kinds: Vec<OfKind>,
    /// The classes of files in words.
    #[serde(default)]
    pub class_names: BTreeMap<u16, String>,
    /// And of each client.
    #[serde(deserialize_with = "bounded::at_most::<_, _, { CLIENTS_MAX as usize }>")]
    pub clients: Vec<OfClient>,
    /// As time passed.
    pub intervals: Intervals,
    /// Those that made the load; as told by [`Results::ran`].
    pub processes: Vec<Process>,
}

/// What became of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// By outcome.
    pub counts: Counts,
    /// Received for them, heads included.
    pub bytes: u64,
    /// Received for the good ones.
    pub bytes_good: u64,
    /// From the intended start until the connection was there, of those that made one.
    pub connect: Times,
    /// From the intended start to the first byte, of those that got one, and not of a reply that
    /// was not what had been asked for: a refusal comes at once, and a server would look fast.
    pub first_byte: Times,
    /// From the intended start to the last byte, of the good ones; see [`Requests::whole_of_all`].
    pub whole: Times,
    /// How late they were made by the schedule.
    pub lag: Times,
    /// From when a good one was really made, its connection included (Pariag07 8). That the paper
    /// divides a connection's time among its replies changes no mean over all of them.
    pub response: Times,
    /// From when a good one could be sent, on a connection that was there (JAWS97 2.3).
    pub latency: Times,
    /// First requests of sessions.
    pub arrivals: u64,
    /// How many of them were made [`Results::lag_max`] late or later.
    pub arrivals_late: u64,
    /// Sessions whose first request was answered well: who was let in.
    #[serde(default)]
    pub admitted: u64,
    /// Sessions whose last request was.
    #[serde(default)]
    pub finished: u64,
}

/// Of results that were written when there was no other limit.
const fn late() -> Duration {
    LATE
}

/// The shorter account of a part of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// By outcome.
    pub counts: Counts,
    /// Received for them, heads included.
    pub bytes: u64,
    /// From the intended start to the last byte, of the good ones.
    pub whole: Times,
}

/// Requests for files of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfKind {
    /// Which.
    pub kind: Kind,
    /// What became of them.
    pub detail: Detail,
}

/// Requests of one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfClient {
    /// What became of them.
    pub detail: Detail,
    /// How many of them ended by a timeout, by kind.
    pub kinds: Vec<Share>,
}

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// These.
    pub count: u64,
    /// Of all.
    pub of: u64,
}

/// What a process that made load used of its machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Of one processor, by user and system.
    #[serde(rename = "cpu_ns", with = "nanoseconds")]
    pub cpu: Duration,
    /// In how long.
    #[serde(rename = "lasted_ns", with = "nanoseconds")]
    pub lasted: Duration,
    /// Descriptors that were open at once, at most.
    pub descriptors: u64,
    /// And that might have been (RLIMIT_NOFILE).
    pub descriptors_max: u64,
    /// Sessions that were due and never begun: the process was so late that nobody would have
    /// waited for their replies, or until the very end.
    pub missed: u64,
}

/// Results that are not of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// In what they differ.
    pub what: &'static str,
}

/// 584 years.
const LONGEST: Duration = Duration::from_nanos(u64::MAX);

impl Results {
    pub(super) fn new(plan: &Plan, kinds: &[Kind]) -> Self {
        let clients = plan.clients.clamp(1, CLIENTS_MAX);
        let client = OfClient { detail: Detail::new(), kinds: vec![Share::default(); kinds.len()] };
        let of_kind = |&kind: &Kind| OfKind { kind, detail: Detail::new() };
        Self {
            start_ns: plan.start.ns,
            warm_up: plan.stop.warm_up,
            measured: Duration::ZERO,
            // As much as a file can say.
            planned: plan.stop.measured_until().saturating_sub(plan.stop.warm_up).min(LONGEST),
            patience: plan.patience,
            pace: plan.pace,
            verified: plan.verified,
            lag_max: plan.lag_max,
            requests: Requests::new(),
            flow: Flow::default(),
            left_out: 0,
            kinds: kinds.iter().map(of_kind).collect(),
            class_names: BTreeMap::new(),
            clients: vec![client; clients as usize],
            intervals: Intervals::new(plan.stop.interval),
            processes: Vec::new(),
        }
    }

    pub(super) fn client(&mut self, session: u64) -> &mut OfClient {
        let place = session % self.clients.len() as u64;
        &mut self.clients[place as usize]
    }

    /// Tells what a process used that made some of this load.
    pub fn ran(&mut self, process: Process) {
        self.processes.push(process);
    }

    /// The process that used most of its processor while it ran: its place among all, and the share
    /// it used. `None`: nobody knows.
    #[must_use]
    pub fn busiest(&self) -> Option<(usize, f64)> {
        let all = self.processes.iter().enumerate();
        let ran = all.filter(|(_, process)| !process.lasted.is_zero());
        let shares = ran.map(|(place, of)| (place, of.cpu.div_duration_f64(of.lasted)));
        shares.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Sessions that were due and never began, because the generator was too late for them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        let missed = self.processes.iter().map(|process| process.missed);
        missed.fold(0_u64, u64::saturating_add)
    }

    /// A class of files in words.
    #[must_use]
    pub fn class_name(&self, class: u16) -> String {
        self.class_names.get(&class).cloned().unwrap_or_else(|| format!("class {class}"))
    }

    /// Takes in what another process of the same run found.
    ///
    /// # Errors
    /// It is of another run. Nothing was taken in then.
    pub fn merge(&mut self, other: Self) -> Result<(), Mismatch> {
        let same = [
            (self.start_ns == other.start_ns, "start"),
            (self.warm_up == other.warm_up, "warm-up"),
            (self.planned == other.planned, "planned length"),
            (self.patience == other.patience, "patience"),
            (self.pace == other.pace, "loop"),
            (self.lag_max == other.lag_max, "limit of the lag"),
            (self.clients.len() == other.clients.len(), "number of clients"),
            (self.kinds_told() == other.kinds_told(), "files"),
            (self.is_whole() && other.is_whole(), "files of each client"),
        ];
        if let Some(&(_, what)) = same.iter().find(|(is_same, _)| !is_same) {
            return Err(Mismatch { what });
        }
        if !self.intervals.merge(other.intervals) {
            return Err(Mismatch { what: "interval" });
        }
        self.measured = self.measured.max(other.measured);
        self.requests.add(&other.requests);
        self.flow.add(&other.flow);
        self.left_out = self.left_out.saturating_add(other.left_out);
        for (ours, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            ours.detail.add(&theirs.detail);
        }
        for (ours, theirs) in self.clients.iter_mut().zip(&other.clients) {
            ours.add(theirs);
        }
        self.processes.extend(other.processes);
        Ok(())
    }

    fn kinds_told(&self) -> Vec<Kind> {
        self.kinds.iter().map(|of| of.kind).collect()
    }

    /// Whether each client has a share of each kind, as is so in all that a collector made.
    fn is_whole(&self) -> bool {
        self.clients.iter().all(|client| client.kinds.len() == self.kinds.len())
    }
}

impl Requests {
    /// The same with times told to so many digits.
    #[must_use]
    pub fn told_to(&self, digits: Digits) -> Self {
        let told = |times: &Times| times.told_to(digits);
        Self {
            connect: told(&self.connect),
            first_byte: told(&self.first_byte),
            whole: told(&self.whole),
            lag: told(&self.lag),
            response: told(&self.response),
            latency: told(&self.latency),
            ..self.clone()
        }
    }

    fn new() -> Self {
        let three = || Times::new(Digits::Three);
        Self {
            counts: Counts::default(),
            bytes: 0,
            bytes_good: 0,
            connect: three(),
            first_byte: three(),
            whole: three(),
            lag: three(),
            response: three(),
            latency: three(),
            arrivals: 0,
            arrivals_late: 0,
            admitted: 0,
            finished: 0,
        }
    }

    pub(super) fn record(&mut self, record: &Record, lag_max: Duration) {
        let since = record.intended;
        self.counts.record(record.outcome);
        self.bytes = self.bytes.saturating_add(record.bytes);
        if let Some(connected) = record.connected {
            self.connect.record(connected.since(since));
        }
        let is_refusal = matches!(
            record.outcome,
            Outcome::Status(_) | Outcome::Wrong | Outcome::Malformed | Outcome::Unread
        );
        if let Some(first_byte) = record.first_byte.filter(|_| !is_refusal) {
            self.first_byte.record(first_byte.since(since));
        }
        let lag = record.started.since(since);
        self.lag.record(lag);
        if record.place == 0 {
            self.arrivals += 1;
            self.arrivals_late += u64::from(lag >= lag_max);
        }
        if record.outcome == Outcome::Good {
            self.admitted += u64::from(record.place == 0);
            self.finished += u64::from(record.is_last);
            self.bytes_good = self.bytes_good.saturating_add(record.bytes);
            self.whole.record(record.ended.since(since));
            self.response.record(record.ended.since(record.started));
            let sendable = record.connected.unwrap_or(record.started);
            self.latency.record(record.ended.since(sendable));
        }
    }

    /// What this share of all requests (0.0 to 1.0) do not exceed from the intended start to the
    /// last byte, where one that did not end well takes for ever. `None`: so long. Servers that
    /// answer only some can be compared by it with those that answer all.
    #[must_use]
    pub fn whole_of_all(&self, share: f64) -> Option<Duration> {
        let (good, all) = (self.whole.count() as f64, self.counts.total() as f64);
        let of_good = share * all / good;
        (of_good <= 1.0).then(|| self.whole.quantile(of_good))
    }

    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.bytes_good = self.bytes_good.saturating_add(other.bytes_good);
        self.connect.add(&other.connect);
        self.first_byte.add(&other.first_byte);
        self.whole.add(&other.whole);
        self.lag.add(&other.lag);
        self.response.add(&other.response);
        self.latency.add(&other.latency);
        self.arrivals = self.arrivals.saturating_add(other.arrivals);
        self.arrivals_late = self.arrivals_late.saturating_add(other.arrivals_late);
        self.admitted = self.admitted.saturating_add(other.admitted);
        self.finished = self.finished.saturating_add(other.finished);
    }
}

impl Detail {
    pub(crate) fn new() -> Self {
        Self { counts: Counts::default(), bytes: 0, whole: Times::new(Digits::Two) }
    }

    pub(super) fn record(&mut self, record: &Record) {
        self.counts.record(record.outcome);
        self.bytes = self.bytes.saturating_add(record.bytes);
        if record.outcome == Outcome::Good {
            self.whole.record(record.ended.since(record.intended));
        }
    }

    /// All of another's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.whole.add(&other.whole);
    }
}

impl OfClient {
    pub(super) fn record(&mut self, record: &Record, kind: usize) {
        self.detail.record(record);
        self.kinds[kind].of += 1;
        self.kinds[kind].count += u64::from(counts::is_timeout(record.outcome));
    }

    fn add(&mut self, other: &Self) {
        self.detail.add(&other.detail);
        for (ours, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            ours.count = ours.count.saturating_add(theirs.count);
            ours.of = ours.of.saturating_add(theirs.of);
        }
    }
}

impl Share {
    /// The timeouts of these requests.
    #[must_use]
    pub fn of_timeouts(counts: &Counts) -> Self {
        Self { count: counts.timeouts(), of: counts.total() }
    }

    /// Those of these requests without a good reply.
    #[must_use]
    pub fn of_failures(counts: &Counts) -> Self {
        let of = counts.total();
        Self { count: of.saturating_sub(counts.of(Outcome::Good)), of }
    }

    /// 0.0 to 1.0; of nothing, 0.0.
    #[must_use]
    pub fn ratio(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "these results are not of one run: they differ in their {}", self.what)
    }
}

impl std::error::Error for Mismatch {}

/// Durations as whole nanoseconds, which every language reads; what is longer than 584 years is
/// that long.
mod nanoseconds {
    use measure::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    fn of(span: Duration) -> u64 {
        u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        of(*span).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }

    pub(super) mod optional {
        use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

        pub(in super::super) fn serialize<S: Serializer>(
            span: &Option<Duration>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            span.map(super::of).serialize(to)
        }

        pub(in super::super) fn deserialize<'a, D: Deserializer<'a>>(
            from: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(from)?.map(Duration::from_nanos))
        }
    }
}
