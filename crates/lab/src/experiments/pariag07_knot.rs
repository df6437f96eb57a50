//! How many threads and workers does Knot need, and what is a cache of its own worth? (Pariag07
//! figures 1 to 3.)
//!
//! Its three versions: contents in memory of its own, by `write` (knot-c); workers that send and
//! wait for a client no longer than a second (knot-nb); workers that wait for disk and client
//! (knot-b). A thread is a connection here and there.

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
    name: "pariag07-knot",
    paper: "Pariag07 figures 1 to 3",
    is_as_in_papers: true,
    question: "how many threads and workers does Knot need, and how large a cache?",
    ignores: &["workload"],
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, disk)),
    sections,
};

/// How files leave, and what is said of that by itself.
enum Version {
    /// MB of its cache.
    Cache(u32),
    Nonblocking,
    Blocking,
}

use Version::{Blocking, Cache, Nonblocking};

/// Of the figures: the name there, thousands of threads, workers, and how files leave.
const CONFIGURATIONS: [(&str, u32, u32, Version); 10] = [
    ("knot-c-20K-100w-10MB", 20, 100, Cache(10)),
    ("knot-c-20K-100w-100MB", 20, 100, Cache(100)),
    ("knot-c-20K-100w-1000MB", 20, 100, Cache(1000)),
    ("knot-nb-10K-25w", 10, 25, Nonblocking),
    ("knot-nb-15K-5w", 15, 5, Nonblocking),
    ("knot-nb-15K-25w", 15, 25, Nonblocking),
    ("knot-b-10K-50w", 10, 50, Blocking),
    ("knot-b-20K-50w", 20, 50, Blocking),
    ("knot-b-20K-100w", 20, 100, Blocking),
    ("knot-b-40K-50w", 40, 50, Blocking),
];

/// The paper's set (3.2), of which a cache is a share.
const SET_MB_OF_PAPER: u32 = 3200;

/// As great a part of the set as there: at least one, as less cannot be said.
fn cache_mb(of_paper: u32, setup: &Setup) -> u32 {
    let set_mb = disk::set_bytes(setup) / 1_000_000;
    (u64::from(of_paper) * set_mb).div_ceil(u64::from(SET_MB_OF_PAPER)) as u32
}

/// The largest file is 921,600 bytes; with a cache of its own all are kept in it.
const LARGEST_KB: u32 = 1024;

fn names(setup: &Setup) -> Vec<(Subject, String)> {
    if !setup.subjects.is_empty() {
        return setup.subjects.iter().map(|of| (of.clone(), of.label())).collect();
    }
    let of = |(name, thousands, workers, version): (&str, u32, u32, Version)| {
        (subject(setup, (thousands, workers), &version), String::from(name))
    };
    CONFIGURATIONS.map(of).into()
}

/// The configuration that figures 1 to 3 found best, by what figure 7 calls it: `knot-b`. In table
/// 1 knot-nb has 50 workers, which are no better than 25 (4.4).
pub(super) fn best(setup: &Setup, version: &str) -> Option<Subject> {
    let shown = ["knot-c-20K-100w-1000MB", "knot-nb-15K-25w", "knot-b-20K-100w"];
    let is_it = |(name, ..): &&(&str, u32, u32, Version)| {
        shown.contains(name) && name.strip_prefix(version).is_some_and(|of| of.starts_with('-'))
    };
    let (_, thousands, workers, version) = CONFIGURATIONS.iter().find(is_it)?;
    Some(subject(setup, (*thousands, *workers), version))
}

fn subject(setup: &Setup, (thousands, workers): (u32, u32), version: &Version) -> Subject {
    let threads = (thousands * disk::thousand(setup)).to_string();
    let (sendfile, small_kb) = match version {
        Cache(_) => ("off", LARGEST_KB),
        Nonblocking => ("nonblocking", 0),
        Blocking => ("blocking", 0),
    };
    let mut knobs: Vec<(&str, String)> = vec![
        ("connections-max", threads),
        ("helpers", workers.to_string()),
        ("send-buffer-kb", "208".into()),
        ("poller", "poll".into()),
        ("sendfile", sendfile.into()),
        ("small-file-kb", small_kb.to_string()),
    ];
    if let Cache(mb) = version {
        knobs.push(("cache-mb", cache_mb(*mb, setup).to_string()));
    }
    let knobs = knobs.into_iter().map(|(knob, value)| (knob.into(), value)).collect();
    Subject { name: "knot".into(), knobs }
}

