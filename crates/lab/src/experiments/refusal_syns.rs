//! What do SYNs alone do to a server, that nobody wants to be served for?
//!
//! Forged ones end no handshake: they cost the kernel its answers, and nobody waits for the server.
//! Honest ones end theirs, and are accepted like clients; they ask for nothing.

use std::collections::BTreeMap;

use super::overload;
use super::refusal_costs::layout;
use crate::curves::{self, number};
use crate::design::{Design, OF_CAPACITY, Plan, are_over};
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Figure, Series, Table};
use crate::setup::Setup;
use crate::spec::Spec;
use crate::subject::Subject;
use crate::subject::weir::ADMITTED;
use crate::testbed::{Layout, Syns};

const SUBJECTS: [&str; 3] = ["sped", "sped:admit-percent=100,backlog=64", "nginx"];

/// In a second, beside the load; beside none is the measure of all others.
const RATES: [u32; 5] = [10_000, 25_000, 50_000, 100_000, 200_000];

/// Of the capacity, what is asked for beside them.
const OF_IT: f64 = 0.9;

const STAGE: &str = "syns";
const FACTOR: &str = "syns";
/// 1: they are forged.
const FORGED: &str = "forged";

pub(super) fn design(experiment: &'static str, setup: &Setup) -> Design {
    let mut subjects = setup.subjects(&SUBJECTS);
    // A loopback has no device of the server's own.
    subjects.retain(|of| !of.refuses() && !setup.is_loopback);
    let load = overload::load(setup, 1.5);
    Design {
        repeats: setup.repeats(2),
        ..Design::of(experiment, setup, subjects, (load, layout(setup)))
    }
}

pub(super) fn plan(design: &Design, known: &Known<'_>) -> Plan {
    let mut plan = design.plan(known);
    if !are_over(known, &plan.specs) {
        let points = kinds().len() * design.subjects.len();
        plan.later_s += design.of_points(design.load.seconds, points);
        return plan;
    }
    for repeat in 0..design.repeats {
        for syns in kinds() {
            let of = |of: &Subject| spec(design, known, of, syns, repeat);
            plan.specs.extend(design.subjects.iter().filter_map(of));
        }
    }
    plan
}

/// None, and each number of either.
fn kinds() -> Vec<Option<Syns>> {
    let all = [true, false].into_iter().flat_map(|are_forged| {
        RATES.into_iter().map(move |per_s| Some(Syns { per_s, are_forged }))
    });
    std::iter::once(None).chain(all).collect()
}

fn spec(
    design: &Design,
    known: &Known<'_>,
    of: &Subject,
    syns: Option<Syns>,
    repeat: u32,
) -> Option<Spec> {
    let rate = (design.capacity(known, of)?.rate * OF_IT).round();
    let mut factors = BTreeMap::from([(String::from(OF_CAPACITY), OF_IT)]);
    let per_s = syns.map_or(0, |syns| syns.per_s);
    factors.insert(FACTOR.into(), f64::from(per_s));
    if let Some(syns) = syns {
        factors.insert(FORGED.into(), f64::from(u8::from(syns.are_forged)));
    }
    Some(Spec {
        experiment: design.experiment.into(),
        stage: STAGE.into(),
        subject: of.clone(),
        load: design.load.with("rate", rate),
        layout: Layout { syns, ..design.layout.clone() },
        factors,
        repeat,
        profile: None,
    })
}

pub(super) fn question() -> String {
    format!(
        "Then servers are asked for {OF_IT} of their capacity, or of what the client can ask for \
         where that is less, while SYNs without requests come besides. Forged ones never \
         complete the handshake; honest ones complete it and ask for nothing. The server's \
         processor receives them, like its clients' packets. SYNs/s are those really sent: the \
         source uses what the load leaves of the client's processor."
    )
}

/// The cells of a subject beside SYNs of one kind, none of them first, upwards.
fn curve<'s, 'k>(
    design: &Design,
    known: &'s Known<'k>,
    of: &Subject,
    are_forged: bool,
) -> Vec<&'s Cell<'k>> {
    let wanted = f64::from(u8::from(are_forged));
    let is_kind = |cell: &Cell<'_>| cell.factor(FORGED).is_none_or(|forged| forged == wanted);
    let cells = known.cells(design.experiment, STAGE).filter(|cell| cell.subject() == of);
    let mut cells: Vec<_> = cells.filter(|cell| is_kind(cell) && curves::is_known(cell)).collect();
    let per_s = |cell: &Cell<'_>| cell.factor(FACTOR).unwrap_or_default();
    cells.sort_by(|a, b| per_s(a).total_cmp(&per_s(b)));
    cells
}

