//! At the maximum of connections: who waits goes for who comes, and who is answered stays.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::chosen::{on_every_alone, on_mechanisms_alone};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::{
    HUGE_BYTES, asked, at_once, half_a_body, in_flight, site_with_a_huge_file,
};
use crate::support::load::HEAD_MIN;
use crate::support::metrics::{counted, queues};
use crate::support::processes::{ProcessorTime, await_looked_at, stop, workers_of};
use crate::support::rest::check_rests;
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, at_some_scale, await_some, await_true};

/// Whoever waits is closed for another, or not at all.
const PATIENT: &[&str] = &[
    "--idle-timeout-ms",
    "600000",
    "--head-timeout-ms",
    "600000",
    "--stall-timeout-ms",
    "600000",
    "--rate-min",
    "0",
    "--crowded-rate-min",
    "0",
];

/// What has come by then.
const AT_ONCE: Duration = Duration::from_millis(1);

/// There is nothing to wait for but time: whoever has waited for it may go for another.
const WAITED: Duration = Duration::from_millis(300);

const ADMIN: &[&str] = &["--admin", "127.0.0.1:0"];

fn flags(most: &'static str) -> Vec<&'static str> {
    [PATIENT, &["--connections-max", most]].concat()
}

/// One that has sent half a head.
fn half(server: &Server) -> Wire {
    let mut wire = server.connect();
    wire.send(b"GET /digits.txt HTTP/1.1\r\nHost: ").expect("sent");
    wire
}

/// What clients are, how they become it, and the rest of their requests.
type Kind = (&'static str, fn(&Server) -> Wire, &'static [u8]);

#[test]
fn who_waits_for_longest_goes_for_who_comes() {
    let site = Fixture::new();
    // All are of one kind, because it depends on the architecture and the time which kind is
    // evicted first.
    let get = b"GET /digits.txt HTTP/1.1\r\nHost: weir.test\r\n\r\n";
    let kinds: [Kind; 3] = [
        ("idle", asked, get),
        ("with half a head", half, b"weir.test\r\n\r\n"),
        ("silent", Server::connect, get),
    ];
    for kind in kinds {
        on_mechanisms_alone(Program::Weir, |combination| {
            let check = || check_longest_goes(combination, &site, kind);
            if combination.row["holder"] == "process" {
                // Another one goes, too, if a busy machine keeps the evicted process from running.
                at_some_scale(|_| check());
            } else {
                check();
            }
        });
    }
}

fn check_longest_goes(combination: &Combination, site: &Fixture, (what, keep, rest): Kind) {
    let mut server = combination.start(&site.root(), &[&flags("8")[..], ADMIN].concat());
    let admin = server.await_admin();
    let mut first = keep(&server);
    // By then the first is known to wait, and that it is the only one.
    await_looked_at(server.pid());
    check_fetched(combination, &server, what);
    let is_gone = || counted(admin, "closed") >= 1.0;
    assert!(await_true(PATIENCE, is_gone), "{combination}: no connection was evicted");
    let mut others: Vec<Wire> = (1..8).map(|_| keep(&server)).collect();
    check_fetched(combination, &server, what);
    assert_eq!(first.end(), Ok(()), "{combination}: who was {what} for longest");
    for wire in &mut others {
        wire.send(rest).expect("sent");
        let status = wire.reply(false).map(|(head, _)| head.status);
        assert_eq!(status, Ok(200), "{combination}: the others, {what}");
    }
    server.stop();
}

#[test]
fn hundreds_who_trickle_keep_nobody_out() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &flags("128"));
        let slow: Vec<Wire> = (0..400).map(|_| half(&server)).collect();
        for _ in 0..20 {
            check_fetched(combination, &server, "beside 400 who trickle");
        }
        drop(slow);
        server.stop();
    });
}

