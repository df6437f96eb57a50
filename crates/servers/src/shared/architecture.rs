//! An architecture: one row of the registry.

use std::io;

use super::choice::choice;
use super::performer::Performer;
use super::settings::{Sendfile, Settings, StageAdmission};

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
    /// Who receives.
    pub receive: Performer,
    /// Who sends.
    pub send: Performer,
    /// Who sends parts of large files that are in memory, unless a knob says otherwise.
    pub files: Performer,
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
    /// Who holds connections.
    pub holder: Holder,
    /// Whether a keeper starts its processes, which have one table of descriptors and one cache.
    pub kept: bool,
    /// Such ones of a worker where the operator does not say; together they have one table of
    /// descriptors and one cache of answers.
    pub threads: u32,
    /// Whether each of these does all that a worker does.
    pub multiplies: bool,
    /// Whether it has a getevents phase, so that it takes `--poller`.
    pub polls: bool,
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
    pub probe: fn(&Settings, connections: u64) -> io::Result<()>,
    /// Runs one worker until it has drained.
    pub run: R,
}

/// Loops of all workers together: as many as there may be workers of one.
pub(crate) const LOOPS_MAX: u32 = 1024;

impl<R> Row<R> {
    /// Whether its loops have a ring.
    #[must_use]
    pub fn has_ring(&self) -> bool {
        self.receive == Performer::Ring
    }

    /// Threads of a worker that hold connections, or as `--threads` says of the architecture.
    #[must_use]
    pub fn threads(&self, settings: &Settings) -> u32 {
        let said = settings.threads.filter(|_| self.knobs.contains(&"threads"));
        said.unwrap_or(self.threads)
    }

    /// Loops of a worker, or what stands in the place of one.
    #[must_use]
    pub fn loops(&self, settings: &Settings) -> u32 {
        if self.multiplies { self.threads(settings) } else { 1 }
    }

    /// Whether it decides which requests it admits: then all who knock are accepted.
    #[must_use]
    pub fn admits_itself(&self, settings: &Settings) -> bool {
        let is_said = settings.stages.admission == StageAdmission::Response;
        is_said && self.knobs.contains(&"stage-admission")
    }

    /// Workers that there may be, as the operator says, or as suits it: where each holds one
    /// connection, no more than there may be connections.
    #[must_use]
    pub fn workers_max(&self, settings: &Settings) -> u32 {
        let suits = || match (self.holder, settings.connections_max) {
            (Holder::Process, most @ 1..) => self.workers.min(most),
            _ => self.workers,
        };
        settings.processes.unwrap_or_else(suits)
    }
}

choice! {
    /// Who waits when a disk does.
    pub enum Stalls {
        /// Everybody whom the loop serves: of several loops it is one.
        All = "all",
        /// One of as many as there are threads, or processes.
        OneOfN = "one of N",
        /// Only the requests that need the disk. If as many of them wait as there are helpers or
        /// workers, a request that needs one waits, too: for what the row says that they perform.
        /// A request that finds an answer in memory waits for none.
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
    /// Who holds connections.
    pub enum Holder {
        /// A loop, which has a thread to itself: as many as it may.
        Loop = "loop",
        /// A thread: one.
        Thread = "thread",
        /// A process: one.
        Process = "process",
        /// A fiber: one.
        Fiber = "fiber",
        /// The stages of a pipeline, in turn: as many as they may.
        Stages = "stages",
    }
}
