//! Are threads as good as loops where the files are in memory, and is epoll worth its place?
//! (Pariag07 7 and 9.)
//!
//! What the paper leaves open. It supposes that a thread for each connection may do as well as a
//! loop where connections are short; and it asks all of its servers by poll, as epoll was "as good
//! as but no better" in a trial of one. Here both are asked of loops and of fibers: one request on
//! a connection, two, and SPECweb99's sessions, these also beside a thousand connections that are
//! open and idle, which is where the two ways of asking differ. Ten repeats, as targets are judged
//! by intervals of five points.

use std::collections::BTreeMap;

use super::frame;
use super::stages::{self, Stages};
use super::targets::{self, Bound, Target};
use crate::claim::{self, Beside, Claim, Says};
use crate::compare::{self, Ratio};
use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Comparison, NONE, Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-in-memory",
    paper: "Pariag07 9",
    is_as_in_papers: true,
    question: "are threads as good as loops in memory, and is epoll better than poll?",
    ignores: &["workload", "disk", "memory-percent"],
    plan,
    sections,
};

/// In one pass, as the paper's loops go over what is ready; and as they are today.
const LOOP_POLL: &str = "sped:passes=1,poller=poll";
const LOOP_EPOLL: &str = "sped:passes=1";
const LOOP: &str = "sped";
const KNOT_POLL: &str = "knot:poller=poll";
const KNOT: &str = "knot";
/// Of Brecht04 4.2.
const KNOT_A: &str = "knot:acceptor=on";
/// Contents in memory of its own, by `write`.
const KNOT_CACHE: &str = "knot:sendfile=off,small-file-kb=1024";

const LOOPS: [&str; 3] = [LOOP_POLL, LOOP_EPOLL, LOOP];
const FIBERS: [&str; 4] = [KNOT_POLL, KNOT, KNOT_A, KNOT_CACHE];
const SUBJECTS: [&str; 8] =
    [LOOP_POLL, LOOP_EPOLL, LOOP, KNOT_POLL, KNOT, KNOT_A, KNOT_CACHE, "mt"];

/// So many clients ask at a time, and wait for the server rather than it for them.
const CLIENTS: u32 = 64;

/// Of one processor, what the server's processes have: replies of 15 KB cost the client as much as
/// the server.
const QUOTA_PERCENT: u32 = 25;

/// Of SPECweb99's, so that all files are in memory.
const DIRS: u32 = 10;

/// A load.
struct Case {
    /// As it stands in [`Spec::stage`], and as readers see it.
    stage: &'static str,
    title: &'static str,
    workload: &'static str,
    flags: &'static [(&'static str, &'static str)],
    idle_connections: u32,
}

const ONE: Case = Case {
    stage: "one request per connection",
    title: "one request per connection",
    workload: "one-packet",
    flags: &[("keeps", "request")],
    idle_connections: 0,
};
/// 2,000 files of 1,000 bytes on the average: half of the replies have less than some 230, as those
/// of browsers (Brecht04 7).
const TWO: Case = Case {
    stage: "two requests per connection",
    title: "two requests per connection",
    workload: "synthetic",
    flags: &[("session-requests", "2"), ("mean-bytes", "1000"), ("cache-mb", "0.5")],
    idle_connections: 0,
};
const SESSIONS: Case = Case {
    stage: "SPECweb99's sessions",
    title: "SPECweb99's sessions",
    workload: "specweb99",
    flags: &[("think", "none")],
    idle_connections: 0,
};
const BESIDE_IDLE: Case = Case {
    stage: "the same beside 1,000 idle connections",
    title: "SPECweb99's sessions beside 1,000 idle connections",
    idle_connections: 1_000,
    ..SESSIONS
};

const CASES: [Case; 4] = [ONE, TWO, SESSIONS, BESIDE_IDLE];

const METRICS: [&Metric; 6] = [
    &metric::GOODPUT,
    &metric::OWN_CPU,
    &metric::BUSY,
    &metric::CLIENT_BUSY,
    &metric::GETEVENTS,
    &metric::P99,
];

impl Case {
    fn spec(&self, setup: &Setup, subject: &Subject, repeat: u32) -> Spec {
        let load = Load {
            workload: self.workload.into(),
            seconds: setup.seconds(1.0),
            warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
            flags: BTreeMap::new(),
            idle_connections: self.idle_connections,
            beside: None,
        };
        // The contents of some replies: a client that looks at all of them would be the limit.
        let load = load.with("clients", CLIENTS).with("verified", 0.05);
        let load = if self.workload == SESSIONS.workload { load.with("dirs", DIRS) } else { load };
        let load = self.flags.iter().fold(load, |load, (flag, value)| load.with(flag, *value));
        Spec {
            experiment: EXPERIMENT.name.into(),
            stage: self.stage.into(),
            subject: subject.clone(),
            load,
            layout: frame::layout(setup, QUOTA_PERCENT),
            factors: BTreeMap::new(),
            repeat,
            profile: None,
        }
    }

