//! Servers that misbehave: each request counts in the right class, and every run ends.
//!
//! Two classes are not provoked here. The kernel's own patience (`TimedOut`) takes minutes and is
//! set for a whole machine; descriptors (`NoDescriptor`) run out for the whole process of the
//! tests, whose servers need some, too.

use std::net::Ipv4Addr;
use std::sync::mpsc;

use load::arrivals::Arrivals;
use load::behaviour::{GivesUpBy, Keeps};
use load::engine;
use load::record::Outcome::{
    self, Ended, Good, Impatient, Malformed, NoAddress, NotStarted, Refused, Reset, Status,
    Unreachable, Unread, Wrong,
};
use load::record::Step;
use load::session::Method;
use measure::Duration;
use measure::draw::Draw;

use crate::engine::observers::Cutting;
use crate::engine::server::{
    BYTES, Client, PATIENCE, Same, answer, made, nobody, outcomes, plan, reply, run, serve,
};

/// A server, and how the requests of clients with little patience end.
type Row = (&'static str, fn(Client), Outcome);

#[test]
fn each_fault_counts_in_its_class() {
    let rows: &[Row] = &[
        ("nothing is wrong", answer, Good),
        ("ends when asked", |c| drop(tell(c, "")), Ended(Step::FirstByte)),
        ("resets when asked", |c| tell(c, "").reset(), Reset(Step::FirstByte)),
        ("says nothing", |c| tell(c, "").wait(), Impatient(Step::FirstByte)),
        ("ends within the head", |c| drop(tell(c, "HTTP/1.1 200 OK\r\nCont")), Ended(Step::Reply)),
        ("ends within the content", |c| drop(tell(c, half())), Ended(Step::Reply)),
        ("resets within the content", |c| tell(c, half()).reset(), Reset(Step::Reply)),
        ("stops within the content", |c| tell(c, half()).wait(), Impatient(Step::Reply)),
        ("another length", |c| tell(c, reply(b"abc")).wait(), Wrong),
        ("another content", |c| tell(c, reply(&[b'x'; BYTES as usize])).wait(), Wrong),
        ("more than it said", |c| tell(c, [reply(&right()), vec![b'x']].concat()).wait(), Wrong),
        ("another status", |c| tell(c, NOT_FOUND).wait(), Status(404)),
        ("a malformed head", |c| tell(c, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n").wait(), Malformed),
        ("another protocol", |c| tell(c, "SSH-2.0-x\r\n").wait(), Malformed),
        ("two lengths", |c| tell(c, TWO_LENGTHS).wait(), Malformed),
        ("no head", |c| tell(c, vec![b'x'; 1 << 20]).wait(), Malformed),
        ("a head without end", |c| tell(c, endless_head()).wait(), Unread),
        ("content without a length", |c| drop(tell(c, unframed())), Good),
        ("content in chunks", |c| tell(c, chunked()).wait(), Good),
        ("first hints", |c| tell(c, hinted()).wait(), Good),
    ];
    for &(name, server, expected) in rows {
        for keeps in [Keeps::Request, Keeps::Session] {
            check(name, server, keeps, expected);
        }
    }
}

fn check(name: &str, server: fn(Client), keeps: Keeps, expected: Outcome) {
    for gives_up_by in [GivesUpBy::Reset, GivesUpBy::Fin] {
        let mut plan = plan(serve(server));
        plan.behaviour.keeps = keeps;
        plan.behaviour.gives_up_by = gives_up_by;
        let short = Some(Duration::from_millis(100));
        match expected {
            // The server may take its time until it begins.
            Impatient(Step::Reply) => plan.behaviour.progress_max = short,
            Impatient(_) => plan.behaviour.first_byte_max = short,
            _ => {}
        }
        let (records, summary) = run(&plan, &mut Same::bursts(&[1]));
        assert_eq!(outcomes(&records), [expected; 5], "{name}, {keeps:?}");
        assert_eq!((summary.sessions, summary.missed), (5, 0), "{name}");
    }
}

fn tell(mut client: Client, bytes: impl AsRef<[u8]>) -> Client {
    client.asks();
    client.tell(bytes);
    client
}

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const TWO_LENGTHS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab";

fn endless_head() -> Vec<u8> {
    ["HTTP/1.1 200 OK\r\n", &"A: b\r\n".repeat(1 << 17)].concat().into_bytes()
}

fn right() -> Vec<u8> {
    made("/0", BYTES)
}

fn half() -> Vec<u8> {
    let whole = reply(&right());
    whole[..whole.len() - 50].to_vec()
}

fn unframed() -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &right()].concat()
}

fn chunked() -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{BYTES:x}\r\n");
    [head.as_bytes(), &right(), b"\r\n0\r\n\r\n"].concat()
}

