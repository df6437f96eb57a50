//! Is PIPELINED the best of five architectures, whatever is asked for? (Choi05 figure 6.)
//!
//! Each of the paper's six traces, with as much memory as it has for them, and 1,000 clients.

use super::choi05::{AMPED, At, CSE, Case, Claim, MODELS, MP, MT, PIPELINED, SPED, Slate};
use crate::claim::Says::{self, Alike, Less, More};
use crate::experiment::Experiment;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05-architectures",
    paper: "Choi05 figure 6",
    is_as_in_papers: true,
    question: "is PIPELINED the best of five architectures, whatever is asked for?",
    ignores: &["workload"],
    plan: |setup, _| SLATE.plan(setup),
    sections: |setup, known| vec![SLATE.section(setup, known)],
};

pub(super) const SLATE: Slate = Slate {
    experiment: &EXPERIMENT,
    title: "Five architectures under six traces",
    axis: "trace",
    cases: &CASES,
    models: &MODELS,
    claims: &CLAIMS,
    left_out: "Left out of figure 6 are that the difference grows with each processor, which two \
               cannot show; that PIPELINED is by far the best with UC Berkeley's trace, which it \
               is beyond 3 processors; and that SPED and AMPED lose beyond 8 with Penn State's.",
};

/// In the order of table 4.
const CASES: [Case; 6] = [
    CSE,
    case("UC Berkeley", "choi-ucb", 0.033),
    case("Penn State", "choi-penn-state", 0.08),
    case("Clarknet", "choi-clarknet", 0.5),
    case("NASA", "choi-nasa", 0.8),
    case("WorldCup98", "choi-worldcup98", 1.0),
];

const fn case(name: &'static str, trace: &'static str, scale: f64) -> Case {
    Case { name, trace, scale, ..CSE }
}

const OF_CSE: At = ("Penn State CSE", 2);
const OF_UCB: At = ("UC Berkeley", 2);
const OF_PENN_STATE: At = ("Penn State", 2);
const OF_CLARKNET: At = ("Clarknet", 2);
const OF_NASA: At = ("NASA", 2);
const OF_WORLD_CUP: At = ("WorldCup98", 2);

const BUT_MP: [&str; 4] = [MT, SPED, AMPED, PIPELINED];
const BUT_AMPED: [&str; 4] = [MP, MT, SPED, PIPELINED];

const CLAIMS: [Claim; 18] = [
    claim(
        "with Penn State CSE's trace PIPELINED answers up to 30 % more than MT, SPED and AMPED",
        (PIPELINED, OF_CSE, More, &[MT, SPED, AMPED]),
    ),
    claim(
        "there SPED answers less than AMPED, as the disk blocks it",
        (SPED, OF_CSE, Less, &[AMPED]),
    ),
    claim(
        "with UC Berkeley's trace and up to 3 processors AMPED is the best: with one",
        (AMPED, ("UC Berkeley", 1), More, &BUT_AMPED),
    ),
    claim(
        "with UC Berkeley's trace and up to 3 processors AMPED is the best: with two",
        (AMPED, OF_UCB, More, &BUT_AMPED),
    ),
    claim(
        "with Penn State's trace and up to 8 processors SPED does as well as PIPELINED",
        (SPED, OF_PENN_STATE, Alike, &[PIPELINED]),
    ),
    claim(
        "with Penn State's trace and up to 8 processors AMPED does as well as PIPELINED",
        (AMPED, OF_PENN_STATE, Alike, &[PIPELINED]),
    ),
    claim(
        "with Penn State's trace MT answers less than PIPELINED",
        (MT, OF_PENN_STATE, Less, &[PIPELINED]),
    ),
    claim(
        "Clarknet's trace is like Penn State's: MT answers less than PIPELINED",
        (MT, OF_CLARKNET, Less, &[PIPELINED]),
    ),
    claim(
        "with WorldCup98's trace MT does as well as PIPELINED",
        (MT, OF_WORLD_CUP, Alike, &[PIPELINED]),
    ),
    claim(
        "with WorldCup98's trace PIPELINED answers more than SPED, AMPED and MP",
        (PIPELINED, OF_WORLD_CUP, More, &[SPED, AMPED, MP]),
    ),
    Claim {
        there: &[OF_CSE, OF_UCB, OF_PENN_STATE, OF_CLARKNET, OF_NASA],
        ..claim(
            "most is answered with WorldCup98's trace",
            (PIPELINED, OF_WORLD_CUP, More, &[PIPELINED]),
        )
    },
    claim(
        "NASA's trace is like WorldCup98's: MT does as well as PIPELINED",
        (MT, OF_NASA, Alike, &[PIPELINED]),
    ),
    claim("with Penn State CSE's trace MP is the worst", (MP, OF_CSE, Less, &BUT_MP)),
    claim("with UC Berkeley's trace MP is the worst", (MP, OF_UCB, Less, &BUT_MP)),
    claim("with Penn State's trace MP is the worst", (MP, OF_PENN_STATE, Less, &BUT_MP)),
    claim("with Clarknet's trace MP is the worst", (MP, OF_CLARKNET, Less, &BUT_MP)),
    claim("with NASA's trace MP is the worst", (MP, OF_NASA, Less, &BUT_MP)),
    claim("with WorldCup98's trace MP is the worst", (MP, OF_WORLD_CUP, Less, &BUT_MP)),
];

const fn claim(
    paper: &'static str,
    (of, at, says, to): (&'static str, At, Says, &'static [&'static str]),
) -> Claim {
    Claim { figure: EXPERIMENT.paper, paper, of, at, says, to, there: &[] }
}
