//! What are many locks worth in a cache that threads share? (JAWS97 figure 15.)

use super::frame::Rival::One;
use super::jaws97::{At, Claim, SAVING, Variants};
use crate::claim::Says::{About, More};
use crate::experiment::Experiment;
use crate::metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-cache",
    paper: "JAWS97 figure 15",
    is_as_in_papers: true,
    question: "what are many locks worth in a cache that threads share?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| VARIANTS.plan(setup),
    sections: |setup, known| {
        let mut section = VARIANTS.section(setup, known);
        section.question.push(String::from(
            "JAWS locks single entries of its cache. Here each of up to 256 locks guards a part of \
             them, so that two threads seldom want the same; or each entry has a lock of its own, \
             with a policy whose hits change nothing but their entry (`sieve`): then those who \
             find something share the lock of the whole, which one has alone while something comes \
             or goes.",
        ));
        section.question.push(String::from(
            "Locks cost time when threads run at the same time: the paper's machine had two \
             processors. Where the server has one, threads seldom wait for a lock, and no \
             difference is expected.",
        ));
        vec![section]
    },
};

pub(super) const VARIANTS: Variants = Variants {
    experiment: &EXPERIMENT,
    repeats: 10,
    title: "Locks of the file cache",
    number: "figure 15",
    largest_percent: None,
    subjects: &[
        (SAVING, "one lock"),
        ("mt:cache-locks=16,threads=20,threads-min=20", "16 locks"),
        (MANY_LOCKS, "256 locks"),
        (ENTRY_LOCKS, "a lock for each entry"),
    ],
    claims: &[
        Claim {
            figure: "JAWS97 figure 15",
            paper: "locks of single entries give more throughput than one of the whole",
            of: (ENTRY_LOCKS, At::Most),
            to: (One(SAVING), At::Most),
            says: More,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 15",
            paper: "up to 40 % more",
            of: (ENTRY_LOCKS, At::Most),
            to: (One(SAVING), At::Most),
            says: About(140),
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 15",
            paper: "the same, with locks of parts",
            of: (MANY_LOCKS, At::Most),
            to: (One(SAVING), At::Most),
            says: More,
            metric: &metric::SERVER_MBIT,
        },
    ],
};

const ENTRY_LOCKS: &str = "mt:cache-locks=entry,threads=20,threads-min=20";

const MANY_LOCKS: &str = "mt:cache-locks=256,threads=20,threads-min=20";
