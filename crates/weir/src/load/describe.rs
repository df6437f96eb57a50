//! `weir load describe`: what a workload asks for, beside what its model says.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::description;
use load::engine::Failure;
use load::trace::hints::Hints;
use load::trace::wsesslog;
use load::workload::{self, Workload};

use super::flags;
use crate::{named, shown};

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
    let hints = String::from(
        "also writes to FILE the paths that a trace asks for twice or more, most often first, for \
         weir serve --cache-hints",
    );
    Command::new("describe")
        .about("Shows a workload's own statistics beside its model's")
        .arg(
            Arg::new("described")
                .value_name("NAME")
                .conflicts_with("workload")
                .help("The same as --workload NAME"),
        )
        .arg(flags::workload("Which [default: specweb99]"))
        .arg(flag("sessions", "N", sessions))
        .arg(flag("seed", "N", String::from("of all random numbers [default: 1]")))
        .arg(flag("wsesslog", "FILE", log))
        .arg(flag("hints", "FILE", hints))
        .args(flags::of_workloads())
        .after_help(EXAMPLES)
}

const EXAMPLES: &str = "\
Examples:
  weir load describe surge --sessions 1000
  weir load describe clf:access.log --hints hot.txt    for weir serve --cache-hints";

pub(super) fn describe(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let name = text("described").or(text("workload")).unwrap_or(flags::WORKLOAD);
    flags::judge_workload(flags, name)?;
    let sessions = number(text("sessions"), "sessions", u64::from(SESSIONS_MAX))?;
    let sessions = sessions.map_or(SESSIONS, |sessions| sessions as u32);
    let seed = number(text("seed"), "seed", u64::MAX)?.unwrap_or(1);
    let settings = flags::settings(flags)?;
    let mut workload = workload::make(name, &settings).map_err(Failure::Operator)?;
    if let Some(path) = text("wsesslog") {
        write(Path::new(path), |to| wsesslog::write_of(&mut *workload, sessions, seed, to))?;
    }
    let hints = text("hints").map(|path| hints(name, &*workload, path)).transpose()?;
    if ["wsesslog", "hints"].into_iter().filter_map(text).any(named::is_standard) {
        return Ok(ExitCode::SUCCESS);
    }
    let described = description::describe(name, &mut *workload, sessions, seed);
    let hints = hints.map(|told| format!("\n{told}\n")).unwrap_or_default();
    Ok(shown(&format!("{described}{hints}")))
}

fn number(text: Option<&str>, name: &str, most: u64) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    let wanted = || format!("--{name} {text}: has to be a whole number from 1 to {most}");
    number.map(Some).ok_or_else(|| Failure::Operator(wanted()))
}

/// Writes what a server's cache is to be told, and says what that comes to.
fn hints(name: &str, workload: &dyn Workload, file: &str) -> Result<String, Failure> {
    let hints = Hints::of(workload)
        .map_err(|missing| Failure::Operator(format!("--hints {file}: {name} {missing}")))?;
    write(Path::new(file), |to| hints.write(name, to))?;
    Ok(hints.told(file))
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<Box<dyn Write>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let failed = |error| Failure::Machine(format!("{}: {error}", path.display()));
    let mut to = BufWriter::new(named::create(path).map_err(failed)?);
    content(&mut to).and_then(|()| to.flush()).map_err(failed)
}
