//! Who decides may die or stand still.

use std::net::SocketAddr;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::combination::Combination;
use crate::support::fixture::Fixture;
use crate::support::processes::{is_there, stop, workers_of};
use crate::support::server::{Server, send};
use crate::support::{PATIENCE, await_some, await_true};
use crate::{
    Crowd, RATE_TWICE, admission, admits_all, await_flood, check_calm, flags, flooded, is_calm,
    on_each, queues, refuses,
};

const TWO: &[&str] = &["--processes", "2"];
const OWN: &[&str] = &["--processes", "2", "--listener-queues", "own"];

/// Of two queues each has words of its own: some are refused at both, and nobody is afterwards.
#[test]
fn each_of_two_queues_knows_its_own_flood() {
    let site = Fixture::new();
    on_each(|combination| {
        if !combination.takes(TWO) || !combination.takes(&OWN[2..]) {
            return;
        }
        let mut server = combination.start(&site.root(), &[&flags(combination)[..], OWN].concat());
        let admin = server.await_admin();
        two_workers(&server);
        let told = || {
            let queues = queues(admin);
            let all = queues.as_array().expect("a list").iter();
            all.map(|queue| queue["admission"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(told().len(), 2, "{combination}: {:?}", told());
        let crowd = Crowd::at_rate(server.address, RATE_TWICE);
        let both_refuse = || told().iter().all(refuses);
        assert!(await_true(PATIENCE, both_refuse), "{combination}: {:?}", told());
        drop(crowd);
        let both_are_calm = || {
            // Whoever comes is who makes them look.
            let _ = server.fetch("/digits.txt");
            told().iter().all(is_calm)
        };
        assert!(await_true(PATIENCE, both_are_calm), "{combination}: {:?}", told());
        assert!(await_true(PATIENCE, || admits_all(server.address)), "{combination}");
        server.stop();
    });
}

/// Nobody is refused for good because a worker stands still, and it decides again when it goes on.
#[test]
fn what_no_worker_renews_is_lifted() {
    let site = Fixture::new();
    on_each(|combination| {
        let (server, admin, crowd) = flooded(combination, &site);
        let workers = workers_of(server.pid());
        workers.iter().for_each(|worker| stop(*worker));
        // A filter may have been lifted before, while a busy machine kept the workers from running.
        let is_lifted = || {
            let told = admission(admin);
            told["lifted"].as_u64() > Some(0) && told["share"] == 1.0
        };
        assert!(await_true(PATIENCE, is_lifted), "{combination}: {}", admission(admin));
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
    on_each(|combination| {
        let (server, admin, crowd) = flooded(combination, &site);
        workers_of(server.pid()).into_iter().for_each(|worker| send(worker, Signal::KILL));
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}

/// Of two workers, whichever of them decides.
fn check_the_other_takes_over(lose: fn(&Server, u32), regain: fn(&Server, u32)) {
    let site = Fixture::new();
    on_each(|combination| {
        if !combination.takes(TWO) {
            return;
        }
        let mut server = combination.start(&site.root(), &[&flags(combination)[..], TWO].concat());
        let admin = server.await_admin();
        let both = two_workers(&server);
        let crowd = Crowd::at_rate(server.address, RATE_TWICE);
        await_flood(combination, admin);
        for worker in both {
            lose(&server, worker);
            await_renewed(combination, admin);
            regain(&server, worker);
        }
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}

fn two_workers(server: &Server) -> Vec<u32> {
    let both = || Some(workers_of(server.pid())).filter(|all| all.len() == 2);
    await_some(PATIENCE, both).expect("two workers")
}

/// From now on somebody goes on deciding.
fn await_renewed(combination: &Combination, admin: SocketAddr) {
    let before = admission(admin);
    let is_renewed = |told: &Value| refuses(told) && told["wait_ns"] != before["wait_ns"];
    let told = await_some(PATIENCE, || Some(admission(admin)).filter(is_renewed));
    assert!(told.is_some(), "{combination}: nobody decides: {}", admission(admin));
}

#[test]
fn when_one_of_two_dies_the_flood_goes_on_being_known() {
    let die = |_: &Server, worker: u32| {
        send(worker, Signal::KILL);
        let is_gone = || !is_there(worker);
        assert!(await_true(PATIENCE, is_gone), "not dead");
    };
    check_the_other_takes_over(die, |server, _| drop(two_workers(server)));
}

#[test]
fn when_one_of_two_stands_still_the_flood_goes_on_being_known() {
    let goes_on = |_: &Server, worker: u32| send(worker, Signal::CONT);
    check_the_other_takes_over(|_, worker| stop(worker), goes_on);
}