    fn cell<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Option<&'s Cell<'k>> {
        stages::cell(known, (EXPERIMENT.name, self.stage), of)
    }

    /// Of these, who answers most.
    fn best<'s>(
        &self,
        known: &Known<'_>,
        subjects: &'s [Subject],
        of: &[&str],
    ) -> Option<&'s Subject> {
        let good =
            |of: &'s Subject| Some((self.cell(known, of)?.judged(&metric::GOODPUT)?.median, of));
        let these = subjects.iter().filter(|subject| of.contains(&subject.to_string().as_str()));
        these.filter_map(good).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, of)| of)
    }
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let subjects = setup.subjects(&SUBJECTS);
    stages::rounds(setup.repeats(10), &CASES, &subjects, |case, of, repeat| {
        case.spec(setup, of, repeat)
    })
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let subjects = setup.subjects(&SUBJECTS);
    let promised: Vec<Target<'_>> =
        [&SESSIONS, &BESIDE_IDLE].iter().filter_map(|of| promised(of, known, &subjects)).collect();
    let stages = &CASES.map(|case| (case.stage, case.title));
    let shown = Stages { experiment: EXPERIMENT.name, stages, known, subjects: &subjects };
    let title = "Threads beside loops, with files in memory (Pariag07 9)";
    vec![Section {
        question: question(setup),
        answer: [answer(known, &subjects), targets::answer(&promised).into_iter().collect()]
            .concat(),
        comparisons: comparisons(known, &subjects),
        figures: vec![shown.bars("replies", &metric::GOODPUT), shown.bars("cpu", &metric::OWN_CPU)],
        tables: targets::table("Promised, best against best", &promised)
            .into_iter()
            .chain([epoll(known, &subjects), shown.table(&METRICS)])
            .collect(),
        ..frame::section(&EXPERIMENT, title, known, &subjects)
    }]
}

fn question(setup: &Setup) -> Vec<String> {
    let quota = setup.quota_percent(QUOTA_PERCENT).map_or_else(String::new, |percent| {
        format!(
            " The server's processes have {percent} % of one processor, so that their clients are \
             not the limit."
        )
    });
    vec![
        format!(
            "{CLIENTS} clients ask for files that are all in memory, again as soon as they are \
             answered.{quota} Connections have one request, for one small file; two, for files of \
             1,000 bytes on the average; or as many as SPECweb99's sessions, 7.2, without pauses, \
             these also beside 1,000 connections that are open and idle, in the place of those \
             whose users think."
        ),
        format!(
            "{LOOP_POLL} is the paper's loop, {LOOP_EPOLL} the same with epoll, and {LOOP} alone \
             has both passes of its own. {KNOT} asks by epoll where {KNOT_POLL} asks by poll; both \
             are Knot-C, {KNOT_A} is Knot-A. {KNOT_CACHE} keeps all contents in memory of its own, \
             which {KNOT} does with files of up to 32 KiB: with one and two requests these are \
             all. mt, threads of the kernel, is not in that paper."
        ),
    ]
}

