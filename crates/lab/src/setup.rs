//! What the operator chose of a run; what he did not is each experiment's own.

use std::collections::BTreeMap;

use load::gates::PAPER_PATIENCE;
use serde::{Deserialize, Serialize};

use crate::subject::{PROGRAM, Subject};
use crate::testbed::Disk;
use crate::tuned::Tuned;

/// See the head of this file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// What is measured; none: the experiment's own.
    pub subjects: Vec<Subject>,
    /// Measured for each point, in seconds.
    pub seconds: Option<f64>,
    /// Before that.
    pub warm_up: Option<WarmUp>,
    /// How often each point is measured.
    pub repeats: Option<u32>,
    /// How often is tried to measure what turns out invalid.
    pub attempts: Option<u32>,
    /// Of one processor, what the server's processes may use.
    pub quota_percent: Option<u32>,
    /// See [`Layout::round_trip_ms`](crate::testbed::Layout::round_trip_ms).
    pub round_trip_ms: Option<u32>,
    /// See [`Layout::wire_mbit`](crate::testbed::Layout::wire_mbit).
    pub wire_mbit: Option<u32>,
    /// See [`Layout::wire_mtu_bytes`](crate::testbed::Layout::wire_mtu_bytes).
    pub wire_mtu_bytes: Option<u32>,
    /// What holds the files of experiments with a disk; none: an image that is as slow as the
    /// experiment needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<OnDisk>,
    /// Of the files' bytes, what the server's memory holds in experiments with a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_percent: Option<u32>,
    /// Both sides on this machine as it is.
    pub is_loopback: bool,
    /// What clients ask for.
    pub workload: Option<String>,
    /// What a search has found: who was tuned is asked untuned and tuned.
    pub tuned: Option<Tuned>,
    /// Of all draws of what is simulated; none: the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Of peers that are others than are installed, where they are.
    pub programs: BTreeMap<String, String>,
    /// So long, in minutes, all searches of `weir lab tune --all` take together at most.
    pub minutes: Option<u32>,
    /// Names of subjects that are left out, as this machine has them not.
    pub absent: Vec<String>,
    /// As long as the papers' (120 s for each point), with their clients' patience and thoughts.
    pub is_paper: bool,
    /// Also beside other programs, where no figure is to be quoted.
    pub is_anyway: bool,
}

/// A disk that the operator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDisk {
    /// The one on which `--sites` is, as it is.
    Itself,
    /// An image that is so slow.
    Slow(Disk),
}

/// What comes before a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUp {
    /// The same load for so many seconds, and on without a gap.
    Fixed(f64),
    /// The same load, a second at a time, until two of them in a row have replies that differ by
    /// less than [`STEADY_SHARE`], so many seconds at most; then for as long again, and on without
    /// a gap.
    Steady(u32),
}

/// Two seconds of an unchanging server differ by less, where they have some thousand replies.
pub const STEADY_SHARE: f64 = 0.05;

/// Of clients that wait one second, all that come at 1.5 times the capacity or more have settled by
/// then, and at 1.1 times of it a third of the way is gone; of clients that wait 1.5 s, those at
/// twice the capacity.
const FILLING_MAX_S: f64 = 3.0;

/// Of a paper's point (Brecht04 5, Pariag07 3.2).
pub const PAPER_SECONDS: f64 = 120.0;

impl WarmUp {
    /// How long it takes at most, in seconds.
    #[must_use]
    pub fn at_most_s(self) -> f64 {
        match self {
            Self::Fixed(seconds) => seconds,
            Self::Steady(most) => f64::from(most),
        }
    }
}

impl Setup {
    /// How long is measured, where an experiment has its own length.
    #[must_use]
    pub fn seconds(&self, own: f64) -> f64 {
        self.seconds.unwrap_or(if self.is_paper { PAPER_SECONDS } else { own })
    }

    /// How long clients wait, where an experiment has its own patience: so short that a flood shows
    /// in seconds what it does, and that a point ends soon after what is measured.
    #[must_use]
    pub fn patience_s(&self, own: f64) -> f64 {
        if self.is_paper { PAPER_PATIENCE.as_secs_f64() } else { own }
    }

