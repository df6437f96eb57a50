//! What a process keeps of its part while it performs it: the collector, a line for each request,
//! what it used of its processor, and whether somebody wants it to end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use measure::{Duration, Instant};
use os::clock::monotonic;
use os::{Signal, Signals};

use super::{Done, Order, Standing};
use crate::collector::lines::{HEAD, Line};
use crate::collector::results::Process;
use crate::collector::{self, Collector, Pace};
use crate::engine::{Beat, Course, Failure, Observer, Part, Plan, Summary};
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
    next_told: Instant,
    tell: &'w mut dyn FnMut(&Standing),
}

/// A second wish to end it is obeyed at once: as shells tell a process that ^C has ended.
const INTERRUPTED: i32 = 130;

impl<'w> Watch<'w> {
    pub(super) fn new(
        order: &Order<'w>,
        workload: &dyn Workload,
        signals: &'w Signals,
        tell: &'w mut dyn FnMut(&Standing),
    ) -> Result<Self, Failure> {
        let plan = order.plan;
        let collected = collector::Plan {
            start: plan.begin,
            stop: plan.stop,
            patience: plan.behaviour.patience,
            pace: Pace::from(&plan.arrivals),
            clients: order.clients,
        };
        let lines = order.records.map(|path| Lines::create(path, plan.part)).transpose()?;
        Ok(Self {
            plan,
            collector: Collector::new(&collected, workload.files(), workload.model().class_name),
            lines,
            processor: Processor::default(),
            signals,
            stopped: None,
            next_told: plan.begin + plan.stop.interval,
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
        Done { results, complaints }
    }

    /// Whether somebody wants the run to end.
    fn is_interrupted(&mut self, now: Instant) -> bool {
        // Signals that are there can always be read.
        while let Ok(Some(signal)) = self.signals.next() {
            let is_alone = self.plan.part.of == 1;
            match signal {
                Signal::Int | Signal::Term if is_alone && self.stopped.is_some() => {
                    os::process::exit(INTERRUPTED)
                }
                // What a terminal sends reaches all processes; which is meant the first one says.
                Signal::Int if is_alone => self.stopped = Some(now),
                Signal::Term => _ = self.stopped.get_or_insert(now),
                _ => {}
            }
        }
        self.stopped.is_some()
    }
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

    fn beat(&mut self, Beat { now, open, .. }: Beat) -> Course {
        self.processor.look(self.plan, now);
        if now >= self.next_told {
            self.next_told = now.max(self.next_told) + self.plan.stop.interval;
            let latest = self.collector.latest(now);
            (self.tell)(&Standing {
                at_ns: (now - self.plan.begin).as_nanos() as u64,
                open: open as u64,
                latest: latest.map(|(begin, lasts, interval)| {
                    (begin.as_nanos() as u64, lasts.as_nanos() as u64, interval.clone())
                }),
            });
        }
        if !self.is_interrupted(now) {
            return Course::On;
        }
        self.collector.stop(now);
        Course::Stop
    }
}

/// What a process used of its processor while it was measured: at other times it may have had
/// nothing to do.
#[derive(Default)]
struct Processor {
    from: Option<(Instant, Duration)>,
    to: Option<(Instant, Duration)>,
}

impl Processor {
    fn look(&mut self, plan: &Plan, now: Instant) {
        let told = || Some((now, os::process::cpu_time()));
        if self.from.is_none() && now >= plan.begin + plan.stop.warm_up {
            self.from = told();
        }
        if self.to.is_none() && now >= plan.begin + plan.stop.after {
            self.to = told();
        }
    }

    /// How much, in how long.
    fn used(&self, now: Instant) -> (Duration, Duration) {
        let Some((from, before)) = self.from else { return (Duration::ZERO, Duration::ZERO) };
        let (to, after) = self.to.unwrap_or_else(|| (now, os::process::cpu_time()));
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
