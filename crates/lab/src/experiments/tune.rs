//! Which knobs are best for one server here? (Pariag07 3.3.)
//!
//! The cross product of connections, workers, backlog and, where they apply, cache size or
//! accept-limit, by [`Tuning`]; under the workload and at the loads that the server is to be good
//! at: 0.9 and 2.0 of the capacity that it has untuned.

use super::{frame, overload};
use crate::curves;
use crate::design::{Design, Plan, are_over, is_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Section, Table};
use crate::results::Run;
use crate::setup::Setup;
use crate::spec::Load;
use crate::subject::{self, Kind, Subject};
use crate::tuned::{Server, Tuned};
use crate::tuning::Tuning;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "tune",
    paper: "Pariag07 3.3",
    is_as_in_papers: false,
    question: "which connections, workers, backlog and accept-limit or cache size are best here?",
    ignores: &["disk", "memory-percent", "tuning"],
    plan,
    sections,
};

/// With the values that are tried.
type Knob = (&'static str, &'static [&'static str]);

/// What is tried is tried alone: nobody tunes it further.
const EVERYBODY: Knob = ("admit-percent", &["100"]);

/// As in the rows of those peers that can.
const DEFER_ACCEPT: Knob = ("defer-accept-s", &["0", "1"]);

/// What Weir's architectures are tuned in beside: where all clients ask for one small file, how
/// many are accepted at a time; else how much is kept in memory.
const OF_ONE_FILE: Knob = ("accept-limit", &["1", "16", "inf"]);
const OF_MANY_FILES: Knob = ("cache-mb", &["4", "64", "512"]);

/// What a subject is tuned in under a load, if it is one that can be: the registries say it.
fn grid(of: &Subject, load: &Load) -> Option<Vec<Knob>> {
    match of.kind() {
        Ok(Kind::Weir(row)) => {
            let is_one = load.workload == "one-packet";
            let beside = if is_one { OF_ONE_FILE } else { OF_MANY_FILES };
            Some([row.tuning, &[beside, DEFER_ACCEPT, EVERYBODY]].concat())
        }
        Ok(Kind::Peer(peer)) => Some(peer.tuning.to_vec()),
        _ => None,
    }
}

/// So many settings are tried of one who is tuned alone...
const SETTINGS_ALONE: usize = 36;
/// ... of each, where all are tuned, and at least so many, however many they are.
const SETTINGS_MAX: usize = 12;
const SETTINGS_MIN: usize = 2;

/// Twenty minutes that somebody may wait for an answer, less the search for the capacity.
const ALONE_S: f64 = 1_080.0;

/// About how long the search for one capacity takes.
const CAPACITY_S: f64 = 45.0;

/// Of the time that there is, what is planned: the rest is for what has to be measured again.
const PLANNED: f64 = 0.9;

/// One, or all that can be tuned: Weir's architectures and peers, as far as they are here.
fn subjects(setup: &Setup) -> Vec<Subject> {
    let is_all = setup.minutes.is_some();
    let can = |kind: &Kind| matches!(kind, Kind::Weir(_) | Kind::Peer(_));
    let all =
        subject::all().filter(|(name, kind)| if is_all { can(kind) } else { *name == "sped" });
    setup.subjects(&all.map(|(name, _)| name).collect::<Vec<_>>())
}

fn design(setup: &Setup) -> Design {
    Design::of(
        EXPERIMENT.name,
        setup,
        subjects(setup),
        (overload::load(setup, 1.0), overload::layout(setup)),
    )
}

/// Of those whose capacity is known and for whom there is a grid.
fn tunings(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<Tuning> {
    let of = |of: &Subject| {
        let grid = grid(of, &design.load)?;
        let capacity = design.capacity(known, of)?.rate;
        let alone = Tuning {
            experiment: EXPERIMENT.name.into(),
            of: of.clone(),
            grid: owned(&grid),
            load: design.load.clone(),
            layout: design.layout.clone(),
            capacity,
            multiples: &MULTIPLES,
            filling_max_s: design.filling_max_s,
            finalists: 4,
            repeats: setup.repeats(3),
            settings_max: SETTINGS_ALONE,
            most_s: ALONE_S,
            is_brief: false,
        };
        Some(match setup.minutes {
            Some(minutes) => shared(alone, setup, minutes, design.subjects.len()),
            None => alone,
        })
    };
    design.subjects.iter().filter_map(of).collect()
}

fn owned(grid: &[Knob]) -> Vec<(String, Vec<String>)> {
    let values = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
    grid.iter().map(|(knob, all)| (String::from(*knob), values(all))).collect()
}

/// The search of one of so many who share the time: each has as much of it, and as many settings.
fn shared(alone: Tuning, setup: &Setup, minutes: u32, count: usize) -> Tuning {
    let most_s = PLANNED * 60.0 * f64::from(minutes) / count as f64 - CAPACITY_S;
    let repeats = setup.repeats(2);
    let of = Tuning { finalists: 2, repeats, most_s, is_brief: true, ..alone };
    let settings = ((most_s - of.finals_s()) / of.setting_s()).max(0.0) as usize;
    Tuning { settings_max: settings.clamp(SETTINGS_MIN, SETTINGS_MAX), ..of }
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(setup);
    let mut plan = design.plan(known);
    let tunings = tunings(setup, &design, known);
    if are_over(known, &plan.specs) {
        plan = tunings.iter().fold(plan, |plan, of| of.plan(known).after(plan));
    } else {
        plan.later_s += TUNING_S * design.subjects.len() as f64;
    }
    match setup.minutes {
        Some(minutes) => within(plan, 60.0 * f64::from(minutes), known),
        None => plan,
    }
}

/// Without what would take longer than all may, as long as things take on this machine.
fn within(mut plan: Plan, most_s: f64, known: &Known<'_>) -> Plan {
    let own = known.all().iter().filter(|cell| cell.spec.experiment == EXPERIMENT.name);
    let points = own.flat_map(|cell| cell.points().chain(cell.invalid.iter().copied()));
    let (mut took_s, mut expected_s) = (0.0, 0.0);
    for point in points {
        took_s += point.cost.whole_s;
        expected_s += point.spec.load.costs_s();
    }
    let pace = if expected_s > 0.0 { took_s / expected_s } else { 1.0 };
    plan.specs.retain(|spec| {
        is_over(known, spec) || {
            took_s += spec.load.costs_s() * pace;
            took_s <= most_s
        }
    });
    plan.later_s = plan.later_s.min((most_s - took_s).max(0.0));
    plan
}

/// What a run has found of those whose search is over.
#[must_use]
pub fn tuned(run: &Run, known: &Known<'_>) -> Tuned {
    let design = design(&run.setup);
    let of = |tuning: &Tuning| {
        let Plan { specs, later_s } = tuning.plan(known);
        let is_whole = later_s == 0.0 && are_over(known, &specs);
        let finalists = if is_whole { tuning.finalists(known) } else { Vec::new() };
        let (best, score) = finalists.first()?;
        let untuned = finalists.iter().find(|(of, _)| *of == tuning.of);
        Some(Server {
            of: tuning.of.clone(),
            best: best.clone(),
            knobs: tuning.grid.iter().cloned().collect(),
            tried: tuning.tried(known),
            capacity: design.capacity(known, &tuning.of)?.replies_per_s,
            rate: tuning.capacity,
            replies: (untuned.map(|(_, score)| score.median), score.median),
            version: run.versions.get(&versioned(&tuning.of)).cloned().unwrap_or_default(),
        })
    };
    let servers = tunings(&run.setup, &design, known).iter().filter_map(of).collect();
    Tuned::new(run.machine.clone(), design.load.workload.clone(), servers)
}

/// The name under which a run knows a server's version: knobs change nothing of it, but a program
/// of its own.
#[must_use]
pub fn versioned(of: &Subject) -> String {
    match of.kind() {
        Ok(Kind::Weir(_)) => String::from("weir"),
        _ if of.knobs.contains_key("program") => of.to_string(),
        _ => of.name.clone(),
    }
}

/// Where a server has nearly enough to do, and where it has twice as much.
const MULTIPLES: [f64; 2] = [0.9, 2.0];

/// About how long one search takes.
const TUNING_S: f64 = 900.0;

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let tunings = tunings(setup, &design, known);
    let mut answer = Vec::new();
    for tuning in &tunings {
        answer.extend(winner(tuning, known));
        if setup.minutes.is_some() && tuning.finalists(known).is_empty() {
            answer.push(format!("{}: not tuned, as the time was over.", tuning.of));
        }
        for of in tuning.unknown(known) {
            answer.push(format!(
                "{of} could not be measured at every load: it may be better, or worse."
            ));
        }
    }
    vec![Section {
        question: overload::question(&design),
        answer,
        tables: tunings.iter().map(|of| table(of, known)).collect(),
        ..frame::section(&EXPERIMENT, "The best knobs", known, &design.subjects)
    }]
}

/// The best of those who were measured; none, where there is nobody to be better than.
fn winner(tuning: &Tuning, known: &Known<'_>) -> Option<String> {
    let finalists = tuning.finalists(known);
    let [(best, score), _, ..] = finalists.as_slice() else { return None };
    let Some(gain) = tuning.gain(known) else {
        let failed = tuning.failed_at_last(known);
        if !failed.is_empty() {
            let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
            return Some(format!(
                "{}: first of the finalists is {best}, with {} good replies/s over all loads. \
                 Measured once more beside the untuned server, {} failed verification: no gain \
                 is reported.",
                tuning.of,
                curves::spread_text(score),
                failed.join(" and ")
            ));
        }
        return Some(format!(
            "{}: best with {best}: {} good replies/s over all loads.",
            tuning.of,
            curves::spread_text(score)
        ));
    };
    let (best, (with, without)) = (&gain.best, gain.scores);
    let more = match gain.more {
        Some(ratio) => format!("{} times as much", curves::ratio_text(&ratio)),
        None => String::from("no clear difference"),
    };
    Some(format!(
        "{}: best with {best}. Measured once more: {} good replies/s over all loads, and {} \
         untuned: {more}.",
        tuning.of,
        curves::spread_text(&with),
        curves::spread_text(&without)
    ))
}

fn table(tuning: &Tuning, known: &Known<'_>) -> Table {
    let mut head =
        vec![String::from("finalist"), String::from("good replies/s, mean of all loads")];
    head.extend(tuning.multiples.iter().map(|of| format!("at {of} of its capacity")));
    let failed = tuning.failed_at_last(known);
    let rows = tuning.finalists(known).into_iter().map(|(of, score)| {
        let name = curves::marked(of.to_string(), failed.contains(&of));
        let mut row = vec![name, curves::spread_text(&score)];
        row.extend(tuning.multiples.iter().map(|multiple| {
            let cell = tuning.final_cell(known, &of, *multiple);
            cell.map_or_else(|| String::from("-"), |cell| curves::told(cell, &metric::GOODPUT))
        }));
        row
    });
    Table {
        title: format!("{}, tuned", tuning.of),
        head,
        rows: rows.collect(),
        notes: vec![
            String::from(
                "Settings that failed verification at any load are left out (Pariag07 3.4). A \
                 cross at a name: it failed when measured once more.",
            ),
            curves::MARKS.into(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tuning::with_knob;

    fn tunable() -> impl Iterator<Item = Subject> {
        let can = |(_, kind): &(&str, Kind)| matches!(kind, Kind::Weir(_) | Kind::Peer(_));
        subject::all().filter(can).map(|(name, _)| name.parse().expect("a subject"))
    }

    #[test]
    fn every_value_of_a_grid_is_one_that_its_subject_takes() {
        let load = |workload: &str| Load {
            workload: workload.into(),
            ..overload::load(&Setup::default(), 1.0)
        };
        for (of, load) in
            tunable().flat_map(|of| ["one-packet", "webstone"].map(|w| (of.clone(), load(w))))
        {
            for (knob, values) in grid(&of, &load).expect("a grid") {
                for value in values {
                    assert_eq!(with_knob(&of, knob, value).judge(), Ok(()), "{of} {knob}");
                }
            }
        }
    }

    /// The same number of each, however many there are, and every value of each knob among them.
    #[test]
    fn all_are_tuned_with_as_many_settings_and_as_much_time() {
        for (count, minutes, expected) in [(10, 60, 12), (19, 60, 7), (2, 2, 2)] {
            for of in tunable() {
                let setup = Setup { minutes: Some(minutes), ..Setup::default() };
                let design = design(&setup);
                let grid = owned(&grid(&of, &design.load).expect("a grid"));
                let alone = Tuning {
                    experiment: String::new(),
                    of: of.clone(),
                    grid: grid.clone(),
                    load: design.load.clone(),
                    layout: design.layout.clone(),
                    capacity: 1.0,
                    multiples: &MULTIPLES,
                    filling_max_s: design.filling_max_s,
                    finalists: 4,
                    repeats: 3,
                    settings_max: SETTINGS_ALONE,
                    most_s: ALONE_S,
                    is_brief: false,
                };
                let settings = shared(alone, &setup, minutes, count).settings();
                let own: BTreeSet<_> = settings.iter().collect();
                assert_eq!((own.len(), settings.len()), (expected, expected), "{of} of {count}");
                let is_tried = |knob: &str, value: &String| {
                    settings.iter().any(|of| of.knobs.get(knob) == Some(value))
                };
                let is_missed = |(knob, values): &(String, Vec<String>)| {
                    !values.iter().all(|value| is_tried(knob, value))
                };
                let missed: Vec<_> = grid.iter().filter(|knob| is_missed(knob)).collect();
                assert!(missed.is_empty() || expected < SETTINGS_MAX, "{of}: {missed:?}");
            }
        }
    }
}
