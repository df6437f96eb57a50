//! `weir lab cost`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lab::Failure;
use lab::costs::{self, COSTS, Place};

pub(super) fn command() -> Command {
    let names: Vec<_> = COSTS.iter().map(|cost| cost.name).collect();
    let processor = |name: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(usize))
    };
    Command::new("cost")
        .about("Times single steps of a request on this machine, each by itself")
        .arg(Arg::new("name").value_name("NAME").num_args(0..).help(names.join(", ")))
        .arg(processor("on").help("The processor that performs them [default: any]"))
        .arg(processor("beside").help("Another one, for what goes between two [default: none]"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("An object, by name"))
}

pub(super) fn cost(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let names: Vec<String> = flags.get_many("name").into_iter().flatten().cloned().collect();
    let processor = |name| flags.get_one::<usize>(name).copied();
    let place = Place { on: processor("on"), beside: processor("beside") };
    let measured = costs::measure(&names, &place)?;
    if flags.get_flag("json") {
        let text = serde_json::to_string(&measured).map_err(|e| Failure::machine("costs", e))?;
        return Ok(crate::shown(&format!("{text}\n")));
    }
    let mut text = String::new();
    for cost in COSTS {
        if let Some(value) = measured.get(cost.name) {
            // Writing to memory does not fail.
            let _ = writeln!(text, "{:16}{value:10.1} {:6}{}", cost.name, cost.unit, cost.is);
        }
    }
    Ok(crate::shown(&text))
}
