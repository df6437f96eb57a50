//! Whose connection it is: told by a balancer, and limited by address.

use std::fs;
use std::net::SocketAddr;
use std::time::Instant;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::metrics::counted;
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

const FROM_7: &str = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 80\r\n";
const REQUEST: &str = "GET /digits.txt HTTP/1.1\r\nHost: weir.test\r\n\r\n";

/// The status of the next reply, or 0 if the connection ends without one.
fn status(wire: &mut Wire) -> u16 {
    wire.reply(false).map_or(0, |(head, _)| head.status)
}

/// A connection on which these bytes were sent; the server may have closed it by then.
fn sends(server: &Server, bytes: &[u8]) -> Wire {
    let mut wire = server.connect();
    let _ = wire.send(bytes);
    wire
}

fn v2(family: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n\x21", &[family][..], &length, body].concat()
}

#[test]
fn a_balancer_tells_whose_connection_it_is() {
    let site = Fixture::new();
    let local = v2(0, &[]);
    let v6 = v2(0x21, &[&[0x20, 1, 0x0d, 0xb8][..], &[0; 11], &[9], &[0; 20]].concat());
    let rows: [(&[u8], &str); 4] = [
        (FROM_7.as_bytes(), "192.0.2.7 "),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1 "),
        (&v6, "2001:db8::9 "),
        (&local, "127.0.0.1 "),
    ];
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let log = home.path().join("access.log");
        let flags = ["--access-log", log.to_str().expect("UTF-8"), "--proxy-protocol"];
        let flags = [&flags[..], &["10.0.0.0/8,127.0.0.0/8"]].concat();
        let server = combination.start(&site.root(), &flags);
        for (header, _) in rows {
            let together = [header, REQUEST.as_bytes()].concat();
            let mut wire = sends(&server, &together);
            assert_eq!(status(&mut wire), 200, "{combination}");
            // The connection stays the client's.
            wire.get("/digits.txt", "").expect("sent");
            assert_eq!(status(&mut wire), 200, "{combination}");
            // The same byte by byte.
            let mut wire = server.connect();
            together.iter().for_each(|byte| wire.send(&[*byte]).expect("sent"));
            assert_eq!(status(&mut wire), 200, "{combination}");
        }
        server.stop();
        let text = fs::read_to_string(&log).expect("a log");
        let mut sources: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        let mut expected: Vec<_> = rows.iter().flat_map(|(_, ip)| [ip.trim_end(); 3]).collect();
        sources.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sources, expected, "{combination}");
    });
}

/// Whoever ends his side with the request has said all, and waits for the reply.
#[test]
fn who_ends_with_his_request_is_answered() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &["--address-connections-max", "100"]);
        for _ in 0..20 {
            let mut wire = sends(&server, REQUEST.as_bytes());
            wire.fin().expect("its side ends");
            assert_eq!(status(&mut wire), 200, "{combination}");
        }
        server.stop();
    });
}

#[test]
fn who_says_no_header_or_may_not_is_turned_away() {
    let site = Fixture::new();
    let long = format!("PROXY UNKNOWN {}", "x".repeat(600));
    let turned = |combination: &Combination, trusted: &str, rows: &[&str]| {
        let server = combination.start(&site.root(), &["--proxy-protocol", trusted]);
        for bytes in rows {
            let mut wire = sends(&server, bytes.as_bytes());
            assert_eq!(status(&mut wire), 0, "{combination} {trusted}: {bytes:?}");
        }
        let whole = format!("{FROM_7}{REQUEST}");
        let expected = if trusted == "127.0.0.1" { 200 } else { 0 };
        assert_eq!(status(&mut sends(&server, whole.as_bytes())), expected, "{combination}");
        server.stop();
    };
    on_mechanisms_alone(Program::Weir, |combination| {
        turned(combination, "127.0.0.1", &[REQUEST, "PROXY TCP4 nonsense\r\n", &long]);
        turned(combination, "10.0.0.0/8", &[REQUEST]);
    });
}

