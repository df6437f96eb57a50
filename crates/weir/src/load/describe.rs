//! `weir load describe`: what a workload asks for, beside what its model says.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::description;
use load::engine::Failure;
use load::trace::wsesslog;
use load::workload::{self, Workload};

use super::flags;
use crate::shown;

/// Enough for statistics within about 1 % of the model's.
const SESSIONS: u32 = 100_000;

/// Ten times as many take minutes and tell no more.
const SESSIONS_MAX: u32 = 10_000_000;

pub(super) fn command() -> Command {
    let flag = |name, value, help: String| Arg::new(name).long(name).value_name(value).help(help);
    let sessions = format!("sessions to draw [default: {SESSIONS}]");
    let log = String::from(
        "also writes these sessions to FILE for httperf's --wsesslog, which reads 1,000 of them",
    );
    Command::new("describe")
        .about("Shows a workload's own statistics beside its model's")
        .arg(flags::workload("Which [default: specweb99]"))
        .arg(flag("sessions", "N", sessions))
        .arg(flag("seed", "N", String::from("of all random numbers [default: 1]")))
        .arg(flag("wsesslog", "FILE", log))
        .args(flags::of_workloads())
        .after_help("Examples:\n  weir load describe --workload surge --sessions 1000")
}

pub(super) fn describe(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let name = text("workload").unwrap_or(flags::WORKLOAD);
    flags::judge_workload(flags, name)?;
    let sessions = number(text("sessions"), "sessions", u64::from(SESSIONS_MAX))?;
    let sessions = sessions.map_or(SESSIONS, |sessions| sessions as u32);
    let seed = number(text("seed"), "seed", u64::MAX)?.unwrap_or(1);
    let settings = flags::settings(flags)?;
    let mut workload = workload::make(name, &settings).map_err(Failure::Operator)?;
    if let Some(path) = text("wsesslog") {
        write(&mut *workload, (sessions, seed), Path::new(path))?;
    }
    let described = description::describe(name, &mut *workload, sessions, seed);
    Ok(shown(&described.to_string()))
}

fn number(text: Option<&str>, name: &str, most: u64) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    let wanted = || format!("--{name} {text}: has to be a whole number from 1 to {most}");
    number.map(Some).ok_or_else(|| Failure::Operator(wanted()))
}

/// Sessions for httperf.
fn write(
    workload: &mut dyn Workload,
    (sessions, seed): (u32, u64),
    path: &Path,
) -> Result<(), Failure> {
    let failed = |error| Failure::Machine(format!("{}: {error}", path.display()));
    let mut to = BufWriter::new(File::create(path).map_err(failed)?);
    let written = wsesslog::write_of(workload, sessions, seed, &mut to);
    written.and_then(|()| to.flush()).map_err(failed)
}
