//! Every mechanism sees the same things happen to real sockets.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::connection::{Connection, PATIENCE};
use os::poller::{Event, Interest, Mechanism, Poller};
use os::{Blocking, Wake};

const TOKEN: u64 = u64::MAX - 7;
const EVENTS_MAX: usize = 64;

/// One thing after the other, with one connection that is added with an interest in reading.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The peer sends these bytes.
    Hear(&'static [u8]),
    /// The peer sends FIN.
    HearFin,
    /// We receive: this many bytes, 0 for FIN.
    Recv(usize),
    /// We send until nothing more fits.
    Fill,
    /// The peer receives all that was sent.
    Drain,
    /// We wait for this from now on.
    Want(Interest),
    /// The next events say so; to epoll, see [`agrees`].
    See(Seen),
    /// A wait that does not wait finds nothing.
    Quiet,
    /// As `Quiet`, except for epoll, which takes no notice of interest.
    QuietUnlessEpoll,
    /// We take it out and close it.
    Close,
}
use Step::{Close, Drain, Fill, Hear, HearFin, Quiet, QuietUnlessEpoll, Recv, See, Want};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    Readable,
    ReadableAndEnded,
    Writable,
}
use Seen::{Readable, ReadableAndEnded, Writable};

#[test]
fn all_mechanisms_see_the_same() {
    let rows: &[(&str, &[Step])] = &[
        ("nothing", &[Quiet, Quiet]),
        ("data", &[Hear(b"abc"), See(Readable), Recv(3), Quiet]),
        ("data twice", &[Hear(b"a"), See(Readable), Recv(1), Hear(b"bc"), See(Readable), Recv(2)]),
        ("FIN", &[HearFin, See(ReadableAndEnded), Recv(0)]),
        (
            "data and FIN in one event",
            &[Hear(b"abc"), HearFin, See(ReadableAndEnded), Recv(3), Recv(0)],
        ),
        (
            "FIN behind data that was seen",
            &[Hear(b"abc"), See(Readable), HearFin, See(ReadableAndEnded), Recv(3), Recv(0)],
        ),
        ("room again", &[Fill, Want(Interest::WRITE), Quiet, Drain, See(Writable), Drain]),
        ("either", &[Want(Interest::BOTH), Fill, Quiet, Hear(b"a"), See(Readable), Recv(1), Quiet]),
        (
            "room, with a FIN ignored",
            &[Fill, Want(Interest::WRITE), HearFin, QuietUnlessEpoll, Drain, See(Writable)],
        ),
        (
            "interest in nothing",
            &[
                Want(Interest::NONE),
                Hear(b"abc"),
                HearFin,
                QuietUnlessEpoll,
                Want(Interest::READ),
                Recv(3),
            ],
        ),
        (
            "interest again",
            &[Want(Interest::NONE), Want(Interest::READ), Hear(b"abc"), See(Readable)],
        ),
        ("closed", &[Hear(b"abc"), Close, Quiet]),
        ("closed without interest", &[Want(Interest::NONE), Hear(b"abc"), Close, Quiet]),
    ];
    for mechanism in Mechanism::ALL {
        for (name, steps) in rows {
            check(mechanism, name, steps);
        }
    }
}

fn check(mechanism: Mechanism, name: &str, steps: &[Step]) {
    let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
    let mut connection = Some(Connection::new(Blocking::No));
    let mut filled = 0;
    let added = connection.as_ref().map(|c| poller.add(&c.ours, TOKEN, Interest::READ));
    added.unwrap().unwrap();
    // epoll says at first that there is room.
    let first = poller.wait(Some(Duration::ZERO)).unwrap();
    assert!(first.iter().all(|event| event.writable && !event.readable), "{first:?}");
    for (n, step) in steps.iter().enumerate() {
        let place = format!("{mechanism}, {name}, step {n}, {step:?}");
        if matches!(step, Close) {
            let closed = connection.take().unwrap();
            poller.remove(&closed.ours);
            continue;
        }
        if let Some(connection) = &mut connection {
            act(step, connection, &mut poller, &mut filled, &place);
        }
        let quiet = match step {
            Quiet => true,
            QuietUnlessEpoll => !poller.is_edge_triggered(),
            _ => false,
        };
        if quiet {
            assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), [], "{place}");
            assert_eq!(poller.events(), [], "{place}");
        }
    }
}

