//! What does more memory bring each of five architectures? (Choi05 figure 7.)
//!
//! The paper's main trace with 1 to 5 GB for its 5.7 GB; here with a quarter of the set, a half and
//! three quarters.

use super::choi05::{AMPED, At, CSE, Case, Claim, MODELS, MP, MT, PIPELINED, SPED, Slate};
use crate::claim::Says::{self, Alike, Less, More};
use crate::experiment::Experiment;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05-memory",
    paper: "Choi05 figure 7",
    is_as_in_papers: true,
    question: "what does more memory bring each of five architectures?",
    ignores: &["workload", "memory-percent"],
    plan: |setup, _| SLATE.plan(setup),
    sections: |setup, known| vec![SLATE.section(setup, known)],
};

pub(super) const SLATE: Slate = Slate {
    experiment: &EXPERIMENT,
    title: "Five architectures by memory",
    axis: "memory, of the set",
    cases: &[
        Case { name: A_QUARTER.0, memory_percent: Some(25), ..CSE },
        Case { name: A_HALF.0, memory_percent: Some(50), ..CSE },
        Case { name: MOST.0, memory_percent: Some(75), ..CSE },
    ],
    models: &MODELS,
    claims: &CLAIMS,
    left_out: "Figures 7 (a) to (c) have 1, 2 and 3 GB; a quarter and a half of the set stand for \
               the first and for the other two, and three quarters for (d), of which the text does \
               not say how much it has. Left out are that with 1 GB SPED and AMPED have most with \
               5 processors, that with 3 GB the disk is their limit beyond 12, and that \
               PIPELINED's advantage over them grows with memory: a claim is of two figures, and \
               that is of four.",
};

const A_QUARTER: At = ("25 %", 2);
const A_HALF: At = ("50 %", 2);
const MOST: At = ("75 %", 2);

const BUT_MP: [&str; 4] = [MT, SPED, AMPED, PIPELINED];

const CLAIMS: [Claim; 12] = [
    claim(
        "with 1 GB for 5.7 GB PIPELINED is the best",
        (PIPELINED, A_QUARTER, More, &[MP, MT, SPED, AMPED]),
    ),
    claim("with 1 GB MP is the worst", (MP, A_QUARTER, Less, &BUT_MP)),
    Claim {
        there: &[("25 %", 1)],
        ..claim(
            "with 1 GB the disk is the limit: PIPELINED answers no more with more processors",
            (PIPELINED, A_QUARTER, Alike, &[PIPELINED]),
        )
    },
    more_than_with_less("with 2 GB MP answers drastically more than with 1", MP, &[MP]),
    more_than_with_less("with 2 GB MT answers drastically more than with 1", MT, &[MT]),
    more_than_with_less("with 2 GB SPED answers drastically more than with 1", SPED, &[SPED]),
    more_than_with_less("with 2 GB AMPED answers drastically more than with 1", AMPED, &[AMPED]),
    more_than_with_less(
        "with 2 GB PIPELINED answers drastically more than with 1",
        PIPELINED,
        &[PIPELINED],
    ),
    claim(
        "with 2 and 3 GB PIPELINED answers more than SPED and AMPED",
        (PIPELINED, A_HALF, More, &[SPED, AMPED]),
    ),
    claim("with 2 and 3 GB MP is the worst", (MP, A_HALF, Less, &BUT_MP)),
    claim("with most memory PIPELINED answers 32 % more than MT", (PIPELINED, MOST, More, &[MT])),
    claim(
        "with most memory MP is the worst: the disk is its limit, and no other's",
        (MP, MOST, Less, &BUT_MP),
    ),
];

const fn claim(
    paper: &'static str,
    (of, at, says, to): (&'static str, At, Says, &'static [&'static str]),
) -> Claim {
    Claim { figure: EXPERIMENT.paper, paper, of, at, says, to, there: &[] }
}

const fn more_than_with_less(
    paper: &'static str,
    of: &'static str,
    itself: &'static [&'static str],
) -> Claim {
    Claim { there: &[A_QUARTER], ..claim(paper, (of, A_HALF, More, itself)) }
}
