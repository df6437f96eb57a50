//! A fleet: three replicas behind a real HAProxy, on machines of their own as far as the network
//! goes, with the files of `examples/fleet`. Needs root.

mod balancer;
mod manifest;
mod namespaces;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::Need;
use rustix::process::Signal;

use crate::support::combination::Program;
use crate::support::command::{copy_program, run};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::load::{Counts, Load};
use crate::support::processes::children;
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true, rights};
use balancer::{Balancer, Way, example};
use namespaces::{BALANCER, CLIENTS, Namespace, Network};

/// Clients of each kind. Each has one request under way.
const CLIENTS_EACH: usize = 2;

/// Of a client after each reply: the load lasts for half a minute, on a machine with other tests.
const PAUSE: Duration = Duration::from_millis(100);

/// A replica's place, which stays when the replica ends.
struct Place<'f> {
    machine: &'f Namespace,
    /// Its name in the balancer's configuration, and its address.
    name: String,
    address: SocketAddr,
    architecture: &'static str,
    way: Way,
    site: &'f Path,
    home: PathBuf,
}

impl Place<'_> {
    fn start(&self) -> Server {
        let binary = self.home.join("weir");
        let mut command = Command::new(&binary);
        command.arg("serve").arg(self.site).arg("--config").arg(example("weir.toml"));
        command.args(["--architecture", self.architecture, "--access-log"]).arg(self.log());
        // Longer than in the example, because a balancer on a slow machine notices later.
        command.args(["--drain-delay-ms", "30000", "--drain-timeout-ms", "600000"]);
        if self.way == Way::Shared {
            command.args(["--proxy-protocol", "off"]);
        }
        self.machine.within(|| Server::start(command, 0))
    }

    fn log(&self) -> PathBuf {
        self.home.join(format!("{}.log", self.name))
    }

    /// Whether it knows its clients: each line is of one of them.
    fn judge_log(&self) {
        let logged = match self.way {
            Way::Private => CLIENTS,
            Way::Shared => BALANCER,
        };
        let log = fs::read_to_string(self.log()).expect("a log");
        // It may serve still, and its last line be half written.
        let (whole, _) = log.rsplit_once('\n').expect("a line");
        let strange = whole.lines().find(|line| !line.starts_with(&format!("{logged} ")));
        assert_eq!(strange, None, "{}: somebody else's address", self.architecture);
    }

    /// One request by way of the balancer's address; the status, and whether it was the last.
    fn ask(&self, balancer: &Namespace) -> Result<(u16, bool), String> {
        balancer.within(|| {
            let mut wire = Wire::connect(self.address, 0).map_err(|error| error.to_string())?;
            if self.way == Way::Private {
                wire.send(format!("PROXY TCP4 {CLIENTS} {BALANCER} 1 80\r\n").as_bytes())?;
            }
            wire.get("/digits.txt", "")?;
            wire.reply(false).map(|(head, _)| (head.status, head.closes()))
        })
    }
}

/// Each of the architectures is killed, drained and upgraded once, of which a change sees one turn;
/// what is like it is left out.
#[test]
fn a_fleet_loses_no_request_but_those_of_the_killed_replica() {
    let needs = [Need::Root, Need::Program("haproxy"), Need::Program("ip")];
    if harness::lacks(&needs) || rights::lacks_bridges() {
        return;
    }
    let all = ["sped", "mt", "proactor"];
    std::thread::scope(|scope| {
        for turn in harness::all_or_some("fleet: turn", (0..all.len()).collect(), 1) {
            let mut architectures = all;
            architectures.rotate_left(turn);
            for way in [Way::Private, Way::Shared] {
                scope.spawn(move || lives_through_all(architectures, way));
            }
        }
    });
}