fn act(
    step: &Step,
    connection: &mut Connection,
    poller: &mut Poller,
    filled: &mut usize,
    place: &str,
) {
    match *step {
        Hear(bytes) => connection.hear(bytes),
        HearFin => connection.hear_fin(),
        Recv(n) => assert_eq!(connection.ours.recv(&mut [0; 64]).unwrap(), n, "{place}"),
        Fill => *filled = connection.fill(),
        Drain => connection.drain(std::mem::take(filled)),
        Want(interest) => poller.set(&connection.ours, interest).unwrap(),
        See(seen) => {
            // An edge may come in parts, with room before the rest.
            loop {
                let events = poller.wait(Some(PATIENCE)).unwrap();
                assert_eq!(events.len(), 1, "{place}: {events:?}");
                assert_eq!(events[0].token, TOKEN);
                if agrees(events[0], seen, place) {
                    break;
                }
            }
        }
        Quiet | QuietUnlessEpoll | Close => {}
    }
}

/// select cannot tell an end; epoll tells what it was not asked about, so it may speak of room
/// first.
fn agrees(event: Event, seen: Seen, place: &str) -> bool {
    let select = place.starts_with("select");
    let epoll = place.starts_with("epoll");
    let agrees = match seen {
        Readable => event.readable && !event.ended,
        ReadableAndEnded => event.readable && event.ended != select,
        Writable => event.writable,
    };
    assert!(agrees || epoll && event.writable, "{place}: {event:?}");
    assert!(epoll || !event.writable || seen == Writable, "{place}: {event:?}");
    agrees
}

#[test]
fn a_reset_is_seen() {
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let connection = Connection::new(Blocking::No);
        poller.add(&connection.ours, TOKEN, Interest::READ).unwrap();
        let ours = connection.hear_reset();
        let event = poller.wait(Some(PATIENCE)).unwrap()[0];
        assert!(event.readable && event.ended != (mechanism == Mechanism::Select), "{event:?}");
        let error = ours.recv(&mut [0]).unwrap_err();
        assert!(os::is_peer_gone(&error), "{error}");
        poller.remove(&ours);
    }
}

#[test]
fn levels_are_reported_until_they_are_gone() {
    type Add = fn(&mut Poller, &Wake) -> std::io::Result<()>;
    let adds: [Add; 2] =
        [|poller, wake| poller.add_level(wake, 3), |poller, wake| poller.add_exclusive(wake, 3)];
    for (mechanism, add) in Mechanism::ALL.into_iter().flat_map(|of| adds.map(|add| (of, add))) {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let wake = Wake::new().unwrap();
        let ready = [Event { token: 3, readable: true, writable: false, ended: false }];
        add(&mut poller, &wake).unwrap();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), []);
        wake.wake();
        for _ in 0..2 {
            assert_eq!(poller.wait(None).unwrap(), ready, "{mechanism}");
        }
        poller.pause_level(&wake);
        poller.pause_level(&wake);
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), []);
        add(&mut poller, &wake).unwrap();
        assert_eq!(poller.wait(Some(Duration::MAX)).unwrap(), ready, "{mechanism}");
        wake.clear();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), []);
    }
}

#[test]
fn another_thread_ends_a_wait() {
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let wake = Wake::new().unwrap();
        poller.add_level(&wake, 5).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| poller.wait(None).unwrap()[0].token);
            wake.wake();
            assert_eq!(waiter.join().unwrap(), 5);
        });
    }
}

#[test]
fn what_was_not_added_cannot_be_set() {
    for mechanism in [Mechanism::Select, Mechanism::Poll] {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let wake = Wake::new().unwrap();
        let refused = |poller: &mut Poller| {
            let error = poller.set(&wake, Interest::READ).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{mechanism}");
        };
        refused(&mut poller);
        poller.remove(&wake);
        poller.add(&wake, 1, Interest::READ).unwrap();
        poller.remove(&wake);
        refused(&mut poller);
    }
}

