//! What a flood leaves under other loads than `flood` has: clients with more patience, far away,
//! with more than one request, beside clients who stay, who read slowly or who want the disk, and
//! without a quota. A row for each, and one way to ask all of them.

mod rows;
mod told;

use self::rows::{Asks, FLOODS, Flood};
use super::promised::{self, Promise};
use super::{disk, frame, overload};
use crate::curves;
use crate::design::{Design, Plan, RATES, are_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::metric::Metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::spec::{Load, Spec};
use crate::subject::{Kind, Subject};
use crate::testbed::Layout;

/// The experiment of a row.
pub(super) const fn experiment<const AT: usize>() -> Experiment {
    let Flood { name, question, ignores, .. } = FLOODS[AT];
    let (plan, sections) = (plan::<AT>, sections::<AT>);
    Experiment { name, paper: "", is_as_in_papers: false, question, ignores, plan, sections }
}

/// How each architecture is set by hand, so that what tunes itself can be told from it: nobody is
/// refused, and few may wait.
const BY_HAND: [(&str, &str); 2] = [("admit-percent", "100"), ("backlog", "64")];

/// Subjects, and of those that were made of another one, which one that is.
pub(super) type Rivals = (Vec<Subject>, Vec<(Subject, Subject)>);

/// Those that the operator or the experiment wants, and behind them each of Weir's that nobody has
/// tuned as it is by hand, with the one whose capacity its loads are multiples of.
pub(super) fn rivals(setup: &Setup, own: &[&str]) -> Rivals {
    let mut subjects = setup.subjects(own);
    let is_untuned = |of: &&Subject| of.knobs.is_empty() && matches!(of.kind(), Ok(Kind::Weir(_)));
    let by_hand = |of: &Subject| {
        let knobs = BY_HAND.map(|(knob, value)| (knob.into(), value.into()));
        (Subject { knobs: knobs.into(), ..of.clone() }, of.clone())
    };
    let made_of: Vec<_> = subjects.iter().filter(is_untuned).map(by_hand).collect();
    subjects.extend(made_of.iter().map(|(made, _)| made.clone()));
    (subjects, made_of)
}

fn design(flood: &Flood, setup: &Setup) -> Design {
    let (subjects, made_of) = rivals(setup, flood.subjects);
    let is_filled = setup.filling_max_s() > 0.0;
    Design {
        multiples: flood.multiples,
        repeats: setup.repeats(flood.repeats),
        made_of,
        filling_max_s: if is_filled { flood.filling_max_s } else { 0.0 },
        ..Design::of(flood.name, setup, subjects, (load(flood, setup), layout(flood, setup)))
    }
}

fn load(flood: &Flood, setup: &Setup) -> Load {
    let load = overload::load(setup, rows::SECONDS).with("patience", flood.patience_s);
    let beside = match flood.beside {
        Some(of) if !flood.is_compared => Some(of()),
        _ => None,
    };
    let load = Load { beside, ..load };
    match flood.asks {
        Asks::OnePacket => load,
        Asks::Sessions => rows::sessions(load),
        Asks::SessionsAtOnce => rows::at_once(load),
    }
}

fn layout(flood: &Flood, setup: &Setup) -> Layout {
    let far = flood.round_trip_ms.filter(|_| !setup.is_loopback);
    // A server that is to have a whole processor has it, whatever others of the same page have.
    let quota = flood.quota_percent.and_then(|own| setup.quota_percent(own));
    let layout =
        Layout { round_trip_ms: setup.round_trip_ms.or(far), ..frame::joined(setup, quota) };
    if flood.has_disk {
        let disk = disk::said(setup).unwrap_or(Some(disk::PAPERS));
        disk::limited(setup, layout, disk::DIRS, disk)
    } else {
        layout
    }
}

/// Where the same is asked for beside a second load, as it stands in [`Spec::stage`].
const BESIDE: &str = "beside";

/// The same beside the second load; `None`: there is none.
fn with_beside(flood: &Flood, without: &Spec) -> Option<Spec> {
    let load = Load { beside: Some(flood.beside?()), ..without.load.clone() };
    Some(Spec { stage: BESIDE.into(), load, ..without.clone() })
}

fn plan<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Plan {
    let flood = &FLOODS[AT];
    let design = design(flood, setup);
    let mut plan = design.plan(known);
    if !flood.is_compared {
        return plan;
    }
    let without = plan.specs.iter().filter(|spec| spec.stage == RATES);
    let with: Vec<Spec> = without.filter_map(|spec| with_beside(flood, spec)).collect();
    if with.is_empty() || !are_over(known, &plan.specs) {
        plan.later_s += match &with[..] {
            [] => {
                let load = Load { beside: flood.beside.map(|of| of()), ..design.load.clone() };
                Design { load, ..design.clone() }.of_rates(design.subjects.len())
            }
            known => known.iter().map(|spec| spec.load.costs_s()).sum(),
        };
        return plan;
    }
    plan.specs.extend(with);
    plan
}

fn sections<const AT: usize>(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let flood = &FLOODS[AT];
    let design = design(flood, setup);
    let mut question = overload::question(&design);
    question.extend((!flood.says.is_empty()).then(|| flood.says.into()));
    let mut answer = overload::answer(&design, known);
    answer.extend(told::not_offered(&design, known));
    let promised = match flood.asks {
        Asks::OnePacket => promised::table(&design, known, promise(flood, &design)),
        Asks::Sessions | Asks::SessionsAtOnce => told::sessions(&design, known),
    };
    let compared = flood.is_compared.then(|| told::compared(flood, &design, known));
    let table = curves::table(&design, known, &METRICS);
    vec![Section {
        question,
        answer,
        figures: vec![curves::bars(&design, known, "goodput", &metric::GOODPUT)],
        tables: [promised].into_iter().chain(compared).chain([table]).collect(),
        ..frame::section(&experiment::<AT>(), flood.title, known, &design.subjects)
    }]
}

/// What is promised to clients so far away, who make a round trip for their connection and one for
/// their request.
fn promise(flood: &Flood, design: &Design) -> Promise {
    const TRIPS: f64 = 2.0;
    let promise = if flood.patience_s > 1.0 { promised::PATIENT } else { promised::AT_ONCE };
    let far_ms = TRIPS * f64::from(design.layout.round_trip_ms.unwrap_or(0));
    Promise { wait_ms: promise.wait_ms + far_ms, ..promise }
}

/// Of a load and of the one beside it.
const METRICS: [&Metric; 10] = [
    &metric::OFFERED,
    &metric::GOODPUT,
    &metric::P50,
    &metric::P95,
    &metric::P99,
    &metric::GOOD_P99,
    &metric::SECOND_GOODPUT,
    &metric::SECOND_P99,
    &metric::OPEN,
    &metric::DROPS,
];
