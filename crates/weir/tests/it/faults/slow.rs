//! Clients that are slow on purpose.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::chosen::{on_mechanisms, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{Fixture, pattern, write};
use crate::support::in_flight::site_with_a_huge_file;
use crate::support::processes::{server_end, sockets, stop, workers_of};
use crate::support::server::send;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, at_some_scale, await_some, await_true};

#[test]
fn a_head_that_is_trickled_is_cut_off_in_total_and_told_so() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &["--head-timeout-ms", "600"]);
        let mut wire = server.connect();
        // Never a pause as long as the timeout: what counts is the whole.
        // The bytes suffice for as long as a server may take on a slow machine.
        let head = b"GET /digits.txt HTTP/1.1\r\nHost: a\r\nX: ".iter().chain([&b'x'; 1200]);
        let mut reply = None;
        wire.set_patience(Duration::from_millis(50));
        for byte in head {
            if wire.send(&[*byte]).is_err() {
                break;
            }
            if let Ok(head) = wire.head() {
                reply = Some(head);
                break;
            }
        }
        let reply = reply.unwrap_or_else(|| panic!("{combination}: no reply to a trickled head"));
        assert_eq!(reply.status, 408, "{combination}");
        assert!(reply.closes(), "{combination}: 408 without an announced end");
        server.stop();
    });
}

#[test]
fn an_idle_connection_is_closed_quietly() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &["--idle-timeout-ms", "300"]);
        let mut wire = server.connect();
        wire.get("/digits.txt", "").expect("sent");
        wire.reply(false).expect("answered");
        assert_eq!(wire.end(), Ok(()), "{combination}");
        server.stop();
    });
}

#[test]
fn a_body_that_is_trickled_is_cut_off() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--rate-window-ms", "300", "--stall-timeout-ms", "5000"];
        let server = combination.start(&site.root(), &flags);
        let mut wire = server.connect();
        wire.get("/digits.txt", "Content-Length: 60000\r\n").expect("sent");
        wire.set_patience(Duration::from_millis(50));
        let cut = await_true(PATIENCE, || {
            wire.send(b"x").is_err()
                || match wire.head() {
                    Ok(head) => head.status == 408,
                    Err(fault) => !fault.starts_with("nothing came"),
                }
        });
        assert!(cut, "{combination}: 20 bytes a second are let through");
        server.stop();
    });
}

/// Patience that was over is counted, and a client that keeps his end open when all was said is
/// none that it was over for.
#[test]
fn the_same_clients_are_as_many_timeouts_everywhere() {
    let site = Fixture::new();
    // What a client sends before it does nothing more, whose patience is short, and how many
    // timeouts that is.
    let get = "GET /digits.txt HTTP/1.1\r\nHost: a\r\n";
    let rows: [(String, &[&str], u32); 6] = [
        (format!("{get}Connection: close\r\n\r\n"), &[], 0),
        (format!("{get}\r\n"), &["--idle-timeout-ms", "300"], 1),
        (format!("{get}Connection: close\r\n\r\nmore"), &[], 1),
        (String::from("nonsense\r\n\r\n"), &[], 1),
        (String::from("GET / HTTP/1.1\r\n"), &["--head-timeout-ms", "1500"], 2),
        (String::new(), &["--head-timeout-ms", "300"], 1),
    ];
    on_mechanisms(Program::Weir, |combination| {
        for (request, flags, expected) in &rows {
            let server = combination.start(&site.root(), flags);
            // The request is there before the server sees the connection, however slow the client
            // is.
            let workers = || Some(workers_of(server.pid())).filter(|all| !all.is_empty());
            let workers = await_some(PATIENCE, workers).expect("a worker");
            workers.iter().for_each(|worker| stop(*worker));
            let mut wire = server.connect();
            wire.send(request.as_bytes()).expect("sent");
            workers.iter().for_each(|worker| send(*worker, Signal::CONT));
            // A byte or an end: it was accepted. An end that nobody holds any more has no inode.
            let _ = wire.bytes(1);
            let end = || server_end(server.address, wire.local_address());
            let is_held = || end().is_some_and(|inode| inode != 0);
            assert!(await_true(PATIENCE, || !is_held()), "{combination}: {request:?} is held");
            let said = server.stop();
            let told = format!(" {expected} timeouts");
            assert!(said.contains(&told), "{combination}: {request:?}: not{told}: {said}");
        }
    });
}

