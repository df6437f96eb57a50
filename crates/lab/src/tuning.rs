//! Which values of some knobs are best, as Pariag07 3.3 asks it: the cross product of
//! connections and workers, and where they apply cache size and accept-limit, then a finer grid
//! around the best.
//!
//! The paper measures the whole product; here half of it leaves each round (successive halving:
//! Jamieson and Talwalkar, AISTATS 2016), so that those who may be best are measured longest. A
//! configuration that fails verification at any rate leaves at once; one of which a rate could not
//! be measured, as the machine was disturbed at every try, can neither win a round nor lose it.
//! Those that are left at the end are measured again, interleaved, with repeats. What the best of
//! them brings is told by a last comparison with what it is untuned, of nothing that it was chosen
//! by: the highest of several is one that chance has raised.

use load::bracket::rounded;
use std::collections::{BTreeMap, BTreeSet};

use crate::capacity::RATE;
use crate::compare::{self, Ratio};
use crate::design::{OF_CAPACITY, Plan, are_over, filled};
use crate::known::{Cell, Known, Spread};
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
    /// Sessions in a second that it answers untuned.
    pub capacity: f64,
    /// It is asked for these multiples of that, each of which counts the same.
    pub multiples: &'static [f64],
    /// See [`filled`].
    pub filling_max_s: f64,
    /// So many are left at the end.
    pub finalists: usize,
    /// How often these are measured again.
    pub repeats: u32,
    /// Of the product, so many settings are tried at most: as many of each who is to be compared.
    pub settings_max: usize,
    /// Rounds are left out, and the finalists are the best so far, where it would take longer, in
    /// seconds.
    pub most_s: f64,
    /// Without a finer grid around the best, and without a last comparison, because whoever asks
    /// makes one himself.
    pub is_brief: bool,
}

/// No point of a round is longer, unless the first ones are: what still differs by then, repeats
/// tell.
const SECONDS_MAX: f64 = 4.0;

/// More repeats of the last comparison than of the finals: there are two, and all is told by them.
const MORE_REPEATS: u32 = 2;

/// What the best of a search brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Gain {
    /// Who it is.
    pub best: Subject,
    /// Its score, and what it is untuned; by other figures than those it was chosen by.
    pub scores: (Spread, Spread),
    /// How many times as much the best one has, if repeats tell the two apart.
    pub more: Option<Ratio>,
}

/// A round's outcome.
struct Round {
    /// With the good replies in a second, the best first.
    scored: Vec<(Subject, Spread)>,
    /// Those of which a rate could not be measured.
    unknown: Vec<Subject>,
}

/// Verification, at some load of a stage: then there is no score (Pariag07 3.4).
struct IsFailed;

impl Tuning {
    /// What is to be measured next, given what is known.
    #[must_use]
    pub fn plan(&self, known: &Known<'_>) -> Plan {
        let (mut plan, last) = self.halve(known);
        let Some(last) = last else { return plan };
        let mut alive = last.alive();
        let near = self.around(last.scored.first().filter(|_| !self.is_brief).map(|(of, _)| of));
        plan.specs.extend(self.round(NEAR, &near, self.seconds(1), 1));
        if !are_over(known, &plan.specs) {
            plan.later_s = self.finals_s();
            return plan;
        }
        let best = self.outcome(known, NEAR, near).scored.into_iter().next();
        alive.extend(best.map(|(of, _)| of));
        if !alive.contains(&self.of) {
            // What it is by default is always a rival.
            alive.push(self.of.clone());
        }
        plan.specs.extend(self.round(FINAL, &alive, self.seconds_of_final(), self.repeats));
        if !are_over(known, &plan.specs) {
            plan.later_s = self.last_s();
            return plan;
        }
        if self.is_brief {
            return plan;
        }
        if let Some(best) = self.best(known) {
            let both = [best, self.of.clone()];
            let repeats = self.repeats + MORE_REPEATS;
            plan.specs.extend(self.round(LAST, &both, self.seconds(2), repeats));
        }
        plan
    }

