//! What it costs to turn a client away, by how it is done.
//!
//! Each way has a bare server of its own, that does nothing else ([`crate::floors`]). Its clients
//! come at several rates; what its processor does more at higher ones is the cost of each, and what
//! it does anyway is in none of them.

use std::collections::BTreeMap;

use crate::capacity::RATE;
use crate::curves::{self, number};
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{Axis, Figure, NONE, Table};
use crate::point::Point;
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

/// Refusers, and two that answer.
pub(super) const SUBJECTS: [&str; 7] = [
    "refuse-syn",
    "refuse-queue",
    "refuse-handshake",
    "refuse-reset",
    "refuse-503",
    "floor-readiness",
    "sped",
];

/// What was expected of each before it was measured, in microseconds.
const ESTIMATES: [(&str, &str); 5] = [
    ("refuse-syn", "2 to 5"),
    ("refuse-queue", "2 to 5"),
    ("refuse-handshake", "20 to 30"),
    ("refuse-reset", "40 to 50"),
    ("refuse-503", "70 to 85"),
];

/// Whose reply a refusal is compared with.
const ANSWERS: &str = "sped";

/// Connections in a second. The lowest is there for what is done for nobody.
const RATES: [f64; 4] = [200.0, 2_000.0, 4_000.0, 8_000.0];

/// So that nobody tries again, which he would do after a second.
const PATIENCE_S: f64 = 0.1;

const STAGE: &str = "refusals";

/// How many times its capacity a server is asked for.
const MULTIPLES: [f64; 2] = [2.0, 3.0];

pub(super) fn specs(experiment: &str, setup: &Setup, subjects: &[Subject]) -> Vec<Spec> {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("one-packet")),
        seconds: setup.seconds(1.5),
        warm_up: setup.warm_up(WarmUp::Fixed(0.3)),
        flags: BTreeMap::new(),
        idle_connections: 0,
        beside: None,
    };
    let load = load.with("gaps", "poisson").with("patience", PATIENCE_S);
    let mut specs = Vec::new();
    for repeat in 0..setup.repeats(3) {
        for rate in RATES {
            specs.extend(subjects.iter().map(|of| Spec {
                experiment: experiment.into(),
                stage: STAGE.into(),
                subject: of.clone(),
                load: load.with("rate", rate),
                layout: layout(setup),
                factors: BTreeMap::from([(RATE.into(), rate)]),
                repeat,
                profile: None,
            }));
        }
    }
    specs
}

/// Without a quota, unless the operator has one: what is asked is what all of it costs.
pub(super) fn layout(setup: &Setup) -> Layout {
    super::frame::joined(setup, setup.quota_percent)
}

pub(super) fn question() -> String {
    format!(
        "Clients come at {} connections a second, and wait {PATIENCE_S} s, so that nobody tries \
         twice. Each of these servers treats all of them in the same way. What that costs is the \
         slope of the server's busy processor time over the connections in a second, so the \
         network's work counts.",
        RATES.map(number).join(", ")
    )
}

/// The cells of a subject, by rate.
fn curve<'s, 'k>(experiment: &str, known: &'s Known<'k>, of: &Subject) -> Vec<&'s Cell<'k>> {
    let cells = known.cells(experiment, STAGE).filter(|cell| cell.subject() == of);
    let mut cells: Vec<_> = cells.filter(|cell| curves::is_known(cell)).collect();
    let rate = |cell: &Cell<'_>| cell.factor(RATE).unwrap_or_default();
    cells.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    cells
}

/// Processor time for each connection, in microseconds: a slope for each repeat.
fn cost(cells: &[&Cell<'_>]) -> Option<Spread> {
    if cells.iter().any(|cell| cell.is_failed()) {
        return None;
    }
    let mut repeats: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for point in cells.iter().flat_map(|cell| cell.points()) {
        repeats.entry(point.spec.repeat).or_default().extend(place(point));
    }
    Spread::of(repeats.values().filter_map(|places| slope(places)).collect())
}

/// Connections asked for in a second, and microseconds of the server's processors for all of them.
fn place(point: &Point) -> Option<(f64, f64)> {
    let vitals = point.vitals.as_ref()?;
    let busy = vitals.server.processors.busy_us as f64 / vitals.elapsed_us as f64;
    Some((point.figures()?.offered_per_s, 1e6 * busy)).filter(|(_, busy)| busy.is_finite())
}

/// Of the straight line with the least squares.
fn slope(places: &[(f64, f64)]) -> Option<f64> {
    let count = places.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|place| place.0), mean(|place| place.1));
    let across = places.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let both = places.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    (across > 0.0).then(|| both / across)
}

/// Of its capacity, what a server can keep at most that is asked for `multiple` times of it, if to
/// refuse costs the share `refusal` of a reply. It answers `g` of its capacity and refuses the
/// rest, `multiple - g`; both together take all of its time: `g + refusal (multiple - g) = 1`.
fn kept_at_most(refusal: f64, multiple: f64) -> f64 {
    if refusal * multiple >= 1.0 { 0.0 } else { (1.0 - refusal * multiple) / (1.0 - refusal) }
}

