//! What the experiments of Brecht04 have in common: its servers, their accept-limits, and how their
//! figures are drawn.
//!
//! The µserver is `sped`; Knot and TUX join where this build has them. Each server's curves are
//! over the same rates, which are multiples of the capacity that it has with the strategy of the
//! original.

mod classes;

use std::cmp::Ordering;

use load::workload::settings::Settings;

pub(super) use classes::drops_by_class;

use super::frame;
use crate::capacity::RATE;
use crate::claim::{self, Beside, Says};
use crate::curves::{self, number};
use crate::design::{Design, OF_CAPACITY};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Comparison, Figure, Section, Table};
use crate::setup::Setup;
use crate::spec::Load;
use crate::subject::Subject;
use crate::tuning::with_knob;

/// One of the paper's servers.
pub(super) struct Server {
    /// As the paper calls it.
    paper: &'static str,
    /// The same, where what is here is another kind of server.
    legend: &'static str,
    /// The architecture that is it.
    name: &'static str,
    /// How it was in the paper, where it is not by itself.
    knobs: &'static [(&'static str, &'static str)],
    /// Of the paper's figures.
    limits: &'static [&'static str],
    /// How the original accepts.
    original: &'static str,
}

pub(super) const SERVERS: [Server; 3] = [
    Server {
        paper: "µserver",
        legend: "µserver",
        name: "sped",
        // 4.1: "In our experiments this is done using select", in one work-phase.
        knobs: &[("poller", "select"), ("passes", "1"), CONNECTIONS],
        limits: &["1", "10", "inf", AUTO],
        original: "inf",
    },
    Server {
        paper: "Knot",
        legend: "Knot",
        name: "knot",
        // 5.2: of its threads at most.
        knobs: &[("connections-max", "1000")],
        limits: &["1", "10", "50", "100", AUTO],
        original: "1",
    },
    Server {
        paper: "TUX",
        legend: "tux (ring, user mode)",
        name: "tux",
        // 4.3: what is worked on grows until all of it is done.
        knobs: &[CONNECTIONS, ("work-pending-max", "inf")],
        limits: &["1", "50", "inf", AUTO],
        original: "inf",
    },
];

/// Of the µserver and of TUX at most (5.2), where Knot has 1,000 threads.
const CONNECTIONS: (&str, &str) = ("connections-max", "15000");

/// As in the paper (3), so that the accept queue fills as it did there.
const BACKLOG: &str = "128";

const LIMIT: &str = "accept-limit";

/// Of the accept-limit, the backlog and the share of those who are admitted: as this server is by
/// itself, beside what the paper has.
pub(super) const AUTO: &str = "auto";

/// Of the capacity: nearly idle, around the peak, and up to the paper's 30,000 requests/s, which
/// were some 1.4 times the peak of the one-packet workload and twice that of the other.
pub(super) const MULTIPLES: &[f64] = &[0.1, 0.5, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0];

impl Server {
    fn with(&self, limit: &str) -> Subject {
        let tunes_itself = [(LIMIT, AUTO), ("backlog", AUTO), ("admit-percent", AUTO)];
        let of_the_paper = [(LIMIT, limit), ("backlog", BACKLOG)];
        let own = if limit == AUTO { &tunes_itself[..] } else { &of_the_paper };
        let knobs = own.iter().chain(self.knobs);
        Subject {
            name: self.name.into(),
            knobs: knobs.map(|(knob, value)| ((*knob).into(), (*value).into())).collect(),
        }
    }
}

fn basis(of: &Subject) -> Subject {
    let server = SERVERS.iter().find(|server| server.name == of.name);
    let Some(server) = server else { return of.clone() };
    match of.knobs.get(LIMIT) {
        Some(limit) if limit == AUTO => server.with(server.original),
        _ => with_knob(of, LIMIT, server.original),
    }
}

