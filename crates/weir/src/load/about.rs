//! What a report says of its run beside its results.

use std::collections::BTreeMap;

use clap::ArgMatches;
use load::arrivals::{Arrivals, Gaps};
use load::choices::Choices;
use load::engine::Plan;
use load::report::About;
use load::url::Url;
use load::workload::Workload;
use load::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use load::{knobs, machine};

use super::flags;

pub(super) fn about(
    (url, name, workload): (&Url, Option<&str>, &dyn Workload),
    choices: &Choices,
    plan: &Plan,
    flags: &ArgMatches,
) -> About {
    let settings = flags::settings(flags).unwrap_or_default();
    let used = used(choices, plan);
    let mut knobs: BTreeMap<String, String> =
        knobs::KNOBS.iter().map(|knob| (knob.name.into(), (knob.show)(&used))).collect();
    if matches!(plan.arrivals, Arrivals::Open(Gaps::Times(_))) {
        // A log's, for which there is no word but its own.
        knobs.insert(String::from("clients"), String::from("none"));
    }
    knobs.extend(name.map(|name| (String::from("workload"), name.into())));
    let of_workload = name.into_iter().flat_map(|name| of_workload(name, &settings));
    let of_workload: Vec<(&str, String)> = of_workload.collect();
    knobs.extend(of_workload.iter().map(|(name, value)| (String::from(*name), value.clone())));
    let said = of_workload.iter().map(|(name, value)| format!(", {name} {value}"));
    About {
        target: url.to_string(),
        workload: name.unwrap_or("one URL").to_owned() + &said.collect::<String>(),
        notes: workload.notes(),
        load: load(plan, choices.processes),
        began: h1::Date::new(os::clock::wall_seconds()).rfc3339(),
        seed: choices.seed,
        knobs,
        machine: machine::facts(),
        versions: machine::versions(),
    }
}

/// The choices with what was left to the workload.
fn used(choices: &Choices, plan: &Plan) -> Choices {
    let Plan { behaviour, stop, .. } = plan;
    Choices {
        duration: Some(stop.after.saturating_sub(stop.warm_up)),
        keeps: Some(behaviour.keeps),
        parallel: Some(behaviour.parallel),
        connections_max: Some(behaviour.connections_max),
        ..choices.clone()
    }
}

/// What a workload was told, and what it takes by default.
fn of_workload(name: &str, settings: &Settings) -> Vec<(&'static str, String)> {
    let row = load::workload::named(name.split(':').next().unwrap_or(name));
    let takes = |name: &str| row.is_some_and(|row| row.knobs.contains(&name));
    let taken = WORKLOAD_KNOBS.iter().filter(|knob| takes(knob.name));
    taken.map(|knob| (knob.name, (knob.show)(settings))).collect()
}

/// How the load is made, in a few words.
fn load(plan: &Plan, processes: u32) -> String {
    let arrivals = match &plan.arrivals {
        Arrivals::Open(gaps) => rates(gaps),
        Arrivals::Closed { clients: 1, .. } => String::from("1 client, closed loop"),
        Arrivals::Closed { clients, .. } => format!("{clients} clients, closed loop"),
    };
    match processes {
        1 => arrivals,
        _ => format!("{arrivals}, {processes} processes"),
    }
}

fn rates(gaps: &Gaps) -> String {
    match gaps {
        Gaps::Fixed { rate: 1.0 } => String::from("1 session/s"),
        Gaps::Fixed { rate } => format!("{rate} sessions/s"),
        Gaps::Steps(stages) => {
            let rates = || stages.iter().map(|stage| stage.rate);
            let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
            format!("{} steps, {least} to {most} sessions/s", stages.len())
        }
        Gaps::Ramp { from, to, .. } => format!("{from} to {to} sessions/s, evenly"),
        Gaps::Times(times) => format!("{} sessions at their times", times.len()),
        Gaps::Poisson(mean) => format!("{}, Poisson", rates(mean)),
    }
}
