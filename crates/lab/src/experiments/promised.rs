//! What is promised of a flood, and whether it was kept.

use crate::curves::{self, number};
use crate::design::{Design, OF_CAPACITY};
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::{Axis, Dot, Figure, NONE, Series, Shape, Table};
use crate::subject::Subject;

/// Of the capacity, and in milliseconds for 99 of 100 of those who are answered.
pub(super) const KEPT: f64 = 0.95;
pub(super) const WAIT_MS: f64 = 100.0;

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
pub(super) fn table(design: &Design, known: &Known<'_>, wait_ms: f64) -> Table {
    let mut rows = Vec::new();
    for of in design.subjects.iter().filter(|of| design.basis(of) == **of) {
        for &multiple in design.multiples.iter().filter(|multiple| **multiple >= 2.0) {
            rows.extend(row(design, known, of, (multiple, wait_ms)));
        }
    }
    let head = ["subject", "asked for, of the capacity", "answered, % of it", "p99, ms", "met"];
    let best = String::from(OF_BEST);
    Table {
        title: format!(
            "Promised: {} % of the capacity, and 99 of 100 of those who are answered within \
             {wait_ms} ms",
            100.0 * KEPT
        ),
        head: head.map(String::from).into_iter().chain([best]).collect(),
        rows,
        notes: Vec::new(),
    }
}

fn row(
    design: &Design,
    known: &Known<'_>,
    of: &Subject,
    (multiple, wait_ms): (f64, f64),
) -> Option<Vec<String>> {
    let cell = curves::at_multiple(design, known, of, multiple)?;
    let good = cell.spread(&metric::GOODPUT)?;
    let (kept, p99) = (dot(design, known, of, cell)?.y, cell.spread(&metric::P99)?.median);
    let is_met = kept >= 100.0 * KEPT && p99 <= wait_ms;
    let of_best = of_best(design, of, good.median, |fixed| {
        Some(curves::at_multiple(design, known, fixed, multiple)?.spread(&metric::GOODPUT)?.median)
    });
    Some(vec![
        of.to_string(),
        multiple.to_string(),
        number(kept),
        curves::told(cell, &metric::P99),
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
