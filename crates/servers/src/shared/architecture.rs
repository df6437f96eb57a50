//! An architecture: one row of the registry.

use std::io;

use super::choice::choice;
use super::performer::Performer;
use super::settings::{Sendfile, Settings};

/// What is known of an architecture, and what runs it.
pub struct Row<R> {
    /// As in `--architecture NAME`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub is: &'static str,
    /// Servers and papers that are built so.
    pub known_as: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Who takes connections.
    pub accept: Performer,
    /// Who receives and sends.
    pub transfer: Performer,
    /// Who translates paths, opens and stats.
    pub path: Performer,
    /// Who waits for pages of files.
    pub pages: Performer,
    /// Who waits when a disk does.
    pub stalls: Stalls,
    /// What becomes of requests that one connection has in hand at the same time.
    pub requests: Requests,
    /// Workers where the operator does not say.
    pub workers: u32,
    /// Who shares one table of descriptors.
    pub descriptors: Sharing,
    /// Who shares one cache of answers.
    pub cache: Sharing,
    /// Whether it has a getevents phase, so that it takes `--poller`.
    pub polls: bool,
    /// Whether each connection held takes a thread.
    pub connection_per_thread: bool,
    /// Knobs that it takes beside those of all.
    pub knobs: &'static [&'static str],
    /// Connections taken consecutively where the operator does not say: a loop takes all that wait,
    /// because it alone accepts.
    pub accept_limit: u32,
    /// The ways of file parts that it has, the one it takes by itself first.
    pub sendfile: &'static [Sendfile],
    /// Bytes of a file after which the next are wanted, where it has reasons of its own.
    pub window_bytes: Option<u64>,
    /// Knobs worth tuning, with values worth trying.
    pub tuning: &'static [(&'static str, &'static [&'static str])],
    /// What it needs of the kernel beside what all do; empty: nothing.
    pub needs: &'static str,
    /// Whether this machine has that, for so many connections.
    pub probe: fn(connections: u64) -> io::Result<()>,
    /// Runs one worker until it has drained.
    pub run: R,
}

impl<R> Row<R> {
    /// Workers that there may be: as the operator says, or as suits it.
    #[must_use]
    pub fn workers_max(&self, settings: &Settings) -> u32 {
        settings.processes.unwrap_or(self.workers)
    }
}

choice! {
    /// Who waits when a disk does.
    pub enum Stalls {
        /// Everybody whom the worker serves.
        All = "all",
        /// One of as many as there are threads.
        OneOfN = "one of N",
        /// Nobody but who asked.
        Nobody = "nobody",
    }
}

choice! {
    /// What becomes of requests that one connection has in hand at the same time.
    pub enum Requests {
        /// Each is answered as soon as it can be.
        Several = "several",
        /// While one loads the others wait.
        InTurn = "in turn",
    }
}

choice! {
    /// By whom something is shared.
    pub enum Sharing {
        /// The one loop of a worker.
        Loop = "loop",
        /// The threads of a worker.
        Threads = "threads",
    }
}
