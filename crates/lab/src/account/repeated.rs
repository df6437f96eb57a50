//! Whether an experiment that was done again agrees with itself, within the spread that it tells.

use crate::closed::CLIENTS;
use crate::curves::{self, name};
use crate::design::{OF_CAPACITY, SWEEP};
use crate::experiment::experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric::{self, Metric};
use crate::page::{Section, Table};
use crate::results::Results;

/// What is compared.
const METRICS: [&Metric; 3] = [&metric::GOODPUT, &metric::P50, &metric::CPU];

/// Of the median: two medians that are nearer are the same, however small their own spread is. It
/// is the spread from which on a subject is unstable.
const SAME_SHARE: f64 = crate::known::UNSTABLE_SHARE;

/// One for each pair of neighbours that are alike.
pub(super) fn sections(all: &[&Results]) -> Vec<Section> {
    let mut sections = Vec::new();
    for pair in all.windows(2) {
        let [a, b] = pair else { continue };
        let (Some(of_a), Some(of_b)) = (a.runs.first(), b.runs.first()) else { continue };
        if of_a.setup != of_b.setup {
            continue;
        }
        let both = of_a.experiments.iter().filter(|name| of_b.experiments.contains(name));
        sections.extend(both.map(|name| section(name, a, b)));
    }
    sections
}

fn section(experiment_name: &str, a: &Results, b: &Results) -> Section {
    let (known_a, known_b) = (Known::of(&a.points), Known::of(&b.points));
    let is_compared = |cell: &&Cell<'_>| {
        cell.spec.experiment == experiment_name && cell.spec.stage != SWEEP && cell.is_good()
    };
    let mut rows = Vec::new();
    let (mut same, mut whole) = (0, 0);
    for cell in known_a.all().iter().filter(is_compared) {
        let mut others = known_b.all().iter().filter(is_compared);
        let Some(other) = others.find(|other| is_alike(cell, other)) else { continue };
        for of in METRICS {
            let (Some(a), Some(b)) = (cell.spread(of), other.spread(of)) else { continue };
            let is_same = agree(&a, &b);
            whole += 1;
            same += usize::from(is_same);
            rows.push(vec![
                what(cell),
                of.heading(),
                curves::spread_text(&a),
                curves::spread_text(&b),
                String::from(if is_same { "yes" } else { "no" }),
            ]);
        }
    }
    let title = experiment(experiment_name).map_or(experiment_name, |of| of.name);
    Section {
        name: format!("{experiment_name}-repeated"),
        title: format!("{title}, done twice"),
        question: vec![format!(
            "Both times agree where their quartiles overlap, or their medians differ by less than \
             {:.0} %.",
            SAME_SHARE * 100.0
        )],
        answer: vec![format!("{same} of {whole} figures agree.")],
        tables: vec![Table {
            title: String::from("Both times"),
            head: ["what", "figure", "first", "second", "agree"].map(String::from).into(),
            rows,
            notes: Vec::new(),
        }],
        ..Section::default()
    }
}

/// Whether both are the same question: rates are multiples of what each time was the capacity.
fn is_alike(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    let factors = |cell: &Cell<'_>| [cell.factor(OF_CAPACITY), cell.factor(CLIENTS)];
    let is_same = a.spec.stage == b.spec.stage && a.subject() == b.subject();
    is_same && factors(a) == factors(b) && factors(a) != [None, None]
}

fn agree(a: &Spread, b: &Spread) -> bool {
    let overlap = a.quartiles.0 <= b.quartiles.1 && b.quartiles.0 <= a.quartiles.1;
    overlap || (a.median - b.median).abs() <= SAME_SHARE * a.median.max(b.median)
}

fn what(cell: &Cell<'_>) -> String {
    let text = name(cell.spec);
    text.split(", repeat").next().unwrap_or(&text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_or_is_near_agrees() {
        let of = |low, median, high| Spread { median, quartiles: (low, high), count: 3 };
        let rows = [
            (of(90.0, 100.0, 110.0), of(108.0, 120.0, 130.0), true),
            (of(90.0, 100.0, 105.0), of(108.0, 120.0, 130.0), false),
            (of(100.0, 100.0, 100.0), of(104.0, 104.0, 104.0), true),
            (of(100.0, 100.0, 100.0), of(106.0, 106.0, 106.0), false),
            (of(0.0, 0.0, 0.0), of(0.0, 0.0, 0.0), true),
        ];
        for (a, b, expected) in rows {
            assert_eq!((agree(&a, &b), agree(&b, &a)), (expected, expected), "{a:?} {b:?}");
        }
    }
}
