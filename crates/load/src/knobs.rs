//! The table of what can be chosen of a run: flags, the manual page and documents read it, and
//! later the lab. What can be chosen of single workloads is a table of its own
//! ([`crate::workload::settings::KNOBS`]).

mod clients;
mod pace;
mod results;
pub(crate) mod values;

use std::fmt::Write as _;

use crate::choices::Choices;

/// One choice of those that `C` has.
pub struct Knob<C> {
    /// As in `--name`.
    pub name: &'static str,
    /// What it is about, as a title over several of them.
    pub group: &'static str,
    /// What a value looks like, with its unit.
    pub value: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
    /// Changes the choices, or says what a value has to be.
    pub set: fn(&mut C, &str) -> Result<(), String>,
    /// The value in use; of the default choices, the default.
    pub show: fn(&C) -> String,
}

const PACE: &str = "When sessions begin";
const CLIENTS: &str = "How clients behave";
const RUN: &str = "The run and its results";

/// The table.
pub const KNOBS: &[Knob<Choices>] = &[
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
    clients::PORTS,
    clients::CONNECTIONS_MAX,
    results::PROCESSES,
    results::SPINS,
    results::SEED,
    results::INTERVAL,
    results::JSON,
    results::HGRM,
    results::RECORDS,
];

/// Changes one choice by its name.
///
/// # Errors
/// The table has none of that name, or the value is not what it has to be: one line.
pub fn set<C>(table: &[Knob<C>], of: &mut C, name: &str, value: &str) -> Result<(), String> {
    let knob = table.iter().find(|knob| knob.name == name);
    let knob = knob.ok_or_else(|| format!("there is no knob {name}"))?;
    (knob.set)(of, value).map_err(|wanted| format!("--{name} {value}: {wanted}"))
}

impl Choices {
    /// Changes one by its name.
    ///
    /// # Errors
    /// There is none of that name, or the value is not what it has to be: one line.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        set(KNOBS, self, name, value)
    }
}

/// The table of a run for the documents.
#[must_use]
pub fn markdown() -> String {
    table_markdown(KNOBS, &Choices::default())
}

/// A table for the documents.
pub(crate) fn table_markdown<C>(table: &[Knob<C>], defaults: &C) -> String {
    let mut text = String::from("| knob | default | what it does, and why |\n|---|---|---|\n");
    for Knob { name, value, reason, show, .. } in table {
        // A bar would end the cell.
        let value = value.replace('|', "\\|");
        let _ = writeln!(text, "| `--{name} {value}` | {} | {reason} |", show(defaults));
    }
    text
}

#[cfg(test)]
mod tests;
