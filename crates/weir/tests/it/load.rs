//! `weir load` against `weir serve`, against nobody, and with flags that make no sense.

mod find;
mod flags;
mod processes;
pub(crate) mod recipe;
mod runs;
mod sites;
mod waiting;

use std::path::Path;
use std::process::Command;

use crate::support::combination::{Combination, Program, combinations};
use crate::support::command::run;
use crate::support::server::Server;
use serde_json::Value;

/// The exit status of a run that is invalid.
pub(crate) const UNPROVEN: i32 = 4;

/// The status, what was said, and the complaints.
fn load(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    run(command.arg("load").args(arguments)).expect("it starts")
}

/// A run's report. Whether it is valid is the machine's affair: a busy one is late.
fn report(arguments: &[&str]) -> Value {
    let (status, report, errors) = load(&[arguments, &["--json", "-"]].concat());
    let report: Value = serde_json::from_str(&report).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {report}{errors}");
    });
    let is_valid = report["is_valid"].as_bool().expect("a verdict");
    let expected = if is_valid { 0 } else { UNPROVEN };
    assert_eq!(status, Some(expected), "{arguments:?}: {errors}");
    report
}

/// A server of a site.
fn serve(site: &Path) -> Server {
    let sped: &Combination = &combinations(Program::Weir)[0];
    sped.start(site, &[])
}