/// A client that reads nothing: its window closes, the server's buffer fills, and then not one byte
/// is sent.
#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let site = Fixture::new();
    let file = std::fs::File::create(site.root().join("huge.bin")).expect("a file");
    file.set_len(48 << 20).expect("its length");
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--rate-window-ms", "2000", "--stall-timeout-ms", "3000"];
        let flags = [&flags[..], &["--idle-timeout-ms", "600000"]].concat();
        let server = combination.start(&site.root(), &flags);
        let mut wire = server.connect();
        // While the connection is idle there is time to find it.
        wire.get("/digits.txt", "").expect("sent");
        wire.reply(false).expect("answered");
        let inode = server_end(server.address, wire.local_address()).expect("the server's end");
        let held =
            || workers_of(server.pid()).iter().any(|worker| sockets(*worker).contains(&inode));
        assert!(held(), "{combination}: the connection is not found");
        wire.get("/huge.bin", "").expect("sent");
        begins(combination, &mut wire);
        let cut = await_true(PATIENCE, || !held());
        assert!(cut, "{combination}: a client that reads nothing is waited for");
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}");
        let said = server.stop();
        assert!(said.contains(" 1 timeouts"), "{combination}: {said}");
    });
}

/// Where a file's part is sent by a call that waits, it waits for its client, and not for ever;
/// nobody waits with it but its worker. Who asks for nothing, or takes no head, holds up nobody.
#[test]
fn a_client_that_does_not_read_holds_up_its_worker_alone() {
    let site = site_with_a_huge_file();
    let patience = ["--rate-window-ms", "500", "--stall-timeout-ms", "1000"];
    // A worker that is a thread waits for one client in any case.
    let can_wait = |combination: &Combination| {
        combination.row["holder"] == "loop" && combination.takes(&["--sendfile", "blocking"])
    };
    on_mechanisms_where(Program::Weir, can_wait, |combination| {
        for processes in ["1", "2"] {
            let blocking = ["--sendfile", "blocking", "--processes", processes];
            let server = combination.start(&site.root(), &[&patience[..], &blocking].concat());
            let silent = server.connect();
            assert!(server.fetch("/digits.txt").is_ok(), "{combination}: the silent one waits");
            let mut wire = Wire::narrow(server.address, 0, 4096).expect("a connection");
            wire.get("/huge.bin", "").expect("sent");
            begins(combination, &mut wire);
            if processes == "2" {
                for _ in 0..10 {
                    assert!(server.fetch("/digits.txt").is_ok(), "{combination}: both wait");
                }
            }
            let is_there = || server_end(server.address, wire.local_address()).is_some();
            assert!(await_true(PATIENCE, || !is_there()), "{combination}: it is waited for");
            assert!(server.fetch("/digits.txt").is_ok(), "{combination}: after that");
            drop(silent);
            server.stop();
        }
    });
}

/// What a client has not taken in time the kernel does not keep for it either: a reset drops it.
#[test]
fn what_a_client_does_not_read_is_forgotten() {
    let site = site_with_a_huge_file();
    let flags = ["--rate-window-ms", "500", "--stall-timeout-ms", "1000"];
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &flags);
        let mut wire = Wire::narrow(server.address, 0, 4096).expect("a connection");
        wire.get("/huge.bin", "").expect("sent");
        begins(combination, &mut wire);
        // A socket that no process has any more is still listed, until the kernel drops it.
        let is_there = || server_end(server.address, wire.local_address()).is_some();
        assert!(await_true(PATIENCE, || !is_there()), "{combination}: its reply is kept");
        let said = server.stop();
        assert!(said.contains(" 1 timeouts"), "{combination}: it has ended otherwise: {said}");
    });
}

/// Waits for the head of a reply. On a machine that stands still meanwhile the server may have cut
/// the connection off by then, which is what the caller waits for.
fn begins(combination: &Combination, wire: &mut Wire) {
    if let Err(fault) = wire.head() {
        assert!(fault.starts_with("a reset"), "{combination}: no head: {fault}");
    }
}

