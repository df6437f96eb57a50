//! How many processes does a loop need whose files are on the disk, and how many connections?
//! (Pariag07 figure 4.)
//!
//! The µserver with non-blocking sendfile: SYMPED, N copies of one loop. While one waits for the
//! disk, another runs.

use super::disk::{self, Claim, What};
use super::frame::Rival::One;
use super::targets::{self, Bound, Target};
use crate::claim::Says::{Less, More};
use crate::curves;
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric::{self, Metric};
use crate::page::{Section, Table};
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
const CONFIGURATIONS: [(&str, u32, u32); 7] = [
    ("userver-nb-10K-1p", 10, 1),
    ("userver-nb-10K-2p", 10, 2),
    // Beyond the figure, where the text says what it does (5.3).
    ("userver-nb-10K-4p", 10, 4),
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
        (disk::symped(setup, (thousands, processes)), String::from(name))
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
    let promised = promised(&design, known, &names);
    section.answer.extend(targets::answer(&promised));
    let table = targets::table("Promised, peak against peak", &promised);
    section.tables.splice(..0, table.into_iter().chain([waits(&design, known, &names)]));
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

/// What several processes are to bring, of one with as many connections in all.
fn promised<'s>(
    design: &Design,
    known: &'s Known<'_>,
    names: &[(Subject, String)],
) -> Vec<Target<'s>> {
    let named = |wanted: &str| names.iter().find(|(_, name)| name == wanted);
    let several = WAITS[1..].iter().filter_map(|(name, _)| named(name));
    let best = disk::best(design, known, several);
    let rows = [(Bound::AtLeast(1.3), named(WAITS[1].0)), (Bound::AtLeast(1.4), best)];
    let target = |(bound, one): (Bound, Option<&(Subject, String)>)| {
        Some(disk::target((design, known), bound, (one?, named(WAITS[0].0)?)))
    };
    rows.into_iter().filter_map(target).collect()
}

/// For how much of the time the paper's processor waited for the disk at its peak (5.3).
const WAITS: [(&str, &str); 4] = [
    ("userver-nb-30K-1p", "33"),
    ("userver-nb-30K-2p", "8"),
    ("userver-nb-30K-3p", "5"),
    ("userver-nb-30K-4p", "4"),
];

/// The same beside what was measured.
fn waits(design: &Design, known: &Known<'_>, names: &[(Subject, String)]) -> Table {
    let row = |(wanted, paper): &(&str, &str)| {
        let (of, name) = names.iter().find(|(_, name)| name == wanted)?;
        let cell = curves::at_multiple(design, known, of, 1.0)?;
        let told = [&metric::IO_WAIT, &metric::BLOCKED].map(|metric| curves::told(cell, metric));
        Some([name.clone(), (*paper).into()].into_iter().chain(told).collect())
    };
    let head = ["configuration", "the paper's processor waits at its peak, %"].map(String::from);
    let metrics = [&metric::IO_WAIT, &metric::BLOCKED].map(Metric::heading);
    Table {
        title: String::from("Waiting for the disk at the capacity, beside the paper's"),
        head: head.into_iter().chain(metrics).collect(),
        rows: WAITS.iter().filter_map(row).collect(),
        notes: vec![curves::MARKS.into()],
    }
}

pub(super) const CLAIMS: [Claim; 10] = [
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
    Claim {
        figure: "Pariag07 5.3",
        paper: "with three processes the processor waits for the disk for 5 % of the time, two \
                for 8 %",
        of: "userver-nb-30K-3p",
        to: One("userver-nb-30K-2p"),
        says: Less,
        what: What::At(&metric::IO_WAIT, 1.0),
    },
    Claim {
        figure: "Pariag07 5.3",
        paper: "with four it waits for 4 % of the time, with one for 33 %",
        of: "userver-nb-30K-4p",
        to: One("userver-nb-30K-1p"),
        says: Less,
        what: What::At(&metric::IO_WAIT, 1.0),
    },
    Claim {
        figure: "Pariag07 5.3",
        paper: "with 10,000 connections still more processes make it still worse",
        of: "userver-nb-10K-4p",
        to: One("userver-nb-10K-1p"),
        says: Less,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 5.3",
        paper: "that is as more processes call poll more often",
        of: "userver-nb-10K-4p",
        to: One("userver-nb-10K-1p"),
        says: More,
        what: What::At(&metric::GETEVENTS, 2.0),
    },
    Claim {
        figure: "Pariag07 5.3",
        paper: "for fewer descriptors at a time, as each has fewer connections",
        of: "userver-nb-10K-4p",
        to: One("userver-nb-10K-1p"),
        says: Less,
        what: What::At(&metric::RETURNED, 2.0),
    },
];