fn design(setup: &Setup, disk: Option<Disk>) -> Design {
    let subjects = names(setup).into_iter().map(|(of, _)| of).collect();
    disk::design(EXPERIMENT.name, setup, subjects, disk)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let (design, names) = (design(setup, disk::found(setup, known)), names(setup));
    let title = "Threads, workers and the cache of Knot";
    let mut section = disk::section((&EXPERIMENT, title), setup, (&design, &names), known, &CLAIMS);
    section.question.push(format!(
        "Legends have the paper's names: nb-15K-5w are 15,000 threads and 5 workers, c-20K-100w \
         has a cache beside them. 10,000 threads are {} here, and workers as many as there; \
         caches of 10, 100 and 1,000 MB are {} MiB, as great parts of the set.",
        10 * disk::thousand(setup),
        [10, 100, 1000].map(|of| cache_mb(of, setup).to_string()).join(", ")
    ));
    let figure = |version: &str, figure: &str, what: &str| {
        let title = format!("Tuning Knot, {what} (Pariag07 {figure})");
        let of = (version, title.as_str());
        let mut figure = disk::figure(&design, known, &names, of, &metric::SERVER_MBIT);
        if setup.subjects.is_empty() {
            figure.series.retain(|series| series.label.starts_with(version));
        }
        figure
    };
    section.figures = vec![
        figure("knot-c", "figure 1", "contents in memory of its own"),
        figure("knot-nb", "figure 2", "non-blocking sendfile"),
        figure("knot-b", "figure 3", "blocking sendfile"),
    ];
    vec![section]
}

pub(super) const CLAIMS: [Claim; 10] = [
    Claim {
        figure: "Pariag07 figure 1",
        paper: "between 100 and 1,000 MB the size of the cache hardly matters",
        of: "knot-c-20K-100w-1000MB",
        to: One("knot-c-20K-100w-100MB"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 1",
        paper: "with 10 MB it begins to do worse",
        of: "knot-c-20K-100w-10MB",
        to: One("knot-c-20K-100w-1000MB"),
        says: Less,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 2",
        paper: "10,000 threads are too few, with any number of workers (at most 930 of 1,200 Mb/s)",
        of: "knot-nb-15K-25w",
        to: One("knot-nb-10K-25w"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 2",
        paper: "25 workers do substantially better for 15,000 threads than 5",
        of: "knot-nb-15K-25w",
        to: One("knot-nb-15K-5w"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 3",
        paper: "10,000 threads are too few (at most 960 of 1,230 Mb/s)",
        of: "knot-b-20K-100w",
        to: One("knot-b-10K-50w"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 3",
        paper: "50 workers are too few for 20,000 threads beyond the peak",
        of: "knot-b-20K-50w",
        to: One("knot-b-20K-100w"),
        says: Less,
        what: What::At(&metric::GOODPUT, 2.0),
    },
    Claim {
        figure: "Pariag07 figure 3",
        paper: "for 40,000 threads they are still fewer than enough",
        of: "knot-b-40K-50w",
        to: One("knot-b-20K-50w"),
        says: Less,
        what: What::At(&metric::GOODPUT, 2.0),
    },
    Claim {
        figure: "Pariag07 4.4",
        paper: "where workers run short poll is asked about more descriptors",
        of: "knot-b-20K-50w",
        to: One("knot-b-20K-100w"),
        says: More,
        what: What::At(&metric::INTEREST, 2.0),
    },
    Claim {
        figure: "Pariag07 10",
        paper: "knot-nb gives 7 to 9 % more than knot-c",
        of: "knot-nb-15K-25w",
        to: One("knot-c-20K-100w-1000MB"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 10",
        paper: "knot-b gives 11 to 18 % more than knot-c",
        of: "knot-b-20K-100w",
        to: One("knot-c-20K-100w-1000MB"),
        says: More,
        what: What::Capacity,
    },
];
