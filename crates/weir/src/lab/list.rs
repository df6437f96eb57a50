//! `weir lab list`.

use std::fmt::Write as _;
use std::process::ExitCode;

use lab::Failure;
use lab::curves::lasting;
use lab::experiments::EXPERIMENTS;
use lab::schedule;
use lab::setup::Setup;
use lab::subject::{self, COMMAND, Kind, Peer};

use crate::shown;

pub(super) fn list() -> Result<ExitCode, Failure> {
    let absent = |(name, kind): (&str, Kind)| match kind {
        Kind::Peer(peer) if peer.found().is_err() => Some(String::from(name)),
        _ => None,
    };
    let setup = Setup { absent: subject::all().filter_map(absent).collect(), ..Setup::default() };
    let mut text = String::from("Questions, for weir lab run, and how long they take:\n");
    for experiment in EXPERIMENTS {
        let of = if experiment.paper.is_empty() {
            String::new()
        } else {
            format!(" ({})", experiment.paper)
        };
        row(&mut text, experiment.name, &format!("{}{of}", experiment.question));
        let (specs, later_s) = schedule::missing(experiment, &setup, &[]);
        let takes = lasting(schedule::costs(&specs) + later_s);
        row(&mut text, "", &format!("about {takes}"));
    }
    text.push_str("\nServers, for --subject:\n");
    for (name, kind) in subject::all() {
        match kind {
            Kind::Weir(architecture) => row(&mut text, name, architecture.is),
            Kind::Peer(peer) => {
                row(&mut text, name, peer.is);
                row(&mut text, "", &here(peer));
            }
            Kind::Floor(floor) => row(&mut text, name, floor.is),
            Kind::Command => {}
        }
    }
    row(&mut text, &format!("{COMMAND}:LINE"), "whatever a shell starts; LINE may name {address}");
    text.push_str("\nKnobs follow a name, as in mt:threads=64,backlog=32; an architecture's are\n");
    text.push_str("those of weir serve.\n");
    Ok(shown(&text))
}

/// Whether it is on this machine, and what can be chosen of it.
fn here(peer: &Peer) -> String {
    let here = match (peer.found(), peer.version()) {
        (Ok(_), Ok(version)) => format!("{version}, of package {}", peer.package),
        (Ok(_), Err(why)) => why.to_string(),
        (Err(_), _) => format!("not installed: apt-get install {}", peer.package),
    };
    let knobs: Vec<&str> = peer.knobs.iter().map(|knob| knob.name).collect();
    format!("{here}; knobs: {}", knobs.join(", "))
}

/// A name, and what there is to say of it.
fn row(text: &mut String, name: &str, said: &str) {
    // A text takes all that is written.
    let _ = writeln!(text, "  {name:24} {said}");
}
