//! `weir check`: what a file says, without serving.

use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use config::{Flags, explain, summary};
use servers::Failure;

use crate::{shown, usage};

pub(crate) fn check(flags: &ArgMatches) -> ExitCode {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let file = text("file").unwrap_or_default();
    let settings = match config::read(Path::new(file), Flags::default()) {
        Ok(settings) => settings,
        Err(faults) => return usage(&lines(&faults)),
    };
    if let Err(Failure::Operator(what) | Failure::Machine(what)) = servers::judge(&settings) {
        return usage(&format!("{file}: {what}"));
    }
    let site = match explain::site(&settings) {
        Ok(site) => site,
        Err(what) => return usage(&what),
    };
    let told = match text("explain") {
        Some(url) => explain::explained(&settings, &site, url),
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

pub(crate) fn command() -> Command {
    let help = "Shows which host and which rules a URL has, and which one answers";
    Command::new("check")
        .about("Checks a configuration file and shows what it would serve")
        .arg(Arg::new("file").value_name("FILE").required(true).help("What serve --config takes"))
        .arg(Arg::new("explain").long("explain").value_name("URL").help(help))
}

/// All mistakes, each on a line.
pub(crate) fn lines(faults: &[config::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
