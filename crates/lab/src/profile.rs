//! What is seen of a server from within, the same for every one: the kernel sees it, with tools of
//! its own, so that no server has to be built for it.
//!
//! A profile in which anything was lost does not count, and says so.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Failure;

mod calls;
mod costs;
mod shares;
mod symbols;
mod tasks;
mod tool;

pub use calls::{Accepts, Call, Calls};
pub use shares::{Share, Shares};
pub use symbols::{Area, Part};
pub use tasks::Task;

/// What is looked at; each costs something, so they are not all on in one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// System calls by the categories of JAWS97 table 2: how many, and for how long.
    Calls,
    /// Where the processor's time goes, by the categories of Pariag07 table 1.
    Shares,
    /// What single steps cost on the server's processor, before the load comes
    /// ([`COSTS`](crate::costs::COSTS)).
    Costs,
}

/// Names of the tools that are installed here, with their versions.
#[must_use]
pub fn versions() -> BTreeMap<String, String> {
    let tools = [calls::BPFTRACE, shares::PERF];
    let told = tools.iter().filter_map(|tool| Some((tool.name.into(), tool.version().ok()?)));
    told.collect()
}

/// Who is looked at, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// This program, which times single steps in a process of their own.
    pub executable: PathBuf,
    /// The server's processes. Those that they have started, or start meanwhile, belong to them.
    pub pids: Vec<u32>,
    /// The numbers of the server's processors; none: all of the machine's.
    pub processors: Vec<usize>,
    /// Where the tool itself runs: best where the server does not. None: anywhere.
    pub own_processors: Vec<usize>,
    /// Where it may write; there has to be room for 100 bytes for each sample, of which a processor
    /// gives 2,000 in a second. What it writes is gone when the profile is there.
    pub directory: PathBuf,
}

/// A tool that looks. It ends with this, and with the thread that started it.
#[derive(Debug)]
pub struct Profiler {
    tool: Tool,
}

#[derive(Debug)]
enum Tool {
    Calls(calls::Tracer),
    Shares(shares::Recorder),
    Costs(BTreeMap<String, f64>),
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// For how long it was looked.
    pub window_us: u64,
    /// Why it does not count, a line each; none: it does.
    pub faults: Vec<String>,
    /// What there was.
    pub seen: Seen,
}

/// By kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// Of [`Kind::Calls`].
    Calls(Calls),
    /// Of [`Kind::Shares`].
    Shares(Shares),
    /// Of [`Kind::Costs`], by name.
    Costs(BTreeMap<String, f64>),
}

impl Profiler {
    /// Begins to look; it does when this returns, which takes about half a second.
    ///
    /// # Errors
    /// The tool is not installed, this kernel lacks what it needs, or only root may.
    pub fn start(kind: Kind, target: &Target) -> Result<Self, Failure> {
        let tool = match kind {
            Kind::Calls => Tool::Calls(calls::Tracer::start(target)?),
            Kind::Shares => Tool::Shares(shares::Recorder::start(target)?),
            Kind::Costs => Tool::Costs(costs::measured(target)?),
        };
        Ok(Self { tool })
    }

    /// Looks no more. `pids` are the server's processes as they are now.
    ///
    /// # Errors
    /// The tool ended in between, says what nobody understands, or the disk is full.
    pub fn finish(self, pids: &[u32]) -> Result<Profile, Failure> {
        match self.tool {
            Tool::Calls(tracer) => tracer.finish(),
            Tool::Shares(recorder) => recorder.finish(pids),
            Tool::Costs(costs) => {
                Ok(Profile { window_us: 0, faults: Vec::new(), seen: Seen::Costs(costs) })
            }
        }
    }
}

impl Profile {
    /// Whether it counts.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}
