//! What every peer's settings are made of.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::subject::{Knob, Launch, Peer, Start, Takes};

/// Connections that a server is to hold, where the descriptors are enough: as many as Pariag07 had
/// (its section 5.1: 20,000).
const CONNECTIONS: u64 = 20_000;
/// Descriptors for all that is neither a connection nor a file: listening sockets, logs, pipes.
const SPARE: u64 = 512;

/// A peer that is about to be started.
pub(super) struct Setup<'s> {
    peer: &'s Peer,
    pub(super) program: PathBuf,
    pub(super) start: &'s Start<'s>,
    chosen: &'s BTreeMap<String, String>,
    /// Processors of its host.
    processors: u64,
    /// Descriptors that each of its processes may have.
    pub(super) descriptors: u64,
}

pub(super) const WORKERS: Knob = Knob {
    name: "workers",
    takes: Takes::Number(1, 1024),
    default: "auto",
    reason: "who share the work; auto: one for each processor of the server's host",
};

pub(super) const CONNECTIONS_MAX: Knob = Knob {
    name: "connections",
    takes: Takes::Number(1, 1_000_000),
    default: "auto",
    reason: "open at once, in all processes together; auto: in each of them 20,000 as in \
             Pariag07, or three quarters of its descriptors",
};

pub(super) const DEFER_ACCEPT: Knob = Knob {
    name: "defer-accept",
    takes: crate::subject::knob::SWITCH,
    default: "off",
    reason: "whether the kernel keeps a connection until its request is there, which moves \
             overload into the SYN queue: off for all who can choose; Apache's own default is on",
};

pub(super) const PROGRAM: Knob = Knob {
    name: "program",
    takes: Takes::Program,
    default: "auto",
    reason: "where another version of it is, as in /opt/name; auto: where a shell finds it",
};

pub(super) const BACKLOG: Knob = Knob {
    name: "backlog",
    takes: Takes::Number(1, 65_535),
    default: "4096",
    reason: "connections that may wait in the kernel to be accepted: the same for all, where \
             defaults are from 511 to 65535; clipped by net.core.somaxconn",
};

pub(super) const SENDFILE: Knob = Knob {
    name: "sendfile",
    takes: crate::subject::knob::SWITCH,
    default: "on",
    reason: "files go from the page cache to the socket without being copied",
};

pub(super) const IDLE_S: Knob = Knob {
    name: "idle-s",
    takes: Takes::Number(1, 3600),
    default: "60",
    reason: "a connection is kept without a request: the same for all, where defaults are from 5 \
             to 300 s; closing early makes more connections and frees memory",
};

impl<'s> Setup<'s> {
    pub(super) fn new(
        peer: &'s Peer,
        program: PathBuf,
        chosen: &'s BTreeMap<String, String>,
        start: &'s Start<'s>,
    ) -> Result<Self, Failure> {
        // They are written into settings, whose ways to quote differ.
        for path in [start.site, start.scratch] {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:,@= ".contains(&byte);
            if !path.as_os_str().as_encoded_bytes().iter().copied().all(is_plain) {
                return Err(Failure::Operator(format!(
                    "{}: {} takes no directory with such a character in its name",
                    path.display(),
                    peer.name
                )));
            }
        }
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        let placed = start.host.placement.processors.len();
        Ok(Self {
            peer,
            program,
            start,
            chosen,
            processors: if placed == 0 { here } else { placed } as u64,
            descriptors: os::limits::descriptors(),
        })
    }

    /// A knob's value: what was chosen, or its default.
    pub(super) fn word(&self, name: &str) -> &str {
        let default = self.peer.knobs.iter().find(|knob| knob.name == name);
        let chosen = self.chosen.get(name).map(String::as_str);
        chosen.or(default.map(|knob| knob.default)).unwrap_or_default()
    }

