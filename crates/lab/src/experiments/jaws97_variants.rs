//! What is each of JAWS' savings worth? (JAWS97 figures 12, 13 and 15.)
//!
//! Three questions of the same form: a baseline, and the same with one thing changed.

use super::jaws97;
use crate::closed::Closed;
use crate::curves;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Comparison, Section};
use crate::setup::Setup;
use crate::subject::Subject;

pub(super) const PROTOCOL: Experiment = Experiment {
    name: "jaws97-protocol",
    paper: "JAWS97 figure 12",
    question: "what are cached heads, a cached date and gather-write worth?",
    plan: |setup, _| closed(&PROTOCOL, setup, &PROTOCOL_SUBJECTS).plan(),
    sections: |setup, known| {
        let closed = closed(&PROTOCOL, setup, &PROTOCOL_SUBJECTS);
        let comparison = versus(
            &closed,
            known,
            "JAWS97 figure 12",
            "cached heads, a cached date and gather-write together give about 65 % more throughput",
            true,
        );
        vec![section(
            &PROTOCOL,
            "Savings in protocol processing (JAWS97)",
            &closed,
            known,
            comparison,
        )]
    },
};

pub(super) const THREADS: Experiment = Experiment {
    name: "jaws97-threads",
    paper: "JAWS97 figure 13",
    question: "how many threads should a pool have?",
    plan: |setup, _| closed(&THREADS, setup, &THREADS_SUBJECTS).plan(),
    sections: |setup, known| {
        let closed = closed(&THREADS, setup, &THREADS_SUBJECTS);
        let comparison = versus(
            &closed,
            known,
            "JAWS97 figure 13",
            "6 threads do as well as 42; one thread alone does worse with more than 24 clients",
            true,
        );
        vec![section(&THREADS, "Sizes of a thread pool (JAWS97)", &closed, known, comparison)]
    },
};

pub(super) const CACHE: Experiment = Experiment {
    name: "jaws97-cache",
    paper: "JAWS97 figure 15",
    question: "what are locks of single entries worth in a cache that threads share?",
    plan: |setup, _| closed(&CACHE, setup, &CACHE_SUBJECTS).plan(),
    sections: |setup, known| {
        let closed = closed(&CACHE, setup, &CACHE_SUBJECTS);
        let comparison = versus(
            &closed,
            known,
            "JAWS97 figure 15",
            "locks of single entries give up to 40 % more throughput than one of the whole cache",
            true,
        );
        vec![section(&CACHE, "Locks of the file cache (JAWS97)", &closed, known, comparison)]
    },
};

/// The baseline first, what has all savings last.
const PROTOCOL_SUBJECTS: [&str; 5] = [
    "mt:head-cache=off,date-cache=off,gather=off",
    "mt:date-cache=off,gather=off",
    "mt:head-cache=off,gather=off",
    "mt:head-cache=off,date-cache=off",
    "mt",
];

const THREADS_SUBJECTS: [&str; 5] = [
    "mt:threads=1,threads-min=1",
    "mt:threads=6,threads-min=6",
    "mt:threads=12,threads-min=12",
    "mt:threads=24,threads-min=24",
    "mt:threads=42,threads-min=42",
];

const CACHE_SUBJECTS: [&str; 3] = ["mt:cache-locks=1", "mt:cache-locks=16", "mt:cache-locks=256"];

fn closed(of: &Experiment, setup: &Setup, subjects: &[&str]) -> Closed {
    jaws97::closed(of.name, setup, setup.subjects(subjects))
}

/// The last subject beside the first one.
fn versus(
    closed: &Closed,
    known: &Known<'_>,
    of: &str,
    paper: &str,
    is_more_there: bool,
) -> Vec<Comparison> {
    let (Some(first), Some(last)) = (closed.subjects.first(), closed.subjects.last()) else {
        return Vec::new();
    };
    let ratio = jaws97::ratio(closed, known, (last, first), &metric::CONNECTIONS);
    let words = |ratio: f64| {
        let most = closed.clients.last().copied().unwrap_or_default();
        let percent = curves::number((ratio - 1.0) * 100.0);
        format!("{percent} % more connections/s with {last} than with {first}, of {most} clients")
    };
    vec![jaws97::compared(of, paper, is_more_there, ratio, words)]
}

fn section(
    of: &Experiment,
    title: &str,
    closed: &Closed,
    known: &Known<'_>,
    comparisons: Vec<Comparison>,
) -> Section {
    Section {
        name: of.name.into(),
        title: title.into(),
        question: vec![format!(
            "{}. So many clients ask for WebStone's files, one request on each connection, and \
             again when they are answered.",
            capital(of.question)
        )],
        answer: closed.subjects.iter().filter_map(|of| at_most(closed, known, of)).collect(),
        comparisons,
        figures: jaws97::black_box(closed, known),
        tables: Vec::new(),
        excluded: curves::excluded(known, of.name),
        commands: curves::commands(known, of.name, &closed.subjects),
    }
}

fn at_most(closed: &Closed, known: &Known<'_>, of: &Subject) -> Option<String> {
    let spread = closed.at_most(known, of)?.spread(&metric::CONNECTIONS)?;
    let most = closed.clients.last()?;
    Some(format!("{of}: {} connections/s of {most} clients.", curves::spread_text(&spread)))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