/// Three times as many clients as there are places send half a head, and come again when they are
/// closed. Other clients are served meanwhile, and no SYN is refused while places are short and the
/// processor is not.
#[test]
fn slow_clients_that_come_again_keep_no_client_out() {
    const PLACES: usize = 16;
    /// With less of the processors idle, other programs make the processor short.
    const IDLE_SHARE_MIN: f64 = 0.1;
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let begun = ProcessorTime::now();
        let mut server = combination.start(&site.root(), &[&flags("16")[..], ADMIN].concat());
        let admin = server.await_admin();
        let ends = AtomicBool::new(false);
        let (are_evicted, failed, floods) = std::thread::scope(|scope| {
            for _ in 0..3 * PLACES {
                scope.spawn(|| {
                    while !ends.load(SeqCst) {
                        let mut wire = server.connect();
                        wire.set_patience(AT_ONCE);
                        // An error if it is closed already.
                        let _ = wire.send(b"GET /digits.txt HTTP/1.1\r\nHost: ");
                        let is_closed = || ends.load(SeqCst) || wire.end().is_ok();
                        await_true(PATIENCE, is_closed);
                    }
                });
            }
            let are_evicted = await_true(PATIENCE, || counted(admin, "evicted") > 10.0);
            let fetch = || (0..20).map(|_| fetch_in_time(&server)).find(Result::is_err);
            let others = [(); 4].map(|()| scope.spawn(fetch));
            let failed: Vec<_> = others.into_iter().filter_map(|one| one.join().unwrap()).collect();
            let floods = queues(admin)[0]["admission"]["floods"].as_u64();
            ends.store(true, SeqCst);
            (are_evicted, failed, floods)
        });
        server.stop();
        assert!(are_evicted && failed.is_empty(), "{combination}: {are_evicted}, {failed:?}");
        let is_short = ProcessorTime::now().idle_share_since(&begun) < IDLE_SHARE_MIN;
        assert!(floods == Some(0) || is_short, "{combination}: SYNs were refused: {floods:?}");
    });
}

/// The content, of a request that was sent as soon as the server requires of a new connection while
/// no place is free. A machine that is busy makes clients slower, which then come again.
fn fetch_in_time(server: &Server) -> Result<Vec<u8>, String> {
    let outcome = || {
        let Asked { mut wire, sent, is_late } = Asked::new(server, "Connection: close\r\n");
        let outcome = sent.and_then(|()| wire.reply(false).map(|(_, body)| body));
        Some(outcome).filter(|outcome| outcome.is_ok() || !is_late)
    };
    await_some(PATIENCE, outcome).unwrap_or_else(|| Err("never in time".into()))
}

/// A request on a new connection.
struct Asked {
    wire: Wire,
    sent: Result<(), String>,
    /// It was sent later than the server requires while no place is free.
    is_late: bool,
}

impl Asked {
    fn new(server: &Server, fields: &str) -> Self {
        let begun = Instant::now();
        let mut wire = server.connect();
        let sent = wire.get("/digits.txt", fields);
        Self { wire, sent, is_late: begun.elapsed() >= HEAD_MIN }
    }
}

/// Each of two workers may hold half of them, or each of 16 one; who of them accepts is the
/// kernel's choice.
#[test]
fn nobody_goes_while_another_worker_has_room() {
    let site = Fixture::new();
    on_every_alone(Program::Weir, |combination| {
        let count = if combination.row["holder"] == "process" { "16" } else { "2" };
        if combination.takes(&["--processes", count]) {
            // A machine that keeps a worker from running for long makes another one evict.
            at_some_scale(|_| check_nothing_is_evicted(combination, &site, count));
        }
    });
}

fn check_nothing_is_evicted(combination: &Combination, site: &Fixture, count: &str) {
    let processes = ["--processes", count];
    let flags = [&flags("16")[..], ADMIN, &processes].concat();
    let mut server = combination.start(&site.root(), &flags);
    let admin = server.await_admin();
    let most: f64 = count.parse().expect("a number");
    let are_all = || counted(admin, "started") >= most;
    assert!(await_true(PATIENCE, are_all), "{combination}: not all serve");
    let mut all: Vec<Wire> = (0..8).map(|_| asked(&server)).collect();
    // By then each of them may go.
    std::thread::sleep(WAITED);
    all.extend((8..14).map(|_| asked(&server)));
    for (n, wire) in all.iter_mut().enumerate() {
        wire.get("/digits.txt", "").expect("sent");
        let status = wire.reply(false).map(|(head, _)| head.status);
        assert_eq!(status, Ok(200), "{combination}: {n} of 14");
    }
    server.stop();
}

