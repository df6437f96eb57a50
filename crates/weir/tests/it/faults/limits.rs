//! More connections than may be open: who is too many waits, and is not forgotten.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::chosen::{on_mechanisms_alone, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::{HUGE_BYTES, at_once, in_flight, site_with_a_huge_file};
use crate::support::load::{Counts, Load};
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// Whoever keeps a connection keeps it until the test closes it.
const KEPT: &[&str] = &["--idle-timeout-ms", "600000", "--make-room", "off"];

/// For a look at what must not come. One that is too short only makes the test milder.
const LOOK: Duration = Duration::from_millis(50);

/// More than any buffer of the server holds, in one go: it is read as it is answered.
#[test]
fn a_long_pipeline_is_answered_whole() {
    const REQUESTS: usize = 5_000;
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        let request = b"GET /empty.txt HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut sends = wire.twin().expect("a second hand on the connection");
        std::thread::scope(|scope| {
            scope.spawn(move || sends.send(&request.repeat(REQUESTS)));
            for at in 0..REQUESTS {
                let status = wire.reply(false).map(|(head, _)| head.status);
                assert_eq!(status, Ok(200), "{combination}: request {at}");
            }
        });
        server.stop();
    });
}

#[test]
fn one_connection_at_a_time_serves_one_after_the_other() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &["--connections-max", "1"]);
        for client in 0..3 {
            let fetched = server.fetch("/digits.txt");
            assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: client {client}");
        }
        server.stop();
    });
}

/// Threads that are all taken are shared, and nobody is closed who asks without a pause.
#[test]
fn who_is_busy_makes_room_after_a_reply() {
    const REQUESTS: usize = 2_000;
    let site = Fixture::new();
    let has_threads = |combination: &Combination| combination.row["holder"] == "thread";
    on_mechanisms_where(Program::Weir, has_threads, |combination| {
        let server = combination.start(&site.root(), &["--threads", "4"]);
        let kept = Load::start(server.address, "/digits.txt", 8, true);
        let new = Load::start(server.address, "/digits.txt", 8, false);
        let goes_on = kept.await_answered(REQUESTS) && new.await_answered(REQUESTS);
        for (which, counts) in [("kept", kept.stop()), ("new", new.stop())] {
            assert_eq!(counts.lost(), 0, "{combination}, {which}: {counts:?}");
            assert!(goes_on, "{combination}, {which}: {counts:?}");
        }
        server.stop();
    });
}

#[test]
fn who_is_too_many_is_answered_when_others_have_gone() {
    let site = Fixture::new();
    for (limit, too_many) in [("1", 1), ("8", 2)] {
        on_mechanisms_alone(Program::Weir, |combination| {
            let flags = [KEPT, &["--connections-max", limit]].concat();
            let server = combination.start(&site.root(), &flags);
            let count = limit.parse().expect("a number");
            check_too_many(combination, &server, count, too_many);
            server.stop();
        });
    }
}

/// Whether who is idle is closed for who waits, because a thread or a process is all that either
/// can have.
fn shares_threads(combination: &Combination) -> bool {
    !["loop", "stages"].contains(&combination.row["holder"].as_str().unwrap_or_default())
}

/// So many ask and stay, further ones come, and as many of the first go.
fn check_too_many(combination: &Combination, server: &Server, limit: usize, too_many: usize) {
    let mut kept: Vec<Wire> = (0..limit).map(|_| server.connect()).collect();
    for (at, wire) in kept.iter_mut().enumerate() {
        check_answered(combination, wire, &format!("client {at} of {limit}"));
    }
    let mut waiting: Vec<Wire> = (0..too_many).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|wire| wire.get("/digits.txt", "").expect("sent"));
    if !shares_threads(combination) {
        for round in 0..5 {
            for wire in &mut kept {
                check_answered(combination, wire, &format!("round {round} of {limit}"));
            }
        }
        waiting.iter_mut().for_each(|wire| check_silent(combination, wire, limit));
    }
    kept.truncate(limit - too_many);
    for wire in &mut waiting {
        check_reply(combination, wire, &format!("one more than {limit}"));
    }
    // Of all who are here now nobody is forgotten.
    if !shares_threads(combination) {
        for wire in kept.iter_mut().chain(&mut waiting) {
            check_answered(combination, wire, &format!("afterwards, with {limit}"));
        }
    }
    drop((kept, waiting));
    let fetched = server.fetch("/digits.txt");
    assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: at last, with {limit}");
}

