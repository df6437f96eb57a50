//! The table of what can be chosen of a run: flags, the manual page and documents read it, and
//! later the lab. What can be chosen of single workloads is a table of its own
//! ([`crate::workload::settings::KNOBS`]).

mod clients;
mod pace;
mod requests;
mod results;

use crate::choices::Choices;
use crate::knob::{self, Knob};

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
    pace::REQUESTS_MAX,
    pace::WARM_UP,
    pace::COOL_DOWN,
    requests::HEADER,
    requests::HOST,
    requests::METHOD,
    requests::BODY,
    clients::PATIENCE,
    clients::CONNECT_MAX,
    clients::SEND_MAX,
    clients::FIRST_BYTE_MAX,
    clients::PROGRESS_MAX,
    clients::READS_KB_PER_S,
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
    results::PROBE,
    results::PROCESSES,
    results::SPINS,
    results::SEED,
    results::INTERVAL,
    results::LAG_MAX,
    results::EXPECT,
    results::FIND,
    results::JSON,
    results::HGRM,
    results::RECORDS,
    results::BEGINS,
];

/// Letters that other generators have taught people, and the knob that each stands for.
pub const SHORT_FORMS: &[(char, &str)] = &[
    ('r', "rate"),
    ('c', "clients"),
    ('d', "duration"),
    ('n', "requests-max"),
    ('H', "header"),
    ('m', "method"),
];

/// Those that may be said several times, of which each counts.
pub const REPEATED: &[&str] = &["header", "expect", "find"];

impl Choices {
    /// Changes one by its name.
    ///
    /// # Errors
    /// There is none of that name, or the value is not what it has to be: one line.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        knob::set(KNOBS, self, name, value)
    }
}

/// The table of a run for the documents.
#[must_use]
pub fn markdown() -> String {
    knob::markdown(KNOBS, &Choices::default())
}

#[cfg(test)]
mod tests;