/// Two of 40 idle clients leave. However they are spread, a new client is served: no worker leaves
/// it to another that leaves it to this one.
#[test]
fn full_workers_do_not_wait_for_each_other() {
    let site = Fixture::new();
    on_every_alone(Program::Weir, |combination| {
        for four in [["--processes", "4"], ["--threads", "4"]] {
            if !combination.takes(&four) {
                continue;
            }
            let server = combination.start(&site.root(), &[&flags("40")[..], &four].concat());
            for _ in 0..6 {
                let mut idle: Vec<Wire> = (0..40).map(|_| asked(&server)).collect();
                idle.truncate(38);
                for _ in 0..3 {
                    check_fetched(combination, &server, "beside 38 idle clients");
                }
            }
            server.stop();
        }
    });
}

/// Other workers cannot accept connections from a worker's own queue.
#[test]
fn a_full_worker_does_not_leave_its_own_queue_to_others() {
    let own = ["--processes", "4", "--listener-queues", "own"];
    let site = Fixture::new();
    on_every_alone(Program::Weir, |combination| {
        if !combination.takes(&own) {
            return;
        }
        let server = combination.start(&site.root(), &[&flags("80")[..], &own].concat());
        let _idle: Vec<Wire> = (0..70).map(|_| asked(&server)).collect();
        check_at_once(combination, &server, 60);
        server.stop();
    });
}

#[test]
fn a_stopped_worker_with_room_keeps_no_client_out() {
    let four = ["--processes", "4"];
    let site = Fixture::new();
    on_every_alone(Program::Weir, |combination| {
        if !combination.takes(&four) {
            return;
        }
        let mut server =
            combination.start(&site.root(), &[&flags("80")[..], ADMIN, &four].concat());
        let admin = server.await_admin();
        let are_all = || counted(admin, "started") >= 4.0;
        assert!(await_true(PATIENCE, are_all), "{combination}: not all serve");
        let stopped = workers_of(server.pid())[0];
        stop(stopped);
        // As many as the others may hold.
        let others = if combination.row["holder"] == "process" { 3 } else { 60 };
        let _idle: Vec<Wire> =
            (0..others).map(|_| server.asking(server.address, "/digits.txt")).collect();
        check_at_once(combination, &server, 20);
        send(stopped, Signal::CONT);
        server.stop();
    });
}

/// So many new clients that ask at the same time are answered.
fn check_at_once(combination: &Combination, server: &Server, clients: usize) {
    let clients: Vec<Asked> = (0..clients).map(|_| Asked::new(server, "")).collect();
    for (n, Asked { mut wire, sent, is_late }) in clients.into_iter().enumerate() {
        let status = sent.and_then(|()| wire.reply(false).map(|(head, _)| head.status));
        let is_answered = status == Ok(200) || is_late && fetch_in_time(server).is_ok();
        assert!(is_answered, "{combination}: client {n}: {status:?}");
    }
}

/// Its address holds as many as it may. Of `mt`, `mp` and pipelines this is not said: there a
/// thread, a process or a place has to be free to see from where somebody comes.
#[test]
fn nobody_goes_for_who_is_turned_away() {
    const FLAGS: &[&str] = &["--address-connections-max", "4"];
    let site = Fixture::new();
    on_every_alone(Program::Weir, |combination| {
        if combination.row["holder"] != "loop" {
            return;
        }
        let server = combination.start(&site.root(), &[&flags("8")[..], FLAGS].concat());
        let from = |ip: [u8; 4]| Wire::connect_from(ip.into(), server.address, 0);
        let mut all: Vec<Wire> = Vec::new();
        for ip in [[127, 0, 0, 2], [127, 0, 0, 1]] {
            all.extend((0..4).map(|_| from(ip).expect("a connection")));
        }
        let mut ask_all = |when: &str| {
            for (n, wire) in all.iter_mut().enumerate() {
                let sent = wire.get("/digits.txt", "");
                let status = sent.and_then(|()| wire.reply(false)).map(|(head, _)| head.status);
                assert_eq!(status, Ok(200), "{combination}: {n} of 8, {when}");
            }
        };
        ask_all("at first");
        // By then each of them may go.
        std::thread::sleep(WAITED);
        for _ in 0..12 {
            let _ = server.connect().end();
        }
        ask_all("beside 12 who were turned away");
        server.stop();
    });
}

