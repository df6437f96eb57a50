//! Where all places are taken nobody can be let in, and how long one waits is no measure of what
//! could be done.

use rustix::fd::OwnedFd;

use crate::support::combination::Combination;
use crate::support::fixture::Fixture;
use crate::support::in_flight::half_a_body;
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};
use crate::{Crowd, FLAGS, admission, await_flood, check_calm, is_calm, knock, on_each, queue};

const PLACES: usize = 8;

/// Nobody goes for another, or because he is slow.
const FULL: &[&str] = &[
    "--connections-max",
    "8",
    "--make-room",
    "off",
    "--idle-timeout-ms",
    "600000",
    "--head-timeout-ms",
    "600000",
    "--stall-timeout-ms",
    "600000",
    "--rate-min",
    "0",
    "--crowded-rate-min",
    "0",
];

fn start(combination: &Combination, site: &Fixture) -> Server {
    combination.start(&site.root(), &[FLAGS, FULL].concat())
}

#[test]
fn who_comes_while_nobody_can_be_taken_is_not_refused_for_good() {
    let site = Fixture::new();
    on_each(|combination| {
        // Whether there is room again while the crowd is there.
        for stays in [true, false] {
            let mut server = start(combination, &site);
            let admin = server.await_admin();
            let held: Vec<Wire> = (0..PLACES).map(|_| half_a_body(&server)).collect();
            let mut crowd = Some(Crowd::new(server.address));
            let waits = || queue(admin, server.address)["length"].as_u64() > Some(0);
            assert!(await_true(PATIENCE, waits), "{combination}: nobody waits");
            if stays {
                drop(held);
                await_flood(combination, admin);
                crowd.take();
            } else {
                crowd.take();
                drop(held);
            }
            check_calm(combination, &server, admin);
            server.stop();
        }
    });
}

/// Then no worker looks at the queue any more.
#[test]
fn where_all_places_are_taken_in_a_flood_nobody_is_refused_for_good() {
    let site = Fixture::new();
    on_each(|combination| {
        let mut server = start(combination, &site);
        let admin = server.await_admin();
        let crowd = Crowd::new(server.address);
        await_flood(combination, admin);
        let mut silent: Vec<OwnedFd> = Vec::new();
        let is_lifted = || {
            let are_enough = silent.len() >= 50 * PLACES;
            if !are_enough {
                silent.push(knock(server.address));
            }
            let told = admission(admin);
            // A crowd that a busy machine keeps from coming is none any more.
            told["lifted"].as_u64() > Some(0) || are_enough && is_calm(&told)
        };
        assert!(await_true(PATIENCE, is_lifted), "{combination}: {}", admission(admin));
        drop(silent);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}
