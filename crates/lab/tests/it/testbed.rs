//! Two hosts, made for real.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::hosts::{up, within};
use crate::machine::{HOSTS, has};
use crate::said::{Lines, output};
use harness::KilledOnDrop;
use lab::testbed::{Host, Layout, Need, Testbed};

#[test]
fn hosts_reach_each_other_from_each_address() {
    let Some(testbed) = up(&Layout::default(), &[]) else { return };
    assert!(testbed.client_addresses.len() >= 8);
    assert_eq!(testbed.client_addresses[0], testbed.client.address);
    let listener = within(&testbed.server, || TcpListener::bind((testbed.server.address, 0)));
    let address = listener.local_addr().unwrap();
    for from in &testbed.client_addresses {
        let mut client = within(&testbed.client, || {
            let socket = rustix::net::socket(
                rustix::net::AddressFamily::INET,
                rustix::net::SocketType::STREAM,
                None,
            )?;
            rustix::net::bind(&socket, &std::net::SocketAddr::new(*from, 0))?;
            rustix::net::connect(&socket, &address)?;
            Ok(TcpStream::from(socket))
        });
        let (mut server, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), *from);
        for stream in [&client, &server] {
            let control = rustix::net::sockopt::tcp_congestion(stream.as_fd()).unwrap();
            assert_eq!(control, "cubic");
        }
        client.write_all(b"there").unwrap();
        server.read_exact(&mut [0; 5]).unwrap();
        server.write_all(b"back").unwrap();
        client.read_exact(&mut [0; 4]).unwrap();
    }
}

#[test]
fn programs_run_on_their_own_side() {
    let layout = Layout { quota_percent: Some(50), ..Layout::default() };
    let Some(testbed) = up(&layout, &[Need::Quota]) else { return };
    let (server, client) = (&testbed.server, &testbed.client);
    let allowed = |host: &Host| {
        let status = output(host, &["cat", "/proc/self/status"]);
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
        line.to_owned()
    };
    let is_alone = os::thread::cpu_affinity_count() == 1;
    assert_eq!(allowed(server) == allowed(client), is_alone);
    for host in [server, client] {
        let addresses = output(host, &["ip", "-o", "-4", "address", "show", "dev", "wire"]);
        assert!(addresses.contains(&format!(" {}/24 ", host.address)), "{addresses}");
        let devices = output(host, &["ip", "-o", "link"]);
        assert_eq!(devices.lines().count(), 2, "{devices}");
    }
    let name = testbed.server.placement.groups[0].file_name().unwrap().to_str().unwrap();
    assert!(output(server, &["cat", "/proc/self/cgroup"]).contains(name));
    assert!(!output(client, &["cat", "/proc/self/cgroup"]).contains(name));
    for (fact, expected) in [
        ("net.ipv4.ip_local_port_range", "1024 65535"),
        ("net.core.somaxconn", "4096"),
        ("server's quota", "50 % of one: 2000 µs in every 4000 µs"),
    ] {
        let is = &testbed.facts[fact];
        assert!(is.starts_with(expected), "{fact}: {is}");
    }
}

/// Each side receives by its own processors, whatever it receives from.
#[test]
fn receive_work_is_done_by_the_receiver() {
    for (round_trip_ms, needs) in
        [(None, [Need::Rps, Need::Veth]), (Some(1), [Need::Rps, Need::Tun])]
    {
        let layout = Layout { round_trip_ms, ..Layout::default() };
        if harness::lacks(&["unshare", "mount"].map(harness::Need::Program)) {
            return;
        }
        let Some(testbed) = up(&layout, &needs) else { continue };
        for (host, side) in [(&testbed.server, "server"), (&testbed.client, "client")] {
            // What a shell of that side sees: its own /sys.
            let script =
                "mount -t sysfs sysfs /mnt && cat /mnt/class/net/wire/queues/rx-0/rps_cpus";
            let mask = output(host, &["unshare", "--mount", "sh", "-c", script]);
            assert_eq!(numbers(&mask), host.placement.processors, "{side}");
            let common = testbed.facts.get("receive work");
            let fact = common.or_else(|| testbed.facts.get(&format!("{side}'s receive work")));
            assert!(fact.unwrap().starts_with("by RPS"), "{fact:?}");
        }
    }
}

#[test]
fn nothing_stays_of_a_testbed_that_is_gone() {
    let layout = Layout { quota_percent: Some(50), ..Layout::default() };
    for is_told in [true, false] {
        let Some(testbed) = up(&layout, &[Need::Quota]) else { return };
        let places = places(&testbed);
        let mut inhabitants = [
            asleep(testbed.server.placement.command("sleep").unwrap()),
            asleep(testbed.client.placement.command("sleep").unwrap()),
        ];
        assert!(places.iter().all(|place| place.exists()), "{places:?}");
        if is_told {
            testbed.down().unwrap();
        } else {
            drop(testbed);
        }
        for place in places {
            assert!(!place.exists(), "{}", place.display());
        }
        for child in &mut inhabitants {
            assert!(!harness::await_end(&mut child.0).success());
        }
    }
}

