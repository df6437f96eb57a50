//! The machines of an experiment: a server's and a client's, made of this one.
//!
//! They are network namespaces with a wire between them, processors of their own, and control
//! groups for what the server may use. All of it has names that tell whose it is; whatever a lab
//! leaves behind that is killed, the next one removes, and nothing else. One thing stays: that
//! groups right below the root of version 2 may limit a resource. Others may rely on it by then,
//! and by itself it limits nobody.

pub mod by_hand;
mod delay;
mod disk;
mod groups;
mod lacks;
mod name;
mod network;
mod packets;
mod pages;
mod processors;
mod removal;
mod syns;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use measure::Duration;
use os::placement::Placement;
use serde::{Deserialize, Serialize};

use crate::Failure;
pub use delay::Carried;
use delay::Carrier;
use disk::SlowDisk;
pub use disk::{Arm, Disk, Reads};
use groups::{Quota, Roots};
pub use lacks::{Lack, Need, lacks};
use name::Name;
use network::Network;
pub use pages::{READ, Share, drop_pages, share};
use processors::Split;
use removal::Belongings;
use syns::Source;
pub use syns::{SYNS_PER_S_MAX, Sending, Sent, Syns};
use wire::Wire;
pub use wire::{MBIT_MAX, MTU_BYTES_MAX, MTU_BYTES_MIN};

/// How the two machines are to be; what is not said is not limited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// Whether both are this machine as it is, joined by its loopback: needs no root. The server's
    /// network work is then done on the client's account.
    pub is_loopback: bool,
    /// Of the server's processors, how much its processes may use, in percent of one: a client
    /// then can ask for more than it can answer. What the kernel does for the network
    /// (softirq) is not covered.
    pub quota_percent: Option<u32>,
    /// How much memory the server may use, its share of the page cache included.
    pub memory_bytes: Option<u64>,
    /// The disk that holds its files; none: the machine's own, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// How long a packet is under way, there and back again together.
    pub round_trip_ms: Option<u32>,
    /// How much the wire carries in each direction, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_mbit: Option<u32>,
    /// How long a packet is at most, in bytes from the head of IP on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_mtu_bytes: Option<u32>,
    /// What comes to the server beside its clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syns: Option<Syns>,
}

/// Both machines; they are gone when this is dropped, and whatever still runs there.
#[derive(Debug)]
pub struct Testbed {
    /// Where the server runs.
    pub server: Host,
    /// Where its clients do.
    pub client: Host,
    /// All addresses of the client, its own first: each has as many ports as there are.
    pub client_addresses: Vec<IpAddr>,
    /// What a reader has to know: what was set, and what this kernel lacks.
    pub facts: BTreeMap<String, String>,
    layout: Layout,
    /// Is unmounted before the process that serves it ends with its host.
    disk: Option<SlowDisk>,
    name: Name,
    /// Ends before what it carries packets between.
    carrier: Option<Carrier>,
    source: Option<Source>,
    made: Made,
}

/// Who carries the packets of a layout with a delay.
#[derive(Clone, Copy)]
enum Carrying<'c> {
    /// A thread of this process, as long as there is the testbed.
    ByThread,
    /// Whoever is started for this testbed, with this round trip in milliseconds.
    ByProcess(&'c dyn Fn(&Name, u32) -> Result<(), Failure>),
}

/// One of the machines.
#[derive(Debug)]
pub struct Host {
    /// Where the other one finds it.
    pub address: IpAddr,
    /// What a process has to join to run there.
    pub placement: Placement,
}

impl Host {
    /// Does something in its network namespace, if it has one.
    ///
    /// # Errors
    /// As `work`, and [`os::namespace::within`].
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match &self.placement.namespace {
            None => work(),
            Some(namespace) => os::namespace::within(namespace, work),
        }
    }
}

/// What has been made so far.
#[derive(Debug, Default)]
struct Made(Belongings);

impl Drop for Made {
    fn drop(&mut self) {
        // What stays is found by the next lab, which says so.
        let _ = self.0.remove();
    }
}

impl Testbed {
    /// Makes the machines, and removes what labs have left behind that were killed.
    ///
    /// Whoever may be stopped by a signal has taken it before ([`os::Signals::take`]), so that this
    /// is dropped.
    ///
    /// # Errors
    /// No right to, or the kernel lacks what the layout needs: a line each. Nothing is left behind.
    pub fn up(layout: &Layout) -> Result<Self, Failure> {
        Self::make(layout, Carrying::ByThread)
    }

