//! Whether an experiment that was done again agrees with itself, within the spread that it tells.

use std::collections::BTreeMap;

use super::Source;
use crate::curves::{self, name, number};
use crate::design::{PROBE, RATE, best_of_sweep};
use crate::known::{Cell, Known, Spread};
use crate::metric::{self, Metric};
use crate::page::{Section, Table};

/// What is compared at each load.
const METRICS: [&Metric; 3] = [&metric::GOODPUT, &metric::P50, &metric::CPU];

/// Of the median: two medians that are nearer are the same, however small their own spread is. It
/// is the spread from which on a subject is unstable.
const SAME_SHARE: f64 = crate::known::UNSTABLE_SHARE;

/// So many disagreements are told in words; the table has all.
const TOLD_MAX: usize = 5;

/// One for each pair of neighbours that are alike.
pub(super) fn sections(sources: &[Source<'_>]) -> Vec<Section> {
    let mut sections = Vec::new();
    for pair in sources.windows(2) {
        let [a, b] = pair else { continue };
        let (Some(of_a), Some(of_b)) = (a.1.runs.first(), b.1.runs.first()) else { continue };
        if of_a.setup != of_b.setup {
            continue;
        }
        let both = of_a.experiments.iter().filter(|name| of_b.experiments.contains(name));
        sections.extend(both.map(|name| section(name, a, b)));
    }
    sections
}

fn section(experiment: &str, a: &Source<'_>, b: &Source<'_>) -> Section {
    let (known_a, known_b) = (Known::of(&a.1.points), Known::of(&b.1.points));
    let capacities = capacities(experiment, &known_a, &known_b);
    let loads = loads(experiment, &known_a, &known_b);
    let rows = || capacities.iter().chain(&loads);
    let [first, second] =
        [("first", a), ("second", b)].map(|(which, of)| format!("{which} ({})", of.0.display()));
    let head = ["what", "figure"].map(String::from).into_iter().chain([first, second]);
    Section {
        name: format!("{experiment}-repeated"),
        title: format!("{experiment}, done twice"),
        question: vec![format!(
            "Both times agree where their quartiles overlap, or their medians are not more than \
             {:.0} % apart, of the greater one. Loads are multiples of what each time was the \
             capacity: where capacities differ, so do the rates behind them.",
            SAME_SHARE * 100.0
        )],
        answer: answer(&capacities, &loads),
        tables: vec![Table {
            title: String::from("Both times"),
            head: head.chain(["apart, %", "agree"].map(String::from)).collect(),
            rows: rows().map(Pair::row).collect(),
            notes: Vec::new(),
        }],
        ..Section::default()
    }
}

/// A figure of both times.
struct Pair {
    what: String,
    of: &'static Metric,
    a: Spread,
    b: Spread,
}

impl Pair {
    /// Of the greater median, in percent.
    fn apart(&self) -> f64 {
        100.0 * apart(&self.a, &self.b)
    }

    fn agree(&self) -> bool {
        overlap(&self.a, &self.b) || apart(&self.a, &self.b) <= SAME_SHARE
    }

    fn row(&self) -> Vec<String> {
        let agree = match (overlap(&self.a, &self.b), self.agree()) {
            (true, _) => String::from("yes, their quartiles overlap"),
            (false, true) => format!("yes, within {:.0} %", SAME_SHARE * 100.0),
            (false, false) => String::from("no"),
        };
        let both = [&self.a, &self.b].map(curves::spread_text);
        let what = [self.what.clone(), self.of.heading()].into_iter();
        what.chain(both).chain([number(self.apart()), agree]).collect()
    }

    fn line(&self) -> String {
        let [a, b] = [&self.a, &self.b].map(curves::spread_text);
        let Metric { label, unit, .. } = self.of;
        format!("{}, {label}: {a} and {b} {unit}, {} % apart", self.what, number(self.apart()))
    }
}

/// Of each subject that was looked for in both.
fn capacities(experiment: &str, known_a: &Known<'_>, known_b: &Known<'_>) -> Vec<Pair> {
    let probed = known_a.cells(experiment, PROBE).map(Cell::subject);
    let pair = |of| {
        let best =
            |known: &Known<'_>| best_of_sweep(known, experiment, of)?.1.spread(&metric::GOODPUT);
        let (a, b) = (best(known_a)?, best(known_b)?);
        Some(Pair { what: format!("{of} capacity"), of: &metric::GOODPUT, a, b })
    };
    probed.filter_map(pair).collect()
}

/// Of all that was asked at the same load in both.
fn loads(experiment: &str, known_a: &Known<'_>, known_b: &Known<'_>) -> Vec<Pair> {
    let is_compared = |cell: &&Cell<'_>| {
        // Rounds of a search are hints: what came of them is asked again at multiples.
        let is_compared = !super::is_on_the_way(&cell.spec.stage);
        cell.spec.experiment == experiment && is_compared && cell.is_good()
    };
    let only = |known: &'_ Known<'_>, cell: &Cell<'_>| -> Option<usize> {
        let all = known.all().iter().enumerate().filter(|(_, other)| is_compared(other));
        let mut alike = all.filter(|(_, other)| is_alike(cell, other)).map(|(at, _)| at);
        let first = alike.next()?;
        alike.next().is_none().then_some(first)
    };
    let mut pairs = Vec::new();
    for cell in known_a.all().iter().filter(is_compared) {
        let (Some(_), Some(other)) = (only(known_a, cell), only(known_b, cell)) else { continue };
        let other = &known_b.all()[other];
        pairs.extend(METRICS.iter().filter_map(|of| {
            let (a, b) = (cell.spread(of)?, other.spread(of)?);
            Some(Pair { what: what(cell), of, a, b })
        }));
    }
    pairs
}

