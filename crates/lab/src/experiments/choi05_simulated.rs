//! Is PIPELINED the best of five architectures on machines of 1 to 16 processors? (Choi05 figures
//! 2, 3 and 5 to 8, by the paper's own way: simulated.)
//!
//! Each trace with the memory that the paper has for it, by the parameters of its tables. Where it
//! does not say something, or says two things, a *fill* stands for it; what the paper claims is
//! judged with each fill changed, one at a time, so that it shows which of them decides.

mod advantage;
mod beside;
mod claims;
mod fills;
mod full;
mod made;
mod memory;
mod said;

use std::collections::BTreeMap;

use sim::run;

use crate::claim::Says;
use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric, metric};
use crate::page::{Axis, Dot, Figure, Section, Series, Shape, Table};
use crate::point::Point;
use crate::setup::{Setup, WarmUp};
use crate::simulated::{CLIENTS, MEMORY_MB, PROCESSORS, REPLICATIONS, SEED, fits};
use crate::spec::{Load, SIMULATED, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

use self::advantage::Advantage;
pub(super) use self::beside::table as beside;
use self::fills::{AS_SAID, Fill};
use super::frame;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05",
    paper: "Choi05 figures 2, 3 and 5 to 8",
    is_as_in_papers: true,
    question: "is PIPELINED the best of five architectures on 1 to 16 processors? (simulated)",
    ignores: &[
        "subject",
        "workload",
        "tuning",
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

/// One figure of the paper's: five models over something.
struct Chart {
    /// As in the paper.
    figure: &'static str,
    /// What names its files.
    name: &'static str,
    title: &'static str,
    trace: &'static str,
    memory_mb: u32,
    clients: u32,
    over: Over,
    /// Of its points with a fill.
    filled: Lasts,
}

/// Simulated seconds: those that do not count, and those that do.
#[derive(Clone, Copy)]
struct Lasts {
    warm_up_s: f64,
    seconds: f64,
}

/// What varies in a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Processors,
    /// The data set, in MB, with one processor and the slow disk.
    Set,
    /// The same machine, with a set of 90 MB.
    Clients,
}

const CHARTS: [Chart; 15] = [
    Chart {
        over: Over::Set,
        ..chart("5a", "5a", "Clarknet, 100 MB, by data set", CLARKNET, 100, 64)
    },
    Chart {
        over: Over::Clients,
        ..chart("5b", "5b", "Clarknet, 100 MB, 90 MB set", CLARKNET, 100, 64)
    },
    chart("6a", "6a", "Penn State CSE, 4 GB", CSE, 4096, 1000),
    chart("6b", "6b", "UC Berkeley, 3.5 GB", "choi-ucb", 3584, 1000),
    of_small_files(chart("6c", "6c", "Penn State, 1.5 GB", "choi-penn-state", 1536, 1000)),
    of_small_files(chart("6c", "6c-clarknet", "Clarknet, 220 MB", CLARKNET, 220, 1000)),
    of_small_files(chart("6d", "6d", "WorldCup98, 110 MB", "choi-worldcup98", 110, 1000)),
    of_small_files(chart("6d", "6d-nasa", "NASA, 150 MB", "choi-nasa", 150, 1000)),
    mostly_of_16(chart("7a", "7a", "Penn State CSE, 1 GB", CSE, 1024, 1000)),
    mostly_of_16(chart("7b", "7b", "Penn State CSE, 2 GB", CSE, 2048, 1000)),
    mostly_of_16(chart("7c", "7c", "Penn State CSE, 3 GB", CSE, 3072, 1000)),
    mostly_of_16(chart("8a", "8a", "Penn State CSE, 2 GB, 500 clients", CSE, 2048, 500)),
    mostly_of_16(chart("8b", "8b", "Penn State CSE, 2 GB, 1,500 clients", CSE, 2048, 1500)),
    mostly_of_16(chart("8c", "8c", "Penn State CSE, 2 GB, 2,000 clients", CSE, 2048, 2000)),
    mostly_of_16(chart("8d", "8d", "Penn State CSE, 2 GB, 2,500 clients", CSE, 2048, 2500)),
];

const CSE: &str = "choi-penn-state-cse";
const CLARKNET: &str = "choi-clarknet";

const fn chart(
    figure: &'static str,
    name: &'static str,
    title: &'static str,
    trace: &'static str,
    memory_mb: u32,
    clients: u32,
) -> Chart {
    let filled = LONG;
    Chart { figure, name, title, trace, memory_mb, clients, over: Over::Processors, filled }
}

/// Where something is said of 16 processors mostly, it is known sooner with a fill: of Penn State
/// CSE's trace they have 8,000 replies/s,
const fn mostly_of_16(chart: Chart) -> Chart {
    Chart { filled: Lasts { warm_up_s: 4.0, seconds: 6.0 }, ..chart }
}

/// and of those with smaller files 20,000 and more.
const fn of_small_files(chart: Chart) -> Chart {
    Chart { filled: Lasts { warm_up_s: 2.0, seconds: 3.0 }, ..chart }
}

/// The paper's 1 to 16.
const CORES: [u32; 9] = [1, 2, 3, 4, 6, 8, 9, 12, 16];
/// The paper's 20 to 150 MB.
const SETS_MB: [u32; 7] = [20, 50, 80, 100, 110, 130, 150];
/// Its ends are not said; those of the study that it is set beside are 16 and 500 (5.3).
const CLIENT_COUNTS: [u32; 5] = [16, 64, 200, 350, 500];

/// Of table 4, for Clarknet.
const CLARKNET_MB: f64 = 320.0;
/// As the paper has it in its second experiment (5.3).
const SET_MB: u32 = 90;
/// Of table 2, as table 3 names it (5.3).
const SLOW_DISK: [(&str, &str); 2] = [("disk-latency", "5.35"), ("disk-rate", "594")];

/// By the paper's names, with those of the registry.
const MODELS: [(&str, &str); 5] =
    [("MP", "mp"), ("MT", "mt"), ("SPED", "sped"), ("AMPED", "amped"), ("PIPELINED", "pipelined")];

/// Replications: those of one draw the same for all models.
const REPEATS: u32 = 6;

/// Simulated. Memory is warm from the start, so this is for queues alone: with one processor a
/// round of all clients takes 6 s with Penn State CSE's files. What is not steady then does not
/// count, and is simulated again with three times as much.
const LONG: Lasts = Lasts { warm_up_s: 8.0, seconds: 15.0 };

/// All that is judged: where it stands, and in which words.
pub(super) fn said() -> impl Iterator<Item = (String, &'static str)> {
    let of_memory = memory::SAID.iter().map(|(place, words)| (String::from(*place), *words));
    let simulated = claims::CLAIMS.iter().map(|claim| (claim.place(), claim.paper));
    of_memory.chain(simulated)
}

/// A model of the paper's, by its name in the registry.
fn registered(model: &str) -> &'static str {
    MODELS.iter().find(|(of, _)| *of == model).expect("one of the five").1
}