    /// How often, where an experiment has its own number.
    #[must_use]
    pub fn repeats(&self, own: u32) -> u32 {
        self.repeats.unwrap_or(own)
    }

    /// The longest warm-up that an overload is given to fill its queues: see
    /// [`filled`](crate::design::filled). None where the operator says his own warm-up, and in the
    /// papers' minutes.
    #[must_use]
    pub fn filling_max_s(&self) -> f64 {
        let is_own = self.warm_up.is_none() && !self.is_paper;
        if is_own { FILLING_MAX_S } else { 0.0 }
    }

    /// What comes before, where an experiment has its own.
    #[must_use]
    pub fn warm_up(&self, own: WarmUp) -> WarmUp {
        self.warm_up.unwrap_or(own)
    }

    /// Of one processor, what the server may use, where an experiment has its own share. On the
    /// loopback, which needs no root, it has none but that of the operator.
    #[must_use]
    pub fn quota_percent(&self, own: u32) -> Option<u32> {
        self.quota_percent.or((!self.is_loopback).then_some(own))
    }

    /// What is measured, where an experiment has its own: of these what this build and this machine
    /// have, with knobs that they take. Behind each the same tuned, if it is.
    #[must_use]
    pub fn subjects(&self, own: &[&str]) -> Vec<Subject> {
        let all = match self.subjects.is_empty() {
            false => self.subjects.clone(),
            true => {
                let own = own.iter().map(|text| text.parse().expect("an experiment's own subject"));
                let is_here = |of: &Subject| !self.absent.contains(&of.name) && of.judge().is_ok();
                own.filter(is_here).collect()
            }
        };
        let mut subjects: Vec<Subject> = Vec::new();
        for of in all.into_iter().map(|of| self.with_program(of)) {
            let tuned = self.tuned.as_ref().and_then(|tuned| tuned.of(&of));
            for of in tuned.map(|tuned| tuned.best.clone()).into_iter().chain([of]).rev() {
                if !subjects.contains(&of) {
                    subjects.push(of);
                }
            }
        }
        subjects
    }

    /// A subject with the program that was chosen for all of its name, unless it has its own.
    #[must_use]
    pub fn with_program(&self, mut of: Subject) -> Subject {
        if let Some(program) = self.programs.get(&of.name) {
            of.knobs.entry(PROGRAM.into()).or_insert_with(|| program.clone());
        }
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuned::Server;

    #[test]
    fn what_is_not_here_is_left_out() {
        let setup = Setup { absent: vec![String::from("caddy")], ..Setup::default() };
        let own = ["sped", "caddy", "no-such-architecture:processes=4", "mt:no-such-knob=1"];
        let subjects: Vec<String> = setup.subjects(&own).iter().map(ToString::to_string).collect();
        assert_eq!(subjects, ["sped"]);
    }

    #[test]
    fn who_was_tuned_is_asked_untuned_and_tuned() {
        let server = |of: &str, best: &str| Server {
            of: of.parse().expect("a subject"),
            best: best.parse().expect("a subject"),
            knobs: BTreeMap::new(),
            tried: 12,
            capacity: 1.0,
            rate: 1.0,
            replies: (None, 1.0),
            version: String::new(),
        };
        let servers = vec![
            server("sped", "sped:backlog=64"),
            server("mt", "mt"),
            server("nginx:program=/opt/nginx", "nginx:program=/opt/nginx,workers=2"),
        ];
        let setup = Setup {
            tuned: Some(Tuned::new(BTreeMap::new(), String::from("one-packet"), servers)),
            programs: BTreeMap::from([("nginx".into(), "/opt/nginx".into())]),
            ..Setup::default()
        };
        let own = ["sped", "mt", "amped", "nginx", "nginx:program=/bin/nginx"];
        let subjects: Vec<String> = setup.subjects(&own).iter().map(ToString::to_string).collect();
        let expected = [
            "sped",
            "sped:backlog=64",
            "mt",
            "amped",
            "nginx:program=/opt/nginx",
            "nginx:program=/opt/nginx,workers=2",
            "nginx:program=/bin/nginx",
        ];
        assert_eq!(subjects, expected);
    }
}
