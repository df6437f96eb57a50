//! The table of what can be chosen of a run: flags, the manual page and documents read it, and
//! later the lab. What can be chosen of single workloads is a table of its own
//! ([`crate::workload::settings::KNOBS`]).

mod clients;
mod pace;
mod results;
mod values;

use std::fmt::Write as _;

use crate::choices::Choices;

/// One choice.
pub struct Knob {
    /// As in `--name`.
    pub name: &'static str,
    /// What it is about, as a title over several of them.
    pub group: &'static str,
    /// What a value looks like, with its unit.
    pub value: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
    /// Changes the choices, or says what a value has to be.
    pub set: fn(&mut Choices, &str) -> Result<(), String>,
    /// The value in use; of the default choices, the default.
    pub show: fn(&Choices) -> String,
}

const PACE: &str = "When sessions begin";
const CLIENTS: &str = "How clients behave";
const RUN: &str = "The run and its results";

/// The table.
pub const KNOBS: &[Knob] = &[
    pace::RATE,
    pace::GAPS,
    pace::STEPS,
    pace::RAMP,
    pace::CLIENTS,
    pace::REST,
    pace::DURATION,
    pace::SESSIONS,
    pace::WARM_UP,
    clients::PATIENCE,
    clients::CONNECT_MAX,
    clients::SEND_MAX,
    clients::FIRST_BYTE_MAX,
    clients::PROGRESS_MAX,
    clients::GIVES_UP_BY,
    clients::RETRIES,
    clients::KEEPS,
    clients::PIPELINED,
    clients::PARALLEL,
    clients::CONDITIONAL,
    clients::VERIFIED,
    clients::SOURCES,
    clients::CONNECTIONS_MAX,
    results::PROCESSES,
    results::SEED,
    results::INTERVAL,
    results::JSON,
    results::HGRM,
    results::RECORDS,
];

impl Choices {
    /// Changes one by its name.
    ///
    /// # Errors
    /// There is none of that name, or the value is not what it has to be: one line.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let knob = KNOBS.iter().find(|knob| knob.name == name);
        let knob = knob.ok_or_else(|| format!("a run has no knob {name}"))?;
        (knob.set)(self, value).map_err(|wanted| format!("--{name} {value}: {wanted}"))
    }
}

/// The table for the documents.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| knob | default | what it does, and why |\n|---|---|---|\n");
    let defaults = Choices::default();
    for Knob { name, value, reason, show, .. } in KNOBS {
        let value = value.replace('|', "\\|");
        let _ = writeln!(text, "| `--{name} {value}` | {} | {reason} |", show(&defaults));
    }
    text
}

#[cfg(test)]
mod tests;