#[test]
fn each_of_many_is_reported_once() {
    const MANY: u64 = 200;
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, MANY as usize).unwrap();
        let wakes: Vec<Wake> = (0..MANY).map(|_| Wake::new().unwrap()).collect();
        for (token, wake) in (0..).zip(&wakes) {
            poller.add_level(wake, token).unwrap();
        }
        // Gaps at both ends and between, and names that were given again.
        let renamed = |token: &u64| token % 3 == 1;
        let gone = |token: &u64| token.is_multiple_of(3) || *token == MANY - 1;
        for (token, wake) in (0..).zip(&wakes) {
            wake.wake();
            if gone(&token) || renamed(&token) {
                poller.pause_level(wake);
            }
            if renamed(&token) {
                poller.add_level(wake, token + MANY).unwrap();
            }
        }
        let stay = |token: &u64| !gone(token) && !renamed(token);
        let expected = (0..MANY).filter(stay).chain((0..MANY).filter(renamed).map(|t| t + MANY));
        assert_eq!(readable(&mut poller), expected.collect::<Vec<u64>>(), "{mechanism}");
    }
}

#[test]
fn epoll_reports_no_more_than_it_was_told_and_forgets_nothing() {
    let mut poller = Poller::new(Mechanism::Epoll, 2).unwrap();
    let connections: Vec<Connection> = (0..5).map(|_| Connection::new(Blocking::No)).collect();
    for (token, connection) in (0..).zip(&connections) {
        poller.add(&connection.ours, token, Interest::READ).unwrap();
    }
    let mut seen = Vec::new();
    while seen.len() < connections.len() {
        let events = poller.wait(Some(PATIENCE)).unwrap();
        assert!((1..=2).contains(&events.len()), "{events:?}");
        seen.extend(events.iter().map(|event| event.token));
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

/// 1,024 is where the C library's select ends; the others are the first and last bits of words.
#[test]
fn descriptors_may_have_high_numbers() {
    assert!(os::limits::descriptors() > 4200, "the test needs a higher limit on descriptors");
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let mut connection = Connection::new(Blocking::No);
        let numbers = [1024, 2047, 2048, 4160];
        let high = numbers.map(|n| rustix::io::fcntl_dupfd_cloexec(&connection.ours, n).unwrap());
        for (token, fd) in (0..).zip(&high) {
            poller.add(fd, token, Interest::READ).unwrap();
        }
        poller.wait(Some(Duration::ZERO)).unwrap();
        connection.hear(b"abc");
        assert_eq!(readable(&mut poller), [0, 1, 2, 3], "{mechanism}");
        // The highest goes: a shorter question, with the longer answer still in memory.
        let [.., last] = &high;
        poller.remove(last);
        if !poller.is_edge_triggered() {
            assert_eq!(readable(&mut poller), [0, 1, 2], "{mechanism}");
        }
        drop::<[OwnedFd; 4]>(high);
    }
}

/// As for a connection that goes to another stage and comes back: in between nothing is told of it.
#[test]
fn what_is_armed_is_told_once_until_it_is_armed_again() {
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, EVENTS_MAX).unwrap();
        let mut connection = Connection::new(Blocking::No);
        poller.arm(&connection.ours, TOKEN, Interest::READ, false).unwrap();
        connection.hear(b"a");
        assert_eq!(readable(&mut poller), [TOKEN], "{mechanism}");
        poller.remove(&connection.ours);
        connection.hear(b"b");
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), [], "{mechanism}");
        // What came meanwhile is still there.
        let was = poller.is_edge_triggered();
        poller.arm(&connection.ours, TOKEN, Interest::READ, was).unwrap();
        assert_eq!(readable(&mut poller), [TOKEN], "{mechanism}");
        poller.remove(&connection.ours);
    }
}

fn readable(poller: &mut Poller) -> Vec<u64> {
    let events = poller.wait(Some(PATIENCE)).unwrap();
    let tokens = events.iter().filter(|event| event.readable).map(|event| event.token);
    let mut tokens: Vec<u64> = tokens.collect();
    tokens.sort_unstable();
    tokens
}
