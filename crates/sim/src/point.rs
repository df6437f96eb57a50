//! A scenario, run several times with other draws, and what may be said of it then.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use measure::Duration;
use measure::draw::Stream;
use measure::student::{moments, reach};

use crate::clients::Sessions;
use crate::resources::memory::Warm;
use crate::run::{Figure, Run};
use crate::scenario::Scenario;

/// Several runs of one scenario.
#[derive(Debug)]
pub struct Point {
    /// What was simulated.
    pub scenario: Scenario,
    /// One for each replication that was done, in their order.
    pub runs: Vec<Run>,
}

/// How replications go, for whoever looks at them from another thread and may want them to stop.
#[derive(Debug, Default)]
pub struct Course {
    done: AtomicU64,
    simulated_ns: AtomicU64,
    is_stopped: AtomicBool,
}

impl Course {
    /// Replications that are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Simulated time that has begun, of all of them.
    #[must_use]
    pub fn simulated(&self) -> Duration {
        Duration::from_nanos(self.simulated_ns.load(Relaxed))
    }

    /// What is not done is to be left, within a simulated second.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// So much more begins, if it is to.
    fn goes_on(&self, piece: Duration) -> bool {
        self.simulated_ns.fetch_add(piece.as_nanos() as u64, Relaxed);
        !self.is_stopped.load(Relaxed)
    }
}

/// A mean with half of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Over all runs.
    pub mean: f64,
    /// How far the truth may be off, to either side; 0 of one run, which tells nothing of it.
    pub half: f64,
}

/// Of all cases, in which an interval misses what is true.
const MISSED_SHARE: f64 = 0.05;

/// What these seeds are drawn for: no two scenarios' seeds have a replication in common.
const REPLICATIONS: u64 = 0x5EED;

/// Runs a scenario so many times, by the numbers of the replications: each has its draws, of the
/// scenario's seed and its number. A thread for each of the workloads, which are left as they were.
/// The same comes out whatever their number is. Of those that are stopped only what was done before
/// is told, and workloads are lost.
///
/// # Errors
/// See [`Scenario::run`].
pub fn replicate(
    scenario: &Scenario,
    warm: &Warm,
    numbers: Range<u64>,
    workloads: &mut Vec<Sessions>,
    course: &Course,
) -> Result<Vec<Run>, String> {
    let next = AtomicU64::new(numbers.start);
    let work = |mut workload: Sessions| {
        let mut runs = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= numbers.end {
                return Ok((runs, Some(workload)));
            }
            let seed = Stream::of(scenario.seed, REPLICATIONS, number).bits();
            let scenario = Scenario { seed, ..scenario.clone() };
            let ran = scenario.run_while(warm.clone(), workload, |piece| course.goes_on(piece))?;
            let Some((run, again)) = ran else { return Ok((runs, None)) };
            workload = again;
            runs.push((number, run));
            course.done.fetch_add(1, Relaxed);
        }
    };
    let done: Vec<Result<_, String>> = thread::scope(|scope| {
        let work = &work;
        let one = |workload| scope.spawn(move || work(workload));
        let threads: Vec<_> = workloads.drain(..).map(one).collect();
        threads.into_iter().map(|thread| thread.join().expect("a simulation ends")).collect()
    });
    let mut all = Vec::new();
    for of_thread in done {
        let (runs, workload) = of_thread?;
        all.extend(runs);
        workloads.extend(workload);
    }
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, run)| run).collect())
}

impl Point {
    /// See [`replicate`].
    ///
    /// # Errors
    /// See [`Scenario::run`] and [`Scenario::workload`].
    pub fn new(
        scenario: &Scenario,
        replications: u64,
        threads: usize,
        course: &Course,
    ) -> Result<Self, String> {
        let mut workloads = vec![scenario.workload()?];
        let warm = scenario.warm(&mut workloads[0])?;
        while workloads.len() < threads.min(replications as usize) {
            workloads.push(scenario.workload()?);
        }
        let runs = replicate(scenario, &warm, 0..replications, &mut workloads, course)?;
        Ok(Self { scenario: scenario.clone(), runs })
    }

    /// Replies in a second.
    #[must_use]
    pub fn replies_per_s(&self) -> Estimate {
        let measured_s = self.scenario.measured.as_secs_f64();
        self.estimate(|run| run.results.flow.replies as f64 / measured_s)
    }

    /// Of a figure.
    #[must_use]
    pub fn figure(&self, figure: &Figure) -> Estimate {
        self.estimate(|run| figure.of(run))
    }

    /// Of something that each run tells.
    pub fn estimate(&self, of: impl Fn(&Run) -> f64) -> Estimate {
        Estimate::of(&self.runs.iter().map(of).collect::<Vec<_>>())
    }

    /// Whether all runs had a steady state.
    ///
    /// # Errors
    /// See [`Run::judge`].
    pub fn judge(&self) -> Result<(), String> {
        self.runs.iter().try_for_each(Run::judge)
    }
}

impl Estimate {
    /// By Student's t.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        if let [mean] = values {
            return Self { mean: *mean, half: 0.0 };
        }
        let [mean, variance] = moments(values);
        let t = reach(values.len() - 1, MISSED_SHARE);
        Self { mean, half: t * (variance / values.len() as f64).sqrt() }
    }
}