/// Whether both are the same question: rates are multiples of what each time was the capacity.
fn is_alike(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    let is_same = a.spec.stage == b.spec.stage && a.subject() == b.subject();
    is_same && factors(a) == factors(b)
}

/// What varies, but for the rate.
fn factors(cell: &Cell<'_>) -> BTreeMap<String, f64> {
    let mut factors = cell.spec.factors.clone();
    factors.remove(RATE);
    factors
}

fn answer(capacities: &[Pair], loads: &[Pair]) -> Vec<String> {
    let all = || capacities.iter().chain(loads);
    let same = all().filter(|pair| pair.agree()).count();
    let mut lines = vec![format!("{same} of {} figures agree.", all().count())];
    let furthest = |pairs: &mut dyn Iterator<Item = &Pair>| {
        let mut pairs: Vec<String> = {
            let mut pairs: Vec<&Pair> = pairs.collect();
            pairs.sort_by(|a, b| b.apart().total_cmp(&a.apart()));
            pairs.into_iter().map(Pair::line).collect()
        };
        pairs.truncate(TOLD_MAX);
        pairs
    };
    if let Some(line) = furthest(&mut capacities.iter()).first() {
        lines.push(format!("Of the capacities these differ most: {line}."));
    }
    let apart = furthest(&mut all().filter(|pair| !pair.agree()));
    if !apart.is_empty() {
        lines.push(format!("Those that do not agree, the furthest first: {}.", apart.join("; ")));
    }
    lines
}

fn overlap(a: &Spread, b: &Spread) -> bool {
    a.quartiles.0 <= b.quartiles.1 && b.quartiles.0 <= a.quartiles.1
}

/// As a share of the greater median.
fn apart(a: &Spread, b: &Spread) -> f64 {
    let most = a.median.max(b.median);
    if most > 0.0 { (a.median - b.median).abs() / most } else { 0.0 }
}

/// The load, without the rate, which differs.
fn what(cell: &Cell<'_>) -> String {
    let spec = crate::spec::Spec { factors: factors(cell), ..cell.spec.clone() };
    let text = name(&spec);
    text.split(", repeat").next().unwrap_or(&text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_or_is_near_agrees() {
        let of = |low, median, high| {
            let (quartiles, range) = ((low, high), (low, high));
            Spread { median, quartiles, range, count: 3 }
        };
        let rows = [
            (of(90.0, 100.0, 110.0), of(108.0, 120.0, 130.0), true),
            (of(90.0, 100.0, 105.0), of(108.0, 120.0, 130.0), false),
            (of(100.0, 100.0, 100.0), of(104.0, 104.0, 104.0), true),
            (of(100.0, 100.0, 100.0), of(106.0, 106.0, 106.0), false),
            (of(0.0, 0.0, 0.0), of(0.0, 0.0, 0.0), true),
        ];
        for (a, b, expected) in rows {
            let agree = |a, b| Pair { what: String::new(), of: &metric::GOODPUT, a, b }.agree();
            assert_eq!((agree(a, b), agree(b, a)), (expected, expected), "{a:?} {b:?}");
        }
    }
}
