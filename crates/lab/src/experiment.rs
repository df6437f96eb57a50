//! The questions there are, each in a file of its own.

use crate::Failure;
use crate::design::Plan;
use crate::experiments::EXPERIMENTS;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;
use crate::unknown::unknown;

/// One question.
pub struct Experiment {
    /// As in `weir lab run NAME`.
    pub name: &'static str,
    /// Which figures of which paper ask the same; empty: none.
    pub paper: &'static str,
    /// See [`Start`](crate::subject::Start): where figures stand beside those of a paper. Who asks
    /// which server or which knobs are best for him has them as he will run them.
    pub is_as_in_papers: bool,
    /// In a sentence.
    pub question: &'static str,
    /// Knobs of a run that change nothing of it, as it says itself what they say: by name.
    pub ignores: &'static [&'static str],
    /// What is to be measured next, given what is known.
    pub plan: fn(&Setup, &Known<'_>) -> Plan,
    /// What is told of it.
    pub sections: fn(&Setup, &Known<'_>) -> Vec<Section>,
}

/// Finds one by its name.
#[must_use]
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// The same for somebody who has typed it.
///
/// # Errors
/// The operator's: there is none; with what was probably meant, or all there are.
pub fn named(name: &str) -> Result<&'static Experiment, Failure> {
    experiment(name).ok_or_else(|| {
        let names = EXPERIMENTS.iter().map(|experiment| experiment.name);
        Failure::Operator(unknown("experiment", name, names))
    })
}

impl Experiment {
    /// Whether it takes these knobs.
    ///
    /// # Errors
    /// The operator's: it does not; with who does.
    pub fn judge<'k>(&self, knobs: impl IntoIterator<Item = &'k str>) -> Result<(), Failure> {
        let mut knobs = knobs.into_iter();
        let Some(knob) = knobs.find(|knob| self.ignores.contains(knob)) else { return Ok(()) };
        let takers = EXPERIMENTS.iter().filter(|other| !other.ignores.contains(&knob));
        let takers: Vec<&str> = takers.map(|other| other.name).collect();
        Err(Failure::Operator(format!(
            "--{knob}: {} has its own; it is for {}",
            self.name,
            takers.join(", ")
        )))
    }
}
