//! `weir`: flags to one of its tools.
#![forbid(unsafe_code)]

mod check;
mod completions;
mod flags;
mod lab;
mod listing;
mod load;
mod serve;
mod terminal;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Command;

/// Wrong usage or configuration.
const USAGE: u8 = 2;
/// The machine refuses: port, permission, limit.
const MACHINE: u8 = 3;

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(e) if e.use_stderr() => return usage(&said(&e.to_string())),
        Err(help) => return shown(&help.to_string()),
    };
    match matches.subcommand() {
        Some(("serve", flags)) => serve::serve(flags),
        Some(("load", flags)) => load::load(flags),
        Some(("lab", flags)) => lab::lab(flags),
        Some(("check", flags)) => check::check(flags),
        Some(("completions", flags)) => completions::completions(flags, command()),
        _ => usage("say what to do: weir serve [DIR], or weir --help"),
    }
}

fn command() -> Command {
    Command::new("weir")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A web server whose architecture is a choice, its load generator and its lab")
        .disable_help_subcommand(true)
        .subcommand(serve::command())
        .subcommand(load::command())
        .subcommand(lab::command())
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

/// What clap says before its hints, in one line, and whose help tells more.
fn said(text: &str) -> String {
    let said = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let line = said.collect::<Vec<_>>().join(" ");
    let (mut tool, mut whose) = (&command(), String::from("weir"));
    for word in std::env::args().skip(1) {
        let Some(found) = tool.find_subcommand(&word) else { break };
        tool = found;
        whose = format!("{whose} {word}");
    }
    format!("{}; see {whose} --help", line.trim_start_matches("error: "))
}
