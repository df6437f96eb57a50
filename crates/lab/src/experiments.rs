//! The table of questions.

mod ablation;
mod best;
mod brecht04;
mod capacity;
mod disk;
mod flood;
mod idle;
mod jaws97;
mod jaws97_blackbox;
mod jaws97_variants;
mod step;
mod tune;
mod whitebox;

use crate::experiment::Experiment;

/// In the order in which they are listed.
pub const EXPERIMENTS: &[Experiment] = &[
    best::EXPERIMENT,
    capacity::EXPERIMENT,
    step::EXPERIMENT,
    idle::EXPERIMENT,
    ablation::EXPERIMENT,
    tune::EXPERIMENT,
    brecht04::ONE_PACKET,
    brecht04::SPECWEB99,
    disk::PROCESSES,
    disk::ARCHITECTURES,
    whitebox::SHARES,
    jaws97_blackbox::EXPERIMENT,
    whitebox::CALLS,
    jaws97_variants::PROTOCOL,
    jaws97_variants::THREADS,
    jaws97_variants::CACHE,
];
