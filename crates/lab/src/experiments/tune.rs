//! Which knobs are best for one server here? (Pariag07 3.3.)
//!
//! The cross product of connections and workers and, where they apply, cache size or accept-limit,
//! by [`Tuning`]; under the workload and at the loads that the server is to be good at: 0.9, 1.25
//! and 2.0 of the capacity that it has untuned.

use super::flood;
use crate::curves::{self, number};
use crate::design::{Design, Plan, are_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::tuning::Tuning;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "tune",
    paper: "Pariag07 3.3",
    question: "which connections, workers and accept-limit are best for one server here?",
    plan,
    sections,
};

/// By subject: connections, workers, and what else its paper tunes. Small enough for twenty
/// minutes.
const GRIDS: [(&str, Grid); 9] = [
    ("sped", &[CONNECTIONS, PROCESSES, BACKLOG, ACCEPT_LIMIT]),
    ("amped", &[CONNECTIONS, ("helpers", &["2", "8", "32"]), BACKLOG, ACCEPT_LIMIT]),
    ("mt", &[("threads", &["16", "64", "256", "1024"]), BACKLOG, ("accept-limit", &["1", "4"])]),
    ("proactor", &[CONNECTIONS, PROCESSES, BACKLOG, ACCEPT_LIMIT]),
    ("nginx", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("lighttpd", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("h2o", &[PEER_CONNECTIONS, PEER_WORKERS]),
    ("apache-event", &[PEER_CONNECTIONS, PEER_WORKERS, BACKLOG]),
    ("apache-prefork", &[("workers", &["16", "64", "256"]), BACKLOG]),
];

type Grid = &'static [(&'static str, &'static [&'static str])];

const CONNECTIONS: (&str, &[&str]) = ("connections-max", &["1000", "10000"]);
const PEER_CONNECTIONS: (&str, &[&str]) = ("connections", &["1000", "4000"]);
const PEER_WORKERS: (&str, &[&str]) = ("workers", &["1", "2", "4"]);
const PROCESSES: (&str, &[&str]) = ("processes", &["1", "2", "4"]);
const BACKLOG: (&str, &[&str]) = ("backlog", &["32", "128", "1024"]);
const ACCEPT_LIMIT: (&str, &[&str]) = ("accept-limit", &["1", "16", "inf"]);

fn design(setup: &Setup) -> Design {
    Design {
        experiment: EXPERIMENT.name,
        subjects: setup.subjects(&["sped"]),
        load: flood::load(setup, 1.0),
        layout: flood::layout(setup),
        sweep_s: setup.seconds(2.0),
        sweep: &[0.7, 0.8, 0.9, 1.0, 1.1, 1.2],
        multiples: &[],
        sweep_repeats: setup.repeats(3),
        repeats: setup.repeats(3),
        basis: Clone::clone,
    }
}

/// Of those whose capacity is known and for whom there is a grid.
fn tunings(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<Tuning> {
    let of = |of: &Subject| {
        let (_, grid) = GRIDS.iter().find(|(name, _)| *name == of.name)?;
        let rate = design.capacity(known, of)?.rate;
        let values = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
        let load = Load {
            warm_up: setup.warm_up(WarmUp::Fixed(0.3)),
            seconds: setup.seconds(0.6),
            ..design.load.clone()
        };
        Some(Tuning {
            experiment: EXPERIMENT.name.into(),
            of: of.clone(),
            grid: grid.iter().map(|(knob, all)| (String::from(*knob), values(all))).collect(),
            load,
            layout: design.layout.clone(),
            rates: [0.9, 1.25, 2.0].map(|share| (rate * share).round()).into(),
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

/// About how long one search takes.
const TUNING_S: f64 = 900.0;

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let tunings = tunings(setup, &design, known);
    let mut answer = Vec::new();
    for tuning in &tunings {
        let finalists = tuning.finalists(known);
        let (Some((best, score)), Some((_, own))) =
            (finalists.first(), finalists.iter().find(|(of, _)| *of == tuning.of))
        else {
            continue;
        };
        answer.push(format!(
            "{}: best with {best}: {} good replies/s over all loads, {} % more than untuned.",
            tuning.of,
            number(*score),
            number((score / own - 1.0) * 100.0)
        ));
    }
    vec![Section {
        name: EXPERIMENT.name.into(),
        title: String::from("The best knobs"),
        question: flood::question(&design),
        answer,
        comparisons: Vec::new(),
        figures: Vec::new(),
        tables: tunings.iter().map(|of| table(of, known)).collect(),
        excluded: curves::excluded(known, EXPERIMENT.name),
        commands: curves::commands(known, EXPERIMENT.name, &design.subjects),
    }]
}

fn table(tuning: &Tuning, known: &Known<'_>) -> Table {
    let mut head =
        vec![String::from("finalist"), String::from("good replies/s, mean of all loads")];
    head.extend(tuning.rates.iter().map(|rate| format!("at {} sessions/s", number(*rate))));
    let rows = tuning.finalists(known).into_iter().map(|(of, score)| {
        let mut row = vec![of.to_string(), number(score)];
        row.extend(tuning.rates.iter().map(|rate| {
            let cell = tuning.final_cell(known, &of, *rate);
            cell.map_or_else(|| String::from("-"), |cell| curves::told(cell, &metric::GOODPUT))
        }));
        row
    });
    Table {
        title: format!("{}, tuned", tuning.of),
        head,
        rows: rows.collect(),
        notes: vec![String::from(
            "Who failed verification at any load is not here (Pariag07 3.4).",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::with_knob;

    #[test]
    fn every_value_of_a_grid_is_one_that_its_subject_takes() {
        for (name, grid) in GRIDS {
            let subject: Subject = name.parse().expect("a subject");
            for (knob, values) in grid {
                for value in *values {
                    assert_eq!(with_knob(&subject, knob, value).judge(), Ok(()), "{name} {knob}");
                }
            }
        }
    }
}
