//! `weir completions`: what a shell needs to complete flags and their values.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;
use lab::experiments::EXPERIMENTS;
use load::workload::WORKLOADS;
use servers::knobs;

pub(crate) fn completions(flags: &ArgMatches, of: Command) -> ExitCode {
    let mut script = Vec::new();
    if let Some(&shell) = flags.get_one::<Shell>("shell") {
        clap_complete::generate(shell, &mut with_values(of), "weir", &mut script);
        if shell == Shell::Bash {
            script = files_first(&String::from_utf8_lossy(&script)).into();
        }
    }
    match io::stdout().write_all(&script) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

const EXAMPLES: &str = "\
Examples:
  source <(weir completions bash)                                  for this bash
  weir completions bash > /etc/bash_completion.d/weir              for bash, each time it starts
  weir completions fish > ~/.config/fish/completions/weir.fish     for fish";

pub(crate) fn command() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").required(true);
    Command::new("completions")
        .about("Prints a shell's completions, to be sourced by it")
        .arg(shell.value_parser(value_parser!(Shell)).help("bash, zsh, fish, ..."))
        .after_help(EXAMPLES)
}

/// Tools that begin with a file or a directory, as the script for bash calls them.
const OF_FILES: [&str; 3] = ["serve", "check", "load__subcmd__compare"];

/// What a tool's part of that script comes to where neither a flag nor its value is begun.
const NO_DASH: &str = r#"            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )"#;

/// Where a file can stand, bash offers files, and flags behind a dash: made as it is, the script
/// would offer all flags of a tool as its first word, and no file.
fn files_first(script: &str) -> String {
    let mut is_of_files = false;
    let lines = script.lines().map(|line| {
        if let Some(tool) = line.trim().strip_prefix("weir__subcmd__") {
            is_of_files = OF_FILES.iter().any(|of| tool.strip_suffix(')') == Some(of));
        }
        match line.split_once(" || ${COMP_CWORD} -eq ") {
            Some((before, _)) if is_of_files => format!("{before} ]] ; then\n"),
            _ if is_of_files && line == NO_DASH => String::from("            COMPREPLY=()\n"),
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// With what can stand behind each flag: for shells alone, as knobs judge their values themselves.
fn with_values(of: Command) -> Command {
    let of = of.mut_subcommand("serve", |serve| {
        let serve = serve.mut_args(|arg| match knobs::knob(arg.get_id().as_str()) {
            Some(knob) => one_of(arg, knob.words()),
            None => arg,
        });
        serve
            .mut_arg("dir", |dir| dir.value_hint(ValueHint::DirPath))
            .mut_arg("config", |file| file.value_hint(ValueHint::FilePath))
    });
    let of = of.mut_subcommand("load", |load| {
        let load = load.mut_args(|arg| asks_for(of_load(arg)));
        load.mut_subcommands(|tool| tool.mut_args(asks_for))
    });
    let questions: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
    let of = of.mut_subcommand("lab", |lab| {
        lab.mut_subcommand("run", |run| run.mut_arg("name", |name| one_of(name, questions)))
    });
    of.mut_subcommand("check", |check| {
        check.mut_arg("file", |file| file.value_hint(ValueHint::FilePath))
    })
}

fn of_load(arg: Arg) -> Arg {
    let knob = load::knobs::KNOBS.iter().find(|knob| knob.name == arg.get_id().as_str());
    match knob {
        Some(knob) => one_of(arg, knobs::words(knob.value)),
        None => arg,
    }
}

/// The names of workloads, where one can stand.
fn asks_for(arg: Arg) -> Arg {
    if arg.get_id() != "workload" {
        return arg;
    }
    one_of(arg, WORKLOADS.iter().map(|row| row.name).collect())
}

fn one_of(arg: Arg, words: Vec<&'static str>) -> Arg {
    if words.is_empty() { arg } else { arg.value_parser(PossibleValuesParser::new(words)) }
}