/// Who answers most, under each load.
fn answer(known: &Known<'_>, subjects: &[Subject]) -> Vec<String> {
    let line = |case: &Case| {
        let good = |of| {
            let cell = case.cell(known, of)?;
            Some((of, cell, cell.judged(&metric::GOODPUT)?.median))
        };
        let mut told: Vec<(&Subject, &Cell<'_>, f64)> = subjects.iter().filter_map(good).collect();
        told.sort_by(|(.., a), (.., b)| b.total_cmp(a));
        let (first, _, most) = told.first()?;
        let names: Vec<String> = told.iter().map(|(of, ..)| of.label()).collect();
        let ranked = names.iter().zip(&told).map(|(name, (_, cell, _))| (name.as_str(), *cell));
        let near = frame::beside_first(&metric::GOODPUT, &ranked.collect::<Vec<_>>());
        let (title, first, most) = (case.title, first.label(), curves::number(*most));
        Some(format!("With {title} {first} has most, {most} replies/s.{near}"))
    };
    CASES.iter().filter_map(line).collect()
}

/// What epoll is worth beside poll, which the paper would have liked to know of its servers.
fn epoll(known: &Known<'_>, subjects: &[Subject]) -> Table {
    let mut rows = Vec::new();
    for case in &CASES {
        for (with, without) in [(LOOP_EPOLL, LOOP_POLL), (KNOT, KNOT_POLL)] {
            let of = |name: &str| subjects.iter().find(|of| of.to_string() == name);
            let cell = |name: &str| case.cell(known, of(name)?);
            let (Some(one), Some(other)) = (cell(with), cell(without)) else { continue };
            let pairs = one.pairs(other, &metric::GOODPUT);
            let ratio = Ratio::of(&pairs, compare::MISSED_SHARE);
            rows.push(vec![
                case.title.into(),
                format!("{with} beside {without}"),
                curves::told(one, &metric::GOODPUT),
                curves::told(other, &metric::GOODPUT),
                ratio.map_or_else(|| NONE.into(), |ratio| curves::ratio_text(&ratio)),
            ]);
        }
    }
    let head = ["load", "who", "good replies/s with epoll", "with poll", "ratio (95 % interval)"];
    Table {
        title: String::from("Epoll beside poll"),
        head: head.map(String::from).into(),
        rows,
        notes: Vec::new(),
    }
}

/// The paper's best Knot had 0.85 of its best loop.
const SHARE_OF_LOOP: f64 = 0.85;

fn promised<'s>(case: &Case, known: &'s Known<'_>, subjects: &'s [Subject]) -> Option<Target<'s>> {
    let one = case.best(known, subjects, &FIBERS)?;
    let other = case.best(known, subjects, &LOOPS)?;
    Some(Target {
        load: case.title.into(),
        metric: &metric::GOODPUT,
        bound: Bound::AtLeast(SHARE_OF_LOOP),
        one: (one.to_string(), case.cell(known, one)),
        other: (other.to_string(), case.cell(known, other)),
    })
}

/// Something that a paper says of good replies: where, what, of whom, beside whom, and under which
/// load.
pub(super) struct Row {
    pub(super) place: &'static str,
    pub(super) paper: &'static str,
    pub(super) of: &'static str,
    says: Says,
    pub(super) to: &'static str,
    case: &'static Case,
}

const fn row(
    (place, paper): (&'static str, &'static str),
    (of, says, to): (&'static str, Says, &'static str),
    case: &'static Case,
) -> Row {
    Row { place, paper, of, says, to, case }
}

pub(super) const CLAIMS: [Row; 7] = [
    row(
        ("Pariag07 9", "threads may be equal where each connection asks once, in memory"),
        (KNOT_POLL, Says::Alike, LOOP_POLL),
        &ONE,
    ),
    row(
        ("Pariag07 9", "and where it asks for a small number of files: two"),
        (KNOT_POLL, Says::Alike, LOOP_POLL),
        &TWO,
    ),
    row(
        ("Pariag07 9", "and where it asks for a small number of files: seven, without delay"),
        (KNOT_POLL, Says::Alike, LOOP_POLL),
        &SESSIONS,
    ),
    row(
        ("Pariag07 9", "with many connections there is a gap: Knot has less than a loop"),
        (KNOT_POLL, Says::Less, LOOP_POLL),
        &BESIDE_IDLE,
    ),
    row(
        ("Pariag07 7", "a loop's throughput with epoll is as good as with poll, and no better"),
        (LOOP_EPOLL, Says::Alike, LOOP_POLL),
        &SESSIONS,
    ),
    row(
        ("Pariag07 7", "so it is, too, with many connections, as the paper's workload has them"),
        (LOOP_EPOLL, Says::Alike, LOOP_POLL),
        &BESIDE_IDLE,
    ),
    row(
        ("Brecht04 4.2", "Knot-C does significantly better than Knot-A"),
        (KNOT, Says::More, KNOT_A),
        &ONE,
    ),
];

fn comparisons(known: &Known<'_>, subjects: &[Subject]) -> Vec<Comparison> {
    let compared = |row: &Row| {
        let side = |text: &str| {
            let of = subjects.iter().find(|of| of.to_string() == text)?;
            Some((of.label(), row.case.cell(known, of)))
        };
        Some(Claim {
            figure: row.place,
            paper: row.paper,
            says: row.says,
            metric: &metric::GOODPUT,
            at: format!(", {}", row.case.title),
            one: side(row.of)?,
            beside: Beside::Every,
            others: vec![side(row.to)?],
        })
    };
    claim::judged(&CLAIMS.iter().filter_map(compared).collect::<Vec<_>>())
}