/// Clients that take nothing of their replies, or send nothing of their bodies.
#[test]
fn the_slowest_transfers_are_ended_for_new_clients() {
    const PLACES: usize = 4;
    let site = site_with_a_huge_file();
    let [patient @ .., "--crowded-rate-min", _] = PATIENT else { unreachable!("the last flag") };
    type Row = (&'static str, fn(&Server) -> Wire);
    let rows: [Row; 2] =
        [("replies", |server| in_flight(server, 1).remove(0)), ("bodies", half_a_body)];
    for (what, begin) in rows {
        on_mechanisms_alone(Program::Weir, |combination| {
            let flags = [patient, &["--connections-max", "4"], ADMIN].concat();
            let mut server = combination.start(&site.root(), &flags);
            let admin = server.await_admin();
            let slow: Vec<Wire> = (0..PLACES).map(|_| begin(&server)).collect();
            for _ in 0..3 {
                check_fetched(combination, &server, what);
            }
            let is_counted = || counted(admin, "evicted_slow") >= 1.0;
            assert!(await_true(PATIENCE, is_counted), "{combination}: {what}");
            drop(slow);
            server.stop();
        });
    }
}

#[test]
fn who_has_a_request_in_hand_does_not_go() {
    let site = site_with_a_huge_file();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [&flags("4")[..], ADMIN].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let (mut busy, mut sends) = (in_flight(&server, 2), half_a_body(&server));
        let mut idle = asked(&server);
        for _ in 0..3 {
            check_fetched(combination, &server, "beside three with a request in hand");
        }
        assert_eq!(idle.end(), Ok(()), "{combination}: who was idle");
        busy.extend(in_flight(&server, 1));
        let mut waiting = server.asking(server.address, "/digits.txt");
        check_rests(combination, &server, admin);
        waiting.set_patience(AT_ONCE);
        let fault = waiting.head().expect_err("no answer while all are busy");
        assert!(fault.starts_with("nothing came"), "{combination}: {fault}");
        waiting.set_patience(PATIENCE);
        drop(busy.pop());
        let reply = waiting.reply(false).map(|(head, body)| (head.status, body));
        assert_eq!(reply, Ok((200, DIGITS.to_vec())), "{combination}: when one has gone");
        sends.send(b"lf").expect("sent");
        assert_eq!(sends.reply(false).map(|(head, _)| head.status), Ok(200), "{combination}");
        for rest in at_once(&mut busy, |wire| wire.fin().map(|()| wire.rest())) {
            assert_eq!(rest, Ok(Ok(HUGE_BYTES)), "{combination}: a reply in hand");
        }
        server.stop();
    });
}

/// However many come at once, and whether somebody may go for them just then or not.
#[test]
fn no_more_stay_than_may() {
    const MOST: usize = 40;
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &flags("40"));
        let mut all = Vec::new();
        for burst in 0..3 {
            let ask = |_| server.asking(server.address, "/digits.txt");
            let mut burst_of: Vec<Wire> = (0..2 * MOST).map(ask).collect();
            let is_answered = |wire: &mut Wire| wire.reply(false).is_ok();
            let answered = burst_of.iter_mut().map(is_answered).filter(|&answered| answered);
            assert!(answered.count() > MOST, "{combination}: burst {burst} was not let in");
            all.extend(burst_of);
        }
        // The last of them go as soon as they have waited for long enough.
        let began = Instant::now();
        while all.len() > MOST && began.elapsed() < PATIENCE {
            all.retain_mut(|wire| {
                wire.set_patience(Duration::from_millis(1));
                wire.end().is_err_and(|fault| fault.starts_with("nothing came"))
            });
        }
        assert!(all.len() <= MOST, "{combination}: {} stay", all.len());
        check_fetched(combination, &server, "behind the bursts");
        server.stop();
    });
}

fn check_fetched(combination: &Combination, server: &Server, when: &str) {
    assert_eq!(fetch_in_time(server).as_deref(), Ok(DIGITS), "{combination}: {when}");
}
