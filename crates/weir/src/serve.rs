//! `weir serve`: the table of knobs as flags, then the server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use config::folder::{self, Folder};
use config::{Flags, keys};
use os::{Output, Signal, Signals};
use servers::knobs;
use servers::settings::Settings;
use servers::{Failure, Hangup, Program, Voice};

use crate::check::lines;
use crate::flags::{Few, flag, in_short, path};
use crate::habits::DIFFER_MAX;
use crate::{listing, machine, named, usage};

pub(crate) fn serve(flags: &ArgMatches) -> ExitCode {
    if flags.get_flag("list-architectures") {
        return listing::list(flags.get_flag("json"));
    }
    // Who reads these lines may have gone, or sleep; the server stays.
    let mut out = Output::stdout().ok();
    let through = out.as_ref().map(Output::number);
    let mut say = |lines: &str| {
        for line in lines.lines() {
            let _ = out.as_mut().map(|out| out.write(format!("weir: {line}\n").as_bytes()));
        }
    };
    let mut program = Program {
        settings: &mut || settings(flags),
        sessions: &servers::plain,
        hangup: hangup(flags),
        voice: Voice::new(&mut say).through(through),
    };
    match servers::serve(&mut program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Operator(what)) => usage(&what),
        Err(Failure::Machine(what)) => machine(&what),
        Err(Failure::Cut) => ExitCode::FAILURE,
    }
}

/// Without a file of settings there is little to reload. So a server that was started by hand ends
/// with its terminal, unless nohup(1) has started it.
fn hangup(flags: &ArgMatches) -> Hangup {
    if flags.contains_id("config") {
        Hangup::Reloads
    } else if Signals::is_ignored(Signal::Hup) {
        Hangup::IsIgnored
    } else if File::open("/dev/tty").is_ok() {
        Hangup::Ends
    } else {
        Hangup::Reloads
    }
}

const FEW: &Few = &[
    ("listing", "Lists directories that have no index file"),
    ("config", "Hosts, rules and flags from a file; weir check FILE judges it"),
    ("listen", "Where: 8080, 127.0.0.1:8080, [::1]:8080 or unix:PATH"),
    (
        "architecture",
        "Who performs which step of a request: sped, symped, shared-symped, amped, mt, \
         thread-per-request, mp, knot, watpipe, pipelined, seda, proactor or tux",
    ),
    ("access-log", "A line for each reply: to a file, or stdout"),
];

const EXAMPLES: &str = "\
Examples:
  weir serve                                this directory on port 8080
  weir serve site --listen 127.0.0.1:9000   another one, for this machine alone
  weir serve files --listing                a folder to look through
  weir serve site --access-log stdout       with a line for each reply
  weir serve --config weir.toml             hosts and rules from a file";

pub(crate) fn command() -> Command {
    let defaults = Settings::default();
    let knobs = knobs::groups()
        .into_iter()
        .flat_map(|(group, knobs)| knobs.iter().map(move |knob| (group, knob)));
    let knobs = knobs.map(|(group, knob)| {
        let action = if knob.is_list() { ArgAction::Append } else { ArgAction::Set };
        let help = format!("{} [default: {}]", knob.reason, (knob.show)(&defaults));
        flag(knob.name, knob.value, help).action(action).help_heading(group)
    });
    let switch = |name, help| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let folder = folder::FLAGS.map(|of| match of.name {
        "error-page" => flag(of.name, of.value, of.reason.into()).action(ArgAction::Append),
        _ if of.value.is_empty() => switch(of.name, of.reason),
        _ => flag(of.name, of.value, of.reason.into()),
    });
    let config = "What is not a flag; without it no file is read";
    let architectures = "Lists the architectures and ends";
    Command::new("serve")
        .about("Serves a directory")
        .arg(path("dir", "DIR").help("What to serve [default: .]"))
        .args(folder)
        .arg(Arg::new("config").long("config").value_name("FILE").help(config))
        .args(knobs)
        .arg(switch("list-architectures", architectures))
        .arg(switch("json", "With --list-architectures: as JSON").requires("list-architectures"))
        .mut_args(|arg| in_short(arg, FEW))
        .after_help(format!("--help has all flags.\n\n{EXAMPLES}"))
        .after_long_help(EXAMPLES)
}

/// What the flags and the file say as it is now; flags win, each value judged by its knob.
fn settings(flags: &ArgMatches) -> Result<Settings, String> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let root = flags.get_one::<PathBuf>("dir");
    if text("config").is_some_and(named::is_standard) {
        let told = "--config -: standard input cannot be read again for a reload; name a file";
        return Err(String::from(told));
    }
    // First by themselves: an architecture that does not exist is no measure for the file.
    let said = judged(flags, Settings::default())?;
    let mut settings = match text("config") {
        Some(file) => {
            let known =
                Flags { architecture: text("architecture"), root: root.map(PathBuf::as_path) };
            config::read(Path::new(file), known).map_err(|faults| lines(&faults))?
        }
        None => Settings { root: root.cloned().unwrap_or(said.root), ..Settings::default() },
    };
    let pages = flags.get_many::<String>("error-page").into_iter().flatten();
    let folder = Folder {
        listing: flags.get_flag("listing"),
        clean_urls: flags.get_flag("clean-urls"),
        fallback: text("fallback"),
        error_pages: pages.map(String::as_str).collect(),
    };
    folder.settle(&mut settings, text("config").map(Path::new))?;
    for knob in knobs::all().filter(|knob| flags.contains_id(knob.name)) {
        knob.clear(&mut settings);
        settings.written.remove(knob.name);
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
            (knob.set)(&mut settings, value).map_err(|told| {
                let meant = keys::meant(value, &knob.words(), DIFFER_MAX);
                let meant = meant.map(|word| format!("; did you mean `{word}`?"));
                format!("--{} {value}: must be {told}{}", knob.name, meant.unwrap_or_default())
            })?;
        }
    }
    Ok(settings)
}
