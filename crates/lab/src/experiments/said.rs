//! What papers say that experiments judge, before anything is measured.

use super::frame::Rival;
use super::{
    brecht04, brecht04_one_packet, brecht04_requests, brecht04_specweb99, choi05,
    choi05_architectures, choi05_clients, choi05_memory, choi05_processes, choi05_simulated, disk,
    jaws97, jaws97_blackbox, jaws97_cache, jaws97_protocol, jaws97_threads, jaws97_whitebox,
    pariag07_architectures, pariag07_blocking, pariag07_in_memory, pariag07_knot,
    pariag07_processes, pariag07_profile, pariag07_watpipe,
};
use crate::experiment::Experiment;
use crate::subject::Subject;

/// Something that a paper says of servers.
pub struct Said {
    /// Who judges it.
    pub experiment: &'static str,
    /// Where it stands: `Brecht04 figure 8`.
    pub place: String,
    /// As the experiment's page says it.
    pub words: &'static str,
    /// Whether this build has those of whom it speaks.
    pub is_built: bool,
}

/// All of it, by experiment.
#[must_use]
pub fn said() -> Vec<Said> {
    let mut all = Vec::new();
    let [one, two, seven] = &brecht04_requests::EXPERIMENTS;
    let brecht04: [(_, &[brecht04::Claim]); 5] = [
        (&brecht04_one_packet::EXPERIMENT, &brecht04_one_packet::CLAIMS),
        (&brecht04_specweb99::EXPERIMENT, &brecht04_specweb99::CLAIMS),
        (one, &brecht04_requests::CLAIMS),
        (two, &brecht04_requests::CLAIMS),
        (seven, &brecht04_requests::CLAIMS),
    ];
    for (experiment, claims) in brecht04 {
        let of = |claim: &brecht04::Claim| {
            Said::new(experiment, (claim.figure, claim.paper), claim.of.0, &[claim.to.0])
        };
        all.extend(claims.iter().map(of));
    }
    let disk: [(_, &[disk::Claim]); 5] = [
        (&pariag07_knot::EXPERIMENT, &pariag07_knot::CLAIMS),
        (&pariag07_processes::EXPERIMENT, &pariag07_processes::CLAIMS),
        (&pariag07_blocking::EXPERIMENT, &pariag07_blocking::CLAIMS),
        (&pariag07_watpipe::EXPERIMENT, &pariag07_watpipe::CLAIMS),
        (&pariag07_architectures::EXPERIMENT, &pariag07_architectures::CLAIMS),
    ];
    for (experiment, claims) in disk {
        let of = |claim: &disk::Claim| {
            let to: Vec<_> = claim.to.names().iter().map(|name| called(name)).collect();
            Said::new(experiment, (claim.figure, claim.paper), called(claim.of), &to)
        };
        all.extend(claims.iter().map(of));
    }
    all.extend(pariag07_profile::CLAIMS.iter().map(|(words, more, less, _)| {
        let experiment = &pariag07_profile::EXPERIMENT;
        Said::new(experiment, (pariag07_profile::TABLE, words), more, &[less])
    }));
    all.extend(pariag07_in_memory::CLAIMS.iter().map(|row| {
        let experiment = &pariag07_in_memory::EXPERIMENT;
        Said::new(experiment, (row.place, row.paper), row.of, &[row.to])
    }));
    let jaws97: [(_, &[jaws97::Claim]); 6] = [
        (&jaws97_blackbox::EXPERIMENT, &jaws97_blackbox::CLAIMS),
        (&jaws97_whitebox::EXPERIMENT, &jaws97_whitebox::CLAIMS),
        (&jaws97_protocol::EXPERIMENT, jaws97_protocol::VARIANTS.claims),
        (&jaws97_threads::EXPERIMENT, jaws97_threads::VARIANTS.claims),
        (&jaws97_threads::LARGE, jaws97_threads::WITH_LARGE.claims),
        (&jaws97_cache::EXPERIMENT, jaws97_cache::VARIANTS.claims),
    ];
    for (experiment, claims) in jaws97 {
        let of = |claim: &jaws97::Claim| {
            let to: &Rival = &claim.to.0;
            Said::new(experiment, (claim.figure, claim.paper), claim.of.0, to.names())
        };
        all.extend(claims.iter().map(of));
    }
    all.extend(of_choi05());
    all
}

fn of_choi05() -> Vec<Said> {
    let mut all = Vec::new();
    let slates: [&choi05::Slate; 3] =
        [&choi05_architectures::SLATE, &choi05_memory::SLATE, &choi05_clients::SLATE];
    for slate in slates {
        let of = |claim: &choi05::Claim| {
            let to: Vec<String> = claim.to.iter().map(|model| choi05::here(model, 1)).collect();
            let to: Vec<&str> = to.iter().map(String::as_str).collect();
            let words = (claim.figure, claim.paper);
            Said::new(slate.experiment, words, &choi05::here(claim.of, 1), &to)
        };
        all.extend(slate.claims.iter().map(of));
    }
    all.extend(choi05_processes::CLAIMS.iter().map(|row| {
        let experiment = &choi05_processes::EXPERIMENT;
        Said::new(experiment, (row.place, row.paper), row.of, &[row.to])
    }));
    let experiment = choi05_simulated::EXPERIMENT.name;
    all.extend(choi05_simulated::said().map(|(place, words)| {
        // Models are simulated, whether their servers are built or not.
        Said { experiment, place, words, is_built: true }
    }));
    all
}

impl Said {
    fn new(
        experiment: &Experiment,
        (place, words): (&'static str, &'static str),
        of: &str,
        to: &[&str],
    ) -> Self {
        let is_there = |text: &str| text.parse::<Subject>().is_ok_and(|of| of.judge().is_ok());
        let is_built = is_there(of) && to.iter().any(|text| is_there(text));
        Self { experiment: experiment.name, place: place.into(), words, is_built }
    }
}

/// The subject of a name of Pariag07's. Loops stand for those of figure 4 that are not here.
fn called(name: &str) -> &'static str {
    let row = pariag07_architectures::SERVERS.iter().find(|(of, _)| *of == name);
    let other = match name {
        knot if knot.starts_with("knot-") => "knot",
        // Of figure 6.
        watpipe if watpipe.ends_with('w') => "watpipe",
        _ => "sped",
    };
    row.map_or(other, |(_, subject)| subject)
}
