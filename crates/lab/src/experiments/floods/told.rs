//! What is told of these floods beside what is promised.

use super::rows::Flood;
use super::with_beside;
use crate::curves::{self, number};
use crate::design::Design;
use crate::experiments::promised::{self, KEPT};
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{NONE, Table};
use crate::subject::Subject;

/// Sessions that were finished: of the capacity, and of those that were let in.
pub(super) fn sessions(design: &Design, known: &Known<'_>) -> Table {
    let finished = |of: &Subject, multiple| {
        Some(curves::at_multiple(design, known, of, multiple)?.spread(&metric::FINISHED)?.median)
    };
    let row = |of: &Subject, multiple: f64| {
        let cell = curves::at_multiple(design, known, of, multiple)?;
        let good = finished(of, multiple)?;
        let capacity = design.capacity(known, of)?.rate;
        let mut row = vec![of.to_string(), number(capacity), multiple.to_string()];
        row.extend([&metric::FINISHED, &metric::FINISHED_SHARE].map(|of| curves::told(cell, of)));
        row.push(number(100.0 * good / capacity));
        row.push(promised::of_best(design, of, good, |fixed| finished(fixed, multiple)));
        Some(row)
    };
    let mut head =
        ["subject", "capacity, sessions/s", "asked for, of it"].map(String::from).to_vec();
    head.extend([&metric::FINISHED, &metric::FINISHED_SHARE].map(Metric::heading));
    head.extend(["finished, % of the capacity", promised::OF_BEST].map(String::from));
    Table {
        title: String::from("Sessions: clients that were let in should be served to the end"),
        head,
        rows: each(design, row),
        notes: vec![curves::MARKS.into()],
    }
}

/// What was answered at the same rate without the load beside it, and with it.
pub(super) fn compared(flood: &Flood, design: &Design, known: &Known<'_>) -> Table {
    let good = |cell: &Cell<'_>| Some(cell.spread(&metric::GOODPUT)?.median);
    let metrics = [
        &metric::GOODPUT,
        &metric::P99,
        &metric::SECOND_GOODPUT,
        &metric::SECOND_P99,
        &metric::OPEN,
    ];
    let row = |of: &Subject, multiple: f64| {
        let without = curves::at_multiple(design, known, of, multiple)?;
        let with = known.cell(&with_beside(flood, without.spec)?)?;
        let share = good(with)? / good(without)?;
        let is_kept = if share >= KEPT { "yes" } else { "no" };
        let mut row = vec![of.to_string(), multiple.to_string()];
        row.push(curves::told(without, &metric::GOODPUT));
        row.extend(metrics.iter().map(|metric| curves::told(with, metric)));
        row.extend([number(100.0 * share), is_kept.into()]);
        Some(row)
    };
    let mut head = vec![String::from("subject"), String::from("asked for, of the capacity")];
    head.push(format!("without: {}", metric::GOODPUT.heading()));
    head.extend(metrics.iter().map(|metric| metric.heading()));
    head.extend(["of that without, %", "met"].map(String::from));
    Table {
        title: format!("Promised: {} % of what is answered without them", 100.0 * KEPT),
        head,
        rows: each(design, row),
        notes: vec![curves::MARKS.into()],
    }
}

/// Whom the clients could not ask for as much as was to be, a line each.
pub(super) fn not_offered(design: &Design, known: &Known<'_>) -> Vec<String> {
    let line = |of: &Subject, multiple: f64| {
        let cell = curves::at_multiple(design, known, of, multiple)?;
        let last = cell.in_vain().into_iter().rfind(|point| point.verdict.is_by_client())?;
        let offered = (metric::OFFERED.of)(last).map_or_else(|| NONE.into(), number);
        Some(vec![format!(
            "{of}: the clients did not reach {multiple} times its capacity; they asked for \
             {offered} requests/s ({}).",
            last.verdict
        )])
    };
    each(design, line).into_iter().flatten().collect()
}

/// Of each subject at each multiple.
fn each(design: &Design, told: impl Fn(&Subject, f64) -> Option<Vec<String>>) -> Vec<Vec<String>> {
    let pairs = design
        .subjects
        .iter()
        .flat_map(|of| design.multiples.iter().map(move |multiple| (of, *multiple)));
    pairs.filter_map(|(of, multiple)| told(of, multiple)).collect()
}
