//! What is handed from one generation or program to the next, and what is not.

use std::collections::HashSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program, combinations};
use crate::support::fixture::{DIGITS, Fixture, no_settings};
use crate::support::home::Home;
use crate::support::in_flight::{HUGE_BYTES, asked, at_once, in_flight, site_with_a_huge_file};
use crate::support::processes::{children, followers_of, stop, workers_of};
use crate::support::server::{Server, send};
use crate::support::slow::{SlowFiles, lacks_slow_files};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true, rights};

const BOTH: &str = "listen = [\"127.0.0.1:0\", \"127.0.0.2:0\"]\n";
const FIRST: &str = "listen = \"127.0.0.1:0\"\n";
const ALIKE: &str = "listen = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\n";

fn is_refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err()
}

/// All of them: who comes later is none.
fn workers(combination: &Combination, server: &Server) -> Vec<u32> {
    let several = combination.row["workers"].as_u64().filter(|_| !combination.is_reduced());
    let count = several.map_or(1, |count| count as usize);
    let started = || Some(workers_of(server.pid())).filter(|workers| workers.len() >= count);
    await_some(PATIENCE, started).expect("workers")
}

/// Where all workers were there before.
fn new_child(server: &Server) -> u32 {
    await_some(PATIENCE, || followers_of(server.pid()).pop()).expect("another program")
}

#[test]
fn an_address_left_out_of_a_reload_is_left_in_good_order() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        home.configure(combination, BOTH);
        let mut server = home.serve(&Program::Weir.path());
        let left = server.addresses[1];
        let old = workers(combination, &server)[0];
        assert_eq!(server.fetch_from(left, "/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        // Some wait there while the order to leave comes.
        stop(old);
        let mut waiting: Vec<Wire> = (0..8).map(|_| server.asking(left, "/digits.txt")).collect();
        home.configure(combination, FIRST);
        server.signal(Signal::HUP);
        server.await_line("retires");
        send(old, Signal::CONT);
        for wire in &mut waiting {
            let answered = wire.reply(false).map(|(head, _)| head.status);
            assert_eq!(answered, Ok(200), "{combination}: one who waited");
        }
        assert!(await_true(PATIENCE, || is_refused(left)), "{combination}: still listens");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        // It may come back while the old workers are still there.
        home.configure(combination, &format!("listen = [\"127.0.0.1:0\", \"{left}\"]\n"));
        server.signal(Signal::HUP);
        server.await_line("retires");
        assert_eq!(server.fetch_from(left, "/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

#[test]
fn an_address_left_with_a_worker_that_was_killed_is_refused() {
    let home = Home::new(site_with_a_huge_file());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, BOTH);
    let mut server = home.serve(&Program::Weir.path());
    let left = server.addresses[1];
    let old = workers(combination, &server)[0];
    // One that is stopped before would hold the reload up.
    server.await_line("serves as process");
    stop(old);
    home.configure(combination, FIRST);
    server.signal(Signal::HUP);
    server.await_line("retires");
    send(old, Signal::KILL);
    assert!(await_true(PATIENCE, || is_refused(left)), "still listens");
    server.stop();
}

#[test]
fn an_address_left_out_of_an_upgrade_is_refused() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        home.configure(combination, BOTH);
        let mut server = home.serve(&home.binary());
        let [stays, left] = server.addresses[..] else { panic!("two addresses") };
        workers(combination, &server);
        home.configure(combination, FIRST);
        server.signal(Signal::USR2);
        let new = server.await_next();
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        let refused = await_true(PATIENCE, || is_refused(left));
        let fetched = server.fetch_from(stays, "/digits.txt");
        send(new, Signal::TERM);
        let is_gone = await_true(PATIENCE, || is_refused(stays));
        assert_eq!(status, Some(0), "{combination}: the old program");
        assert!(refused && is_gone, "{combination}: {refused} {is_gone}");
        assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}");
    });
}

