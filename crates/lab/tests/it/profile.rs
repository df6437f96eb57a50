//! The tools at work, on this machine as it is.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use harness::{KilledOnDrop, Need};
use lab::Failure;
use lab::profile::{Accepts, Kind, Part, Profiler, Seen, Target, Task};
use lab::vitals::{Reading, Side, Watch};
use os::Poller;
use os::poller::Mechanism;

fn shell(script: &str) -> KilledOnDrop {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
    KilledOnDrop(command.spawn().unwrap())
}

/// `None` if this machine cannot, which is recorded.
#[track_caller]
fn start(kind: Kind, child: &KilledOnDrop, directory: &Path) -> Option<Profiler> {
    if harness::lacks(needs(kind)) {
        return None;
    }
    let pids = vec![child.0.id()];
    let target = Target { pids, directory: directory.into(), ..Target::default() };
    match Profiler::start(kind, &target) {
        Ok(profiler) => Some(profiler),
        Err(Failure::Machine(why)) if cannot(&why) => {
            harness::skip(why);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn needs(kind: Kind) -> &'static [Need] {
    match kind {
        Kind::Calls => &[Need::Root, Need::Program("bpftrace")],
        Kind::Shares | Kind::Costs => &[Need::Program("perf")],
    }
}

fn cannot(why: &str) -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let refusals =
        ["is not installed", "not permitted", "ermission denied", "must be superuser", "BTF"];
    !is_root || refusals.iter().any(|refusal| why.contains(refusal))
}

#[test]
fn no_call_is_lost() {
    let home = tempfile::tempdir().unwrap();
    // One process all along, so that it can be named before it makes the calls.
    let script = "read go; exec dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none";
    let mut child = shell(script);
    let Some(profiler) = start(Kind::Calls, &child, home.path()) else { return };
    child.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    harness::await_end(&mut child.0);
    let profile = profiler.finish(&[]).unwrap();
    assert_eq!(profile.faults, Vec::<String>::new());
    let Seen::Calls(calls) = profile.seen else { panic!("{:?}", profile.seen) };
    assert_eq!(calls.by_name["write"].count, 20_000);
    assert!(calls.by_name["read"].count >= 20_000);
    assert!(calls.by_task[&Task::Processes].count >= 2, "it runs a program and ends");
    assert!(calls.user_us > 0 && calls.by_name["write"].busy_us > 0);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing stays");
}

/// Set by the test that starts the acceptor and watches it.
const ACCEPTS: &str = "WEIR_TEST_ACCEPTS";

#[test]
fn who_accepts_several_at_a_time_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let mut acceptor = Command::new(std::env::current_exe().unwrap());
    acceptor.args(["--exact", "profile::an_acceptor", "--ignored"]).env(ACCEPTS, "1");
    acceptor.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut acceptor = KilledOnDrop(acceptor.spawn().unwrap());
    let Some(profiler) = start(Kind::Calls, &acceptor, home.path()) else { return };
    acceptor.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(harness::await_end(&mut acceptor.0).success());
    let profile = profiler.finish(&[]).unwrap();
    assert_eq!(profile.faults, Vec::<String>::new());
    let Seen::Calls(calls) = profile.seen else { panic!("{:?}", profile.seen) };
    assert_eq!(calls.accepts, Accepts { connections: 6, phases: 2 });
}

/// Two phases of three connections each, when it is told, in a process in which nothing else
/// accepts.
#[test]
#[ignore = "run by another one"]
fn an_acceptor() {
    if std::env::var_os(ACCEPTS).is_none() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut poller = Poller::new(Mechanism::Epoll, 1).unwrap();
    poller.add_level(&listener, 0).unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    for _ in 0..2 {
        let clients = [0; 3].map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        poller.wait(None).unwrap();
        clients.iter().for_each(|_| drop(listener.accept().unwrap()));
    }
}

#[test]
fn work_is_seen_where_it_is_done() {
    let home = tempfile::tempdir().unwrap();
    let child = shell("while :; do :; done");
    let Some(profiler) = start(Kind::Shares, &child, home.path()) else { return };
    let server = Side { pids: vec![child.0.id()], ..Side::default() };
    let watch = Watch { server, ..Watch::default() };
    let mut worked_us = 0;
    while worked_us < 100_000 {
        let reading = Reading::take(&watch).unwrap();
        std::thread::yield_now();
        worked_us += reading.finish(&watch).unwrap().server.processes.user_us;
    }
    let profile = profiler.finish(&[child.0.id()]).unwrap();
    let Seen::Shares(shares) = profile.seen else { panic!("{:?}", profile.seen) };
    let sum: f64 = shares.percent.values().sum();
    assert!((sum - 100.0).abs() < 1e-6, "{sum}");
    assert!(shares.percent[&Part::Application] > 0.0, "{shares:?}");
    assert!(shares.samples > 0 && shares.page_cache_bytes > 0);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing stays");
}

#[test]
fn a_profiler_that_is_dropped_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let child = shell("read go");
    for kind in [Kind::Calls, Kind::Shares] {
        drop(start(kind, &child, home.path()));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{kind:?}");
    }
}
