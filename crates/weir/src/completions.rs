//! `weir completions`: what a shell needs to complete the flags.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

pub(crate) fn completions(flags: &ArgMatches, mut of: Command) -> ExitCode {
    let mut script = Vec::new();
    if let Some(&shell) = flags.get_one::<Shell>("shell") {
        clap_complete::generate(shell, &mut of, "weir", &mut script);
    }
    match io::stdout().write_all(&script) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

pub(crate) fn command() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").required(true);
    Command::new("completions")
        .about("Prints a shell's completions, to be sourced by it")
        .arg(shell.value_parser(value_parser!(Shell)).help("bash, zsh, fish, ..."))
}
