//! Which knobs are best for one server here? (Pariag07 3.3.)
//!
//! The cross product of connections, workers, backlog and, where they apply, cache size or
//! accept-limit, by [`Tuning`]; under the workload and at the loads that the server is to be good
//! at: 0.9 and 2.0 of the capacity that it has untuned.

use super::{frame, overload};
use crate::curves;
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Section, Table};
use crate::setup::Setup;
use crate::spec::Load;
use crate::subject::{Kind, Subject};
use crate::tuning::Tuning;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "tune",
    paper: "Pariag07 3.3",
    is_as_in_papers: false,
    question: "which connections, workers, backlog and accept-limit or cache size are best here?",
    ignores: &["disk"],
    plan,
    sections,
};

/// Of peers: connections and workers. Small enough for twenty minutes. What is worth tuning in
/// Weir's architectures the registry says.
const PEERS: [(&str, Grid); 5] = [
    ("nginx", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("lighttpd", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("h2o", &[PEER_CONNECTIONS, PEER_WORKERS]),
    ("apache-event", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("apache-prefork", &[("workers", &["16", "64", "256"]), BACKLOG]),
];

type Grid = &'static [Knob];

/// With the values that are tried.
type Knob = (&'static str, &'static [&'static str]);

const PEER_CONNECTIONS: Knob = ("connections", &["1000", "4000"]);
const PEER_WORKERS: Knob = ("workers", &["1", "2", "4"]);
const BACKLOG: Knob = ("backlog", &["64", "1024"]);

/// What is tried is tried alone: nobody tunes it further.
const EVERYBODY: Knob = ("admit-percent", &["100"]);

/// What Weir's architectures are tuned in beside: where all clients ask for one small file, how
/// many are accepted at a time; else how much is kept in memory.
const OF_ONE_FILE: Knob = ("accept-limit", &["1", "16", "inf"]);
const OF_MANY_FILES: Knob = ("cache-mb", &["4", "64", "512"]);

/// What a subject is tuned in under a load, if it is one that can be.
fn grid(of: &Subject, load: &Load) -> Option<Vec<Knob>> {
    match of.kind() {
        Ok(Kind::Weir(row)) => {
            let is_one = load.workload == "one-packet";
            let beside = if is_one { OF_ONE_FILE } else { OF_MANY_FILES };
            Some([row.tuning, &[beside, EVERYBODY]].concat())
        }
        _ => PEERS.iter().find(|(name, _)| *name == of.name).map(|(_, grid)| grid.to_vec()),
    }
}

fn design(setup: &Setup) -> Design {
    Design::of(
        EXPERIMENT.name,
        setup,
        setup.subjects(&["sped"]),
        (overload::load(setup, 1.0), overload::layout(setup)),
    )
}

/// Of those whose capacity is known and for whom there is a grid.
fn tunings(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<Tuning> {
    let of = |of: &Subject| {
        let grid = grid(of, &design.load)?;
        let capacity = design.capacity(known, of)?.rate;
        let values = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
        Some(Tuning {
            experiment: EXPERIMENT.name.into(),
            of: of.clone(),
            grid: grid.into_iter().map(|(knob, all)| (String::from(knob), values(all))).collect(),
            load: design.load.clone(),
            layout: design.layout.clone(),
            capacity,
            multiples: &MULTIPLES,
            filling_max_s: design.filling_max_s,
            finalists: 4,
            repeats: setup.repeats(3),
        })
    };
    design.subjects.iter().filter_map(of).collect()
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let design = design(setup);
    let mut plan = design.plan(known);
    if !are_over(known, &plan.specs) {
        plan.later_s += TUNING_S * design.subjects.len() as f64;
        return plan;
    }
    tunings(setup, &design, known).iter().fold(plan, |plan, of| of.plan(known).after(plan))
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
    use servers::architectures::ARCHITECTURES;

    use super::*;
    use crate::tuning::with_knob;

    #[test]
    fn every_value_of_a_grid_is_one_that_its_subject_takes() {
        let weirs = ARCHITECTURES.iter().map(|row| (row.name, row.tuning));
        for (name, grid) in weirs.chain(PEERS) {
            let subject: Subject = name.parse().expect("a subject");
            let besides = [OF_ONE_FILE, OF_MANY_FILES];
            let besides = besides.iter().filter(|_| matches!(subject.kind(), Ok(Kind::Weir(_))));
            for (knob, values) in grid.iter().chain(besides) {
                for value in *values {
                    assert_eq!(with_knob(&subject, knob, value).judge(), Ok(()), "{name} {knob}");
                }
            }
        }
    }
}
