//! How many connections and writers does WatPipe need? (Pariag07 figure 6.)

use super::disk::{self, Claim, What};
use super::frame::Rival::One;
use crate::claim::Says::{Alike, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::subject::Subject;
use crate::testbed::Disk;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-watpipe",
    paper: "Pariag07 figure 6",
    is_as_in_papers: true,
    question: "how many connections and writers does WatPipe need?",
    ignores: &["workload"],
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, disk)),
    sections,
};

/// Of the figure: the name there, thousands of connections, writers.
const CONFIGURATIONS: [(&str, u32, u32); 5] = [
    ("10K-5w", 10, 5),
    ("10K-25w", 10, 25),
    ("20K-5w", 20, 5),
    ("20K-25w", 20, 25),
    ("20K-50w", 20, 50),
];

fn names(setup: &Setup) -> Vec<(Subject, String)> {
    if !setup.subjects.is_empty() {
        return setup.subjects.iter().map(|of| (of.clone(), of.label())).collect();
    }
    let of = |(name, thousands, writers): (&str, u32, u32)| {
        (subject(setup, (thousands, writers)), String::from(name))
    };
    CONFIGURATIONS.map(of).into()
}

/// With so many thousands of the paper's connections and so many writers; asking by select, as
/// there (6).
pub(super) fn subject(setup: &Setup, (thousands, writers): (u32, u32)) -> Subject {
    let own = [
        ("connections-max", (thousands * disk::thousand(setup)).to_string()),
        ("poller", String::from("select")),
        ("send-buffer-kb", String::from("208")),
        ("small-file-kb", String::from("0")),
        ("threads", writers.to_string()),
    ];
    let knobs = own.into_iter().map(|(knob, value)| (knob.into(), value)).collect();
    Subject { name: "watpipe".into(), knobs }
}

fn design(setup: &Setup, disk: Option<Disk>) -> Design {
    let subjects = names(setup).into_iter().map(|(of, _)| of).collect();
    disk::design(EXPERIMENT.name, setup, subjects, disk)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let (design, names) = (design(setup, disk::found(setup, known)), names(setup));
    let title = "Connections and writers of WatPipe";
    let mut section = disk::section((&EXPERIMENT, title), setup, (&design, &names), known, &CLAIMS);
    section.question.push(format!(
        "Legends have the paper's names: 20K-25w are 20,000 connections and 25 writers. 10,000 \
         connections are {} here, and writers as many as there.",
        10 * disk::thousand(setup)
    ));
    let of = ("throughput", "Tuning WatPipe (Pariag07 figure 6)");
    section.figures = vec![disk::figure(&design, known, &names, of, &metric::SERVER_MBIT)];
    vec![section]
}

pub(super) const CLAIMS: [Claim; 5] = [
    Claim {
        figure: "Pariag07 figure 6",
        paper: "10,000 connections are too few: with 5 writers 20,000 have 33 % more at the peak",
        of: "20K-5w",
        to: One("10K-5w"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 6",
        paper: "with 10,000 connections more writers have no effect",
        of: "10K-25w",
        to: One("10K-5w"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 6",
        paper: "with 20,000 connections 25 writers have 12 % more than 5 at the peak",
        of: "20K-25w",
        to: One("20K-5w"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 6",
        paper: "50 writers do the same as 25",
        of: "20K-50w",
        to: One("20K-25w"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 6.1",
        paper: "the processor waits for the disk 14 % of the time with 5 writers, 1 % with 25",
        of: "20K-5w",
        to: One("20K-25w"),
        says: More,
        what: What::At(&metric::IO_WAIT, 1.0),
    },
];
