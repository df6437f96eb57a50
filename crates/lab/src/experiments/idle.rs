//! What do connections cost that are open and do nothing?
//!
//! Keep-alive connections of clients who read what they got. The same load at 0.9 of the capacity
//! without them, and beside 1,000 and 5,000 of them (Gammo and others, OLS 2004, ask it of select,
//! poll and epoll).

use std::collections::BTreeMap;

use super::flood;
use crate::curves;
use crate::design::{Design, Plan, is_over};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Figure, Section};
use crate::setup::Setup;
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "idle",
    paper: "",
    question: "what do connections cost that are open and do nothing?",
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

const STAGE: &str = "idle";
const FACTOR: &str = "idle_connections";

fn design(setup: &Setup) -> Design {
    Design {
        experiment: EXPERIMENT.name,
        subjects: setup.subjects(&SUBJECTS),
        load: flood::load(setup, 2.0),
        layout: flood::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0, 1.2],
        multiples: &[],
        sweep_repeats: setup.repeats(3),
        repeats: setup.repeats(3),
        basis: Clone::clone,
    }
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(setup);
    let mut plan = design.plan(known);
    if !plan.specs.iter().all(|spec| is_over(known, spec)) {
        let points = IDLE.len() * design.subjects.len();
        plan.later_s += design.of_points(design.load.seconds, points);
        return plan;
    }
    for repeat in 0..design.repeats {
        for idle_connections in IDLE {
            let of = |of: &Subject| {
                let rate = (design.capacity(known, of)?.rate * 0.9).round();
                let load = Load { idle_connections, ..design.load.with("rate", rate) };
                Some(Spec {
                    experiment: EXPERIMENT.name.into(),
                    stage: STAGE.into(),
                    subject: of.clone(),
                    load,
                    layout: design.layout.clone(),
                    factors: BTreeMap::from([(FACTOR.into(), f64::from(idle_connections))]),
                    repeat,
                    profile: None,
                })
            };
            plan.specs.extend(design.subjects.iter().filter_map(of));
        }
    }
    plan
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let curve = |of: &Subject| {
        let mut cells: Vec<&Cell<'_>> =
            known.cells(EXPERIMENT.name, STAGE).filter(|cell| cell.subject() == of).collect();
        cells.sort_by(|a, b| a.factor(FACTOR).partial_cmp(&b.factor(FACTOR)).expect("numbers"));
        cells
    };
    let figure = |name: &str, metric: &Metric| -> Figure {
        let x = Axis { label: String::from("idle connections"), ..Axis::default() };
        let series = design.subjects.iter().map(|of| {
            curves::series(of.to_string(), &curve(of), metric, |cell| cell.factor(FACTOR), false)
        });
        curves::figure(name, metric, x, series.collect())
    };
    vec![Section {
        name: EXPERIMENT.name.into(),
        title: String::from("Connections that do nothing"),
        question: flood::question(&design),
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![figure("p99", &metric::P99), figure("goodput", &metric::GOODPUT)],
        tables: Vec::new(),
        excluded: curves::excluded(known, EXPERIMENT.name),
        commands: curves::commands(known, EXPERIMENT.name, &design.subjects),
    }]
}
