//! The peers: other servers, as Debian packages them, each with settings that raise its caps, so
//! that what is compared are servers and not their defaults.

mod apache;
mod caddy;
mod h2o;
mod lighttpd;
mod nginx;
mod setup;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Knob, Launch, Start};
use crate::Failure;

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
    /// What else was set, and why; beside the knobs.
    pub tuning: &'static [(&'static str, &'static str)],
    /// Writes its settings.
    launch: fn(&Setup<'_>) -> Result<Launch, Failure>,
}

/// All there are.
pub const PEERS: &[Peer] =
    &[nginx::NGINX, lighttpd::LIGHTTPD, h2o::H2O, apache::EVENT, apache::PREFORK, caddy::CADDY];

/// Where servers are, though the path of many users has it not.
const SYSTEM_PLACES: &str = "/usr/local/sbin:/usr/sbin:/sbin";

pub(super) fn launch(
    peer: &Peer,
    knobs: &BTreeMap<String, String>,
    start: &Start<'_>,
) -> Result<Launch, Failure> {
    let setup = Setup::new(peer, peer.found()?, knobs, start)?;
    (peer.launch)(&setup)
}

impl Peer {
    /// Where its program is.
    ///
    /// # Errors
    /// It is not installed: a line that says how to.
    pub fn found(&self) -> Result<PathBuf, Failure> {
        let path = std::env::var("PATH").unwrap_or_default();
        let places = path.split(':').chain(SYSTEM_PLACES.split(':'));
        let files = places.map(|place| Path::new(place).join(self.program));
        files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let Self { name, package, .. } = self;
            Failure::Machine(format!("{name} is not installed: apt-get install {package}"))
        })
    }

    /// What it says of itself: `1.22.1`.
    ///
    /// # Errors
    /// It is not installed, or does not say.
    pub fn version(&self) -> Result<String, Failure> {
        let program = self.found()?;
        let fault = |error| Failure::machine(program.display(), error);
        let said = Command::new(&program).arg(self.version).output().map_err(fault)?;
        let said = [said.stdout, said.stderr].concat();
        number(&String::from_utf8_lossy(&said)).ok_or_else(|| {
            Failure::Machine(format!("{} {} says no version", program.display(), self.version))
        })
    }
}

/// The first number with a dot in it.
fn number(said: &str) -> Option<String> {
    let parts = said.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut numbers = parts.map(|part| part.trim_matches('.')).filter(|part| part.contains('.'));
    numbers.next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_of_what_programs_say() {
        let rows = [
            ("nginx version: nginx/1.22.1\n", Some("1.22.1")),
            ("lighttpd/1.4.69 (ssl) - a light and fast webserver\n", Some("1.4.69")),
            ("h2o version 2.2.5\nOpenSSL: OpenSSL 3.0.19 27 Jan 2026\n", Some("2.2.5")),
            ("Server version: Apache/2.4.71 (Debian)\n", Some("2.4.71")),
            ("v2.6.2 h1:wKoFIxpmOJLGl3QXoo6PNbYvGW4xLEgo32GPBEjWL8o=\n", Some("2.6.2")),
            ("2.6.2\n", Some("2.6.2")),
            ("no such option.\n", None),
        ];
        for (said, expected) in rows {
            assert_eq!(number(said).as_deref(), expected, "{said}");
        }
    }

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
