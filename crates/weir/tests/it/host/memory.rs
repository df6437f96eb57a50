//! How much memory there is for connections.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use harness::Need;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture, write};
use crate::support::metrics::counted;
use crate::support::processes::{anonymous_kb, workers_of};
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// A control group of memory, gone when dropped; needs root and one of the two versions.
struct Group(PathBuf);

impl Group {
    fn new(name: &str, limit_mib: u64) -> Result<Self, String> {
        let name = format!("weir-test-{}-{name}", std::process::id());
        let versions =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let mut why = String::new();
        for (at, limit) in versions {
            let group = Self(Path::new(at).join(&name));
            let made = fs::create_dir(&group.0)
                .and_then(|()| group.is_one())
                .and_then(|()| fs::write(group.0.join(limit), (limit_mib << 20).to_string()));
            match made {
                Ok(()) => return Ok(group),
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }

    /// Where no control groups are mounted, a directory is one like any other.
    fn is_one(&self) -> Result<(), Error> {
        let is_one = self.0.join("cgroup.procs").exists();
        is_one.then_some(()).ok_or_else(|| Error::new(ErrorKind::NotFound, "none is mounted"))
    }

    /// A server in it.
    fn serve(&self, combination: &Combination, site: &Fixture, flags: &[&str]) -> Server {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs; exec \"$@\""]).arg(&self.0);
        command.arg(combination.program.path());
        command.args(combination.arguments(&site.root(), flags));
        Server::start(command, combination.program.key())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever has just ended may still be in it for a moment.
        let is_gone = || match fs::remove_dir(&self.0) {
            Err(error) => error.kind() == ErrorKind::NotFound,
            Ok(()) => true,
        };
        await_true(PATIENCE, is_gone);
    }
}

/// Whether this machine has no such groups. If so, records that the calling test is skipped.
#[track_caller]
fn lacks_groups() -> bool {
    // Each test makes its own, because tests run side by side.
    let name = std::thread::current().name().unwrap_or_default().replace(':', "-");
    if harness::lacks(&[Need::Root]) {
        return true;
    }
    let refusal = Group::new(&name, 64).err();
    if let Some(why) = &refusal {
        harness::skip(format!("needs control groups of memory: {why}"));
    }
    refusal.is_some()
}

/// What docs/host.md says that a connection takes at its worst.
fn connection_kib(combination: &Combination) -> u64 {
    match combination.row["send"].as_str() {
        Some("loop" | "header" | "writer") => 80,
        Some("thread") => 110,
        Some("fiber") => 96,
        Some("ring") => 570,
        other => panic!("{combination}: the registry says that {other:?} sends"),
    }
}

/// So many as a server says that it may hold.
fn connections(combination: &Combination, limits: &str) -> u64 {
    let told = limits.split_once("limits: ").and_then(|(_, told)| told.split_once(' '));
    let number = told.and_then(|(number, _)| number.parse().ok());
    number.unwrap_or_else(|| panic!("{combination}: no number of connections: {limits}"))
}

#[test]
fn connections_fit_into_the_memory_of_a_control_group() {
    if lacks_groups() {
        return;
    }
    let site = Fixture::new();
    // The group's memory in MiB, the operator's flags; what bounds the connections, and whether he
    // is warned.
    let rows: [(u64, &[&str], &str, bool); 3] = [
        (64, &["--threads", "32768"], "memory", false),
        (256, &["--threads", "32768"], "memory", false),
        (64, &["--threads", "32768", "--connections-max", "4000"], "--connections-max", true),
    ];
    on_mechanisms_alone(Program::Weir, |combination| {
        if combination.row["holder"] == "process" {
            // How many there are the operator says, and each has one.
            return;
        }
        for (mib, flags, bound, is_warned) in rows {
            let name = format!("{combination}-{mib}").replace(' ', "-");
            let group = Group::new(&name, mib).expect("a group like the one of before");
            let flags = if has_threads(combination) { flags } else { &flags[2..] };
            let mut server = group.serve(combination, &site, flags);
            let told = server.await_line("limits: ");
            assert!(told.contains(&format!("bound by {bound})")), "{combination}: {told}");
            let memory = format!("the control group has {mib} MiB");
            assert!(told.contains(&memory), "{combination}: {told}");
            if bound == "memory" {
                // Half of it, to as many digits as the document has.
                let taken_kib = connections(combination, &told) * connection_kib(combination);
                let shares = taken_kib as f64 / (mib << 9) as f64;
                assert!((0.96..=1.04).contains(&shares), "{combination}: {taken_kib} KiB: {told}");
            }
            let said = server.stop();
            assert_eq!(
                said.contains("warning: 4000 connections"),
                is_warned,
                "{combination}: {said}"
            );
        }
    });
}

