//! Two network namespaces and the wire between them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use measure::Duration;
use os::namespace::{Devices, within};

use super::name::Name;
use super::processors::{Split, mask};
use super::wire::{DEVICE, Joint, Wire};
use crate::Failure;
use crate::program::path_of;

/// Where ip-netns(8) keeps their names.
pub(super) const NAMES: &str = "/run/netns";

/// Addresses of the client: each has some 64,000 ports, and whoever ends a connection first keeps
/// its port for a minute, so that these are good for 17,000 connections in a second.
const CLIENT_ADDRESSES: u8 = 16;

/// Both hosts.
#[derive(Debug)]
pub(super) struct Network {
    /// 10.x.0.0/24.
    x: u8,
    wire: Wire,
    server: PathBuf,
    client: PathBuf,
    /// Devices of both, once they are there.
    ends: Vec<Devices>,
}

/// One side as it has been made.
struct Side {
    facts: BTreeMap<String, String>,
    devices: Devices,
}

impl Network {
    /// Nothing is there yet.
    pub(super) fn new(name: &Name, wire: Wire) -> Self {
        let side = |side: &str| Path::new(NAMES).join(format!("{name}-{side}"));
        let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
        Self {
            x: free(&routes),
            wire,
            server: side("server"),
            client: side("client"),
            ends: Vec::new(),
        }
    }

    pub(super) fn server(&self) -> &Path {
        &self.server
    }

    pub(super) fn client(&self) -> &Path {
        &self.client
    }

    pub(super) fn server_address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.x, 0, 1)
    }

    pub(super) fn client_addresses(&self) -> Vec<Ipv4Addr> {
        (2..2 + CLIENT_ADDRESSES).map(|last| Ipv4Addr::new(10, self.x, 0, last)).collect()
    }

    /// Makes both, and the wire. What has been made when this fails has the names above.
    pub(super) fn make(&mut self, split: &Split) -> Result<BTreeMap<String, String>, Failure> {
        let name = |namespace: &Path| {
            namespace.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        let (server, client) = (name(&self.server), name(&self.client));
        let mut lines = format!("netns add {server}\nnetns add {client}\n");
        if self.wire.joint == Joint::Veth {
            lines += &format!(
                "link add name {DEVICE} netns {server} type veth \
                 peer name {DEVICE} netns {client}\n"
            );
        }
        ip(&lines)?;
        let sides = [
            (&self.server, vec![self.server_address()], &split.server),
            (&self.client, self.client_addresses(), &split.client),
        ];
        let wire = self.wire;
        let settled = thread::scope(|scope| {
            let started = sides.map(|(namespace, addresses, processors)| {
                scope.spawn(move || {
                    let settle = || Ok(settle(wire, &addresses, processors));
                    let place = namespace.display();
                    within(namespace, settle).map_err(|e| Failure::machine(place, e))?
                })
            });
            let join = |side: thread::ScopedJoinHandle<'_, _>| {
                side.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            started.map(join)
        });
        let [server, client] = settled;
        let (server, client) = (server?, client?);
        self.ends = vec![server.devices, client.devices];
        Ok(facts(server.facts, client.facts))
    }

    /// Waits until packets go both ways: the kernel does its part of that in its own time, and
    /// drops what is sent before.
    pub(super) fn await_wire(&self) -> Result<(), Failure> {
        for device in self.ends.iter().map(|devices| devices.device(DEVICE)) {
            let is_up = || {
                // Whoever asks for this has the kernel do it now (Linux 6.8).
                let _ = fs::read_to_string(device.join("carrier"));
                fs::read_to_string(device.join("operstate")).is_ok_and(|state| state == UP)
            };
            let mut tries = (0..UP_TRIES_MAX).inspect(|_| thread::sleep(UP_WAIT));
            if !is_up() && !tries.any(|_| is_up()) {
                return Err(Failure::Machine(String::from(
                    "the wire between the hosts stays down",
                )));
            }
        }
        Ok(())
    }
}

/// How often a device is looked at that is about to be up, and how long is waited in between: 5 s.
const UP_TRIES_MAX: u32 = 5_000;
const UP_WAIT: Duration = Duration::from_millis(1);

/// What its file says.
const UP: &str = "up\n";

/// Each setting of a namespace, and what it is set to; empty: only told.
const SETTINGS: [(&str, &str); 11] = [
    // As the kernel has it: servers that ask for the greatest queue get what they would elsewhere.
    ("net/core/somaxconn", "4096"),
    ("net/ipv4/tcp_max_syn_backlog", "4096"),
    ("net/ipv4/ip_local_port_range", "1024 65535"),
    // A client's port is free again a second after its connection has ended, not after a minute.
    ("net/ipv4/tcp_tw_reuse", "1"),
    ("net/ipv4/tcp_syncookies", ""),
    ("net/ipv4/tcp_abort_on_overflow", ""),
    ("net/ipv4/tcp_max_tw_buckets", ""),
    ("net/ipv4/tcp_fin_timeout", ""),
    ("net/ipv4/tcp_rmem", ""),
    ("net/ipv4/tcp_wmem", ""),
    ("net/ipv4/tcp_slow_start_after_idle", ""),
];

