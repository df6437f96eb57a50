//! Precompressed siblings: RFC 9110 sections 8.4 and 12.5.3.

use crate::dialogs::row::Step::{Get, Head, Heard};
use crate::dialogs::row::{Body, End, Reply, Row, bare, ok, part, status};

const fn coded(path: &'static str, coding: &'static [(&'static str, &'static str)]) -> Reply {
    status(200).has(coding).with(Body::File(path))
}

const BR: Reply = coded(
    "/coded/page.html.br",
    &[
        ("content-encoding", "br"),
        ("vary", "Accept-Encoding"),
        ("content-type", "text/html; charset=utf-8"),
    ],
);
const ZSTD: Reply =
    coded("/coded/page.html.zst", &[("content-encoding", "zstd"), ("vary", "Accept-Encoding")]);
const GZIP: Reply =
    coded("/coded/page.html.gz", &[("content-encoding", "gzip"), ("vary", "Accept-Encoding")]);
const PLAIN: Reply =
    ok("/coded/page.html").has(&[("vary", "Accept-Encoding")]).lacks(&["content-encoding"]);

pub(crate) const ROWS: &[&Row] = &[
    &Row {
        name: "who accepts no coding gets the file, and learns that it varies",
        cites: "9110 12.5.3, 12.5.5",
        send: &[Get("/coded/page.html", "")],
        expect: &[PLAIN],
        end: End::Open,
    },
    &Row {
        name: "br",
        cites: "9110 12.5.3",
        send: &[Get("/coded/page.html", "Accept-Encoding: br\r\n")],
        expect: &[BR],
        end: End::Open,
    },
    &Row {
        name: "zstd",
        cites: "9110 12.5.3, 8878",
        send: &[Get("/coded/page.html", "Accept-Encoding: zstd\r\n")],
        expect: &[ZSTD],
        end: End::Open,
    },
    &Row {
        name: "gzip",
        cites: "9110 12.5.3",
        send: &[Get("/coded/page.html", "Accept-Encoding: gzip\r\n")],
        expect: &[GZIP],
        end: End::Open,
    },
    &Row {
        name: "x-gzip is gzip",
        cites: "9110 8.4.1.3",
        send: &[Get("/coded/page.html", "Accept-Encoding: x-gzip\r\n")],
        expect: &[GZIP],
        end: End::Open,
    },
    &Row {
        name: "what a browser sends",
        cites: "9110 12.5.3",
        send: &[Get("/coded/page.html", "Accept-Encoding: gzip, deflate, br, zstd\r\n")],
        expect: &[BR],
        end: End::Open,
    },
    &Row {
        name: "the client's weights decide",
        cites: "9110 12.5.3, 12.4.2",
        send: &[Get("/coded/page.html", "Accept-Encoding: br;q=0.2, gzip;q=0.9, zstd;q=0.5\r\n")],
        expect: &[GZIP],
        end: End::Open,
    },
    &Row {
        name: "a weight of 0 forbids",
        cites: "9110 12.5.3, 12.4.2",
        send: &[Get("/coded/page.html", "Accept-Encoding: br;q=0, gzip;q=0.0, zstd;q=0.001\r\n")],
        expect: &[ZSTD],
        end: End::Open,
    },
    &Row {
        name: "names of codings are the same in either case",
        cites: "9110 8.4.1",
        send: &[Get("/coded/page.html", "Accept-Encoding: GZip\r\n")],
        expect: &[GZIP],
        end: End::Open,
    },
    &Row {
        name: "identity alone gets the file",
        cites: "9110 12.5.3",
        send: &[Get("/coded/page.html", "Accept-Encoding: identity\r\n")],
        expect: &[PLAIN],
        end: End::Open,
    },
    &Row {
        name: "an empty Accept-Encoding gets the file",
        cites: "9110 12.5.3",
        send: &[Get("/coded/page.html", "Accept-Encoding:\r\n")],
        expect: &[PLAIN],
        end: End::Open,
    },
    &Row {
        name: "a coding without a sibling gets the next one",
        cites: "9110 12.5.3",
        send: &[Get("/coded/style.css", "Accept-Encoding: br, zstd, gzip;q=0.5\r\n")],
        expect: &[coded(
            "/coded/style.css.gz",
            &[
                ("content-encoding", "gzip"),
                ("vary", "Accept-Encoding"),
                ("content-type", "text/css; charset=utf-8"),
            ],
        )],
        end: End::Open,
    },
    &Row {
        name: "a file without siblings does not vary",
        cites: "9110 12.5.5",
        send: &[Get("/coded/bare.txt", "Accept-Encoding: gzip\r\n")],
        expect: &[ok("/coded/bare.txt").lacks(&["content-encoding", "vary"])],
        end: End::Open,
    },
    &Row {
        name: "a sibling without its file is not its representation",
        cites: "precompressed siblings",
        send: &[Get("/coded/orphan.txt", "Accept-Encoding: gzip\r\n")],
        expect: &[status(404)],
        end: End::Open,
    },
    &Row {
        name: "a sibling by its own name is a file like others",
        cites: "precompressed siblings",
        send: &[Get("/coded/page.html.gz", "Accept-Encoding: gzip\r\n")],
        expect: &[ok("/coded/page.html.gz").lacks(&["content-encoding"])],
        end: End::Open,
    },
    &Row {
        name: "an index has siblings too",
        cites: "precompressed siblings",
        send: &[Get("/coded/", "Accept-Encoding: gzip\r\n")],
        expect: &[coded("/coded/index.html.gz", &[("content-encoding", "gzip")])],
        end: End::Open,
    },
    &Row {
        name: "HEAD tells the coding",
        cites: "9110 9.3.2",
        send: &[Head("/coded/page.html", "Accept-Encoding: br\r\n")],
        expect: &[bare(200).has(&[("content-encoding", "br"), ("content-length", "10")])],
        end: End::Open,
    },
    &Row {
        name: "a coded representation has an ETag of its own",
        cites: "9110 8.8.3.3",
        send: &[
            Get("/coded/page.html", "Accept-Encoding: gzip\r\n"),
            Heard(1),
            Get("/coded/page.html", "If-None-Match: $ETAG\r\n"),
            Heard(2),
            Get("/coded/page.html", "Accept-Encoding: gzip\r\nIf-None-Match: $ETAG\r\n"),
        ],
        expect: &[GZIP, PLAIN, GZIP],
        end: End::Open,
    },
    &Row {
        name: "a 304 tells that it varies",
        cites: "9110 15.4.5",
        send: &[
            Get("/coded/page.html", "Accept-Encoding: br\r\n"),
            Heard(1),
            Get("/coded/page.html", "Accept-Encoding: br\r\nIf-None-Match: $ETAG\r\n"),
        ],
        expect: &[BR, bare(304).has(&[("vary", "Accept-Encoding"), ("etag", "$ETAG")])],
        end: End::Open,
    },
    &Row {
        name: "a range is one of the coded representation",
        cites: "9110 14.2",
        send: &[Get("/coded/page.html", "Accept-Encoding: br\r\nRange: bytes=0-3\r\n")],
        expect: &[part("/coded/page.html.br", 0, 3).has(&[("content-encoding", "br")])],
        end: End::Open,
    },
];
