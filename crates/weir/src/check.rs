//! `weir check`: what a file says, without serving.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use config::{Flags, explain, summary};
use h1::{Date, Now};

use crate::flags::path;
use crate::{machine, named, shown, usage};

pub(crate) fn check(flags: &ArgMatches) -> ExitCode {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let file = flags.get_one::<PathBuf>("file").map_or(Path::new(""), PathBuf::as_path);
    let read = match named::is_standard(file) {
        true => match named::read("-") {
            Ok(text) => config::read_bytes(file, text.into_bytes(), Flags::default()),
            Err(error) => return machine(&format!("standard input: {error}")),
        },
        false => config::read(file, Flags::default()),
    };
    let settings = match read {
        Ok(settings) => settings,
        Err(faults) => return usage(&lines(&faults)),
    };
    let mut mistakes = servers::judge(&settings);
    let site = explain::site(&settings);
    mistakes.extend(site.as_ref().err().cloned());
    let Some(site) = site.ok().filter(|_| mistakes.is_empty()) else {
        return usage(&mistakes.join("\n"));
    };
    let told = match text("explain") {
        Some(url) => explain::explained(&settings, &site, url, &now()),
        None => Ok(summary::summary(&settings)),
    };
    match told {
        Ok(told) => {
            for unreached in site.unreached() {
                eprintln!("weir: warning: {unreached}");
            }
            shown(&told)
        }
        Err(what) => usage(&what),
    }
}

fn now() -> Now {
    Now { at: os::clock::monotonic(), date: Date::new(os::clock::wall_seconds()) }
}

const EXAMPLES: &str = "\
Examples:
  weir check weir.toml                               every mistake, or what would be served
  weir check weir.toml --explain example.org/docs/   which rules a URL has, and what a GET gets";

pub(crate) fn command() -> Command {
    let help = "Shows which host and which rules a URL has, and which one answers";
    Command::new("check")
        .about("Checks a configuration file and shows what it would serve")
        .arg(path("file", "FILE").required(true).help("What serve --config takes"))
        .arg(Arg::new("explain").long("explain").value_name("URL").help(help))
        .after_help(EXAMPLES)
}

/// All mistakes, each on a line.
pub(crate) fn lines(faults: &[config::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