#[test]
fn a_header_that_never_comes_is_waited_for_as_long_as_a_head() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ["--proxy-protocol", "127.0.0.1", "--head-timeout-ms", "200"];
        let server = combination.start(&site.root(), &flags);
        assert_eq!(status(&mut sends(&server, b"PROXY TCP4 192.0.2.7")), 0, "{combination}");
        assert!(server.stop().contains(" 1 timeouts"), "{combination}: not counted");
    });
}

#[test]
fn an_address_has_as_many_connections_as_it_may() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ["--address-connections-max", "2", "--proxy-protocol", "127.0.0.1"];
        let server = combination.start(&site.root(), &flags);
        let from = |ip: &str| {
            let header = format!("PROXY TCP4 {ip} 198.51.100.1 1 80\r\n{REQUEST}");
            let mut wire = sends(&server, header.as_bytes());
            (status(&mut wire), wire)
        };
        let kept = [from("192.0.2.7"), from("192.0.2.7")];
        assert_eq!(kept.each_ref().map(|(status, _)| *status), [200, 200], "{combination}");
        assert_eq!(from("192.0.2.7").0, 0, "{combination}: a third");
        assert_eq!(from("192.0.2.8").0, 200, "{combination}: another's");
        drop(kept);
        let again = || from("192.0.2.7").0 == 200;
        assert!(await_true(PATIENCE, again), "{combination}: when they have gone");
        server.stop();
    });
}

#[test]
fn a_connection_too_many_is_closed_before_it_asks() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &["--address-connections-max", "1"]);
        let mut kept = sends(&server, REQUEST.as_bytes());
        assert_eq!(status(&mut kept), 200, "{combination}");
        assert_eq!(status(&mut server.connect()), 0, "{combination}");
        kept.get("/digits.txt", "Connection: close\r\n").expect("sent");
        let (_, body) = kept.reply(false).expect("a reply");
        assert_eq!(body, DIGITS, "{combination}: the first goes on");
        server.stop();
    });
}

/// The most requests of one address that are answered, if so many are allowed a second: those of
/// one second at once, and those of each further second. `begun` is before the server has started.
/// A slow machine asks for longer, and so more of its requests are answered.
fn answered_max(per_s: u64, begun: Instant) -> u64 {
    per_s + (begun.elapsed().as_secs_f64() * per_s as f64) as u64
}

/// Sent at once, and so many that no machine is too slow to ask too often.
#[test]
fn who_asks_too_often_is_told_to_wait() {
    const ASKED: usize = 200;
    let site = Fixture::new();
    let asks = format!("{FROM_7}{}", REQUEST.repeat(ASKED));
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ["--address-requests-per-s", "2", "--proxy-protocol", "127.0.0.1"];
        let begun = Instant::now();
        let server = combination.start(&site.root(), &flags);
        let mut wire = sends(&server, asks.as_bytes());
        let heads: Vec<_> = (0..ASKED).map(|_| wire.reply(false).expect("a reply").0).collect();
        let most = answered_max(2, begun);
        assert_eq!((heads[0].status, heads[1].status), (200, 200), "{combination}");
        let told = heads.iter().filter(|head| head.status == 429);
        let told: Vec<_> = told.map(|head| (head.field("retry-after"), head.closes())).collect();
        let answered = (ASKED - told.len()) as u64;
        assert!(answered <= most, "{combination}: {answered} are answered, and {most} may be");
        assert!(told.len() > 5, "{combination}: {} of {ASKED}", told.len());
        assert!(told.iter().all(|told| *told == (Some("1"), false)), "{combination}: {told:?}");
        let other = format!("PROXY TCP4 192.0.2.8 198.51.100.1 1 80\r\n{REQUEST}");
        assert_eq!(status(&mut sends(&server, other.as_bytes())), 200, "{combination}");
        server.stop();
    });
}

