//! Which replacement policy answers most from a cache of what size? A server knows of a cache only
//! how often it helped, so that none is asked here: traces are replayed, and single steps timed.

mod standing;
mod told;

use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{Metric, metric};
use crate::page::{Axis, Figure, Section, Series};
use crate::point::Point;
use crate::policies::{
    ACCESSES, BELADY, CHANGE, EQUAL_SIZES, HIT_BYTES, HITS, INSERT_NS, JUDGED, JUDGED_BYTES,
    REPLAYS, REQUESTS, SCAN, SHARES, TOUCH_NS, at_share, names,
};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

use super::frame;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "policies",
    paper: "",
    is_as_in_papers: false,
    question: "which replacement policy answers most from a cache of what size?",
    ignores: &[
        "subject",
        "workload",
        "tuning",
        "seconds",
        "warm-up",
        "paper",
        "loopback",
        "quota",
        "round-trip-ms",
        "wire-mbit",
        "wire-mtu",
        "disk",
        "memory-percent",
    ],
    plan,
    sections,
};

/// What is replayed.
struct Row {
    /// In the names of files.
    name: &'static str,
    title: &'static str,
    workload: &'static str,
    /// Of the load.
    flags: &'static [(&'static str, &'static str)],
}

/// SPECweb99 has 36 files in a directory: 10,800 in all, as many as the smaller ones of the others.
const TRACES: [Row; 9] = [
    row("specweb99", "SPECweb99, 300 directories", "specweb99", &[("dirs", "300")]),
    row("penn-state-cse", "Penn State CSE (synthetic)", "choi-penn-state-cse", &[]),
    row("ucb", "UC Berkeley (synthetic)", "choi-ucb", &[]),
    row("penn-state", "Penn State (synthetic)", "choi-penn-state", &[]),
    row("clarknet", "Clarknet (synthetic)", "choi-clarknet", &[]),
    row("nasa", "NASA (synthetic)", "choi-nasa", &[]),
    row("worldcup98", "WorldCup98 (synthetic)", "choi-worldcup98", &[]),
    row("scan", "Clarknet (synthetic) with a crawler", "choi-clarknet", &[(CHANGE, SCAN)]),
    row(
        "equal-sizes",
        "Clarknet (synthetic), all files of the mean size",
        "choi-clarknet",
        &[(CHANGE, EQUAL_SIZES)],
    ),
];

const fn row(
    name: &'static str,
    title: &'static str,
    workload: &'static str,
    flags: &'static [(&'static str, &'static str)],
) -> Row {
    Row { name, title, workload, flags }
}

/// Of each trace at most, half of which fills the cache. One pass of UC Berkeley's and of Penn
/// State CSE's has 1.4 million, of Clarknet's 3.
const REQUESTS_MAX: &str = "3000000";

/// Rounds over all policies, of what is timed.
const ROUNDS: u32 = 7;

/// Expected, beside what each point costs elsewhere, for machines and a server: a second at most in
/// all.
const REPLAY_S: f64 = 0.1;
const ACCESS_S: f64 = 0.0;

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let keepers = || names().chain([BELADY]).map(subject);
    let replay = |row: &'static Row| {
        keepers().map(|of| spec(REPLAYS, of, row.load(REPLAY_S))).collect::<Vec<_>>()
    };
    // What a policy is told is not of a trace; a load has to say something.
    let access = |repeat| {
        let load = TRACES[0].load(ACCESS_S);
        names().map(move |of| Spec { repeat, ..spec(ACCESSES, subject(of), load.clone()) })
    };
    let accesses = (0..setup.repeats(ROUNDS)).flat_map(access);
    Plan { specs: TRACES.iter().flat_map(replay).chain(accesses).collect(), later_s: 0.0 }
}

/// A policy stands where else a server does.
fn subject(name: &str) -> Subject {
    Subject { name: name.into(), knobs: Default::default() }
}

impl Row {
    fn load(&self, seconds: f64) -> Load {
        let flags = self.flags.iter().chain([&(REQUESTS, REQUESTS_MAX)]);
        Load {
            workload: self.workload.into(),
            seconds,
            warm_up: WarmUp::Fixed(0.0),
            flags: flags.map(|(flag, value)| ((*flag).into(), (*value).into())).collect(),
            idle_connections: 0,
            beside: None,
        }
    }

    /// However many requests of it there are.
    fn is_of(&self, load: &Load) -> bool {
        let change = self.flags.iter().find(|(flag, _)| *flag == CHANGE).map(|(_, value)| *value);
        load.workload == self.workload && load.flags.get(CHANGE).map(String::as_str) == change
    }

