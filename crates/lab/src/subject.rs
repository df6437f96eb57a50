//! What is measured: a server and the knobs in which it differs from its defaults.

mod knob;
mod listening;
mod meaning;
mod own;
pub mod peers;
mod processes;
mod read_back;
mod running;
mod said;
pub mod weir;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use servers::architectures::{self, Architecture};

use crate::Failure;
use crate::floors::{self, Floor};
use crate::testbed::Host;
use crate::unknown::unknown;

pub use knob::{Knob, Takes};
pub use own::COMMAND;
pub use peers::PROGRAM;
pub use peers::Peer;
pub use running::{NotStarted, Running};

/// A server with its knobs; written as `NAME` or `NAME:KNOB=VALUE,KNOB=VALUE`, and a command of
/// one's own as `command:LINE`, where the line goes to its end, commas included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Subject {
    /// An architecture of Weir's, a peer, a floor, or [`COMMAND`].
    pub name: String,
    /// By name; as flags where it is Weir. Of a command its line, by the name `line`.
    pub knobs: BTreeMap<String, String>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Weir with one of its architectures.
    Weir(&'static Architecture),
    /// Another server, as it is packaged.
    Peer(&'static Peer),
    /// The least that a server can do.
    Floor(&'static Floor),
    /// Whatever a shell can start.
    Command,
}

/// What a subject is told when it starts.
#[derive(Debug, Clone, Copy)]
pub struct Start<'s> {
    /// The program `weir`, which is all architectures and all floors.
    pub executable: &'s Path,
    /// Where it runs.
    pub host: &'s Host,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it serves: an absolute path, as servers look for others in places of their own.
    pub site: &'s Path,
    /// An empty directory, absolute too, for whatever it writes: settings, logs, the number of its
    /// process. Gone when it has ended.
    pub scratch: &'s Path,
    /// As servers of the papers were: at the maximum of connections nobody goes for another.
    pub is_as_in_papers: bool,
}

/// How a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Looked for as a shell does.
    pub program: PathBuf,
    /// All of them.
    pub arguments: Vec<String>,
    /// More of its environment.
    pub environment: Vec<(String, String)>,
}

impl fmt::Display for Launch {
    /// As a shell would take it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program.display().to_string()))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+,./:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A subject that exists, with knobs that it takes.
///
/// # Errors
/// The operator's: an unknown name or knob, with what was probably meant, or a value that its knob
/// does not take. Whether a peer is installed is found when it is launched.
pub fn resolve(text: &str) -> Result<Subject, Failure> {
    let subject: Subject = text.parse().map_err(Failure::Operator)?;
    subject.judge()?;
    Ok(subject)
}

/// Every name with what it stands for: architectures, peers, floors.
pub fn all() -> impl Iterator<Item = (&'static str, Kind)> {
    let weir = architectures::ARCHITECTURES.iter().map(|row| (row.name, Kind::Weir(row)));
    let peers = peers::PEERS.iter().map(|peer| (peer.name, Kind::Peer(peer)));
    let floors = floors::FLOORS.iter().map(|floor| (floor.name, Kind::Floor(floor)));
    weir.chain(peers).chain(floors)
}

impl Subject {
    /// What its name stands for.
    ///
    /// # Errors
    /// The operator's: nothing; says what was probably meant, or all there is.
    pub fn kind(&self) -> Result<Kind, Failure> {
        if self.name == COMMAND {
            return Ok(Kind::Command);
        }
        let found = all().find(|(name, _)| *name == self.name).map(|(_, kind)| kind);
        found.ok_or_else(|| {
            let names = all().map(|(name, _)| name).chain([COMMAND]);
            Failure::Operator(unknown("subject", &self.name, names))
        })
    }

    /// Whether it exists and takes its knobs.
    ///
    /// # Errors
    /// As [`resolve`].
    pub fn judge(&self) -> Result<(), Failure> {
        match self.kind()? {
            Kind::Weir(row) => weir::judge(row, &self.knobs),
            Kind::Peer(peer) => knob::judge(peer.name, peer.knobs, &self.knobs),
            Kind::Floor(floor) => knob::judge(floor.name, &[], &self.knobs),
            Kind::Command => own::judge(&self.knobs),
        }
    }

    /// Whether it answers nobody, on purpose.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.kind().is_ok_and(|kind| matches!(kind, Kind::Floor(Floor { refuses: true, .. })))
    }

