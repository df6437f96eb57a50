//! What does a sudden flood do, and how long after it is all as before?
//!
//! A quiet time at half of the capacity, then twice of it, then half again: how many are answered
//! in each tenth of a second. No paper of ours has it; operators live through it.

use std::collections::BTreeMap;

use super::flood;
use crate::curves;
use crate::design::{Design, Plan, is_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Shape};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "step",
    paper: "",
    question: "what does a sudden flood do, and how long after it is all as before?",
    plan,
    sections,
};

const SUBJECTS: [&str; 7] = ["sped", "amped", "mt", "proactor", "nginx", "lighttpd", "h2o"];

const STAGE: &str = "step";

/// Of the capacity, before and after; and in the flood.
const QUIET: f64 = 0.5;
const FLOOD: f64 = 2.0;

/// Results are told for each, in seconds.
const INTERVAL_S: f64 = 0.2;

fn design(setup: &Setup) -> Design {
    Design {
        experiment: EXPERIMENT.name,
        subjects: setup.subjects(&SUBJECTS),
        load: flood::load(setup, 1.0),
        layout: flood::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0, 1.2],
        multiples: &[],
        sweep_repeats: setup.repeats(3),
        repeats: setup.repeats(3),
        basis: Clone::clone,
    }
}

/// Each part of it lasts so long, in seconds.
fn part_s(setup: &Setup) -> f64 {
    setup.seconds(3.0)
}

fn spec(setup: &Setup, design: &Design, known: &Known<'_>, of: &Subject) -> Option<Spec> {
    let rate = design.capacity(known, of)?.rate;
    let (quiet, flood, part) = ((rate * QUIET).round(), (rate * FLOOD).round(), part_s(setup));
    let steps = format!("{quiet}:{part},{flood}:{part},{quiet}:{part}");
    let load = Load { warm_up: WarmUp::Fixed(0.0), seconds: 3.0 * part, ..design.load.clone() };
    Some(Spec {
        experiment: EXPERIMENT.name.into(),
        stage: STAGE.into(),
        subject: of.clone(),
        load: load.with("steps", steps).with("interval", INTERVAL_S),
        layout: design.layout.clone(),
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    })
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(setup);
    let mut plan = design.plan(known);
    if !plan.specs.iter().all(|spec| is_over(known, spec)) {
        plan.later_s += design.of_points(3.0 * part_s(setup), design.subjects.len());
        return plan;
    }
    for repeat in 0..design.repeats {
        let specs = design.subjects.iter().filter_map(|of| spec(setup, &design, known, of));
        plan.specs.extend(specs.map(|spec| Spec { repeat, ..spec }));
    }
    plan
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let series = design.subjects.iter().filter_map(|of| {
        let capacity = design.capacity(known, of)?.replies_per_s;
        let cell = known.cell(&spec(setup, &design, known, of)?)?;
        // One run as it was: a median of several would smooth what is asked about.
        let load = cell.points().next()?.load.as_ref()?;
        let lasts = load.intervals.lasts().as_secs_f64();
        let dots = load.intervals.iter().enumerate().map(|(at, (_, interval))| {
            let y = 100.0 * interval.flow.goodput as f64 / lasts / capacity;
            Dot { x: (at as f64 + 0.5) * lasts, y, spread: (y, y), mark: Mark::Plain }
        });
        Some(Series { label: of.to_string(), points: dots.collect(), is_reference: false })
    });
    let part = part_s(setup);
    let asked = [
        (0.0, QUIET),
        (part, QUIET),
        (part, FLOOD),
        (2.0 * part, FLOOD),
        (2.0 * part, QUIET),
        (3.0 * part, QUIET),
    ];
    let asked = asked.map(|(x, share)| Dot {
        x,
        y: share * 100.0,
        spread: (share * 100.0, share * 100.0),
        mark: Mark::Plain,
    });
    let asked =
        Series { label: String::from("asked for"), points: asked.into(), is_reference: true };
    let figure = Figure {
        name: String::from("goodput"),
        title: String::from("Good replies in a flood that comes and goes"),
        x: Axis { label: String::from("time"), unit: String::from("s"), ..Axis::default() },
        y: Axis {
            label: String::from("good replies, of the capacity"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series: series.chain([asked]).collect(),
        shape: Shape::Curves,
    };
    vec![Section {
        name: EXPERIMENT.name.into(),
        title: String::from("A flood that comes and goes"),
        question: flood::question(&design),
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![figure],
        tables: Vec::new(),
        excluded: curves::excluded(known, EXPERIMENT.name),
        commands: curves::commands(known, EXPERIMENT.name, &design.subjects),
    }]
}