    /// What a policy made of it.
    fn cell<'s, 'k>(&self, known: &'s Known<'k>, of: &str) -> Option<&'s Cell<'k>> {
        let mut cells = known.cells(EXPERIMENT.name, REPLAYS);
        cells.find(|cell| cell.subject().name == of && self.is_of(&cell.spec.load))
    }
}

/// Nobody needs machines, nor the right to make them.
fn spec(stage: &str, subject: Subject, load: Load) -> Spec {
    Spec {
        experiment: EXPERIMENT.name.into(),
        stage: stage.into(),
        subject,
        load,
        layout: Layout { is_loopback: true, ..Layout::default() },
        factors: Default::default(),
        repeat: 0,
        profile: None,
    }
}

/// By the places of [`SHARES`]: of the judged requests those that were hits, and of their bytes.
const REQUESTS_HIT: [Metric; SHARES.len()] =
    [hit::<0>(), hit::<1>(), hit::<2>(), hit::<3>(), hit::<4>(), hit::<5>(), hit::<6>()];
const BYTES_HIT: [Metric; SHARES.len()] = [
    bytes_hit::<0>(),
    bytes_hit::<1>(),
    bytes_hit::<2>(),
    bytes_hit::<3>(),
    bytes_hit::<4>(),
    bytes_hit::<5>(),
    bytes_hit::<6>(),
];

const fn hit<const AT: usize>() -> Metric {
    metric("hits, of requests", "%", |point| percent(point, &at_share(HITS, AT), JUDGED))
}

const fn bytes_hit<const AT: usize>() -> Metric {
    metric("hits, of bytes", "%", |point| percent(point, &at_share(HIT_BYTES, AT), JUDGED_BYTES))
}

fn percent(point: &Point, of: &str, all: &str) -> Option<f64> {
    let (of, all) = (point.counters.get(of)?, point.counters.get(all)?);
    (*all > 0.0).then(|| 100.0 * of / all)
}

const TOUCH: Metric =
    metric("an entry that is in is asked for", "ns", |point| point.counters.get(TOUCH_NS).copied());
const INSERT: Metric = metric("one comes in, and another one goes", "ns", |point| {
    point.counters.get(INSERT_NS).copied()
});

fn sections(_: &Setup, known: &Known<'_>) -> Vec<Section> {
    let figures =
        TRACES.iter().flat_map(|row| [hits(row, known), misses(row, known), of_bytes(row, known)]);
    let tables = [told::summary(known), told::costs(known)].into_iter();
    let own = TRACES.iter().map(|row| told::table(row, known));
    vec![Section {
        question: told::question(),
        answer: told::answer(known),
        figures: figures.collect(),
        tables: tables.chain(own).collect(),
        ..frame::section(&EXPERIMENT, "Replacement policies", known, &[])
    }]
}

/// Hits over sizes: a line for each policy, and one for who knows what comes.
fn hits(row: &Row, known: &Known<'_>) -> Figure {
    let figure = over_sizes(row, known, &REQUESTS_HIT);
    Figure { title: format!("{}: hits over the size of the cache", row.title), ..figure }
}

/// The same of bytes.
fn of_bytes(row: &Row, known: &Known<'_>) -> Figure {
    let figure = over_sizes(row, known, &BYTES_HIT);
    let title = format!("{}: hits, of bytes, over the size of the cache", row.title);
    Figure { name: format!("{}-bytes", row.name), title, ..figure }
}

fn over_sizes(row: &Row, known: &Known<'_>, metrics: &[Metric; SHARES.len()]) -> Figure {
    let series = names().chain([BELADY]).filter_map(|of| {
        let cell = row.cell(known, of)?;
        let dots = SHARES.iter().zip(metrics);
        let points = dots.filter_map(|(share, metric)| cell.dot(*share, metric)).collect();
        Some(Series { label: of.into(), points, is_reference: of == BELADY })
    });
    let x = Axis {
        label: String::from("size of the cache, of the bytes of all files"),
        is_logarithmic: true,
        ..Axis::default()
    };
    curves::figure(row.name, &metrics[0], x, series.collect())
}

/// What is left of all requests. Where nearly all are hits policies are told apart by that.
fn misses(row: &Row, known: &Known<'_>) -> Figure {
    let mut figure = hits(row, known);
    for dot in figure.series.iter_mut().flat_map(|series| &mut series.points) {
        let (low, high) = dot.spread;
        (dot.y, dot.spread) = (100.0 - dot.y, (100.0 - high, 100.0 - low));
    }
    Figure {
        name: format!("{}-misses", row.name),
        title: format!("{}: misses over the size of the cache", row.title),
        y: Axis { label: MISSES.into(), is_logarithmic: true, ..figure.y },
        ..figure
    }
}

const MISSES: &str = "misses, of requests";
