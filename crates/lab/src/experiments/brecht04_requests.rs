//! How many connections should be taken at a time, the fewer requests there are on each of them?
//! (Brecht04 7.)
//!
//! The paper says that real clients have 1.2 to 2.7 requests on a connection where SPECweb99's have
//! 7.2, that 28 % of theirs are conditional, and that half of their replies have less than 230
//! bytes; so that new connections come more often than in its sessions. It measures none of that.
//! Here are loads that differ in nothing but the requests of a connection: one, two and seven.

use super::brecht04::{self, AUTO, At, Claim};
use super::frame;
use crate::claim::Says::{Less, More};
use crate::compare::{self, Ratio};
use crate::curves::{number, ratio_text};
use crate::design::{Design, Plan};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::{NONE, Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;

/// Requests of a connection, with the experiment's name and question.
const LOADS: [(u32, &str, &str); 3] = [
    (
        1,
        "brecht04-requests-1",
        "how many connections should be taken at a time if each asks once, as a browser may?",
    ),
    (
        2,
        "brecht04-requests-2",
        "how many connections should be taken at a time if each asks twice, as browsers do?",
    ),
    (
        7,
        "brecht04-requests-7",
        "how many connections should be taken at a time if browsers asked seven times on each?",
    ),
];

/// The experiment of a load.
pub(super) const fn experiment<const AT: usize>() -> Experiment {
    let (_, name, question) = LOADS[AT];
    Experiment {
        name,
        paper: "Brecht04 7",
        is_as_in_papers: true,
        question,
        ignores: &["workload", "disk", "memory-percent"],
        plan: plan::<AT>,
        sections: sections::<AT>,
    }
}

/// All of them.
pub(super) const EXPERIMENTS: [Experiment; 3] =
    [experiment::<0>(), experiment::<1>(), experiment::<2>()];

/// Who accepts how.
const LIMITS: [&str; 4] = ["1", "10", "inf", AUTO];
const SERVERS: [(&str, &[&str]); 2] = [("sped", &LIMITS), ("tux", &LIMITS)];

/// Of one processor, what the server's processes have.
const QUOTA_PERCENT: u32 = 20;

/// Of the capacity: below it, where TUX' accept-limits differ most (6.1, 6.2), and beyond.
const MULTIPLES: &[f64] = &[0.9, 1.1, 1.5, 2.0];

/// Where what an accept-limit is worth is set beside other loads: 30,000 requests/s of the paper's
/// one-packet workload.
const FAR_BEYOND: f64 = 1.5;

fn design(setup: &Setup, (requests, experiment, _): (u32, &'static str, &str)) -> Design {
    let load = Load {
        workload: String::from("synthetic"),
        seconds: setup.seconds(2.0),
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 15.0 } else { 1.0 })),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    // 2,000 files of 1,000 bytes on the average: half of the replies have less than some 230.
    let load = load.with("mean-bytes", 1_000).with("cache-mb", 0.5);
    let load = load.with("session-requests", requests).with("conditional", 0.28);
    let load = load.with("patience", setup.patience_s(1.0));
    let design = brecht04::design_of(&SERVERS, experiment, setup, (load, QUOTA_PERCENT));
    Design { multiples: MULTIPLES, ..design }
}

fn plan<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Plan {
    design(setup, LOADS[AT]).plan(known)
}

fn sections<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let requests = LOADS[AT].0;
    let design = design(setup, LOADS[AT]);
    let mut question = vec![format!(
        "Each connection has {requests} of these requests, one after the other: for 2,000 files \
         with 2 MB, of which half of the replies have less than some 230 bytes, and 28 % of them \
         ask whether a copy is still current. The paper names these figures and measures none of \
         that: what stands beside it below is what it says of its own workloads."
    )];
    question.extend(brecht04::question(&design));
    let figures = SERVERS.iter().flat_map(|(name, _)| {
        let of = brecht04::only(&design, |of| of.name == *name);
        let rows = [("replies", &metric::REPLIES), ("drops", &metric::DROPS)];
        rows.map(|(file, metric)| {
            let title = format!("{name}: {}, {requests} on a connection", metric.label);
            brecht04::over_targets(&of, known, (&format!("{file}-{name}"), title), metric)
        })
    });
    let title = format!("Accept-limits with {requests} requests on a connection (Brecht04 7)");
    vec![Section {
        question,
        answer: brecht04::answer(&design, known),
        comparisons: brecht04::comparisons(&design, known, &CLAIMS),
        figures: figures.collect(),
        tables: vec![worth(setup, known), brecht04::equation_1(&design, known)],
        ..frame::section(&EXPERIMENTS[AT], title, known, &design.subjects)
    }]
}

/// What the paper's two directions are worth under each of the loads that were measured together:
/// an accept-limit matters more, the fewer requests there are on a connection (7).
fn worth(setup: &Setup, known: &Known<'_>) -> Table {
    const ROWS: [(&str, &str, &str); 2] = [("sped", "inf", "1"), ("tux", "1", "inf")];
    let mut rows = Vec::new();
    for load in LOADS {
        let design = design(setup, load);
        for (name, more, less) in ROWS {
            let of = |limit| brecht04::at(&design, known, (name, limit), At::Load(FAR_BEYOND));
            let (Some(a), Some(b)) = (of(more), of(less)) else { continue };
            let pairs = a.pairs(b, &metric::REPLIES);
            let ratio = Ratio::of(&pairs, compare::MISSED_SHARE);
            let told = |of: &Cell<'_>| {
                of.judged(&metric::REPLIES).map_or_else(|| NONE.into(), |of| number(of.median))
            };
            rows.push(vec![
                load.0.to_string(),
                format!("{name}: {more} beside {less}"),
                told(a),
                told(b),
                ratio.map_or_else(|| NONE.into(), |ratio| ratio_text(&ratio)),
            ]);
        }
    }
    let head = [
        "requests on a connection",
        "accept-limits",
        "replies/s with the first",
        "with the second",
        "ratio (95 % interval)",
    ];
    Table {
        title: format!("What the accept-limit is worth at {FAR_BEYOND} times the capacity"),
        head: head.map(String::from).into(),
        rows,
        notes: vec![String::from(
            "The other numbers of requests stand here where they were measured in the same run.",
        )],
    }
}

pub(super) const CLAIMS: [Claim; 6] = [
    Claim {
        figure: "Brecht04 7",
        paper: "under both of the paper's workloads the µserver answers more with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(FAR_BEYOND),
    },
    Claim {
        figure: "Brecht04 7",
        paper: "under both TUX answers more with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 7",
        paper: "under both the µserver drops fewer connections with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(FAR_BEYOND),
    },
    Claim {
        figure: "Brecht04 7",
        paper: "under both TUX drops fewer connections with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 7",
        paper: "by equation 1 the µserver accepts faster with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::EQUATION_1,
        at: At::Load(FAR_BEYOND),
    },
    Claim {
        figure: "Brecht04 7",
        paper: "by equation 1 TUX accepts faster with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::EQUATION_1,
        at: At::Load(1.1),
    },
];