    fn make(layout: &Layout, carrying: Carrying<'_>) -> Result<Self, Failure> {
        check(layout)?;
        let roots = Roots::here();
        if is_root() {
            // What stays has its maker's name, and is in nobody's way.
            removal::sweep(&roots, by_hand::is_kept);
        }
        let own = |error| Failure::machine("this process", error);
        let name = Name::new().map_err(own)?;
        let split = Split::here().map_err(own)?;
        let mut made = Made::default();
        roots.make(&name, layout, &mut made.0.groups)?;
        let mut testbed = if layout.is_loopback {
            Self::of_loopback(name, &split, made)
        } else {
            Self::of_namespaces(name, &split, made, layout, carrying)?
        };
        testbed.add_source(layout, &split)?;
        testbed.layout = layout.clone();
        testbed.server.placement.groups.clone_from(&testbed.made.0.groups);
        testbed.facts.extend(split.facts());
        testbed.facts.extend(limits(layout));
        Ok(testbed)
    }

    /// What has been carried between the hosts, and what that cost, where the layout has a delay.
    #[must_use]
    pub fn carried(&self) -> Option<Carried> {
        self.carrier.as_ref().map(Carrier::carried)
    }

    /// Sends the layout's SYNs to a port of the server's until what this gives is dropped, and for
    /// so long at most. Of a layout without any it does nothing.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn send_syns(&self, port: u16, lasts: Duration) -> Result<Option<Sending>, Failure> {
        let sending = self.source.as_ref().map(|source| source.send(port, lasts));
        sending.transpose().map_err(|error| Failure::machine("a source of SYNs", error))
    }

    /// What has been sent of them.
    #[must_use]
    pub fn syns_sent(&self) -> Option<Sent> {
        self.source.as_ref().map(Source::sent)
    }

    fn add_source(&mut self, layout: &Layout, split: &Split) -> Result<(), Failure> {
        let placement = &self.server.placement;
        if let (Some(syns), IpAddr::V4(address), Some(namespace)) =
            (layout.syns, self.server.address, &placement.namespace)
        {
            let server = (address, namespace.as_path());
            self.source = Some(Source::new(syns, server, &split.server, &split.client)?);
            let whose = if syns.are_forged { "from nobody" } else { "with their handshakes ended" };
            let fact = format!(
                "to be {}/s, {whose}, by a TUN device of the server's host and a thread on the \
                 client's processors",
                syns.per_s
            );
            self.facts.insert(String::from("SYNs beside the load"), fact);
        }
        Ok(())
    }

    /// Has the client run before all other tasks: its place in the queue of a processor is no part
    /// of what is measured. Where the kernel refuses, it waits like them, which is told as a fact.
    pub fn prefer_client(&mut self) {
        let allowed = os::placement::may_be_urgent();
        self.client.placement.is_urgent = allowed.is_ok();
        let fact = match allowed {
            Ok(()) => String::from("before all other tasks (SCHED_FIFO)"),
            Err(error) => format!(
                "that of all tasks, as SCHED_FIFO is refused ({error}; CAP_SYS_NICE): it is late \
                 when others want its processor"
            ),
        };
        self.facts.insert(String::from("client's priority"), fact);
    }

    /// Has the server use no more of the processors than the layout allows, as it does from the
    /// begin; or as much as it wants to, while it starts: a share of a processor would make its
    /// pool of processes for seconds.
    ///
    /// # Errors
    /// The group is gone, or the kernel refuses.
    pub fn limit_processors(&self, is_limited: bool) -> Result<(), Failure> {
        groups::limit_processors(&Roots::here(), &self.name, &self.layout, is_limited)
    }

    /// Has these files on a disk of their own, as slow as the layout says from when
    /// [`make_slow`](Testbed::make_slow) says so, and tells where they are there. `program` is
    /// this one, which serves it. Where the layout has no such disk they are where they are.
    ///
    /// # Errors
    /// There is no FUSE, no loop device, or no program that makes or mounts what is on it.
    pub fn slow_disk(&mut self, site: &Path, program: &Path) -> Result<PathBuf, Failure> {
        let Some(disk) = self.layout.disk else { return Ok(site.into()) };
        let image = disk::image(site)?;
        // It goes with the testbed, also if mounting is broken off.
        self.made.0.disks.push(disk::directory(&self.name));
        let of = (&self.name, &*image, disk);
        let mounted = SlowDisk::mount(of, program, &self.client.placement)?;
        let site = mounted.site().into();
        self.disk = Some(mounted);
        Ok(site)
    }

    /// Has that disk be slow, or not, as long as memory fills or a server starts. What came of the
    /// reads since this was last said; none: there is no such disk.
    ///
    /// # Errors
    /// Who serves the disk has ended.
    pub fn make_slow(&self, is_slow: bool) -> Result<Option<Reads>, Failure> {
        self.disk.as_ref().map(|disk| disk.make_slow(is_slow)).transpose()
    }

    /// Ends what runs there and removes both machines, as dropping it does, and tells how that
    /// went.
    ///
    /// # Errors
    /// Something stays: a line each.
    pub fn down(mut self) -> Result<(), Failure> {
        self.disk = None;
        self.carrier = None;
        self.source = None;
        let made = std::mem::take(&mut self.made.0);
        made.remove().map_err(|complaints| Failure::Machine(complaints.join("\n")))
    }

    fn of_loopback(name: Name, split: &Split, made: Made) -> Self {
        let host = |processors: &[usize]| Host {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            placement: Placement { processors: processors.to_vec(), ..Placement::default() },
        };
        let hosts = "this machine as it is, over its loopback: what receiving costs the server is \
            done on the client's account";
        let mut facts = network::facts_of_machine();
        facts.insert(String::from(HOSTS), hosts.into());
        Self {
            server: host(&split.server),
            client: host(&split.client),
            client_addresses: (1..=LOOPBACK_ADDRESSES)
                .map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)))
                .collect(),
            facts,
            layout: Layout::default(),
            disk: None,
            name,
            carrier: None,
            source: None,
            made,
        }
    }

    fn of_namespaces(
        name: Name,
        split: &Split,
        mut made: Made,
        layout: &Layout,
        carrying: Carrying<'_>,
    ) -> Result<Self, Failure> {
        let round_trip_ms = layout.round_trip_ms;
        let wire = Wire::of(layout);
        let mut network = Network::new(&name, wire);
        made.0.namespaces = vec![network.server().into(), network.client().into()];
        let mut facts = network.make(split)?;
        let carrier = match (round_trip_ms, carrying) {
            (None, _) => None,
            (Some(ms), Carrying::ByThread) => {
                let round_trip = Duration::from_millis(ms.into());
                let (server, client) = (network.server(), network.client());
                let carrier = Carrier::start(server, client, &split.client, round_trip);
                Some(carrier.map_err(|error| Failure::machine("a delay by TUN", error))?)
            }
            (Some(ms), Carrying::ByProcess(begin)) => begin(&name, ms).map(|()| None)?,
        };
        network.await_wire()?;
        facts.extend(wire.fact().map(|fact| (String::from(WIRE), fact)));
        facts.insert(
            String::from(HOSTS),
            match round_trip_ms {
                None => "network namespaces, joined by veth".into(),
                Some(ms) => format!(
                    "network namespaces, joined by TUN devices with a round trip of {ms} ms, by a \
                 program on the client's processors"
                ),
            },
        );
        let host = |address: Ipv4Addr, namespace: &Path, processors: &[usize]| Host {
            address: IpAddr::V4(address),
            placement: Placement {
                namespace: Some(namespace.into()),
                processors: processors.to_vec(),
                ..Placement::default()
            },
        };
        let addresses = network.client_addresses();
        Ok(Self {
            server: host(network.server_address(), network.server(), &split.server),
            client: host(addresses[0], network.client(), &split.client),
            client_addresses: addresses.into_iter().map(IpAddr::V4).collect(),
            facts,
            layout: Layout::default(),
            disk: None,
            name,
            carrier,
            source: None,
            made,
        })
    }
}