/// A client may stand still for as long as a silence may last, again and again: the kernel is not
/// stricter.
#[test]
fn a_client_that_pauses_is_served() {
    const BYTES: usize = 64 << 10;
    const SIP_BYTES: usize = 16 << 10;
    // At scale 1, in milliseconds, as the two below.
    const PAUSE_MS: u32 = 700;
    const WINDOW_MS: u32 = 500;
    const STALL_MS: u32 = 1000;
    let site = Fixture::new();
    write(&site.root().join("paused.bin"), &pattern(BYTES));
    let pauses = |combination: &Combination, scale: u32| {
        let [window, stall] = [WINDOW_MS, STALL_MS].map(|ms| (ms * scale).to_string());
        let rate = (500 / scale).to_string();
        let flags = ["--rate-window-ms", &window, "--stall-timeout-ms", &stall];
        let flags = [&flags[..], &["--rate-min", &rate]].concat();
        let server = combination.start(&site.root(), &flags);
        let mut wire = Wire::narrow(server.address, 0, SIP_BYTES / 4).expect("a connection");
        wire.get("/paused.bin", "").expect("sent");
        let mut left = wire.head().expect("a head").length().expect("a length");
        while left > 0 {
            std::thread::sleep(Duration::from_millis((PAUSE_MS * scale).into()));
            let sip = left.min(SIP_BYTES);
            wire.bytes(sip).unwrap_or_else(|fault| panic!("{combination}: {fault}"));
            left -= sip;
        }
        server.stop();
    };
    on_mechanisms(Program::Weir, |combination| {
        at_some_scale(|scale| pauses(combination, scale));
    });
}

#[test]
fn a_client_that_breaks_off_is_counted() {
    let site = Fixture::new();
    let file = std::fs::File::create(site.root().join("huge.bin")).expect("a file");
    file.set_len(48 << 20).expect("its length");
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        wire.get("/huge.bin", "").expect("sent");
        wire.head().expect("a head");
        // With bytes unread this is a reset.
        drop(wire);
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}");
        let said = server.stop();
        assert!(said.contains(" 1 of peers"), "{combination}: not counted: {said}");
    });
}

/// A slow client that does read gets everything.
#[test]
fn a_client_that_reads_slowly_but_steadily_is_served() {
    let site = Fixture::new();
    let reads = |combination: &Combination, scale: u32| {
        let [window, stall] = [300, 1000].map(|ms: u32| (ms * scale).to_string());
        let flags = ["--rate-window-ms", &window, "--stall-timeout-ms", &stall];
        let server = combination.start(&site.root(), &flags);
        let mut wire = server.connect();
        wire.get("/large.bin", "").expect("sent");
        let length = wire.head().expect("a head").length().expect("a length");
        let mut left = length;
        while left > 0 {
            let part = left.min(300_000);
            wire.bytes(part).unwrap_or_else(|fault| panic!("{combination}: {fault}"));
            left -= part;
            std::thread::sleep(Duration::from_millis((100 * scale).into()));
        }
        wire.get("/digits.txt", "").expect("sent");
        assert_eq!(wire.reply(false).expect("in step").0.status, 200, "{combination}");
        server.stop();
    };
    on_mechanisms(Program::Weir, |combination| {
        at_some_scale(|scale| reads(combination, scale));
    });
}

/// Who takes a piece of a file for longer than a silence may last, but takes bytes all the time, is
/// not silent: also where a session has coded the piece, and counts it in other bytes.
#[test]
fn a_client_that_takes_bytes_all_the_time_is_not_late() {
    const BYTES: usize = 96 << 10;
    // 11 KiB a second at scale 1: 64 KiB take three silences. Of these each is long enough for a
    // client that does not come to run at once.
    const SIP_BYTES: usize = 2 << 10;
    const SIP_MS: u32 = 180;
    let site = Fixture::new();
    write(&site.root().join("sipped.bin"), &pattern(BYTES));
    let sips = |combination: &Combination, scale: u32| {
        let [window, stall] = [300, 2000].map(|ms: u32| (ms * scale).to_string());
        let flags = ["--rate-window-ms", &window, "--stall-timeout-ms", &stall];
        let rate = (500 / scale).to_string();
        let flags = [&flags[..], &["--rate-min", &rate, "--send-buffer-kb", "4"]].concat();
        let server = combination.start(&site.root(), &flags);
        let key = combination.program.key();
        let mut wire = Wire::narrow(server.address, key, SIP_BYTES).expect("a connection");
        wire.get("/sipped.bin", "").expect("sent");
        let mut left = wire.head().expect("a head").length().expect("a length");
        while left > 0 {
            let sip = left.min(SIP_BYTES);
            wire.bytes(sip).unwrap_or_else(|fault| panic!("{combination}: {fault}"));
            left -= sip;
            std::thread::sleep(Duration::from_millis((SIP_MS * scale).into()));
        }
        server.stop();
    };
    for program in [Program::Weir, Program::Recoded] {
        on_mechanisms(program, |combination| {
            at_some_scale(|scale| sips(combination, scale));
        });
    }
}