/// Clients ask and reset their connections, until the server has seen that many. A busy machine
/// drops a connection that is reset before it is accepted.
fn come_and_go(combination: &Combination, server: &Server, admin: SocketAddr, clients: u64) {
    let come = || sends(server, REQUEST.as_bytes()).reset();
    (0..clients).for_each(|_| come());
    let are_seen = || {
        let is_over = counted(admin, "closed") as u64 >= clients;
        if !is_over {
            come();
        }
        is_over
    };
    assert!(await_true(PATIENCE, are_seen), "{combination}: fewer connections were seen");
}

/// Of a connection that is gone before it is accepted nobody can tell the address, and what it has
/// asked can still be read.
#[test]
fn who_asks_and_resets_is_no_exception() {
    const CLIENTS: u64 = 200;
    /// Connections of which the server may see nothing but their end.
    const UNSEEN_MAX: u64 = 20;
    let site = Fixture::new();
    for defer_s in ["0", "5"] {
        on_mechanisms_alone(Program::Weir, |combination| {
            let flags = ["--address-requests-per-s", "1", "--defer-accept-s", defer_s];
            let flags = [&flags[..], &["--admin", "127.0.0.1:0"]].concat();
            let begun = Instant::now();
            let mut server = combination.start(&site.root(), &flags);
            let admin = server.await_admin();
            come_and_go(combination, &server, admin, CLIENTS);
            let count = |name: &str| counted(admin, name) as u64;
            // A worker publishes one counter after the other. In this order no request is taken for
            // answered that was throttled.
            let told = || ["throttled", "requests", "turned_away"].map(count);
            let is_told = || {
                let [throttled, asked, turned_away] = told();
                let most = answered_max(1, begun);
                asked - throttled <= most && asked + turned_away >= CLIENTS - UNSEEN_MAX
            };
            let what = "throttled, asked, turned away";
            assert!(await_true(PATIENCE, is_told), "{combination}: {what}: {:?}", told());
            server.stop();
        });
    }
}

/// However many have come and gone, who comes then has his place, and no other.
#[test]
fn who_asks_and_resets_leaves_his_place() {
    const CLIENTS: u64 = 200;
    let site = Fixture::new();
    for defer_s in ["0", "5"] {
        on_mechanisms_alone(Program::Weir, |combination| {
            let flags = ["--address-connections-max", "1", "--defer-accept-s", defer_s];
            let flags = [&flags[..], &["--admin", "127.0.0.1:0"]].concat();
            let mut server = combination.start(&site.root(), &flags);
            let admin = server.await_admin();
            come_and_go(combination, &server, admin, CLIENTS);
            // The last one of them may not be closed yet.
            let keep = || {
                let mut kept = sends(&server, REQUEST.as_bytes());
                (status(&mut kept) == 200).then_some(kept)
            };
            let kept = await_some(PATIENCE, keep);
            assert!(kept.is_some(), "{combination}: the first");
            let mut other = sends(&server, REQUEST.as_bytes());
            assert_eq!(status(&mut other), 0, "{combination}: another");
            server.stop();
        });
    }
}

/// Also requests that no site answers are counted.
#[test]
fn who_asks_for_unknown_methods_too_often_is_told_to_wait() {
    let site = Fixture::new();
    let asks = "BREW / HTTP/1.1\r\nHost: weir.test\r\n\r\n".repeat(100);
    on_mechanisms_alone(Program::Weir, |combination| {
        let begun = Instant::now();
        let server = combination.start(&site.root(), &["--address-requests-per-s", "1"]);
        let mut wire = sends(&server, asks.as_bytes());
        let told: Vec<u16> = (0..100).map(|_| status(&mut wire)).collect();
        let most = answered_max(1, begun);
        assert_eq!(told[0], 501, "{combination}");
        let late = told.iter().filter(|status| **status == 429).count() as u64;
        assert!(late + most >= 100, "{combination}: {late} of 100, and {most} may be answered");
        server.stop();
    });
}
