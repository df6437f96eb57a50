//! What experiments about floods have in common: the load, the machines, and what is said of them.

use super::frame;
use crate::curves::{self, number};
use crate::design::{Design, OF_CAPACITY};
use crate::known::{Cell, Known};
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

/// New clients that ask for one small file each, and wait one second.
pub(super) fn load(setup: &Setup, seconds: f64) -> Load {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("one-packet")),
        seconds: setup.seconds(seconds),
        warm_up: setup.warm_up(WarmUp::Fixed(WARM_UP_S)),
        flags: Default::default(),
        idle_connections: 0,
    };
    load.with("patience", 1)
}

pub(super) fn layout(setup: &Setup) -> Layout {
    frame::layout(setup, QUOTA_PERCENT)
}

/// What was asked, and how.
pub(super) fn question(design: &Design) -> Vec<String> {
    let quota = design.layout.quota_percent.map_or_else(String::new, |percent| {
        format!(
            " The server's processes have {percent} % of one processor, so that its clients can \
             ask for more than it can do; what the kernel does for its network (softirq) is not \
             covered by that, and is paid by the server's processor all the same."
        )
    });
    vec![
        format!(
            "Clients come at a rate, whatever the server does, ask for what {} asks for, and wait \
             one second.{quota}",
            design.load.workload
        ),
        String::from(
            "A server's capacity is the highest median of good replies in a second of a sweep. \
             Then it is asked for multiples of its own capacity. It may answer more than its \
             capacity there: of what comes in larger batches each reply costs less.",
        ),
    ]
}

/// What came out at the highest load, a row for each subject, those that keep most first.
pub(super) fn kept(design: &Design, known: &Known<'_>) -> Table {
    let most = design.multiples.last().copied().unwrap_or(1.0);
    let row = |of: &Subject| {
        let capacity = design.capacity(known, of)?.replies_per_s;
        let cell = curves::at_multiple(design, known, of, most)?;
        let good = cell.spread(&metric::GOODPUT)?.median;
        let share = number(100.0 * good / capacity);
        let told = [&metric::GOODPUT, &metric::P99].map(|metric| curves::told(cell, metric));
        Some((good, [vec![of.to_string(), number(capacity), share], told.into()].concat()))
    };
    let mut rows: Vec<_> = design.subjects.iter().filter_map(row).collect();
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let head = ["subject", "capacity, replies/s", "of it, %"].map(String::from);
    let metrics = [&metric::GOODPUT, &metric::P99].map(Metric::heading);
    Table {
        title: format!("Asked for {most} times as much as it can do"),
        head: head.into_iter().chain(metrics).collect(),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        notes: Vec::new(),
    }
}

/// What came out, for each subject in a line, those that keep most first.
pub(super) fn answer(design: &Design, known: &Known<'_>) -> Vec<String> {
    let mut told: Vec<(f64, String)> =
        design.subjects.iter().filter_map(|of| of_subject(design, known, of)).collect();
    told.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    told.into_iter().map(|(_, line)| line).collect()
}

fn of_subject(design: &Design, known: &Known<'_>, of: &Subject) -> Option<(f64, String)> {
    let capacity = design.capacity(known, of)?.replies_per_s;
    let most = design.multiples.last().copied()?;
    let curve = design.curve(known, of);
    let cell: &Cell<'_> = curve.into_iter().find(|cell| cell.factor(OF_CAPACITY) == Some(most))?;
    let good = cell.spread(&metric::GOODPUT)?.median;
    let p99 = cell.spread(&metric::P99).map_or_else(String::new, |p99| {
        format!(" and 99 of 100 of them come within {} ms", number(p99.median))
    });
    let failed = if cell.is_failed() { "; it failed verification there" } else { "" };
    let line = format!(
        "{of}: {} replies/s at its best; asked for {most} times as much {} replies/s ({} %){p99}\
         {failed}.",
        number(capacity),
        number(good),
        number(100.0 * good / capacity)
    );
    Some((good, line))
}
