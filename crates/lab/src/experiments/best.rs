//! Which server and which knobs are best on this machine, and what happens at twice the load, with
//! clients that wait one second?
//!
//! The question of whoever has a site and expects a flood: Weir's architectures and others,
//! untuned, and tuned as `weir lab tune --all` has found, with the same effort for all. One small
//! file, one request on each connection: the flood of new clients of Brecht04 6.2.

use std::collections::BTreeSet;

use super::{frame, overload};
use crate::curves::{self, number};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{NONE, Section, Table};
use crate::setup::Setup;
use crate::subject::{Kind, Subject};
use crate::tuned;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "best",
    paper: "",
    is_as_in_papers: false,
    question: "which server and which knobs are best here, and what happens at twice the load?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, known| design(setup).plan(known),
    sections,
};

/// Weir's own, and whom a reader may have now.
pub(super) const SUBJECTS: [&str; 19] = [
    "sped",
    "symped",
    "shared-symped",
    "amped",
    "mt",
    "thread-per-request",
    "mp",
    "knot",
    "watpipe",
    "pipelined",
    "seda",
    "proactor",
    "tux",
    "nginx",
    "lighttpd",
    "h2o",
    "apache-event",
    "apache-prefork",
    "caddy",
];

/// Untuned, and with what a search has found: each has a capacity of its own.
fn design(setup: &Setup) -> Design {
    Design {
        multiples: &[0.9, 2.0],
        equal: &[0.0, 0.5],
        ..Design::of(
            EXPERIMENT.name,
            setup,
            setup.subjects(&SUBJECTS),
            (overload::load(setup, 1.0), overload::layout(setup)),
        )
    }
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let below = Design { multiples: &[0.9], ..design.clone() };
    vec![Section {
        question: [overload::question(&design), told_of_tuning(setup)].concat(),
        answer: answer(&design, known),
        figures: vec![
            curves::bars(&design, known, "replies", &metric::GOODPUT),
            curves::bars(&design, known, "p99", &metric::P99),
            // Beyond the capacity it is that of many requests without a reply.
            curves::bars(&below, known, "processor", &metric::CPU),
        ],
        tables: vec![
            settings(setup, &design, known),
            overload::kept(&design, known),
            curves::table(&design, known, &curves::OF_LOAD),
            curves::at_equal_rates(&design, known),
        ],
        ..frame::section(&EXPERIMENT, TITLE, known, &design.subjects)
    }]
}

const TITLE: &str = "Which server, which knobs, and what a flood does";

/// With how much both sides were tuned.
fn told_of_tuning(setup: &Setup) -> Vec<String> {
    let Some(tuned) = &setup.tuned else {
        return vec![format!(
            "Nobody is tuned, neither Weir nor the others: there is no {}, which weir lab tune \
             --all makes.",
            tuned::PLACE
        )];
    };
    let tried = |is_weir: bool| {
        let is_it = |of: &&tuned::Server| is_weir == matches!(of.of.kind(), Ok(Kind::Weir(_)));
        let tried: BTreeSet<usize> =
            tuned.servers.iter().filter(is_it).map(|of| of.tried).collect();
        let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
        if tried.is_empty() { String::from("none") } else { tried.join(" or ") }
    };
    vec![format!(
        "Settings that were tried of each server, under {}: of Weir's {}, of the others {}.",
        tuned.workload,
        tried(true),
        tried(false)
    )]
}

/// Each server untuned and tuned at the highest load.
fn settings(setup: &Setup, design: &Design, known: &Known<'_>) -> Table {
    let head = [
        "server",
        "settings tried",
        "best of them",
        "untuned, good replies/s",
        "tuned",
        "version when it was tuned",
        "has no knob for",
    ];
    let replies = |of: &Subject| {
        let cell = curves::at_multiple(design, known, of, 2.0);
        cell.map_or_else(|| NONE.into(), |cell| curves::told(cell, &metric::GOODPUT))
    };
    let servers = setup.tuned.iter().flat_map(|tuned| &tuned.servers);
    let asked = servers.filter(|server| design.subjects.contains(&server.of));
    let row = |server: &tuned::Server| {
        let is_better = server.best != server.of;
        let best = if is_better { server.best.to_string() } else { String::from("untuned") };
        let lacks = server.of.lacks();
        vec![
            server.of.to_string(),
            server.tried.to_string(),
            best,
            replies(&server.of),
            replies(&server.best),
            server.version.clone(),
            if lacks.is_empty() { NONE.into() } else { lacks.join(", ") },
        ]
    };
    Table {
        title: String::from("Untuned and tuned, at 2 times the capacity of each"),
        head: head.map(String::from).into(),
        rows: asked.map(row).collect(),
        notes: Vec::new(),
    }
}

/// Who is best, of Weir's and of the others, and who failed.
fn answer(design: &Design, known: &Known<'_>) -> Vec<String> {
    let is_server = |of: &&Subject| !matches!(of.kind(), Ok(Kind::Floor(_)));
    let is_weir = |of: &&Subject| matches!(of.kind(), Ok(Kind::Weir(_)));
    let servers = || design.subjects.iter().filter(is_server);
    let of = |who: &str, of: Vec<&Subject>| best(design, known, who, &of);
    let mut lines = Vec::new();
    lines.extend(of("the best of Weir's", servers().filter(is_weir).collect()));
    lines.extend(of("the best of the others", servers().filter(|of| !is_weir(of)).collect()));
    let is_failed = |of: &&Subject| frame::failed(design, known, of).is_some();
    let failed = servers().filter(is_failed).map(ToString::to_string);
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        lines.push(format!("Left out, as they failed verification: {}.", failed.join(", ")));
    }
    lines
}

/// Who answers most at twice the load, with those who may be as good.
fn best(design: &Design, known: &Known<'_>, who: &str, all: &[&Subject]) -> Option<String> {
    let good = |of: &&&Subject| frame::failed(design, known, of).is_none();
    let at_twice = |of| {
        let cell = curves::at_multiple(design, known, of, 2.0)?;
        Some((of, cell, cell.spread(&metric::GOODPUT)?))
    };
    let mut told: Vec<(&Subject, &Cell<'_>, Spread)> =
        all.iter().filter(good).copied().filter_map(at_twice).collect();
    told.sort_by(|(.., a), (.., b)| b.median.total_cmp(&a.median));
    let &(of, cell, replies) = told.first()?;
    let names: Vec<String> = told.iter().map(|(of, ..)| of.to_string()).collect();
    let ranked = names.iter().zip(&told).map(|(name, (_, cell, _))| (name.as_str(), *cell));
    let others = frame::beside_first(&metric::GOODPUT, &ranked.collect::<Vec<_>>());
    let capacity = design.capacity(known, of)?.replies_per_s;
    let p99 = cell
        .spread(&metric::GOOD_P99)
        .map_or_else(String::new, |p99| format!(", p99 of these {} ms", number(p99.median)));
    Some(format!(
        "At twice the capacity {who} is {of}: {} replies/s in time, {} % of its \
         capacity{p99}{}.{others}",
        number(replies.median),
        number(100.0 * replies.median / capacity),
        overload::no_overload(cell)
    ))
}
