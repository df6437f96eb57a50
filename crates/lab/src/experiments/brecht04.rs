//! How many connections should a server take at a time? (Brecht04 figures 2 to 17.)
//!
//! The accept-limit of three servers under two workloads: the µserver is `sped`; Knot and TUX join
//! where this build has them. Each server's curves are over the same rates, which are multiples of
//! the capacity that it has with an accept-limit of infinity.
//!
//! What today's kernels cannot show: the paper's SYN queue of 1,024 and accept queue of 128 are one
//! bound now, that of the backlog, so that a SYN queue never fills before the accept queue, and
//! with SYN cookies it drops nothing. Its classes of drops are told as far as counters tell them
//! apart.

use crate::curves;
use crate::design::{Design, OF_CAPACITY, Plan, RATE};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Agreement, Comparison, Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::testbed::Layout;

pub(super) const ONE_PACKET: Experiment = Experiment {
    name: "brecht04-one-packet",
    paper: "Brecht04 figures 8 to 13, 15 and 16",
    question: "how many connections should be taken at a time in a flood of new clients?",
    plan: one_packet_plan,
    sections: one_packet_sections,
};

pub(super) const SPECWEB99: Experiment = Experiment {
    name: "brecht04-specweb99",
    paper: "Brecht04 figures 2 to 7, 14 and 17",
    question: "and how many if each of them has more to ask?",
    plan: specweb99_plan,
    sections: specweb99_sections,
};

/// By the paper's names, with the architecture that is each.
const SERVERS: [(&str, &str); 3] = [("µserver", "sped"), ("Knot", "knot"), ("TUX", "tux")];

/// Of the paper's figures; infinity is what rates are multiples of.
const LIMITS: [&str; 3] = ["1", "10", "inf"];

/// As in the paper, so that the accept queue fills as it did there.
const BACKLOG: &str = "128";

fn subjects(setup: &Setup) -> Vec<Subject> {
    if !setup.subjects.is_empty() {
        return setup.subjects.clone();
    }
    let there = SERVERS.iter().filter(|(_, name)| servers::registry::architecture(name).is_some());
    let of = |name: &str, limit: &str| Subject {
        name: name.into(),
        knobs: [("accept-limit", limit), ("backlog", BACKLOG)]
            .map(|(knob, value)| (knob.into(), value.into()))
            .into(),
    };
    there.flat_map(|(_, name)| LIMITS.map(|limit| of(name, limit))).collect()
}

fn basis(of: &Subject) -> Subject {
    crate::tuning::with_knob(of, "accept-limit", "inf")
}

fn design(experiment: &'static str, setup: &Setup, load: Load, quota_percent: u32) -> Design {
    Design {
        experiment,
        subjects: subjects(setup),
        layout: Layout {
            is_loopback: setup.is_loopback,
            quota_percent: setup.quota_percent(quota_percent),
            round_trip_ms: setup.round_trip_ms,
            ..Layout::default()
        },
        sweep_s: load.seconds,
        load,
        sweep: &[0.8, 1.0, 1.2],
        multiples: &[0.7, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0],
        sweep_repeats: setup.repeats(3),
        repeats: setup.repeats(3),
        basis,
    }
}

fn one_packet(setup: &Setup) -> Design {
    let load = Load {
        workload: String::from("one-packet"),
        seconds: setup.seconds(2.0),
        warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
        flags: Default::default(),
        idle_connections: 0,
    };
    // With the 15 s of httperf's clients, a flood takes as long to show what it does.
    let patience = if setup.is_paper { 15 } else { 1 };
    design(ONE_PACKET.name, setup, load.with("patience", patience), 20)
}

