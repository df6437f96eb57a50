//! What the knobs of a ring say is so, and whatever they say clients and operators see the same.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::chosen::on_every_ring;
use crate::support::combination::Program;
use crate::support::fixture::{Fixture, pattern, write};
use crate::support::in_flight::site_with_a_huge_file;
use crate::support::metrics::counted;
use crate::support::processes::{self, descriptors, server_end, workers_of};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_lines, await_true};

/// More than the server keeps in memory, and than it sends in one turn.
const LARGE_BYTES: usize = 1 << 20;

/// A cooperative or polled ring has 128.
const MORE_THAN_BUFFERS: usize = 160;

/// Whatever is in memory of a file is sent by whom `--ring-files` names, and the trace says so.
#[test]
fn a_large_file_leaves_as_the_knobs_say_and_the_trace_tells() {
    on_every_ring(Program::Weir, |combination| {
        let site = Fixture::small();
        let content = pattern(LARGE_BYTES);
        write(&site.root().join("large.bin"), &content);
        let trace = site.beside("trace");
        let path = trace.to_str().expect("UTF-8");
        let server = combination.start(&site.root(), &["--trace", path]);
        let mut wire = server.connect();
        for _ in 0..2 {
            wire.get("/large.bin", "").expect("sent");
            let (_, body) = wire.reply(false).expect("a reply");
            assert!(body == content, "{combination}: other bytes than those of the file");
        }
        let text = await_lines(&trace, 2);
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let by = if combination.says("read") { "ring" } else { "loop" };
            assert_eq!(line["steps"]["send"]["by"], by, "{combination}: {line}");
            assert_eq!(line["steps"]["receive"]["by"], "ring", "{combination}: {line}");
        }
        server.stop();
    });
}

/// An access log and an address's quota know a client by its address, whatever its socket is.
#[test]
fn clients_are_known_by_their_addresses() {
    on_every_ring(Program::Weir, |combination| {
        let site = Fixture::small();
        let log = site.beside("log");
        let path = log.to_str().expect("UTF-8");
        let flags = ["--access-log", path, "--address-connections-max", "2"];
        let server = combination.start(&site.root(), &flags);
        let mut wires = [(); 3].map(|()| server.connect());
        let status = |wire: &mut Wire| {
            wire.get("/digits.txt", "").expect("sent");
            wire.reply(false).map(|(head, _)| head.status).unwrap_or_default()
        };
        let statuses: Vec<_> = wires.iter_mut().map(status).collect();
        assert_eq!(statuses[..2], [200, 200], "{combination}");
        assert_ne!(statuses[2], 200, "{combination}: more than an address may have");
        server.stop();
        let text = fs::read_to_string(&log).expect("a log");
        let known = text.lines().filter(|line| line.starts_with("127.0.0.1 ")).count();
        assert!(known >= 2 && known == text.lines().count(), "{combination}: {text}");
    });
}

/// The process has a connection among its descriptors, or the ring alone has it; when it is closed
/// nobody has it any more.
#[test]
fn sockets_are_where_the_knobs_say() {
    let site = Fixture::new();
    on_every_ring(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        wire.get("/digits.txt", "").expect("sent");
        wire.reply(false).expect("answered");
        let end = server_end(server.address, wire.local_address()).expect("the server's end");
        let is_held = |server: &Server| {
            let has = format!("socket:[{end}]");
            let workers = workers_of(server.pid());
            workers.iter().any(|worker| descriptors(*worker).values().any(|is| *is == has))
        };
        assert_eq!(is_held(&server), !combination.says("direct"), "{combination}");
        let client = wire.local_address();
        drop(wire);
        let is_gone = || server_end(server.address, client).is_none_or(|inode| inode == 0);
        assert!(await_true(PATIENCE, is_gone), "{combination}: it is not closed");
        assert!(!is_held(&server), "{combination}: a descriptor is left");
        server.stop();
    });
}

