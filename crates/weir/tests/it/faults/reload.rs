//! SIGHUP and SIGUSR2: others serve, and nobody notices.

use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program, combinations};
use crate::support::fixture::{DIGITS, Fixture, no_settings};
use crate::support::home::Home;
use crate::support::in_flight::{HUGE_BYTES, asked, in_flight, site_with_a_huge_file};
use crate::support::load::{Counts, Load, PAUSE};
use crate::support::processes::{followers_of, is_there, workers_of};
use crate::support::server::{Server, send};
use crate::support::slow::{DIRECTORY, Operation, SlowFiles, lacks_slow_files};
use crate::support::{PATIENCE, await_some, await_true};

const RELOADS: usize = 5;

/// The flags of a server that reloads and whose clients may think for long, as those on a busy
/// machine do.
fn patient(settings: &str) -> [&str; 6] {
    ["--idle-grace-ms", "60000", "--drain-timeout-ms", "600000", "--config", settings]
}

fn reload(server: &mut Server) {
    server.signal(Signal::HUP);
    server.await_line("retires");
}

#[test]
fn no_request_is_lost_while_generations_change() {
    let site = Fixture::new();
    let settings = no_settings(&site.beside(""));
    for keep in [true, false] {
        on_mechanisms(Program::Weir, |combination| {
            let mut server = combination.start(&site.root(), &patient(&settings));
            let load = Load::paced(server.address, "/large.bin", 4, (keep, PAUSE));
            for _ in 0..RELOADS {
                let before = load.answered();
                reload(&mut server);
                let goes_on = load.await_answered(before + 4);
                assert!(goes_on, "{combination}: the load does not go on");
            }
            let counts = load.stop();
            let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
            assert_eq!(lost, [0, 0, 0], "{combination}, keep-alive {keep}: {counts:?}");
            server.stop();
        });
    }
}

/// Clients on a busy machine may think for long.
const SLOW: &str = "listen = \"127.0.0.1:0\"\nidle-grace-ms = 60000\n";

/// Each follows each other one: a server goes to those behind it in the list, and back each time.
#[test]
fn one_architecture_follows_another_and_no_request_is_lost() {
    let mut all = combinations(Program::Weir);
    all.retain(Combination::has_usual_poller);
    on_mechanisms(Program::Weir, |combination| {
        let place = all.iter().position(|of| of.architecture == combination.architecture);
        let place = place.expect("one of them");
        let home = Home::new(Fixture::small());
        home.configure(combination, SLOW);
        let mut server = home.serve(&Program::Weir.path());
        let keep = place % 2 == 0;
        let load = Load::paced(server.address, "/large.bin", 2, (keep, PAUSE));
        for next in all[place + 1..].iter().flat_map(|other| [other, combination]) {
            home.configure(next, SLOW);
            server.signal(Signal::HUP);
            server.await_line(&format!(" by {next}\n"));
            server.await_line("retires");
            let before = load.answered();
            let goes_on = load.await_answered(before + 4);
            assert!(goes_on, "{combination}, then {next}: the load does not go on");
        }
        let counts = load.stop();
        let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
        assert_eq!(lost, [0, 0, 0], "{combination}, keep-alive {keep}: {counts:?}");
        server.stop();
    });
}

#[test]
fn what_needs_a_restart_is_named_and_stays() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, SLOW);
    let mut server = home.serve(&Program::Weir.path());
    let changed = "admin = \"127.0.0.1:1\"\nuser = \"root\"\ngroup = \"root\"\npasses = 1\n";
    home.configure(combination, &format!("{SLOW}{changed}"));
    // Each time, for what was wanted is still not there.
    for _ in 0..2 {
        server.signal(Signal::HUP);
        for told in [
            "admin 127.0.0.1:1 needs a restart; until then it is off",
            "user root needs a restart; until then it is off",
            "group root needs a restart; until then it is off",
            "changed: passes 1",
            "retires",
        ] {
            server.await_line(told);
        }
    }
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    server.stop();
}

/// A reload then looks at a mount that does not answer.
#[test]
fn supervisor_goes_on_while_a_root_does_not_answer() {
    if lacks_slow_files() {
        return;
    }
    let home = Home::new(Fixture::new());
    let slow = SlowFiles::mount(&home.path("slow"));
    slow.release();
    let root = home.path("slow").join(DIRECTORY);
    let host = format!("[[host]]\nnames = [\"slow.example\"]\nroot = {root:?}\n");
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, &format!("{SLOW}admin = \"127.0.0.1:0\"\n{host}"));
    let mut server = home.serve(&Program::Weir.path());
    let admin = server.await_admin();
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    slow.hold(Operation::Lookup);
    server.signal(Signal::HUP);
    slow.await_held(Operation::Lookup);
    assert_eq!(server.fetch_from(admin, "/healthz").as_deref(), Ok(&b"ok\n"[..]));
    let workers = workers_of(server.pid());
    workers.iter().for_each(|worker| send(*worker, Signal::KILL));
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "by another worker");
    server.await_line("not reloaded: a disk or mount that the settings name does not answer");
    // The next one goes on when the mount does.
    server.signal(Signal::HUP);
    slow.let_go(Operation::Lookup);
    server.await_line("retires");
    slow.hold(Operation::Lookup);
    server.signal(Signal::HUP);
    slow.await_held(Operation::Lookup);
    server.signal(Signal::TERM);
    let status = server.ended(PATIENCE).expect("it ends");
    // Whatever waits for the mount holds the output of the server.
    slow.let_go(Operation::Lookup);
    assert_eq!(status.code(), Some(0), "{}", server.last_words());
}