/// All of 127.0.0.0/8 is there; so many do.
const LOOPBACK_ADDRESSES: u8 = 16;

/// Names of facts.
const HOSTS: &str = "hosts";
const WIRE: &str = "wire";
const DISK: &str = "server's disk";

/// What can be said before anything is made.
///
/// # Errors
/// As [`Testbed::up`].
pub fn check(layout: &Layout) -> Result<(), Failure> {
    judge(layout, is_root())
}

fn judge(layout: &Layout, is_root: bool) -> Result<(), Failure> {
    let wrong = |what: &str| Err(Failure::Operator(String::from(what)));
    if layout.is_loopback && layout.round_trip_ms.is_some() {
        return wrong("the loopback has no delay: a round trip needs hosts in namespaces");
    }
    if layout.is_loopback && (layout.wire_mbit.is_some() || layout.wire_mtu_bytes.is_some()) {
        return wrong("the loopback is no wire: a rate or an MTU needs hosts in namespaces");
    }
    if layout.wire_mbit.is_some_and(|mbit| !(1..=MBIT_MAX).contains(&mbit)) {
        return wrong("a wire has from 1 to 10,000 Mbit/s; leave it out for one without a limit");
    }
    let is_mtu = |bytes| (MTU_BYTES_MIN..=MTU_BYTES_MAX).contains(&bytes);
    if layout.wire_mtu_bytes.is_some_and(|bytes| !is_mtu(bytes)) {
        return wrong("a packet has from 576 to 65,000 bytes at most (MTU)");
    }
    if layout.is_loopback && layout.syns.is_some() {
        return wrong("SYNs from nobody need hosts of their own, and no loopback");
    }
    if layout.syns.is_some_and(|syns| syns.per_s > SYNS_PER_S_MAX) {
        return wrong("too many SYNs: 200,000/s at most");
    }
    if layout.quota_percent == Some(0) || layout.memory_bytes == Some(0) {
        return wrong("a server that may use nothing does nothing: a limit has to be at least 1");
    }
    if is_root {
        return Ok(());
    }
    let mut lines = Vec::new();
    if !layout.is_loopback {
        lines.push(
            "two hosts need root, as they are network namespaces; start it as root, or with \
             --loopback, which limits and shows less",
        );
    }
    if layout.is_loopback && layout.quota_percent.is_some() {
        lines.push("--quota needs root, as it is a control group; leave it out, or start as root");
    }
    if layout.memory_bytes.is_some() || layout.disk.is_some() {
        lines.push("a server with little memory or a slow disk needs root; start it as root");
    }
    if lines.is_empty() { Ok(()) } else { Err(Failure::Machine(lines.join("\n"))) }
}

