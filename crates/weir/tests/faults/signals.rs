//! SIGTERM finishes what has begun; a second one does not wait.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::PATIENCE;
use crate::support::fixture::Fixture;
use crate::support::load::{Counts, Load};
use crate::support::server::{Combination, Program, Server, on_every};
use crate::support::wire::Wire;

/// More than the buffers of two sockets hold, so that the server cannot be done with it.
const HUGE_BYTES: usize = 48 << 20;

fn site_with_a_huge_file() -> Fixture {
    let site = Fixture::new();
    let file = std::fs::File::create(site.root().join("huge.bin")).expect("a file");
    file.set_len(HUGE_BYTES as u64).expect("its length");
    site
}

/// Clients that have read the head of a huge file and not yet its content.
fn in_flight(server: &Server, count: usize) -> Vec<Wire> {
    (0..count)
        .map(|_| {
            let mut wire = server.connect();
            wire.get("/huge.bin", "").expect("sent");
            let head = wire.head().expect("a head");
            assert_eq!(head.length(), Ok(HUGE_BYTES));
            wire
        })
        .collect()
}

#[test]
fn requests_in_flight_are_finished_after_sigterm() {
    let site = site_with_a_huge_file();
    on_every(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &[]);
        let load = Load::start(server.address, "/large.bin", 2, false);
        let mut clients = in_flight(&server, 3);
        server.signal(Signal::TERM);
        for wire in &mut clients {
            let came = wire.rest();
            assert_eq!(came, Ok(HUGE_BYTES), "{combination}: a request in flight was lost");
        }
        let status = server.ended(Duration::from_secs(30));
        let code = status.and_then(|status| status.code());
        assert_eq!(code, Some(0), "{combination}: after draining");
        let counts = load.stop();
        assert_eq!(Counts::of(&counts.broken), 0, "{combination}: {counts:?}");
    });
}

#[test]
fn a_second_signal_stops_at_once() {
    let site = site_with_a_huge_file();
    on_every(Program::Weir, |combination| {
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
    on_every(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "300"]);
        let clients = in_flight(&server, 1);
        server.signal(Signal::INT);
        assert!(server.ended(PATIENCE).is_some(), "{combination}: drains for ever");
        drop(clients);
    });
}

#[test]
fn idle_connections_do_not_hold_up_the_end() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &[]);
        let mut idle: Vec<Wire> = (0..10).map(|_| server.connect()).collect();
        for wire in &mut idle[..5] {
            wire.get("/digits.txt", "").expect("sent");
            wire.reply(false).expect("answered");
        }
        server.signal(Signal::TERM);
        // Half of the 30 s that a drain may take.
        let status = server.ended(Duration::from_secs(15)).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: waits for idle connections");
        ends_quietly(combination, &mut idle[..5]);
    });
}

/// A FIN and no reply to a request that was never made.
fn ends_quietly(combination: &Combination, idle: &mut [Wire]) {
    for wire in idle {
        assert_eq!(wire.end(), Ok(()), "{combination}: an idle connection");
    }
}
