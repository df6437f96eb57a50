//! How a run is told: to people, to programs, and to those who plot histograms.

pub mod comparison;
pub mod hgrm;
pub mod json;
pub mod summary;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::collector::results::Results;
use crate::expectation::Met;
use crate::gates::Finding;

/// What whoever reads of a run wants to know of it beside its results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The URL that was asked.
    pub target: String,
    /// How the program was called, as a shell reads it again.
    #[serde(default)]
    pub command: String,
    /// The workload's name, and what was chosen of it.
    pub workload: String,
    /// What the workload has to say of itself: that it is synthetic, or what it left out of a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// How the load was made: `10,000/s, Poisson`, `64 clients`.
    pub load: String,
    /// When it began, by the calendar (RFC 3339).
    pub began: String,
    /// Of all streams of random numbers.
    pub seed: u64,
    /// Every flag by its name, also those left as they are, as they would be written.
    pub knobs: BTreeMap<String, String>,
    /// Processors, memory, kernel and the like, by name.
    pub machine: BTreeMap<String, String>,
    /// Of this program, and of what it was built with.
    pub versions: BTreeMap<String, String>,
}

/// All that is told.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// What was done.
    pub about: &'r About,
    /// What came of it.
    pub results: &'r Results,
    /// What the gates make of it.
    pub findings: &'r [Finding],
    /// What came of what was expected.
    pub expected: &'r [Met],
}

#[cfg(test)]
mod tests;
