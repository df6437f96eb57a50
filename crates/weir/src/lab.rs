//! `weir lab`: flags to what it measures.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use lab::Failure;
use lab::floors::{self, FLOORS};

use crate::{machine, usage};

pub(crate) fn lab(flags: &ArgMatches) -> ExitCode {
    let done = match flags.subcommand() {
        Some(("floor", flags)) => floor(flags),
        _ => Err(Failure::Operator("say what to do: weir lab --help".into())),
    };
    match done {
        Ok(never) => match never {},
        Err(Failure::Operator(what)) => usage(&what),
        Err(Failure::Machine(what)) => machine(&what),
        Err(stopped @ Failure::Stopped) => {
            crate::complain(&stopped.to_string());
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn command() -> Command {
    let arg = |name, value| Arg::new(name).value_name(value).required(true);
    let names: Vec<_> = FLOORS.iter().map(|floor| floor.name).collect();
    Command::new("lab").about("Compares servers by experiments").subcommand(
        Command::new("floor")
            .about("Serves one file with the least that a server can do, to measure others by")
            .arg(arg("name", "NAME").help(names.join(", ")))
            .arg(arg("address", "ADDR").help("host:port"))
            .arg(arg("file", "FILE").help("What every request is answered with")),
    )
}

fn floor(flags: &ArgMatches) -> Result<Infallible, Failure> {
    let text = |name| flags.get_one::<String>(name).map_or("", String::as_str);
    let address: SocketAddr = text("address")
        .parse()
        .map_err(|_| Failure::Operator(format!("{}: must be host:port", text("address"))))?;
    floors::run(text("name"), address, Path::new(text("file")))
}
