//! What a process keeps of its part while it performs it: the collector, a line for each request,
//! what it used of its processor, and whether somebody wants it to end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use measure::{Duration, Instant};
use os::clock::monotonic;
use os::{Signal, Signals};

use super::{CUT, Done, Order, STOP, Standing, wanted};
use crate::collector::lines::{HEAD, Line};
use crate::collector::results::Process;
use crate::collector::{self, Collector, Pace};
use crate::engine::{BEAT, Beat, Course, Failure, Observer, Part, Plan, Summary};
use crate::record::Record;
use crate::workload::Workload;

/// See the head of this file.
pub(super) struct Watch<'w> {
    plan: &'w Plan,
    collector: Collector,
    lines: Option<Lines>,
    processor: Processor,
    signals: &'w Signals,
    /// When somebody wanted it to end.
    stopped: Option<Instant>,
    /// What somebody wants of the run.
    course: Course,
    /// Replies are all that is left to come, and that was told.
    is_over: bool,
    next_told: Instant,
    tell: &'w mut dyn FnMut(Standing),
}

/// Who looks at a terminal wants to see something, and who gathers results that they will come.
const TOLD_AFTER_MAX: Duration = Duration::from_secs(1);

impl<'w> Watch<'w> {
    pub(super) fn new(
        order: &Order<'w>,
        workload: &dyn Workload,
        signals: &'w Signals,
        tell: &'w mut dyn FnMut(Standing),
    ) -> Result<Self, Failure> {
        let plan = order.plan;
        let collected = collector::Plan {
            start: plan.begin,
            stop: plan.stop,
            patience: plan.behaviour.patience,
            pace: Pace::from(&plan.arrivals),
            clients: order.clients,
            verified: workload.files().is_made.then_some(plan.behaviour.verified),
            lag_max: order.lag_max,
        };
        let lines = order.records.map(|path| Lines::create(path, plan.part)).transpose()?;
        Ok(Self {
            plan,
            collector: Collector::new(&collected, workload.files(), workload.model().class_name),
            lines,
            processor: Processor::default(),
            signals,
            stopped: None,
            course: Course::On,
            is_over: false,
            next_told: plan.begin + told_after(plan),
            tell,
        })
    }

    /// The run is over.
    pub(super) fn done(self, summary: &Summary) -> Done {
        let ended = self.stopped.unwrap_or_else(|| measured_until(self.plan, summary));
        let (cpu, lasted) = self.processor.used(monotonic());
        let mut results = self.collector.finish(ended);
        results.ran(Process {
            cpu,
            lasted,
            descriptors: summary.connections_open as u64,
            descriptors_max: os::limits::descriptors(),
            missed: summary.missed,
        });
        let complaints = self.lines.and_then(Lines::finish).into_iter().collect();
        Done { results, complaints, is_stopped: self.course != Course::On }
    }

    /// Tells how it stands.
    fn stand(&mut self, Beat { now, open, asking, over, .. }: Beat) {
        let since = now - self.plan.begin;
        // By the schedule, not by when it was told: no interval is passed over.
        let every = told_after(self.plan);
        let told = (since.as_nanos() / every.as_nanos()) as u32;
        self.next_told = self.plan.begin + every * (told + 1);
        let latest = self.collector.latest(now);
        let ns = |at: Instant| at.since(self.plan.begin).as_nanos() as u64;
        (self.tell)(Standing {
            at_ns: ns(now),
            open: open as u64,
            asking: asking as u64,
            over_ns: over.map(|over| (ns(over.since), ns(over.until))),
            latest: latest.map(|(begin, lasts, interval)| {
                (begin.as_nanos() as u64, lasts.as_nanos() as u64, interval.clone())
            }),
        });
    }

    /// Hears what somebody wants of the run.
    fn course(&mut self, now: Instant) -> Course {
        let is_alone = self.plan.part.of == 1;
        // Signals that are there can always be read.
        while let Ok(Some(signal)) = self.signals.next() {
            self.course = match signal {
                Signal::Int | Signal::Term if is_alone => wanted(self.course, self.is_over),
                STOP if !is_alone => Course::Stop,
                CUT if !is_alone => Course::Cut,
                _ => continue,
            };
            if self.course == Course::Stop {
                self.stopped = Some(now);
                self.collector.stop(now);
            }
        }
        self.course
    }
}

/// The time between two times that it is told how a run goes.
fn told_after(plan: &Plan) -> Duration {
    plan.stop.interval.clamp(BEAT, TOLD_AFTER_MAX)
}

/// A rate has its time, also if the last reply came before its end; a number of sessions is over
/// with the last of them.
fn measured_until(plan: &Plan, summary: &Summary) -> Instant {
    match plan.stop.sessions_max {
        Some(_) => summary.ended,
        None => plan.begin + plan.stop.after,
    }
}

impl Observer for Watch<'_> {
    fn record(&mut self, record: &Record) {
        self.collector.record(record);
        if let Some(lines) = &mut self.lines {
            lines.write(&Line { record, start: self.plan.begin });
        }
    }

    fn beat(&mut self, beat: Beat) -> Course {
        let now = beat.now;
        self.processor.look(self.plan, now, beat.spun);
        // Whoever wants it to end knows of it what was told before.
        let course = self.course(now);
        let is_over = beat.over.is_some();
        if now >= self.next_told || is_over != self.is_over {
            self.is_over = is_over;
            self.stand(beat);
        }
        course
    }
}

/// What a process used of its processor while it was measured: at other times it may have had
/// nothing to do.
#[derive(Default)]
struct Processor {
    from: Option<(Instant, Duration)>,
    to: Option<(Instant, Duration)>,
    /// For how long it has spun in vain.
    spun: Duration,
}

impl Processor {
    fn look(&mut self, plan: &Plan, now: Instant, spun: Duration) {
        self.spun = spun;
        if self.from.is_none() && now >= plan.begin + plan.stop.warm_up {
            self.from = Some((now, self.needed()));
        }
        if self.to.is_none() && now >= plan.begin + plan.stop.measured_until() {
            self.to = Some((now, self.needed()));
        }
    }

    /// What it has used so far, but for what it could have slept.
    fn needed(&self) -> Duration {
        os::process::cpu_time().saturating_sub(self.spun)
    }

    /// How much, in how long.
    fn used(&self, now: Instant) -> (Duration, Duration) {
        let Some((from, before)) = self.from else { return (Duration::ZERO, Duration::ZERO) };
        let (to, after) = self.to.unwrap_or_else(|| (now, self.needed()));
        (after.saturating_sub(before), to - from)
    }
}

/// A file with a line for each request.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
    /// Why nothing is written any more.
    fault: Option<io::Error>,
}

impl Lines {
    fn create(path: &Path, part: Part) -> Result<Self, Failure> {
        let mut path = path.to_path_buf();
        if part.of > 1 {
            path.as_mut_os_string().push(format!(".{}", part.place));
        }
        let file = File::create(&path);
        let file = file.map_err(|error| Failure::Machine(format!("{}: {error}", path.display())));
        let mut lines = Self { file: BufWriter::new(file?), path, fault: None };
        lines.write(&HEAD);
        Ok(lines)
    }

    fn write(&mut self, line: &dyn std::fmt::Display) {
        if self.fault.is_none() {
            self.fault = writeln!(self.file, "{line}").err();
        }
    }

    /// What is missing of it, if anything.
    fn finish(mut self) -> Option<String> {
        let fault = self.fault.take().or_else(|| self.file.flush().err())?;
        Some(format!("{}: {fault}: it does not have all requests", self.path.display()))
    }
}
