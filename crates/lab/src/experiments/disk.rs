//! What do servers do when their files are on the disk? (Pariag07 3 to 8.)
//!
//! The paper's set of 3.2 GB meets a machine of 2 GB. Here the server's memory is limited, its
//! share of the page cache included, to the same part of the set, whose pages are dropped before; a
//! disk of today is slowed down so that it is as far behind its processor as theirs was.

use crate::curves;
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric::{self, Metric};
use crate::page::{Agreement, Comparison, Section};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::testbed::Layout;

pub(super) const PROCESSES: Experiment = Experiment {
    name: "pariag07-processes",
    paper: "Pariag07 figure 4",
    question: "how many processes does a loop need whose files are on the disk?",
    plan: |setup, known| processes(setup).plan(known),
    sections: processes_sections,
};

pub(super) const ARCHITECTURES: Experiment = Experiment {
    name: "pariag07-architectures",
    paper: "Pariag07 figures 7 and 8",
    question: "which architecture is best when the files are on the disk?",
    plan: |setup, known| architectures(setup).plan(known),
    sections: architectures_sections,
};

/// userver-nb-30K-1p and the others, scaled by a half: 30,000 connections need more descriptors
/// than a process may have on many machines.
const PROCESSES_SUBJECTS: [&str; 6] = [
    "sped:connections-max=5000,processes=1",
    "sped:connections-max=5000,processes=2",
    "sped:connections-max=15000,processes=1",
    "sped:connections-max=15000,processes=2",
    "sped:connections-max=15000,processes=3",
    "sped:connections-max=15000,processes=4",
];

/// Those that there are of the paper's and of its neighbours, with workers for the disk.
const ARCHITECTURE_SUBJECTS: [&str; 5] =
    ["sped", "sped:processes=4", "amped:helpers=16", "mt:threads=512", "proactor"];

/// Of the paper's 100 directories and 3.2 GB (3.2), without `--paper`: a tenth of it, which is
/// made in seconds.
const DIRS: u32 = 70;
const DIR_BYTES: u64 = 4_965_000;

/// Their memory as a share of their set.
const MEMORY_SHARE: f64 = 2.0 / 3.2;

/// Of a disk of theirs, which moved some 40 MB in a second in pieces of this size.
const DISK_BYTES_PER_S: u64 = 40_000_000;

fn design(experiment: &'static str, setup: &Setup, subjects: Vec<Subject>) -> Design {
    let dirs = if setup.is_paper { 10 * DIRS } else { DIRS };
    let load = Load {
        workload: String::from("specweb99"),
        seconds: setup.seconds(5.0),
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 60.0 } else { 6.0 })),
        flags: Default::default(),
        idle_connections: 0,
    };
    let load = load.with("dirs", dirs).with("patience", if setup.is_paper { 15 } else { 5 });
    let load = if setup.is_paper { load } else { load.with("think-scale", 0.1) };
    let memory = f64::from(dirs) * DIR_BYTES as f64 * MEMORY_SHARE;
    Design {
        experiment,
        subjects,
        sweep_s: load.seconds,
        load,
        layout: Layout {
            is_loopback: setup.is_loopback,
            quota_percent: setup.quota_percent,
            memory_bytes: (!setup.is_loopback).then_some(memory as u64),
            disk_bytes_per_s: (!setup.is_loopback).then_some(DISK_BYTES_PER_S),
            round_trip_ms: setup.round_trip_ms,
        },
        sweep: &[0.6, 0.8, 1.0],
        multiples: &[0.5, 0.9, 1.5],
        sweep_repeats: setup.repeats(2),
        repeats: setup.repeats(2),
        basis: Clone::clone,
    }
}

fn processes(setup: &Setup) -> Design {
    design(PROCESSES.name, setup, setup.subjects(&PROCESSES_SUBJECTS))
}

fn architectures(setup: &Setup) -> Design {
    design(ARCHITECTURES.name, setup, setup.subjects(&ARCHITECTURE_SUBJECTS))
}

fn processes_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = processes(setup);
    let comparisons = vec![
        compared(
            &design,
            known,
            "Pariag07 figure 4",
            "a second process gives the µserver 38 % more throughput at its peak, as one alone \
             waits for the disk for a third of the time",
            ("sped:connections-max=15000,processes=2", "sped:connections-max=15000,processes=1"),
        ),
        compared(
            &design,
            known,
            "Pariag07 figure 4",
            "30,000 connections give more throughput than 10,000",
            ("sped:connections-max=15000,processes=2", "sped:connections-max=5000,processes=2"),
        ),
    ];
    vec![section(&PROCESSES, "Processes and connections of a loop", &design, known, comparisons)]
}

fn architectures_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = architectures(setup);
    let comparisons = vec![compared(
        &design,
        known,
        "Pariag07 figure 7",
        "a single loop is the worst of all: it is within 37 % of the best",
        ("amped:helpers=16", "sped"),
    )];
    vec![section(&ARCHITECTURES, "Architectures beside a disk", &design, known, comparisons)]
}

/// Capacities: the paper has more for the first.
fn compared(
    design: &Design,
    known: &Known<'_>,
    of: &str,
    paper: &str,
    (more, less): (&str, &str),
) -> Comparison {
    let capacity = |text: &str| {
        let of: Subject = text.parse().ok()?;
        design.subjects.contains(&of).then(|| design.capacity(known, &of))?
    };
    let (here, agrees) = match (capacity(more), capacity(less)) {
        (Some(a), Some(b)) => {
            let ratio = a.replies_per_s / b.replies_per_s;
            let agrees = match ratio {
                ratio if ratio > 1.05 => Agreement::Yes,
                ratio if ratio < 0.95 => Agreement::No,
                _ => Agreement::Open,
            };
            let percent = curves::number((ratio - 1.0) * 100.0);
            (format!("{more} has {percent} % more than {less}"), agrees)
        }
        _ => (String::from("not measured"), Agreement::Open),
    };
    Comparison { of: of.into(), paper: paper.into(), here, agrees }
}

fn section(
    of: &Experiment,
    title: &str,
    design: &Design,
    known: &Known<'_>,
    comparisons: Vec<Comparison>,
) -> Section {
    let metrics: [&Metric; 3] = [&metric::REPLIES, &metric::SERVER_MBIT, &metric::RESPONSE];
    let limits = match (design.layout.memory_bytes, design.layout.disk_bytes_per_s) {
        (Some(memory), Some(disk)) => format!(
            "The server has {} MB of memory, its share of the page cache included, and reads {} MB \
             in a second from the disk at most.",
            memory / 1_000_000,
            disk / 1_000_000
        ),
        _ => String::from("Without limits, as they need root: the files are in memory."),
    };
    let dirs = design.load.flags.get("dirs").map_or("", String::as_str);
    Section {
        name: of.name.into(),
        title: format!("{title} (Pariag07)"),
        question: vec![format!(
            "Sessions of SPECweb99's files in {dirs} directories of 5 MB each. {limits}"
        )],
        answer: Vec::new(),
        comparisons,
        figures: vec![
            curves::over_rates(design, known, "throughput", &metric::SERVER_MBIT),
            curves::over_rates(design, known, "response", &metric::RESPONSE),
        ],
        tables: vec![curves::table(design, known, &metrics)],
        excluded: curves::excluded(known, of.name),
        commands: curves::commands(known, of.name, &design.subjects),
    }
}
