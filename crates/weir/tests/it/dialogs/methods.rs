//! HEAD, OPTIONS, and methods that are not served: RFC 9110 section 9.

use crate::dialogs::row::Step::{Get, Head, Raw};
use crate::dialogs::row::{Body, End, Row, bare, ok, refused, status};
use crate::support::fixture::MODIFIED;

pub(crate) const ROWS: &[&Row] = &[
    &Row {
        name: "HEAD has the fields of GET and no content",
        cites: "9110 9.3.2, 9112 6.3",
        send: &[Head("/digits.txt", ""), Get("/digits.txt", "")],
        expect: &[
            bare(200).has(&[
                ("content-length", "36"),
                ("content-type", "text/plain; charset=utf-8"),
                ("last-modified", MODIFIED),
                ("etag", "\"*"),
                ("accept-ranges", "bytes"),
            ]),
            ok("/digits.txt").has(&[("etag", "$ETAG"), ("last-modified", MODIFIED)]),
        ],
        end: End::Open,
    },
    &Row {
        name: "HEAD of a large file has its length and no content",
        cites: "9110 9.3.2",
        send: &[Head("/large.bin", "")],
        expect: &[bare(200).has(&[("content-length", "3158073")])],
        end: End::Open,
    },
    &Row {
        name: "HEAD of what is not there has no content",
        cites: "9110 9.3.2",
        send: &[Head("/missing", "")],
        expect: &[bare(404)],
        end: End::Open,
    },
    &Row {
        name: "HEAD of a directory without its slash has no content",
        cites: "9110 9.3.2",
        send: &[Head("/dir", "")],
        expect: &[bare(301).has(&[("location", "/dir/")])],
        end: End::Open,
    },
    &Row {
        name: "HEAD knows no ranges",
        cites: "9110 14.2",
        send: &[Head("/digits.txt", "Range: bytes=0-1\r\n")],
        expect: &[bare(200).has(&[("content-length", "36")])],
        end: End::Open,
    },
    &Row {
        name: "HEAD is subject to conditions",
        cites: "9110 13.1.2",
        send: &[
            Head("/digits.txt", ""),
            crate::dialogs::row::Step::Heard(1),
            Head("/digits.txt", "If-None-Match: $ETAG\r\n"),
        ],
        expect: &[bare(200), bare(304)],
        end: End::Open,
    },
    &Row {
        name: "a refused HEAD has no content",
        cites: "9110 9.3.2",
        send: &[Head("/digits.txt", "Content-Length: 1\r\nContent-Length: 1\r\n")],
        expect: &[bare(400).has(&[("connection", "close")])],
        end: End::Closes,
    },
    &Row {
        name: "OPTIONS tells what is allowed on a resource",
        cites: "9110 9.3.7",
        send: &[Raw(b"OPTIONS /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[bare(204).has(&[("allow", "GET, HEAD, OPTIONS")])],
        end: End::Open,
    },
    &Row {
        name: "OPTIONS of the server as a whole is answered",
        cites: "9112 3.2.4, 9110 9.3.7",
        send: &[Raw(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[bare(204).has(&[("allow", "GET, HEAD, OPTIONS")])],
        end: End::Open,
    },
    &Row {
        name: "OPTIONS in absolute-form without a path is answered",
        cites: "9112 3.2.4",
        send: &[Raw(b"OPTIONS http://weir.test HTTP/1.1\r\nHost: weir.test\r\n\r\n")],
        expect: &[bare(204).has(&[("allow", "GET, HEAD, OPTIONS")])],
        end: End::Open,
    },
    &Row {
        name: "POST is not allowed",
        cites: "9110 15.5.6",
        send: &[Raw(b"POST /digits.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")],
        expect: &[status(405).has(&[("allow", "GET, HEAD, OPTIONS")])],
        end: End::Open,
    },
    &Row {
        name: "PUT is not allowed",
        cites: "9110 15.5.6",
        send: &[Raw(b"PUT /new.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")],
        expect: &[status(405).has(&[("allow", "GET, HEAD, OPTIONS")])],
        end: End::Open,
    },
    &Row {
        name: "DELETE is not allowed",
        cites: "9110 15.5.6",
        send: &[Raw(b"DELETE /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n"), Get("/digits.txt", "")],
        expect: &[status(405), ok("/digits.txt")],
        end: End::Open,
    },
    &Row {
        name: "PATCH is not allowed",
        cites: "9110 15.5.6, 5789",
        send: &[Raw(b"PATCH /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[status(405)],
        end: End::Open,
    },
    &Row {
        name: "TRACE is not allowed, and nothing is echoed",
        cites: "9110 9.3.8, 15.5.6",
        send: &[Raw(b"TRACE / HTTP/1.1\r\nHost: a\r\nCookie: secret\r\n\r\n")],
        expect: &[status(405).with(Body::Bytes(b"405 Method Not Allowed\n"))],
        end: End::Open,
    },
    &Row {
        name: "CONNECT is not allowed",
        cites: "9110 9.3.6, 9112 3.2.3",
        send: &[Raw(b"CONNECT weir.test:80 HTTP/1.1\r\nHost: weir.test:80\r\n\r\n")],
        expect: &[status(405)],
        end: End::Open,
    },
    &Row {
        name: "a method that is not known is not implemented",
        cites: "9110 9.1, 15.6.2",
        send: &[Raw(b"BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[status(501)],
        end: End::Open,
    },
    &Row {
        name: "methods are told apart by case",
        cites: "9110 9.1",
        send: &[Raw(b"get /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[status(501)],
        end: End::Open,
    },
    &Row {
        name: "a method that is no token is refused",
        cites: "9110 9.1",
        send: &[Raw(b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n")],
        expect: &[refused(400)],
        end: End::Closes,
    },
];
