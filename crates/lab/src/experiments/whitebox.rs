//! What looks from within have in common: profiles that count, and bars of what they saw.

use crate::curves;
use crate::known::{Cell, Known};
use crate::page::{Axis, Dot, Figure, Mark, Series, Shape};
use crate::point::Point;
use crate::profile::Seen;
use crate::subject::Subject;

/// What was seen of a subject.
pub(super) struct Looked<'k> {
    pub(super) of: &'k Subject,
    pub(super) seen: &'k Seen,
    /// At which it was.
    pub(super) point: &'k Point,
    /// Whether the server failed verification in this measurement.
    pub(super) is_failed: bool,
}

/// The profiles that are whole, the first of each subject, and why others are not.
pub(super) fn seen<'k>(experiment: &str, known: &Known<'k>) -> (Vec<Looked<'k>>, Vec<String>) {
    let mut seen: Vec<Looked<'k>> = Vec::new();
    let mut excluded = curves::excluded(known, experiment);
    let is_of =
        |cell: &&Cell<'_>| cell.spec.experiment == experiment && cell.spec.profile.is_some();
    let cells = known.all().iter().filter(is_of);
    for (cell, point) in cells.flat_map(|cell| cell.points().map(move |point| (cell, point))) {
        let of = &point.spec.subject;
        match &point.profile {
            Some(Ok(profile)) if profile.is_valid() => {
                if !seen.iter().any(|other| other.of == of) {
                    let is_failed = cell.is_failed();
                    seen.push(Looked { of, seen: &profile.seen, point, is_failed });
                }
            }
            Some(Ok(profile)) => excluded.push(format!("{of}: {}", profile.faults.join("; "))),
            Some(Err(why)) => excluded.push(format!("{of}: {why}")),
            None => excluded.push(format!("{of}: it was not looked at")),
        }
    }
    (seen, excluded)
}

/// How often each server is looked at.
pub(super) fn how_often(repeats: u32) -> String {
    let often = match repeats {
        1 => String::from("once"),
        more => format!("{more} times; the answer, figures and tables show the first"),
    };
    format!("Each server is looked at {often}.")
}

/// One part of all columns; beside each value, whether its server failed verification.
pub(super) fn stacked(label: &str, values: impl Iterator<Item = (f64, bool)>) -> Series {
    let dot = |(at, (y, is_failed)): (usize, (f64, bool))| {
        let mark = if is_failed { Mark::Failed } else { Mark::Plain };
        Dot { x: at as f64, y, spread: (y, y), mark }
    };
    Series {
        label: label.into(),
        points: values.enumerate().map(dot).collect(),
        is_reference: false,
    }
}

pub(super) fn share_figure(
    name: &str,
    title: &str,
    names: Vec<String>,
    series: Vec<Series>,
) -> Figure {
    Figure {
        name: name.into(),
        title: title.into(),
        x: Axis { label: String::from("servers"), names, ..Axis::default() },
        y: Axis {
            label: String::from("share of the processor's time"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series,
        shape: Shape::Stack,
    }
}