/// The first is killed, the second drained, the third upgraded.
fn lives_through_all(architectures: [&'static str; 3], way: Way) {
    let site = Fixture::new();
    let home = tempfile::tempdir().expect("a directory");
    copy_program(&Program::Weir.path(), &home.path().join("weir"));
    let root = site.root();
    let network = Network::new(architectures.len());
    let places: Vec<_> = (1..)
        .zip(architectures)
        .zip(&network.replicas)
        .map(|((n, architecture), machine)| Place {
            machine,
            name: format!("weir{n}"),
            address: format!("10.20.0.1{n}:8080").parse().expect("an address"),
            architecture,
            way,
            site: &root,
            home: home.path().to_owned(),
        })
        .collect();
    let mut replicas: Vec<_> = places.iter().map(Place::start).collect();
    let balancer = network.balancer.within(|| Balancer::start(way));
    let site_at = SocketAddr::new(BALANCER.parse().expect("an address"), 80);
    let load = |target, keep| Load::paced(site_at, target, CLIENTS_EACH, (keep, PAUSE));
    let loads = network.clients.within(|| {
        [("/large.bin", true), ("/large.bin", false), ("/digits.txt", true), ("/digits.txt", false)]
            .map(|(target, keep)| load(target, keep))
    });
    for place in &places {
        balancer.await_use(&place.name);
    }

    let [killed, drained, upgraded] = [&places[0], &places[1], &places[2]];
    let after_kill = kill(killed, replicas.remove(0), &balancer);
    let after_drain = drain(drained, replicas.remove(0), &balancer, &network);
    let next = upgrade(upgraded, replicas.remove(0), &balancer);

    let mut failed = 0;
    for load in loads {
        let counts = load.stop();
        println!("{architectures:?} {way:?}: {counts:?}");
        let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
        failed += lost.iter().sum::<usize>() as u64;
    }
    for place in &places {
        println!("{architectures:?} {way:?}: {} {:?}", place.name, balancer.sees(&place.name));
    }
    for place in [drained, upgraded] {
        let seen = balancer.sees(&place.name);
        assert!(seen.is_faultless(), "{}: {seen:?}", place.architecture);
    }
    let broken_off = balancer.sees(&killed.name).fault("srv_abrt");
    assert!(
        failed <= broken_off,
        "{failed} failed, {broken_off} were under way when it was killed"
    );
    places.iter().for_each(Place::judge_log);
    send(next, Signal::TERM);
    drop((after_kill, after_drain));
}

/// The script of the example, on the site of the tests.
#[test]
fn the_example_starts_and_leaves_nothing() {
    let programs = ["haproxy", "curl", "ip", "mount"].map(Need::Program);
    let namespaces = ["--net", "--mount", "--pid", "--fork", "--mount-proc"];
    if harness::lacks(&[&[Need::Root], &programs[..]].concat())
        || rights::lacks_namespaces(&namespaces)
        || rights::lacks_bridges()
    {
        return;
    }
    let site = Fixture::new();
    let mut command = Command::new(example("run.sh"));
    command.env("WEIR", Program::Weir.path()).env("SITE", site.root());
    command.args([
        "curl",
        "--noproxy",
        "*",
        "--silent",
        "--show-error",
        "http://10.20.0.1/digits.txt",
    ]);
    let (status, said, errors) = run(&mut command).expect("a shell");
    assert_eq!((status, said.as_bytes()), (Some(0), DIGITS), "{errors}");
    let home = site.root().display().to_string();
    let is_gone = await_true(PATIENCE, || !is_anybody_at(&home));
    assert!(is_gone, "somebody still serves {home}");
}

/// Whether a process has this among its arguments.
fn is_anybody_at(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|text| text == argument.as_bytes()))
}

/// It ends without a word, and comes back.
fn kill(place: &Place<'_>, mut replica: Server, balancer: &Balancer) -> Server {
    replica.signal(Signal::KILL);
    assert!(replica.ended(PATIENCE).is_some(), "{}: killed", place.architecture);
    balancer.await_status(&place.name, "DOWN");
    let replica = place.start();
    balancer.await_status(&place.name, "UP");
    balancer.await_use(&place.name);
    replica
}

/// It is out of rotation before it stops listening, ends in good order, and comes back.
fn drain(place: &Place<'_>, mut replica: Server, balancer: &Balancer, network: &Network) -> Server {
    replica.signal(Signal::TERM);
    replica.await_line("not ready for balancers");
    balancer.await_status(&place.name, "DOWN");
    let asked = place.ask(&network.balancer);
    assert_eq!(asked, Ok((200, true)), "{}: still listens", place.architecture);
    replica.await_line("draining");
    let status = replica.ended(PATIENCE).and_then(|status| status.code());
    assert_eq!(status, Some(0), "{}: drained", place.architecture);
    network.balancer.within(|| assert!(TcpStream::connect(place.address).is_err()));
    let replica = place.start();
    balancer.await_status(&place.name, "UP");
    balancer.await_use(&place.name);
    replica
}

/// Another program takes over, and the balancer does not notice. Returns its process number.
fn upgrade(place: &Place<'_>, mut replica: Server, balancer: &Balancer) -> u32 {
    let before = balancer.sees(&place.name);
    replica.signal(Signal::USR2);
    replica.await_line("this one retires");
    let status = replica.ended(PATIENCE).and_then(|status| status.code());
    assert_eq!(status, Some(0), "{}: the old program", place.architecture);
    // Of all on that machine this one has workers.
    let has_workers = |pid: &u32| !children(*pid).is_empty();
    let next = place.machine.inhabitants().into_iter().find(has_workers).expect("the program");
    balancer.await_use(&place.name);
    let after = balancer.sees(&place.name);
    assert_eq!(after.status, "UP", "{}: {after:?}", place.architecture);
    assert_eq!(after.failed_checks, before.failed_checks, "{}: {after:?}", place.architecture);
    next
}
