//! `weir load make-site`: the files that a workload asks for, for the server that is measured.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use load::engine::Failure;
use load::site_files::{self, Fault};

use super::flags;
use crate::flags::path;
use crate::shown;
use crate::terminal::{self, CLEARED};

pub(super) fn command() -> Command {
    Command::new("make-site")
        .about("Makes the files of a workload, for the server that is to be measured")
        .arg(path("dir", "DIR").required(true).help("Where; made if it is missing"))
        .arg(flags::workload("Whose files; it says first how many and how large they are"))
        .args(flags::of_workloads())
        .after_help(
            "Examples:\n  weir load make-site site --workload one-packet\n  weir load make-site \
             site --workload specweb99 --dirs 10",
        )
}

pub(super) fn make_site(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some(name) = flags.get_one::<String>("workload").map(String::as_str) else {
        let what = "--workload is missing: say whose files are made, as in --workload one-packet; \
                    weir load make-site --help has all names";
        return Err(Failure::Operator(String::from(what)));
    };
    flags::judge_workload(flags, name)?;
    let mut settings = flags::settings(flags)?;
    // The site of a log is one that is made for it.
    settings.log.is_made = true;
    let workload = load::workload::make(name, &settings).map_err(Failure::Operator)?;
    let dir = flags.get_one::<PathBuf>("dir").map_or(Path::new("."), PathBuf::as_path);
    if let Some(size) = site_files::size(workload.files()) {
        eprintln!("weir: {} will have {size}", dir.display());
    }
    let is_seen = io::stderr().is_terminal();
    let mut percent = None;
    let made = site_files::make(workload.files(), dir, |progress| {
        // A line for each hundredth: files may be many, and terminals are slow.
        if is_seen && percent.replace(progress.percent()) != Some(progress.percent()) {
            let line = terminal::cut(&progress.to_string(), terminal::columns());
            let _ = write!(io::stderr(), "{CLEARED}{line}");
        }
        ControlFlow::Continue(())
    });
    if is_seen {
        let _ = write!(io::stderr(), "{CLEARED}");
    }
    let made = made.map_err(|fault| match fault {
        Fault::Unknown | Fault::Name(_) => Failure::Operator(format!("{name}: {fault}")),
        Fault::Full { .. } | Fault::Write(..) | Fault::Stopped => {
            Failure::Machine(fault.to_string())
        }
    })?;
    Ok(shown(&format!("{}: {made}, {} of which were there before\n", dir.display(), made.kept)))
}
