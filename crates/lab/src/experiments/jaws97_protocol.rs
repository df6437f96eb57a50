//! What are savings in protocol processing worth? (JAWS97 figure 12.)
//!
//! JAWS' baseline, and the same with one of them each, and with all.

use super::frame::Rival::One;
use super::jaws97::{At, BASELINE, Claim, SAVING, Variants};
use crate::claim::Says::More;
use crate::experiment::Experiment;
use crate::metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-protocol",
    paper: "JAWS97 figure 12",
    is_as_in_papers: true,
    question: "what are cached heads, a cached date and gather-write worth?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| VARIANTS.plan(setup),
    sections: |setup, known| vec![VARIANTS.section(setup, known)],
};

pub(super) const VARIANTS: Variants = Variants {
    experiment: &EXPERIMENT,
    repeats: 3,
    title: "Savings in protocol processing",
    number: "figure 12",
    largest_percent: None,
    subjects: &[
        (BASELINE, "baseline"),
        (
            "mt:cache-locks=1,date-cache=off,gather=off,threads=20,threads-min=20",
            "baseline + cached heads",
        ),
        (
            "mt:cache-locks=1,gather=off,head-cache=off,threads=20,threads-min=20",
            "baseline + cached date",
        ),
        (
            "mt:cache-locks=1,date-cache=off,head-cache=off,threads=20,threads-min=20",
            "baseline + gather-write",
        ),
        (SAVING, "all three"),
        // Not in the paper: the same where threads and processes are made in other ways.
        (
            "thread-per-request:cache-locks=1,date-cache=off,gather=off,head-cache=off",
            "a thread for each request, baseline",
        ),
        ("thread-per-request:cache-locks=1", "a thread for each request, all three"),
        ("mp:date-cache=off,gather=off,head-cache=off,processes=20", "20 processes, baseline"),
        ("mp:processes=20", "20 processes, all three"),
    ],
    claims: &[Claim {
        figure: "JAWS97 figure 12",
        paper: "cached heads, a cached date and gather-write give about 65 % more throughput",
        of: (SAVING, At::Most),
        to: (One(BASELINE), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    }],
};