fn specweb99(setup: &Setup) -> Design {
    let load = Load {
        workload: String::from("specweb99"),
        seconds: setup.seconds(4.0),
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 30.0 } else { 3.0 })),
        flags: Default::default(),
        idle_connections: 0,
    };
    // Shorter thoughts: as many sessions at a time in a run of seconds as theirs had in minutes.
    let load = if setup.is_paper {
        load.with("patience", 15)
    } else {
        load.with("patience", 1).with("think-scale", 0.1)
    };
    // The whole set is in memory there (6.1): here a smaller one, which is made sooner.
    design(SPECWEB99.name, setup, load.with("dirs", 60), 40)
}

fn one_packet_plan(setup: &Setup, known: &Known<'_>) -> Plan {
    one_packet(setup).plan(known)
}

fn specweb99_plan(setup: &Setup, known: &Known<'_>) -> Plan {
    specweb99(setup).plan(known)
}

fn one_packet_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = one_packet(setup);
    let comparisons = comparisons(&design, known, &ONE_PACKET_CLAIMS);
    vec![section(
        &ONE_PACKET,
        "Accept-limits in a flood of new clients",
        &design,
        known,
        comparisons,
    )]
}

fn specweb99_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = specweb99(setup);
    let comparisons = comparisons(&design, known, &SPECWEB99_CLAIMS);
    vec![section(&SPECWEB99, "Accept-limits with sessions", &design, known, comparisons)]
}

/// Something that a figure shows: of which server, where, and that one limit has more of a metric
/// than another.
struct Claim {
    figure: &'static str,
    server: &'static str,
    paper: &'static str,
    /// More, then less.
    limits: (&'static str, &'static str),
    metric: &'static Metric,
    /// Of the capacity.
    at: f64,
}

const ONE_PACKET_CLAIMS: [Claim; 3] = [
    Claim {
        figure: "Brecht04 figure 8",
        server: "sped",
        paper: "at 30,000 requests/s the µserver answers 71 % more with inf than with 1",
        limits: ("inf", "1"),
        metric: &metric::REPLIES,
        at: 1.5,
    },
    Claim {
        figure: "Brecht04 figure 8",
        server: "sped",
        paper: "accept-limit 10 has a slightly higher peak than inf",
        limits: ("10", "inf"),
        metric: &metric::REPLIES,
        at: 1.0,
    },
    Claim {
        figure: "Brecht04 figures 9 and 16",
        server: "sped",
        paper: "beyond saturation accept-limit 1 drops more connections than inf",
        limits: ("1", "inf"),
        metric: &metric::DROPS,
        at: 1.5,
    },
];

const SPECWEB99_CLAIMS: [Claim; 3] = [
    Claim {
        figure: "Brecht04 figure 2",
        server: "sped",
        paper: "at 30,000 requests/s the µserver answers 39 % more with inf than with 1",
        limits: ("inf", "1"),
        metric: &metric::REPLIES,
        at: 2.0,
    },
    Claim {
        figure: "Brecht04 figure 3",
        server: "sped",
        paper: "accept-limit 1 drops more connections than inf",
        limits: ("1", "inf"),
        metric: &metric::DROPS,
        at: 2.0,
    },
    Claim {
        figure: "Brecht04 figure 17",
        server: "sped",
        paper: "in overload mean response times are higher with accept-limit inf than with 1",
        limits: ("inf", "1"),
        metric: &metric::RESPONSE,
        at: 2.0,
    },
];

fn comparisons(design: &Design, known: &Known<'_>, claims: &[Claim]) -> Vec<Comparison> {
    claims.iter().map(|claim| compared(design, known, claim)).collect()
}