    /// Of the finalists, if it is another one than what was there untuned.
    fn best(&self, known: &Known<'_>) -> Option<Subject> {
        let (best, _) = self.finalists(known).into_iter().next()?;
        (best != self.of).then_some(best)
    }

    /// What the best one brings; `None` as long as that was not measured, where it is what was
    /// there untuned, and where one of the two failed verification in the last comparison
    /// ([`Tuning::failed_at_last`]).
    #[must_use]
    pub fn gain(&self, known: &Known<'_>) -> Option<Gain> {
        let best = self.best(known)?;
        let score = |of| self.scores(known, LAST, of).ok();
        let (with, without) = (score(&best)?, score(&self.of)?);
        let pairs = with.iter().filter_map(|(at, with)| Some((*with, *without.get(at)?)));
        let pairs = [pairs.collect::<Vec<_>>()];
        let told = compare::told(&pairs, |_, ratio| ratio.is_more().then_some(()));
        let more = Ratio::of(&pairs[0], compare::MISSED_SHARE).filter(|_| told[0].is_some());
        let spread = |scores: BTreeMap<u32, f64>| Spread::of(scores.into_values().collect());
        Some(Gain { best, scores: (spread(with)?, spread(without)?), more })
    }

    /// Who failed verification in the last comparison, the best first.
    #[must_use]
    pub fn failed_at_last(&self, known: &Known<'_>) -> Vec<Subject> {
        let both = self.best(known).into_iter().chain([self.of.clone()]);
        both.filter(|of| self.scores(known, LAST, of).is_err()).collect()
    }

    /// How many settings were tried so far.
    #[must_use]
    pub fn tried(&self, known: &Known<'_>) -> usize {
        let cells = self.cells(known, &format!("{ROUND}1"));
        cells.into_iter().map(Cell::subject).collect::<BTreeSet<_>>().len()
    }

    /// The rounds that can be said by now and, if these are all over, who is left.
    fn halve(&self, known: &Known<'_>) -> (Plan, Option<Round>) {
        let mut specs = Vec::new();
        let mut last = Round { scored: Vec::new(), unknown: self.settings() };
        let halves = self.halves(last.unknown.len());
        for (round, half) in halves.iter().enumerate() {
            let alive = last.alive();
            let is_late = self.took_s(known, round)
                + self.costs_s(self.seconds(round)) * alive.len() as f64
                + self.finals_s()
                > self.most_s;
            if round > 0 && (alive.len() <= self.finalists || is_late) {
                last.scored.truncate(self.finalists);
                break;
            }
            let stage = format!("{ROUND}{}", round + 1);
            specs.extend(self.round(&stage, &alive, self.seconds(round), 1));
            if !are_over(known, &specs) {
                let later_s = self.later_s(&halves, round) + self.finals_s();
                return (Plan { specs, later_s }, None);
            }
            last = self.outcome(known, &stage, alive);
            last.scored.truncate(*half);
        }
        (Plan { specs, later_s: 0.0 }, Some(last))
    }

    /// How many are left behind each round: at least one is measured, if only to see who fails.
    fn halves(&self, all: usize) -> Vec<usize> {
        let half = |of: &usize| of.div_ceil(2).max(self.finalists);
        let next = |of: &usize| (*of > self.finalists).then(|| half(of));
        std::iter::successors(Some(half(&all)), next).collect()
    }

    /// The finalists with the spread of their scores over the repeats, the best first; none before
    /// they are known.
    #[must_use]
    pub fn finalists(&self, known: &Known<'_>) -> Vec<(Subject, Spread)> {
        self.outcome(known, FINAL, self.in_final(known)).scored
    }

    /// Finalists of which no repeat is whole, as the machine was disturbed.
    #[must_use]
    pub fn unknown(&self, known: &Known<'_>) -> Vec<Subject> {
        self.outcome(known, FINAL, self.in_final(known)).unknown
    }