/// Who is how fast is not to depend on what this machine prefers.
pub(super) const CONGESTION_CONTROL: &str = "cubic";

/// One side, by a thread that is there.
fn settle(wire: Wire, addresses: &[Ipv4Addr], processors: &[usize]) -> Result<Side, Failure> {
    let mut lines = String::from("link set lo up\n");
    lines += &wire.device();
    for address in addresses {
        lines += &format!("addr add {address}/24 dev {DEVICE}\n");
    }
    ip(&lines)?;
    wire.rate().map_or(Ok(()), |line| tc(&line))?;
    // It has no address, and would send packets to find that out.
    let _ = set(&format!("net/ipv6/conf/{DEVICE}/disable_ipv6"), "1");
    let control = congestion_control(addresses[0])?;
    let mut facts: BTreeMap<String, String> =
        SETTINGS.iter().map(|(name, value)| (name.replace('/', "."), told(name, value))).collect();
    facts.insert(String::from(CONTROL), control);
    let devices = Devices::here().map_err(|error| Failure::machine("sysfs", error))?;
    let device = devices.device(DEVICE);
    let queue = fs::read_to_string(device.join("tx_queue_len")).unwrap_or_default();
    facts.insert(String::from("txqueuelen"), queue.trim().into());
    let receive_work = match share_receive_work(&device, processors) {
        Ok(()) => format!("by RPS on processors {}", super::processors::numbers(processors)),
        Err(error) => format!("where the sender runs, on its account: RPS failed: {error}"),
    };
    facts.insert(String::from("receive work"), receive_work);
    Ok(Side { facts, devices })
}

/// Brings the device up, and has connections over it controlled in one way. A namespace may choose
/// only among what the machine lets everybody have; a route is not asked.
fn congestion_control(address: Ipv4Addr) -> Result<String, Failure> {
    let up = format!("link set {DEVICE} up\n");
    let Err(error) = set(CONTROL_SETTING, CONGESTION_CONTROL) else {
        return ip(&up).map(|()| String::from(CONGESTION_CONTROL));
    };
    let [a, b, c, _] = address.octets();
    let route = format!(
        "route change {a}.{b}.{c}.0/24 dev {DEVICE} proto kernel scope link src {address} \
         congctl {CONGESTION_CONTROL}\n"
    );
    if ip(&(up.clone() + &route)).is_ok() {
        return Ok(format!("{CONGESTION_CONTROL}, by the route between the hosts"));
    }
    ip(&up)?;
    let is = told(CONTROL_SETTING, "");
    Ok(format!("{is}, as {CONGESTION_CONTROL} is refused: {error}"))
}

fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new("/proc/sys").join(name), value)
}

/// What is set, or why not.
fn told(name: &str, value: &str) -> String {
    let done = if value.is_empty() { Ok(()) } else { set(name, value) };
    let Ok(is) = fs::read_to_string(Path::new("/proc/sys").join(name)) else {
        return String::from("not in this kernel");
    };
    let is = is.split_ascii_whitespace().collect::<Vec<&str>>().join(" ");
    match done {
        Ok(()) => is,
        Err(error) => format!("{is}, as {value} is refused: {error}"),
    }
}

/// Without RPS, what a packet costs its receiver is done by whoever sends it, on his account:
/// a server could not be driven past its capacity. There is nothing to gain by XPS, which chooses
/// among queues for sending: either end of the wire has one.
pub(super) fn share_receive_work(device: &Path, processors: &[usize]) -> io::Result<()> {
    for queue in fs::read_dir(device.join("queues"))? {
        let queue = queue?;
        if queue.file_name().to_string_lossy().starts_with("rx-") {
            fs::write(queue.path().join("rps_cpus"), mask(processors))?;
        }
    }
    Ok(())
}

/// What both have in common once, what differs for each.
fn facts(
    mut server: BTreeMap<String, String>,
    client: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    for (name, value) in client {
        if server.get(&name) != Some(&value) {
            let servers = server.remove(&name).unwrap_or_default();
            server.insert(format!("server's {name}"), servers);
            server.insert(format!("client's {name}"), value);
        }
    }
    // Of the whole machine, so not changed.
    server.insert(DEVICE_BACKLOG.replace('/', "."), told(DEVICE_BACKLOG, ""));
    server
}

