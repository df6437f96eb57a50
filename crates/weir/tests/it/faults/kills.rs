//! Workers that are killed between two steps: who woke one, and who was just accepted by one. They
//! stand still there because the test says so, and not by luck.

use rustix::process::Signal;

use crate::support::chosen::{on_mechanisms, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::load::{Counts, Load, PAUSE};
use crate::support::processes::{descriptors, is_there, resident_kb, stands_still, workers_of};
use crate::support::server::{Server, send};
use crate::support::{PATIENCE, await_some, await_true};

const TWO: &[&str] = &["--processes", "2"];
const OWN: &[&str] = &["--processes", "2", "--listener-queues", "own"];
const SOON: &[&str] = &["--restart-wait-max-ms", "1"];
const KILLS: usize = 100;
/// At each change, of kills between the same two steps.
const SOME_KILLS: usize = 20;
/// Of the load, each with one connection at a time.
const CLIENTS: usize = 4;
/// What an allocator may take beside what is held: a worker's rows are far more.
const LEFT_KB_MAX: u64 = 512;

/// Whether the binary can be told where to stop: it is built as this test is.
fn can_be_stopped() -> bool {
    if !cfg!(debug_assertions) {
        harness::skip("needs a build with debug assertions");
    }
    cfg!(debug_assertions)
}

fn kills() -> usize {
    if harness::is_full() { KILLS } else { SOME_KILLS }
}

fn start(combination: &Combination, site: &Fixture, queues: &[&str], stop: &str) -> Server {
    let takes = (0..queues.len()).step_by(2).all(|flag| combination.takes(&queues[flag..]));
    let queues = if takes { queues } else { &[] };
    let mut command = combination.command(&site.root(), &[SOON, queues].concat());
    command.env("WEIR_STOP", format!("{stop}*{}", kills()));
    Server::start(command, combination.program.key())
}

/// Kills the worker that stands still next.
fn kill_next(combination: &Combination, server: &Server) {
    let stopped = || workers_of(server.pid()).into_iter().find(|pid| stands_still(*pid));
    let worker = await_some(PATIENCE, stopped);
    let worker = worker.unwrap_or_else(|| panic!("{combination}: nobody stands still"));
    send(worker, Signal::KILL);
    let is_gone = await_true(PATIENCE, || !is_there(worker));
    assert!(is_gone, "{combination}: not dead");
}

/// Each takes its wake-up along, and nobody else comes to wake another.
#[test]
fn who_woke_a_worker_that_is_killed_is_served_by_another() {
    let site = Fixture::new();
    for queues in [TWO, OWN] {
        // A ring has the kernel accept: there is nothing between the two.
        let accepts = |combination: &Combination| !combination.has("ring");
        on_mechanisms_where(Program::Weir, accepts, |combination| {
            if !can_be_stopped() {
                return;
            }
            let server = start(combination, &site, queues, "woken");
            let mut wire = server.asking(server.address, "/digits.txt");
            kill_next(combination, &server);
            let held = descriptors(server.pid()).len();
            (1..kills()).for_each(|_| kill_next(combination, &server));
            let answered = wire.reply(false).map(|(head, body)| (head.status, body));
            assert_eq!(answered, Ok((200, DIGITS.to_vec())), "{combination}, {queues:?}");
            let is_none_left = || descriptors(server.pid()).len() <= held;
            assert!(await_true(PATIENCE, is_none_left), "{combination}: some are left");
            server.stop();
        });
    }
}

/// Under load, wherever they are just then: whoever had come to others is served on, and of the
/// dead nothing is left with the supervisor.
#[test]
fn a_hundred_kills_under_load_leave_nothing_behind() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let (number, flags) = if combination.takes(TWO) { (2, TWO) } else { (1, &[][..]) };
        let server = combination.start(&site.root(), &[SOON, flags].concat());
        let load = Load::paced(server.address, "/digits.txt", CLIENTS, (true, PAUSE));
        let kill = |nth: usize| {
            let workers = || Some(workers_of(server.pid())).filter(|all| !all.is_empty());
            let workers = await_some(PATIENCE, workers).expect("a worker");
            let worker = workers[nth % workers.len()];
            let before = load.answered();
            send(worker, Signal::KILL);
            let is_gone = await_true(PATIENCE, || !is_there(worker));
            assert!(is_gone, "{combination}: not dead");
            let goes_on = await_true(PATIENCE, || load.answered() > before);
            assert!(goes_on, "{combination}: after kill {nth} nobody is answered");
        };
        (0..KILLS / 2).for_each(kill);
        let held = (descriptors(server.pid()).len(), resident_kb(server.pid()));
        (KILLS / 2..KILLS).for_each(kill);
        let is_all_there = || workers_of(server.pid()).len() >= number;
        assert!(await_true(PATIENCE, is_all_there), "{combination}: workers are missing");
        let counts = load.stop();
        let is_none_left = || descriptors(server.pid()).len() <= held.0;
        assert!(await_true(PATIENCE, is_none_left), "{combination}: some are left");
        let resident = resident_kb(server.pid());
        assert!(resident <= held.1 + LEFT_KB_MAX, "{combination}: {held:?}, then {resident} KB");
        assert_eq!(Counts::of(&counts.refused), 0, "{combination}: a connection was refused");
        let lost = Counts::of(&counts.broken) + Counts::of(&counts.unanswered);
        assert!(lost <= KILLS * CLIENTS, "{combination}: {counts:?}");
        server.stop();
    });
}

/// It is lost with its worker, and nothing else is.
#[test]
fn who_was_accepted_by_a_worker_that_is_killed_alone_is_lost() {
    let site = Fixture::new();
    for queues in [TWO, OWN] {
        on_mechanisms(Program::Weir, |combination| {
            if !can_be_stopped() {
                return;
            }
            let server = start(combination, &site, queues, "accepted");
            for kill in 0..kills() {
                let mut wire = server.asking(server.address, "/digits.txt");
                kill_next(combination, &server);
                let answered = wire.reply(false);
                assert!(answered.is_err(), "{combination}, {queues:?}: kill {kill}: {answered:?}");
            }
            for _ in 0..10 {
                let fetched = server.fetch("/digits.txt");
                assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}, {queues:?}");
            }
            server.stop();
        });
    }
}
