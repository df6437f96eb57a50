//! What does a sudden flood do, and how long after it is all as before?
//!
//! A quiet time at half of the capacity, then twice of it, then half again: how many are answered
//! in each fifth of a second. No paper of ours has it; operators live through it.

use std::collections::BTreeMap;

use load::collector::flow::Interval;
use load::collector::results::Results;

use super::floods::{self, Rivals};
use super::{frame, overload};
use crate::curves;
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::{Known, Spread};
use crate::page::{Axis, Dot, Figure, Mark, NONE, Section, Series, Shape, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

/// One of the floods, and whose.
struct Step {
    name: &'static str,
    title: &'static str,
    question: &'static str,
    /// How long clients wait, in seconds.
    patience_s: f64,
    /// Of one processor, what the server's processes have: all who wait have a descriptor of the
    /// client's, of which it may have 20,000 in all.
    quota_percent: u32,
    rivals: fn(&Setup) -> Rivals,
}

const STEPS: [Step; 2] = [
    Step {
        name: "step",
        title: "A flood that comes and goes",
        question: "what does a sudden flood do, and how soon after it is all as before?",
        patience_s: 1.0,
        quota_percent: 25,
        rivals: |setup| (setup.subjects(&SUBJECTS), Vec::new()),
    },
    Step {
        name: "step-patience-15",
        title: "A flood of patient clients that comes and goes",
        question: "what does a sudden flood do whose clients wait 15 seconds?",
        patience_s: 15.0,
        quota_percent: 5,
        rivals: |setup| floods::rivals(setup, &["sped", "mt", "proactor", "nginx"]),
    },
];

pub(super) const fn experiment<const AT: usize>() -> Experiment {
    let Step { name, question, .. } = STEPS[AT];
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

const SUBJECTS: [&str; 7] = ["sped", "amped", "mt", "proactor", "nginx", "lighttpd", "h2o"];

const STAGE: &str = "step";

/// Of the capacity, before and after; and in the flood.
const QUIET: f64 = 0.5;
const FLOOD: f64 = 2.0;

/// Results are told for each, in seconds; of a run that is too long for so many intervals, for a
/// longer one, and for a shorter one where a part would have fewer than that.
const INTERVAL_S: f64 = 0.2;
const INTERVALS_MAX: f64 = 500.0;
const OF_A_PART_MIN: f64 = 10.0;

/// Of the flood, what comes before anybody can have done much about it, in seconds.
const FIRST_S: f64 = 1.0;

/// At the begin of a run, in seconds: what is slow by being the first is not the calm.
const BEGINS_S: f64 = 1.0;

fn design(step: &Step, setup: &Setup) -> Design {
    let (subjects, made_of) = (step.rivals)(setup);
    let load = overload::load(setup, 1.0).with("patience", step.patience_s);
    Design {
        made_of,
        ..Design::of(step.name, setup, subjects, (load, frame::layout(setup, step.quota_percent)))
    }
}

/// Each part of it lasts so long, in seconds.
fn part_s(setup: &Setup) -> f64 {
    setup.seconds(3.0)
}

fn interval_s(setup: &Setup) -> f64 {
    let part = part_s(setup);
    INTERVAL_S.min(part / OF_A_PART_MIN).max(3.0 * part / INTERVALS_MAX)
}

fn spec(setup: &Setup, design: &Design, known: &Known<'_>, of: &Subject) -> Option<Spec> {
    let rate = design.capacity(known, of)?.rate;
    let (quiet, flood, part) = ((rate * QUIET).round(), (rate * FLOOD).round(), part_s(setup));
    let steps = format!("{quiet}:{part},{flood}:{part},{quiet}:{part}");
    let load = Load { warm_up: WarmUp::Fixed(0.0), seconds: 3.0 * part, ..design.load.clone() };
    Some(Spec {
        experiment: design.experiment.into(),
        stage: STAGE.into(),
        subject: of.clone(),
        load: load.with("steps", steps).with("interval", interval_s(setup)),
        layout: design.layout.clone(),
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    })
}

fn plan<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(&STEPS[AT], setup);
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
    /// From the flood's end until clients are answered as before; none: not in this run.
    recovers_s: Vec<Option<f64>>,
    /// Of the replies in the flood's first second, the 99th percentile in the worst run, in
    /// milliseconds: until something is done about a flood, it is in a queue. None: no reply in one
    /// of them.
    first_p99_ms: Option<f64>,
    /// Verification, in any of its runs.
    is_failed: bool,
}

/// All that is asked for, but for what comes late into an interval.
const RECOVERED: f64 = 0.95;

/// So many intervals in a row tell that it is as before: who answers what waited in the flood
/// answers much as well, and too late.
const AGAIN: usize = 5;

/// An interval of a run.
pub(super) struct Piece {
    /// Its middle, in seconds from the run's begin.
    pub(super) at_s: f64,
    /// Good replies, of the capacity.
    pub(super) percent: f64,
    /// Of their response times, in seconds: the median and the 99th percentile.
    times_s: (f64, f64),
}

/// From the flood's end until clients are answered as before, in seconds: as many of them, and half
/// of them as soon as nearly all were.
fn recovers_s(run: &[Piece], part: f64) -> Option<f64> {
    let within = |from: f64, to: f64| {
        let is_in = move |piece: &&Piece| (from..to).contains(&piece.at_s);
        run.iter().filter(is_in).collect::<Vec<_>>()
    };
    let calm = within(BEGINS_S.min(0.5 * part), part);
    let calm_s = calm.iter().map(|piece| piece.times_s.1).fold(0.0, f64::max);
    let is_as_before =
        |piece: &&Piece| piece.percent >= 100.0 * QUIET * RECOVERED && piece.times_s.0 <= calm_s;
    let behind = within(2.0 * part, 3.0 * part);
    let first = behind.windows(AGAIN).find(|all| all.iter().all(is_as_before))?;
    Some(first[0].at_s - 2.0 * part)
}

fn told(
    setup: &Setup,
    design: &Design,
    known: &Known<'_>,
    (of, label): (&Subject, String),
) -> Option<Told> {
    let capacity = design.capacity(known, of)?.replies_per_s;
    let cell = known.cell(&spec(setup, design, known, of)?)?;
    let part = part_s(setup);
    let runs: Vec<Vec<Piece>> =
        cell.points().filter_map(|point| Some(pieces(point.load.as_ref()?, capacity))).collect();
    let mean = |run: &Vec<Piece>, from: f64| {
        let of_part = run.iter().filter(|piece| (from..from + part).contains(&piece.at_s));
        let percents: Vec<f64> = of_part.map(|piece| piece.percent).collect();
        percents.iter().sum::<f64>() / percents.len() as f64
    };
    let spread = |from: f64| Spread::of(runs.iter().map(|run| mean(run, from)).collect());
    // One run as it was: a median of several would smooth what is asked about.
    let mark = if cell.is_failed() { Mark::Failed } else { Mark::Plain };
    let dot = |piece: &Piece| {
        let (x, y) = (piece.at_s, piece.percent);
        Dot { x, y, spread: (y, y), mark }
    };
    let points = runs.first()?.iter().map(dot).collect();
    let first = |load: &Results| p99_ms(&between(load, part, part + FIRST_S.min(part))?);
    let loads = cell.points().filter_map(|point| point.load.as_ref());
    Some(Told {
        first_p99_ms: loads.map(first).reduce(|a, b| Some(a?.max(b?))).flatten(),
        series: Series { label: label.clone(), points, is_reference: false },
        label,
        parts: [spread(0.0)?, spread(part)?, spread(2.0 * part)?],
        recovers_s: runs.iter().map(|run| recovers_s(run, part)).collect(),
        is_failed: cell.is_failed(),
    })
}

/// All that ended in a part of a run, in seconds from its begin; `None`: nothing can have.
pub(super) fn between(load: &Results, from_s: f64, to_s: f64) -> Option<Interval> {
    let half_s = load.intervals.lasts().as_secs_f64() / 2.0;
    let is_in = |begin_s: f64| (from_s..to_s).contains(&(begin_s + half_s));
    let all = load.intervals.iter().filter(|(begin, _)| is_in(begin.as_secs_f64()));
    all.map(|(_, interval)| interval.clone()).reduce(|mut sum, interval| {
        sum.add(&interval);
        sum
    })
}

/// Of good replies; `None`: there was none.
pub(super) fn p99_ms(of: &Interval) -> Option<f64> {
    (of.whole.count() > 0).then(|| of.whole.quantile(0.99).as_secs_f64() * 1e3)
}

pub(super) fn pieces(load: &Results, capacity: f64) -> Vec<Piece> {
    let lasts_s = load.intervals.lasts().as_secs_f64();
    let piece = |(at, interval): (usize, &Interval)| {
        let [p50, p99] = [0.5, 0.99].map(|share| interval.whole.quantile(share).as_secs_f64());
        Piece {
            at_s: (at as f64 + 0.5) * lasts_s,
            percent: 100.0 * interval.flow.goodput as f64 / lasts_s / capacity,
            times_s: (p50, p99),
        }
    };
    load.intervals.iter().map(|(_, interval)| interval).enumerate().map(piece).collect()
}

impl Told {
    /// The worst of its runs, in words.
    fn recovers(&self) -> String {
        let worst =
            self.recovers_s.iter().copied().try_fold(0.0, |most: f64, of| Some(most.max(of?)));
        worst.map_or_else(
            || String::from("it does not recover within the measured time"),
            |s| format!("{} s after it clients are answered as before", curves::number(s)),
        )
    }

    fn line(&self) -> String {
        if self.is_failed {
            return format!("{} failed verification: its figures do not count.", self.label);
        }
        let [before, flood, behind] = self.parts.map(|part| curves::number(part.median));
        format!(
            "{}: {before} % of its capacity before the flood, {flood} % in it, {behind} % after \
             it; {}.",
            self.label,
            self.recovers()
        )
    }

    fn row(&self) -> Vec<String> {
        let seconds = |of: &Option<f64>| of.map_or_else(|| String::from("-"), curves::number);
        let recovers: Vec<String> = self.recovers_s.iter().map(seconds).collect();
        let parts = self.parts.iter().map(curves::spread_text).chain([
            self.first_p99_ms.map_or_else(|| NONE.into(), curves::number),
            recovers.join(", "),
        ]);
        let parts = parts.map(|text| curves::marked(text, self.is_failed));
        [self.label.clone()].into_iter().chain(parts).collect()
    }
}

fn sections<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let step = &STEPS[AT];
    let design = design(step, setup);
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
        "p99 in its first second, ms, worst run",
        "seconds until clients are answered as before, in each run",
    ];
    let table = Table {
        title: String::from("Good replies before, in and behind the flood"),
        head: head.map(String::from).into(),
        rows: all.iter().map(Told::row).collect(),
        notes: vec![String::from("-: not within the measured time. A cross: failed verification.")],
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
    let mut question = overload::question(&design);
    question.push(format!(
        "Here the rate is {QUIET} of the capacity for {} s, then {FLOOD} times the capacity for \
         as long, then {QUIET} again. Good replies are counted in each {} s.",
        part_s(setup),
        interval_s(setup)
    ));
    vec![Section {
        question,
        answer,
        figures: vec![figure],
        tables: vec![table],
        ..frame::section(&experiment::<AT>(), step.title, known, &design.subjects)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_answered_as_before_when_they_are_as_soon() {
        // A second of each part in tenths: in percent of the capacity, and the times in ms.
        let calm = (50.0, (1.0, 4.0));
        let cold = (50.0, (1.0, 900.0));
        let late = (50.0, (800.0, 900.0));
        let few = (20.0, (1.0, 4.0));
        type Times = (f64, (f64, f64));
        type Row<'r> = (Times, &'r dyn Fn(usize) -> Times, Option<f64>);
        let run = |first: Times, behind: &dyn Fn(usize) -> Times| {
            let of = |at: usize| match at {
                0 => first,
                1..10 => calm,
                10..20 => (100.0, (900.0, 990.0)),
                at => behind(at - 20),
            };
            let piece = |at| {
                let (percent, (p50, p99)) = of(at);
                let times_s = (p50 / 1e3, p99 / 1e3);
                Piece { at_s: (at as f64 + 0.5) / 10.0, percent, times_s }
            };
            (0..30).map(piece).collect::<Vec<_>>()
        };
        let after = |count, before| move |at| if at < count { before } else { calm };
        let rows: [Row<'_>; 5] = [
            (calm, &after(0, late), Some(0.05)),
            (calm, &after(3, late), Some(0.35)),
            (calm, &after(4, few), Some(0.45)),
            // What is slow by being the first is not the calm.
            (cold, &after(3, late), Some(0.35)),
            (calm, &after(8, late), None),
        ];
        for (first, behind, expected) in rows {
            let told = recovers_s(&run(first, behind), 1.0);
            assert_eq!(told.map(|s| (s * 100.0).round() / 100.0), expected, "{first:?}");
        }
    }
}
