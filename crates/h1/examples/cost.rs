//! What HTTP costs without I/O: prints nanoseconds per request for a keep-alive GET that goes once
//! round through a connection: `received`, `found`, `sent`.
//!
//!     cargo run --release -p h1 --example cost

use std::hint::black_box;
use std::time::Instant as Clock;

use h1::{
    Answer, Chunk, Connection, Date, Found, Now, Representation, Shared, Status, Want, Wording,
    compose,
};
use measure::Instant;

/// Requests per round.
const REQUESTS: u32 = 1_000_000;

/// The median of so many rounds is told: on a shared machine the mean tells about the neighbours.
const ROUNDS: usize = 9;

/// What the µserver's clients of the papers sent, more or less.
const SHORT: &[u8] = b"GET /dir00001/class1_1 HTTP/1.1\r\nHost: localhost\r\n\r\n";

const BROWSER: &[u8] = b"GET /assets/page-17.html HTTP/1.1\r\n\
    Host: www.example.org\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-US,en;q=0.5\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Connection: keep-alive\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    Sec-Fetch-Dest: document\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-Site: none\r\n\r\n";

fn main() {
    let now = Now { at: Instant::from_ms(1), date: Date::new(1_800_000_000) };
    let content = vec![b'x'; 1024];
    let wording = Wording {
        media_type: b"text/html; charset=utf-8",
        etag: b"\"18c1a2b3c4d5e6f7\"",
        ..Wording::default()
    };
    let representation = Representation::<()> {
        modified: Some(1_700_000_000),
        varies: true,
        ..Representation::made(Status::OK, wording, content)
    };
    let prebuilt = Some(Chunk::whole(compose::prebuilt(&representation, &now.date)));
    let representation = Shared::new(representation);
    let ready = Answer { representation: Shared::clone(&representation), prebuilt };
    let bare = Answer { representation, prebuilt: None };
    let rows = [
        ("short request, prebuilt answer", SHORT, &ready),
        ("short request, composed answer", SHORT, &bare),
        ("browser's request, prebuilt answer", BROWSER, &ready),
        ("browser's request, composed answer", BROWSER, &bare),
    ];
    for (what, request, answer) in rows {
        println!("{what:36} {:6.1} ns per request", cost(request, answer, &now));
    }
}

fn cost(request: &[u8], answer: &Answer<()>, now: &Now) -> f64 {
    let mut connection = Connection::new(Shared::default(), now.at);
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let start = Clock::now();
        for _ in 0..REQUESTS {
            serve(&mut connection, black_box(request), answer, now);
        }
        *round = start.elapsed().as_nanos() as f64 / f64::from(REQUESTS);
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// One request as a driver serves it: three wants.
fn serve(connection: &mut Connection<()>, request: &[u8], answer: &Answer<()>, now: &Now) {
    connection.received(request, now);
    let Want::Find(_, head) = connection.want() else { unreachable!("the request is whole") };
    black_box(head.path());
    connection.found(Found::Answer(answer.clone()), now);
    let Want::Send(chunk, None) = connection.want() else { unreachable!("it is in memory") };
    let bytes = black_box(chunk.bytes()).len();
    connection.sent(bytes as u64, now);
    assert!(connection.next_reply().is_some() && connection.is_idle());
}
