//! What do connections cost that are open and do nothing?
//!
//! Keep-alive connections of clients who read what they got. The same load at 0.9 of the capacity
//! without them, and beside 1,000 and 5,000 of them (Gammo and others, OLS 2004, ask it of select,
//! poll and epoll).

use std::collections::BTreeMap;

use super::frame;
use super::overload;
use crate::compare::{self, Ratio};
use crate::curves;
use crate::design::{Design, OF_CAPACITY, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Figure, Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "idle",
    paper: "",
    is_as_in_papers: false,
    question: "what do connections cost that are open and do nothing?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

const SUBJECTS: [&str; 8] = [
    "sped:poller=select",
    "sped:poller=poll",
    "sped",
    "amped",
    "proactor",
    "nginx",
    "lighttpd",
    "h2o",
];

/// How many; select cannot have more descriptors than it was made for.
const IDLE: [u32; 4] = [0, 250, 1_000, 5_000];

/// Until who opened thousands of connections has been answered on all of them, in seconds.
const SETTLES_S: f64 = 1.0;

/// Of the capacity, what is asked for beside them.
const OF_IT: f64 = 0.9;

const STAGE: &str = "idle";
const FACTOR: &str = "idle_connections";

fn design(setup: &Setup) -> Design {
    Design::of(
        EXPERIMENT.name,
        setup,
        setup.subjects(&SUBJECTS),
        (overload::load(setup, 2.0), overload::layout(setup)),
    )
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(setup);
    let mut plan = design.plan(known);
    if !are_over(known, &plan.specs) {
        let points = IDLE.len() * design.subjects.len();
        plan.later_s += design.of_points(design.load.seconds, points);
        return plan;
    }
    for repeat in 0..design.repeats {
        for idle_connections in IDLE {
            let of = |of: &Subject| {
                let rate = (design.capacity(known, of)?.rate * OF_IT).round();
                let load = Load {
                    idle_connections,
                    warm_up: setup.warm_up(WarmUp::Fixed(SETTLES_S)),
                    ..design.load.with("rate", rate)
                };
                Some(Spec {
                    experiment: EXPERIMENT.name.into(),
                    stage: STAGE.into(),
                    subject: of.clone(),
                    load,
                    layout: design.layout.clone(),
                    factors: BTreeMap::from([
                        (FACTOR.into(), f64::from(idle_connections)),
                        (OF_CAPACITY.into(), OF_IT),
                    ]),
                    repeat,
                    profile: None,
                })
            };
            plan.specs.extend(design.subjects.iter().filter_map(of));
        }
    }
    plan
}

/// The cells of a subject, by the number of idle connections.
fn curve<'s, 'k>(known: &'s Known<'k>, of: &Subject) -> Vec<&'s Cell<'k>> {
    let cells = known.cells(EXPERIMENT.name, STAGE);
    let mut cells: Vec<_> = cells.filter(|cell| cell.subject() == of).collect();
    let idle = |cell: &Cell<'_>| cell.factor(FACTOR).unwrap_or_default();
    cells.sort_by(|a, b| idle(a).total_cmp(&idle(b)));
    cells
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let labels = curves::labels(&design.subjects);
    let figure = |name: &str, metric: &Metric| -> Figure {
        let x = Axis { label: String::from("idle connections"), ..Axis::default() };
        let series = design.subjects.iter().zip(&labels).map(|(of, label)| {
            let cells = curve(known, of);
            curves::series(label.clone(), &cells, metric, |cell| cell.factor(FACTOR), false)
        });
        let series = series.filter(|series| !series.points.is_empty()).collect();
        curves::figure(name, metric, x, series)
    };
    let mut question = overload::question(&design);
    question.push(String::from(
        "Beside that load, at 0.9 of the capacity, a second client holds idle connections: each \
         had one reply, and asks no more. The table shows how many connections were open, so \
         that a server that closed them can be seen.",
    ));
    vec![Section {
        question,
        answer: design.subjects.iter().filter_map(|of| answer(known, of)).collect(),
        figures: vec![
            figure("cpu", &metric::CPU),
            figure("p99", &metric::P99),
            figure("goodput", &metric::GOODPUT),
        ],
        tables: vec![table(&design, known)],
        ..frame::section(&EXPERIMENT, "Connections that do nothing", known, &design.subjects)
    }]
}

/// What a reply costs beside none and beside the most of them.
fn answer(known: &Known<'_>, of: &Subject) -> Option<String> {
    let cells = curve(known, of);
    let (few, many) = (cells.first()?, cells.last()?);
    if few.is_failed() || many.is_failed() {
        let failed = if few.is_failed() { few } else { many };
        let idle = curves::number(failed.factor(FACTOR)?);
        let label = of.label();
        return Some(format!("{label} failed verification beside {idle} idle connections."));
    }
    let median = |cell: &Cell<'_>, metric| Some(cell.judged(metric)?.median);
    let (without, with) = (few.judged(&metric::CPU)?, many.judged(&metric::CPU)?);
    let pairs = [many.pairs(few, &metric::CPU)];
    let is_told = compare::told(&pairs, |_, of| (of.is_more() || of.is_less()).then_some(()));
    let told = match Ratio::of(&pairs[0], compare::MISSED_SHARE) {
        Some(ratio) if is_told[0].is_some() => {
            format!(" That is {} times as much.", curves::ratio_text(&ratio))
        }
        _ => String::from(" These two are too close to say which is more."),
    };
    let open = median(many, &metric::OPEN)
        .map_or_else(String::new, |open| format!(" (there were {} open)", curves::number(open)));
    Some(format!(
        "{}: a reply costs {} µs of processor time beside {} idle connections, and {} µs beside \
         {}{open}.{told}",
        of.label(),
        curves::number(without.median),
        curves::number(few.factor(FACTOR)?),
        curves::number(with.median),
        curves::number(many.factor(FACTOR)?),
    ))
}

fn table(design: &Design, known: &Known<'_>) -> Table {
    let metrics = [&metric::OPEN, &metric::GOODPUT, &metric::P50, &metric::P99, &metric::CPU];
    let mut head = vec![String::from("subject"), String::from("idle connections")];
    head.extend(metrics.iter().map(|metric| metric.heading()));
    let cells = design.subjects.iter().flat_map(|of| curve(known, of));
    let rows = cells.filter(|cell| curves::is_known(cell)).map(|cell| {
        let idle = curves::number(cell.factor(FACTOR).unwrap_or_default());
        let mut row = vec![cell.subject().to_string(), idle];
        row.extend(metrics.iter().map(|metric| curves::told(cell, metric)));
        row
    });
    Table {
        title: String::from("Beside idle connections"),
        head,
        rows: rows.collect(),
        notes: vec![curves::MARKS.into()],
    }
}
