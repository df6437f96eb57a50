//! What is a worker's own: a worker that is killed costs its own connections and no others, and it
//! holds no descriptor that is not its own.

use std::collections::HashSet;
use std::mem;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::chosen::{on_mechanisms, on_mechanisms_alone, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture, no_settings};
use crate::support::load::{Counts, Load};
use crate::support::processes::{descriptors, eventfds, is_there, listeners, stop, workers_of};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_lines, await_some, await_true};

const TWO: &[&str] = &["--processes", "2"];
const SIXTEEN: &[&str] = &["--processes", "16"];

#[test]
fn a_worker_killed_under_load_costs_only_its_own_connections() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        // One for each of those who stay and of the load, or as many as share them.
        let is_alone = combination.row["holder"] == "process";
        let number = if is_alone { SIXTEEN } else { TWO };
        let several = combination.takes(number);
        let trace = site.beside(&format!("trace {combination}"));
        let traced = ["--trace", trace.to_str().expect("UTF-8")];
        let flags = [if several { number } else { &[] }, &traced].concat();
        let server = combination.start(&site.root(), &flags);
        let clients = 8;
        let mut idle: Vec<Wire> = (0..6).map(|n| asked_as(&server, n)).collect();
        let killed = owners(&trace, idle.len())[0];
        if several && !is_alone {
            // Whoever comes now comes to the other one.
            stop(killed);
            idle.extend((6..12).map(|n| asked_as(&server, n)));
            send(killed, Signal::CONT);
        }
        let owners = owners(&trace, idle.len());
        let lost: Vec<bool> = owners.iter().map(|owner| *owner == killed).collect();
        assert_eq!(lost.contains(&false), several, "{combination}: {owners:?}");
        let load = Load::start(server.address, "/digits.txt", clients, true);
        let is_loaded = load.await_answered(100);
        assert!(is_loaded, "{combination}: the load is not served");
        send(killed, Signal::KILL);

        judge(combination, &mut idle, &lost);
        served_again(combination, &server, &load);
        let counts = load.stop();
        let broken = Counts::of(&counts.broken) + Counts::of(&counts.unanswered);
        assert!(broken <= clients, "{combination}: {counts:?}, more than one loss for a client");
        assert_eq!(Counts::of(&counts.refused), 0, "{combination}: a connection was refused");
        assert!(!is_there(killed));
        server.stop();
    });
}

/// A client that was answered, and stays; the trace has its number.
fn asked_as(server: &Server, n: usize) -> Wire {
    let mut wire = server.connect();
    wire.get(&format!("/digits.txt?{n}"), "").expect("sent");
    wire.reply(false).expect("answered");
    wire
}

/// The process that has answered each of so many numbered requests, by what the server itself
/// tells: a reply may be there before its line.
fn owners(trace: &Path, count: usize) -> Vec<u32> {
    let text = await_lines(trace, count);
    let parsed = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let lines: Vec<Value> = parsed.collect();
    let owner = |n: usize| {
        let asks = |line: &&Value| {
            line["request"].as_str().is_some_and(|said| said.contains(&format!("?{n} ")))
        };
        let line = lines.iter().find(asks).expect("a line for each");
        line["steps"]["send"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())
    };
    (0..count).map(|n| owner(n).expect("a process")).collect()
}

/// The connections of the worker that was killed end; the others go on.
fn judge(combination: &Combination, idle: &mut [Wire], lost: &[bool]) {
    for (wire, lost) in idle.iter_mut().zip(lost) {
        let answered = wire.get("/probe.txt", "").and_then(|()| wire.reply(false));
        assert_eq!(answered.is_err(), *lost, "{combination}: {answered:?}");
    }
}

fn served_again(combination: &Combination, server: &Server, load: &Load) {
    let fetched = server.fetch("/digits.txt");
    assert!(fetched.is_ok(), "{combination}: after the kill {fetched:?}");
    let goes_on = load.await_answered(load.answered() + 100);
    assert!(goes_on, "{combination}: the load does not go on");
}

#[test]
fn a_worker_that_dies_again_and_again_is_started_again() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut before = 0;
        for _ in 0..3 {
            let other = || workers_of(server.pid()).into_iter().find(|pid| *pid != before);
            before = await_some(PATIENCE, other).expect("a worker");
            send(before, Signal::KILL);
            let gone = await_true(PATIENCE, || !is_there(before));
            assert!(gone, "{combination}: not dead");
        }
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}: not served again");
        server.stop();
    });
}

/// A worker that has lived for so long is started again as if it were the first to die.
const HEALTHY: Duration = Duration::from_secs(10);

/// A mistake that one request brings about. Others wait in the kernel: the first time for nothing
/// but the start of another worker, and never longer than the knob says beside that.
#[test]
fn a_request_that_kills_workers_does_not_keep_others_from_being_served() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Mortal, |combination| {
        // Of several it would be another one each time.
        let one = ["--restart-wait-max-ms", "150", "--processes", "1"];
        let is_alone = !combination.takes(&one[2..]);
        let flags = if is_alone { &one[..2] } else { &one };
        let mut server = combination.start(&site.root(), flags);
        let mut before = Instant::now();
        for death in 0..5 {
            // The one that serves now was not started before the last one died.
            let lives_since = mem::replace(&mut before, Instant::now());
            let mut killer = server.asking(server.address, "/die");
            // His connection ends with the worker.
            assert!(killer.head().is_err(), "{combination}: not dead");
            let mut other = server.asking(server.address, "/digits.txt");
            let line = server.await_line("started again ");
            let wait = line.trim_end().rsplit_once("started again ").expect("a wait").1;
            // On a machine that is busy enough a worker may have lived for long.
            let is_first = death == 0 || lives_since.elapsed() >= HEALTHY;
            let is_bounded = match wait {
                "at once" => is_first,
                "in 100 ms" | "in 150 ms" => death > 0,
                _ => false,
            };
            assert!(is_bounded, "{combination}: death {death}: {line}");
            let answered = other.reply(false).map(|(head, body)| (head.status, body));
            assert_eq!(answered, Ok((200, DIGITS.to_vec())), "{combination}: death {death}");
        }
        server.stop();
    });
}

