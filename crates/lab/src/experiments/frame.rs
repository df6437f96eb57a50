//! What machines, sections, figures and comparisons have in common, whatever is asked.

use crate::capacity::TRIES;
use crate::claim::{self, Beside, Says};
use crate::curves;
use crate::design::{Design, OF_CAPACITY};
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric::Metric;
use crate::page::{Agreement, Comparison, Figure, Section};
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

/// After a list with the most first: who of it may be as good as the first one. Empty: nobody.
pub(super) fn not_told_from_first(ranked: &[(&str, Spread)]) -> String {
    let near = nearly_first(ranked.iter().map(|(_, of)| Some(*of)));
    let near = ranked.iter().zip(near).filter(|(_, is_near)| *is_near);
    let near: Vec<&str> = near.map(|((name, _), _)| *name).collect();
    if near.is_empty() {
        String::new()
    } else {
        format!(" Not told from the first: {}.", near.join("; "))
    }
}

/// Of each of a list with the most first, whether it is another than the first, and the repeats do
/// not tell it from it.
pub(super) fn nearly_first(ranked: impl IntoIterator<Item = Option<Spread>>) -> Vec<bool> {
    let ranked: Vec<Option<Spread>> = ranked.into_iter().collect();
    let Some(first) = ranked.first().copied() else { return Vec::new() };
    let is_less = |of: Option<Spread>| Some(claim::judged(Says::Less, &of?, &first?));
    let others = ranked.iter().skip(1).map(|of| is_less(*of) != Some(Agreement::Yes));
    std::iter::once(false).chain(others).collect()
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
}

/// One of several: what it is called, and what was measured.
type Other<'s, 'k> = (String, Option<&'s Cell<'k>>);

/// The comparison with rivals. Shown is the hardest of them: where something is more than every
/// one, that which has most. `None`: none of them was asked for.
pub(super) fn among(
    of: (&str, &str),
    says: Says,
    (metric, at): (&Metric, &str),
    a: Side<'_, '_>,
    (rival, others): (&Rival, &[Other<'_, '_>]),
) -> Option<Comparison> {
    let one =
        |name: &str, of_it: &Other<'_, '_>| beside(of, says, (metric, at), (a, (name, of_it.1)));
    let median = |of_it: &Other<'_, '_>| Some(of_it.1?.judged(metric)?.median);
    let (mut told, silent): (Vec<&Other<'_, '_>>, Vec<_>) =
        others.iter().partition(|of_it| median(of_it).is_some());
    told.sort_by(|a, b| median(b).unwrap_or(0.0).total_cmp(&median(a).unwrap_or(0.0)));
    let how = if matches!(rival, Rival::Any(_)) { Beside::Any } else { Beside::Every };
    let is_most = (says == Says::More) == (how == Beside::Every);
    let extreme = if is_most { "most" } else { "least" };
    let row = match (told.len(), if is_most { told.first() } else { told.last() }) {
        (0, _) | (_, None) => one(&others.first()?.0, others.first()?),
        (1, Some(only)) => one(&only.0, only),
        (many, Some(shown)) => one(&format!("{}, the {extreme} of {many} others", shown.0), shown),
    };
    let mut verdicts: Vec<Agreement> =
        told.iter().map(|of_it| one(&of_it.0, of_it).agrees).collect();
    let open = told.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Agreement::Open);
    let open: Vec<&str> = open.map(|(of_it, _)| &*of_it.0).collect();
    let silent: Vec<&str> = silent.iter().map(|of_it| &*of_it.0).collect();
    // What is not known of one may be otherwise than all that is known of the others.
    verdicts.extend(silent.iter().map(|_| Agreement::Open));
    let mut here = row.here;
    for (what, names) in [("not told from it", open), ("without figures that count", silent)] {
        if others.len() > 1 && a.1.is_some_and(Cell::is_good) && !names.is_empty() {
            here += &format!("; {what}: {}", names.join("; "));
        }
    }
    Some(Comparison { here, agrees: claim::together(how, &verdicts), ..row })
}
