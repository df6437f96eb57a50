//! The questions there are, each in a file of its own.

mod ablation;
mod best;
mod brecht04;
mod brecht04_one_packet;
mod brecht04_requests;
mod brecht04_specweb99;
mod capacity;
mod choi05;
mod choi05_architectures;
mod choi05_clients;
mod choi05_memory;
mod choi05_processes;
mod choi05_simulated;
mod disk;
mod flood;
mod floods;
mod frame;
mod idle;
mod jaws97;
mod jaws97_blackbox;
mod jaws97_cache;
mod jaws97_protocol;
mod jaws97_threads;
mod jaws97_whitebox;
mod overload;
mod parameters;
mod pariag07_architectures;
mod pariag07_blocking;
mod pariag07_in_memory;
mod pariag07_knot;
mod pariag07_processes;
mod pariag07_profile;
mod pariag07_watpipe;
mod policies;
mod promised;
mod refusal;
mod refusal_costs;
mod refusal_syns;
mod reply_cost;
mod said;
mod shapes;
mod stages;
mod step;
mod targets;
mod tune;
mod validation;
mod whitebox;

use crate::Failure;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::page::Table;
use crate::setup::Setup;
use crate::unknown::unknown;

pub use parameters::machine;
pub use said::{Said, said};
pub use tune::{tuned, versioned};

/// What is asked beside an experiment whose servers have a quota: the same question with a load of
/// which clients can ask for enough without one.
const BESIDE_QUOTA: [(&str, &str); 3] = [
    ("best", "flood-sessions-whole"),
    ("capacity", "flood-sessions-whole"),
    ("flood", "flood-sessions-whole"),
];

/// These experiments, and what is asked beside them, so that no page rests on a quota alone.
#[must_use]
pub fn with_companions<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let mut all = names.to_vec();
    for (name, beside) in BESIDE_QUOTA {
        if names.contains(&name) && !all.contains(&beside) {
            all.push(beside);
        }
    }
    all
}

/// In the order in which they are listed.
pub const EXPERIMENTS: &[Experiment] = &[
    best::EXPERIMENT,
    capacity::EXPERIMENT,
    flood::EXPERIMENT,
    floods::experiment::<0>(),
    floods::experiment::<1>(),
    floods::experiment::<2>(),
    floods::experiment::<3>(),
    floods::experiment::<4>(),
    floods::experiment::<5>(),
    floods::experiment::<6>(),
    floods::experiment::<7>(),
    floods::experiment::<8>(),
    floods::experiment::<9>(),
    shapes::experiment::<0>(),
    shapes::experiment::<1>(),
    refusal::EXPERIMENT,
    step::experiment::<0>(),
    step::experiment::<1>(),
    idle::EXPERIMENT,
    reply_cost::EXPERIMENT,
    ablation::EXPERIMENT,
    tune::EXPERIMENT,
    parameters::EXPERIMENT,
    policies::EXPERIMENT,
    brecht04_one_packet::EXPERIMENT,
    brecht04_specweb99::EXPERIMENT,
    brecht04_requests::experiment::<0>(),
    brecht04_requests::experiment::<1>(),
    brecht04_requests::experiment::<2>(),
    pariag07_knot::EXPERIMENT,
    pariag07_processes::EXPERIMENT,
    pariag07_blocking::EXPERIMENT,
    pariag07_watpipe::EXPERIMENT,
    pariag07_architectures::EXPERIMENT,
    pariag07_architectures::TODAY,
    pariag07_in_memory::EXPERIMENT,
    pariag07_profile::EXPERIMENT,
    jaws97_blackbox::EXPERIMENT,
    jaws97_whitebox::EXPERIMENT,
    jaws97_protocol::EXPERIMENT,
    jaws97_threads::EXPERIMENT,
    jaws97_threads::LARGE,
    jaws97_cache::EXPERIMENT,
    choi05_architectures::EXPERIMENT,
    choi05_memory::EXPERIMENT,
    choi05_clients::EXPERIMENT,
    choi05_processes::EXPERIMENT,
    choi05_simulated::EXPERIMENT,
    validation::KEPT,
    validation::ONE_PACKET,
];

/// Those whose points are simulated: no server is asked.
pub const SIMULATED: &[&str] = &[choi05_simulated::EXPERIMENT.name];

/// What of other results stands beside those of an experiment that asks the same in another way; of
/// none but those that are simulated there is such a thing.
#[must_use]
pub fn beside(name: &str, setup: &Setup, known: &Known<'_>, other: &Known<'_>) -> Option<Table> {
    let is_simulated = name == choi05_simulated::EXPERIMENT.name;
    is_simulated.then(|| choi05_simulated::beside(setup, known, other))
}

/// Whether the operator may say of an experiment which servers are asked.
#[must_use]
pub fn asks_servers(name: &str) -> bool {
    experiment(name).is_some_and(|of| !of.ignores.contains(&"subject"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_architecture_is_forgotten_where_all_are_asked() {
        for of in servers::architectures::ARCHITECTURES {
            for list in [&frame::ARCHITECTURES[..], &best::SUBJECTS, &flood::UNTUNED] {
                assert!(list.contains(&of.name), "{}: {list:?}", of.name);
            }
        }
    }
}