/// The design of an experiment, on machines of which the server's processes have so much.
pub(super) fn design(
    experiment: &'static str,
    setup: &Setup,
    load: Load,
    quota_percent: u32,
) -> Design {
    let all = SERVERS.each_ref().map(|of| (of.name, of.limits));
    design_of(&all, experiment, setup, (load, quota_percent))
}

/// The same of these servers, as far as this build has them, with these accept-limits.
pub(super) fn design_of(
    chosen: &[(&str, &[&str])],
    experiment: &'static str,
    setup: &Setup,
    (load, quota_percent): (Load, u32),
) -> Design {
    let is_built = |name: &str| servers::architectures::architecture(name).is_some();
    let of = |(name, limits): &(&str, &[&str])| {
        let server = SERVERS.iter().find(|of| of.name == *name && is_built(name));
        let each = |of: &Server| limits.iter().map(|limit| of.with(limit)).collect::<Vec<_>>();
        server.map(each).unwrap_or_default()
    };
    let subjects: Vec<Subject> = match setup.subjects.is_empty() {
        true => chosen.iter().flat_map(of).collect(),
        false => setup.subjects.clone(),
    };
    let made_of = subjects.iter().map(|of| (of.clone(), basis(of))).collect();
    Design {
        multiples: MULTIPLES,
        made_of,
        ..Design::of(experiment, setup, subjects, (load, frame::layout(setup, quota_percent)))
    }
}

