//! What is promised of a flood, and whether it was kept.

use crate::curves::{self, number};
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
    let head =
        ["subject", "asked for, of the capacity", "answered, % of it", &time, "met", OF_BEST];
    Table {
        title: format!(
            "Promised: {} % of the capacity, and {of_100} of 100 of those who are answered within \
             {wait_ms} ms",
            100.0 * KEPT
        ),
        head: head.map(String::from).into(),
        rows,
        notes: Vec::new(),
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
    let (kept, time) = (dot(design, known, of, cell)?.y, cell.spread(promise.time)?.median);
    let is_met = kept >= 100.0 * KEPT && time <= promise.wait_ms;
    let of_best = of_best(design, of, good.median, |fixed| {
        Some(curves::at_multiple(design, known, fixed, multiple)?.spread(&metric::GOODPUT)?.median)
    });
    Some(vec![
        of.to_string(),
        multiple.to_string(),
        number(kept),
        curves::told(cell, promise.time),
        String::from(if is_met { "yes" } else { "no" }),
        of_best,
    ])
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
