//! What is promised of a flood, and whether it was kept.

use super::targets::{Bound, Told};
use crate::compare::{self, Pair, Ratio};
use crate::curves::{self, number, ratio_text};
use crate::design::{Design, OF_CAPACITY};
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Dot, Figure, NONE, Series, Shape, Table};
use crate::subject::Subject;

/// Of the capacity.
pub(super) const KEPT: f64 = 0.95;

/// How soon those have a reply who are answered.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// So many of a hundred.
    pub(super) of_100: u32,
    pub(super) time: &'static Metric,
    pub(super) wait_ms: f64,
}

/// To clients who wait for a second.
pub(super) const AT_ONCE: Promise = Promise { of_100: 99, time: &metric::GOOD_P99, wait_ms: 100.0 };
/// To those who wait for longer, as who was refused tries again by himself, and may be let in then.
pub(super) const PATIENT: Promise = Promise { of_100: 95, time: &metric::GOOD_P95, wait_ms: 100.0 };

/// A bound in milliseconds is judged by the median of so many runs, and of no fewer.
pub(super) const RUNS_MIN: u32 = 5;

pub(super) const HOW: &str = "\
    Kept is told by the 95 % interval of the repeats beside the capacity, which is one number: it \
     is met where the middle is 95 % or more and the interval reaches at most 5 points to each \
     side, or where all of the interval is; refuted where none of it is. The wait is met or \
     refuted by the median of five runs and more. All else is not told.";

/// Over the column of [`of_best`].
pub(super) const OF_BEST: &str = "of the best setting by hand, %";

/// What each keeps of its own capacity, over what it is asked for.
pub(super) fn kept(design: &Design, known: &Known<'_>) -> Figure {
    let series = design.subjects.iter().zip(curves::labels(&design.subjects)).map(|(of, label)| {
        let cells = design.curve(known, of);
        let points = cells.iter().filter_map(|cell| dot(design, known, of, cell)).collect();
        Series { label, points, is_reference: false }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    Figure {
        name: String::from("kept"),
        title: String::from("Answered in time, over what is asked for"),
        x: Axis { label: String::from("asked for, of the capacity"), ..Axis::default() },
        y: Axis {
            label: String::from("answered, of it"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series,
        shape: Shape::Curves,
    }
}

fn dot(design: &Design, known: &Known<'_>, of: &Subject, cell: &Cell<'_>) -> Option<Dot> {
    let percent = 100.0 / design.capacity(known, of)?.replies_per_s;
    let dot = cell.dot(cell.factor(OF_CAPACITY)?, &metric::GOODPUT)?;
    let (low, high) = dot.spread;
    Some(Dot { y: percent * dot.y, spread: (percent * low, percent * high), ..dot })
}

/// A row for each of Weir's architectures and each flood.
pub(super) fn table(design: &Design, known: &Known<'_>, promise: Promise) -> Table {
    let mut rows = Vec::new();
    for of in design.subjects.iter().filter(|of| design.basis(of) == **of) {
        for &multiple in design.multiples.iter().filter(|multiple| **multiple >= 2.0) {
            rows.extend(row(design, known, of, (multiple, promise)));
        }
    }
    let Promise { of_100, wait_ms, .. } = promise;
    let time = format!("p{of_100}, ms");
    let head = [
        "subject",
        "asked for, of the capacity",
        "answered, of it (95 % interval)",
        "kept",
        &time,
        "soon",
        OF_BEST,
    ];
    Table {
        title: format!(
            "Promised: {} % of the capacity, and {of_100} of 100 of those who are answered within \
             {wait_ms} ms",
            100.0 * KEPT
        ),
        head: head.map(String::from).into(),
        rows,
        notes: vec![HOW.into()],
    }
}

fn row(
    design: &Design,
    known: &Known<'_>,
    of: &Subject,
    (multiple, promise): (f64, Promise),
) -> Option<Vec<String>> {
    let cell = curves::at_multiple(design, known, of, multiple)?;
    let good = cell.spread(&metric::GOODPUT)?;
    let capacity = design.capacity(known, of)?.replies_per_s;
    let goodputs: Vec<f64> = cell.points().filter_map(metric::GOODPUT.of).collect();
    let (share, is_kept) = share_kept(&goodputs, capacity);
    let of_best = of_best(design, of, good.median, |fixed| {
        Some(curves::at_multiple(design, known, fixed, multiple)?.spread(&metric::GOODPUT)?.median)
    });
    Some(vec![
        of.to_string(),
        multiple.to_string(),
        share,
        is_kept.words().into(),
        curves::told(cell, promise.time),
        is_soon(cell.spread(promise.time)?.median, goodputs.len(), promise).words().into(),
        of_best,
    ])
}

/// What the repeats answered of a capacity, with its interval, and whether that is as promised.
pub(super) fn share_kept(goodputs: &[f64], capacity: f64) -> (String, Told) {
    let pairs: Vec<Pair> = goodputs.iter().map(|good| (*good, capacity)).collect();
    match (Ratio::of(&pairs, compare::MISSED_SHARE), goodputs) {
        (Some(ratio), _) => (ratio_text(&ratio), Bound::AtLeast(KEPT).judged(&ratio, pairs.len())),
        (None, [good, ..]) => (number(good / capacity), Told::Open),
        (None, []) => (NONE.into(), Told::Open),
    }
}

/// By the median of so many runs.
pub(super) fn is_soon(wait_ms: f64, runs: usize, promise: Promise) -> Told {
    is_at_most(promise.wait_ms, wait_ms, runs)
}

/// Whether the median of so many runs keeps a bound that is no ratio.
pub(super) fn is_at_most(bound: f64, median: f64, runs: usize) -> Told {
    match runs >= RUNS_MIN as usize {
        false => Told::Open,
        true if median <= bound => Told::Met,
        true => Told::Refuted,
    }
}

/// Of the best that the same does which is tuned by hand, in percent.
pub(super) fn of_best(
    design: &Design,
    of: &Subject,
    good: f64,
    told: impl Fn(&Subject) -> Option<f64>,
) -> String {
    let by_hand = design.made_of.iter().filter(|(_, basis)| basis == of);
    let best = by_hand.filter_map(|(fixed, _)| told(fixed)).fold(0.0, f64::max);
    if best > 0.0 { number(100.0 * good / best) } else { NONE.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_judged_by_five_runs() {
        let rows = [
            (99.0, 5, Told::Met),
            (100.0, 5, Told::Met),
            (101.0, 5, Told::Refuted),
            (99.0, 4, Told::Open),
            (f64::INFINITY, 5, Told::Refuted),
        ];
        for (wait_ms, runs, expected) in rows {
            assert_eq!(is_soon(wait_ms, runs, AT_ONCE), expected, "{wait_ms} {runs}");
        }
    }
}
