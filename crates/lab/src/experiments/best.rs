//! Which server and which knobs are best on this machine, and what happens at twice the load, with
//! clients that wait one second?
//!
//! The question of whoever has a site and expects a flood, answered in some ten minutes: Weir's
//! architectures, with a few values of the knobs that matter then, beside other servers. One small
//! file, one request on each connection: the flood of new clients of Brecht04 6.2.

use super::{frame, overload};
use crate::curves::{self, number};
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::spec::Load;
use crate::subject::{Kind, Subject};
use crate::tuning::Tuning;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "best",
    paper: "",
    is_as_in_papers: false,
    question: "which server and which knobs are best here, and what happens at twice the load?",
    ignores: &["disk"],
    plan,
    sections,
};

/// Weir's own, and whom a reader may have now.
pub(super) const SUBJECTS: [&str; 10] = [
    "sped",
    "amped",
    "mt",
    "proactor",
    "nginx",
    "lighttpd",
    "h2o",
    "apache-event",
    "apache-prefork",
    "caddy",
];

/// What is tried of each architecture at twice its capacity: how many may wait, and how many are
/// taken or served at a time. `weir lab tune` tries more.
const GRIDS: [(&str, Grid); 4] = [
    ("sped", &[("backlog", &["256", "64"]), ("accept-limit", &["inf", "16"]), EVERYBODY]),
    ("amped", &[("backlog", &["256", "64"]), ("accept-limit", &["inf", "16"]), EVERYBODY]),
    ("mt", &[("backlog", &["256", "64"]), ("threads", &["64", "512"]), EVERYBODY]),
    ("proactor", &[("backlog", &["256", "64"]), ("accept-limit", &["inf", "16"]), EVERYBODY]),
];

/// By default an architecture tunes itself, which is asked besides.
const EVERYBODY: (&str, &[&str]) = ("admit-percent", &["100"]);

/// By knob, its values.
type Grid = &'static [(&'static str, &'static [&'static str])];

/// With what searches found: each has a capacity of its own.
fn design(setup: &Setup, tuned: Vec<Subject>) -> Design {
    let mut subjects = setup.subjects(&SUBJECTS);
    for of in tuned {
        if !subjects.contains(&of) {
            subjects.push(of);
        }
    }
    Design {
        multiples: &[0.9, 2.0],
        equal: &[0.0, 0.5],
        ..Design::of(
            EXPERIMENT.name,
            setup,
            subjects,
            (overload::load(setup, 1.0), overload::layout(setup)),
        )
    }
}

/// The searches that can begin: of those whose capacity is known and who have no value of their own
/// of what is tried.
fn tunings(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<Tuning> {
    let of = |of: &Subject| {
        let (_, grid) = GRIDS.iter().find(|(name, _)| *name == of.name)?;
        let is_free = grid.iter().all(|(knob, _)| !of.knobs.contains_key(*knob));
        let capacity = design.capacity(known, of).filter(|_| is_free)?;
        let values = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
        Some(Tuning {
            experiment: EXPERIMENT.name.into(),
            of: of.clone(),
            grid: grid.iter().map(|(knob, all)| (String::from(*knob), values(all))).collect(),
            load: Load { seconds: setup.seconds(1.0), ..design.load.clone() },
            layout: design.layout.clone(),
            capacity: capacity.rate,
            multiples: &[2.0],
            filling_max_s: design.filling_max_s,
            finalists: 1,
            repeats: 0,
        })
    };
    design.subjects.iter().filter_map(of).collect()
}

fn tuned(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<Subject> {
    let best = |of: &Tuning| of.survivors(known)?.into_iter().next();
    tunings(setup, design, known).iter().filter_map(best).collect()
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = self::design(setup, Vec::new());
    let search = Design { multiples: &[], equal: &[], ..design.clone() };
    let mut plan = search.plan(known);
    let rates_s = TUNED_S + design.of_rates(design.subjects.len() + GRIDS.len());
    if !are_over(known, &plan.specs) {
        plan.later_s += rates_s + TUNING_S;
        return plan;
    }
    for tuning in tunings(setup, &design, known) {
        let of_it = tuning.plan(known);
        plan.later_s += of_it.later_s;
        plan.specs.extend(of_it.specs);
    }
    if !are_over(known, &plan.specs) {
        plan.later_s += rates_s;
        return plan;
    }
    let tuned = tuned(setup, &design, known);
    self::design(setup, tuned).plan(known).after(plan)
}

/// About how long the searches take, and the tries of what they find.
const TUNING_S: f64 = 100.0;
const TUNED_S: f64 = 60.0;

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let asked = design(setup, Vec::new());
    let design = design(setup, tuned(setup, &asked, known));
    let below = Design { multiples: &[0.9], ..design.clone() };
    vec![Section {
        question: overload::question(&design),
        answer: answer(&design, known),
        figures: vec![
            curves::bars(&design, known, "replies", &metric::GOODPUT),
            curves::bars(&design, known, "p99", &metric::P99),
            // Beyond the capacity it is that of many requests without a reply.
            curves::bars(&below, known, "processor", &metric::CPU),
        ],
        tables: vec![
            overload::kept(&design, known),
            curves::table(&design, known, &curves::OF_LOAD),
            curves::at_equal_rates(&design, known),
        ],
        ..frame::section(&EXPERIMENT, TITLE, known, &design.subjects)
    }]
}

const TITLE: &str = "Which server, which knobs, and what a flood does";

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
