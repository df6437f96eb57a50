//! What do more clients do to each of five architectures? (Choi05 figure 8.)
//!
//! The paper's main trace with 2 GB for its 5.7 GB, and 500 to 2,500 clients; here with 32 to
//! 1,000.

use super::choi05::{AMPED, At, CROWD, CSE, Case, Claim, MP, MT, PIPELINED, SPED, Slate};
use crate::claim::Says::{self, Less, More};
use crate::experiment::Experiment;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05-clients",
    paper: "Choi05 figure 8",
    is_as_in_papers: true,
    question: "what do more clients do to each of five architectures?",
    ignores: &["workload", "memory-percent"],
    plan: |setup, _| SLATE.plan(setup),
    sections: |setup, known| vec![SLATE.section(setup, known)],
};

pub(super) const SLATE: Slate = Slate {
    experiment: &EXPERIMENT,
    title: "Five architectures by clients",
    axis: "clients",
    cases: &[
        case("32 clients", 32),
        case("125 clients", 125),
        case(FIVE_HUNDRED.0, 500),
        case(MOST.0, 1_000),
    ],
    models: &[MP, MT, CROWD, SPED, AMPED, PIPELINED],
    claims: &CLAIMS,
    left_out: "1,000 clients stand for the 1,500 to 2,500 of figures 8 (b) to (d). Left out are \
               that PIPELINED's advantage over MT grows with the clients, as a claim is of two \
               figures and that is of four; and that MT's threads wait a fifth longer for locks \
               with 2,500 clients than with 500, as no server counts for how long they do. MT with \
               1,024 threads has one for each client, as many as the paper says that it needs then \
               (6.3).",
};

/// Of the set: 2 GB of 5.7.
const MEMORY_PERCENT: u32 = 35;

const fn case(name: &'static str, clients: u32) -> Case {
    Case { name, clients, memory_percent: Some(MEMORY_PERCENT), ..CSE }
}

const FIVE_HUNDRED: At = ("500 clients", 2);
const MOST: At = ("1,000 clients", 2);

const CLAIMS: [Claim; 7] = [
    claim(
        "with 500 clients PIPELINED answers up to 12 % more than MT",
        (PIPELINED, FIVE_HUNDRED, More, &[MT]),
    ),
    claim(
        "with 500 clients PIPELINED and MT are the best: PIPELINED",
        (PIPELINED, FIVE_HUNDRED, More, &[MP, SPED, AMPED]),
    ),
    claim(
        "with 500 clients PIPELINED and MT are the best: MT",
        (MT, FIVE_HUNDRED, More, &[MP, SPED, AMPED]),
    ),
    claim(
        "with 1,500 to 2,500 clients PIPELINED answers 18 to 26 % more than MT",
        (PIPELINED, MOST, More, &[MT]),
    ),
    claim(
        "MT needs many threads then, which take memory from the cache: PIPELINED answers more",
        (PIPELINED, MOST, More, &[CROWD]),
    ),
    claim(
        "MP is the worst with 500 clients",
        (MP, FIVE_HUNDRED, Less, &[MT, SPED, AMPED, PIPELINED]),
    ),
    claim(
        "MP is the worst with 1,500 to 2,500 clients",
        (MP, MOST, Less, &[MT, SPED, AMPED, PIPELINED]),
    ),
];

const fn claim(
    paper: &'static str,
    (of, at, says, to): (&'static str, At, Says, &'static [&'static str]),
) -> Claim {
    Claim { figure: EXPERIMENT.paper, paper, of, at, says, to, there: &[] }
}
