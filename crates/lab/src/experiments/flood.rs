//! Does a server keep what it can do when it is asked for two and three times as much?
//!
//! Weir as it is, which tunes itself; the same with its backlog and its accept-limit fixed, as
//! operators tune servers by hand, and with each of its controllers fixed alone; and other servers,
//! with their defaults and with a short backlog. Brecht04 figures 8 and 9 ask the same of the
//! accept-limit.

use super::{frame, overload, promised};
use crate::curves;
use crate::design::{Design, Plan};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Axis, Dot, Figure, Section, Series, Shape};
use crate::setup::Setup;
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "flood",
    paper: "",
    is_as_in_papers: false,
    question: "does a server keep what it can do when it is asked for more, and who waits?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

/// As they are when nobody tunes them.
pub(super) const UNTUNED: [&str; 18] = [
    "sped",
    "sped:threads=4",
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
    "proactor:threads=4",
    "tux",
    "nginx",
    "h2o",
    "lighttpd",
];

/// Tuned by hand, each with whose capacity its loads are multiples of; and one controller of Weir's
/// after the other fixed: whom it refuses, how many may wait, how many it takes at a time.
const FIXED: [(&str, &str); 13] = [
    ("sped:admit-percent=100,backlog=64", "sped"),
    ("sped:admit-percent=100,backlog=256", "sped"),
    ("symped:admit-percent=100,backlog=64", "symped"),
    ("amped:admit-percent=100,backlog=64", "amped"),
    ("mt:admit-percent=100,backlog=64", "mt"),
    ("mp:admit-percent=100,backlog=64", "mp"),
    ("proactor:admit-percent=100,backlog=64", "proactor"),
    ("tux:admit-percent=100,backlog=64", "tux"),
    ("nginx:backlog=64", "nginx"),
    ("lighttpd:backlog=64", "lighttpd"),
    ("sped:admit-percent=100", "sped"),
    ("sped:backlog=4096", "sped"),
    ("sped:accept-limit=inf", "sped"),
];

/// Of one processor: three times of what a server can do with it its clients can ask for.
const QUOTA_PERCENT: u32 = 15;

fn design(setup: &Setup) -> Design {
    let of = |text: &str| text.parse::<Subject>().expect("an experiment's own subject");
    let mut subjects = setup.subjects(&UNTUNED);
    let mut made_of = Vec::new();
    for (fixed, basis) in FIXED.map(|(fixed, basis)| (of(fixed), of(basis))) {
        if subjects.contains(&basis) {
            subjects.push(fixed.clone());
            made_of.push((fixed, basis));
        }
    }
    let load = overload::load(setup, 2.0);
    Design {
        multiples: &[0.5, 0.9, 1.2, 2.0, 3.0],
        made_of,
        repeats: setup.repeats(promised::RUNS_MIN),
        ..Design::of(EXPERIMENT.name, setup, subjects, (load, frame::layout(setup, QUOTA_PERCENT)))
    }
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    design(setup).plan(known)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let untuned = |of: &&Subject| design.basis(of) == **of;
    let subjects: Vec<Subject> = design.subjects.iter().filter(untuned).cloned().collect();
    let plain = Design { subjects, ..design.clone() };
    vec![Section {
        question: overload::question(&design),
        answer: overload::answer(&plain, known),
        figures: vec![
            promised::kept(&plain, known),
            curves::over_capacity(&plain, known, "p99", &metric::P99),
            regret(&design, known),
        ],
        tables: vec![
            promised::table(&design, known, promised::AT_ONCE),
            curves::table(&design, known, &[&curves::OF_LOAD[..], &[&metric::SWITCHES]].concat()),
        ],
        ..frame::section(&EXPERIMENT, "A flood", known, &design.subjects)
    }]
}

/// What is lost by not knowing the load: of the best that any setting of an architecture keeps at
/// each load, what it keeps by itself, and with each of the others.
fn regret(design: &Design, known: &Known<'_>) -> Figure {
    let of_sped: Vec<Subject> =
        design.subjects.iter().filter(|of| of.name == "sped").cloned().collect();
    let good = |of: &Subject, multiple: f64| {
        curves::at_multiple(design, known, of, multiple)?.dot(multiple, &metric::GOODPUT)
    };
    let series = of_sped.iter().zip(curves::labels(&of_sped)).map(|(of, label)| {
        let points = design.multiples.iter().filter_map(|&multiple| {
            let all = of_sped.iter().filter_map(|of| Some(good(of, multiple)?.y));
            let dot = good(of, multiple)?;
            let percent = 100.0 / all.fold(1.0, f64::max);
            let (low, high) = dot.spread;
            Some(Dot { y: percent * dot.y, spread: (percent * low, percent * high), ..dot })
        });
        let points: Vec<Dot> = points.collect();
        Series { label, points, is_reference: false }
    });
    let series = series.filter(|series| !series.points.is_empty()).collect();
    Figure {
        name: String::from("regret"),
        title: String::from("What sped answers, of what its best setting does at that load"),
        x: Axis { label: String::from("asked for, of the capacity"), ..Axis::default() },
        y: Axis { label: String::from("of the best"), unit: String::from("%"), ..Axis::default() },
        series,
        shape: Shape::Curves,
    }
}