/// A place in a chart: the model by the paper's name, and where over that which varies.
type At = (&'static str, u32);

/// Where something is said of a chart that can be simulated with that fill.
fn judged(chart: &Chart, setup: &Setup, fill: &Fill) -> impl Iterator<Item = At> {
    said::places(chart).into_iter().filter(|at| has_room(chart, setup, *at, fill))
}

fn has_room(chart: &Chart, setup: &Setup, at: At, fill: &Fill) -> bool {
    !fill.takes_memory() || fits(&chart.spec(setup, at, fill))
}

fn chart_named(name: &str) -> &'static Chart {
    CHARTS.iter().find(|chart| chart.name == name).expect("a chart that something is said of")
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let mut specs = Vec::new();
    let mut all = |chart: &Chart, at: At, fill: &Fill| {
        let spec = chart.spec(setup, at, fill);
        let repeats = setup.repeats(REPEATS);
        specs.extend((0..repeats).map(|repeat| Spec { repeat, ..spec.clone() }));
    };
    for chart in &CHARTS {
        for x in chart.over.places() {
            MODELS.iter().for_each(|(model, _)| all(chart, (model, *x), &AS_SAID));
        }
    }
    // What begins from the same memory stands together.
    for chart in &CHARTS {
        for at in said::places(chart) {
            let fills = fills::FILLS.iter().filter(|fill| fill.changes(registered(at.0)));
            let fills = fills.filter(|fill| has_room(chart, setup, at, fill));
            fills.for_each(|fill| all(chart, at, fill));
        }
    }
    Plan { specs, later_s: 0.0 }
}

