//! What is measured: a server and the knobs in which it differs from its defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::testbed::Host;

/// A server with its knobs; written as `NAME` or `NAME:KNOB=VALUE,KNOB=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Subject {
    /// An architecture of Weir's, a peer, a floor.
    pub name: String,
    /// By name; as flags where it is Weir.
    pub knobs: BTreeMap<String, String>,
}

/// What a subject is told when it starts.
#[derive(Debug, Clone, Copy)]
pub struct Start<'s> {
    /// Where it runs.
    pub host: &'s Host,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it serves.
    pub site: &'s Path,
    /// An empty directory for whatever it writes: settings, logs, the number of its process. Gone
    /// when it has ended.
    pub scratch: &'s Path,
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

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, knobs) = text.split_once(':').unwrap_or((text, ""));
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
