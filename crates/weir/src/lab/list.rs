//! `weir lab list`.

use std::fmt::Write as _;
use std::process::ExitCode;

use lab::Failure;
use lab::experiments::EXPERIMENTS;

use crate::shown;

pub(super) fn list() -> Result<ExitCode, Failure> {
    let mut text = String::from("Questions:\n");
    for experiment in EXPERIMENTS {
        let of = if experiment.paper.is_empty() {
            String::new()
        } else {
            format!(" ({})", experiment.paper)
        };
        let _ = writeln!(text, "  {:24} {}{of}", experiment.name, experiment.question);
    }
    Ok(shown(&text))
}
