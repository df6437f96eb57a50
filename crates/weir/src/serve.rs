//! `weir serve`: the table of knobs as flags, then the server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use config::Flags;
use os::Output;
use servers::knobs;
use servers::settings::Settings;
use servers::{Failure, Program};

use crate::check::lines;
use crate::flags::flag;
use crate::{listing, machine, usage};

pub(crate) fn serve(flags: &ArgMatches) -> ExitCode {
    if flags.get_flag("list-architectures") {
        return listing::list(flags.get_flag("json"));
    }
    // Who reads these lines may have gone, or sleep; the server stays.
    let mut out = Output::stdout().ok();
    let mut say = |lines: &str| {
        for line in lines.lines() {
            let _ = out.as_mut().map(|out| out.write(format!("weir: {line}\n").as_bytes()));
        }
    };
    let mut program =
        Program { settings: &mut || settings(flags), sessions: &servers::plain, say: &mut say };
    match servers::serve(&mut program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Operator(what)) => usage(&what),
        Err(Failure::Machine(what)) => machine(&what),
        Err(Failure::Cut) => ExitCode::FAILURE,
    }
}

pub(crate) fn command() -> Command {
    let defaults = Settings::default();
    let knobs = knobs::all().map(|knob| {
        let action = if knob.is_list() { ArgAction::Append } else { ArgAction::Set };
        let help = format!("{} [default: {}]", knob.reason, (knob.show)(&defaults));
        flag(knob.name, knob.value, help).action(action)
    });
    let switch = |name, help| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    Command::new("serve")
        .about("Serves a directory")
        .arg(Arg::new("dir").value_name("DIR").help("What to serve [default: .]"))
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .help("What is not a flag; without it no file is read"),
        )
        .args(knobs)
        .arg(switch("list-architectures", "Lists the architectures and ends"))
        .arg(switch("json", "With --list-architectures: as JSON").requires("list-architectures"))
}

/// What the flags and the file say as it is now; flags win, each value judged by its knob.
fn settings(flags: &ArgMatches) -> Result<Settings, String> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    // First by themselves: an architecture that does not exist is no measure for the file.
    let said = judged(flags, Settings::default())?;
    let mut settings = match text("config") {
        Some(file) => {
            let known =
                Flags { architecture: text("architecture"), root: text("dir").map(Path::new) };
            config::read(Path::new(file), known).map_err(|faults| lines(&faults))?
        }
        None => {
            Settings { root: text("dir").map_or(said.root, PathBuf::from), ..Settings::default() }
        }
    };
    for knob in knobs::all().filter(|knob| flags.contains_id(knob.name)) {
        knob.clear(&mut settings);
    }
    let settings = judged(flags, settings)?;
    for knob in knobs::all() {
        if flags.contains_id(knob.name) && !knob.is_taken_by(&settings.architecture) {
            return Err(format!("--{}: {} does not take it", knob.name, settings.architecture));
        }
    }
    Ok(settings)
}

/// Settings changed by the flags.
fn judged(flags: &ArgMatches, mut settings: Settings) -> Result<Settings, String> {
    for knob in knobs::all() {
        for value in flags.get_many::<String>(knob.name).into_iter().flatten() {
            (knob.set)(&mut settings, value)
                .map_err(|told| format!("--{} {value}: must be {told}", knob.name))?;
        }
    }
    Ok(settings)
}
