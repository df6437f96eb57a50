//! What does a reply cost on one processor, and how many are there in a second?
//!
//! Each architecture beside the least that can be done (the floors) and beside other servers: small
//! files on kept connections, small files on connections of their own, and large files. Once the
//! server is kept busy, which shows what it can do, and once its clients rest, so that all have as
//! much to do. Ten repeats, as targets are judged by intervals of five points.

mod promised;

use std::collections::BTreeMap;

use super::stages::{self, Stages};
use super::{frame, targets};
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::Section;
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "reply-cost",
    paper: "",
    is_as_in_papers: false,
    question: "what does a reply cost on one processor, beside the least that can be done?",
    ignores: &["workload", "disk", "memory-percent"],
    plan,
    sections,
};

/// Floors, Weir's own, and peers.
const SUBJECTS: [&str; 16] = [
    "floor-readiness",
    "floor-completion",
    "sped",
    "sped:threads=2",
    "symped:processes=1",
    "symped:processes=2",
    "symped:processes=16",
    "shared-symped:processes=2",
    "shared-symped:processes=16",
    "mp",
    "proactor",
    "proactor:threads=2",
    "tux",
    "nginx",
    "lighttpd",
    "h2o",
];

/// A load.
struct Case {
    /// As it stands in [`Spec::stage`].
    stage: &'static str,
    bytes: u32,
    keeps: &'static str,
    /// Between two requests of a client, on the average; none: he asks at once.
    rest_s: Option<f64>,
}

/// So many clients ask at a time, and wait for the server rather than it for them.
const CLIENTS: u32 = 64;

/// Of one processor, what the server's processes have where nobody rests: one processor of clients
/// could not keep a whole one busy, as a request costs it as much as the server.
const QUOTA_PERCENT: u32 = 40;

const KEPT: Case =
    Case { stage: "1 KB, kept connections", bytes: 1024, keeps: "client", rest_s: None };
const EACH: Case = Case { stage: "1 KB, one request per connection", keeps: "request", ..KEPT };
const LARGE: Case = Case { stage: "100 KB, kept connections", bytes: 102_400, ..KEPT };

/// The last three come to some 16,000, 4,000 and 4,000 requests/s: less than any of the servers can
/// do, and a part of what the clients can.
const CASES: [Case; 6] = [
    KEPT,
    EACH,
    LARGE,
    Case { stage: "1 KB, kept connections, with rests", rest_s: Some(0.004), ..KEPT },
    Case { stage: "1 KB, one request per connection, with rests", rest_s: Some(0.016), ..EACH },
    Case { stage: "100 KB, kept connections, with rests", rest_s: Some(0.016), ..LARGE },
];

const METRICS: [&Metric; 7] = [
    &metric::GOODPUT,
    &metric::CPU,
    &metric::OWN_CPU,
    &metric::BUSY,
    &metric::CLIENT_BUSY,
    &metric::GETEVENTS,
    &metric::P99,
];

impl Case {
    fn spec(&self, setup: &Setup, subject: &Subject, repeat: u32) -> Spec {
        let load = Load {
            workload: String::from("one-packet"),
            seconds: setup.seconds(1.0),
            warm_up: setup.warm_up(WarmUp::Fixed(0.3)),
            flags: BTreeMap::new(),
            idle_connections: 0,
            beside: None,
        };
        // The contents of some replies: a client that looks at all of them would be the limit.
        let load = load.with("clients", CLIENTS).with("verified", 0.05);
        let load = load.with("bytes", self.bytes).with("keeps", self.keeps);
        let (load, quota) = match self.rest_s {
            None => (load, setup.quota_percent(QUOTA_PERCENT)),
            Some(rest_s) => (load.with("rest", format!("exponential:{rest_s}")), None),
        };
        Spec {
            experiment: EXPERIMENT.name.into(),
            stage: self.stage.into(),
            subject: subject.clone(),
            load,
            layout: frame::joined(setup, quota),
            factors: BTreeMap::new(),
            repeat,
            profile: None,
        }
    }

    fn cell<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Option<&'s Cell<'k>> {
        stages::cell(known, (EXPERIMENT.name, self.stage), of)
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
    let promised = promised::targets(known, &subjects);
    let quota = setup.quota_percent(QUOTA_PERCENT);
    let stages = &CASES.map(|case| (case.stage, case.stage));
    let shown = Stages { experiment: EXPERIMENT.name, stages, known, subjects: &subjects };
    vec![Section {
        question: question(quota),
        answer: targets::answer(&promised).into_iter().collect(),
        figures: vec![shown.bars("cpu", &metric::CPU), shown.bars("replies", &metric::GOODPUT)],
        tables: targets::table("Promised", &promised)
            .into_iter()
            .chain([shown.table(&METRICS)])
            .collect(),
        ..frame::section(&EXPERIMENT, "What a reply costs on one processor", known, &subjects)
    }]
}

fn question(quota: Option<u32>) -> Vec<String> {
    let busy = quota.map_or_else(
        || String::from("the server has all of its processor"),
        |percent| {
            format!(
                "the server's processes have {percent} % of one processor, so that their clients \
                 are not the limit"
            )
        },
    );
    vec![
        format!(
            "{CLIENTS} clients ask for one file. Without rests each asks again at once, and \
             {busy}: how many replies there are in a second compares what servers can do. With \
             rests, of 4 ms or 16 ms on the average, the server has its whole processor and all \
             have as much to do: less than they could."
        ),
        String::from(
            "Processor time for a reply is all that the server's processor was busy with, the \
             network's work included, which no quota covers. A floor sends one prebuilt reply and \
             looks at nothing. Where the server's side has more than one processor, all of these \
             run on all of them; with one, two loops or sixteen share it.",
        ),
    ]
}
