//! What a client may ask at most, and how a refusal arrives: 408, 413, 414, 431.

use crate::dialogs::row::Step::{Fill, Fin, Gap, Get, Raw};
use crate::dialogs::row::{End, Row, ok, refused, status};

pub(crate) const ROWS: &[&Row] = &[
    &Row {
        name: "a target of 8 KiB is taken",
        cites: "9112 3: at least 8000 octets",
        send: &[Raw(b"GET /"), Fill(b'a', (8 << 10) - 1), Raw(b" HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[status(404)],
        end: End::Open,
    },
    &Row {
        name: "a longer target is refused with 414",
        cites: "9112 3, 9110 15.5.15",
        send: &[Raw(b"GET /"), Fill(b'a', 8 << 10), Raw(b" HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[refused(414)],
        end: End::Closes,
    },
    &Row {
        name: "a target without end is refused before it ends",
        cites: "9112 3, 9110 15.5.15",
        send: &[Raw(b"GET /"), Fill(b'a', 40_000)],
        expect: &[refused(414)],
        end: End::Closes,
    },
    &Row {
        name: "a request line that never comes to its target is refused",
        cites: "9112 3",
        send: &[Fill(b'A', 40_000)],
        expect: &[refused(414)],
        end: End::Closes,
    },
    &Row {
        name: "a head of more than 16 KiB is refused with 431",
        cites: "9112 5, 6585 5",
        send: &[Raw(b"GET / HTTP/1.1\r\nHost: a\r\nX: "), Fill(b'x', 16 << 10), Raw(b"\r\n\r\n")],
        expect: &[refused(431)],
        end: End::Closes,
    },
    &Row {
        name: "a head without end is refused before it ends",
        cites: "9112 5, 6585 5",
        send: &[Raw(b"GET / HTTP/1.1\r\nHost: a\r\nX: "), Fill(b'x', 60_000)],
        expect: &[refused(431)],
        end: End::Closes,
    },
    &Row {
        name: "a hundred fields are taken",
        cites: "limits: 100 fields",
        send: &[Raw(b"GET /digits.txt HTTP/1.1\r\nHost: a\r\n"), Raw(FIELDS_99), Raw(b"\r\n")],
        expect: &[ok("/digits.txt")],
        end: End::Open,
    },
    &Row {
        name: "more than a hundred fields are refused with 431",
        cites: "9112 5, 6585 5",
        send: &[
            Raw(b"GET /digits.txt HTTP/1.1\r\nHost: a\r\n"),
            Raw(FIELDS_99),
            Raw(b"X:\r\n\r\n"),
        ],
        expect: &[refused(431)],
        end: End::Closes,
    },
    &Row {
        name: "a sized body of 64 KiB is read away",
        cites: "9112 9.3",
        send: &[Get("/digits.txt", "Content-Length: 65536\r\n"), Fill(b'b', 64 << 10)],
        expect: &[ok("/digits.txt")],
        end: End::Open,
    },
    &Row {
        name: "a longer sized body is refused with 413",
        cites: "9112 9.3, 9110 15.5.14",
        send: &[Get("/digits.txt", "Content-Length: 65537\r\n"), Fill(b'b', 60_000)],
        expect: &[refused(413)],
        end: End::Closes,
    },
    &Row {
        name: "a body is refused before it is sent where 100 is expected",
        cites: "9110 10.1.1, 15.5.14",
        send: &[Get("/", "Expect: 100-continue\r\nContent-Length: 1000000000000\r\n")],
        expect: &[refused(413)],
        end: End::Closes,
    },
    &Row {
        name: "a chunked body of more than 64 KiB is refused with 413",
        cites: "9112 9.3, 9110 15.5.14",
        send: &[
            Get("/digits.txt", "Transfer-Encoding: chunked\r\n"),
            Raw(b"10000\r\n"),
            Fill(b'b', 0x10000),
            Raw(b"\r\n1\r\nb\r\n0\r\n\r\n"),
        ],
        expect: &[refused(413)],
        end: End::Closes,
    },
    &Row {
        name: "a chunk that announces too much is refused before it comes",
        cites: "9112 7.1, 9110 15.5.14",
        send: &[Get("/digits.txt", "Transfer-Encoding: chunked\r\n"), Raw(b"ffffffff\r\nabc")],
        expect: &[refused(413)],
        end: End::Closes,
    },
    &Row {
        name: "a head that does not come whole is refused with 408",
        cites: "9110 15.5.9",
        send: &[Raw(b"GET / HTTP/1.1\r\nHost: a")],
        expect: &[refused(408)],
        end: End::Closes,
    },
    &Row {
        name: "a second head that does not come whole is refused with 408",
        cites: "9110 15.5.9",
        send: &[Get("/digits.txt", ""), Gap, Raw(b"GET / HTT")],
        expect: &[ok("/digits.txt"), refused(408)],
        end: End::Closes,
    },
    &Row {
        name: "a head cut off by FIN is not answered as a request",
        cites: "9112 8",
        send: &[Raw(b"GET /digits.txt HTTP/1.1\r\nHost: a\r\n"), Fin],
        expect: &[],
        end: End::Ends,
    },
    &Row {
        name: "a refusal arrives though the client goes on sending",
        cites: "9112 9.6",
        send: &[
            Raw(b"GET / HTTP/1.1\r\n\r\n"),
            Fill(b'x', 20_000),
            Gap,
            Fill(b'y', 20_000),
            Gap,
            Fill(b'z', 20_000),
        ],
        expect: &[refused(400)],
        end: End::Closes,
    },
];

/// 99 fields; with Host there are a hundred.
const FIELDS_99: &[u8] = &{
    let mut fields = [0; 99 * 5];
    let mut at = 0;
    while at < 99 {
        let line = [b'a' + (at / 10) as u8, b'0' + (at % 10) as u8, b':', b'\r', b'\n'];
        let mut byte = 0;
        while byte < 5 {
            fields[at * 5 + byte] = line[byte];
            byte += 1;
        }
        at += 1;
    }
    fields
};