#[test]
fn sockets_that_are_named_alike_are_all_handed_on() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, ALIKE);
    let mut server = home.serve(&home.binary());
    let admin = server.await_admin();
    let addresses = server.addresses.clone();
    assert_eq!(addresses.len(), 2);
    let check = |server: &Server, when: &str| {
        for &address in &addresses {
            let fetched = server.fetch_from(address, "/digits.txt");
            assert_eq!(fetched.as_deref(), Ok(DIGITS), "{address} after {when}");
        }
        assert_eq!(health(admin), Ok(()), "after {when}");
    };
    server.signal(Signal::HUP);
    server.await_line("retires");
    check(&server, "a reload");
    workers(combination, &server);
    home.configure(combination, &ALIKE.replace('[', "[\"127.0.0.1:0\", "));
    server.signal(Signal::USR2);
    let new = server.await_next();
    assert!(server.ended(PATIENCE).is_some(), "the old program stays");
    check(&server, "an upgrade");
    send(new, Signal::TERM);
    assert!(await_true(PATIENCE, || addresses.iter().all(|&at| is_refused(at))), "still there");
}

#[test]
fn a_reload_asked_for_during_an_upgrade_is_done_by_the_new_program() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, FIRST);
    let mut server = home.serve(&home.binary());
    workers(combination, &server);
    let fifo = home.fifo("go");
    home.replace(&format!(
        "#!/bin/sh\nread go <{fifo:?}; exec {:?} \"$@\"\n",
        Program::Weir.path()
    ));
    server.signal(Signal::USR2);
    let new = new_child(&server);
    server.signal(Signal::HUP);
    fs::write(&fifo, "go\n").expect("it goes");
    server.await_line("this one retires");
    server.await_line("generation 2 serves, 1 retires");
    send(new, Signal::TERM);
    assert!(await_true(PATIENCE, || is_refused(server.address)), "still there");
}

#[test]
fn a_program_that_is_stopped_before_it_serves_leaves_the_sockets_alone() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        home.configure(combination, FIRST);
        let mut server = home.serve(&home.binary());
        workers(combination, &server);
        // A page of errors is read before anything is served.
        let slow = SlowFiles::mount(&home.site.root().join("slow"));
        let (root, page) = (home.site.root(), "{ status = 404, file = \"/slow/a.bin\" }");
        let host = format!(
            "{FIRST}[[host]]\nnames = [\"slow.test\"]\nroot = {root:?}\n\
             rule = [{{ at = \"/\", error-page = {page} }}]\n"
        );
        home.configure(combination, &host);
        server.signal(Signal::USR2);
        let new = new_child(&server);
        slow.await_read("a.bin");
        send(new, Signal::TERM);
        slow.release();
        server.await_line("not upgraded");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

#[test]
fn a_program_on_its_way_may_finish_what_it_has() {
    let home = Home::new(Fixture::new());
    home.configure(&combinations(Program::Weir)[0], FIRST);
    let mut server = home.serve(&home.binary());
    let (begun, ended) = (home.path("begun"), home.path("ended"));
    home.replace(&format!(
        "#!/bin/sh\ntrap 'echo >{ended:?}; exit' TERM; echo >{begun:?}\n\
         while :; do sleep 0.05; done\n"
    ));
    server.signal(Signal::USR2);
    assert!(await_true(PATIENCE, || begun.exists()), "not begun");
    server.signal(Signal::TERM);
    assert_eq!(server.ended(PATIENCE).and_then(|status| status.code()), Some(0));
    assert!(ended.exists(), "it was not asked to end, or not waited for");
}

