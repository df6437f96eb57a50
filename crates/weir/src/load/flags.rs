//! The tables of knobs as flags, and flags as values.

use clap::{Arg, ArgMatches};
use load::choices::Choices;
use load::engine::Failure;
use load::knobs::{KNOBS, Knob};
use load::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use load::workload::{self, named};

fn flag(name: &'static str, value: &'static str, help: String) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
}

/// What a run can be told.
pub(super) fn run() -> impl Iterator<Item = Arg> {
    let defaults = Choices::default();
    KNOBS.iter().map(move |knob| {
        let Knob { name, group, value, reason, show, .. } = knob;
        let help = format!("{reason} [default: {}]", show(&defaults));
        flag(name, value, help).help_heading(*group)
    })
}

/// What workloads can be told.
pub(super) fn of_workloads() -> impl Iterator<Item = Arg> {
    let defaults = Settings::default();
    WORKLOAD_KNOBS.iter().map(move |knob| {
        let takers = workload::WORKLOADS.iter().filter(|row| row.knobs.contains(&knob.name));
        let names: Vec<&str> = takers.map(|row| row.name).collect();
        let default = (knob.show)(&defaults);
        let help = format!("of {}: {} [default: {default}]", names.join(", "), knob.reason);
        flag(knob.name, knob.value, help).help_heading("Workloads")
    })
}

/// Where none is named, the one whose files are a site like others: many, of all sizes.
pub(super) const WORKLOAD: &str = "specweb99";

/// Which workload.
pub(super) fn workload(help: &str) -> Arg {
    let names = workload::spellings().join(", ");
    flag("workload", "NAME", format!("{help}: {names}"))
}

/// What a run was told.
pub(super) fn choices(flags: &ArgMatches) -> Result<Choices, Failure> {
    let mut choices = Choices::default();
    for knob in KNOBS {
        if let Some(value) = flags.get_one::<String>(knob.name) {
            choices.set(knob.name, value).map_err(Failure::Operator)?;
        }
    }
    Ok(choices)
}

/// What the workload was told.
pub(super) fn settings(flags: &ArgMatches) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    for knob in WORKLOAD_KNOBS {
        if let Some(value) = flags.get_one::<String>(knob.name) {
            settings.set(knob.name, value).map_err(Failure::Operator)?;
        }
    }
    Ok(settings)
}

/// A flag that only a workload takes.
pub(super) fn first_of_workloads(flags: &ArgMatches) -> Option<&'static str> {
    WORKLOAD_KNOBS.iter().map(|knob| knob.name).find(|name| flags.contains_id(name))
}

/// Whether a workload takes all the flags of workloads that are there.
pub(super) fn judge_workload(flags: &ArgMatches, asked: &str) -> Result<(), Failure> {
    let name = asked.split(':').next().unwrap_or(asked);
    // A name that nothing has is told by whoever makes it.
    let Some(row) = named(name) else { return Ok(()) };
    let given = WORKLOAD_KNOBS.iter().map(|knob| knob.name).filter(|name| flags.contains_id(name));
    let mut foreign = given.filter(|name| !row.knobs.contains(name));
    match foreign.next() {
        None => Ok(()),
        Some(knob) => Err(Failure::Operator(format!("--{knob}: {name} has no such knob"))),
    }
}
