//! SIGTERM finishes what has begun; a second one does not wait.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::PATIENCE;
use crate::support::chosen::{on_mechanisms, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::Fixture;
use crate::support::in_flight::{HUGE_BYTES, asked, at_once, in_flight, site_with_a_huge_file};
use crate::support::load::{Counts, Load};
use crate::support::processes::{stop, workers_of};
use crate::support::server::send;
use crate::support::wire::Wire;

#[test]
fn requests_in_flight_are_finished_after_sigterm() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        // On a machine that has other work 150 MB take longer than a drain usually may.
        let flags = ["--drain-timeout-ms", "600000"];
        let mut server = combination.start(&site.root(), &flags);
        let load = Load::start(server.address, "/large.bin", 2, false);
        let mut clients = in_flight(&server, 3);
        server.signal(Signal::TERM);
        for came in at_once(&mut clients, Wire::rest) {
            assert_eq!(came, Ok(HUGE_BYTES), "{combination}: a request in flight was lost");
        }
        let status = server.ended(Duration::from_secs(120));
        let code = status.and_then(|status| status.code());
        assert_eq!(code, Some(0), "{combination}: after draining");
        let counts = load.stop();
        assert_eq!(Counts::of(&counts.broken), 0, "{combination}: {counts:?}");
    });
}

#[test]
fn a_second_signal_stops_at_once() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &[]);
        let clients = in_flight(&server, 1);
        server.signal(Signal::TERM);
        // The first signal alone must not end it: what is in flight is not even read.
        let early = server.ended(Duration::from_millis(300));
        assert!(early.is_none(), "{combination}: ended with a request in flight");
        server.signal(Signal::INT);
        assert!(server.ended(PATIENCE).is_some(), "{combination}: the second signal waits");
        drop(clients);
    });
}

#[test]
fn the_drain_has_an_end() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "300"]);
        let clients = in_flight(&server, 1);
        server.signal(Signal::INT);
        assert!(server.ended(PATIENCE).is_some(), "{combination}: drains for ever");
        drop(clients);
    });
}

/// The grace is for those whom others serve on.
#[test]
fn who_has_asked_nothing_has_no_grace_after_sigterm() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--idle-grace-ms", "600000", "--drain-timeout-ms", "600000"];
        let server = combination.start(&site.root(), &flags);
        let silent = server.connect();
        // Whoever is answered later was accepted later.
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}");
        server.stop();
        drop(silent);
    });
}

#[test]
fn idle_connections_do_not_hold_up_the_end() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        // Longer than anybody here waits: only that they are let go can end it.
        let clients = ["--idle-timeout-ms", "600000", "--head-timeout-ms", "600000"];
        let flags = [&clients[..], &["--drain-timeout-ms", "600000"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let idle: Vec<Wire> = (0..5).map(|_| asked(&server)).collect();
        let silent: Vec<Wire> = (0..5).map(|_| server.connect()).collect();
        server.signal(Signal::TERM);
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: waits for idle connections");
        drop((idle, silent));
    });
}

/// They end by FIN, without a reply to a request that was never made, and before what is in flight.
#[test]
fn idle_connections_are_closed_first() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        // Longer than anybody here waits: only the drain can end them.
        let flags = ["--idle-timeout-ms", "600000", "--drain-timeout-ms", "600000"];
        let mut server = combination.start(&site.root(), &flags);
        let mut idle: Vec<Wire> = (0..5).map(|_| asked(&server)).collect();
        let mut busy = in_flight(&server, 1);
        server.signal(Signal::TERM);
        for wire in &mut idle {
            assert_eq!(wire.end(), Ok(()), "{combination}: an idle connection");
        }
        assert_eq!(busy[0].rest(), Ok(HUGE_BYTES), "{combination}: a request in flight was lost");
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: after draining");
    });
}

/// Requests that have reached the machine, on connections old and new, while no worker ran.
#[test]
fn requests_that_nobody_has_read_yet_are_answered_after_sigterm() {
    let site = Fixture::new();
    for flags in [&[][..], &["--accept-limit", "1"], &["--work-on-accepted", "on"]] {
        let takes = |combination: &Combination| combination.takes(flags);
        on_mechanisms_where(Program::Weir, takes, |combination| {
            let mut server = combination.start(&site.root(), flags);
            let mut clients: Vec<Wire> = (0..8).map(|_| asked(&server)).collect();
            let workers = workers_of(server.pid());
            workers.iter().for_each(|worker| stop(*worker));
            clients.extend((0..24).map(|_| server.connect()));
            for wire in &mut clients {
                wire.get("/digits.txt", "").expect("sent");
            }
            server.signal(Signal::TERM);
            server.await_line("draining");
            workers.iter().for_each(|worker| send(*worker, Signal::CONT));
            for (at, wire) in clients.iter_mut().enumerate() {
                let reply = wire.reply(false).map(|(head, body)| (head.status, body));
                let whole = (200, site.content("/digits.txt"));
                assert_eq!(reply, Ok(whole), "{combination} {flags:?}: client {at}");
                assert_eq!(wire.end(), Ok(()), "{combination} {flags:?}: client {at}");
            }
            let status = server.ended(PATIENCE).and_then(|status| status.code());
            assert_eq!(status, Some(0), "{combination} {flags:?}: after draining");
        });
    }
}

/// The one in flight was promised that the connection stays; and no reset overtakes its end.
#[test]
fn a_request_behind_one_in_flight_is_answered_after_sigterm() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "600000"]);
        let mut clients = in_flight(&server, 2);
        // One has come before the signal, the other comes after it.
        clients[0].get("/digits.txt", "").expect("sent");
        server.signal(Signal::TERM);
        server.await_line("draining");
        clients[1].get("/digits.txt", "").expect("sent");
        at_once(&mut clients, |wire| {
            let huge = wire.bytes(HUGE_BYTES).map(|bytes| bytes.len());
            assert_eq!(huge, Ok(HUGE_BYTES), "{combination}: the one in flight");
            let reply = wire.reply(false).map(|(head, body)| (head.status, head.closes(), body));
            let whole = (200, true, site.content("/digits.txt"));
            assert_eq!(reply, Ok(whole), "{combination}: the one behind it");
            assert_eq!(wire.end(), Ok(()), "{combination}");
        });
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: after draining");
    });
}

/// Who goes on connecting does not hold up the end either.
#[test]
fn a_drain_under_load_has_an_end() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "600000"]);
        let load = Load::start(server.address, "/digits.txt", 32, false);
        let served = load.await_answered(100);
        assert!(served, "{combination}: not served");
        server.signal(Signal::TERM);
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        let counts = load.stop();
        assert_eq!(status, Some(0), "{combination}: {counts:?}");
        assert_eq!(Counts::of(&counts.broken), 0, "{combination}: {counts:?}");
    });
}