    /// The same as a number; `None`: it is `auto`.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.word(name).parse().ok()
    }

    pub(super) fn workers(&self) -> u64 {
        self.number("workers").unwrap_or(self.processors)
    }

    /// Connections that its one process holds at most, or all together where one says so for all.
    pub(super) fn connections(&self) -> Result<u64, Failure> {
        self.connections_within(self.connections_max())
    }

    /// The same of each worker, of which none takes more than `most`.
    pub(super) fn connections_of_each(&self, most: u64) -> Result<u64, Failure> {
        let workers = self.workers();
        let all = self.connections_within(most * workers)?;
        // What nobody chose is each one's own.
        Ok(self.number("connections").map_or(all.min(most), |_| all.div_ceil(workers)))
    }

    /// Connections beside which there are descriptors for all else.
    pub(super) fn connections_max(&self) -> u64 {
        self.descriptors.saturating_sub(SPARE)
    }

    /// The same where it takes no more than `most`.
    pub(super) fn connections_within(&self, most: u64) -> Result<u64, Failure> {
        let auto = CONNECTIONS.min(self.descriptors * 3 / 4).min(most);
        let chosen = self.number("connections").unwrap_or(auto);
        if chosen <= most {
            return Ok(chosen);
        }
        Err(Failure::Operator(format!(
            "{}: connections={chosen} is more than the {most} that it can have of {} descriptors",
            self.peer.name, self.descriptors
        )))
    }

    /// Whether files go by sendfile, where `auto` is by their size: not where all are small.
    pub(super) fn sendfile(&self) -> &'static str {
        let is_on = match self.word("sendfile") {
            "auto" => has_large_file(self.start.site, &mut { FILES_SEEN_MAX }),
            word => word == "on",
        };
        if is_on { "on" } else { "off" }
    }

    /// Open files that a cache may hold beside the connections.
    pub(super) fn files_beside(&self, connections: u64) -> u64 {
        self.descriptors.saturating_sub(connections + SPARE)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.word(name) == "on"
    }

    pub(super) fn site(&self) -> String {
        self.start.site.display().to_string()
    }

    pub(super) fn scratch(&self) -> String {
        self.start.scratch.display().to_string()
    }

    /// Writes a file of settings; its path.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<String, Failure> {
        let path = self.start.scratch.join(name);
        let written = fs::write(&path, text);
        written.map_err(|error| Failure::machine(path.display(), error))?;
        Ok(path.display().to_string())
    }

    /// Whether the lab may do as it likes, and its peers would rather be somebody else.
    pub(super) fn is_root(&self) -> bool {
        os::users::effective().0 == 0
    }

    /// Complains if somebody else could not read what lies in the site.
    pub(super) fn is_open_to_all(&self, whom: &str) -> Result<(), Failure> {
        const SEARCH: u32 = 0o001;
        let closed = self.start.site.ancestors().find(|directory| {
            fs::metadata(directory).is_ok_and(|found| found.permissions().mode() & SEARCH == 0)
        });
        let Some(closed) = closed else { return Ok(()) };
        Err(Failure::Machine(format!(
            "{} serves as {whom}, who may not look into {}: chmod o+x, or another place for the \
             site",
            self.peer.name,
            closed.display()
        )))
    }

    pub(super) fn launch(&self, arguments: &[&str]) -> Launch {
        Launch {
            program: self.program.clone(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: Vec::new(),
        }
    }
}

/// A reply that is no longer leaves in one packet or some, for which `writev` is called once, where
/// `sendfile` and the socket's cork take four calls.
const SMALL_BYTES: u64 = 16 << 10;
/// A site in which so many files are small has small files.
const FILES_SEEN_MAX: u32 = 1_000;

/// Whether a directory holds one, as far as is looked.
fn has_large_file(directory: &Path, left: &mut u32) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let Some(less) = left.checked_sub(1) else { return false };
        *left = less;
        let is_large = match entry.metadata() {
            Ok(of) if of.is_dir() => has_large_file(&entry.path(), left),
            Ok(of) => of.len() > SMALL_BYTES,
            Err(_) => false,
        };
        if is_large {
            return true;
        }
    }
    false
}
