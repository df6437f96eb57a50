//! What experiments about floods have in common: the load, the machines, and what is said of them.

use super::frame;
use crate::compare::{self, Ratio};
use crate::curves::{self, counted, number};
use crate::design::Design;
use crate::known::{Cell, Known};
use crate::limit;
use crate::metric::{self, Metric};
use crate::page::Table;
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::testbed::Layout;

/// Of one processor, what the server's processes have: with less than the client has, the client
/// can ask for more than twice of what the server can do.
const QUOTA_PERCENT: u32 = 25;

/// Until a server has started its threads and has the file in memory. Of an overload it is longer:
/// [`Design::filling_max_s`].
const WARM_UP_S: f64 = 0.5;

/// New clients that ask for one small file each, and wait one second. They come by chance, where
/// those of the papers come by the clock: what does that may be in step with a timer or a quota.
pub(super) fn load(setup: &Setup, seconds: f64) -> Load {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("one-packet")),
        seconds: setup.seconds(seconds),
        warm_up: setup.warm_up(WarmUp::Fixed(WARM_UP_S)),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    answered_at_once(load.with("patience", 1).with("gaps", "poisson"))
}

/// Of a workload with users who think, without their thoughts: their sessions are longer than a
/// flood's seconds, in which only their first requests would be seen. And with few enough files
/// that a disk is not what is asked about.
fn answered_at_once(load: Load) -> Load {
    let Some(of) = load::workload::named(&load.workload) else { return load };
    let of_these = [("think", "none"), ("dirs", "10")];
    let known = of_these.into_iter().filter(|(knob, _)| of.knobs.contains(knob));
    known.fold(load, |load, (knob, value)| load.with(knob, value))
}

pub(super) fn layout(setup: &Setup) -> Layout {
    frame::layout(setup, QUOTA_PERCENT)
}

/// What was asked, and how.
pub(super) fn question(design: &Design) -> Vec<String> {
    let quota = design.layout.quota_percent.map_or_else(String::new, |percent| {
        format!(
            " The server's processes have {percent} % of one processor, so that its clients can \
             ask for more than it can do. The kernel's network work (softirq) is not in that \
             share, though the server's processor does it."
        )
    });
    let is_hasty = design.load.flags.get("think").is_some_and(|think| think == "none");
    let hasty = if is_hasty { " without a pause" } else { "" };
    let patience = match design.load.flags.get("patience").map(String::as_str) {
        None | Some("1") => String::from("one second"),
        Some(seconds) => format!("{seconds} seconds"),
    };
    vec![
        format!(
            "Clients come at a fixed rate, whatever the server does. They ask for what {} asks \
             for{hasty}, and wait {patience}.{quota}",
            design.load.workload
        ),
        String::from(
            "A server's capacity lies between two rates: of one 99 % was answered in time, of the \
             other less, each in two of three tries. Of sessions, those count that were served to \
             their end. The two rates are 5 % apart, or 10 % where tries at 5 % did not agree; a \
             figure is of their middle. Then a server is asked for multiples of its own capacity. \
             There it may answer more than its capacity, as each reply costs less when requests \
             come in larger batches. Where no two such rates were found, no multiple is asked.",
        ),
    ]
}

