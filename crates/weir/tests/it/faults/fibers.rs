//! Where fibers serve: many of them end in a drain, one that overflows ends its process with a
//! line, and what the scheduler does is counted.

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms_where;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture, LARGE_BYTES};
use crate::support::in_flight::{HUGE_BYTES, in_flight, site_with_a_huge_file};
use crate::support::metrics::counted;
use crate::support::processes::{threads, workers_of};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

const FIBERS: usize = 2000;

fn has_fibers(combination: &Combination) -> bool {
    combination.row["holder"] == "fiber"
}

fn on_fibers(program: Program, test: impl Fn(&Combination, &str) + Sync) {
    on_mechanisms_where(program, has_fibers, |combination| {
        ["off", "on"].iter().for_each(|acceptor| test(combination, acceptor));
    });
}

/// Each runs to its end, wherever it is parked: before a request, within a head, after a reply.
#[test]
fn thousands_of_parked_fibers_end_in_a_drain() {
    let site = Fixture::new();
    on_fibers(Program::Weir, |combination, acceptor| {
        let flags = ["--acceptor", acceptor, "--connections-max", "3000"];
        let server = combination.start(&site.root(), &flags);
        let parked = |n| {
            let mut wire = server.connect();
            match n % 3 {
                0 => {}
                1 => wire.send(b"GET / HTTP/1.1\r\nHost:").expect("sent"),
                _ => {
                    wire.get("/digits.txt", "").expect("sent");
                    assert_eq!(wire.reply(false).expect("answered").1, DIGITS, "{combination}");
                }
            }
            wire
        };
        let mut wires: Vec<Wire> = (0..FIBERS).map(parked).collect();
        let said = server.stop();
        assert!(said.contains(&format!("{FIBERS} connections")), "{combination}: {said}");
        for wire in &mut wires {
            wire.rest().expect("an end, and no reset");
        }
    });
}

/// Who has come by then is taken in, also where the fiber that accepts ends with that.
#[test]
fn who_waits_when_a_drain_begins_is_served() {
    let site = Fixture::new();
    on_fibers(Program::Weir, |combination, acceptor| {
        let mut server = combination.start(&site.root(), &["--acceptor", acceptor]);
        let one = || Some(workers_of(server.pid())).filter(|all| all.len() == 1);
        let worker = await_some(PATIENCE, one).expect("one worker")[0];
        send(worker, Signal::STOP);
        let ask = |_| {
            let mut wire = server.connect();
            wire.get("/digits.txt", "").expect("sent");
            wire
        };
        let mut wires = [1, 2, 3, 4, 5].map(ask);
        server.signal(Signal::TERM);
        server.await_line("draining for at most");
        send(worker, Signal::CONT);
        for wire in &mut wires {
            assert_eq!(wire.reply(false).expect("answered").1, DIGITS, "{combination}");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: --acceptor {acceptor}");
    });
}

#[test]
fn an_overflow_ends_its_process_with_a_line_and_the_next_one_serves() {
    let site = Fixture::new();
    on_fibers(Program::Mortal, |combination, acceptor| {
        let mut server = combination.start(&site.root(), &["--acceptor", acceptor]);
        let mut wire = server.connect();
        wire.get("/deep", "").expect("sent");
        assert!(wire.reply(false).is_err(), "{combination}: answered");
        server.await_line("the stack of a fiber has overflowed");
        let serves = || server.fetch("/digits.txt") == Ok(DIGITS.to_vec());
        assert!(await_true(PATIENCE, serves), "{combination}: nobody follows");
        server.stop();
    });
}

/// A worker that sends although nobody has looked whether the client takes bytes waits for it, in
/// poll(2) (Pariag07 4.3); then another is served.
#[test]
fn workers_wait_for_clients_that_take_nothing() {
    let site = site_with_a_huge_file();
    let one = ["--sendfile", "nonblocking", "--helpers", "1"];
    on_mechanisms_where(Program::Weir, has_fibers, |combination| {
        let server = combination.start(&site.root(), &one);
        let mut held_up = in_flight(&server, 1);
        let waits_in = |worker: u32| -> Option<String> {
            let thread = threads(worker).into_iter().find(|(_, name)| name == "weir-worker")?.0;
            std::fs::read_to_string(format!("/proc/{worker}/task/{thread}/wchan")).ok()
        };
        let waits = || {
            let mut in_all = workers_of(server.pid()).into_iter().filter_map(waits_in);
            in_all.any(|within| within.contains("poll"))
        };
        assert!(await_true(PATIENCE, waits), "{combination}: the worker never waits");
        let other = server.fetch("/large.bin").map(|all| all.len());
        assert_eq!(other, Ok(LARGE_BYTES), "{combination}");
        held_up[0].bytes(HUGE_BYTES).expect("all of it, in the end");
        server.stop();
    });
}

#[test]
fn switches_and_hits_of_the_bound_are_counted() {
    let site = Fixture::new();
    on_fibers(Program::Weir, |combination, acceptor| {
        let few = ["--connections-max", "1", "--make-room", "off", "--admin", "127.0.0.1:0"];
        let flags = [&["--acceptor", acceptor], &few[..]].concat();
        let mut server: Server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let mut wire = server.connect();
        for _ in 0..10 {
            wire.get("/digits.txt", "").expect("sent");
            wire.reply(false).expect("answered");
        }
        let counted = |name: &str, least: f64| {
            let is_told = || counted(admin, name) >= least;
            assert!(await_true(PATIENCE, is_told), "{combination}: {name}");
        };
        // One for each request, and what is accepted fills the only place.
        counted("user_switches", 10.0);
        counted("bounded", 1.0);
        let mut other = server.connect();
        other.get("/digits.txt", "Connection: close\r\n").expect("sent");
        drop(wire);
        assert_eq!(other.reply(false).expect("answered in its time").1, DIGITS, "{combination}");
        server.stop();
    });
}
