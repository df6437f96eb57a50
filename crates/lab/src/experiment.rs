//! The questions there are, each in a file of its own.

use crate::design::Plan;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;

/// One question.
pub struct Experiment {
    /// As in `weir lab run NAME`.
    pub name: &'static str,
    /// Which figures of which paper ask the same; empty: none.
    pub paper: &'static str,
    /// In a sentence.
    pub question: &'static str,
    /// What is to be measured next, given what is known.
    pub plan: fn(&Setup, &Known<'_>) -> Plan,
    /// What is told of it.
    pub sections: fn(&Setup, &Known<'_>) -> Vec<Section>,
}

/// Finds one by its name.
#[must_use]
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    crate::experiments::EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
