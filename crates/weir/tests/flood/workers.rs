//! Who decides may die or stand still.

use rustix::process::Signal;

use crate::support::fixture::Fixture;
use crate::support::processes::{children, stop};
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};
use crate::{admission, await_flood, check_calm, flooded, on_each_architecture};

/// Nobody is refused for good because a worker stands still, and it decides again when it goes on.
#[test]
fn what_no_worker_renews_is_lifted() {
    let site = Fixture::new();
    on_each_architecture(|combination| {
        let (server, admin, crowd) = flooded(combination, &site);
        let workers = children(server.pid());
        workers.iter().for_each(|worker| stop(*worker));
        let is_lifted = || admission(admin)["lifted"].as_u64() > Some(0);
        assert!(await_true(PATIENCE, is_lifted), "{combination}: {}", admission(admin));
        assert_eq!(admission(admin)["share"], 1.0, "{combination}");
        workers.iter().for_each(|worker| send(*worker, Signal::CONT));
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}

#[test]
fn a_worker_that_dies_leaves_nobody_refused() {
    let site = Fixture::new();
    on_each_architecture(|combination| {
        let (server, admin, crowd) = flooded(combination, &site);
        children(server.pid()).into_iter().for_each(|worker| send(worker, Signal::KILL));
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}
