//! `weir`: flags to one of its tools.
#![forbid(unsafe_code)]

mod check;
mod completions;
mod flags;
mod habits;
mod lab;
mod listing;
mod load;
mod named;
mod serve;
mod sim;
mod terminal;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Command;

/// Wrong usage or configuration.
const USAGE: u8 = 2;
/// The machine refuses: port, permission, limit.
const MACHINE: u8 = 3;
/// The run is invalid, and proves nothing of what was expected.
const UNPROVEN: u8 = 4;
/// Ended by the operator, as shells tell a process that ^C has ended.
const STOPPED: u8 = 130;

/// What is said to who says nothing.
const NOTHING: &str = "\
say what to do, for instance:
  weir serve site --listen 127.0.0.1:8080      serves the files of a directory
  weir load http://127.0.0.1:8080/ --rate 100  asks a server as many clients would
  weir lab                                     measures which server is best on this machine
weir --help has the rest";

const EXAMPLES: &str = "\
Examples:
  weir serve site --listing              serves a folder that can be looked through
  weir check weir.toml                   judges a configuration file
  weir load http://127.0.0.1:8080/       asks a server as many clients would
  weir lab list                          what can be measured";

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(e) if e.use_stderr() => return usage(&said(&e)),
        Err(help) => return shown(&help.to_string()),
    };
    match matches.subcommand() {
        Some(("serve", flags)) => serve::serve(flags),
        Some(("load", flags)) => load::load(flags),
        Some(("lab", flags)) => lab::lab(flags),
        Some(("sim", flags)) => sim::sim(flags),
        Some(("check", flags)) => check::check(flags),
        Some(("completions", flags)) => completions::completions(flags, command()),
        _ => usage(NOTHING),
    }
}

fn command() -> Command {
    Command::new("weir")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A web server whose architecture is a choice, its load generator and its lab")
        .after_help(EXAMPLES)
        .subcommand(serve::command())
        .subcommand(load::command())
        .subcommand(lab::command())
        .subcommand(sim::command())
        .subcommand(check::command())
        .subcommand(completions::command())
}

/// What was asked for is out.
fn shown(text: &str) -> ExitCode {
    print(text).map_or(ExitCode::SUCCESS, |fault| machine(&fault))
}

/// Says why it is not out. Who reads it may have seen enough and gone: that is no fault.
fn print(text: &str) -> Option<String> {
    let mut out = std::io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let fault = done.err().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
    Some(format!("standard output: {fault}"))
}

fn usage(what: &str) -> ExitCode {
    complain(what);
    ExitCode::from(USAGE)
}

fn machine(what: &str) -> ExitCode {
    complain(what);
    ExitCode::from(MACHINE)
}

/// Each line is a complaint of its own.
fn complain(what: &str) {
    for line in what.lines() {
        eprintln!("weir: {line}");
    }
}

/// What clap says before its hints, in one line, what was probably meant, and whose help has more.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let said = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let line = said.collect::<Vec<_>>().join(" ");
    let (mut tool, mut whose) = (&command(), String::from("weir"));
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        let Some(found) = tool.find_subcommand(&*word) else { break };
        tool = found;
        whose = format!("{whose} {word}");
    }
    let line = line.trim_start_matches("error: ");
    let meant = habits::meant(error, tool, &whose);
    let meant = meant.map(|meant| if meant.ends_with('?') { meant + " " } else { meant + "; " });
    format!("{line}; {}see {whose} --help", meant.unwrap_or_default())
}
