//! Each listening socket has an admission of its own, and some are somebody else's.

use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Signal;

use crate::support::combination::Combination;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::processes::{is_there, workers_of};
use crate::support::server::Server;
use crate::support::{PATIENCE, await_true};
use crate::{Crowd, admits_all, await_flood, check_calm, flags, is_calm, on_each, queue, refuses};

const ANOTHER: &[&str] = &["--listen", "127.0.0.1:0"];

#[test]
fn a_flood_at_one_socket_is_none_at_another_and_ends_where_nobody_comes() {
    let site = Fixture::new();
    on_each(|combination| {
        // Whether somebody comes to the other one afterwards.
        for comes in [false, true] {
            let mut server =
                combination.start(&site.root(), &[&flags(combination)[..], ANOTHER].concat());
            let admin = server.await_admin();
            let [flooded, calm] = server.addresses[..] else { panic!("two addresses") };
            let told = || {
                let [told, other] = [flooded, calm].map(|at| queue(admin, at)["admission"].clone());
                assert!(is_calm(&other), "{combination}: {other}");
                told
            };
            // A client that a busy machine keeps from sending its head for long is evicted by `mp`.
            let is_evicted = |told: &String| told.starts_with("FIN where a reply was due, after 0");
            let fetches = || match server.fetch_from(calm, "/digits.txt") {
                Err(told) if combination.row["holder"] == "process" && is_evicted(&told) => false,
                fetched => {
                    assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}");
                    true
                }
            };
            let crowd = Crowd::new(flooded);
            assert!(await_true(PATIENCE, || refuses(&told())), "{combination}: {}", told());
            assert!(await_true(PATIENCE, fetches), "{combination}: the other does not answer");
            assert!(await_true(PATIENCE, || refuses(&told())), "{combination}: {}", told());
            drop(crowd);
            let is_over = || (!comes || fetches()) && is_calm(&told());
            assert!(await_true(PATIENCE, is_over), "{combination}: {}", told());
            for address in [flooded, calm] {
                let is_free = || is_calm(&told()) && admits_all(address);
                assert!(await_true(PATIENCE, is_free), "{combination}: some are refused");
            }
            server.stop();
        }
    });
}

/// One that outlives who serves there.
fn lent() -> TcpListener {
    let lent = TcpListener::bind("127.0.0.1:0").expect("a port");
    fcntl_setfd(&lent, FdFlags::empty()).expect("set");
    lent
}

fn start_on(combination: &Combination, site: &Fixture, lent: &TcpListener) -> Server {
    let arguments = combination.arguments(&site.root(), &flags(combination));
    let is_port = |argument: &String| argument == "127.0.0.1:0";
    let at = arguments.iter().position(is_port).expect("--listen");
    let mut command = Command::new(combination.program.path());
    command.args(&arguments[..at]).arg(format!("fd:{}", lent.as_raw_fd()));
    command.args(&arguments[at + 1..]);
    Server::start(command, 0)
}

/// A socket that was lent outlives the server, and so would what was set for it.
#[test]
fn a_lent_socket_is_given_back_as_it_was() {
    let site = Fixture::new();
    on_each(|combination| {
        let lent = lent();
        let mut server = start_on(combination, &site, &lent);
        let (address, admin) = (server.address, server.await_admin());
        let crowd = Crowd::new(address);
        await_flood(combination, admin);
        drop(crowd);
        server.stop();
        let all = || admits_all(address);
        assert!(await_true(PATIENCE, all), "{combination}: some are refused");
    });
}

/// Who is killed gives nothing back, and the next one has to.
#[test]
fn who_is_killed_in_a_flood_leaves_nobody_refused_by_the_next() {
    let site = Fixture::new();
    on_each(|combination| {
        let lent = lent();
        let mut killed = start_on(combination, &site, &lent);
        let (address, admin) = (killed.address, killed.await_admin());
        let crowd = Crowd::new(address);
        await_flood(combination, admin);
        let workers = workers_of(killed.pid());
        killed.signal(Signal::KILL);
        let are_gone = || !workers.iter().any(|worker| is_there(*worker));
        assert!(killed.ended(PATIENCE).is_some() && await_true(PATIENCE, are_gone));
        drop(crowd);
        assert!(!admits_all(address), "{combination}: nobody is refused");
        let mut server = start_on(combination, &site, &lent);
        let admin = server.await_admin();
        check_calm(combination, &server, admin);
        server.stop();
    });
}
