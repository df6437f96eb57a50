//! What does a load do whose rate changes: in bursts, or ever more?
//!
//! The capacity is found as in all experiments; then comes one run in which the rate follows from
//! it.

use std::collections::BTreeMap;

use load::bracket::rounded;

use super::promised;
use super::step::{Piece, between, p99_ms, pieces};
use super::{floods, frame, overload};
use crate::curves::{self, number};
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Table};
use crate::point::Point;
use crate::setup::{Setup, WarmUp};
use crate::spec::Spec;
use crate::subject::Subject;

/// How a rate changes, and what is asked about it.
struct Shape {
    name: &'static str,
    title: &'static str,
    question: &'static str,
    /// What a reader has to know of it beside that.
    says: &'static str,
    /// A flag of `weir load`, by sessions in a second at the capacity, and seconds.
    flag: fn(f64, f64) -> (&'static str, String),
    /// Measured, in seconds.
    lasts_s: f64,
    table: fn(&Setup, &Design, &Known<'_>) -> Table,
}

const SHAPES: [Shape; 2] = [
    Shape {
        name: "flood-bursts",
        title: "Bursts",
        question: "are bursts answered whole that are no flood on average?",
        says: "Here as many come within 30 ms as the server answers in 100 ms, three times a \
               second, so that it is asked for 0.3 of its capacity on average, and nobody has to \
               be turned away.",
        flag: bursts,
        lasts_s: 4.0,
        table: whole,
    },
    Shape {
        name: "flood-ramp",
        title: "A flood that grows",
        question: "does a server keep what it can do when the rate grows and grows?",
        says: "Here the rate grows evenly, from 0.3 of the capacity to three times of it.",
        flag: ramp,
        lasts_s: 10.0,
        table: grown,
    },
];

pub(super) const fn experiment<const AT: usize>() -> Experiment {
    let Shape { name, question, .. } = SHAPES[AT];
    let (plan, sections) = (plan::<AT>, sections::<AT>);
    Experiment {
        name,
        paper: "",
        is_as_in_papers: false,
        question,
        ignores: &["disk", "memory-percent"],
        plan,
        sections,
    }
}

/// As in `flood`.
const QUOTA_PERCENT: u32 = 15;

const STAGE: &str = "shape";

/// Results are told for each, in seconds.
const INTERVAL_S: f64 = 0.2;

/// A burst is what the server answers in so many seconds...
const BURST_S: f64 = 0.1;
/// ... which comes within so many, as it says above: what one client can begin in time...
const WITHIN_S: f64 = 0.03;
/// ... and this is what is asked for on the average, of the capacity.
const AVERAGE: f64 = 0.3;
/// `weir load` takes twice as many steps.
const BURSTS_MAX: f64 = 500.0;

/// Of the capacity, at the begin of a ramp and at its end.
const FROM: f64 = 0.3;
const TO: f64 = 3.0;
/// What is a flood of it: from here on it is told what was kept.
const FLOOD: f64 = 2.0;

fn bursts(rate: f64, seconds: f64) -> (&'static str, String) {
    let period_s = BURST_S / AVERAGE;
    let count = (seconds / period_s).round().clamp(1.0, BURSTS_MAX) as usize;
    let one =
        format!("{}:{WITHIN_S},0:{:.4}", rounded(rate * BURST_S / WITHIN_S), period_s - WITHIN_S);
    ("steps", vec![one; count].join(","))
}

fn ramp(rate: f64, seconds: f64) -> (&'static str, String) {
    ("ramp", format!("{}:{}:{seconds}", rounded(rate * FROM), rounded(rate * TO)))
}

fn design(shape: &Shape, setup: &Setup) -> Design {
    let (subjects, made_of) = floods::rivals(setup, &["sped", "mt", "proactor"]);
    let load = overload::load(setup, 2.0);
    Design {
        made_of,
        ..Design::of(shape.name, setup, subjects, (load, frame::layout(setup, QUOTA_PERCENT)))
    }
}

fn spec(
    shape: &Shape,
    setup: &Setup,
    (design, known): (&Design, &Known<'_>),
    of: &Subject,
) -> Option<Spec> {
    let seconds = setup.seconds(shape.lasts_s);
    let (flag, value) = (shape.flag)(design.capacity(known, of)?.rate, seconds);
    let mut load = design.load.with(flag, value).with("interval", INTERVAL_S);
    // What comes at the begin is a part of it; and gaps that are drawn would blur a burst.
    (load.warm_up, load.seconds) = (WarmUp::Fixed(0.0), seconds);
    load.flags.remove("gaps");
    Some(Spec {
        experiment: shape.name.into(),
        stage: STAGE.into(),
        subject: of.clone(),
        load,
        layout: design.layout.clone(),
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    })
}

fn plan<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Plan {
    let shape = &SHAPES[AT];
    let design = design(shape, setup);
    let mut plan = design.plan(known);
    if !are_over(known, &plan.specs) {
        plan.later_s += design.of_points(setup.seconds(shape.lasts_s), design.subjects.len());
        return plan;
    }
    for repeat in 0..design.repeats {
        let of = |of| spec(shape, setup, (&design, known), of);
        let specs = design.subjects.iter().filter_map(of);
        plan.specs.extend(specs.map(|spec| Spec { repeat, ..spec }));
    }
    plan
}

/// Each subject with what was measured.
fn cells<'d, 'k>(
    design: &'d Design,
    known: &'d Known<'k>,
) -> impl Iterator<Item = (&'d Subject, &'d Cell<'k>)> {
    design.subjects.iter().filter_map(|of| {
        let mut cells = known.cells(design.experiment, STAGE);
        Some((of, cells.find(|cell| cell.subject() == of)?))
    })
}

/// Of bursts: whether all were answered, and the kernel dropped nobody.
fn whole(_: &Setup, design: &Design, known: &Known<'_>) -> Table {
    let metrics = [&metric::ANSWERED, &metric::P50, &metric::P99, &metric::DROPS];
    let row = |(of, cell): (&Subject, &Cell<'_>)| {
        let is_whole = |point: &Point| {
            let load = point.load.as_ref()?;
            let is_dropped = (metric::DROPS.of)(point)? > 0.0;
            Some(load.flow.goodput >= load.requests.counts.total() && !is_dropped)
        };
        let is_met = cell.points().all(|point| is_whole(point) == Some(true));
        let told = metrics.iter().map(|metric| curves::told(cell, metric));
        let met = String::from(if is_met { "yes" } else { "no" });
        [of.to_string()].into_iter().chain(told).chain([met]).collect()
    };
    let head = metrics.iter().map(|metric| metric.heading());
    Table {
        title: String::from("Promised: all of a burst is answered, and nobody is dropped"),
        head: [String::from("subject")].into_iter().chain(head).chain(["met".into()]).collect(),
        rows: cells(design, known).filter(|(_, cell)| curves::is_known(cell)).map(row).collect(),
        notes: vec![curves::MARKS.into()],
    }
}

/// Of a ramp: what was kept of the capacity where more than twice of it was asked for.
fn grown(setup: &Setup, design: &Design, known: &Known<'_>) -> Table {
    let lasts_s = setup.seconds(SHAPES[1].lasts_s);
    let from_s = lasts_s * (FLOOD - FROM) / (TO - FROM);
    let told = |of: &Subject| {
        let (_, cell) = cells(design, known).find(|(subject, _)| *subject == of)?;
        let loads = cell.points().filter_map(|point| point.load.as_ref());
        let ends = loads.filter_map(|load| {
            let each_s = load.intervals.lasts().as_secs_f64();
            // Only whole intervals are told.
            let begins_s = (from_s / each_s).ceil() * each_s;
            let end = between(load, begins_s, lasts_s)?;
            Some((end.flow.goodput as f64 / (lasts_s - begins_s), p99_ms(&end)?))
        });
        let (goods, p99): (Vec<f64>, Vec<f64>) = ends.unzip();
        Some((Spread::of(goods.clone())?, goods, Spread::of(p99)?))
    };
    let row = |of: &Subject| {
        let capacity = design.capacity(known, of)?.replies_per_s;
        let (good, goods, p99) = told(of)?;
        let (share, is_kept) = promised::share_kept(&goods, capacity);
        let is_soon = promised::is_soon(p99.median, goods.len(), promised::AT_ONCE);
        Some(vec![
            of.to_string(),
            number(capacity),
            curves::spread_text(&good),
            share,
            is_kept.words().into(),
            curves::spread_text(&p99),
            is_soon.words().into(),
            promised::of_best(design, of, good.median, |fixed| Some(told(fixed)?.0.median)),
        ])
    };
    let head = [
        "subject",
        "capacity, replies/s",
        "good replies, replies/s",
        "of it (95 % interval)",
        "kept",
        "p99, ms",
        "soon",
        promised::OF_BEST,
    ];
    Table {
        title: format!("While more than {FLOOD} times the capacity was asked for"),
        head: head.map(String::from).into(),
        rows: design.subjects.iter().filter_map(row).collect(),
        notes: vec![promised::HOW.into()],
    }
}

fn sections<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let shape = &SHAPES[AT];
    let design = design(shape, setup);
    let mut question = overload::question(&design);
    question.push(shape.says.into());
    vec![Section {
        question,
        figures: vec![figure(&design, known)],
        tables: vec![(shape.table)(setup, &design, known)],
        ..frame::section(&experiment::<AT>(), shape.title, known, &design.subjects)
    }]
}

/// The first run of each, as it was: a median of several would smooth what is asked about.
fn figure(design: &Design, known: &Known<'_>) -> Figure {
    let labels = curves::labels(&design.subjects);
    let series = design.subjects.iter().zip(labels).filter_map(|(of, label)| {
        let (_, cell) = cells(design, known).find(|(subject, _)| *subject == of)?;
        let capacity = design.capacity(known, of)?.replies_per_s;
        let mark = if cell.is_failed() { Mark::Failed } else { Mark::Plain };
        let run = pieces(cell.points().next()?.load.as_ref()?, capacity);
        let dot = |piece: &Piece| {
            let (x, y) = (piece.at_s, piece.percent);
            Dot { x, y, spread: (y, y), mark }
        };
        Some(Series { label, points: run.iter().map(dot).collect(), is_reference: false })
    });
    Figure {
        name: String::from("goodput"),
        title: String::from("Good replies as time passes"),
        x: Axis { label: String::from("time"), unit: String::from("s"), ..Axis::default() },
        y: Axis {
            label: String::from("good replies, of the capacity"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series: series.collect(),
        shape: crate::page::Shape::Curves,
    }
}
