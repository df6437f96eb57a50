//! What is each of JAWS' savings worth? (JAWS97 figures 12, 13 and 15; 14 where threads per request
//! are there.)
//!
//! Questions of the same form: JAWS' baseline (3.2.1), and the same with one thing changed. The
//! baseline has 20 threads, one lock for its whole cache, and makes heads and dates anew for each
//! reply.

use super::jaws97::{self, At, Claim};
use crate::claim::Says::{Alike, Less, More};
use crate::closed::Closed;
use crate::curves;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;

pub(super) const PROTOCOL: Experiment = Experiment {
    name: "jaws97-protocol",
    paper: "JAWS97 figure 12",
    question: "what are cached heads, a cached date and gather-write worth?",
    ignores: &[],
    plan: |setup, _| closed(&PROTOCOL_PART, setup).plan(),
    sections: |setup, known| vec![section(&PROTOCOL_PART, setup, known)],
};

pub(super) const THREADS: Experiment = Experiment {
    name: "jaws97-threads",
    paper: "JAWS97 figures 13 and 14",
    question: "how many threads should a pool have?",
    ignores: &[],
    plan: |setup, _| closed(&THREADS_PART, setup).plan(),
    sections: |setup, known| {
        let mut section = section(&THREADS_PART, setup, known);
        if servers::registry::architecture(PER_REQUEST).is_none() {
            section.question.push(String::from(
                "Figure 14, a thread for each request, is not here: no architecture is that.",
            ));
        }
        vec![section]
    },
};

pub(super) const CACHE: Experiment = Experiment {
    name: "jaws97-cache",
    paper: "JAWS97 figure 15",
    question: "what are locks of single entries worth in a cache that threads share?",
    ignores: &[],
    plan: |setup, _| closed(&CACHE_PART, setup).plan(),
    sections: |setup, known| {
        let mut section = section(&CACHE_PART, setup, known);
        section.question.push(String::from(
            "A lock is felt when threads run at the same time: the paper's machine had two \
             processors. Where the server has one, a thread seldom finds a lock taken, and no \
             difference is to be expected.",
        ));
        vec![section]
    },
};

/// One of the questions.
struct Part {
    experiment: &'static Experiment,
    title: &'static str,
    number: &'static str,
    /// Each with its name in the paper's terms.
    subjects: &'static [(&'static str, &'static str)],
    claims: &'static [Claim],
}

const PROTOCOL_PART: Part = Part {
    experiment: &PROTOCOL,
    title: "Savings in protocol processing",
    number: "figure 12",
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
    ],
    claims: &[Claim {
        figure: "JAWS97 figure 12",
        paper: "cached heads, a cached date and gather-write give about 65 % more throughput",
        of: (SAVING, At::Most),
        to: (BASELINE, At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    }],
};

const BASELINE: &str =
    "mt:cache-locks=1,date-cache=off,gather=off,head-cache=off,threads=20,threads-min=20";
const SAVING: &str = "mt:cache-locks=1,threads=20,threads-min=20";

const THREADS_PART: Part = Part {
    experiment: &THREADS,
    title: "Sizes of a thread pool",
    number: "figure 13",
    subjects: &[
        (ONE, "1 thread"),
        (SIX, "6 threads"),
        ("mt:threads=12,threads-min=12", "12 threads"),
        ("mt:threads=20,threads-min=20", "20 threads"),
        ("mt:threads=30,threads-min=30", "30 threads"),
        (MANY, "42 threads"),
        (PER_REQUEST, "a thread for each request"),
    ],
    claims: &[
        Claim {
            figure: "JAWS97 figure 13",
            paper: "6 threads do as well as 42",
            of: (SIX, At::Most),
            to: (MANY, At::Most),
            says: Alike,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 13",
            paper: "with one thread the throughput is low, above all with more than 24 clients",
            of: (ONE, At::Most),
            to: (SIX, At::Most),
            says: Less,
            metric: &metric::SERVER_MBIT,
        },
        Claim {
            figure: "JAWS97 figure 14",
            paper: "with more than 9 clients a thread for each request does better than a pool",
            of: (PER_REQUEST, At::Most),
            to: ("mt:threads=20,threads-min=20", At::Most),
            says: More,
            metric: &metric::SERVER_MBIT,
        },
    ],
};

const ONE: &str = "mt:threads=1,threads-min=1";
const SIX: &str = "mt:threads=6,threads-min=6";
const MANY: &str = "mt:threads=42,threads-min=42";
const PER_REQUEST: &str = "thread-per-request";

const CACHE_PART: Part = Part {
    experiment: &CACHE,
    title: "Locks of the file cache",
    number: "figure 15",
    subjects: &[
        (ONE_LOCK, "one lock"),
        ("mt:cache-locks=16,threads=20,threads-min=20", "16 locks"),
        (MANY_LOCKS, "256 locks"),
    ],
    claims: &[Claim {
        figure: "JAWS97 figure 15",
        paper: "locks of single entries give up to 40 % more throughput than one of the whole",
        of: (MANY_LOCKS, At::Most),
        to: (ONE_LOCK, At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    }],
};

const ONE_LOCK: &str = "mt:cache-locks=1,threads=20,threads-min=20";
const MANY_LOCKS: &str = "mt:cache-locks=256,threads=20,threads-min=20";

fn closed(part: &Part, setup: &Setup) -> Closed {
    let is_there = |text: &&str| {
        *text != PER_REQUEST || servers::registry::architecture(PER_REQUEST).is_some()
    };
    let own: Vec<&str> = part.subjects.iter().map(|row| row.0).filter(is_there).collect();
    jaws97::closed(part.experiment.name, setup, setup.subjects(&own))
}

fn section(part: &Part, setup: &Setup, known: &Known<'_>) -> Section {
    let closed = closed(part, setup);
    let name = part.experiment.name;
    let figures = jaws97::black_box(&closed, known, &[part.number]);
    Section {
        name: name.into(),
        title: format!("{} (JAWS97)", part.title),
        question: jaws97::question(&closed),
        answer: jaws97::answer(&closed, known, part.subjects),
        comparisons: jaws97::comparisons(&closed, known, part.subjects, part.claims),
        figures: jaws97::named(figures, &closed, part.subjects),
        tables: Vec::new(),
        excluded: curves::excluded(known, name),
        commands: curves::commands(known, name, &closed.subjects),
    }
}
