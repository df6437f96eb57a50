//! Which values of some knobs are best, as Pariag07 3.3 asks it: the cross product of
//! connections and workers, and where they apply cache size and accept-limit, then a finer grid
//! around the best.
//!
//! The paper measures the whole product; here half of it leaves each round (successive halving:
//! Jamieson and Talwalkar, AISTATS 2016), so that those who may be best are measured longest. A
//! configuration that fails verification at any rate leaves at once. Those that are left at the end
//! are measured again, interleaved, with repeats: the best is found by other figures than those
//! that it was chosen by.

use std::collections::BTreeMap;

use crate::design::{Plan, RATE, are_over};
use crate::known::{Cell, Known};
use crate::metric::GOODPUT;
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

/// A search.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// The experiment's name.
    pub experiment: String,
    /// What is tuned; its own knobs stay as they are, but for those of the grid.
    pub of: Subject,
    /// By knob, the values that are tried, in an order in which neighbours are alike.
    pub grid: Vec<(String, Vec<String>)>,
    /// What it is asked; its seconds are those of the first round, and double in each.
    pub load: Load,
    /// On which machines.
    pub layout: Layout,
    /// Sessions in a second, each of which counts the same.
    pub rates: Vec<f64>,
    /// So many are left at the end.
    pub finalists: usize,
    /// Whether a finer grid is laid around the best, and how often the finalists are measured
    /// again; 0: not at all, because whoever asks does so himself.
    pub repeats: u32,
}

/// No point of a round is longer: what still differs by then, repeats tell.
const SECONDS_MAX: f64 = 8.0;

/// More rounds would halve more configurations than a search could ever have.
const ROUNDS_MAX: usize = 16;

impl Tuning {
    /// What is to be measured next, given what is known.
    #[must_use]
    pub fn plan(&self, known: &Known<'_>) -> Plan {
        let (mut plan, alive) = self.halve(known);
        let Some(mut alive) = alive.filter(|_| self.repeats > 0) else { return plan };
        let near = self.around(alive.first());
        let seconds = SECONDS_MAX.min(self.load.seconds * 2.0);
        plan.specs.extend(self.round(NEAR, &near, seconds, 1));
        if !are_over(known, &plan.specs) {
            plan.later_s = self.later_s(0, ROUNDS_MAX);
            return plan;
        }
        alive.extend(self.ranked(known, NEAR, near).into_iter().take(1));
        if !alive.contains(&self.of) {
            // What it is by default is always a rival.
            alive.push(self.of.clone());
        }
        let seconds = SECONDS_MAX.min(self.load.seconds * 4.0);
        plan.specs.extend(self.round(FINAL, &alive, seconds, self.repeats));
        plan
    }

    /// Those who are left after all rounds, the best first; `None` before that is known.
    #[must_use]
    pub fn survivors(&self, known: &Known<'_>) -> Option<Vec<Subject>> {
        self.halve(known).1
    }

    /// The rounds that can be said by now and, if these are all over, who is left.
    fn halve(&self, known: &Known<'_>) -> (Plan, Option<Vec<Subject>>) {
        let mut specs = Vec::new();
        let mut alive = self.product();
        for round in 0..ROUNDS_MAX {
            if alive.len() <= self.finalists && round > 0 {
                break;
            }
            let stage = format!("round {}", round + 1);
            specs.extend(self.round(&stage, &alive, self.seconds(round), 1));
            if !are_over(known, &specs) {
                return (Plan { specs, later_s: self.later_s(alive.len(), round) }, None);
            }
            let half = alive.len().div_ceil(2).max(self.finalists);
            alive = self.ranked(known, &stage, alive);
            alive.truncate(half);
        }
        (Plan { specs, later_s: 0.0 }, Some(alive))
    }

    /// The finalists with their scores, the best first; none before they are known.
    #[must_use]
    pub fn finalists(&self, known: &Known<'_>) -> Vec<(Subject, f64)> {
        let mut subjects: Vec<Subject> = Vec::new();
        for cell in known.cells(&self.experiment, FINAL) {
            if cell.subject().name == self.of.name && !subjects.contains(cell.subject()) {
                subjects.push(cell.subject().clone());
            }
        }
        self.scored(known, FINAL, subjects)
    }

    /// The cell of a finalist at one of the rates.
    #[must_use]
    pub fn final_cell<'s, 'k>(
        &self,
        known: &'s Known<'k>,
        of: &Subject,
        rate: f64,
    ) -> Option<&'s Cell<'k>> {
        let is_it = |cell: &&Cell<'_>| cell.subject() == of && cell.factor(RATE) == Some(rate);
        known.cells(&self.experiment, FINAL).find(is_it)
    }