fn compared(design: &Design, known: &Known<'_>, claim: &Claim) -> Comparison {
    let spread = |limit: &str| {
        let is_it = |of: &&Subject| {
            of.name == claim.server
                && of.knobs.get("accept-limit").is_some_and(|value| value == limit)
        };
        let of = design.subjects.iter().find(is_it)?;
        let curve = design.curve(known, of);
        curve
            .into_iter()
            .find(|cell| cell.factor(OF_CAPACITY) == Some(claim.at))?
            .spread(claim.metric)
    };
    let (more, less) = claim.limits;
    let (here, agrees) = match (spread(more), spread(less)) {
        (Some(a), Some(b)) => {
            let is_apart = a.quartiles.0 > b.quartiles.1 || a.quartiles.1 < b.quartiles.0;
            let agrees = match (is_apart, a.median > b.median) {
                (false, _) => Agreement::Open,
                (true, true) => Agreement::Yes,
                (true, false) => Agreement::No,
            };
            let (a, b) = (curves::spread_text(&a), curves::spread_text(&b));
            let Metric { label, unit, .. } = claim.metric;
            let text = format!(
                "{label} at {} of the capacity: {a} {unit} with {more}, {b} {unit} with {less}",
                claim.at
            );
            (text, agrees)
        }
        _ => (String::from("not measured"), Agreement::Open),
    };
    Comparison { of: claim.figure.into(), paper: claim.paper.into(), here, agrees }
}

fn section(
    of: &Experiment,
    title: &str,
    design: &Design,
    known: &Known<'_>,
    comparisons: Vec<Comparison>,
) -> Section {
    let absent: Vec<&str> = SERVERS
        .iter()
        .filter(|(_, name)| !design.subjects.iter().any(|of| of.name == *name))
        .map(|(paper, _)| *paper)
        .collect();
    let mut question = vec![format!(
        "The accept-limit is how many connections are taken consecutively before other work \
         (Brecht04 4.1). The backlog is {BACKLOG}, as in the paper."
    )];
    if !absent.is_empty() {
        question.push(format!(
            "The paper's figures of {} are not here: nothing of that architecture was measured.",
            absent.join(" and ")
        ));
    }
    Section {
        name: of.name.into(),
        title: format!("{title} (Brecht04)"),
        question,
        answer: Vec::new(),
        comparisons,
        figures: vec![
            curves::over_rates(design, known, "replies", &metric::REPLIES),
            curves::over_rates(design, known, "drops", &metric::DROPS),
            curves::over_rates(design, known, "response", &metric::RESPONSE),
        ],
        tables: vec![equation_1(design, known)],
        excluded: curves::excluded(known, of.name),
        commands: curves::commands(known, of.name, &design.subjects),
    }
}

/// Equation 1 (6.1): accept rate = phases x C_avg / time; with the getevents calls that it takes if
/// each phase follows one of them, and drops by class.
fn equation_1(design: &Design, known: &Known<'_>) -> Table {
    let metrics: [&Metric; 5] = [
        &metric::ACCEPT_RATE,
        &metric::PHASES,
        &metric::C_AVG,
        &metric::GETEVENTS_PREDICTED,
        &metric::GETEVENTS,
    ];
    let mut head = vec![String::from("subject"), String::from("sessions/s")];
    head.extend(metrics.iter().chain(&metric::DROP_CLASSES).map(|metric| metric.heading()));
    let row = |cell: &Cell<'_>| {
        let mut row = vec![cell.subject().to_string()];
        row.push(curves::number(cell.factor(RATE).unwrap_or_default()));
        let told = metrics.iter().chain(&metric::DROP_CLASSES).map(|of| curves::told(cell, of));
        row.extend(told);
        row
    };
    let cells = design.subjects.iter().flat_map(|of| design.curve(known, of));
    let loaded = cells.filter(|cell| cell.factor(OF_CAPACITY).is_some_and(|share| share >= 1.0));
    Table {
        title: String::from("Equation 1, getevents calls, and drops by class"),
        head,
        rows: loaded.map(row).collect(),
        notes: vec![
            String::from(
                "Predicted: accepted connections in a second, divided by C_avg, as each accept \
                 phase follows a getevents call.",
            ),
            String::from(
                "SynQFull cannot be on Linux 4.3 and later with SYN cookies on: its queue is bound \
                 by the backlog too, and beyond it cookies are sent.",
            ),
        ],
    }
}
