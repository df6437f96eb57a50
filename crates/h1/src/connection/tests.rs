//! What a connection costs in memory, which from outside cannot be seen.

use crate::{
    Answer, Chunk, Connection, Date, Found, Now, Representation, Shared, Status, Want, Wording,
    compose,
};
use measure::Instant;

/// Ten thousand idle connections shall take 6 MB at most; of each one's 600 bytes the driver needs
/// most for its slot, its timer and its place in the poller.
const CONNECTION_BYTES_MAX: usize = 256;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &[u8] =
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";

#[test]
fn a_connection_is_small() {
    let bytes = size_of::<Connection<()>>();
    println!("a connection takes {bytes} bytes");
    assert!(bytes <= CONNECTION_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn an_idle_connection_holds_nothing_else() {
    check(&[]);
    check(&[GET]);
    check(&[POST]);
    check(&[GET, GET, GET]);
    check(&[&GET.repeat(1_000)]);
    check(&[&[GET, b"\r\n"].concat()]);
    check(&[&[POST, GET, b"\r\n\r\n"].concat(), b"\r\n"]);
    check(&[&GET[..9], &GET[9..], &[GET, &GET[..20]].concat(), &GET[20..]]);
}

#[test]
fn a_head_in_part_holds_no_more_than_itself() {
    let (mut connection, now) = idle_after(&[&[&GET.repeat(1_000), &GET[..20]].concat()]);
    assert_eq!(connection.inbox.memory(), 20);
    connection.received(&GET[20..], &now);
    serve(&mut connection, &now);
    assert_eq!((connection.is_idle(), connection.inbox.memory()), (true, 0));
}

#[test]
fn what_was_refused_is_not_kept() {
    let (mut connection, now) = idle_after(&[&[b"BAD\r\n", &GET.repeat(100)[..]].concat()]);
    assert!(matches!(connection.want(), Want::Shut));
    connection.shut(&now);
    connection.received(GET, &now);
    assert_eq!(connection.inbox.memory(), 0);
}

fn check(received: &[&[u8]]) {
    let (connection, _) = idle_after(received);
    assert!(matches!(connection.want(), Want::Recv));
    // A state that waits for a request has nothing on the heap, so this is all.
    assert_eq!(connection.inbox.memory(), 0);
}

fn idle_after(received: &[&[u8]]) -> (Connection<()>, Now) {
    let now = Now { at: Instant::ORIGIN, date: Date::new(0) };
    let mut connection = Connection::new(Shared::default(), now.at);
    for bytes in received {
        connection.received(bytes, &now);
        serve(&mut connection, &now);
    }
    (connection, now)
}

fn serve(connection: &mut Connection<()>, now: &Now) {
    let wording = Wording { media_type: b"text/plain", ..Wording::default() };
    let representation = Shared::new(Representation::made(Status::OK, wording, &b"x"[..]));
    let prebuilt = Some(Chunk::whole(compose::prebuilt(&representation, &now.date)));
    let answer = Answer { representation, prebuilt };
    loop {
        match connection.want() {
            Want::Find(..) => connection.found(Found::Answer(answer.clone()), now),
            Want::Send(chunk, _) => {
                let n = chunk.bytes().len() as u64;
                connection.sent(n, now);
            }
            _ => return,
        }
    }
}