impl Over {
    const fn places(self) -> &'static [u32] {
        match self {
            Self::Processors => &CORES,
            Self::Set => &SETS_MB,
            Self::Clients => &CLIENT_COUNTS,
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Set => "data set, MB",
            Self::Clients => "clients",
        }
    }

    /// Such a place in words.
    fn named(self, x: u32) -> String {
        match self {
            Self::Processors => x.to_string(),
            Self::Set => format!("a set of {x} MB"),
            Self::Clients => format!("{x} clients"),
        }
    }

    /// What the paper shows of it.
    const fn metric(self) -> &'static Metric {
        match self {
            Self::Processors => &metric::REPLIES,
            Self::Set | Self::Clients => &metric::SERVER_MBIT,
        }
    }
}

impl Chart {
    fn spec(&self, setup: &Setup, (model, x): At, fill: &Fill) -> Spec {
        let name = registered(model);
        let (fill, lasts) = if fill.changes(name) { (fill, self.filled) } else { (&AS_SAID, LONG) };
        let (cores, clients) = match self.over {
            Over::Processors => (x, self.clients),
            Over::Set => (1, self.clients),
            Over::Clients => (1, x),
        };
        let knobs = fill.knobs_of(name, (cores, clients)).into_iter().collect();
        let load = Load {
            workload: self.trace.into(),
            seconds: setup.seconds(lasts.seconds),
            warm_up: setup.warm_up(WarmUp::Fixed(lasts.warm_up_s)),
            flags: self.flags(x, fill),
            idle_connections: 0,
            beside: None,
        };
        let load = load.with(CLIENTS, clients).with(REPLICATIONS, setup.repeats(REPEATS));
        Spec {
            experiment: EXPERIMENT.name.into(),
            stage: SIMULATED.into(),
            subject: Subject { name: String::from(name), knobs },
            load: match setup.seed {
                Some(seed) => load.with(SEED, seed),
                None => load,
            },
            layout: Layout { is_loopback: true, ..Layout::default() },
            factors: BTreeMap::from([
                (PROCESSORS.into(), f64::from(cores)),
                (MEMORY_MB.into(), f64::from(self.memory_mb)),
            ]),
            repeat: 0,
            profile: None,
        }
    }

