//! How many processes does a loop need whose `sendfile` blocks? (Pariag07 figure 5.)
//!
//! The µserver with blocking sendfile, in SYMPED: `sendfile` is called once, the socket stays out
//! of the interest set, and the process waits for the disk and for its client. Beside it the best
//! that does not block (5.3: four processes).

use super::disk::{self, Claim, What};
use super::frame::Rival::One;
use crate::claim::Says::{Alike, Less, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::subject::Subject;
use crate::testbed::Disk;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-blocking",
    paper: "Pariag07 figure 5",
    is_as_in_papers: true,
    question: "how many processes does a loop need that waits for its clients, too?",
    ignores: &["workload"],
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, disk)),
    sections,
};

/// Of the figure: its name there, thousands of connections, and processes.
const CONFIGURATIONS: [(&str, u32, u32); 6] = [
    ("userver-b-30K-75p", 30, 75),
    ("userver-b-30K-100p", 30, 100),
    ("userver-b-30K-200p", 30, 200),
    ("userver-b-50K-75p", 50, 75),
    ("userver-b-50K-100p", 50, 100),
    ("userver-b-50K-200p", 50, 200),
];

/// What 20 of the paper's processes are here: its 100 took an eighth of the memory from the page
/// cache (table 1: 1,548 MB in place of 1,804), which 45 of Weir's do, with 0.3 MB each when they
/// have served for a while. With as many as there half of this memory was gone, and with it the
/// files. With `--paper` there is room for all of them.
const TWENTY: u32 = 9;

fn processes(setup: &Setup, of_paper: u32) -> u32 {
    if setup.is_paper { of_paper } else { (of_paper * TWENTY).div_ceil(20) }
}

/// The best of figure 4, as figure 7 has it.
const NON_BLOCKING: (&str, u32, u32) = ("userver-nb-30K-4p", 30, 4);

fn names(setup: &Setup) -> Vec<(Subject, String)> {
    if !setup.subjects.is_empty() {
        return setup.subjects.iter().map(|of| (of.clone(), of.label())).collect();
    }
    let of = |(name, thousands, processes): (&str, u32, u32)| {
        (disk::symped(setup, (thousands, processes)), String::from(name))
    };
    let blocking = |(name, thousands, of_paper): (&'static str, u32, u32)| {
        let (mut subject, name) = of((name, thousands, processes(setup, of_paper)));
        subject.knobs.insert("sendfile".into(), "blocking".into());
        (subject, name)
    };
    CONFIGURATIONS.map(blocking).into_iter().chain([of(NON_BLOCKING)]).collect()
}

fn design(setup: &Setup, disk: Option<Disk>) -> Design {
    let subjects = names(setup).into_iter().map(|(of, _)| of).collect();
    disk::design(EXPERIMENT.name, setup, subjects, disk)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let (design, names) = (design(setup, disk::found(setup, known)), names(setup));
    let title = "Processes of a loop whose sendfile blocks";
    let mut section = disk::section((&EXPERIMENT, title), setup, (&design, &names), known, &CLAIMS);
    section.question.push(format!(
        "Legends have the paper's names: b-30K-75p are 30,000 connections over 75 processes whose \
         sendfile blocks, nb-30K-4p over four whose does not. 30,000 connections are {} here, and \
         50,000 are {}; 75, 100 and 200 processes are {}, so that they take about as great a part \
         of the memory as there.",
        30 * disk::thousand(setup),
        50 * disk::thousand(setup),
        [75, 100, 200].map(|of| processes(setup, of).to_string()).join(", ")
    ));
    let figure = |of: (&str, &str), metric| disk::figure(&design, known, &names, of, metric);
    section.figures = vec![
        figure(
            ("throughput", "Tuning the µserver, blocking sendfile (Pariag07 figure 5)"),
            &metric::SERVER_MBIT,
        ),
        figure(("io-wait", "Waiting for the disk"), &metric::IO_WAIT),
    ];
    vec![section]
}

pub(super) const CLAIMS: [Claim; 8] = [
    Claim {
        figure: "Pariag07 figure 5",
        paper: "75 processes do significantly better with 30,000 connections than with 50,000",
        of: "userver-b-30K-75p",
        to: One("userver-b-50K-75p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 5",
        paper: "with 30,000 connections 100 processes do better than 75",
        of: "userver-b-30K-100p",
        to: One("userver-b-30K-75p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 5",
        paper: "with 50,000 connections 100 processes do better than 75",
        of: "userver-b-50K-100p",
        to: One("userver-b-50K-75p"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 5",
        paper: "with 30,000 connections 200 processes do worse than 100",
        of: "userver-b-30K-200p",
        to: One("userver-b-30K-100p"),
        says: Less,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 5",
        paper: "200 processes with 50,000 connections are close to 100 with 30,000",
        of: "userver-b-50K-200p",
        to: One("userver-b-30K-100p"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 7",
        paper: "the best that blocks has the same peak as the best that does not",
        of: "userver-b-30K-100p",
        to: One("userver-nb-30K-4p"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 7",
        paper: "behind its peak it falls up to 12 % behind",
        of: "userver-b-30K-100p",
        to: One("userver-nb-30K-4p"),
        says: Less,
        what: What::At(&metric::GOODPUT, 2.0),
    },
    Claim {
        figure: "Pariag07 7",
        paper: "whose sendfile does not block has twice the overhead of poll, as it asks about \
                more",
        of: "userver-nb-30K-4p",
        to: One("userver-b-30K-100p"),
        says: More,
        what: What::At(&metric::INTEREST, 1.0),
    },
];