/// A balancer that has connected to ask for its health asks the program that it has reached.
#[test]
fn a_health_check_on_its_way_meets_no_end_by_an_upgrade() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let (_home, mut server, admin) = administered(combination);
        workers(combination, &server);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        let mut check = Wire::connect(admin, 0).expect("the admin port");
        // It has been let in when it has been answered.
        check.get("/ready", "").expect("asked");
        assert_eq!(check.reply(false).map(|(head, _)| head.status), Ok(200), "{combination}");
        let mut begun = Wire::connect(admin, 0).expect("the admin port");
        begun.send(b"GET /ready HTTP/1.1\r\n").expect("asked");
        server.signal(Signal::USR2);
        let new = server.await_next();
        check.get("/ready", "").expect("asked");
        begun.send(b"Host: here\r\n\r\n").expect("asked");
        for wire in [&mut check, &mut begun] {
            let told = wire.reply(false).map(|(head, _)| (head.status, head.closes()));
            assert_eq!(told, Ok((200, true)), "{combination}");
        }
        assert_eq!(server.ended(PATIENCE).and_then(|status| status.code()), Some(0));
        end_new(&server, new);
    });
}

/// A balancer must not hear of the program that does not serve yet: it would send nobody to the one
/// that does.
#[test]
fn who_asks_for_health_during_an_upgrade_hears_of_one_that_serves() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let (_home, mut server, admin) = administered(combination);
        workers(combination, &server);
        assert!(await_true(PATIENCE, || health(admin).is_ok()), "{combination}: not ready");
        // The old program serves on for as long as it takes until the new one does.
        let idle = asked(&server);
        let over = AtomicBool::new(false);
        let asks = || {
            let more = || (!over.load(Ordering::Relaxed)).then(|| health(admin));
            // Once at least, however late they come to it.
            std::iter::once(health(admin)).chain(std::iter::from_fn(more)).collect::<HashSet<_>>()
        };
        let (new, heard) = std::thread::scope(|scope| {
            let askers: Vec<_> = (0..2).map(|_| scope.spawn(asks)).collect();
            server.signal(Signal::USR2);
            let new = catch_unwind(AssertUnwindSafe(|| {
                let new = server.await_next();
                drop(idle);
                let status = server.ended(PATIENCE).and_then(|status| status.code());
                assert_eq!(status, Some(0), "{combination}: the old program");
                new
            }));
            // Whatever has happened, or they ask for ever.
            over.store(true, Ordering::Relaxed);
            let heard = askers.into_iter().flat_map(|asker| asker.join().expect("an asker"));
            (new, heard.collect::<HashSet<_>>())
        });
        end_new(&server, new.expect("an upgrade"));
        assert_eq!(heard, HashSet::from([Ok(())]), "{combination}");
    });
}

/// A program that can be replaced, and where it answers its operator.
fn administered(combination: &Combination) -> (Home, Server, SocketAddr) {
    let home = Home::new(Fixture::new());
    home.configure(combination, &format!("{FIRST}admin = \"127.0.0.2:0\"\n"));
    let mut server = home.serve(&home.binary());
    let admin = server.await_admin();
    (home, server, admin)
}

/// Ends the program that has taken over from `server`, which has ended itself.
fn end_new(server: &Server, new: u32) {
    send(new, Signal::TERM);
    assert!(await_true(PATIENCE, || is_refused(server.address)), "still there");
}

/// Asks as a balancer does, on a connection for each question; what it is told if not ready.
fn health(admin: SocketAddr) -> Result<(), String> {
    let mut wire = Wire::connect(admin, 0).map_err(|error| error.to_string())?;
    wire.get("/ready", "Connection: close\r\n")?;
    let (head, told) = wire.reply(false)?;
    match head.status {
        200 => Ok(()),
        status => Err(format!("{status}: {}", String::from_utf8_lossy(&told))),
    }
}

