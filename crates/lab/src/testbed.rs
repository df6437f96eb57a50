//! The machines of an experiment: a server's and a client's, made of this one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use os::placement::Placement;
use serde::{Deserialize, Serialize};

use crate::Failure;

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
    /// How much it may read from the disk in a second.
    pub disk_bytes_per_s: Option<u64>,
    /// How long a packet is under way, there and back again together.
    pub round_trip_ms: Option<u32>,
}

/// Both machines; they are gone when this is dropped.
#[derive(Debug)]
pub struct Testbed {
    /// Where the server runs.
    pub server: Host,
    /// Where its clients do.
    pub client: Host,
    /// What a reader has to know: what was set, and what this kernel lacks.
    pub facts: BTreeMap<String, String>,
}

/// One of the machines.
#[derive(Debug)]
pub struct Host {
    /// Where the other one finds it.
    pub address: IpAddr,
    /// What a process has to join to run there.
    pub placement: Placement,
}

impl Testbed {
    /// Makes the machines.
    ///
    /// # Errors
    /// No right to, or the kernel lacks what the layout needs: a line each.
    pub fn up(layout: &Layout) -> Result<Self, Failure> {
        if !layout.is_loopback {
            return Err(Failure::Machine(String::from("namespaces are not there yet")));
        }
        let host =
            || Host { address: IpAddr::V4(Ipv4Addr::LOCALHOST), placement: Placement::default() };
        Ok(Self { server: host(), client: host(), facts: BTreeMap::new() })
    }
}
