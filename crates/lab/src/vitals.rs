//! What a load costs the machine: read before it and after it, and subtracted. The same for every
//! server, because all of it is the kernel's.
//!
//! `Reading::take`, the load, `Reading::finish`. Taking one costs a few milliseconds on a machine
//! with a hundred processes, and it is best taken while those of interest live: of a process that
//! has ended nothing can be read any more.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;

mod columns;
mod everybody;
mod limits;
mod losses;
mod memory;
mod pressure;
mod processes;
mod processors;
mod queues;
pub mod quiet;
mod quota;

pub(crate) use columns::line;
use everybody::{Owner, Used};
pub(crate) use limits::{FOREIGN, STEAL};
pub use limits::{FOREIGN_SHARE_MAX, Limits, STEAL_SHARE_MAX};
pub use losses::Losses;
pub use memory::Memory;
pub use pressure::{Pressure, Stalls};
pub use processes::Processes;
pub(crate) use processes::count_waits;
pub use processors::Processors;
pub use queues::{Classes, Queues};
pub use quota::Quota;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watch {
    /// The server's machine.
    pub server: Side,
    /// Its clients' machine.
    pub client: Side,
}

/// One of the two machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Side {
    /// Its processes. What they start belongs to them, unless it is named on the other side: so the
    /// lab's own process is the clients', though it has started the server.
    pub pids: Vec<u32>,
    /// The numbers of its processors; none: all of the machine's.
    pub processors: Vec<usize>,
    /// The file of its network namespace, as in /run/netns; `None`: the lab's own.
    pub namespace: Option<PathBuf>,
    /// The directories of its control groups, of either version.
    pub groups: Vec<PathBuf>,
}

/// How things stand.
#[derive(Debug)]
pub struct Reading {
    at: measure::Instant,
    stat: processors::Stat,
    everybody: everybody::Everybody,
    in_groups: Option<Used>,
    switches: [processes::Switches; 2],
    queues: queues::Counters,
    losses: [Losses; 2],
    pressure: Option<pressure::Totals>,
    group_pressure: Option<pressure::Totals>,
    page_cache_bytes: u64,
    quota: Option<Quota>,
}

/// What happened between two readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vitals {
    /// Between them.
    pub elapsed_us: u64,
    /// The server's machine. With the clients on processors of their own and RPS on, the network's
    /// work for the server is on these too (softirq).
    pub server: Machine,
    /// The clients'. What the lab itself uses is here.
    pub client: Machine,
    /// Who else was there.
    pub others: Others,
    /// Of the whole machine: the kernel changed from one thread to another (Pariag07 table 1,
    /// `ctx-sw/sec`).
    pub context_switches: u64,
    /// Connections that were dropped.
    pub queues: Queues,
    /// How long somebody waited for processors, memory or disks, on the whole machine; `None`: this
    /// kernel does not tell (PSI).
    pub pressure: Option<Pressure>,
    /// The same of the server's control groups alone, where they are of version 2.
    pub group_pressure: Option<Pressure>,
    /// The page cache.
    pub memory: Memory,
    /// What the server's quota has kept it from; `None`: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Where its processors' time went.
    pub processors: Processors,
    /// What its processes used.
    pub processes: Processes,
    /// What it received in vain; `None`: both sides are one machine to the kernel.
    #[serde(default)]
    pub losses: Option<Losses>,
}

/// Who used processors of the two sides without belonging to either.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Other programs.
    pub foreign_us: u64,
    /// The same, as a share of the time of all processors that were watched; 0 to 1.
    pub foreign_share: f64,
    /// The kernel's own threads, `ksoftirqd` and `kworker` among them: mostly work for the load.
    pub kernel_threads_us: u64,
    /// What the hypervisor gave to somebody else, as a share of the same time.
    pub steal_share: f64,
}