#[test]
fn a_drain_at_the_limit_loses_nobody() {
    let site = site_with_a_huge_file();
    on_mechanisms_alone(Program::Weir, |combination| {
        let drain = ["--drain-timeout-ms", "600000", "--crowded-rate-min", "0"];
        let flags = [&drain[..], &["--connections-max", "4"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let mut busy = in_flight(&server, 4);
        let ask = |_| server.asking(server.address, "/digits.txt");
        let mut waiting: Vec<Wire> = (0..12).map(ask).collect();
        server.signal(Signal::TERM);
        server.await_line("draining");
        for rest in at_once(&mut busy, Wire::rest) {
            assert_eq!(rest, Ok(HUGE_BYTES), "{combination}: a request in flight");
        }
        for (at, wire) in waiting.iter_mut().enumerate() {
            check_reply(combination, wire, &format!("waiting client {at}"));
            assert_eq!(wire.end(), Ok(()), "{combination}: waiting client {at}");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: after draining");
    });
}

const SECOND: &[&str] = &["--listen", "127.0.0.1:0"];

#[test]
fn a_second_address_is_served_while_the_first_is_flooded() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), SECOND);
        let (first, second) = two_addresses(&server);
        let load = Load::start(first, "/digits.txt", 16, false);
        for client in 0..20 {
            let before = load.answered();
            let flooded = await_true(PATIENCE, || load.answered() > before);
            assert!(flooded, "{combination}: the first address is not served");
            let fetched = server.fetch_from(second, "/digits.txt");
            assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: client {client}");
        }
        let counts = load.stop();
        let lost = Counts::of(&counts.broken) + Counts::of(&counts.unanswered);
        assert_eq!(lost, 0, "{combination}: {counts:?}");
        server.stop();
    });
}

#[test]
fn both_addresses_are_served_again_after_the_limit_was_reached() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [KEPT, SECOND, &["--connections-max", "4"]].concat();
        let server = combination.start(&site.root(), &flags);
        let (first, second) = two_addresses(&server);
        // Twice: what is paused once can be paused again.
        for time in 0..2 {
            let mut kept: Vec<Wire> = (0..4).map(|_| server.connect()).collect();
            for wire in &mut kept {
                check_answered(combination, wire, &format!("kept, time {time}"));
            }
            let ask = |to| server.asking(to, "/digits.txt");
            let mut waiting: Vec<Wire> = [second, first, second].into_iter().map(ask).collect();
            if !shares_threads(combination) {
                waiting.iter_mut().for_each(|wire| check_silent(combination, wire, 4));
            }
            drop(kept);
            for (at, wire) in waiting.iter_mut().enumerate() {
                check_reply(combination, wire, &format!("waiting client {at}, time {time}"));
            }
            drop(waiting);
            for from in [first, second, first, second] {
                let fetched = server.fetch_from(from, "/digits.txt");
                assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: time {time}, {from}");
            }
        }
        server.stop();
    });
}

fn two_addresses(server: &Server) -> (SocketAddr, SocketAddr) {
    match server.addresses[..] {
        [first, second] => (first, second),
        ref other => panic!("not two addresses: {other:?}"),
    }
}

/// Asks, and is answered.
fn check_answered(combination: &Combination, wire: &mut Wire, who: &str) {
    let sent = wire.get("/digits.txt", "");
    assert_eq!(sent, Ok(()), "{combination}: {who}");
    check_reply(combination, wire, who);
}

/// Has asked, and is answered.
fn check_reply(combination: &Combination, wire: &mut Wire, who: &str) {
    let reply = wire.reply(false).map(|(head, body)| (head.status, body));
    assert_eq!(reply, Ok((200, DIGITS.to_vec())), "{combination}: {who}");
}

/// Has asked, and waits.
fn check_silent(combination: &Combination, wire: &mut Wire, limit: usize) {
    wire.set_patience(LOOK);
    let fault = wire.head().expect_err("no answer to one more than the limit");
    assert!(fault.starts_with("nothing came"), "{combination}: more than {limit}: {fault}");
    wire.set_patience(PATIENCE);
}
