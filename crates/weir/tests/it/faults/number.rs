//! How many workers serve, turned while they do.

use std::fs;
use std::net::SocketAddr;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::chosen::on_mechanisms_where;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::load::{Load, PAUSE};
use crate::support::processes::workers_of;
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

const FOUR: &[&str] = &["--processes", "4", "--admin", "127.0.0.1:0"];
const QUEUES: [&str; 2] = ["shared", "own"];

/// A request to the admin listener: its status and content.
fn ask(admin: SocketAddr, request: &str) -> (u16, String) {
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    let request = format!("{request} HTTP/1.1\r\nHost: {admin}\r\nX-Weir: 1\r\n\r\n");
    wire.send(request.as_bytes()).expect("sent");
    let (head, body) = wire.reply(false).expect("answered");
    (head.status, String::from_utf8(body).expect("UTF-8"))
}

fn turn(admin: SocketAddr, number: usize) -> u16 {
    ask(admin, &format!("POST /set?knob=processes&value={number}")).0
}

fn workers(admin: SocketAddr) -> Vec<Value> {
    let state: Value = serde_json::from_str(&ask(admin, "GET /state").1).expect("JSON");
    state["workers"].as_array().expect("workers").clone()
}

fn await_number(combination: &Combination, server: &Server, admin: SocketAddr, number: usize) {
    let serve = |worker: &&Value| worker["ready"] == true && worker["leaves"] == false;
    let are_so_many = await_true(PATIENCE, || {
        workers(admin).iter().filter(serve).count() == number
            && workers_of(server.pid()).len() == number
    });
    assert!(are_so_many, "{combination}: not {number}: {:?}", workers(admin));
}

fn on_each_queue(test: impl Fn(&Combination, &[&str]) + Sync) {
    for queues in QUEUES {
        let flags = [FOUR, &["--listener-queues", queues]].concat();
        let takes_queues = |combination: &Combination| combination.takes(&flags[4..]);
        // Where each has one connection they have no other.
        let is_meant = |combination: &Combination| {
            takes_queues(combination) || (combination.takes(FOUR) && queues == "shared")
        };
        on_mechanisms_where(Program::Weir, is_meant, |combination| {
            test(combination, if takes_queues(combination) { &flags } else { FOUR });
        });
    }
}

#[test]
fn workers_come_and_go_under_load_and_nobody_is_lost() {
    let site = Fixture::new();
    on_each_queue(|combination, flags| {
        // A client on a busy machine may think for long.
        let patient = ["--idle-grace-ms", "60000", "--drain-timeout-ms", "600000"];
        let mut server = combination.start(&site.root(), &[flags, &patient].concat());
        let admin = server.await_admin();
        await_number(combination, &server, admin, 4);
        let new = Load::paced(server.address, "/digits.txt", 4, (false, PAUSE));
        let kept = Load::paced(server.address, "/digits.txt", 4, (true, PAUSE));
        for number in [2, 1, 3, 4, 1, 4] {
            let known = workers_of(server.pid());
            assert_eq!(turn(admin, number), 200, "{combination}: {number}");
            await_number(combination, &server, admin, number);
            let stay = workers_of(server.pid()).iter().filter(|pid| known.contains(pid)).count();
            assert_eq!(stay, known.len().min(number), "{combination}: others keep their caches");
            let before = new.answered().min(kept.answered());
            let goes_on = [&new, &kept].iter().all(|load| load.await_answered(before + 50));
            assert!(goes_on, "{combination}: with {number}");
        }
        for (which, counts) in [("new", new.stop()), ("kept", kept.stop())] {
            // In `mp` each process has one connection, which goes for the next client.
            assert_eq!(counts.lost(), 0, "{combination} {flags:?}, {which}: {counts:?}");
        }
        server.stop();
    });
}

/// A worker that left has a socket of its own, which listens again for a reload that fails: another
/// worker has to empty it, and the next reload does not wait for that.
#[test]
fn a_reload_that_fails_leaves_no_socket_without_a_worker() {
    let site = Fixture::new();
    let own = ["--listener-queues", "own"];
    on_mechanisms_where(
        Program::Weir,
        |combination| combination.takes(&own),
        |combination| {
            let settings = site.beside(&format!("{combination}.toml").replace(' ', "-"));
            fs::write(&settings, "").expect("written");
            let config = ["--config", settings.to_str().expect("UTF-8")];
            let flags = [FOUR, &own, &config].concat();
            let mut server = combination.start(&site.root(), &flags);
            let admin = server.await_admin();
            await_number(combination, &server, admin, 4);
            assert_eq!(turn(admin, 2), 200, "{combination}");
            await_number(combination, &server, admin, 2);
            fs::write(&settings, "cache-hints = \"none\"\ncache-policy = \"hinted\"\n")
                .expect("written");
            server.signal(Signal::HUP);
            server.await_line("not reloaded: ");
            fs::write(&settings, "").expect("written");
            server.signal(Signal::HUP);
            server.await_line("retires");
            // The workers of before have ended, and have left all sockets to the new ones.
            await_number(combination, &server, admin, 4);
            let fetch = || assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
            (0..200).for_each(|_| fetch());
            let has_served = |worker: &Value| worker["requests"].as_u64() > Some(0);
            let all = || workers(admin).iter().all(has_served);
            assert!(await_true(PATIENCE, all), "{combination}: {:?}", workers(admin));
            server.stop();
        },
    );
}

/// Also those whom its other loops hold.
#[test]
fn a_worker_tells_of_the_connections_of_all_its_loops() {
    let site = Fixture::new();
    let loops = ["--threads", "3"];
    let flags = ["--threads", "3", "--processes", "1", "--admin", "127.0.0.1:0"];
    let has_loops = |combination: &Combination| {
        combination.row["holder"] == "loop" && combination.takes(&loops)
    };
    on_mechanisms_where(Program::Weir, has_loops, |combination| {
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let clients: Vec<_> = (0..12).map(|_| server.connect()).collect();
        let told = || workers(admin)[0]["connections"] == clients.len();
        assert!(await_true(PATIENCE, told), "{combination}: {}", workers(admin)[0]);
        server.stop();
    });
}

#[test]
fn there_are_as_many_as_there_may_be() {
    let site = Fixture::new();
    on_each_queue(|combination, flags| {
        let mut server =
            combination.start(&site.root(), &[flags, &["--processes-min", "2"]].concat());
        let admin = server.await_admin();
        for (number, status) in [(1, 400), (5, 400), (2, 200), (4, 200)] {
            assert_eq!(turn(admin, number), status, "{combination}: {number}");
        }
        await_number(combination, &server, admin, 4);
        server.stop();
    });
}

/// However busy another is, each has its share of those who come.
#[test]
fn each_worker_with_a_queue_of_its_own_gets_clients() {
    const CLIENTS: usize = 200;
    let site = Fixture::new();
    let own = ["--listener-queues", "own"];
    let takes_own = |combination: &Combination| combination.takes(&own);
    on_mechanisms_where(Program::Weir, takes_own, |combination| {
        let flags = [FOUR, &own].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        await_number(combination, &server, admin, 4);
        for _ in 0..CLIENTS {
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        let has_served = |worker: &Value| worker["requests"].as_u64() > Some(0);
        let all = || workers(admin).iter().all(has_served);
        assert!(await_true(PATIENCE, all), "{combination}: {:?}", workers(admin));
        server.stop();
    });
}
