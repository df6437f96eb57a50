//! How many threads should a pool have, and are they better made for each request? (JAWS97 figures
//! 13 and 14.)
//!
//! Pools of different sizes, with all savings. The paper guesses that a larger pool is better for
//! larger files (3.2.3): the same once more with more requests for the largest.

use super::frame::Rival::One;
use super::jaws97::{At, Claim, OPTIMISED, Variants};
use crate::claim::Says::{Alike, Less, More};
use crate::experiment::Experiment;
use crate::metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-threads",
    paper: "JAWS97 figures 13 and 14",
    is_as_in_papers: true,
    question: "how many threads should a pool have?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| VARIANTS.plan(setup),
    sections: |setup, known| vec![VARIANTS.section(setup, known)],
};

pub(super) const LARGE: Experiment = Experiment {
    name: "jaws97-threads-large",
    paper: "JAWS97 3.2.3",
    is_as_in_papers: true,
    question: "is a larger pool better where files are larger?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| WITH_LARGE.plan(setup),
    sections: |setup, known| vec![WITH_LARGE.section(setup, known)],
};

pub(super) const VARIANTS: Variants = Variants {
    experiment: &EXPERIMENT,
    repeats: 3,
    title: "Sizes of a thread pool",
    number: "figure 13",
    largest_percent: None,
    subjects: &SUBJECTS,
    claims: &[
        Claim {
            figure: "JAWS97 figure 13",
            paper: "6 threads do as well as 42",
            of: (SIX, At::Most),
            to: (One(MANY), At::Most),
            says: Alike,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 13",
            paper: "with one thread the throughput is low, above all with more than 24 clients",
            of: (ONE, At::Most),
            to: (One(SIX), At::Most),
            says: Less,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 14",
            paper: "with more than 9 clients a thread for each request does better than a pool",
            of: (PER_REQUEST, At::Most),
            to: (One(OPTIMISED), At::Most),
            says: More,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 14",
            paper: "with fewer a pool does better",
            of: (OPTIMISED, At::Few),
            to: (One(PER_REQUEST), At::Few),
            says: More,
            metric: &metric::SERVER_MBIT,
        },
    ],
};

/// 84 % of all bytes are the 5 MB of one reply in a hundred; of one in ten it is nearly all.
pub(super) const WITH_LARGE: Variants = Variants {
    experiment: &LARGE,
    repeats: 3,
    title: "Sizes of a thread pool where one request in ten is for 5 MB",
    number: "figure 13",
    largest_percent: Some(10),
    subjects: &SUBJECTS,
    claims: &[Claim {
        figure: "JAWS97 3.2.3",
        paper: "with larger files a larger pool may be better (a guess of the paper's)",
        of: (MANY, At::Most),
        to: (One(SIX), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    }],
};

const SUBJECTS: [(&str, &str); 8] = [
    (ONE, "1 thread"),
    (SIX, "6 threads"),
    ("mt:threads=12,threads-min=12", "12 threads"),
    (OPTIMISED, "20 threads"),
    ("mt:threads=30,threads-min=30", "30 threads"),
    (MANY, "42 threads"),
    (PER_REQUEST, "a thread for each request"),
    // Not in the paper: as many as there are clients.
    ("mp:processes=42", "42 processes"),
];

const ONE: &str = "mt:threads=1,threads-min=1";
const SIX: &str = "mt:threads=6,threads-min=6";
const MANY: &str = "mt:threads=42,threads-min=42";
const PER_REQUEST: &str = "thread-per-request";