/// Whether each connection takes a thread.
fn has_threads(combination: &Combination) -> bool {
    combination.row["holder"] == "thread"
}

/// As many as there may be, each with nearly as much of a head as it may have: nobody is ended for
/// want of memory, one more is answered, and so are they.
#[test]
fn as_many_as_fit_into_the_memory_are_served() {
    const HEAD_BYTES: usize = 15_900;
    if lacks_groups() {
        return;
    }
    let site = Fixture::new();
    let head = format!("GET /digits.txt HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_BYTES));
    on_mechanisms_alone(Program::Weir, |combination| {
        if combination.row["holder"] == "process" {
            return;
        }
        let name = format!("full-{combination}").replace(' ', "-");
        let group = Group::new(&name, 64).expect("a group like the one of before");
        let threads = ["--threads", "32768"];
        let threads = if has_threads(combination) { &threads[..] } else { &[] };
        let flags = ["--head-timeout-ms", "600000", "--admin", "127.0.0.1:0"];
        let mut server = group.serve(combination, &site, &[&flags, threads].concat());
        let most = connections(combination, &server.await_line("limits: "));
        let admin = server.await_admin();
        let mut all: Vec<Wire> = (0..most).map(|_| server.connect()).collect();
        all.iter_mut().for_each(|wire| wire.send(head.as_bytes()).expect("sent"));
        let are_in = || counted(admin, "accepted") >= most as f64;
        assert!(await_true(PATIENCE, are_in), "{combination}: not {most} are let in");
        let workers = workers_of(server.pid());
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}: one more");
        // Some have gone for it: one, or those threads that are kept free.
        let is_answered = |wire: &mut Wire| {
            wire.send(b"\r\n\r\n").is_ok()
                && wire.reply(false).is_ok_and(|(_, body)| body == DIGITS)
        };
        let answered = all.iter_mut().map(is_answered).filter(|is| *is).count() as u64;
        assert!(answered >= most - most / 32 - 2, "{combination}: {answered} of {most}");
        assert_eq!(workers_of(server.pid()), workers, "{combination}: a worker died");
        server.stop();
    });
}

/// Contents of all lengths come and go, fetched by many at once: what leaves the cache leaves the
/// memory, too, and does not stay behind as holes between those that came later.
#[test]
fn contents_take_little_more_than_the_cache_has() {
    const FILES: usize = 300;
    const CACHE_MIB: u64 = 16;
    let site = Fixture::new();
    for at in 0..FILES {
        // Of 3, 60 and 900 KB at most.
        let most = [3_000, 60_000, 900_000][at % 3];
        write(&site.root().join(format!("{at}.bin")), &vec![b'x'; at * 7919 % most]);
    }
    let cache = CACHE_MIB.to_string();
    let flags = ["--cache-mb", &cache, "--small-file-kb", "1024"];
    on_mechanisms_alone(Program::Weir, |combination| {
        if combination.row["holder"] == "process" || !combination.has_usual_poller() {
            // Each process has a cache of its own, and pollers have nothing to do with it.
            return;
        }
        let server = combination.start(&site.root(), &flags);
        let ask = |client: usize| {
            let mut wire = server.connect();
            for at in 0..100 {
                let file = (client * 37 + at * (client + 101)) % FILES;
                wire.get(&format!("/{file}.bin"), "").expect("sent");
                wire.reply(false).expect("answered");
            }
        };
        thread::scope(|scope| {
            let ask = &ask;
            (0..12).for_each(|client| drop(scope.spawn(move || ask(client))));
        });
        let taken: u64 = workers_of(server.pid()).into_iter().map(anonymous_kb).sum();
        let most = (CACHE_MIB + 16) << 10;
        assert!(taken <= most, "{combination}: {taken} KB of at most {most}");
        server.stop();
    });
}
