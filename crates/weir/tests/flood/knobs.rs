//! What an operator has said stays, for as long as he says so.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::getsockname;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::combination::Combination;
use crate::support::fixture::Fixture;
use crate::support::metrics::counted;
use crate::support::processes::{is_there, workers_of};
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};
use crate::{
    Crowd, RATE_TWICE, admission, admitted, are_admitted, await_flood, check_calm, flags, flooded,
    knock_from, on_each, queue, turn,
};

const HALF: &[&str] = &["--admit-percent", "50"];

/// Of whom half are admitted: of so many, give or take five standard deviations, which are 10.
const KNOCKERS: usize = 400;

/// Clients that retry.
const RETRIES: usize = 64;

fn check_half_get_in(combination: &Combination, admin: SocketAddr, to: SocketAddr) {
    let mut last = 0;
    let are_half = || {
        // The queue has to have room for half of them. Connections of before fill it until they are
        // accepted, and a flood, as which so many may be taken, makes it short until it is over.
        await_room(combination, admin, to);
        last = admitted(to, KNOCKERS);
        last.abs_diff(KNOCKERS / 2) <= 50
    };
    assert!(await_true(PATIENCE, are_half), "{combination}: {last} of {KNOCKERS}");
}

/// Waits until the accept queue has room for half of the connections that the tests make.
fn await_room(combination: &Combination, admin: SocketAddr, to: SocketAddr) {
    let has_room = || {
        // One client makes the server look at its queue.
        admitted(to, 1);
        let queue = queue(admin, to);
        queue["length"] == 0 && queue["max"].as_u64() >= Some(250)
    };
    assert!(await_true(PATIENCE, has_room), "{combination}: {}", queue(admin, to));
}

/// Whoever gets in makes it look.
fn await_share(combination: &Combination, admin: SocketAddr, to: SocketAddr, share: f64) {
    let is_set = || {
        admitted(to, 8);
        admission(admin)["share"] == share
    };
    assert!(await_true(PATIENCE, is_set), "{combination}: not {share}: {}", admission(admin));
}

#[test]
fn a_share_that_was_said_is_admitted_in_a_flood_and_afterwards() {
    let site = Fixture::new();
    on_each(|combination| {
        let mut server = combination.start(&site.root(), &[&flags(combination)[..], HALF].concat());
        let admin = server.await_admin();
        await_share(combination, admin, server.address, 0.5);
        let is_flood = || {
            let told = admission(admin);
            let why = told["why"].as_str().expect("words");
            let is_half = told["share"] == 0.5 && !why.contains("all are admitted");
            assert!(is_half, "{combination}: {told}");
            told["flood"] == true
        };
        let crowd = Crowd::at_rate(server.address, RATE_TWICE);
        assert!(await_true(PATIENCE, is_flood), "{combination}: {}", admission(admin));
        drop(crowd);
        // Nobody comes who could make it look.
        assert!(await_true(PATIENCE, || !is_flood()), "{combination}: {}", admission(admin));
        check_half_get_in(combination, admin, server.address);
        is_flood();
        server.stop();
    });
}

#[test]
fn a_share_is_turned_while_workers_serve() {
    // One after the other; the share from then on.
    let rows = [
        ("admit-percent", "50", 0.5),
        ("admit-percent", "auto", 1.0),
        ("backlog", "300", 1.0),
        ("admit-percent", "50", 0.5),
        ("backlog", "auto", 0.5),
        ("backlog", "300", 0.5),
        ("admit-percent", "auto", 1.0),
        ("backlog", "auto", 1.0),
    ];
    let site = Fixture::new();
    on_each(|combination| {
        let mut server = combination.start(&site.root(), &flags(combination));
        let admin = server.await_admin();
        for (knob, value, share) in rows {
            turn(admin, knob, value);
            await_share(combination, admin, server.address, share);
            if share < 1.0 {
                check_half_get_in(combination, admin, server.address);
            } else {
                check_calm(combination, &server, admin);
            }
        }
        check_calm(combination, &server, admin);
        server.stop();
    });
}

/// Each client retries from its port, and is refused again, whichever worker has set the filter.
#[test]
fn syn_filter_refuses_the_same_clients_after_its_worker_is_replaced() {
    let site = Fixture::new();
    on_each(|combination| {
        let mut server = combination.start(&site.root(), &[&flags(combination)[..], HALF].concat());
        let (admin, to) = (server.await_admin(), server.address);
        await_share(combination, admin, to, 0.5);
        // An address of their own, because clients of other tests take ports of the usual one.
        let [high, low] = to.port().to_be_bytes();
        let from = SocketAddr::from(([127, 1, high, low], 0));
        let first: Vec<OwnedFd> = (0..RETRIES).map(|_| knock_from(from, to)).collect();
        let own = |client| getsockname(client).expect("its address").try_into().expect("an IP");
        let clients: Vec<SocketAddr> = first.iter().map(own).collect();
        drop(first);
        let are_in = || {
            await_room(combination, admin, to);
            let retries: Vec<OwnedFd> = clients.iter().map(|from| knock_from(*from, to)).collect();
            are_admitted(&retries)
        };
        let before = are_in();
        let workers = workers_of(server.pid());
        workers.iter().for_each(|worker| send(*worker, Signal::KILL));
        let are_gone = || workers.iter().all(|worker| !is_there(*worker));
        assert!(await_true(PATIENCE, are_gone), "{combination}: not dead");
        let accepted = counted(admin, "accepted");
        // Before a worker accepts, it looks at the queue, and sets the filter.
        let has_accepted = || {
            admitted(to, 8);
            counted(admin, "accepted") > accepted
        };
        assert!(await_true(PATIENCE, has_accepted), "{combination}: no worker is back");
        assert!(await_true(PATIENCE, || are_in() == before), "{combination}");
        server.stop();
    });
}

#[test]
fn a_share_is_turned_in_a_flood() {
    let site = Fixture::new();
    on_each(|combination| {
        let (server, admin, crowd) = flooded(combination, &site);
        turn(admin, "admit-percent", "50");
        let is_half = |told: Value| told["share"] == 0.5;
        let is_set = || is_half(admission(admin));
        assert!(await_true(PATIENCE, is_set), "{combination}: {}", admission(admin));
        turn(admin, "admit-percent", "auto");
        assert!(await_true(PATIENCE, || !is_set()), "{combination}: {}", admission(admin));
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}
