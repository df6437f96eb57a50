//! What are many locks worth in a cache that threads share? (JAWS97 figure 15.)

use super::frame::Rival::One;
use super::jaws97::{At, Claim, SAVING, Variants};
use crate::claim::Says::More;
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
             them, so that two threads seldom want the same.",
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
    title: "Locks of the file cache",
    number: "figure 15",
    largest_percent: None,
    subjects: &[
        (SAVING, "one lock"),
        ("mt:cache-locks=16,threads=20,threads-min=20", "16 locks"),
        (MANY_LOCKS, "256 locks"),
    ],
    claims: &[Claim {
        figure: "JAWS97 figure 15",
        paper: "locks of single entries give up to 40 % more throughput than one of the whole",
        of: (MANY_LOCKS, At::Most),
        to: (One(SAVING), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    }],
};

const MANY_LOCKS: &str = "mt:cache-locks=256,threads=20,threads-min=20";
