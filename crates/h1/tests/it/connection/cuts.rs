//! However bytes are cut on their way in and out, the same replies leave.

use proptest::prelude::*;

use crate::connection::driver::{Driver, crlf};

/// What a client may send next, good and bad.
const SENT: [&str; 24] = [
    "GET /small HTTP/1.1\nHost: a\n\n",
    "GET /large HTTP/1.1\nHost: a\n\n",
    "GET /loaded HTTP/1.1\nHost: a\nRange: bytes=1-2\n\n",
    "GET /large HTTP/1.1\nHost: a\nRange: bytes=0-9,1000-1009,3000-\n\n",
    "GET /small HTTP/1.1\nHost: a\nIf-None-Match: \"e\"\n\n",
    "HEAD /large HTTP/1.1\nHost: a\n\n",
    "GET http://b/small?query HTTP/1.1\nHost: a\n\n",
    "GET /missing HTTP/1.2\nHost: a\n\n",
    "OPTIONS * HTTP/1.1\nHost: a\n\n",
    "POST / HTTP/1.1\nHost: a\nContent-Length: 5\n\n12345",
    "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n5;x=y\n12345\n0\nName: x\n\n",
    "GET /small HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 2\n\n12",
    "GET /small HTTP/1.0\nConnection: keep-alive\n\n",
    "\n",
    "\n\n\n",
    "GET /small HTTP/1.0\n\n",
    "GET /small HTTP/1.1\nHost: a\nConnection: close\n\n",
    "GET /small HTTP/1.1\n\n",
    "GET /small HTTP/3.1\nHost: a\n\n",
    "POST / HTTP/1.1\nHost: a\nContent-Length: 70\n\n",
    "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\nfive\n",
    "GET /small HTTP/1.1\nHost: a\nContent-Length: 1\nTransfer-Encoding: chunked\n\n",
    "GET /a-target-that-is-longer-than-it-may-be-by-the-bounds-that-this-test-sets HTTP/1.1\n\n",
    "GET / HTTP/1.1\nName: so long that the head is longer than it may be by the same bounds\n",
];

/// What may happen to a byte on its way.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Removed,
    Becomes(u8),
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        requests in prop::collection::vec(prop::sample::select(&SENT[..]), 1..8),
        damages in prop::collection::vec((0..1_000_usize, damage()), 0..3),
        cuts in prop::collection::vec(prop_oneof![Just(1), 1..8_usize, 1..100_usize], 1..20),
    ) {
        let mut stream = crlf(&requests.concat()).into_bytes();
        for (at, damage) in damages {
            let at = at % stream.len().max(1);
            match damage {
                Damage::Removed if at < stream.len() => drop(stream.remove(at)),
                Damage::Becomes(byte) if at < stream.len() => stream[at] = byte,
                _ => {}
            }
        }
        let mut whole = Driver::with(bounds());
        whole.peer_sends(&stream);
        let mut cut = Driver::with(bounds()).cut(&cuts);
        cut.peer_sends(&stream);
        prop_assert_eq!(told(&whole), told(&cut), "{}", stream.escape_ascii());
        let texts = [whole, cut].map(|driver| driver.output.escape_ascii().to_string());
        prop_assert_eq!(&texts[0], &texts[1]);
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = prop::sample::select(&b"\r\n\0 \t:,;/0aZ\x7f\x80"[..]);
    prop_oneof![Just(Damage::Removed), bytes.prop_map(Damage::Becomes)]
}

/// Small ones, so that they are met.
fn bounds() -> h1::Limits {
    h1::Limits {
        target_bytes_max: 60,
        head_bytes_max: 110,
        fields_max: 3,
        body_bytes_max: 60,
        window_bytes: 1_000,
        ..h1::Limits::default()
    }
}

/// Two things do depend on what has come already: whether the client is told to go on, and whether
/// anything must be read away behind a request that it called its last.
fn told(driver: &Driver) -> String {
    driver.told().replace("100 ", "").replace("100, ", "").replace("Shut", "Close")
}