    /// Every value of each knob with every value of all others.
    fn product(&self) -> Vec<Subject> {
        let mut all = vec![self.of.clone()];
        for (knob, values) in &self.grid {
            let with = |of: &Subject| {
                let of = of.clone();
                values.iter().map(move |value| with_knob(&of, knob, value)).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    /// The best one with numbers half-way to each neighbour of one knob.
    fn around(&self, best: Option<&Subject>) -> Vec<Subject> {
        let Some(best) = best else { return Vec::new() };
        let mut near = Vec::new();
        for (knob, values) in &self.grid {
            let numbers: Vec<Option<f64>> = values.iter().map(|value| value.parse().ok()).collect();
            let at = best.knobs.get(knob).and_then(|value| values.iter().position(|v| v == value));
            let Some(Some(own)) = at.map(|at| numbers[at]) else { continue };
            let at = at.unwrap_or_default();
            let beside = [at.checked_sub(1), Some(at + 1)];
            for other in beside.into_iter().flatten().filter_map(|at| *numbers.get(at)?) {
                // Half-way by factors: so are grids of workers and connections made.
                let between = (own * other).sqrt().round();
                if between != own && between != other && between > 0.0 {
                    near.push(with_knob(best, knob, &between.to_string()));
                }
            }
        }
        near
    }

    fn round(&self, stage: &str, alive: &[Subject], seconds: f64, repeats: u32) -> Vec<Spec> {
        let load = Load { seconds, ..self.load.clone() };
        let mut specs = Vec::new();
        for repeat in 0..repeats {
            for rate in &self.rates {
                specs.extend(alive.iter().map(|of| Spec {
                    experiment: self.experiment.clone(),
                    stage: stage.into(),
                    subject: of.clone(),
                    load: load.with("rate", rate),
                    layout: self.layout.clone(),
                    factors: BTreeMap::from([(RATE.into(), *rate)]),
                    repeat,
                    profile: None,
                }));
            }
        }
        specs
    }

    /// The best first; without those that failed at any rate.
    fn ranked(&self, known: &Known<'_>, stage: &str, subjects: Vec<Subject>) -> Vec<Subject> {
        self.scored(known, stage, subjects).into_iter().map(|(of, _)| of).collect()
    }

    /// With the mean, over all rates, of the median of good replies in a second.
    fn scored(
        &self,
        known: &Known<'_>,
        stage: &str,
        subjects: Vec<Subject>,
    ) -> Vec<(Subject, f64)> {
        let score = |of: Subject| {
            let is_of = |cell: &&Cell<'_>| *cell.subject() == of;
            let cells: Vec<&Cell<'_>> =
                known.cells(&self.experiment, stage).filter(is_of).collect();
            let good: Vec<f64> = cells
                .iter()
                .filter(|cell| cell.is_good())
                .filter_map(|cell| Some(cell.spread(&GOODPUT)?.median))
                .collect();
            let is_whole = good.len() == self.rates.len() && cells.len() == good.len();
            is_whole.then(|| (of, good.iter().sum::<f64>() / good.len() as f64))
        };
        let mut scored: Vec<(Subject, f64)> = subjects.into_iter().filter_map(score).collect();
        scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        scored
    }

    fn seconds(&self, round: usize) -> f64 {
        (self.load.seconds * 2_f64.powi(round as i32)).min(SECONDS_MAX)
    }

    /// About how long takes what follows a round of so many.
    fn later_s(&self, alive: usize, round: usize) -> f64 {
        let cost = |seconds| Load { seconds, ..self.load.clone() }.costs_s();
        let rates = self.rates.len() as f64;
        let (mut left, mut sum) = (alive.div_ceil(2), 0.0);
        for round in round + 1..ROUNDS_MAX {
            if left <= self.finalists {
                break;
            }
            sum += cost(self.seconds(round)) * left as f64 * rates;
            left = left.div_ceil(2);
        }
        let finals = cost(SECONDS_MAX.min(self.load.seconds * 4.0)) * rates;
        sum + finals * (self.finalists + 2) as f64 * f64::from(self.repeats)
    }
}

/// A subject with one knob of another value.
#[must_use]
pub fn with_knob(of: &Subject, knob: &str, value: &str) -> Subject {
    let mut of = of.clone();
    of.knobs.insert(knob.into(), value.into());
    of
}

/// Stages, as they stand in [`Spec::stage`].
const NEAR: &str = "near the best";
const FINAL: &str = "final";
