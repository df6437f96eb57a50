//! The tables of knobs as flags, and flags as values.

use clap::{Arg, ArgAction, ArgMatches};
use load::choices::Choices;
use load::engine::Failure;
use load::knob::{self, Knob};
use load::knobs::{KNOBS, REPEATED, SHORT_FORMS};
use load::task::{Said, Task};
use load::url::Url;
use load::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use load::workload::{self, named};

use crate::flags::{flag, of_table};

/// What a run can be told.
pub(super) fn run() -> impl Iterator<Item = Arg> {
    let knobs = of_table(KNOBS, Choices::default(), |_| String::new());
    let knobs = knobs.zip(KNOBS).map(|(arg, knob)| {
        let letter = SHORT_FORMS.iter().find(|(_, name)| *name == knob.name);
        let arg = letter.map_or(arg.clone(), |&(letter, _)| arg.short(letter));
        if REPEATED.contains(&knob.name) { arg.action(ArgAction::Append) } else { arg }
    });
    knobs.chain([threads()])
}

/// What wrk and others call threads; it is there to say how that is called here.
fn threads() -> Arg {
    Arg::new(THREADS).short('t').long(THREADS).num_args(0..=1).hide(true)
}

pub(super) const THREADS: &str = "threads";

/// What workloads can be told.
pub(super) fn of_workloads() -> impl Iterator<Item = Arg> {
    of_table(WORKLOAD_KNOBS, Settings::default(), |name| {
        let takers = workload::WORKLOADS.iter().filter(|row| row.knobs.contains(&name));
        format!("of {}: ", takers.map(|row| row.name).collect::<Vec<_>>().join(", "))
    })
}

/// Where none is named, the one whose files are a site like others: many, of all sizes.
pub(super) const WORKLOAD: &str = "specweb99";

/// Which workload.
pub(super) fn workload(help: &str) -> Arg {
    let names = workload::spellings().join(", ");
    flag("workload", "NAME", format!("{help}: {names}"))
}

/// That nobody asks for threads, before anything else is said: a URL behind it is its value.
pub(super) fn judge_threads(flags: &ArgMatches) -> Result<(), Failure> {
    if flags.contains_id(THREADS) {
        let what = "-t: there are no threads here; --processes N shares the load among N processes";
        return Err(Failure::Operator(String::from(what)));
    }
    Ok(())
}

/// What a run of a URL was told.
pub(super) fn task(flags: &ArgMatches, url: &Url) -> Task {
    Task {
        workload: flags.get_one("workload").cloned(),
        target: url.target.clone(),
        choices: said(KNOBS, flags),
        settings: said(WORKLOAD_KNOBS, flags),
    }
}

/// What the workload was told.
pub(super) fn settings(flags: &ArgMatches) -> Result<Settings, Failure> {
    knob::told(WORKLOAD_KNOBS, &said(WORKLOAD_KNOBS, flags)).map_err(Failure::Operator)
}

fn said<C>(table: &[Knob<C>], flags: &ArgMatches) -> Said {
    let values = |knob: &Knob<C>| flags.get_many::<String>(knob.name).into_iter().flatten();
    let said = table.iter().flat_map(|knob| values(knob).map(|value| (knob.name, value)));
    said.map(|(name, value)| (String::from(name), value.clone())).collect()
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