    fn in_final(&self, known: &Known<'_>) -> Vec<Subject> {
        let mut subjects: Vec<Subject> = Vec::new();
        for cell in self.cells(known, FINAL) {
            if !subjects.contains(cell.subject()) {
                subjects.push(cell.subject().clone());
            }
        }
        subjects
    }

    /// What was measured for this search in a stage. Others may have the same subjects, at rates of
    /// their own.
    fn cells<'s, 'k>(&self, known: &'s Known<'k>, stage: &str) -> Vec<&'s Cell<'k>> {
        let fixed = |of: &Subject| {
            let mut of = of.clone();
            of.knobs.retain(|knob, _| self.grid.iter().all(|(tuned, _)| tuned != knob));
            of
        };
        let own = fixed(&self.of);
        let is_rate = |cell: &Cell<'_>| {
            let is_it = |multiple: &f64| {
                cell.factor(OF_CAPACITY) == Some(*multiple)
                    && cell.factor(RATE) == Some(self.rate(*multiple))
            };
            self.multiples.iter().any(is_it)
        };
        let all = known.cells(&self.experiment, stage);
        all.filter(|cell| is_rate(cell) && fixed(cell.subject()) == own).collect()
    }

    fn rate(&self, multiple: f64) -> f64 {
        rounded(self.capacity * multiple)
    }

    /// The cell of a finalist at one of the rates.
    #[must_use]
    pub fn final_cell<'s, 'k>(
        &self,
        known: &'s Known<'k>,
        of: &Subject,
        multiple: f64,
    ) -> Option<&'s Cell<'k>> {
        let is_it =
            |cell: &&Cell<'_>| cell.subject() == of && cell.factor(OF_CAPACITY) == Some(multiple);
        self.cells(known, FINAL).into_iter().find(is_it)
    }

    /// Those of the product that are tried: far apart, as all neighbours differ
    /// in the knob that varies fastest.
    #[must_use]
    pub fn settings(&self) -> Vec<Subject> {
        let all = self.product();
        if all.len() <= self.settings_max {
            return all;
        }
        let has_common =
            |a: usize, b: usize| (2..=a).any(|of| a.is_multiple_of(of) && b.is_multiple_of(of));
        // The golden section of the product: no few steps of it come back to where they began.
        let section = (all.len() as f64 * 0.618) as usize;
        let step = (section..).find(|step| !has_common(*step, all.len())).unwrap_or(1);
        (0..self.settings_max).map(|place| all[place * step % all.len()].clone()).collect()
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
        let mut specs = Vec::new();
        for repeat in 0..repeats {
            for &multiple in self.multiples {
                let rate = self.rate(multiple);
                let load = self.at_multiple(multiple, seconds).with("rate", rate);
                let factors = [(RATE, rate), (OF_CAPACITY, multiple)];
                specs.extend(alive.iter().map(|of| Spec {
                    experiment: self.experiment.clone(),
                    stage: stage.into(),
                    subject: of.clone(),
                    load: load.clone(),
                    layout: self.layout.clone(),
                    factors: factors.map(|(name, value)| (name.into(), value)).into(),
                    repeat,
                    profile: None,
                }));
            }
        }
        specs
    }

    /// The score of each repeat that was measured at every load: the mean over all loads of good
    /// replies in a second.
    fn scores(
        &self,
        known: &Known<'_>,
        stage: &str,
        of: &Subject,
    ) -> Result<BTreeMap<u32, f64>, IsFailed> {
        let mut cells = self.cells(known, stage);
        cells.retain(|cell| cell.subject() == of);
        if cells.iter().any(|cell| cell.is_failed()) {
            return Err(IsFailed);
        }
        let mut repeats: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for point in cells.into_iter().flat_map(Cell::points) {
            let good = (GOODPUT.of)(point).unwrap_or_default();
            repeats.entry(point.spec.repeat).or_default().push(good);
        }
        let loads = self.multiples.len();
        let whole = repeats.into_iter().filter(|(_, good)| good.len() == loads);
        Ok(whole.map(|(at, good)| (at, good.iter().sum::<f64>() / loads as f64)).collect())
    }

    fn outcome(&self, known: &Known<'_>, stage: &str, subjects: Vec<Subject>) -> Round {
        let mut outcome = Round { scored: Vec::new(), unknown: Vec::new() };
        for of in subjects {
            let Ok(scores) = self.scores(known, stage, &of) else { continue };
            match Spread::of(scores.into_values().collect()) {
                Some(score) => outcome.scored.push((of, score)),
                None => outcome.unknown.push(of),
            }
        }
        outcome.scored.sort_by(|(_, a), (_, b)| b.median.total_cmp(&a.median));
        outcome
    }

    fn at_multiple(&self, multiple: f64, seconds: f64) -> Load {
        Load { seconds, ..filled(&self.load, multiple, self.filling_max_s) }
    }

    fn seconds(&self, round: usize) -> f64 {
        let most = SECONDS_MAX.max(self.load.seconds);
        (self.load.seconds * 2_f64.powi(round as i32)).min(most)
    }

    fn seconds_of_final(&self) -> f64 {
        self.seconds(if self.is_brief { 1 } else { 2 })
    }

    /// About how long the first two rounds take for each setting that is tried.
    #[must_use]
    pub fn setting_s(&self) -> f64 {
        self.costs_s(self.seconds(0)) + self.costs_s(self.seconds(1)) / 2.0
    }

    /// About how long one of them takes at all loads.
    fn costs_s(&self, seconds: f64) -> f64 {
        self.multiples.iter().map(|multiple| self.at_multiple(*multiple, seconds).costs_s()).sum()
    }

    /// About how long take the rounds behind one, if nobody fails.
    fn later_s(&self, halves: &[usize], round: usize) -> f64 {
        let of = |round: usize| self.costs_s(self.seconds(round)) * halves[round - 1] as f64;
        (round + 1..halves.len()).map(of).sum()
    }

    /// About how long takes what follows all rounds.
    #[must_use]
    pub fn finals_s(&self) -> f64 {
        let (near, others) = if self.is_brief { (0, 1) } else { (2 * self.grid.len(), 2) };
        let finals = (self.finalists + others) as f64 * f64::from(self.repeats);
        near as f64 * self.costs_s(self.seconds(1))
            + finals * self.costs_s(self.seconds_of_final())
            + self.last_s()
    }

    /// About how long takes the last comparison.
    fn last_s(&self) -> f64 {
        if self.is_brief {
            return 0.0;
        }
        2.0 * f64::from(self.repeats + MORE_REPEATS) * self.costs_s(self.seconds(2))
    }

    /// How long the rounds before one have taken, with all that did not count.
    fn took_s(&self, known: &Known<'_>, round: usize) -> f64 {
        let stages = (0..round).map(|round| format!("{ROUND}{}", round + 1));
        let cells = stages.flat_map(|stage| self.cells(known, &stage));
        let points = cells.flat_map(|cell| cell.points().chain(cell.invalid.iter().copied()));
        points.map(|point| point.cost.whole_s).sum()
    }
}

impl Round {
    /// Who goes on.
    fn alive(&self) -> Vec<Subject> {
        self.scored.iter().map(|(of, _)| of).chain(&self.unknown).cloned().collect()
    }
}

/// A subject with one knob of another value.
#[must_use]
pub fn with_knob(of: &Subject, knob: &str, value: &str) -> Subject {
    let mut of = of.clone();
    of.knobs.insert(knob.into(), value.into());
    of
}

/// Whether a stage, as it stands in [`Spec::stage`], is one that others leave.
#[must_use]
pub fn is_round(stage: &str) -> bool {
    stage.starts_with(ROUND) || stage == NEAR
}

/// Stages, as they stand in [`Spec::stage`].
const ROUND: &str = "round ";
const NEAR: &str = "near the best";
const FINAL: &str = "final";
const LAST: &str = "best and untuned";