pub(super) fn answer(experiment: &str, known: &Known<'_>, subjects: &[Subject]) -> Vec<String> {
    let line = |of: &Subject| {
        let cells = curve(experiment, known, of);
        if cells.iter().any(|cell| cell.is_failed()) {
            return Some(format!("{of} failed verification: its figures do not count."));
        }
        let what = if of.refuses() { "a connection refused" } else { "a reply" };
        let cost = number(cost(&cells)?.median);
        Some(format!("{of}: {what} costs {cost} µs of the server's processor."))
    };
    subjects.iter().filter_map(line).collect()
}

pub(super) fn figure(experiment: &str, known: &Known<'_>, subjects: &[Subject]) -> Figure {
    let x = Axis {
        label: String::from("connections asked for"),
        unit: String::from("connections/s"),
        ..Axis::default()
    };
    let series = subjects.iter().zip(curves::labels(subjects)).map(|(of, label)| {
        let cells = curve(experiment, known, of);
        curves::series(label, &cells, &metric::BUSY, |cell| cell.factor(RATE), false)
    });
    let series = series.filter(|series| !series.points.is_empty()).collect();
    curves::figure("cost", &metric::BUSY, x, series)
}

pub(super) fn table(experiment: &str, known: &Known<'_>, subjects: &[Subject]) -> Table {
    let answers = subjects.iter().find(|of| of.name == ANSWERS);
    let reply = answers.and_then(|of| cost(&curve(experiment, known, of)));
    let rows = subjects.iter().filter_map(|of| {
        let cells = curve(experiment, known, of);
        let last = cells.last()?;
        let is_failed = cells.iter().any(|cell| cell.is_failed());
        let cost = cost(&cells);
        let share = cost.zip(reply).map(|(cost, reply)| cost.median / reply.median);
        let share = share.filter(|_| of.refuses());
        let kept = |multiple| share.map(|of| 100.0 * kept_at_most(of.max(0.0), multiple));
        let told = |value: Option<f64>| value.map_or_else(|| String::from(NONE), number);
        let estimate = ESTIMATES.iter().find(|(name, _)| *name == of.name);
        let cost = cost.map_or_else(|| String::from(NONE), |cost| curves::spread_text(&cost));
        let mut row = vec![
            curves::marked(of.to_string(), is_failed),
            cost,
            estimate.map_or(NONE, |(_, estimate)| estimate).into(),
            told(share),
        ];
        row.extend(MULTIPLES.map(|multiple| told(kept(multiple))));
        row.extend(OF_MOST.map(|metric| curves::told(last, metric)));
        Some(row)
    });
    let head = ["subject", "µs each", "expected, µs", "of a reply of sped's"].map(String::from);
    let kept = MULTIPLES.map(|multiple| format!("kept at {multiple}x at most, %"));
    let of_most = OF_MOST.map(|metric| format!("{} at the highest rate", metric.heading()));
    Table {
        title: String::from("What a refusal costs, and what a server can keep by it"),
        head: head.into_iter().chain(kept).chain(of_most).collect(),
        rows: rows.collect(),
        notes: vec![String::from(
            "One slope for each repeat: the median, with the lowest and the highest in brackets. \
             If a refusal costs the share r of a reply, a server at k times its capacity can \
             keep (1 - kr)/(1 - r) of it, and nothing where kr is 1 or more.",
        )],
    }
}

/// What tells that each does what it is there for.
const OF_MOST: [&metric::Metric; 4] =
    [&metric::GOODPUT, &metric::ESTABLISHED, &metric::DROPS, &metric::BUSY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_what_each_costs_and_nothing_else() {
        let rows = [
            (vec![], None),
            (vec![(5.0, 9.0)], None),
            (vec![(0.0, 100.0), (10.0, 130.0)], Some(3.0)),
            (vec![(0.0, 0.0), (1.0, 3.0), (2.0, 0.0), (3.0, 3.0)], Some(0.6)),
        ];
        for (places, expected) in rows {
            let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9;
            let is = slope(&places);
            assert!(is == expected || is.zip(expected).is_some_and(near), "{places:?}: {is:?}");
        }
    }

    #[test]
    fn what_is_kept_is_what_refusing_leaves() {
        let rows = [
            (0.0, 2.0, 1.0),
            (0.25, 2.0, 2.0 / 3.0),
            (0.25, 3.0, 1.0 / 3.0),
            (0.5, 2.0, 0.0),
            (0.9, 3.0, 0.0),
            (1.1, 2.0, 0.0),
        ];
        for (refusal, multiple, expected) in rows {
            let is = kept_at_most(refusal, multiple);
            assert!((is - expected).abs() < 1e-9, "{refusal} {multiple}: {is}");
            assert!(is == 0.0 || (is + refusal * (multiple - is) - 1.0).abs() < 1e-9);
        }
    }
}