/// What is set on this machine as it is.
pub(super) fn facts_of_machine() -> BTreeMap<String, String> {
    let names = SETTINGS.iter().map(|(name, _)| *name).chain([DEVICE_BACKLOG]);
    let settings = names.map(|name| (name.replace('/', "."), told(name, "")));
    settings.chain([(String::from(CONTROL), told(CONTROL_SETTING, ""))]).collect()
}

/// How many packets a processor lets wait that it has been handed.
const DEVICE_BACKLOG: &str = "net/core/netdev_max_backlog";

/// The name of a fact, and that of the setting.
const CONTROL: &str = "congestion control";
const CONTROL_SETTING: &str = "net/ipv4/tcp_congestion_control";

/// Does what the lines say, as ip(8) takes them, in the namespace of the calling thread.
pub(super) fn ip(lines: &str) -> Result<(), Failure> {
    batch("ip", lines, NO_IP)
}

/// The same of tc(8).
pub(super) fn tc(lines: &str) -> Result<(), Failure> {
    batch("tc", lines, NO_TC)
}

fn batch(program: &str, lines: &str, without: &str) -> Result<(), Failure> {
    // A program that is not installed fails to start below, which says what to install.
    let path = path_of(program).unwrap_or_else(|| program.into());
    let mut command = Command::new(path);
    // A ^C is not for it: it would leave half of its lines undone.
    command.args(["-batch", "-"]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Machine(String::from(without)),
        _ => Failure::machine(program, error),
    })?;
    // Dropped, so that it sees the end. If it does not read, its status says why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(|error| Failure::machine(program, error))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<String> = errors.lines().map(|line| format!("{program}: {line}")).collect();
    Err(Failure::Machine(errors.join("\n")))
}

/// What to do about it.
const NO_TC: &str = "tc is not there: it gives the wire its rate, and is in the package iproute2";
pub(super) const NO_IP: &str = "ip is not there: it makes the two hosts, and is in the package \
    iproute2; the loopback layout does without";

/// Which of 10.x.0.0/24 is nobody's, as far as this machine's routes tell (/proc/net/route: the
/// second field is the network, the eighth its mask, both as the number that memory holds). The
/// hosts would not mind, as their namespaces know no other network: whoever reads their addresses
/// would.
fn free(routes: &str) -> u8 {
    let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::from_be);
    let taken = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let network = number(fields.nth(1)?)?;
        let mask = number(fields.nth(5)?)?;
        (mask != 0).then_some((network, mask))
    };
    let taken: Vec<(u32, u32)> = routes.lines().filter_map(taken).collect();
    let is_free = |x: &u8| {
        let ours = u32::from(Ipv4Addr::new(10, *x, 0, 0));
        let ours_mask = u32::from(Ipv4Addr::new(255, 255, 255, 0));
        taken.iter().all(|(network, mask)| (ours ^ network) & mask & ours_mask != 0)
    };
    (FIRST_X..=u8::MAX).chain(0..FIRST_X).find(is_free).unwrap_or(FIRST_X)
}

/// Seldom somebody else's.
const FIRST_X: u8 = 77;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_others_are_avoided() {
        let line = |network: &str, mask: &str| {
            let number = |text: &str| {
                let address: Ipv4Addr = text.parse().unwrap();
                format!("{:08X}", u32::from(address).to_be())
            };
            let (network, mask) = (number(network), number(mask));
            format!("eth0\t{network}\t0100000A\t0001\t0\t0\t100\t{mask}\t0\t0\t0\n")
        };
        let head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n";
        let rows = [
            (String::new(), 77),
            (line("0.0.0.0", "0.0.0.0"), 77),
            (line("192.168.0.0", "255.255.0.0"), 77),
            (line("10.77.0.0", "255.255.255.0"), 78),
            (line("10.77.0.128", "255.255.255.128"), 78),
            (line("10.77.1.0", "255.255.255.0"), 77),
            (line("10.64.0.0", "255.192.0.0"), 128),
            (line("10.64.0.0", "255.192.0.0") + &line("10.128.0.0", "255.128.0.0"), 0),
            (line("10.0.0.0", "255.0.0.0"), 77),
        ];
        for (routes, expected) in rows {
            assert_eq!(free(&format!("{head}{routes}")), expected, "{routes}");
        }
    }

    #[test]
    fn what_both_have_is_told_once() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let facts = facts(map(&[("a", "1"), ("b", "2")]), map(&[("a", "1"), ("b", "3")]));
        let shown: Vec<(&str, &str)> =
            facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(shown[0], ("a", "1"));
        assert_eq!(shown[1], ("client's b", "3"));
        assert_eq!(shown[3], ("server's b", "2"));
        assert_eq!(shown[2].0, "net.core.netdev_max_backlog");
    }
}