/// One workload, with what the paper shows of it.
pub(super) struct Part {
    pub(super) experiment: &'static Experiment,
    pub(super) title: &'static str,
    /// As in the titles of its figures.
    pub(super) workload: &'static str,
    /// Of each server by its architecture: the figures of its replies and of its queue drops.
    pub(super) figures: [(&'static str, u32, u32); 3],
    /// Of the µserver beside TUX.
    pub(super) versus: u32,
    pub(super) claims: &'static [Claim],
}

/// Something that a figure shows.
pub(super) struct Claim {
    pub(super) figure: &'static str,
    pub(super) paper: &'static str,
    /// One of these servers with this accept-limit,
    pub(super) of: (&'static str, &'static str),
    /// beside this one,
    pub(super) to: (&'static str, &'static str),
    pub(super) says: Says,
    pub(super) metric: &'static Metric,
    pub(super) at: At,
}

/// At which load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum At {
    /// This multiple of the capacity.
    Load(f64),
    /// That at which each of the two answers most.
    Peak,
}

/// The paper's name of a policy: `µserver-Inf`.
fn policy(of: &Subject) -> Option<String> {
    let server = SERVERS.iter().find(|server| server.name == of.name)?;
    Some(format!("{}-{}", server.legend, capital(of.knobs.get(LIMIT)?)))
}

fn capital(limit: &str) -> String {
    if limit == "inf" { String::from("Inf") } else { limit.into() }
}

/// Of a server with an accept-limit.
pub(super) fn at<'s, 'k>(
    design: &Design,
    known: &'s Known<'k>,
    (server, limit): (&str, &str),
    load: At,
) -> Option<&'s Cell<'k>> {
    let is_it = |of: &&Subject| {
        of.name == server && of.knobs.get(LIMIT).is_some_and(|value| value == limit)
    };
    let of = design.subjects.iter().find(is_it)?;
    let mut curve = design.curve(known, of).into_iter();
    match load {
        At::Load(multiple) => curve.find(|cell| cell.factor(OF_CAPACITY) == Some(multiple)),
        At::Peak => {
            let replies = |cell: &&Cell<'_>| cell.spread(&metric::REPLIES).map(|of| of.median);
            curve.max_by(|a, b| replies(a).partial_cmp(&replies(b)).unwrap_or(Ordering::Equal))
        }
    }
}

pub(super) fn comparisons(design: &Design, known: &Known<'_>, claims: &[Claim]) -> Vec<Comparison> {
    let is_there = |(server, _): (&str, &str)| design.subjects.iter().any(|of| of.name == server);
    let there = claims.iter().filter(|claim| is_there(claim.of) && is_there(claim.to));
    let compared = |claim: &Claim| {
        let of = |it: (&str, &str)| {
            let server = SERVERS.iter().find(|server| server.name == it.0);
            let name = server.map_or(it.0, |server| server.legend);
            (format!("{name}-{}", capital(it.1)), at(design, known, it, claim.at))
        };
        let at = match claim.at {
            At::Load(multiple) => format!(" at {multiple} of the capacity"),
            At::Peak => String::from(" at its peak"),
        };
        claim::Claim {
            figure: claim.figure,
            paper: claim.paper,
            says: claim.says,
            metric: claim.metric,
            at,
            one: of(claim.of),
            beside: Beside::Every,
            others: vec![of(claim.to)],
        }
    };
    claim::judged(&there.map(compared).collect::<Vec<_>>())
}

/// All that is told of a workload but what is its own.
pub(super) fn section(part: &Part, design: &Design, known: &Known<'_>) -> Section {
    let mut figures = Vec::new();
    for (name, replies, drops) in part.figures {
        let of = only(design, |of| of.name == name);
        let Some(server) = SERVERS.iter().find(|of| of.name == name) else { continue };
        if of.subjects.is_empty() {
            continue;
        }
        let (legend, workload) = (server.legend, part.workload);
        let rows = [
            ("performance", replies, "replies", &metric::REPLIES),
            ("queue drops/s", drops, "drops", &metric::DROPS),
        ];
        figures.extend(rows.map(|(what, number, file, metric)| {
            let title = format!("{legend} {what} under {workload} (Brecht04 figure {number})");
            over_targets(&of, known, (&format!("{file}-{name}"), title), metric)
        }));
    }
    let has = |name: &str| design.subjects.iter().any(|of| of.name == name);
    if has("sped") && has("tux") {
        let is_shown = |of: &Subject| {
            of.knobs.get(LIMIT).is_some_and(|at| ["1", "inf", AUTO].contains(&&**at))
        };
        let of = only(design, |of| (of.name == "sped" || of.name == "tux") && is_shown(of));
        let workload = part.workload;
        let title =
            format!("µserver versus tux under {workload} (Brecht04 figure {})", part.versus);
        figures.push(over_targets(&of, known, ("versus", title), &metric::REPLIES));
    }
    let others = only(design, |of| policy(of).is_none());
    if !others.subjects.is_empty() {
        let rows = [("replies", &metric::REPLIES), ("drops", &metric::DROPS)];
        figures.extend(rows.map(|(name, metric)| {
            let title = format!("The others' {} under {}", metric.label, part.workload);
            over_targets(&others, known, (&format!("{name}-others"), title), metric)
        }));
    }
    Section {
        question: question(design),
        answer: answer(design, known),
        comparisons: comparisons(design, known, part.claims),
        figures,
        tables: vec![equation_1(design, known)],
        ..frame::section(
            part.experiment,
            format!("{} (Brecht04)", part.title),
            known,
            &design.subjects,
        )
    }
}

pub(super) fn only(design: &Design, is_wanted: impl Fn(&Subject) -> bool) -> Design {
    let subjects = design.subjects.iter().filter(|of| is_wanted(of)).cloned().collect();
    Design { subjects, ..design.clone() }
}

/// A metric over the rate that clients aim at, as all curves of the paper are.
pub(super) fn over_targets(
    design: &Design,
    known: &Known<'_>,
    (name, title): (&str, String),
    metric: &Metric,
) -> Figure {
    let x = Axis {
        label: String::from("target request rate"),
        unit: String::from("requests/s"),
        ..Axis::default()
    };
    let requests = requests_of(&design.load);
    let is_one = |of: &Subject| design.subjects.iter().all(|other| other.name == of.name);
    let series = design.subjects.iter().zip(curves::labels(&design.subjects)).map(|(of, label)| {
        let cells = design.curve(known, of);
        let label = match policy(of) {
            Some(_) if is_one(of) => format!("accept-limit-{}", capital(&of.knobs[LIMIT])),
            Some(policy) => policy,
            None => label,
        };
        let at = |cell: &Cell<'_>| Some(cell.factor(RATE)? * requests);
        curves::series(label, &cells, metric, at, curves::is_unstable(&cells))
    });
    let series = series.filter(|series| !series.points.is_empty()).collect();
    Figure { title, ..curves::figure(name, metric, x, series) }
}

/// Requests of a session, on the average.
fn requests_of(load: &Load) -> f64 {
    let mut settings = Settings::default();
    let row = load::workload::named(&load.workload);
    for knob in row.into_iter().flat_map(|row| row.knobs) {
        if let Some(value) = load.flags.get(*knob) {
            // Whoever asks for what cannot be is told so by the load itself.
            let _ = settings.set(knob, value);
        }
    }
    let made = load::workload::make(&load.workload, &settings);
    made.ok().and_then(|workload| workload.model().requests).unwrap_or(1.0)
}

pub(super) fn question(design: &Design) -> Vec<String> {
    let mut lines = vec![
        format!(
            "The accept-limit is how many connections a server takes consecutively before it does \
             other work (4.1); Inf takes all that wait. The backlog is {BACKLOG}, as in the paper. \
             With auto, which the paper does not have, accept-limit, backlog and the share of SYNs \
             that are admitted tune themselves. The µserver is sped with select and one work \
             phase, as the paper has it, and as there at most {} connections are open, or as many \
             as this machine has descriptors for.",
            CONNECTIONS.1
        ),
        String::from(
            "TUX ran in the kernel: what is called tux here is its loop in user mode, on a ring, \
             with work pending without end. It cannot show what a server saves that enters the \
             kernel for nothing, parses heads where they lie, and sends small replies without a \
             copy.",
        ),
        format!(
            "Rates are multiples of each server's capacity with the accept-limit of its original. \
             Clients wait {} s; the paper's wait 15 s, for two minutes at each rate, and try again \
             when they have given up. Those here do not, so that the rate stays what it is said to \
             be.",
            design.load.flags.get("patience").map_or("15", String::as_str)
        ),
        String::from(
            "Linux has changed since. The paper's SYN queue held 1,024 entries and was three \
             quarters full before it dropped anything, its accept queue 128. Today one number, the \
             backlog, bounds both, and with SYN cookies a full SYN queue drops nothing: SynQFull \
             and DropRequest stay at zero, and what was dropped there is AcceptQFull or \
             ListenOverflow now.",
        ),
    ];
    if design.subjects.iter().any(|of| of.name == "knot") {
        lines.push(String::from(
            "Knot has at most 1,000 connections here, whatever its accept-limit, and who was \
             accepted gets a fiber that is free. In the paper each of its 1,000 threads had as \
             many as it took: up to 48,000 with 100 (6.2), which is why they were slower than 50.",
        ));
    }
    if let Some(percent) = design.layout.quota_percent {
        lines.push(format!(
            "The server's processes have {percent} % of one processor, so that one client can ask \
             for more than twice of what they can do. The kernel's work for the network is not in \
             that share."
        ));
    }
    let is_here = |of: &&Server| design.subjects.iter().any(|subject| subject.name == of.name);
    let absent: Vec<&str> =
        SERVERS.iter().filter(|of| !is_here(of)).map(|server| server.paper).collect();
    if !absent.is_empty() {
        lines.push(format!(
            "The paper's figures of {} are not here: that architecture was not measured.",
            absent.join(" and ")
        ));
    }
    lines
}

/// Of each server, its policies at the highest load, the best first.
pub(super) fn answer(design: &Design, known: &Known<'_>) -> Vec<String> {
    let most = design.multiples.last().copied().unwrap_or_default();
    let mut lines = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for of in &design.subjects {
        if told.contains(&&*of.name) {
            continue;
        }
        told.push(&of.name);
        let Some(capacity) = design.capacity(known, of) else { continue };
        let same = design.subjects.iter().filter(|other| other.name == of.name);
        let replies = |of: &Subject| {
            // Last, and without a figure: who failed verification.
            let judged = match frame::failed(design, known, of) {
                Some(failed) => Err(failed),
                None => {
                    let cell = curves::at_multiple(design, known, of, most)?;
                    Ok((cell, cell.judged(&metric::REPLIES)?.median))
                }
            };
            Some((policy(of).unwrap_or_else(|| of.label()), judged))
        };
        type Kept<'k> = Result<(&'k Cell<'k>, f64), String>;
        let mut kept: Vec<(String, Kept<'_>)> = same.filter_map(replies).collect();
        let median = |of: &Kept<'_>| of.as_ref().map_or(f64::NEG_INFINITY, |of| of.1);
        kept.sort_by(|(_, a), (_, b)| median(b).total_cmp(&median(a)));
        let passed = kept.iter().filter_map(|(policy, of)| Some((&**policy, of.as_ref().ok()?.0)));
        let near = frame::beside_first(&metric::REPLIES, &passed.collect::<Vec<_>>());
        let best = capacity.replies_per_s;
        let kept: Vec<String> = kept
            .iter()
            .map(|(policy, replies)| match replies {
                Ok((_, median)) => {
                    format!("{policy} {} ({} %)", number(*median), number(100.0 * median / best))
                }
                Err(failed) => format!("{policy} failed verification {failed}"),
            })
            .collect();
        if kept.is_empty() {
            continue;
        }
        let original = policy(&design.basis(of)).unwrap_or_else(|| of.label());
        lines.push(format!(
            "{original}: {} replies/s at its capacity. At {most} times that: {}.{near}",
            number(best),
            kept.join(", ")
        ));
    }
    lines
}

/// Equation 1 (6.1) beside what the kernel saw, the getevents calls that it takes if each accept
/// phase follows one of them, and drops by class (6.3).
pub(super) fn equation_1(design: &Design, known: &Known<'_>) -> Table {
    let metrics: [&Metric; 8] = [
        &metric::REPLIES,
        &metric::ESTABLISHED,
        &metric::EQUATION_1,
        &metric::PHASES,
        &metric::C_AVG,
        &metric::GETEVENTS_PREDICTED,
        &metric::GETEVENTS,
        &metric::WORK,
    ];
    let mut head = ["policy", "of the capacity", "target requests/s"].map(String::from).to_vec();
    head.extend(metrics.iter().chain(&metric::DROP_CLASSES).map(|metric| metric.heading()));
    let requests = requests_of(&design.load);
    let row = |cell: &Cell<'_>| {
        let of = cell.subject();
        let mut row = vec![policy(of).unwrap_or_else(|| of.to_string())];
        row.push(cell.factor(OF_CAPACITY).unwrap_or_default().to_string());
        row.push(number(cell.factor(RATE).unwrap_or_default() * requests));
        let told = metrics.iter().chain(&metric::DROP_CLASSES).map(|of| curves::told(cell, of));
        row.extend(told);
        row
    };
    let cells = design.subjects.iter().flat_map(|of| design.curve(known, of));
    Table {
        title: String::from("Equation 1, getevents calls, and drops by class"),
        head,
        rows: cells.filter(|cell| curves::is_known(cell)).map(row).collect(),
        notes: vec![
            String::from(
                "Equation 1: accept rate = N_phases x C_avg / time, by the server's counters; \
                 beside it the connections that the kernel counted.",
            ),
            String::from(
                "Predicted getevents calls: the kernel's connections/s, divided by C_avg, as each \
                 accept phase follows one call. More calls than that returned no connection.",
            ),
        ],
    }
}