#[test]
fn what_is_in_flight_is_finished_by_those_who_began_it() {
    let site = site_with_a_huge_file();
    let settings = no_settings(&site.beside(""));
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &patient(&settings));
        let started = || Some(workers_of(server.pid())).filter(|workers| !workers.is_empty());
        let old = await_some(PATIENCE, started).expect("a worker");
        let mut clients = in_flight(&server, 1);
        let mut idle = asked(&server);
        reload(&mut server);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        // Who is idle may ask until told that it was the last time.
        let is_told = await_true(PATIENCE, || {
            idle.get("/digits.txt", "").expect("sent");
            let (head, body) = idle.reply(false).expect("answered");
            assert_eq!(body, DIGITS, "{combination}");
            head.closes()
        });
        assert!(is_told, "{combination}: not told");
        for wire in &mut clients {
            let came = wire.bytes(HUGE_BYTES).map(|bytes| bytes.len());
            assert_eq!(came, Ok(HUGE_BYTES), "{combination}: one in flight was lost");
        }
        drop(clients);
        let gone = await_true(PATIENCE, || {
            workers_of(server.pid()).iter().all(|worker| !old.contains(worker))
        });
        assert!(gone, "{combination}: the old workers are still there");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

#[test]
fn idle_connections_end_by_fin_after_a_while() {
    let site = Fixture::new();
    let settings = no_settings(&site.beside(""));
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--idle-grace-ms", "500", "--config", &settings];
        let mut server = combination.start(&site.root(), &flags);
        let mut idle: Vec<_> = (0..3).map(|_| asked(&server)).collect();
        reload(&mut server);
        for wire in &mut idle {
            assert_eq!(wire.end(), Ok(()), "{combination}");
        }
        server.stop();
    });
}

#[test]
fn a_storm_of_reloads_is_survived() {
    let site = Fixture::new();
    let settings = no_settings(&site.beside(""));
    on_mechanisms(Program::Weir, |combination: &Combination| {
        let server = combination.start(&site.root(), &patient(&settings));
        let load = Load::paced(server.address, "/digits.txt", 2, (true, PAUSE));
        for _ in 0..100 {
            server.signal(Signal::HUP);
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        let counts = load.stop();
        let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
        assert_eq!(lost, [0, 0, 0], "{combination}: {counts:?}");
        server.stop();
    });
}

#[test]
fn another_program_takes_over_and_no_request_is_lost() {
    on_mechanisms(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        let mut command = Command::new(home.binary());
        command.args(combination.arguments(&home.site.root(), &["--idle-grace-ms", "60000"]));
        let mut server = Server::start(command, 0);
        let address = server.address;
        let load = Load::paced(address, "/large.bin", 2, (true, PAUSE));
        server.signal(Signal::USR2);
        // The old one may be gone by now, and the new one be no child of it any more.
        let line = server.await_line("this one retires");
        let mut words = line.split(' ').skip_while(|word| *word != "process").skip(1);
        let new = words.next().and_then(|pid| pid.parse().ok()).expect("the program");
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: the old program");
        let before = load.answered();
        let goes_on = load.await_answered(before + 4);
        let counts = load.stop();
        let fetched = server.fetch("/digits.txt");
        send(new, Signal::TERM);
        let is_gone = await_true(PATIENCE, || TcpStream::connect(address).is_err());
        assert!(goes_on && is_gone, "{combination}: {goes_on} {is_gone}");
        assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}");
        let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
        assert_eq!(lost, [0, 0, 0], "{combination}: {counts:?}");
    });
}

#[test]
fn a_program_that_cannot_take_over_changes_nothing() {
    on_mechanisms(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        let mut command = Command::new(home.binary());
        command.args(combination.arguments(&home.site.root(), &[]));
        let mut server = Server::start(command, 0);
        for content in ["#!/bin/sh\nexit 7\n", "nonsense"] {
            home.replace(content);
            server.signal(Signal::USR2);
            server.await_line("not upgraded");
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        server.stop();
    });
}

/// A server that has been told to be followed by a program that never says it is ready. It waits
/// for the program for as long as for a client when it ends.
fn with_a_program_that_hangs(home: &Home) -> (Server, u32) {
    let mut command = Command::new(home.binary());
    let settings = no_settings(&home.site.beside(""));
    let flags = ["--drain-timeout-ms", "1000", "--config", &settings];
    command.args(combinations(Program::Weir)[0].arguments(&home.site.root(), &flags));
    let server = Server::start(command, 0);
    assert!(await_true(PATIENCE, || !workers_of(server.pid()).is_empty()), "no worker");
    home.replace("#!/bin/sh\nexec sleep 1000\n");
    server.signal(Signal::USR2);
    let program = await_some(PATIENCE, || followers_of(server.pid()).pop()).expect("the program");
    (server, program)
}

#[test]
fn a_program_that_hangs_is_given_up() {
    let home = Home::new(Fixture::new());
    let (mut server, program) = with_a_program_that_hangs(&home);
    server.await_line("not upgraded: not ready within 30 s");
    let is_gone = await_true(PATIENCE, || !followers_of(server.pid()).contains(&program));
    assert!(is_gone, "the program is still there");
    reload(&mut server);
    server.stop();
}

#[test]
fn a_program_on_its_way_ends_with_the_server() {
    let home = Home::new(Fixture::new());
    let (server, program) = with_a_program_that_hangs(&home);
    server.stop();
    assert!(await_true(PATIENCE, || !is_there(program)), "the program is still there");
}
