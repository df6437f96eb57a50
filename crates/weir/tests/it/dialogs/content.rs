//! What is served as what: index files, media types, large and empty files, the `Date`.

use crate::dialogs::row::Step::{Get, Raw};
use crate::dialogs::row::{Body, End, Reply, Row, ok, status};

const fn typed(path: &'static str, media: &'static [(&'static str, &'static str)]) -> Reply {
    ok(path).has(media)
}

macro_rules! media {
    ($($name:literal $path:literal $media:literal,)*) => {
        &[$(&Row {
            name: $name,
            cites: "9110 8.3",
            send: &[Get($path, "")],
            expect: &[typed($path, &[("content-type", $media)])],
            end: End::Open,
        },)*]
    };
}

pub(crate) const MEDIA: &[&Row] = media! {
    "the media type of HTML" "/index.html" "text/html; charset=utf-8",
    "the media type of HTML in upper case" "/types/page.HTML" "text/html; charset=utf-8",
    "the media type of CSS" "/types/style.css" "text/css; charset=utf-8",
    "the media type of JavaScript" "/types/script.js" "text/javascript; charset=utf-8",
    "the media type of a module" "/types/module.mjs" "text/javascript; charset=utf-8",
    "the media type of JSON" "/types/table.json" "application/json*",
    "the media type of SVG" "/types/image.svg" "image/svg+xml*",
    "the media type of PNG" "/types/image.png" "image/png",
    "the media type of JPEG" "/types/image.jpeg" "image/jpeg",
    "the media type of WebP" "/types/image.webp" "image/webp",
    "the media type of AVIF" "/types/image.avif" "image/avif",
    "the media type of WASM" "/types/program.wasm" "application/wasm",
    "the media type of WOFF2" "/types/font.woff2" "font/woff2",
    "the media type of plain text" "/digits.txt" "text/plain; charset=utf-8",
    "the media type of Markdown" "/types/text.md" "text/markdown; charset=utf-8",
    "the media type of a name that is not known" "/types/unknown.qqq" "application/octet-stream",
    "the media type of a name without extension" "/types/noextension" "application/octet-stream",
};

pub(crate) const ROWS: &[&Row] = &[
    &Row {
        name: "the root is its index",
        cites: "index files",
        send: &[Get("/", "")],
        expect: &[ok("/index.html").has(&[("content-type", "text/html; charset=utf-8")])],
        end: End::Open,
    },
    &Row {
        name: "a directory is its index",
        cites: "index files",
        send: &[Get("/dir/", ""), Get("/dir/index.html", "")],
        expect: &[ok("/dir/index.html"), ok("/dir/index.html")],
        end: End::Open,
    },
    &Row {
        name: "a directory without its slash is redirected to it",
        cites: "9110 15.4.2",
        send: &[Get("/dir", "")],
        expect: &[status(301).has(&[("location", "/dir/")])],
        end: End::Open,
    },
    &Row {
        name: "a directory without its slash is redirected with a query too",
        cites: "9110 15.4.2",
        send: &[Get("/dir?a=b", "")],
        expect: &[status(301).has(&[("location", "/dir/*")])],
        end: End::Open,
    },
    &Row {
        name: "the redirect of two slashes does not lead to another host",
        cites: "3986 4.2: //name is a host",
        send: &[Get("//dir", "")],
        expect: &[status(301).has(&[("location", "/dir/")])],
        end: End::Open,
    },
    &Row {
        name: "the redirect encodes what a target cannot hold",
        cites: "9110 10.2.2, 3986 2.1",
        send: &[Get("/odd%20%25dir", "")],
        expect: &[status(301).has(&[("location", "/odd%20%25dir/")])],
        end: End::Open,
    },
    &Row {
        name: "a directory without an index is not listed",
        cites: "index files",
        send: &[Get("/bare/", "")],
        expect: &[status(404)],
        end: End::Open,
    },
    &Row {
        name: "a file with a slash behind it is not there",
        cites: "9110 15.5.5",
        send: &[Get("/digits.txt/", "")],
        expect: &[status(404)],
        end: End::Open,
    },
    &Row {
        name: "what is not there is not there, and says so in text",
        cites: "9110 15.5.5",
        send: &[Get("/missing", "")],
        expect: &[status(404).has(&[("content-type", "text/plain*")]).lacks(&["etag"])],
        end: End::Open,
    },
    &Row {
        name: "a path beyond what a file system takes is not there",
        cites: "9110 15.5.5",
        send: &[
            Raw(b"GET /"),
            crate::dialogs::row::Step::Fill(b'n', 300),
            Raw(b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        ],
        expect: &[status(404)],
        end: End::Open,
    },
    &Row {
        name: "an empty file",
        cites: "9110 8.6",
        send: &[Get("/empty.txt", "")],
        expect: &[status(200).has(&[("content-length", "0")]).with(Body::Bytes(b""))],
        end: End::Open,
    },
    &Row {
        name: "a large file",
        cites: "9110 9.3.1",
        send: &[Get("/large.bin", "")],
        expect: &[ok("/large.bin")],
        end: End::Open,
    },
    &Row {
        name: "a large file twice, and a small one in between",
        cites: "9110 9.3.1",
        send: &[Get("/large.bin", ""), Get("/digits.txt", ""), Get("/large.bin", "")],
        expect: &[ok("/large.bin"), ok("/digits.txt"), ok("/large.bin")],
        end: End::Open,
    },
    &Row {
        name: "every answer tells the date and the server",
        cites: "9110 6.6.1, 10.2.4",
        send: &[Get("/digits.txt", ""), Get("/missing", "")],
        expect: &[
            ok("/digits.txt").has(&[("date", "*"), ("server", "weir*")]),
            status(404).has(&[("date", "*"), ("server", "weir*")]),
        ],
        end: End::Open,
    },
];