const fn kind(are_forged: bool) -> &'static str {
    if are_forged { "forged" } else { "honest" }
}

pub(super) fn answer(design: &Design, known: &Known<'_>) -> Vec<String> {
    let of_each = |of| [true, false].map(|are_forged| line(design, known, of, are_forged));
    design.subjects.iter().flat_map(of_each).flatten().collect()
}

fn line(design: &Design, known: &Known<'_>, of: &Subject, are_forged: bool) -> Option<String> {
    let (cells, kind) = (curve(design, known, of, are_forged), kind(are_forged));
    if cells.iter().any(|cell| cell.is_failed()) {
        return Some(format!(
            "{of} failed verification beside {kind} SYNs: its figures do not count."
        ));
    }
    let good = |cell: &Cell<'_>| Some(cell.spread(&metric::GOODPUT)?.median);
    let (alone, most) = (cells.first()?, cells.last()?);
    let syns = most.spread(&metric::SYNS)?.median;
    Some(format!(
        "{of}: {} good replies/s alone, {} beside {} {kind} SYNs/s.",
        number(good(alone)?),
        number(good(most)?),
        number(syns)
    ))
}

pub(super) fn figure(design: &Design, known: &Known<'_>) -> Figure {
    let mut series: Vec<Series> = Vec::new();
    for (of, label) in design.subjects.iter().zip(curves::labels(&design.subjects)) {
        for are_forged in [true, false] {
            let cells = curve(design, known, of, are_forged);
            let label = format!("{label}, {}", kind(are_forged));
            let sent = |cell: &Cell<'_>| {
                let sent = cell.spread(&metric::SYNS).map(|sent| sent.median);
                sent.or_else(|| cell.factor(FACTOR))
            };
            series.push(curves::series(label, &cells, &metric::GOODPUT, sent, false));
        }
    }
    series.retain(|series| !series.points.is_empty());
    let x = Axis {
        label: String::from("SYNs beside the load"),
        unit: String::from("SYNs/s"),
        ..Axis::default()
    };
    curves::figure("syns", &metric::GOODPUT, x, series)
}

/// Packets of the source that never were looked at.
const LOST: Metric = Metric {
    label: "packets of theirs lost before",
    unit: "packets/s",
    is_logarithmic: false,
    of: |point| {
        let elapsed_us = point.vitals.as_ref()?.elapsed_us;
        Some(point.syns?.lost as f64 * 1e6 / elapsed_us as f64)
    },
};

/// Where the queue of half-open connections is full.
const COOKIES: Metric = Metric {
    label: "cookies sent",
    unit: "cookies/s",
    is_logarithmic: false,
    of: |point| {
        let vitals = point.vitals.as_ref()?;
        Some(vitals.queues.cookies_sent as f64 * 1e6 / vitals.elapsed_us as f64)
    },
};

const WAITING: Metric = Metric {
    label: "waiting to be accepted at the end",
    unit: "connections",
    is_logarithmic: false,
    of: |point| Some(point.vitals.as_ref()?.queues.waiting? as f64),
};

/// Of Weir alone, and at the end of the measured time.
const SHARE: Metric = Metric {
    label: "admitted at the end",
    unit: "%",
    is_logarithmic: false,
    of: |point| Some(100.0 * point.counters.get(ADMITTED)?),
};

const TOLD: [&Metric; 11] = [
    &metric::SYNS,
    &LOST,
    &metric::GOODPUT,
    &metric::P99,
    &metric::BUSY,
    &metric::SOFTIRQ,
    &metric::ESTABLISHED,
    &COOKIES,
    &metric::DROPS,
    &WAITING,
    &SHARE,
];

pub(super) fn table(design: &Design, known: &Known<'_>) -> Table {
    let mut rows = Vec::new();
    for of in &design.subjects {
        for are_forged in [true, false] {
            rows.extend(curve(design, known, of, are_forged).into_iter().map(|cell| {
                let wanted = number(cell.factor(FACTOR).unwrap_or_default());
                let mut row = vec![of.to_string(), kind(are_forged).into(), wanted];
                row.extend(TOLD.map(|metric| curves::told(cell, metric)));
                row
            }));
        }
    }
    let head = ["subject", "SYNs", "to be, SYNs/s"].map(String::from);
    Table {
        title: String::from("Beside SYNs"),
        head: head.into_iter().chain(TOLD.map(Metric::heading)).collect(),
        rows,
        notes: vec![curves::MARKS.into()],
    }
}
