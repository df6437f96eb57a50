//! How many threads should a pool have? (JAWS97 figure 13; 14 where a thread for each request is
//! there.)
//!
//! Pools of different sizes, with all savings.

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
    sections: |setup, known| {
        let mut section = VARIANTS.section(setup, known);
        if servers::architectures::architecture(PER_REQUEST).is_none() {
            section.question.push(String::from(
                "Figure 14, a thread for each request, is not here: that architecture is not \
                 built.",
            ));
        }
        vec![section]
    },
};

pub(super) const VARIANTS: Variants = Variants {
    experiment: &EXPERIMENT,
    title: "Sizes of a thread pool",
    number: "figure 13",
    subjects: &[
        (ONE, "1 thread"),
        (SIX, "6 threads"),
        ("mt:threads=12,threads-min=12", "12 threads"),
        (OPTIMISED, "20 threads"),
        ("mt:threads=30,threads-min=30", "30 threads"),
        (MANY, "42 threads"),
        (PER_REQUEST, "a thread for each request"),
    ],
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

const ONE: &str = "mt:threads=1,threads-min=1";
const SIX: &str = "mt:threads=6,threads-min=6";
const MANY: &str = "mt:threads=42,threads-min=42";
const PER_REQUEST: &str = "thread-per-request";
