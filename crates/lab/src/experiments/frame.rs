//! What machines, sections, figures and comparisons have in common, whatever is asked.

use crate::capacity::TRIES;
use crate::claim::Beside;
use crate::compare::{self, Ratio};
use crate::curves::{self, ratio_text};
use crate::design::{Design, OF_CAPACITY};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{Figure, Section};
use crate::setup::Setup;
use crate::subject::Subject;
use crate::testbed::Layout;

/// Weir's, where all of them are asked: each joins where this build has it.
pub(super) const ARCHITECTURES: [&str; 13] = [
    "sped",
    "symped",
    "shared-symped",
    "amped",
    "mt",
    "thread-per-request",
    "mp",
    "knot",
    "watpipe",
    "pipelined",
    "seda",
    "proactor",
    "tux",
];

/// A section with what does not count and how to do the same; the rest is the experiment's own.
pub(super) fn section(
    of: &Experiment,
    title: impl Into<String>,
    known: &Known<'_>,
    subjects: &[Subject],
) -> Section {
    Section {
        name: of.name.into(),
        title: title.into(),
        excluded: curves::excluded(known, of.name),
        commands: curves::commands(known, of.name, subjects),
        ..Section::default()
    }
}

/// Machines of which the server's processes have so much of one processor, or what the operator
/// says.
pub(super) fn layout(setup: &Setup, quota_percent: u32) -> Layout {
    joined(setup, setup.quota_percent(quota_percent))
}

/// The same with this share, or with none.
pub(super) fn joined(setup: &Setup, quota_percent: Option<u32>) -> Layout {
    Layout {
        is_loopback: setup.is_loopback,
        quota_percent,
        round_trip_ms: setup.round_trip_ms,
        wire_mbit: setup.wire_mbit,
        wire_mtu_bytes: setup.wire_mtu_bytes,
        ..Layout::default()
    }
}

/// Where a subject failed verification, in words, of all that a design asks of it: who fails at any
/// load counts at none (Pariag07 3.4). `None`: nowhere.
pub(super) fn failed(design: &Design, known: &Known<'_>, of: &Subject) -> Option<String> {
    let mut tries = known.cells(design.experiment, TRIES).filter(|cell| cell.subject() == of);
    let in_tries = tries.any(Cell::is_failed).then(|| String::from("in a try of its capacity"));
    let curve = design.curve(known, of).into_iter().filter(|cell| cell.is_failed());
    let rates: Vec<String> =
        curve.filter_map(|cell| cell.factor(OF_CAPACITY)).map(|of| of.to_string()).collect();
    let at_rates = (!rates.is_empty()).then(|| format!("at {} of the capacity", rates.join(", ")));
    let all: Vec<String> = in_tries.into_iter().chain(at_rates).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// With names of a paper in place of those that [`curves::labels`] gave.
pub(super) fn named(
    mut figure: Figure,
    subjects: &[Subject],
    name: impl Fn(&Subject) -> Option<String>,
) -> Figure {
    let labels = curves::labels(subjects);
    for series in &mut figure.series {
        let place = labels.iter().position(|label| *label == series.label);
        let name = place.and_then(|place| name(&subjects[place]));
        series.label = name.unwrap_or_else(|| series.label.clone());
    }
    figure
}

/// After a list with the most first: how much more the first has than the second, or who may be as
/// good as the first. Empty: nobody knows who is second.
pub(super) fn beside_first(metric: &Metric, ranked: &[(&str, &Cell<'_>)]) -> String {
    let cells: Vec<_> = ranked.iter().map(|(_, cell)| Some(*cell)).collect();
    let near = nearly_first(metric, &cells);
    let near: Vec<&str> =
        ranked.iter().zip(near).filter(|of| of.1).map(|((of, _), _)| *of).collect();
    if !near.is_empty() {
        return format!(" Too close to the first to rank: {}.", near.join("; "));
    }
    let [(_, first), (_, second), ..] = ranked else { return String::new() };
    let ratio = Ratio::of(&first.pairs(second, metric), compare::MISSED_SHARE);
    ratio.filter(|ratio| ratio.middle.is_finite()).map_or_else(String::new, |ratio| {
        format!(" The first has {} times what the second has.", ratio_text(&ratio))
    })
}

/// Of each of a list with the most first, whether it is another than the first, and the repeats do
/// not tell it from it.
pub(super) fn nearly_first(metric: &Metric, ranked: &[Option<&Cell<'_>>]) -> Vec<bool> {
    let Some((first, others)) = ranked.split_first() else { return Vec::new() };
    let beside = |of: &Option<&Cell<'_>>| match (first, of) {
        (Some(first), Some(of)) => first.pairs(of, metric),
        _ => Vec::new(),
    };
    let pairs: Vec<_> = others.iter().map(beside).collect();
    let told = compare::told(&pairs, |_, ratio| ratio.is_more().then_some(()));
    std::iter::once(false).chain(told.into_iter().map(|of| of.is_none())).collect()
}

/// Beside whom something is claimed, by their names in the experiment.
pub(super) enum Rival {
    /// This one.
    One(&'static str),
    /// Each of these, as far as they were asked for.
    Every(&'static [&'static str]),
    /// One of these at least.
    Any(&'static [&'static str]),
}

impl Rival {
    pub(super) fn names(&self) -> &[&'static str] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Every(names) | Self::Any(names) => names,
        }
    }

    pub(super) fn beside(&self) -> Beside {
        if matches!(self, Self::Any(_)) { Beside::Any } else { Beside::Every }
    }
}