/// A service manager ends all processes of a service at once.
#[test]
fn sigterm_to_one_that_was_replaced_cuts_nobody_off() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = Home::new(site_with_a_huge_file());
        home.configure(combination, FIRST);
        let mut server = home.serve(&home.binary());
        let mut clients = in_flight(&server, 2);
        workers(combination, &server);
        server.signal(Signal::USR2);
        let new = server.await_next();
        server.signal(Signal::TERM);
        send(new, Signal::TERM);
        let content = |wire: &mut Wire| wire.bytes(HUGE_BYTES).map(|bytes| bytes.len());
        for came in at_once(&mut clients, content) {
            assert_eq!(came, Ok(HUGE_BYTES), "{combination}");
        }
        drop(clients);
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}");
    });
}

#[test]
fn who_retires_too_slowly_is_told_of() {
    let site = site_with_a_huge_file();
    let settings = no_settings(&site.beside(""));
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ["--drain-timeout-ms", "300", "--config", &settings];
        let mut server = combination.start(&site.root(), &flags);
        let clients = in_flight(&server, 2);
        server.signal(Signal::HUP);
        server.await_line("generation 1: 2 connections were cut off");
        drop(clients);
        server.stop();
    });
}

/// Versions side by side, and a link to the one that is to serve.
#[test]
fn a_link_is_followed_anew() {
    let home = Home::new(Fixture::new());
    home.configure(&combinations(Program::Weir)[0], FIRST);
    let link = home.path("current");
    symlink(Program::Weir.path(), &link).expect("a link");
    let mut server = home.serve(&link);
    home.replace("#!/bin/sh\nexit 7\n");
    symlink(home.path("weir"), home.path("other")).expect("another link");
    fs::rename(home.path("other"), &link).expect("in its place");
    server.signal(Signal::USR2);
    server.await_line("ended with status 7");
    server.stop();
}

/// With it all others of a container would end.
#[test]
fn the_first_process_of_a_container_is_not_upgraded() {
    if rights::lacks_namespaces(&["--pid", "--fork"]) {
        return;
    }
    let home = Home::new(Fixture::new());
    home.configure(&combinations(Program::Weir)[0], FIRST);
    let unshare = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", program]);
        command
    };
    let mut command = unshare(Program::Weir.path().to_str().expect("a path in UTF-8"));
    command.args(["serve", "--config"]).arg(home.path("weir.toml"));
    let mut server = Server::start(command, 0);
    let supervisor = children(server.pid())[0];
    send(supervisor, Signal::USR2);
    server.await_line("not upgraded");
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    send(supervisor, Signal::TERM);
    assert!(server.ended(PATIENCE).is_some(), "still there");
}

/// They wait for one who goes, and his going is not the end.
#[test]
fn who_waits_for_room_is_served_after_sigterm() {
    let site = site_with_a_huge_file();
    on_mechanisms_alone(Program::Weir, |combination| {
        let drain = ["--drain-timeout-ms", "600000", "--crowded-rate-min", "0"];
        let flags = [&drain[..], &["--connections-max", "1"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let mut first = in_flight(&server, 1);
        let mut waiting: Vec<Wire> =
            (0..3).map(|_| server.asking(server.address, "/digits.txt")).collect();
        server.signal(Signal::TERM);
        server.await_line("draining");
        assert_eq!(first[0].rest(), Ok(HUGE_BYTES), "{combination}: the first");
        drop(first);
        for wire in &mut waiting {
            let answered = wire.reply(false).map(|(head, _)| head.status);
            assert_eq!(answered, Ok(200), "{combination}: one who waited");
            assert_eq!(wire.end(), Ok(()), "{combination}: one who waited");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: after draining");
    });
}

#[test]
fn a_reload_ends_the_deferring_of_connections() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    let impatient = format!("{FIRST}head-timeout-ms = 300\n");
    home.configure(combination, &format!("{impatient}defer-accept-s = 60\n"));
    let mut server = home.serve(&Program::Weir.path());
    home.configure(combination, &impatient);
    server.signal(Signal::HUP);
    server.await_line("retires");
    // Who is silent is let in, and meets the end of its patience.
    assert_eq!(server.connect().end(), Ok(()));
    server.stop();
}
