//! Media types that rules set.

use std::path::Path;

use crate::counter::{Counter, error_page, field, host, types};
use site::rules::{Effect, Host};

const FILES: &[(&str, &str)] = &[
    ("www/.well-known/apple-app-site-association", "{}"),
    ("www/a.css", "a"),
    ("www/sub/a.css", "sub"),
    ("www/sub/a.m4s", "segment"),
    ("www/sub/a.m4s.gz", "compressed segment"),
    ("www/sub/404.odd", "gone"),
    ("www/logo.svgz", "compressed"),
    ("www/logo.svgz.gz", "twice compressed"),
];

fn hosts(place: &Path) -> Vec<Host> {
    let association = "/.well-known/apple-app-site-association";
    let rules = vec![
        (association, types(&[("*", "application/json")])),
        ("/", types(&[("css", "text/x"), ("odd", "text/odd"), ("svgz", "image/svg+xml")])),
        ("/sub", types(&[("css", "text/y; charset=x"), ("m4s", "text/z")])),
        ("/sub", error_page(404, "/sub/404.odd")),
        ("/", Effect::Root(place.join("www"))),
    ];
    vec![host(&["a"], rules)]
}

#[test]
fn media_types_that_rules_set_win_over_the_table() {
    let counter = Counter::new(FILES, hosts);
    // A path; the media type; what else the reply has.
    let rows = [
        ("/.well-known/apple-app-site-association", "application/json", "\n\n{}"),
        ("/a.css", "text/x", "\n\na"),
        ("/sub/a.css", "text/y; charset=x", "\n\nsub"),
        ("/sub/none", "text/odd", "\n\ngone"),
        ("/sub/a.m4s", "text/z", "\n\nsegment"),
    ];
    for (path, kind, has) in rows {
        let reply = counter.get("a", path);
        assert!(reply.contains(&format!("\nContent-Type: {kind}\n")), "{path}: {reply}");
        assert!(reply.contains(has), "{path}: {reply}");
    }
}

/// Text is worth compressing, and what is compressed is not compressed again.
#[test]
fn the_media_type_decides_whether_siblings_are_sent() {
    let counter = Counter::new(FILES, hosts);
    let rows = [("/sub/a.m4s", true, "compressed segment"), ("/logo.svgz", false, "compressed")];
    for (path, varies, content) in rows {
        let request = format!("GET {path} HTTP/1.1\nHost: a\nAccept-Encoding: gzip");
        for _ in 0..2 {
            let reply = counter.ask(&request);
            assert!(reply.contains("\nContent-Encoding: gzip\n"), "{path}: {reply}");
            assert!(reply.ends_with(&format!("\n\n{content}")), "{path}: {reply}");
            assert_eq!(reply.contains("\nVary: "), varies, "{path}: {reply}");
        }
    }
    let reply = counter.get("a", "/logo.svgz");
    assert!(reply.contains("\nContent-Encoding: gzip\n"), "also where no coding is asked: {reply}");
}

#[test]
fn rules_that_set_no_media_type_are_refused() {
    let rows = [
        (field("Content-type", "a/b"), "write `types`"),
        (types(&[]), "names no ending"),
        (types(&[(".m4s", "a/b")]), "\".m4s\" is no ending; write it without its dot"),
        (types(&[("", "a/b")]), "is no ending"),
        (types(&[("a/b", "a/b")]), "is no ending"),
        (types(&[("m4s", "")]), "\"\" is no media type"),
        (types(&[("m4s", "video")]), "is no media type"),
        (types(&[("m4s", "a/b; c")]), "is no media type"),
        (types(&[("m4s", "a/b\r\nX: y")]), "is no media type"),
    ];
    for (effect, says) in rows {
        let refused = Counter::with(&[], |_| vec![host(&["a"], vec![("/", effect.clone())])]);
        let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.starts_with("weir.toml:1:1: ") && said.contains(says), "{effect:?}: {said}");
    }
}
