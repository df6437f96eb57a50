//! What is to be measured, as a value: the same value is measured in the same way, and names its
//! result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::testbed::Layout;

/// One point: a subject, a load and the machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Whose question it answers: the experiment's name.
    pub experiment: String,
    /// Which part of it: `probe`, `sweep`, `overload`.
    pub stage: String,
    /// What is measured.
    pub subject: Subject,
    /// What it is asked.
    pub load: Load,
    /// On which machines.
    pub layout: Layout,
    /// What varies, by name: `of_capacity` 0.9. For curves.
    pub factors: BTreeMap<String, f64>,
    /// From 0.
    pub repeat: u32,
    /// What else is watched while it runs.
    pub profile: Option<crate::profile::Kind>,
}

/// Arguments of `weir load`, but for the server's address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// As in `--workload`.
    pub workload: String,
    /// Measured, in seconds.
    pub seconds: f64,
    /// Before that, in seconds.
    pub warm_up_s: f64,
    /// All else, by the name of the flag: `rate`, `clients`, `patience`, `dirs`.
    pub flags: BTreeMap<String, String>,
}
