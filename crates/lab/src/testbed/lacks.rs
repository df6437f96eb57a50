//! What this machine cannot do for a testbed: tried, where trying leaves nothing behind.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use os::namespace::within_new;
use os::tun::{self, Tun};

use super::groups::{Resource, Root, Roots};
use super::network::{CONGESTION_CONTROL, NO_IP, ip, tc};
use super::pages::is_untold;
use super::{disk, is_root};
use crate::Failure;

/// Something that is missing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub what: Need,
    /// Why, and what cannot be done without it.
    pub line: String,
}

/// What testbeds are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To be root: for all but the loopback layout.
    Root,
    /// ip(8): for two hosts.
    Ip,
    /// Network namespaces: for two hosts.
    Namespaces,
    /// Pairs of devices: for two hosts without a delay.
    Veth,
    /// Packets handed to the processors of their receiver: for a server that pays for what it
    /// receives.
    Rps,
    /// Devices whose packets a program carries: for a delay.
    Tun,
    /// Rates of devices (TBF, and tc(8)): for a wire with a rate.
    Rate,
    /// The congestion control that all figures are measured with.
    CongestionControl,
    /// Control groups for processors.
    Quota,
    /// Control groups for memory.
    Memory,
    /// FUSE, loop devices and their programs: for a disk that makes one wait.
    Disk,
    /// Tasks that run before all others: for a client that is never late.
    Priority,
    /// How much of a file is in memory (cachestat(2)).
    PageCounts,
}

/// All of it. Without root, what only root can find out is not told.
#[must_use]
pub fn lacks() -> Vec<Lack> {
    let mut lacks = Lacks(Vec::new());
    if !is_root() {
        lacks.add(
            Need::Root,
            "no root: no hosts in namespaces, no limits of the server, no delay; the loopback \
             layout works",
        );
    }
    let version = Command::new("ip").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has_ip = match version {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            lacks.add(Need::Ip, NO_IP);
            false
        }
        _ => true,
    };
    if is_root() {
        devices(&mut lacks, has_ip);
    }
    if !Path::new("/sys/class/net/lo/queues/rx-0/rps_cpus").exists() {
        lacks.add(
            Need::Rps,
            "no RPS (CONFIG_RPS): what receiving costs the server is done on its client's account",
        );
    }
    let controls = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let controls = controls.unwrap_or_default();
    if !controls.split_ascii_whitespace().any(|name| name == CONGESTION_CONTROL) {
        lacks.add(
            Need::CongestionControl,
            format!("no {CONGESTION_CONTROL}: figures are not those of other machines"),
        );
    }
    groups(&mut lacks, &Roots::here());
    if let Some(line) = disk::lack() {
        lacks.add(Need::Disk, line);
    }
    if is_root()
        && let Err(error) = os::placement::may_be_urgent()
    {
        lacks.add(
            Need::Priority,
            format!("no SCHED_FIFO ({error}): the client is late when others want its processor"),
        );
    }
    let counted = File::open("/proc/self/exe").and_then(|file| os::page_cache::cached_bytes(&file));
    if counted.is_err_and(|error| is_untold(&error)) {
        lacks.add(
            Need::PageCounts,
            "no cachestat (Linux 6.5), or a sandbox is in its way: which part of a site is in \
             memory cannot be checked",
        );
    }
    lacks.0
}

/// What needs root.
fn devices(lacks: &mut Lacks, has_ip: bool) {
    if let Err(error) = within_new(|| Ok(())) {
        return lacks.add(
            Need::Namespaces,
            format!("no network namespaces ({error}): only the loopback layout works"),
        );
    }
    let pair = "link add name one type veth peer name two\n";
    let veth = has_ip.then(|| within_new(|| Ok(ip(pair))));
    if let Some(Ok(Err(error))) = veth {
        lacks.add(
            Need::Veth,
            format!("no veth ({}): no two hosts without a delay", one_line(&error)),
        );
    }
    let rate = "qdisc add dev lo root tbf rate 1mbit burst 2000 limit 2000\n";
    if let Ok(Err(error)) = within_new(|| Ok(tc(rate))) {
        let error = one_line(&error);
        lacks.add(Need::Rate, format!("no TBF ({error}): no wire with a rate of its own"));
    }
    if let Err(error) = within_new(|| Tun::attach("one")) {
        let place = tun::PLACE;
        lacks.add(Need::Tun, format!("no TUN ({place}: {error}): no delay between the hosts"));
    }
}

fn groups(lacks: &mut Lacks, roots: &Roots) {
    for resource in Resource::ALL {
        let need = match resource {
            Resource::Processors => Need::Quota,
            Resource::Memory => Need::Memory,
        };
        let (one, two) = resource.controllers();
        let limit = resource.limit();
        let line = match roots.of_resource(resource) {
            None => format!(
                "no control groups for it (controller {one} of version 1 or {two} of version 2): \
                 no {limit}"
            ),
            Some(Root::One(path)) if !path.join(resource.file_of_one()).exists() => {
                format!("no {} in {}: no {limit}", resource.file_of_one(), path.display())
            }
            Some(_) => continue,
        };
        lacks.add(need, line);
    }
}

struct Lacks(Vec<Lack>);

impl Lacks {
    fn add(&mut self, what: Need, line: impl Into<String>) {
        self.0.push(Lack { what, line: line.into() });
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

fn one_line(failure: &Failure) -> String {
    failure.to_string().replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_control_groups_is_told_what_it_cannot_limit() {
        let mut lacks = Lacks(Vec::new());
        groups(&mut lacks, &Roots::default());
        let told: Vec<(Need, String)> = lacks.0.into_iter().map(|of| (of.what, of.line)).collect();
        let line = |one: &str, two: &str, limit: &str| {
            format!(
                "no control groups for it (controller {one} of version 1 or {two} of version 2): \
                 no {limit}"
            )
        };
        let expected = [
            (Need::Quota, line("cpu", "cpu", "quota of the server's processors")),
            (Need::Memory, line("memory", "memory", Resource::Memory.limit())),
        ];
        assert_eq!(told, expected);
    }
}
