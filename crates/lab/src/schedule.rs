//! Who is measured when, and how long that will take.

use std::collections::HashSet;

use crate::Failure;
use crate::design::is_over_in;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::point::Point;
use crate::setup::Setup;
use crate::spec::Spec;
use crate::vitals::quiet::REMEDY;

/// What is told of a run while it goes on.
#[derive(Debug)]
pub enum News<'n> {
    /// This is measured now.
    Begins {
        /// What.
        spec: &'n Spec,
        /// How many are known already.
        done: usize,
        /// How many are still to be measured, as far as can be said now; this one among them.
        left: usize,
        /// About how long these take, and those that cannot be said yet, in seconds.
        left_s: f64,
    },
    /// This came of it.
    Ended(&'n Point),
}

/// Measures the first of these, of which there is one at least; what comes behind it is told for
/// whoever can do several at a time. Told is also which attempt it is, from 0.
pub type Measure<'m> = &'m mut dyn FnMut(&[Spec], u32) -> Result<Point, Failure>;

/// Measures all that the experiments ask for and `points` does not tell yet, and adds it there.
/// `measure` is told which attempt it is, from 0, and keeps what comes of it.
///
/// # Errors
/// Those of `measure`: nothing is measured behind one.
pub fn run(
    experiments: &[&Experiment],
    setup: &Setup,
    points: &mut Vec<Point>,
    measure: Measure<'_>,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(), Failure> {
    let mut pace = Pace::default();
    for (place, experiment) in experiments.iter().enumerate() {
        loop {
            let (batch, mut later_s) = missing(experiment, setup, points);
            if batch.is_empty() {
                break;
            }
            for of in &experiments[place + 1..] {
                let (batch, its_later_s) = missing(of, setup, points);
                later_s += costs(&batch) + its_later_s;
            }
            pace.measured((&batch, later_s), points, measure, tell)?;
        }
    }
    Ok(())
}

/// The same of measurements that are known already.
///
/// # Errors
/// As [`run`].
pub fn run_again(
    specs: &[Spec],
    attempts_max: Option<u32>,
    points: &mut Vec<Point>,
    measure: Measure<'_>,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(), Failure> {
    let mut pace = Pace::default();
    loop {
        let batch = left(specs, &Known::of(points).tried(attempts_max));
        if batch.is_empty() {
            return Ok(());
        }
        pace.measured((&batch, 0.0), points, measure, tell)?;
    }
}

/// What an experiment asks for that is not known, and how long takes what cannot be said yet.
#[must_use]
pub fn missing(experiment: &Experiment, setup: &Setup, points: &[Point]) -> (Vec<Spec>, f64) {
    let known = Known::of(points).tried(setup.attempts);
    let plan = (experiment.plan)(setup, &known);
    (left(&plan.specs, &known), plan.later_s)
}

/// Those of which something is still to come, each once.
#[must_use]
pub fn left(specs: &[Spec], known: &Known<'_>) -> Vec<Spec> {
    let mut asked = HashSet::new();
    let mut is_left = |spec: &&Spec| {
        let key = spec.key();
        let is_over = is_over_in(known, known.cell_of(&key), spec);
        !is_over && asked.insert((key, spec.repeat))
    };
    specs.iter().filter(|spec| is_left(spec)).cloned().collect()
}

/// About how long they take, in seconds.
#[must_use]
pub fn costs(specs: &[Spec]) -> f64 {
    specs.iter().map(|spec| spec.costs_s()).sum()
}

/// A run stops after so many disturbed points in a row: a short disturbance would be over by then.
const DISTURBED_MAX: u32 = 5;

/// How a run goes on: how much longer than expected things take on this machine, and how many
/// points in a row others have disturbed.
#[derive(Debug, Default)]
struct Pace {
    expected_s: f64,
    took_s: f64,
    disturbed: u32,
}

impl Pace {
    /// So many seconds are little to learn from.
    const LITTLE_S: f64 = 20.0;

    fn learn(&mut self, expected_s: f64, took_s: f64) {
        self.expected_s += expected_s;
        self.took_s += took_s;
    }

    /// Measures a batch, behind which comes what takes `later_s`. Each repeat is in it once.
    fn measured(
        &mut self,
        (batch, later_s): (&[Spec], f64),
        points: &mut Vec<Point>,
        measure: Measure<'_>,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), Failure> {
        let attempts: Vec<u32> = {
            let known = Known::of(points);
            batch.iter().map(|spec| known.attempts(spec).unwrap_or_default()).collect()
        };
        let mut left_s = costs(batch);
        for (at, (spec, attempt)) in batch.iter().zip(attempts).enumerate() {
            let (done, left) = (points.len(), batch.len() - at);
            tell(News::Begins { spec, done, left, left_s: self.of(left_s + later_s) });
            let point = measure(&batch[at..], attempt)?;
            let costs_s = spec.costs_s();
            left_s -= costs_s;
            self.learn(costs_s, point.cost.whole_s);
            tell(News::Ended(&point));
            self.disturbed = if point.verdict.is_by_others() { self.disturbed + 1 } else { 0 };
            let why = point.verdict.why().join("; ");
            points.push(point);
            if self.disturbed == DISTURBED_MAX {
                return Err(Failure::Machine(format!(
                    "stopped, because none of {DISTURBED_MAX} points in a row counts: {why}; \
                     {REMEDY}"
                )));
            }
        }
        Ok(())
    }

    fn of(&self, expected_s: f64) -> f64 {
        expected_s * (self.took_s + Self::LITTLE_S) / (self.expected_s + Self::LITTLE_S)
    }
}