/// What came out at the highest load, a row for each subject, those that keep most first. A cross
/// at a name: it failed verification, at this load or another.
pub(super) fn kept(design: &Design, known: &Known<'_>) -> Table {
    let most = design.multiples.last().copied().unwrap_or(1.0);
    let row = |(of, Kept { capacity, good, cell, failed }): (&Subject, Kept<'_, '_>)| {
        let name = curves::marked(of.to_string(), failed.is_some());
        let share = number(100.0 * good / capacity);
        let told = [&metric::GOODPUT, &metric::GOOD_P99].map(|metric| curves::told(cell, metric));
        [vec![name, number(capacity), share], told.into(), vec![limit::told(cell)]].concat()
    };
    let head = ["subject", "capacity, replies/s", "of it, %"].map(String::from);
    let metrics = [&metric::GOODPUT, &metric::GOOD_P99].map(Metric::heading);
    Table {
        title: format!("At {most} times the capacity"),
        head: head.into_iter().chain(metrics).chain([limit::HEADING.into()]).collect(),
        rows: ranked(design, known).into_iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// What came out, for each subject in a line, those that keep most first. Last, and without a
/// figure: who failed verification.
pub(super) fn answer(design: &Design, known: &Known<'_>) -> Vec<String> {
    let most = design.multiples.last().copied().unwrap_or(1.0);
    let line = |(of, Kept { capacity, good, cell, .. }): (&Subject, Kept<'_, '_>)| {
        let p99 = cell
            .spread(&metric::GOOD_P99)
            .map_or_else(String::new, |p99| format!(", p99 of these {} ms", number(p99.median)));
        format!(
            "{of}: {} replies/s at its capacity; at {most} times that {} replies/s ({} %){p99}{}.",
            number(capacity),
            number(good),
            number(100.0 * good / capacity),
            no_overload(cell)
        )
    };
    let failed = design.subjects.iter().filter_map(|of| {
        let failed = frame::failed(design, known, of)?;
        Some(format!("{of} failed verification {failed}: its figures do not count."))
    });
    let mut ranked = ranked(design, known);
    ranked.retain(|(_, kept)| kept.failed.is_none());
    first(&ranked, most).into_iter().chain(ranked.into_iter().map(line)).chain(failed).collect()
}

/// Who is first of several, by how much, and by how many repeats that is known.
fn first(passed: &[(&Subject, Kept<'_, '_>)], most: f64) -> Option<String> {
    let [(first, a), (second, b), ..] = passed else { return None };
    let cells: Vec<_> = passed.iter().map(|(_, kept)| Some(kept.cell)).collect();
    let near = frame::nearly_first(&metric::GOODPUT, &cells);
    let near = passed.iter().zip(near).filter(|(_, is_near)| *is_near);
    let near: Vec<String> = near.map(|((of, _), _)| of.to_string()).collect();
    let pairs = a.cell.pairs(b.cell, &metric::GOODPUT);
    let repeats = counted(pairs.len(), "repeat");
    let ratio = Ratio::of(&pairs, compare::MISSED_SHARE);
    Some(match ratio.filter(|_| near.is_empty()) {
        Some(ratio) => format!(
            "At {most} times the capacity {first} is first: it answers {} times as much as \
             {second} ({repeats} of each).",
            curves::ratio_text(&ratio)
        ),
        None => format!(
            "At {most} times the capacity nobody is clearly first. {first} answers most; too \
             close to call: {} ({repeats} of each).",
            near.join(", ")
        ),
    })
}

/// Behind what came of a flood, in brackets; empty: it was one.
pub(super) fn no_overload(cell: &Cell<'_>) -> String {
    if limit::is_no_overload(cell) { format!(" ({})", limit::NO_OVERLOAD) } else { String::new() }
}

/// What a subject answers at the highest load.
struct Kept<'s, 'k> {
    /// In good replies a second.
    capacity: f64,
    /// The same at that load.
    good: f64,
    cell: &'s Cell<'k>,
    /// Where it failed verification: [`frame::failed`].
    failed: Option<String>,
}

/// Those of whom it is known, who answer most first; behind all others who failed verification.
fn ranked<'s, 'k>(design: &'s Design, known: &'s Known<'k>) -> Vec<(&'s Subject, Kept<'s, 'k>)> {
    let kept = |of| {
        let cell = curves::at_multiple(design, known, of, design.multiples.last().copied()?)?;
        let capacity = design.capacity(known, of)?.replies_per_s;
        let good = cell.spread(&metric::GOODPUT)?.median;
        Some((of, Kept { capacity, good, cell, failed: frame::failed(design, known, of) }))
    };
    let mut all: Vec<_> = design.subjects.iter().filter_map(kept).collect();
    all.sort_by(|(_, a), (_, b)| {
        let is_failed = a.failed.is_some().cmp(&b.failed.is_some());
        is_failed.then(b.good.total_cmp(&a.good))
    });
    all
}
