//! What each reply is counted under, and since when its request has been there.

use measure::{Duration, Instant};

use crate::connection::driver::{Driver, get};

/// For each reply its status, the host that the driver has named (here the length of the path), and
/// when its request began: milliseconds after the connection.
#[test]
fn reply_tells_its_host_and_when_its_request_began() {
    type Row<'r> = (&'r [(u64, &'r str)], &'r [(u16, u8, u64)]);
    let (small, missing) = (get("/small"), get("/missing"));
    let (begin, rest) = small.split_at(9);
    let both = small.clone() + &missing;
    let more = missing.clone() + begin;
    let large = get("/large");
    let body = "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    let rows: [Row<'_>; 9] = [
        (&[(5, &small)], &[(200, 6, 5)]),
        (&[(5, begin), (4, rest)], &[(200, 6, 5)]),
        (&[(5, "\r\n"), (4, &small)], &[(200, 6, 9)]),
        (&[(5, &small), (4, &missing)], &[(200, 6, 5), (404, 8, 9)]),
        (&[(5, &both)], &[(200, 6, 5), (404, 8, 5)]),
        (&[(5, &more), (4, rest)], &[(404, 8, 5), (200, 6, 5)]),
        (&[(5, body), (4, "x")], &[(405, 6, 5)]),
        (&[(5, &large)], &[(200, 6, 5)]),
        // Refused before anybody knows for which host it is.
        (&[(5, "GET"), (4, "\n\n\r\n\r\n")], &[(400, 0, 5)]),
    ];
    for (pieces, expected) in rows {
        let mut driver = Driver::new();
        let since = driver.now.at;
        for (ms, bytes) in pieces {
            driver.pass(Duration::from_millis(*ms)).peer_sends(bytes.as_bytes()).run();
        }
        let ms = |at: Instant| (at - since).as_millis() as u64;
        let told = driver.told.iter().map(|reply| (reply.status.0, reply.host, ms(reply.begun)));
        assert_eq!(told.collect::<Vec<_>>(), expected, "{pieces:?}");
    }
}

/// So that the times of a client that always has more in the pipe do not grow without end.
#[test]
fn request_behind_another_begins_when_that_one_is_answered() {
    let mut driver = Driver::new();
    let since = driver.now.at;
    driver.stream.extend_from_slice(get("/small").repeat(2).as_bytes());
    while driver.step() {
        driver.pass(Duration::from_millis(1));
    }
    // Received, found and sent, a millisecond each.
    let begun: Vec<_> = driver.told.iter().map(|reply| (reply.begun - since).as_millis()).collect();
    assert_eq!(begun, [0, 2]);
}
