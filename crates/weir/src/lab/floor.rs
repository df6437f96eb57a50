//! `weir lab floor`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use lab::Failure;
use lab::floors::{self, FLOORS};

pub(super) fn command() -> Command {
    let arg = |name, value| Arg::new(name).value_name(value).required(true);
    let names: Vec<_> = FLOORS.iter().map(|floor| floor.name).collect();
    Command::new("floor")
        .about("Serves one file with the least that a server can do, to measure others by")
        .arg(arg("name", "NAME").help(names.join(", ")))
        .arg(arg("address", "ADDR").help("host:port"))
        .arg(arg("file", "FILE").help("What every request is answered with"))
}

/// Ends by a signal only.
pub(super) fn floor(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name| flags.get_one::<String>(name).map_or("", String::as_str);
    let address: SocketAddr = text("address")
        .parse()
        .map_err(|_| Failure::Operator(format!("{}: must be host:port", text("address"))))?;
    match floors::run(text("name"), address, Path::new(text("file")))? {}
}
