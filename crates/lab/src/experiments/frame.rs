//! What machines, sections, figures and comparisons have in common, whatever is asked.

use crate::claim::{self, Says};
use crate::curves;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{Comparison, Figure, Section};
use crate::setup::Setup;
use crate::subject::Subject;
use crate::testbed::Layout;

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
    Layout {
        is_loopback: setup.is_loopback,
        quota_percent: setup.quota_percent(quota_percent),
        round_trip_ms: setup.round_trip_ms,
        ..Layout::default()
    }
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

/// One of two that are compared: what it is called, and what was measured.
pub(super) type Side<'s, 'k> = (&'s str, Option<&'s Cell<'k>>);

/// The comparison of a metric of two, at some load. Who failed verification is said to have, and
/// supports nothing.
pub(super) fn beside(
    of: (&str, &str),
    says: Says,
    (metric, at): (&Metric, &str),
    (a, b): (Side<'_, '_>, Side<'_, '_>),
) -> Comparison {
    let judged = |cell: Option<&Cell<'_>>| cell.and_then(|cell| cell.judged(metric));
    let sides = ((a.0, judged(a.1)), (b.0, judged(b.1)));
    let comparison = claim::compared(of, says, (metric, at), sides);
    let is_failed = |side: &Side<'_, '_>| side.1.is_some_and(Cell::is_failed);
    let failed: Vec<&str> = [a, b].into_iter().filter(is_failed).map(|side| side.0).collect();
    if failed.is_empty() {
        return comparison;
    }
    let here = format!("{} failed verification: it tells nothing", failed.join(", and "));
    Comparison { here, ..comparison }
}