    /// How it is started. A peer's settings are written into the scratch directory.
    ///
    /// # Errors
    /// As [`resolve`]; a peer that is not installed, with the package to install; a site that it
    /// cannot serve; the scratch directory cannot be written.
    pub fn launch(&self, start: &Start<'_>) -> Result<Launch, Failure> {
        self.judge()?;
        match self.kind()? {
            Kind::Weir(row) => Ok(weir::launch(row, &self.knobs, start)),
            Kind::Peer(peer) => peers::launch(peer, &self.knobs, start),
            Kind::Floor(floor) => {
                let file = weir::only_file(floor.name, start.site)?;
                let arguments = ["lab", "floor", floor.name].map(String::from).into_iter();
                let more = [start.address.to_string(), file.display().to_string()];
                Ok(Launch {
                    program: start.executable.into(),
                    arguments: arguments.chain(more).collect(),
                    environment: Vec::new(),
                })
            }
            Kind::Command => Ok(own::launch(&self.knobs, start)),
        }
    }

    /// The program's version: `1.22.1`; a peer is asked. That of Weir has the profile by which it
    /// was built: `0.1.0 (dist)`. Empty for a command that the user gives.
    ///
    /// # Errors
    /// As [`Self::kind`]; a peer that is not installed, or does not say.
    pub fn version(&self) -> Result<String, Failure> {
        match self.kind()? {
            Kind::Weir(_) | Kind::Floor(_) => {
                let version = env!("CARGO_PKG_VERSION");
                Ok(format!("{version} ({})", env!("BUILD_PROFILE")))
            }
            Kind::Peer(peer) => peer.version_at(&self.knobs),
            Kind::Command => Ok(String::new()),
        }
    }

    /// For the legend of a figure: short, and the subject's own.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name == COMMAND {
            return own::label(&self.knobs);
        }
        let knobs = self.knobs.iter().map(|(knob, value)| format!(" {knob} {value}"));
        let knobs: Vec<_> = knobs.collect();
        format!("{}{}", self.name, knobs.join(","))
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, knobs) = text.split_once(':').unwrap_or((text, ""));
        if name == COMMAND {
            return Ok(own::subject(knobs));
        }
        let pairs = knobs.split(',').filter(|pair| !pair.is_empty());
        let knobs = pairs.map(|pair| match pair.split_once('=') {
            Some((knob, value)) => Ok((knob.into(), value.into())),
            None => Err(format!("{text}: {pair} has to be KNOB=VALUE")),
        });
        Ok(Self { name: name.into(), knobs: knobs.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.name == COMMAND {
            return write!(f, ":{}", own::line(&self.knobs));
        }
        for (at, (knob, value)) in self.knobs.iter().enumerate() {
            write!(f, "{}{knob}={value}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

impl TryFrom<String> for Subject {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_read_and_written() {
        let rows = [
            ("sped", "sped", "sped"),
            ("sped:", "sped", "sped"),
            ("mt:threads=8,cache-mb=0", "mt:cache-mb=0,threads=8", "mt cache-mb 0, threads 8"),
            ("nginx:sendfile=off", "nginx:sendfile=off", "nginx sendfile off"),
            ("command:/opt/my -p {port},a=b: c", "command:/opt/my -p {port},a=b: c", "my"),
            ("command:A=1 s {port}", "command:A=1 s {port}", "s"),
            ("command:", "command:", "command"),
        ];
        for (text, written, label) in rows {
            let subject: Subject = text.parse().unwrap();
            assert_eq!(subject.to_string(), written, "{text}");
            assert_eq!(subject.label(), label, "{text}");
            assert_eq!(written.parse(), Ok(subject), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_is_written_so_that_it_is_read_again(
            text in "(command|sped|[a-z]{0,3})(:[a-c{}:,= ]{0,12})?",
        ) {
            if let Ok(subject) = text.parse::<Subject>() {
                assert_eq!(subject.to_string().parse(), Ok(subject), "{text}");
            }
        }
    }

    #[test]
    fn names_are_their_own() {
        let names: Vec<_> = all().map(|(name, _)| name).chain([COMMAND]).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
            if *name != COMMAND {
                assert!(resolve(name).is_ok(), "{name}");
            }
        }
    }
}
