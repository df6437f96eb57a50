//! A whole run, by one process or by several that share it: from a plan to results.

mod part;
mod processes;
mod watch;

use std::path::Path;

use measure::{Duration, Instant};
use os::clock::monotonic;
use os::{Signal, Signals};

pub use self::part::perform_part;
use self::watch::Watch;
use crate::collector::flow::Interval;
use crate::collector::results::Results;
use crate::engine::{self, Course, Failure, Part, Plan};
use crate::task::Task;
use crate::workload::Workload;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Order<'o> {
    /// But for when it begins, which is told here anew.
    pub plan: &'o Plan,
    /// Clients that results are told by; see [`crate::collector::Plan::clients`].
    pub clients: u32,
    /// See [`crate::collector::Plan::lag_max`].
    pub lag_max: Duration,
    /// Where a line for each request goes, if anywhere; of several processes each has a file of its
    /// own, with its number behind the name.
    pub records: Option<&'o Path>,
    /// Where a line goes, if anywhere, that tells when the run begins: in nanoseconds of the
    /// machine's monotonic clock, and before it does.
    pub begins: Option<&'o Path>,
}

/// How several processes share a run.
#[derive(Debug, Clone, Copy)]
pub struct Sharing<'s> {
    /// How many: 1 is the calling one, more are started by it.
    pub processes: u32,
    /// What each of them is told, beside its part: the order is made of it.
    pub task: &'s Task,
    /// The words of a command that calls [`perform_part`].
    pub command: &'s [&'s str],
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Of all processes together.
    pub results: Results,
    /// Why something is missing beside the results, in a line each.
    pub complaints: Vec<String>,
    /// Whether a signal asked for its end.
    pub is_stopped: bool,
}

/// How a run goes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// Since its start, in nanoseconds.
    pub at_ns: u64,
    /// Connections that are open.
    pub open: u64,
    /// Sessions that have begun and are not over.
    pub asking: u64,
    /// Where nothing begins any more and replies are waited for: since when, and until when at
    /// most, in nanoseconds from the start.
    pub over_ns: Option<(u64, u64)>,
    /// The last interval that is over, how far from the start it began, and how long it was, in
    /// nanoseconds.
    pub latest: Option<(u64, u64, Interval)>,
}

/// The first arrival comes so long after everybody is ready, for each process to hear of it.
const START: Duration = Duration::from_millis(100);

/// To one of several processes: its part ends early. None that a terminal or `kill` sends to all of
/// them, or to one alone: who has less asked than was wanted does not know of it.
const STOP: Signal = Signal::Usr1;
/// The same: it waits for no reply any more.
const CUT: Signal = Signal::Usr2;

/// As shells tell a process that ^C has ended.
const INTERRUPTED: i32 = 130;

/// Performs a run; `tell` hears how it goes, once in each interval and at least once in a second.
/// SIGINT and SIGTERM end it early: by the first one nothing begins any more, by the next one, or
/// where nothing begins anyway, nothing is waited for, and by one more the process ends at once.
/// Behind it they have their usual effect.
///
/// # Errors
/// See [`Failure`].
pub fn run(
    order: &Order<'_>,
    sharing: &Sharing<'_>,
    workload: &mut dyn Workload,
    tell: &mut dyn FnMut(Standing),
) -> Result<Done, Failure> {
    let signals = signals()?;
    let done = if sharing.processes > 1 {
        processes::share((order, sharing), &signals, tell)
    } else {
        let begin = monotonic() + START;
        say_begin(order, begin)?;
        let whole = Plan { begin, part: Part::WHOLE, ..order.plan.clone() };
        part(&Order { plan: &whole, ..*order }, workload, &signals, tell)
    };
    // Of a run that is over anyway.
    while let Ok(Some(_)) = signals.next() {}
    signals.release().map_err(|error| Failure::Machine(format!("signals: {error}")))?;
    let mut done = done?;
    // A number of sessions takes as long as it takes.
    if order.plan.stop.sessions_max.is_some() {
        done.results.planned = done.results.measured;
    }
    Ok(done)
}

/// Where that was asked for.
fn say_begin(order: &Order<'_>, begin: Instant) -> Result<(), Failure> {
    let Some(file) = order.begins else { return Ok(()) };
    std::fs::write(file, format!("{}\n", begin.ns))
        .map_err(|error| Failure::Machine(format!("{}: {error}", file.display())))
}

fn signals() -> Result<Signals, Failure> {
    let signals = Signals::take(&[Signal::Int, Signal::Term, Signal::Child, STOP, CUT]);
    signals.map_err(|error| Failure::Machine(format!("signals: {error}")))
}

/// What is wanted by one more of SIGINT and SIGTERM; `is_over` says whether replies are all that is
/// left to come, as far as was told.
fn wanted(before: Course, is_over: bool) -> Course {
    match before {
        Course::On if !is_over => Course::Stop,
        Course::On | Course::Stop => Course::Cut,
        Course::Cut => os::process::exit(INTERRUPTED),
    }
}

/// Performs the part of the order's plan in this process.
fn part(
    order: &Order<'_>,
    workload: &mut dyn Workload,
    signals: &Signals,
    tell: &mut dyn FnMut(Standing),
) -> Result<Done, Failure> {
    let mut watch = Watch::new(order, workload, signals, tell)?;
    let summary = engine::run(order.plan, workload, &mut watch)?;
    Ok(watch.done(&summary))
}
