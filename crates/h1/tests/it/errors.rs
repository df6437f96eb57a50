//! Errors that say no more than their status, as browsers and as programs get them.

use h1::{Block, Connection, Date, Found, Now, Representation, Shared, Status, Want, Wording};
use measure::Instant;

/// Sun, 06 Nov 1994 08:49:37 GMT
const SECONDS: u64 = 784_111_777;

/// An error is a page for a browser that shows it, and a line for everybody else; a cache that
/// keeps one is told so. An answer of the site that says no more is the same.
#[test]
fn errors_as_the_client_reads_them() {
    const TEXT: &str = "text/plain";
    const PAGE: &str = "text/html; charset=utf-8";
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let rows = [
        ("GET / HTTP/1.1\nHost: a", TEXT),
        ("GET / HTTP/1.1\nHost: a\nAccept: */*", TEXT),
        ("GET / HTTP/1.1\nHost: a\nAccept: image/webp,*/*", TEXT),
        ("GET / HTTP/1.1\nHost: a\nAccept: text/plain, text/html", TEXT),
        ("GET / HTTP/1.1\nHost: a\nAccept: text/html;q=0", TEXT),
        ("GET / HTTP/1.1\nHost: a\nAccept: text/html;q=0.5, text/plain;q=0.4", PAGE),
        (&format!("GET / HTTP/1.1\nHost: a\nAccept: {browser}"), PAGE),
        (&format!("HEAD / HTTP/1.1\nHost: a\nAccept: {browser}"), PAGE),
    ];
    for (request, media_type) in rows {
        let bare = Representation::made(Status::NOT_FOUND, Wording::default(), Block::default());
        let replies = [Found::Status(Status::NOT_FOUND), Found::Answer(bare.into())]
            .map(|found| reply_to(request, found));
        assert_eq!(replies[0], replies[1], "{request}");
        let (head, content) = replies[0].split_once("\r\n\r\n").expect("a head");
        for line in [format!("Content-Type: {media_type}"), "Vary: Accept".into()] {
            assert_eq!(head.lines().filter(|told| **told == line).count(), 1, "{request}: {head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.expect("a length").parse().expect("a number");
        let is_page = content.contains("<title>404 Not Found</title>");
        let is_shown = content.ends_with("<h1>404</h1>\n<p>Not Found</p>\n");
        match (request.starts_with("HEAD"), media_type) {
            (true, _) => assert!(content.is_empty() && length > 500, "{request}"),
            (_, PAGE) => assert!(is_page && is_shown && content.len() == length, "{content}"),
            _ => assert_eq!((content, length), ("404 Not Found\n", 14), "{request}"),
        }
    }
    let moved = Representation::made(Status::FOUND, Wording::default(), Block::default());
    let reply = reply_to(
        &format!("GET / HTTP/1.1\nHost: a\nAccept: {browser}"),
        Found::Answer(moved.into()),
    );
    assert!(reply.ends_with("Content-Length: 0\r\n\r\n"), "no error: {reply}");
}

/// A client of another protocol may wait for an answer to its first bytes.
#[test]
fn a_wrong_request_line_is_refused_before_the_head_ends() {
    let rows: [(&[u8], Option<u16>); 14] = [
        (b"SSH-2.0-OpenSSH_9.0\r\n", Some(400)),
        (b"GET /\r\n", Some(400)),
        (b"HELLO\r\n", Some(400)),
        (b"GET / HTTP/9.9\r\n", Some(505)),
        (b"PRI * HTTP/2.0\r\n", Some(505)),
        (b"GET /#part HTTP/1.1\r\n", Some(400)),
        (b"\x03\0\0\x13\x0e\xe0\0\0\0\0\0\x01\0\x08\0", Some(400)),
        (b"\rGET", Some(400)),
        (b"GET / HTTP/1.1\r\n", None),
        (b"GET / HTTP/1.0\r\n", None),
        (b"GET / HTTP/1.2\r\nHo", None),
        (b"OPTIONS * HTTP/1.1\r\n", None),
        (b"M-SEARCH", None),
        (b"\r", None),
    ];
    for (bytes, expected) in rows {
        for size in [1, bytes.len()] {
            let now = Now { at: Instant::ORIGIN, date: Date::new(SECONDS) };
            let mut connection = Connection::<()>::new(Shared::default(), now.at);
            for piece in bytes.chunks(size) {
                if matches!(connection.want(), Want::Recv) {
                    connection.received(piece, &now);
                }
            }
            let told = match connection.want() {
                Want::Send(chunk, _) => {
                    let status = String::from_utf8_lossy(&chunk.bytes()[9..12]).into_owned();
                    Some(status.parse().expect("a status"))
                }
                _ => None,
            };
            assert_eq!(told, expected, "{} by {size}", bytes.escape_ascii());
        }
    }
}

/// What a connection sends where that was found.
fn reply_to(request: &str, found: Found<()>) -> String {
    let now = Now { at: Instant::ORIGIN, date: Date::new(SECONDS) };
    let mut connection = Connection::new(Shared::default(), now.at);
    connection.received(format!("{request}\n\n").replace('\n', "\r\n").as_bytes(), &now);
    connection.found(found, &now);
    match connection.want() {
        Want::Send(chunk, None) => String::from_utf8_lossy(chunk.bytes()).into_owned(),
        want => panic!("{want:?}"),
    }
}