impl Reading {
    /// How things stand now.
    ///
    /// # Errors
    /// There is no /proc, or it is not as proc(5) says, or a namespace may not be entered.
    pub fn take(watch: &Watch) -> Result<Self, Failure> {
        let stat = processors::Stat::read()?;
        let at = os::clock::monotonic();
        let in_groups = Used::of_groups(&watch.server.groups);
        let everybody = everybody::Everybody::read(&watch.server.groups)?;
        let switches = [Owner::Server, Owner::Client]
            .map(|owner| processes::Switches::read(&everybody.members(watch, owner)));
        Ok(Self {
            at,
            stat,
            everybody,
            in_groups,
            switches,
            queues: queues::Counters::read(watch)?,
            losses: [Losses::read(&watch.server)?, Losses::read(&watch.client)?],
            pressure: pressure::Totals::read(Path::new("/proc/pressure"), ""),
            group_pressure: pressure::Totals::of_groups(&watch.server.groups),
            page_cache_bytes: memory::page_cache_bytes()?,
            quota: Quota::read(&watch.server.groups),
        })
    }

    /// What happened since; `watch` names the processes that are there now.
    ///
    /// # Errors
    /// As [`Reading::take`].
    pub fn finish(self, watch: &Watch) -> Result<Vitals, Failure> {
        let now = Self::take(watch)?;
        let elapsed_us = now.at.since(self.at).as_micros() as u64;
        let processors = |numbers: &[usize]| {
            processors::Processors::between(&self.stat, &now.stat, numbers, elapsed_us)
        };
        let both = processors(&processors::union(&watch.server, &watch.client));
        let mut usage = now.everybody.since(&self.everybody, watch);
        if let Some((now, before)) = now.in_groups.zip(self.in_groups) {
            usage.server = now.since(before);
        }
        let are_two = watch.server.namespace != watch.client.namespace;
        let machine = |side: &Side, owner: Owner, used| Machine {
            processors: processors(&side.processors),
            processes: Processes::new(
                &now.everybody.members(watch, owner),
                used,
                now.switches[owner as usize].since(&self.switches[owner as usize], elapsed_us),
            ),
            losses: are_two.then(|| now.losses[owner as usize].since(&self.losses[owner as usize])),
        };
        Ok(Vitals {
            elapsed_us,
            others: usage.others(&both),
            server: machine(&watch.server, Owner::Server, usage.server),
            client: machine(&watch.client, Owner::Client, usage.client),
            context_switches: now.stat.context_switches - self.stat.context_switches,
            queues: now.queues.since(&self.queues, elapsed_us),
            pressure: pressure::between(self.pressure, now.pressure),
            group_pressure: pressure::between(self.group_pressure, now.group_pressure),
            memory: Memory::new(self.page_cache_bytes, now.page_cache_bytes, &watch.server.groups),
            quota: Quota::between(self.quota, now.quota),
        })
    }
}

impl Vitals {
    /// Why figures taken between these readings do not count: a line each; none: they do.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let of_client = self.client.losses.and_then(|losses| losses.complaint());
        self.others.complaints(&Limits::default()).into_iter().chain(of_client).collect()
    }
}

/// Connections that are open now on a side's machine; on a loopback those of both sides.
pub(crate) fn open_connections(side: &Side) -> Result<u64, Failure> {
    queues::open(side)
}

/// These processes and all that descend from them, as they are now.
pub(crate) fn family(pids: &[u32]) -> Result<Vec<u32>, Failure> {
    let server = Side { pids: pids.to_vec(), ..Side::default() };
    let watch = Watch { server, client: Side::default() };
    Ok(everybody::Everybody::read(&[])?.members(&watch, Owner::Server))
}

/// Of the whole machine: switches from one thread to another since it started, and the size of its
/// page cache now, in bytes.
pub(crate) fn switches_and_cache() -> Result<(u64, u64), Failure> {
    Ok((processors::Stat::read()?.context_switches, memory::page_cache_bytes()?))
}
