//! `weir load compare`: two reports beside each other.

use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::engine::Failure;
use load::report::comparison::{self, Run};
use load::report::json::{self, Whole};

use crate::{named, shown};

pub(super) fn command() -> Command {
    let report = |name: &'static str, help: &'static str| {
        Arg::new(name).value_name(name).required(true).help(help)
    };
    Command::new("compare")
        .about("Compares two runs, and says what else differs")
        .arg(report("A.json", "What weir load --json has written"))
        .arg(report("B.json", "The same of another run, which is compared with the first"))
        .after_help(
            "Examples:\n  weir load localhost:8080 --json before.json\n  weir load localhost:8080 \
             --json after.json\n  weir load compare before.json after.json",
        )
}

pub(super) fn compare(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let [a, b] =
        ["A.json", "B.json"].map(|name| flags.get_one::<String>(name).map_or("", String::as_str));
    if [a, b].into_iter().all(named::is_standard) {
        let told = "A.json and B.json are both standard input, which has one report; name a file";
        return Err(Failure::Operator(String::from(told)));
    }
    let (of_a, of_b) = (read(a)?, read(b)?);
    Ok(shown(&comparison::text(&Run { name: a, whole: &of_a }, &Run { name: b, whole: &of_b })))
}

fn read(path: &str) -> Result<Whole, Failure> {
    let failed = |why: String| Failure::Operator(format!("{path}: {why}"));
    let text = named::read(path).map_err(|error| failed(error.to_string()))?;
    json::read_whole(&text)
        .map_err(|unread| failed(format!("{unread}; it has to be of weir load --json FILE")))
}