#[test]
fn what_a_killed_lab_left_behind_is_removed_and_nothing_else() {
    if !has(&HOSTS) || !has(&[Need::Quota]) {
        return;
    }
    let layout = Layout { quota_percent: Some(50), ..Layout::default() };
    let living = Testbed::up(&layout).unwrap();
    let living_places = places(&living);
    // The first is no name of a lab's, the second one of a lab whose process cannot be seen here.
    let this = std::process::id();
    let foreign = [format!("weir-lab-of-{this}"), format!("weir-lab-1-{this}-1-1-server")];
    let foreign = foreign.map(Foreign::new);
    let mut lab = Command::new(std::env::current_exe().unwrap());
    lab.args(["--exact", "testbed::a_lab_that_waits_to_be_killed", "--nocapture", "--ignored"]);
    let mut lab = lab.env(WAITS, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = Lines::new(lab.stdout.take().unwrap());
    let lines = std::iter::from_fn(|| said.next());
    let left: Vec<PathBuf> =
        lines.skip_while(|line| line != BEGIN).skip(1).take(3).map(PathBuf::from).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.iter().all(|place| place.exists()), "{left:?}");
    // It has not been asked to end, and does not see this coming.
    lab.kill().unwrap();
    lab.wait().unwrap();
    assert!(left.iter().all(|place| place.exists()), "{left:?}");
    let next = Testbed::up(&Layout::default()).unwrap();
    for place in left {
        assert!(!place.exists(), "{}", place.display());
    }
    assert!(foreign.iter().all(|foreign| foreign.place().exists()));
    assert!(living_places.iter().all(|place| place.exists()));
    drop(next);
    living.down().unwrap();
}

const BEGIN: &str = "places:";
/// Set by the test that starts that lab and kills it.
const WAITS: &str = "WEIR_TEST_LAB_WAITS";

#[test]
#[ignore = "run by another one"]
fn a_lab_that_waits_to_be_killed() {
    if std::env::var_os(WAITS).is_none() {
        return;
    }
    let layout = Layout { quota_percent: Some(50), ..Layout::default() };
    let testbed = Testbed::up(&layout).unwrap();
    println!("\n{BEGIN}");
    for place in places(&testbed) {
        println!("{}", place.display());
    }
    // Until its maker ends, should he not kill it.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn the_loopback_needs_no_root() {
    let layout = Layout { is_loopback: true, ..Layout::default() };
    let testbed = Testbed::up(&layout).unwrap();
    assert_eq!(testbed.server.address, IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert!(testbed.client_addresses.len() >= 8);
    for host in [&testbed.server, &testbed.client] {
        assert_eq!((&host.placement.namespace, host.placement.groups.len()), (&None, 0));
        assert!(!host.placement.processors.is_empty());
    }
    let listener = TcpListener::bind((testbed.server.address, 0)).unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    for fact in ["hosts", "congestion control", "net.core.somaxconn", "server's processors"] {
        assert!(testbed.facts.contains_key(fact), "{fact}");
    }
    testbed.down().unwrap();
}

#[test]
fn layouts_without_sense_are_refused() {
    let loopback = Layout { is_loopback: true, ..Layout::default() };
    let rows = [
        (Layout { round_trip_ms: Some(1), ..loopback.clone() }, "the loopback has no delay"),
        (Layout { wire_mbit: Some(1), ..loopback.clone() }, "the loopback is no wire"),
        (Layout { wire_mtu_bytes: Some(9_180), ..loopback }, "the loopback is no wire"),
        (Layout { wire_mbit: Some(0), ..Layout::default() }, "from 1 to 10,000 Mbit/s"),
        (Layout { wire_mtu_bytes: Some(575), ..Layout::default() }, "from 576 to 65,000 bytes"),
        (Layout { quota_percent: Some(0), ..Layout::default() }, "has to be at least 1"),
        (Layout { memory_bytes: Some(0), ..Layout::default() }, "has to be at least 1"),
    ];
    for (layout, expected) in rows {
        let failure = Testbed::up(&layout).unwrap_err().to_string();
        assert!(failure.contains(expected), "{layout:?}: {failure}");
    }
}

/// The numbers of the bits that are set in a mask of words of 32 bits, the highest word first.
fn numbers(mask: &str) -> Vec<usize> {
    let words = mask.trim().rsplit(',').map(|word| u32::from_str_radix(word, 16).unwrap());
    let of_word = |(at, word): (usize, u32)| {
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit)
    };
    words.enumerate().flat_map(of_word).collect()
}

/// Two namespaces and a group.
fn places(testbed: &Testbed) -> Vec<PathBuf> {
    let placements = [&testbed.server.placement, &testbed.client.placement];
    let namespaces = placements.iter().filter_map(|placement| placement.namespace.clone());
    namespaces.chain(testbed.server.placement.groups.clone()).collect()
}

fn asleep(mut command: Command) -> KilledOnDrop {
    KilledOnDrop(command.arg("600").spawn().unwrap())
}

/// A namespace that no lab has made.
struct Foreign(String);

impl Foreign {
    fn new(name: String) -> Self {
        let added = harness::output(Command::new("ip").args(["netns", "add", &name])).unwrap();
        assert!(added.status.success(), "{added:?}");
        Self(name)
    }

    fn place(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.0)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = harness::output(Command::new("ip").args(["netns", "delete", &self.0]));
    }
}
