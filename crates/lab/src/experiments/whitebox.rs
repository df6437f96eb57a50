//! What looks from within have in common: profiles that count, and bars of what they saw.

use crate::curves;
use crate::known::{Cell, Known};
use crate::page::{Axis, Dot, Figure, Mark, Series, Shape};
use crate::point::Point;
use crate::profile::Seen;
use crate::subject::Subject;

/// A subject, what was seen of it, and the point at which it was.
pub(super) type Looked<'k> = (&'k Subject, &'k Seen, &'k Point);

/// The profiles that count, the first of each subject, and why others do not.
pub(super) fn seen<'k>(experiment: &str, known: &Known<'k>) -> (Vec<Looked<'k>>, Vec<String>) {
    let mut seen: Vec<Looked<'k>> = Vec::new();
    let mut excluded = curves::excluded(known, experiment);
    let is_of =
        |cell: &&Cell<'_>| cell.spec.experiment == experiment && cell.spec.profile.is_some();
    for point in known.all().iter().filter(is_of).flat_map(Cell::points) {
        let of = &point.spec.subject;
        match &point.profile {
            Some(Ok(profile)) if profile.is_valid() => {
                if !seen.iter().any(|(other, ..)| *other == of) {
                    seen.push((of, &profile.seen, point));
                }
            }
            Some(Ok(profile)) => excluded.push(format!("{of}: {}", profile.faults.join("; "))),
            Some(Err(why)) => excluded.push(format!("{of}: {why}")),
            None => excluded.push(format!("{of}: it was not looked at")),
        }
    }
    (seen, excluded)
}

pub(super) fn stacked(label: &str, values: impl Iterator<Item = f64>) -> Series {
    let dot = |(at, y): (usize, f64)| Dot { x: at as f64, y, spread: (y, y), mark: Mark::Plain };
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