/// Of all who wait for a connection the kernel wakes one, where they wait by a ring.
#[test]
fn who_comes_while_a_worker_stands_still_is_served_by_another() {
    let site = Fixture::new();
    let takes_two = |combination: &Combination| combination.takes(TWO);
    on_mechanisms_where(Program::Weir, takes_two, |combination| {
        let server = combination.start(&site.root(), TWO);
        let both = || Some(workers_of(server.pid())).filter(|all| all.len() == 2);
        for worker in await_some(PATIENCE, both).expect("two workers") {
            // Both serve by now, but for who was only just started.
            assert!(server.fetch("/digits.txt").is_ok(), "{combination}");
            stop(worker);
            for _ in 0..2 {
                let fetched = server.fetch("/digits.txt");
                assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}");
            }
            send(worker, Signal::CONT);
        }
        server.stop();
    });
}

/// What a worker does not hold, nobody who gets hold of the worker has: least of all the admin
/// listener, to which any process could then speak as its operator.
#[test]
fn a_worker_holds_its_own_descriptors_and_no_others() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let several = combination.takes(TWO);
        let is_kept = combination.row["kept"] == true;
        let of_count = if several { TWO } else { &[] };
        let log = site.beside(&format!("access {combination}"));
        let log = log.to_str().expect("UTF-8");
        let settings = no_settings(&site.beside(""));
        let flags = ["--admin", "127.0.0.1:0", "--access-log", log, "--config", &settings];
        let mut server = combination.start(&site.root(), &[&flags, of_count].concat());
        let admin = server.await_admin();
        let mut wire = Wire::connect(admin, 0).expect("the admin port");
        administer(&mut wire, admin);
        let besides = |known: &[u32]| {
            let all = workers_of(server.pid()).into_iter();
            let new: Vec<u32> = all.filter(|worker| !known.contains(worker)).collect();
            (new.len() == 1 + usize::from(several)).then_some(new)
        };
        let before = await_some(PATIENCE, || besides(&[])).expect("workers");
        server.signal(Signal::HUP);
        let workers = await_some(PATIENCE, || besides(&before)).expect("the next generation");
        let sockets = listeners(server.address);
        for worker in &workers {
            // Of one table each has what all have.
            let table = if is_kept { &workers[..] } else { std::slice::from_ref(worker) };
            let strange = || strangers((*worker, table), &sockets, log);
            let is_clean = || strange().is_empty();
            // It closes what it has inherited when it begins.
            let clean = await_true(PATIENCE, is_clean);
            assert!(clean, "{combination}: {:?}", strange());
        }
        let mut all = HashSet::new();
        let shared = workers.iter().flat_map(|worker| eventfds(*worker));
        let shared: Vec<u64> = shared.filter(|id| !all.insert(*id)).collect();
        // One that tells of who is left waiting; what each is ordered it alone hears, but where one
        // table has all of them.
        let most = if is_kept { all.len() } else { usize::from(several) };
        assert_eq!(shared.len(), most, "{combination}: two workers wait for the same order");
        // It was open all that time.
        administer(&mut wire, admin);
        server.stop();
    });
}

fn administer(wire: &mut Wire, admin: SocketAddr) {
    wire.send(format!("GET /knobs HTTP/1.1\r\nHost: {admin}\r\n\r\n").as_bytes()).expect("sent");
    assert_eq!(wire.reply(false).expect("the admin page").0.status, 200);
}

const OF_KEEPER: [&str; 2] = ["anon_inode:[signalfd]", "anon_inode:[landlock-ruleset]"];

/// The descriptors of a worker that are neither the standard ones, nor a listening socket of the
/// site, nor a log, nor made by itself to wait with.
fn strangers((worker, table): (u32, &[u32]), listeners: &HashSet<u32>, log: &str) -> Vec<String> {
    let all = descriptors(worker);
    let standard: Vec<&String> = (0..3).filter_map(|number| all.get(&number)).collect();
    let is_own = |what: &String| {
        let inode = what.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        let waits = ["anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[io_uring]"];
        match inode.and_then(|inode| inode.parse().ok()) {
            Some(inode) => listeners.contains(&inode),
            None => {
                waits.contains(&what.as_str())
                    || [log, "/dev/null"].contains(&what.as_str())
                    || standard.contains(&what)
                    || table.iter().any(|own| *what == format!("/proc/{own}/task/{own}/schedstat"))
                    // Of their keeper, who hears by it that one has died, and confines others.
                    || (table.len() > 1 && OF_KEEPER.contains(&what.as_str()))
            }
        }
    };
    all.values().filter(|what| !is_own(what)).cloned().collect()
}
