//! A worker that is killed costs its own connections and no others.

use rustix::process::Signal;

use crate::support::await_true;
use crate::support::fixture::Fixture;
use crate::support::in_flight::asked;
use crate::support::load::{Counts, Load};
use crate::support::processes::{children, server_end, sockets};
use crate::support::server::{Combination, Program, Server, on_every, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some};

const TWO: &[&str] = &["--processes", "2"];

#[test]
fn a_worker_killed_under_load_costs_only_its_own_connections() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let several = combination.takes(TWO);
        let flags = if several { TWO } else { &[] };
        let server = combination.start(&site.root(), flags);
        let clients = 8;
        let load = Load::start(server.address, "/digits.txt", clients, true);
        let mut idle: Vec<Wire> = (0..12).map(|_| asked(&server)).collect();

        // The first one may serve while the second one is only being started.
        let count = if several { 2 } else { 1 };
        let all = || Some(children(server.pid())).filter(|all| all.len() == count);
        let workers = await_some(PATIENCE, all);
        let workers = workers.unwrap_or_else(|| panic!("{combination}: not {count} workers"));
        let inode = |wire: &Wire| server_end(server.address, wire.local_port());
        let first = inode(&idle[0]).expect("the server's end");
        let whose = || {
            let mut all = workers.iter().map(|worker| (*worker, sockets(*worker)));
            all.find(|(_, its_sockets)| its_sockets.contains(&first))
        };
        let (killed, its_sockets) = await_some(PATIENCE, whose).expect("somebody's connection");
        let is_its = |wire: &Wire| inode(wire).is_some_and(|inode| its_sockets.contains(&inode));
        let lost: Vec<bool> = idle.iter().map(is_its).collect();
        send(killed, Signal::KILL);

        judge(combination, &mut idle, &lost);
        served_again(combination, &server, &load);
        let counts = load.stop();
        let broken = Counts::of(&counts.broken) + Counts::of(&counts.unanswered);
        assert!(broken <= clients, "{combination}: {counts:?}, more than one loss for a client");
        assert_eq!(Counts::of(&counts.refused), 0, "{combination}: a connection was refused");
        assert!(!children(server.pid()).contains(&killed));
        server.stop();
    });
}

/// The connections of the worker that was killed end; the others go on.
fn judge(combination: &Combination, idle: &mut [Wire], lost: &[bool]) {
    for (wire, lost) in idle.iter_mut().zip(lost) {
        let answered = wire.get("/probe.txt", "").and_then(|()| wire.reply(false));
        assert_eq!(answered.is_err(), *lost, "{combination}: {answered:?}");
    }
}

fn served_again(combination: &Combination, server: &Server, load: &Load) {
    let fetched = server.fetch("/digits.txt");
    assert!(fetched.is_ok(), "{combination}: after the kill {fetched:?}");
    let before = load.answered();
    let goes_on = await_true(PATIENCE, || load.answered() > before + 100);
    assert!(goes_on, "{combination}: the load does not go on");
}

#[test]
fn a_worker_that_dies_again_and_again_is_started_again() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut before = 0;
        for _ in 0..3 {
            let other = || children(server.pid()).into_iter().find(|pid| *pid != before);
            before = await_some(PATIENCE, other).expect("a worker");
            send(before, Signal::KILL);
            let gone = await_true(PATIENCE, || !children(server.pid()).contains(&before));
            assert!(gone, "{combination}: not dead");
        }
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}: not served again");
        server.stop();
    });
}
