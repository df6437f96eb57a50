//! What does a sudden flood do, and how long after it is all as before?
//!
//! A quiet time at half of the capacity, then twice of it, then half again: how many are answered
//! in each fifth of a second. No paper of ours has it; operators live through it.

use std::collections::BTreeMap;

use super::flood;
use super::frame;
use crate::curves;
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::{Known, Spread};
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Shape, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "step",
    paper: "",
    question: "what does a sudden flood do, and how long after it is all as before?",
    ignores: &[],
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
        made_of: Vec::new(),
        filling_max_s: setup.filling_max_s(),
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
    if !are_over(known, &plan.specs) {
        plan.later_s += design.of_points(3.0 * part_s(setup), design.subjects.len());
        return plan;
    }
    for repeat in 0..design.repeats {
        let specs = design.subjects.iter().filter_map(|of| spec(setup, &design, known, of));
        plan.specs.extend(specs.map(|spec| Spec { repeat, ..spec }));
    }
    plan
}

/// What became of one subject.
struct Told {
    label: String,
    /// Of the capacity, in percent, for each interval of a run.
    series: Series,
    /// The same on the average: before the flood, in it, and behind it.
    parts: [Spread; 3],
    /// From the flood's end until it answers all that is asked again; none: not in this run.
    recovers_s: Vec<Option<f64>>,
    /// Verification, in any of its runs.
    is_failed: bool,
}

/// All that is asked for, but for what comes late into an interval.
const RECOVERED: f64 = 0.95;

fn told(
    setup: &Setup,
    design: &Design,
    known: &Known<'_>,
    (of, label): (&Subject, String),
) -> Option<Told> {
    let capacity = design.capacity(known, of)?.replies_per_s;
    let cell = known.cell(&spec(setup, design, known, of)?)?;
    let part = part_s(setup);
    let runs: Vec<Vec<(f64, f64)>> = cell
        .points()
        .filter_map(|point| {
            let intervals = &point.load.as_ref()?.intervals;
            let lasts = intervals.lasts().as_secs_f64();
            let one = |(at, good): (usize, u64)| {
                ((at as f64 + 0.5) * lasts, 100.0 * good as f64 / lasts / capacity)
            };
            let good = intervals.iter().map(|(_, interval)| interval.flow.goodput);
            Some(good.enumerate().map(one).collect())
        })
        .collect();
    let mean = |run: &Vec<(f64, f64)>, from: f64| {
        let of_part = run.iter().filter(|(at, _)| (from..from + part).contains(at));
        let (count, sum) = of_part.fold((0.0, 0.0), |(count, sum), (_, y)| (count + 1.0, sum + y));
        if count > 0.0 { sum / count } else { f64::NAN }
    };
    let spread = |from: f64| Spread::of(runs.iter().map(|run| mean(run, from)).collect());
    let recovers = |run: &Vec<(f64, f64)>| {
        let quiet = 100.0 * QUIET * RECOVERED;
        let behind = run.iter().filter(|(at, _)| (2.0 * part..3.0 * part).contains(at));
        behind.clone().find(|(_, y)| *y >= quiet).map(|(at, _)| at - 2.0 * part)
    };
    // One run as it was: a median of several would smooth what is asked about.
    let mark = if cell.is_failed() { Mark::Failed } else { Mark::Plain };
    let dot = |&(x, y): &(f64, f64)| Dot { x, y, spread: (y, y), mark };
    let points = runs.first()?.iter().map(dot).collect();
    Some(Told {
        series: Series { label: label.clone(), points, is_reference: false },
        label,
        parts: [spread(0.0)?, spread(part)?, spread(2.0 * part)?],
        recovers_s: runs.iter().map(recovers).collect(),
        is_failed: cell.is_failed(),
    })
}

impl Told {
    /// The worst of its runs, in words.
    fn recovers(&self) -> String {
        let worst =
            self.recovers_s.iter().copied().try_fold(0.0, |most: f64, of| Some(most.max(of?)));
        worst.map_or_else(
            || String::from("it does not recover in the time that was measured"),
            |s| format!("{} s after it all are answered again", curves::number(s)),
        )
    }

    fn line(&self) -> String {
        if self.is_failed {
            return format!("{} failed verification: it tells nothing.", self.label);
        }
        let [before, flood, behind] = self.parts.map(|part| curves::number(part.median));
        format!(
            "{}: {before} % of its capacity before the flood, {flood} % in it, {behind} % behind \
             it; {}.",
            self.label,
            self.recovers()
        )
    }

    fn row(&self) -> Vec<String> {
        let seconds = |of: &Option<f64>| of.map_or_else(|| String::from("-"), curves::number);
        let recovers: Vec<String> = self.recovers_s.iter().map(seconds).collect();
        let parts = self.parts.iter().map(curves::spread_text).chain([recovers.join(", ")]);
        let parts = parts.map(|text| curves::marked(text, self.is_failed));
        [self.label.clone()].into_iter().chain(parts).collect()
    }
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let labels = curves::labels(&design.subjects);
    let of = design.subjects.iter().zip(labels);
    let mut all: Vec<Told> = of.filter_map(|of| told(setup, &design, known, of)).collect();
    let answer = {
        let mut order: Vec<&Told> = all.iter().collect();
        // Those that failed are last.
        let key = |of: &Told| if of.is_failed { f64::NEG_INFINITY } else { of.parts[1].median };
        order.sort_by(|a, b| key(b).total_cmp(&key(a)));
        order.into_iter().map(Told::line).collect()
    };
    let head = [
        "subject",
        "before the flood, % of the capacity",
        "in the flood",
        "behind it",
        "seconds until all are answered again, of each run",
    ];
    let table = Table {
        title: String::from("Good replies before, in and behind the flood"),
        head: head.map(String::from).into(),
        rows: all.iter().map(Told::row).collect(),
        notes: vec![String::from(
            "- : not in the time that was measured. A cross marks what failed verification.",
        )],
    };
    let series = all.drain(..).map(|told| told.series).chain([asked(part_s(setup))]);
    let figure = Figure {
        name: String::from("goodput"),
        title: String::from("Good replies in a flood that comes and goes"),
        x: Axis { label: String::from("time"), unit: String::from("s"), ..Axis::default() },
        y: Axis {
            label: String::from("good replies, of the capacity"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series: series.collect(),
        shape: Shape::Curves,
    };
    let mut question = flood::question(&design);
    question.push(format!(
        "Here it is {QUIET} of the capacity for {} s, then {FLOOD} times of it for as long, then \
         {QUIET} again. Good replies are counted in each {INTERVAL_S} s.",
        part_s(setup)
    ));
    vec![Section {
        question,
        answer,
        figures: vec![figure],
        tables: vec![table],
        ..frame::section(&EXPERIMENT, "A flood that comes and goes", known, &design.subjects)
    }]
}

/// What clients ask for, as steps.
fn asked(part: f64) -> Series {
    let steps = [
        (0.0, QUIET),
        (part, QUIET),
        (part, FLOOD),
        (2.0 * part, FLOOD),
        (2.0 * part, QUIET),
        (3.0 * part, QUIET),
    ];
    let dot = |(x, share): (f64, f64)| {
        let y = share * 100.0;
        Dot { x, y, spread: (y, y), mark: Mark::Plain }
    };
    Series { label: String::from("asked for"), points: steps.map(dot).into(), is_reference: true }
}
