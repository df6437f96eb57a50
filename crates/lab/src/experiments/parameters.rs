//! What does each step of a request cost here? The input of a simulator, as Choi05 table 3 has it
//! of Flash, and what that table leaves out.
//!
//! Two ways: a step that the kernel performs is timed by itself ([`COSTS`]); what an architecture
//! adds is the difference between two loads of which one has more of it, or between two settings.

use std::collections::BTreeMap;

mod cases;
mod simulator;
mod toml;

use cases::{CASES, Case, FROM_LOADS, FromLoads, OF_STEPS};

use crate::costs::COSTS;
use crate::curves::number;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::page::{NONE, Section, Table};
use crate::profile::{Kind, Seen};
use crate::setup::Setup;
use crate::spec::Spec;
use crate::subject::Subject;

use super::frame;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "parameters",
    paper: "Choi05 table 3",
    is_as_in_papers: false,
    question: "what does each step of a request cost here?",
    ignores: &["workload", "disk", "memory-percent"],
    plan,
    sections,
};

/// Whom steps are timed beside: somebody has to listen.
const IDLER: &str = "floor-readiness";

const STAGE: &str = "parameters";

/// One of them, with what it was measured by.
struct Parameter {
    /// `accept`, `sped.connection`.
    name: String,
    unit: &'static str,
    is: &'static str,
    /// Or what stands for it.
    value: Result<Spread, &'static str>,
    command: String,
}

/// For a server that answered wrongly: what it took for that is no cost of a reply.
const FAILED: &str = "✗";

/// Weir's architectures, each by its own name.
fn subjects(setup: &Setup) -> Vec<Subject> {
    let names: Vec<&str> = servers::architectures::ARCHITECTURES.iter().map(|of| of.name).collect();
    setup.subjects(&names)
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let specs = specs(setup, &CASES.each_ref(), &subjects(setup), setup.repeats(5));
    Plan { specs, later_s: 0.0 }
}

/// Of these cases, and of what is timed by itself.
fn specs(setup: &Setup, cases: &[&Case], subjects: &[Subject], repeats: u32) -> Vec<Spec> {
    let idler: Subject = IDLER.parse().expect("a floor");
    let of_case = |case: &&Case| {
        let specs = subjects.iter().map(|of| spec(setup, case, of));
        specs.collect::<Vec<_>>()
    };
    let costs = Spec { profile: Some(Kind::Costs), ..spec(setup, &CASES[0], &idler) };
    let once: Vec<Spec> = cases.iter().flat_map(of_case).chain([costs]).collect();
    let again = |repeat| once.iter().map(move |spec| Spec { repeat, ..spec.clone() });
    (0..repeats).flat_map(again).collect()
}

/// What is to be measured before [`steps`] are known of these, by their names.
pub(super) fn for_steps(setup: &Setup, names: &[&str], repeats: u32) -> Vec<Spec> {
    let subjects: Vec<Subject> = names.iter().map(|name| plain(name)).collect();
    specs(setup, &OF_STEPS, &subjects, repeats)
}

/// What each step of a request takes of that architecture, by the simulator's names and in its
/// units; `None`: not all of them were measured.
pub(super) fn steps(
    setup: &Setup,
    known: &Known<'_>,
    name: &str,
) -> Option<Vec<(&'static str, f64)>> {
    simulator::steps(&measured(setup, known, &[plain(name)]), name)
}

fn plain(name: &str) -> Subject {
    Subject { name: name.into(), knobs: BTreeMap::new() }
}

/// The server is to be asked without a pause, and one processor of clients cannot do that to a
/// whole one; what a reply costs is the same.
const QUOTA_PERCENT: u32 = 50;

/// A case of a subject; knobs that it does not take are left as they are.
fn spec(setup: &Setup, case: &Case, of: &Subject) -> Spec {
    let mut subject = of.clone();
    for (knob, value) in case.knobs {
        let mut with = subject.clone();
        with.knobs.insert((*knob).into(), (*value).into());
        if with.judge().is_ok() {
            subject = with;
        }
    }
    Spec {
        experiment: EXPERIMENT.name.into(),
        stage: STAGE.into(),
        subject,
        load: case.load(setup),
        layout: frame::joined(setup, setup.quota_percent(QUOTA_PERCENT)),
        factors: Default::default(),
        repeat: 0,
        profile: None,
    }
}

/// All that is known, in the order of a request; then architecture by architecture.
fn measured(setup: &Setup, known: &Known<'_>, subjects: &[Subject]) -> Vec<Parameter> {
    let mut all = timed(known);
    for of in subjects {
        all.extend(FROM_LOADS.iter().filter_map(|row| of_loads(setup, known, of, row)));
    }
    all
}

