//! Clients that send more behind their own `Connection: close` (RFC 9112 section 9.6): what they
//! send is not answered, and costs them nothing of the reply.

use crate::support::chosen::{on_mechanisms, on_mechanisms_alone};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture, LARGE_BYTES, pattern};
use crate::support::server::Server;
use crate::support::wire::Wire;

const NEXT: &[u8] = b"GET /probe.txt HTTP/1.1\r\nHost: a\r\n\r\n";

/// Bytes that architectures receive by one call. A head that fills them leaves the rest unread.
const BUFFERS: [usize; 2] = [2 << 10, 16 << 10];

#[test]
fn what_lies_unread_behind_the_last_request_resets_nobody() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        for bytes in BUFFERS {
            let mut wire = server.connect();
            wire.send(&[&last_request("/digits.txt", bytes), NEXT].concat()).expect("sent");
            let (head, body) = wire.reply(false).expect("answered");
            assert_eq!((head.status, &*body), (200, DIGITS), "{combination}, {bytes}");
            assert_eq!(wire.end(), Ok(()), "{combination}, {bytes}");
        }
        server.stop();
    });
}

/// A head that fills them to the last byte, behind which nothing lies, is answered at once: nobody
/// waits for more.
#[test]
fn a_last_request_that_fills_a_buffer_is_answered_at_once() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        // Far longer than the client waits: a server that waits for more fails on every machine.
        let flags = ["--rate-window-ms", "3600000", "--stall-timeout-ms", "3600000"];
        let server = combination.start(&site.root(), &flags);
        for bytes in BUFFERS {
            let mut wire = server.connect();
            wire.send(&last_request("/digits.txt", bytes)).expect("sent");
            let (head, body) = wire.reply(false).expect("answered");
            assert_eq!((head.status, &*body), (200, DIGITS), "{combination}, {bytes}");
        }
        server.stop();
    });
}

#[test]
fn a_reply_on_its_way_to_a_narrow_client_survives_what_that_sends() {
    let site = Fixture::new();
    let large = pattern(LARGE_BYTES);
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut wire = Wire::narrow(server.address, 0, 8 << 10).expect("a connection");
        wire.send(&last_request("/large.bin", 100)).expect("sent");
        let head = wire.head().expect("answered");
        assert!(head.closes(), "{combination}");
        wire.send(NEXT).expect("sent while the reply is on its way");
        let body = wire.bytes(LARGE_BYTES);
        assert!(body.as_ref() == Ok(&large), "{combination}: {:?}", body.err());
        assert_eq!(wire.end(), Ok(()), "{combination}");
        server.stop();
    });
}

/// A client that sends all of an upload before it reads hears why the upload was refused: the
/// server shuts its side, and discards what still comes.
#[test]
fn a_refused_upload_is_told_after_all_of_it_was_sent() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        // On a busy machine a client may pause for a second while it sends.
        let flags = ["--linger-timeout-ms", "60000", "--linger-max-ms", "60000"];
        let server = combination.start(&site.root(), &flags);
        for method in ["POST", "PUT"] {
            check_refused_upload(combination, &server, method);
        }
        server.stop();
    });
}

fn check_refused_upload(combination: &Combination, server: &Server, method: &str) {
    let mut wire = server.connect();
    let head = format!(
        "{method} /digits.txt HTTP/1.1\r\nHost: a\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n"
    );
    wire.send(head.as_bytes()).expect("sent");
    for _ in 0..UPLOAD_BYTES / PIECE.len() {
        wire.send(&PIECE).unwrap_or_else(|error| panic!("{combination}, {method}: {error}"));
    }
    let status = wire.reply(false).map(|(head, _)| head.status);
    assert!(matches!(status, Ok(405 | 413)), "{combination}, {method}: {status:?}");
    assert_eq!(wire.end(), Ok(()), "{combination}, {method}");
}

/// More than the buffers of a connection hold.
const UPLOAD_BYTES: usize = 16 << 20;
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];

/// A head of so many bytes.
fn last_request(path: &str, bytes: usize) -> Vec<u8> {
    let begin = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ");
    let filled = "x".repeat(bytes - begin.len() - "\r\n\r\n".len());
    format!("{begin}{filled}\r\n\r\n").into_bytes()
}
