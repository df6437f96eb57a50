//! Is PIPELINED the best of five architectures on machines of 1 to 16 processors? (Choi05 figures
//! 2, 3 and 6 to 8, by the paper's own way: simulated.)
//!
//! Each trace with the memory that the paper has for it, by the parameters of its tables. Where it
//! does not say something, or says two things, a *fill* stands for it; what the paper claims is
//! judged with each fill changed, one at a time, so that it shows which of them decides.

mod fills;
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
use crate::page::{Axis, Figure, Section, Series, Table};
use crate::point::Point;
use crate::setup::{Setup, WarmUp};
use crate::simulated::{CLIENTS, MEMORY_MB, PROCESSORS, REPLICATIONS};
use crate::spec::{Load, SIMULATED, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

use self::fills::{AS_SAID, Fill};
use super::frame;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05",
    paper: "Choi05 figures 2, 3 and 6 to 8",
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

/// One figure of the paper's: five models over processors.
struct Chart {
    /// As in the paper.
    figure: &'static str,
    /// What names its files.
    name: &'static str,
    title: &'static str,
    trace: &'static str,
    memory_mb: u32,
    clients: u32,
}

const CHARTS: [Chart; 13] = [
    chart("6a", "6a", "Penn State CSE, 4 GB", CSE, 4096, 1000),
    chart("6b", "6b", "UC Berkeley, 3.5 GB", "choi-ucb", 3584, 1000),
    chart("6c", "6c", "Penn State, 1.5 GB", "choi-penn-state", 1536, 1000),
    chart("6c", "6c-clarknet", "Clarknet, 220 MB", "choi-clarknet", 220, 1000),
    chart("6d", "6d", "WorldCup98, 110 MB", "choi-worldcup98", 110, 1000),
    chart("6d", "6d-nasa", "NASA, 150 MB", "choi-nasa", 150, 1000),
    chart("7a", "7a", "Penn State CSE, 1 GB", CSE, 1024, 1000),
    chart("7b", "7b", "Penn State CSE, 2 GB", CSE, 2048, 1000),
    chart("7c", "7c", "Penn State CSE, 3 GB", CSE, 3072, 1000),
    chart("8a", "8a", "Penn State CSE, 2 GB, 500 clients", CSE, 2048, 500),
    chart("8b", "8b", "Penn State CSE, 2 GB, 1,500 clients", CSE, 2048, 1500),
    chart("8c", "8c", "Penn State CSE, 2 GB, 2,000 clients", CSE, 2048, 2000),
    chart("8d", "8d", "Penn State CSE, 2 GB, 2,500 clients", CSE, 2048, 2500),
];

const CSE: &str = "choi-penn-state-cse";

const fn chart(
    figure: &'static str,
    name: &'static str,
    title: &'static str,
    trace: &'static str,
    memory_mb: u32,
    clients: u32,
) -> Chart {
    Chart { figure, name, title, trace, memory_mb, clients }
}

/// The paper's 1 to 16.
const CORES: [u32; 9] = [1, 2, 3, 4, 6, 8, 9, 12, 16];

/// By the paper's names, with those of the registry.
const MODELS: [(&str, &str); 5] =
    [("MP", "mp"), ("MT", "mt"), ("SPED", "sped"), ("AMPED", "amped"), ("PIPELINED", "pipelined")];

/// Simulated. Memory is warm from the start, so this is for queues alone: with one processor a round
/// of all clients takes 6 s with Penn State CSE's files. What is not steady then does not count, and
/// is simulated again with three times as much.
const WARM_UP_S: f64 = 8.0;
const SECONDS: f64 = 15.0;

/// A place in a chart: the model by the paper's name, and processors.
type At = (&'static str, u32);

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let mut specs = Vec::new();
    let mut all = |chart: &Chart, at: At, fill: &Fill| {
        let spec = chart.spec(setup, at, fill);
        specs.extend((0..fill.repeats(setup)).map(|repeat| Spec { repeat, ..spec.clone() }));
    };
    for chart in &CHARTS {
        for cores in CORES {
            MODELS.iter().for_each(|(model, _)| all(chart, (model, cores), &AS_SAID));
        }
    }
    for fill in fills::FILLS {
        for chart in &CHARTS {
            said::places(chart).into_iter().for_each(|at| all(chart, at, fill));
        }
    }
    Plan { specs, later_s: 0.0 }
}

impl Chart {
    fn spec(&self, setup: &Setup, (model, cores): At, fill: &Fill) -> Spec {
        let (_, name) = MODELS.iter().find(|(of, _)| *of == model).expect("one of the five");
        let of_fill = fill.knobs.iter().filter(|(of, ..)| of == name);
        let knob = |(_, knob, each): &(&str, &str, u32)| {
            (String::from(*knob), (each * if fill.is_each { cores } else { 1 }).to_string())
        };
        let flags =
            fill.parameters.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let load = Load {
            workload: self.trace.into(),
            seconds: setup.seconds(SECONDS),
            warm_up: setup.warm_up(WarmUp::Fixed(WARM_UP_S)),
            flags: flags.collect(),
            idle_connections: 0,
            beside: None,
        };
        Spec {
            experiment: EXPERIMENT.name.into(),
            stage: SIMULATED.into(),
            subject: Subject { name: String::from(*name), knobs: of_fill.map(knob).collect() },
            load: load.with(CLIENTS, self.clients).with(REPLICATIONS, fill.repeats(setup)),
            layout: Layout { is_loopback: true, ..Layout::default() },
            factors: BTreeMap::from([
                (PROCESSORS.into(), f64::from(cores)),
                (MEMORY_MB.into(), f64::from(self.memory_mb)),
            ]),
            repeat: 0,
            profile: None,
        }
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
        let series = MODELS.iter().map(|(model, _)| {
            let cells = CORES
                .iter()
                .filter_map(|cores| self.cell((setup, known), (model, *cores), &AS_SAID));
            let cells: Vec<_> = cells.collect();
            let cores = |cell: &Cell<'_>| cell.factor(PROCESSORS);
            curves::series(String::from(*model), &cells, &metric::REPLIES, cores, false)
        });
        let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
        let x = Axis { label: String::from("processors"), ..Axis::default() };
        let figure = curves::figure(self.name, &metric::REPLIES, x, series);
        let title = format!("Figure {}: {} (simulated)", self.figure, self.title);
        Figure { title, ..figure }
    }

    fn rows(&self, setup: &Setup, known: &Known<'_>, rows: &mut Vec<Vec<String>>) {
        for cores in CORES {
            for (model, _) in MODELS {
                let cell = self.cell((setup, known), (model, cores), &AS_SAID);
                let Some(cell) = cell.filter(|cell| curves::is_known(cell)) else { continue };
                let own = [self.name.into(), cores.to_string(), model.into()];
                let told = METRICS.iter().map(|metric| curves::told(cell, metric));
                rows.push(own.into_iter().chain(told).collect());
            }
        }
    }
}

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
    let head = ["figure", "processors", "model"].map(String::from);
    let all = Table {
        title: String::from("All points, simulated"),
        head: head.into_iter().chain(METRICS.map(Metric::heading)).collect(),
        rows,
        notes: vec![curves::MARKS.into()],
    };
    let charts = CHARTS.iter().map(|chart| chart.drawn(setup, known));
    vec![Section {
        question: question(),
        answer: said::answer(setup, known),
        comparisons: [memory::comparisons(), said::comparisons(setup, known, &AS_SAID)].concat(),
        figures: memory::figures().into_iter().chain(charts).collect(),
        tables: vec![said::deciding(setup, known), fills::table(), all],
        ..frame::section(&EXPERIMENT, "Five models, simulated (Choi05)", known, &[])
    }]
}

fn question() -> Vec<String> {
    vec![
        String::from(
            "Every point here is simulated (docs/sim.md), by the parameters that the paper's \
             tables 2 and 3 have and one for each thing that it does not say. Clients ask again as \
             soon as they are answered, one request on each connection (5.1). For each processor \
             MP has 16 processes, MT 64 threads but no more than clients, SPED and AMPED one \
             process, AMPED's with two helpers, and PIPELINED one pool of seven threads. Memory \
             for contents is what table 1 leaves of it.",
        ),
        format!(
            "Traces are synthesised from tables 4 and 5. Memory is warm before: how long ago each \
             file was asked for is drawn. {WARM_UP_S:.0} s follow that do not count, and \
             {SECONDS:.0} s that do. Repeats draw other requests, the same for all models. A run \
             whose second half does 5 % more or less than the first, beyond chance, does not count."
        ),
    ]
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
}
