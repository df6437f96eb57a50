//! The tables of knobs as flags, and flags as values.

use clap::{Arg, ArgMatches};
use load::choices::Choices;
use load::engine::Failure;
use load::knob::{self, Knob};
use load::knobs::KNOBS;
use load::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use load::workload::{self, named};

fn flag(name: &'static str, value: &'static str, help: String) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
}

/// What a run can be told.
pub(super) fn run() -> impl Iterator<Item = Arg> {
    of_table(KNOBS, Choices::default(), |_| String::new())
}

/// What workloads can be told.
pub(super) fn of_workloads() -> impl Iterator<Item = Arg> {
    of_table(WORKLOAD_KNOBS, Settings::default(), |name| {
        let takers = workload::WORKLOADS.iter().filter(|row| row.knobs.contains(&name));
        format!("of {}: ", takers.map(|row| row.name).collect::<Vec<_>>().join(", "))
    })
}

/// A flag for each of a table; `whose` says what is to stand before a knob's reason.
fn of_table<C: 'static>(
    table: &'static [Knob<C>],
    defaults: C,
    whose: fn(&str) -> String,
) -> impl Iterator<Item = Arg> {
    table.iter().map(move |knob| {
        let Knob { name, group, value, reason, show, .. } = knob;
        let help = format!("{}{reason} [default: {}]", whose(name), show(&defaults));
        flag(name, value, help).help_heading(*group)
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
    told(KNOBS, flags)
}

/// What the workload was told.
pub(super) fn settings(flags: &ArgMatches) -> Result<Settings, Failure> {
    told(WORKLOAD_KNOBS, flags)
}

fn told<C: Default>(table: &[Knob<C>], flags: &ArgMatches) -> Result<C, Failure> {
    let mut of = C::default();
    for knob in table {
        if let Some(value) = flags.get_one::<String>(knob.name) {
            knob::set(table, &mut of, knob.name, value).map_err(Failure::Operator)?;
        }
    }
    Ok(of)
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