fn timed(known: &Known<'_>) -> Vec<Parameter> {
    let cells = known.cells(EXPERIMENT.name, STAGE);
    let points: Vec<_> = cells.flat_map(|cell| cell.points()).collect();
    let of = |name: &str| {
        let values = points.iter().filter_map(|point| match &point.profile {
            Some(Ok(profile)) => match &profile.seen {
                Seen::Costs(costs) => costs.get(name).copied(),
                Seen::Calls(_) | Seen::Shares(_) => None,
            },
            _ => None,
        });
        Spread::of(values.collect())
    };
    let parameter = |cost: &crate::costs::Cost| Parameter {
        name: cost.name.into(),
        unit: cost.unit,
        is: cost.is,
        value: of(cost.name).ok_or(NONE),
        command: format!("weir lab cost {}", cost.name),
    };
    COSTS.iter().map(parameter).collect()
}

/// None where this architecture does not take the knobs that make the difference.
fn of_loads(setup: &Setup, known: &Known<'_>, of: &Subject, row: &FromLoads) -> Option<Parameter> {
    let more = spec(setup, row.more, of);
    let less = row.less.map(|less| spec(setup, less, of));
    if less.as_ref().is_some_and(|less| less.key() == more.key()) {
        return None;
    }
    let more = known.cell(&more);
    let commands = more.and_then(|cell| Some(&cell.points().next()?.commands));
    Some(Parameter {
        name: format!("{of}.{}", row.name),
        unit: row.unit,
        is: row.is,
        value: difference(known, more, less.as_ref(), row),
        command: commands.map(|commands| commands.load.clone()).unwrap_or_default(),
    })
}

/// By repeat, so that what disturbs two neighbours alike is in none of it.
fn difference(
    known: &Known<'_>,
    more: Option<&Cell<'_>>,
    less: Option<&Spec>,
    row: &FromLoads,
) -> Result<Spread, &'static str> {
    let more = more.ok_or(NONE)?;
    let less = less.map(|less| known.cell(less).ok_or(NONE)).transpose()?;
    if more.is_failed() || less.is_some_and(Cell::is_failed) {
        return Err(FAILED);
    }
    let values = more.points().filter_map(|point| {
        let more = (row.of)(point)?;
        let Some(less) = less else { return Some(more / row.share) };
        let other = less.points().find(|other| other.spec.repeat == point.spec.repeat)?;
        Some((more - (row.of)(other)?) / row.share)
    });
    Spread::of(values.collect()).ok_or(NONE)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let parameters = measured(setup, known, &subjects(setup));
    let row = |of: &Parameter| {
        let (told, count) = match &of.value {
            Ok(Spread { median, range: (low, high), count, .. }) => (
                format!("{} ({} to {})", number(*median), number(*low), number(*high)),
                count.to_string(),
            ),
            Err(sign) => (String::from(*sign), NONE.into()),
        };
        vec![of.name.clone(), told, of.unit.into(), count, of.is.into()]
    };
    let head = ["parameter", "median (lowest to highest)", "unit", "repeats", "what it is"];
    let table = Table {
        title: String::from("Parameters"),
        head: head.map(String::from).into(),
        rows: parameters.iter().map(row).collect(),
        notes: vec![String::from(
            "A difference of two loads that is within their noise may be below 0.",
        )],
    };
    let mut files = vec![(String::from("parameters.toml"), toml::text(&parameters))];
    let set = simulator::text(&parameters);
    files.extend(set.map(|text| (String::from(simulator::NAME), text)));
    vec![Section {
        question: question(),
        tables: vec![table],
        files,
        ..frame::section(&EXPERIMENT, "What steps cost", known, &subjects(setup))
    }]
}

/// What stands in front of a file of these: the machine.
#[must_use]
pub fn machine(file: &str, facts: &BTreeMap<String, String>) -> String {
    match file {
        simulator::NAME => simulator::head(facts),
        _ => toml::machine(facts),
    }
}

fn question() -> Vec<String> {
    let cases: Vec<String> =
        CASES.iter().map(|case| format!("{}: {}", case.name, case.is)).collect();
    vec![
        String::from(
            "What the kernel does in one call is timed in batches of that call, by a process that \
             does nothing else, on the server's processor. What an architecture adds is processor \
             time for a reply (the network's work included), or memory, by the difference of two \
             loads in a closed loop, repeat by repeat; the server has half a processor, so that \
             one processor of clients keeps it busy.",
        ),
        format!("The loads are: {}.", cases.join("; ")),
        String::from(
            "parameters.toml has the same for programs: each with its unit, its interval (from \
             the lowest to the highest repeat) and the command that measures it. weir.toml has \
             them as weir sim takes them (--parameters), with what it needs beside them and is \
             assumed.",
        ),
    ]
}
