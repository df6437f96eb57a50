//! How many processes does a loop need whose files are on the disk, and how many connections?
//! (Pariag07 figure 4.)
//!
//! The µserver with non-blocking sendfile: SYMPED, N copies of one loop. While one waits for the
//! disk, another runs.

use super::disk::{self, Claim, What};
use super::frame::Rival::One;
use crate::claim::Says::{Less, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::subject::Subject;
use crate::testbed::Disk;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-processes",
    paper: "Pariag07 figure 4",
    is_as_in_papers: true,
    question: "how many processes does a loop need whose files are on the disk?",
    ignores: &["workload"],
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, disk)),
    sections,
};

/// Of the figure: its name there, thousands of connections, and processes.
const CONFIGURATIONS: [(&str, u32, u32); 6] = [
    ("userver-nb-10K-1p", 10, 1),
    ("userver-nb-10K-2p", 10, 2),
    ("userver-nb-30K-1p", 30, 1),
    ("userver-nb-30K-2p", 30, 2),
    ("userver-nb-30K-3p", 30, 3),
    ("userver-nb-30K-4p", 30, 4),
];

fn names(setup: &Setup) -> Vec<(Subject, String)> {
    if !setup.subjects.is_empty() {
        return setup.subjects.iter().map(|of| (of.clone(), of.label())).collect();
    }
    let of = |(name, thousands, processes): (&str, u32, u32)| {
        let own = [
            ("connections-max", (thousands * disk::thousand(setup)).to_string()),
            ("processes", processes.to_string()),
        ];
        let all = disk::KNOBS.map(|(knob, value)| (knob, String::from(value)));
        let knobs = own.into_iter().chain(all).map(|(knob, value)| (knob.into(), value)).collect();
        (Subject { name: "symped".into(), knobs }, String::from(name))
    };
    CONFIGURATIONS.map(of).into()
}

fn design(setup: &Setup, disk: Option<Disk>) -> Design {
    let subjects = names(setup).into_iter().map(|(of, _)| of).collect();
    disk::design(EXPERIMENT.name, setup, subjects, disk)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let (design, names) = (design(setup, disk::found(setup, known)), names(setup));
    let title = "Processes and connections of a loop";
    let mut section = disk::section((&EXPERIMENT, title), setup, (&design, &names), known, &CLAIMS);
    section.question.push(format!(
        "Legends have the paper's names: 30K-2p are 30,000 connections over two processes there, \
         and {} here.",
        30 * disk::thousand(setup)
    ));
    let figure = |of: (&str, &str), metric| disk::figure(&design, known, &names, of, metric);
    section.figures = vec![
        figure(
            ("throughput", "Tuning the µserver, non-blocking sendfile (Pariag07 figure 4)"),
            &metric::SERVER_MBIT,
        ),
        figure(("io-wait", "Waiting for the disk (Pariag07 5.3)"), &metric::IO_WAIT),
    ];
    vec![section]
}

pub(super) const CLAIMS: [Claim; 5] = [
    Claim {
        figure: "Pariag07 figure 4",
        paper: "a second process gives 38 % more throughput at the peak",
        of: "userver-nb-30K-2p",
        to: One("userver-nb-30K-1p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 4",
        paper: "at the peak one process waits for the disk for 33 % of the time, two for 8 %",
        of: "userver-nb-30K-2p",
        to: One("userver-nb-30K-1p"),
        says: Less,
        what: What::At(&metric::IO_WAIT, 1.0),
    },
    Claim {
        figure: "Pariag07 figure 4",
        paper: "four processes have more throughput than two (4 % of waiting in place of 8 %)",
        of: "userver-nb-30K-4p",
        to: One("userver-nb-30K-2p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 4",
        paper: "30,000 connections give more throughput than 10,000",
        of: "userver-nb-30K-2p",
        to: One("userver-nb-10K-2p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 4",
        paper: "with 10,000 connections a second process makes it slightly worse",
        of: "userver-nb-10K-2p",
        to: One("userver-nb-10K-1p"),
        says: Less,
        what: What::Capacity,
    },
];
