//! A scenario, run several times with other draws, and what may be said of it then.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use measure::student::reach;

use crate::scenario::{Run, Scenario};

/// Several runs of one scenario.
#[derive(Debug)]
pub struct Point {
    /// What was simulated.
    pub scenario: Scenario,
    /// One for each replication, in their order.
    pub runs: Vec<Run>,
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

impl Point {
    /// Runs a scenario so many times, each with draws of its own, on as many threads. The same
    /// whatever their number is.
    ///
    /// # Errors
    /// See [`Scenario::run`].
    pub fn new(scenario: &Scenario, replications: u64, threads: usize) -> Result<Self, String> {
        let warm = scenario.warm(&mut scenario.workload()?)?;
        let next = AtomicU64::new(0);
        let runs = Mutex::new(Vec::new());
        let work = || {
            let mut workload = scenario.workload();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= replications {
                    return;
                }
                let scenario = Scenario { seed: scenario.seed + number, ..scenario.clone() };
                let run = workload.and_then(|workload| scenario.run(warm.clone(), workload));
                let run = match run {
                    Ok((run, used)) => {
                        workload = Ok(used);
                        Ok(run)
                    }
                    Err(why) => {
                        workload = Err(why.clone());
                        Err(why)
                    }
                };
                runs.lock().unwrap_or_else(PoisonError::into_inner).push((number, run));
            }
        };
        thread::scope(|scope| {
            (0..threads.max(1)).for_each(|_| drop(scope.spawn(work)));
        });
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        runs.sort_by_key(|(number, _)| *number);
        let runs: Result<_, _> = runs.into_iter().map(|(_, run)| run).collect();
        Ok(Self { scenario: scenario.clone(), runs: runs? })
    }

    /// Replies in a second.
    #[must_use]
    pub fn replies_per_s(&self) -> Estimate {
        let measured_s = self.scenario.measured.as_secs_f64();
        self.estimate(|run| run.results.flow.replies as f64 / measured_s)
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
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Self { mean, half: 0.0 };
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let t = reach(values.len() - 1, MISSED_SHARE);
        Self { mean, half: t * (squares / (count - 1.0) / count).sqrt() }
    }
}