/// Requests of more clients than a ring has buffers for, all of them there at once: those that find
/// none are put off, and answered in their turn.
#[test]
fn more_requests_at_once_than_there_are_buffers_are_all_answered() {
    let site = Fixture::new();
    on_every_ring(Program::Weir, |combination| {
        // Each waits for all others to ask.
        let patient = ["--head-timeout-ms", "600000", "--idle-timeout-ms", "600000"];
        let flags = [&["--admin", "127.0.0.1:0"], &patient[..]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let mut wires: Vec<_> = (0..MORE_THAN_BUFFERS).map(|_| server.connect()).collect();
        for wire in &mut wires {
            wire.get("/digits.txt", "").expect("sent");
            wire.reply(false).unwrap_or_else(|e| panic!("{combination}: the first: {e}"));
        }
        let workers = workers_of(server.pid());
        workers.iter().for_each(|worker| processes::stop(*worker));
        for wire in &mut wires {
            wire.get("/digits.txt", "").expect("sent");
        }
        workers.iter().for_each(|worker| send(*worker, Signal::CONT));
        for wire in &mut wires {
            wire.reply(false).unwrap_or_else(|e| panic!("{combination}: the second: {e}"));
        }
        let put_off = || counted(admin, "receives_put_off") > 0.0;
        // A polled ring's kernel thread receives little by little.
        let at_once = combination.says("cooperative");
        assert!(!at_once || await_true(PATIENCE, put_off), "{combination}: all found buffers");
        server.stop();
    });
}

/// However much is pending, all of it is done in the end: of one work phase that has no end, or of
/// many which end after a piece each, and newcomers are accepted between them.
#[test]
fn work_that_is_pending_is_done_in_pieces_as_large_as_the_knob_says() {
    let site = Fixture::new();
    on_every_ring(Program::Weir, |combination| {
        for most in ["1", "inf"] {
            let flags = ["--admin", "127.0.0.1:0", "--work-pending-max", most];
            if !combination.takes(&flags[2..]) {
                return;
            }
            let mut server = combination.start(&site.root(), &flags);
            let admin = server.await_admin();
            let mut wires: Vec<_> = (0..40).map(|_| server.connect()).collect();
            for wire in &mut wires {
                wire.get("/digits.txt", "").expect("sent");
            }
            assert!(server.fetch("/digits.txt").is_ok(), "{combination}, {most}: a newcomer");
            for wire in &mut wires {
                wire.reply(false).unwrap_or_else(|e| panic!("{combination}, {most}: {e}"));
            }
            let (worked, phases) = (counted(admin, "worked"), counted(admin, "work_phases"));
            let is_bounded = most == "inf" || worked <= phases;
            assert!(is_bounded, "{combination}: {worked} connections in {phases} phases of one");
            server.stop();
        }
    });
}

/// A client that reads nothing fills its socket, so that nothing of it is in flight but the wait
/// for room; its patience ends all the same, and what it has not taken is not kept. Others are
/// served meanwhile.
#[test]
fn a_client_that_does_not_read_is_cut_off_and_forgotten() {
    let site = site_with_a_huge_file();
    let flags = ["--rate-window-ms", "500", "--stall-timeout-ms", "1000"];
    on_every_ring(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &flags);
        let mut wire = Wire::narrow(server.address, 0, 4096).expect("a connection");
        wire.get("/huge.bin", "").expect("sent");
        if let Err(fault) = wire.head() {
            // A machine that stood still meanwhile: the connection is cut off by now.
            assert!(fault.starts_with("a reset"), "{combination}: no head: {fault}");
        }
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}");
        let is_there = || server_end(server.address, wire.local_address()).is_some();
        assert!(await_true(PATIENCE, || !is_there()), "{combination}: its reply is kept");
        let said = server.stop();
        assert!(said.contains(" 1 timeouts"), "{combination}: it has ended otherwise: {said}");
    });
}

/// Whoever is sent to, or waits to be, hears the rest in a drain; then nothing is left.
#[test]
fn a_drain_ends_what_is_in_hand() {
    let site = Fixture::new();
    let content = pattern(8 * LARGE_BYTES);
    write(&site.root().join("large.bin"), &content);
    on_every_ring(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &[]);
        let mut wire = Wire::narrow(server.address, 0, 16 << 10).expect("a connection");
        wire.get("/large.bin", "").expect("sent");
        wire.head().expect("a head");
        let mut late = server.connect();
        late.get("/digits.txt", "").expect("sent");
        server.signal(Signal::TERM);
        let body = wire.bytes(content.len()).unwrap_or_else(|e| panic!("{combination}: {e}"));
        assert!(body == content, "{combination}: other bytes than those of the file");
        late.reply(false).unwrap_or_else(|e| panic!("{combination}: who had come: {e}"));
        drop((wire, late));
        let ended = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(ended, Some(0), "{combination}");
    });
}