    /// What is not as shipped: what the chart is of, and above it what the fill changes.
    fn flags(&self, x: u32, fill: &Fill) -> BTreeMap<String, String> {
        let mut flags = BTreeMap::new();
        let set_mb = match self.over {
            Over::Processors => None,
            Over::Set => Some(x),
            Over::Clients => Some(SET_MB),
        };
        if let Some(set_mb) = set_mb {
            flags.insert(SCALE.into(), (f64::from(set_mb) / CLARKNET_MB).to_string());
            flags.extend(SLOW_DISK.map(|(name, value)| (name.into(), value.into())));
        }
        flags.extend(fill.parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        flags
    }

    fn cell<'s, 'k>(
        &self,
        (setup, known): (&Setup, &'s Known<'k>),
        at: At,
        fill: &Fill,
    ) -> Option<&'s Cell<'k>> {
        known.cell(&self.spec(setup, at, fill))
    }

    fn drawn(&self, setup: &Setup, known: &Known<'_>) -> Figure {
        let metric = self.over.metric();
        let drawn = MODELS.iter().map(|(model, _)| {
            let places = self.over.places().iter();
            let dots = places.filter_map(|x| {
                let cell = self.cell((setup, known), (model, *x), &AS_SAID)?;
                let dot = cell.dot(f64::from(*x), metric)?;
                Some(Dot { spread: cell.interval(metric).unwrap_or(dot.spread), ..dot })
            });
            let label = String::from(*model);
            Series { label, points: dots.collect(), is_reference: false }
        });
        let series: Vec<Series> = drawn.filter(|series| !series.points.is_empty()).collect();
        let x = Axis { label: self.over.label().into(), ..Axis::default() };
        let figure = curves::figure(self.name, metric, x, series);
        let title = format!("Figure {}: {} (simulated)", self.figure, self.title);
        Figure { title, shape: Shape::Estimates, ..figure }
    }

    fn rows(&self, setup: &Setup, known: &Known<'_>, rows: &mut Vec<Vec<String>>) {
        for x in self.over.places() {
            for (model, _) in MODELS {
                let cell = self.cell((setup, known), (model, *x), &AS_SAID);
                let Some(cell) = cell.filter(|cell| curves::is_known(cell)) else { continue };
                let own = [self.name.into(), self.over.named(*x), model.into()];
                let told = METRICS.iter().map(|metric| curves::told(cell, metric));
                rows.push(own.into_iter().chain(told).collect());
            }
        }
    }
}

/// A knob of the workload: so many times its files and its requests.
const SCALE: &str = "trace-scale";

const METRICS: [&Metric; 8] =
    [&metric::REPLIES, &metric::RESPONSE, &CACHE, &HIT_SHARE, &WORK, &SWITCHING, &DISK, &LOCK_WAIT];

const CACHE: Metric = metric(run::CACHE.name, run::CACHE.unit, |point| told(point, &run::CACHE));
const HIT_SHARE: Metric = metric(run::HITS.name, run::HITS.unit, |point| told(point, &run::HITS));
const WORK: Metric = metric(run::WORK.name, run::WORK.unit, |point| told(point, &run::WORK));
const SWITCHING: Metric =
    metric(run::SWITCHING.name, run::SWITCHING.unit, |point| told(point, &run::SWITCHING));
const DISK: Metric = metric(run::DISK.name, run::DISK.unit, |point| told(point, &run::DISK));
const LOCK_WAIT: Metric =
    metric(run::LOCK_WAIT.name, run::LOCK_WAIT.unit, |point| told(point, &run::LOCK_WAIT));

/// Points have all figures of their runs.
fn told(point: &Point, figure: &run::Figure) -> Option<f64> {
    point.counters.get(figure.name).copied()
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let mut rows = Vec::new();
    CHARTS.iter().for_each(|chart| chart.rows(setup, known, &mut rows));
    let head = ["figure", "at", "model"].map(String::from);
    let all = Table {
        title: String::from("All points, simulated"),
        head: head.into_iter().chain(METRICS.map(Metric::heading)).collect(),
        rows,
        notes: vec![curves::MARKS.into()],
    };
    let charts = CHARTS.iter().map(|chart| chart.drawn(setup, known));
    vec![Section {
        question: question(setup),
        answer: said::answer(setup, known),
        comparisons: said::whole(setup, known, &AS_SAID),
        figures: memory::figures().into_iter().chain(charts).collect(),
        tables: vec![
            said::deciding(setup, known),
            fills::table(|fill| said::is_whole(setup, known, fill)),
            all,
        ],
        ..frame::section(&EXPERIMENT, "Five models, simulated (Choi05)", known, &[])
    }]
}

fn question(setup: &Setup) -> Vec<String> {
    let seconds = setup.seconds(LONG.seconds);
    let warm_up_s = setup.warm_up(WarmUp::Fixed(LONG.warm_up_s)).at_most_s();
    vec![
        String::from(
            "Every point here is simulated (docs/sim.md), by the parameters that the paper's \
             tables 2 and 3 have and one for each thing that it does not say. Clients ask again as \
             soon as they are answered, one request on each connection (5.1). For each processor \
             MP has 16 processes, MT 64 threads but no more than clients, SPED and AMPED one \
             process, AMPED's with two helpers, and PIPELINED one pool of seven threads. Memory \
             for contents is what table 1 leaves of it.",
        ),
        String::from(
            "Charts show the median of all replications with its 95 % interval. In figure 5 one \
             processor has 100 MB beside the kernel's and the slow disk, and all 64 clients ask of \
             Clarknet's files, so many of them as come to the set: the trace is made anew for each \
             set, with the same share of its files, requests and locality, so that sizes of files \
             differ by chance from one set to the next. The first part of a log, as the paper may \
             have cut it, would have what is popular in it, and other sizes again.",
        ),
        format!(
            "Traces are synthesised from tables 4 and 5. Memory is warm before: how long ago each \
             file was asked for is drawn. {warm_up_s} s follow that do not count, and {seconds} s \
             that do, or fewer of both where something is changed; what processors, locks and the \
             disk did is told of both together. Repeats draw other requests, the same for all \
             models. A run whose second half does 5 % more or less than the first, beyond chance, \
             does not count."
        ),
    ]
}

impl Said {
    /// As a page has it.
    fn place(&self) -> String {
        format!("Choi05 figure {}", self.figure.unwrap_or(chart_named(self.chart).figure))
    }
}

/// What something is set beside.
enum Than {
    /// Those of [`Said::beside`].
    Others,
    /// It is of what this one has more than another, beside the same there.
    Advantage(Advantage),
    /// A disk that never rests.
    FullDisk,
}

/// What is said of a chart: of a model somewhere, beside others there or elsewhere.
struct Said {
    paper: &'static str,
    chart: &'static str,
    of: At,
    says: Says,
    beside: &'static [At],
    metric: &'static Metric,
    /// Charts that the others are of; empty: the same one.
    there: &'static [&'static str],
    than: Than,
    /// Where the paper says it, if that is another figure with the same chart.
    figure: Option<&'static str>,
}