fn hinted() -> Vec<u8> {
    [b"HTTP/1.1 103 Early Hints\r\n\r\n".as_slice(), &reply(&right())].concat()
}

#[test]
fn nobody_listens() {
    let (_socket, address) = nobody();
    let (records, summary) = run(&plan(address), &mut Same::bursts(&[3]));
    assert_eq!(outcomes(&records), [Refused; 5]);
    assert_eq!((summary.sessions, summary.connections), (5, 5));
}

/// Who is refused in a closed loop comes again, but not as fast as a processor can be refused.
#[test]
fn nobody_listens_in_a_closed_loop() {
    let (_socket, address) = nobody();
    let mut plan = plan(address);
    plan.arrivals = Arrivals::Closed { clients: 3, think: Draw::Constant(0.0) };
    plan.stop.after = Duration::from_millis(200);
    let (records, _) = run(&plan, &mut Same::bursts(&[1]));
    assert!(records.iter().all(|record| record.outcome == Refused));
    // Each at the begin, and once more behind each 10 ms.
    assert!((3..=3 * 21).contains(&records.len()), "{}", records.len());
}

/// From the port that it goes to a connection comes about, with itself; nobody has answered.
#[test]
fn who_meets_himself_was_refused() {
    let all = os::limits::local_ports().unwrap();
    if let Err(error) = os::Socket::takes_ports(all) {
        return harness::skip(format!("needs Linux 6.3, to choose a range of ports: {error}"));
    }
    let from_itself = |port: u16| {
        let mut plan = plan((Ipv4Addr::LOCALHOST, port).into());
        plan.behaviour.ports = Some(port..=port);
        outcomes(&run(&plan, &mut Same::bursts(&[1])).0)
    };
    // One or another is somebody's already, but hardly all of these.
    let mut ports = all.clone().step_by(101).take(100);
    let met =
        ports.find_map(|port| Some(from_itself(port)).filter(|all| !all.contains(&NoAddress)));
    assert_eq!(met, Some(vec![Refused; 5]));
}

/// The kernel knows at once that no stream leads to a group of hosts. In a closed loop the run
/// ends, too.
#[test]
fn there_is_no_way_to_the_server() {
    let mut plan = plan("224.0.0.1:80".parse().unwrap());
    let (records, summary) = run(&plan, &mut Same::bursts(&[3]));
    assert_eq!(outcomes(&records), [Unreachable; 5]);
    assert_eq!((summary.sessions, summary.connections, summary.connections_open), (5, 5, 0));
    plan.arrivals = Arrivals::Closed { clients: 3, think: Draw::Constant(0.0) };
    plan.stop.sessions_max = Some(100);
    let (records, _) = run(&plan, &mut Same::bursts(&[3]));
    assert_eq!(outcomes(&records), [Unreachable; 100]);
}

/// An address that is kept for documentation is nobody's.
#[test]
fn there_is_no_address_to_come_from() {
    let mut plan = plan(serve(answer));
    plan.behaviour.sources = vec!["192.0.2.1".parse().unwrap()];
    let (records, _) = run(&plan, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [NoAddress; 5]);
}

/// Two ports, and five clients that stay.
#[test]
fn there_is_no_port_to_come_from() {
    let first = *os::limits::local_ports().unwrap().start();
    let ports = first..=first + 1;
    if os::Socket::takes_ports(&ports).is_err() {
        return harness::skip("needs Linux 6.3, to choose a range of ports");
    }
    let (tell, told) = mpsc::channel();
    let mut plan = plan(serve(move |client: Client| {
        tell.send(client.peer().port()).unwrap();
        client.wait();
    }));
    plan.behaviour.ports = Some(ports.clone());
    // Those that have a port wait until all have come, however late that is.
    plan.behaviour.patience = Some(PATIENCE);
    plan.stop.sessions_max = Some(5);
    let mut observer = Cutting::default();
    engine::run(&plan, &mut Same::bursts(&[1]), &mut observer).unwrap();
    let records = observer.records;
    let without = outcomes(&records).into_iter().filter(|outcome| *outcome == NoAddress).count();
    // Others may have one of the ports.
    assert!((3..=5).contains(&without), "{records:?}");
    assert!(told.try_iter().all(|port| ports.contains(&port)));
}

/// Nobody is let in any more, so that the kernel leaves the handshake unanswered.
#[test]
fn a_connection_that_does_not_come_about_is_given_up() {
    let listener = os::Listener::bind(&"127.0.0.1:0".parse().unwrap(), 0).unwrap();
    let mut plan = plan(listener.local_address().unwrap().parse().unwrap());
    plan.behaviour.connect_max = Some(Duration::from_millis(50));
    plan.behaviour.patience = Some(Duration::from_secs(3));
    let (records, _) = run(&plan, &mut Same::bursts(&[1]));
    let given_up = records.iter().filter(|record| record.outcome == Impatient(Step::Connect));
    assert!(given_up.count() >= 3, "{records:?}");
    assert_eq!(records.len(), 5);
}