fn is_root() -> bool {
    os::users::effective().0 == 0
}

/// What the server may use, for the reader of a page.
fn limits(layout: &Layout) -> BTreeMap<String, String> {
    let quota = layout.quota_percent.map(|percent| {
        let Quota { quota_us, period_us } = Quota::of(percent);
        format!(
            "{percent} % of one: {quota_us} µs in every {period_us} µs; what the kernel does for \
             the network (softirq) is not covered"
        )
    });
    let memory = layout.memory_bytes.map(|bytes| {
        format!(
            "{bytes} bytes, with no swap where the kernel limits that; of the page cache, what it \
             was the first to read counts"
        )
    });
    let disk = layout.disk.map(|disk| format!("an image whose reads are answered late ({disk})"));
    let facts = [("server's quota", quota), ("server's memory", memory), (DISK, disk)];
    let unlimited = || String::from("not limited");
    facts.map(|(name, fact)| (name.into(), fact.unwrap_or_else(unlimited))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is called as before is known as before.
    #[test]
    fn a_layout_without_syns_is_written_as_ever() {
        let text = serde_json::to_string(&Layout::default()).unwrap();
        assert!(!text.contains("syns"), "{text}");
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), Layout::default());
        let syns = Some(Syns { per_s: 7, are_forged: true });
        let layout = Layout { syns, ..Layout::default() };
        let text = serde_json::to_string(&layout).unwrap();
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), layout);
    }

    #[test]
    fn what_needs_root_is_said_in_a_line_each() {
        let loopback = Layout { is_loopback: true, ..Layout::default() };
        let limited = Layout { memory_bytes: Some(1), ..Layout::default() };
        let hosts = "two hosts need root";
        let (quota, limits) = ("--quota needs root", "a server with little memory or a slow disk");
        let rows: [(&Layout, &[&str]); 4] = [
            (&loopback, &[]),
            (&Layout { quota_percent: Some(1), ..loopback.clone() }, &[quota]),
            (&Layout { quota_percent: Some(1), ..Layout::default() }, &[hosts]),
            (&limited, &[hosts, limits]),
        ];
        for (layout, expected) in rows {
            judge(layout, true).unwrap();
            let refused = judge(layout, false).err().map(|failure| failure.to_string());
            let refused = refused.unwrap_or_default();
            let lines: Vec<&str> = refused.lines().collect();
            assert_eq!(lines.len(), expected.len(), "{layout:?}: {lines:?}");
            for (line, expected) in lines.iter().zip(expected) {
                assert!(line.starts_with(expected), "{line}");
            }
        }
    }
}
