//! The peers: other servers, as Debian packages them, each with settings that raise its caps, so
//! that what is compared are servers and not their defaults.

mod apache;
mod caddy;
mod h2o;
mod lighttpd;
mod nginx;
mod setup;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Knob, Launch, Start};
use crate::Failure;
use crate::program::Program;

use setup::Setup;

/// One of them.
#[derive(Debug)]
pub struct Peer {
    /// As a subject.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub is: &'static str,
    /// What `apt-get install` takes.
    pub package: &'static str,
    /// What it is called on the disk.
    pub program: &'static str,
    /// What it is told to say its version.
    version: &'static str,
    /// What can be chosen.
    pub knobs: &'static [Knob],
    /// Knobs worth tuning, with values worth trying.
    pub tuning: Grid,
    /// What else was set, and why; beside the knobs.
    pub settings: &'static [(&'static str, &'static str)],
    /// Writes its settings.
    launch: fn(&Setup<'_>) -> Result<Launch, Failure>,
}

/// The knob of each of them that says where another version of it is.
pub const PROGRAM: &str = setup::PROGRAM.name;

/// By knob, its values.
pub type Grid = &'static [(&'static str, &'static [&'static str])];

/// All there are.
pub const PEERS: &[Peer] =
    &[nginx::NGINX, lighttpd::LIGHTTPD, h2o::H2O, apache::EVENT, apache::PREFORK, caddy::CADDY];

pub(super) fn launch(
    peer: &Peer,
    knobs: &BTreeMap<String, String>,
    start: &Start<'_>,
) -> Result<Launch, Failure> {
    let setup = Setup::new(peer, peer.at(knobs)?, knobs, start)?;
    (peer.launch)(&setup)
}

impl Peer {
    /// Where its program is, if one was chosen.
    ///
    /// # Errors
    /// Nothing is there, or else it is not installed: a line that says how to.
    fn at(&self, knobs: &BTreeMap<String, String>) -> Result<PathBuf, Failure> {
        let Some(chosen) = knobs.get(PROGRAM) else { return self.found() };
        let program = PathBuf::from(chosen);
        match program.is_file() {
            true => Ok(program),
            false => Err(Failure::Machine(format!("{}: {chosen} is no program", self.name))),
        }
    }

    /// What that says of itself: `1.22.1`.
    ///
    /// # Errors
    /// It is not there, or does not say.
    pub(super) fn version_at(&self, knobs: &BTreeMap<String, String>) -> Result<String, Failure> {
        self.as_program().version_of(&self.at(knobs)?)
    }

    /// Where its program is.
    ///
    /// # Errors
    /// It is not installed: a line that says how to.
    pub fn found(&self) -> Result<PathBuf, Failure> {
        self.as_program().found()
    }

    /// What it says of itself: `1.22.1`.
    ///
    /// # Errors
    /// It is not installed, or does not say.
    pub fn version(&self) -> Result<String, Failure> {
        self.as_program().version()
    }

    fn as_program(&self) -> Program {
        let &Self { name, package, program: file, version, .. } = self;
        Program { name, file, package, version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_and_their_knobs_have_names_of_their_own() {
        for (at, peer) in PEERS.iter().enumerate() {
            assert!(PEERS[..at].iter().all(|other| other.name != peer.name), "{}", peer.name);
            for (at, knob) in peer.knobs.iter().enumerate() {
                let before = &peer.knobs[..at];
                assert!(before.iter().all(|other| other.name != knob.name), "{}", knob.name);
                if knob.default != "auto" {
                    let chosen = BTreeMap::from([(knob.name.into(), knob.default.into())]);
                    assert_eq!(super::super::knob::judge(peer.name, peer.knobs, &chosen), Ok(()));
                }
            }
        }
    }
}