#[test]
fn as_many_connections_are_open_as_may_be() {
    let mut plan = plan(serve(Client::wait));
    plan.behaviour.connections_max = 2;
    // Those that have a connection wait until all have come, however late that is.
    plan.behaviour.patience = Some(PATIENCE);
    plan.stop.sessions_max = Some(5);
    let mut observer = Cutting::default();
    let summary = engine::run(&plan, &mut Same::bursts(&[1]), &mut observer).unwrap();
    assert_eq!(summary.connections, 2);
    let mut told = outcomes(&observer.records);
    told.sort_by_key(|outcome| *outcome != NotStarted);
    let impatient = Impatient(Step::FirstByte);
    assert_eq!(told, [NotStarted, NotStarted, NotStarted, impatient, impatient]);
}

#[test]
fn who_lost_his_connection_asks_again_if_he_is_to() {
    // How the first connection ends, how often is asked again, and how it goes.
    type Ends = fn(Client);
    let rows: [(Ends, u16, Outcome); 5] = [
        (|c| drop(tell(c, "")), 0, Ended(Step::FirstByte)),
        (|c| drop(tell(c, "")), 1, Good),
        (|c| tell(c, "").reset(), 3, Good),
        (|c| drop(tell(c, half())), 3, Ended(Step::Reply)),
        (|c| tell(c, "x").wait(), 3, Malformed),
    ];
    for (ends, retries, expected) in rows {
        let first =
            move |client: Client| if client.number == 0 { ends(client) } else { answer(client) };
        let mut plan = plan(serve(first));
        plan.stop.sessions_max = Some(1);
        plan.behaviour.retries = retries;
        let (records, summary) = run(&plan, &mut Same::bursts(&[1]));
        assert_eq!(outcomes(&records), [expected], "{retries} retries");
        assert_eq!(summary.connections, 1 + u64::from(expected == Good));
    }
}

/// The server sees the end that was asked for, whatever its client waited for.
#[test]
fn who_gives_up_ends_the_connection_as_he_is_to() {
    let gives_up = |gives_up_by, said: Vec<u8>| {
        let (saw, seen) = mpsc::channel();
        let name = format!("{gives_up_by:?} behind {} bytes", said.len());
        let mut plan = plan(serve(move |client| {
            let _ = saw.send(tell(client, &said).end());
        }));
        plan.behaviour.gives_up_by = gives_up_by;
        // Far longer than the server takes to read a request and to say that much.
        plan.behaviour.patience = Some(Duration::from_secs(5));
        let (records, _) = run(&plan, &mut Same::bursts(&[1]));
        assert!(
            records.iter().all(|record| matches!(record.outcome, Impatient(_))),
            "{name}: {records:?}"
        );
        let ends: Vec<_> = (0..5).map_while(|_| seen.recv_timeout(PATIENCE).ok()).collect();
        assert_eq!(ends, [gives_up_by; 5], "{name}");
    };
    std::thread::scope(|scope| {
        for gives_up_by in [GivesUpBy::Reset, GivesUpBy::Fin] {
            for said in [Vec::new(), half()] {
                scope.spawn(move || gives_up(gives_up_by, said));
            }
        }
    });
}

/// More than the buffers of both ends hold, to a server that never reads.
#[test]
fn a_request_that_cannot_be_sent_is_given_up() {
    const LARGE: usize = 48 << 20;
    let (keep, kept) = mpsc::channel();
    let mut plan = plan(serve(move |client: Client| drop(keep.send(client))));
    plan.behaviour.send_max = Some(Duration::from_millis(50));
    plan.stop.sessions_max = Some(1);
    let mut workload = Same::bursts(&[1]);
    let request = &mut workload.session.bursts[0].requests[0];
    request.method = Method::Post;
    request.content = vec![b'x'; LARGE].into();
    let (records, _) = run(&plan, &mut workload);
    assert_eq!(outcomes(&records), [Impatient(Step::Send)]);
    drop(kept);
}

#[test]
fn every_step_has_a_patience_of_its_own() {
    let short = Some(Duration::from_millis(50));
    let mut first = plan(serve(Client::wait));
    first.behaviour.first_byte_max = short;
    let (records, _) = run(&first, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [Impatient(Step::FirstByte); 5]);
    let mut progress = plan(serve(|c| tell(c, half()).wait()));
    progress.behaviour.progress_max = short;
    let (records, _) = run(&progress, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [Impatient(Step::Reply); 5]);
}
