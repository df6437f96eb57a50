//! Who is let in by address.

use std::path::Path;

use crate::counter::{Counter, allow, auth, cors, deny, error_page, field, host, redirect};
use h1::{Date, Now, Status};
use measure::Instant;
use site::rules::Effect;

const FILES: &[(&str, &str)] = &[
    ("www/index.html", "front"),
    ("www/a.txt", "text"),
    ("www/403.html", "<p>not you"),
    ("www/office/a.txt", "office"),
    ("www/office/board/a.txt", "board"),
    ("www/secret.css", "secret"),
    ("www/secret.css.gz", "secret, too"),
    ("www/dir/index.html", "index"),
    ("www/report.css", "open"),
    ("www/report.css.gz", "shut"),
];

/// Cheap, of `b`.
const HASH: &str = "$2y$04$hu20WBVkT9jG6AItIAcHquC94RQTA6DfsCtkxTtNCrZpcSj1eIMZG";

fn root(place: &Path) -> Effect {
    Effect::Root(place.join("www"))
}

fn town() -> Counter {
    Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/", error_page(403, "/403.html")),
            ("/", cors(&["*"])),
            ("/early", redirect("/new", 301)),
            ("/", deny(&["192.0.2.66", "2001:db8:66::/48"])),
            ("/office", allow(&["10.0.0.0/8", "fd00::/8"])),
            ("/office/board", allow(&["10.1.0.0/16", "192.0.2.0/24"])),
            ("/office/board", deny(&["10.1.1.0/24"])),
            ("/office/login", auth("r", &[("x", HASH)])),
            ("/office/old", redirect("/new", 301)),
            ("/office/gone", Effect::Answer(Status::GONE)),
            ("/office", Effect::Fallback("/a.txt".into())),
            ("/secret.css", allow(&["10.0.0.0/8"])),
            ("/dir/index.html", deny(&["10.9.0.0/16"])),
            ("/report.css.gz", allow(&["10.0.0.0/8"])),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules), host(&["b"], vec![("/", root(place))])]
    })
}

/// By all methods; `expected`: what a GET gets.
fn check(town: &Counter, source: &str, path: &str, expected: u16) {
    for method in ["GET", "HEAD", "OPTIONS", "POST", "BREW"] {
        let request = format!("{method} {path} HTTP/1.1\nHost: a\nAccept-Encoding: gzip");
        let expected = match (method, expected) {
            (_, 403) => 403,
            ("OPTIONS", _) => 204,
            ("POST", 200 | 401) => 405,
            ("BREW", 200 | 401) => 501,
            _ => expected,
        };
        // Anew, and remembered.
        for _ in 0..2 {
            let reply = town.ask_from(source.parse().ok(), &request);
            let told = format!("{method} {path} from {source:?}: {reply}");
            assert!(reply.starts_with(&format!("HTTP/1.1 {expected} ")), "{told}");
            let page = "Content-Type: text/html; charset=utf-8\nContent-Length: 10\n";
            assert_eq!(reply.contains(page), expected == 403, "{told}");
            assert!(reply.contains("X-A: 1\n"), "{told}");
            assert!(!reply.contains("WWW-Auth") || expected == 401, "{told}");
        }
    }
}

#[test]
fn who_is_let_in_is_told_by_address() {
    let town = town();
    let rows = [
        ("192.0.2.1", "/a.txt", 200),
        ("192.0.2.66", "/a.txt", 403),
        ("::ffff:192.0.2.66", "/a.txt", 403),
        ("2001:db8:66::1", "/a.txt", 403),
        ("2001:db8:67::1", "/a.txt", 200),
        ("", "/a.txt", 200),
        // Nothing is told of what there is.
        ("192.0.2.66", "/missing", 403),
        ("192.0.2.66", "/dir", 403),
        // Before all that answers, but for what answers before.
        ("10.1.2.3", "/office/a.txt", 200),
        ("::ffff:10.1.2.3", "/office/a.txt", 200),
        ("fd00::1", "/office/a.txt", 200),
        ("11.0.0.0", "/office/a.txt", 403),
        ("fe00::1", "/office/a.txt", 403),
        ("", "/office/a.txt", 403),
        ("10.1.2.3", "/office/missing", 200),
        ("192.0.2.1", "/office/missing", 403),
        ("10.1.2.3", "/office/old", 301),
        ("192.0.2.1", "/office/old", 403),
        ("10.1.2.3", "/office/gone", 410),
        ("192.0.2.1", "/office/gone", 403),
        ("10.1.2.3", "/office/login", 401),
        ("192.0.2.1", "/office/login", 403),
        ("192.0.2.66", "/early", 301),
        // All that allow have to, and none that denies.
        ("10.1.2.3", "/office/board/a.txt", 200),
        ("10.2.2.3", "/office/board/a.txt", 403),
        ("192.0.2.1", "/office/board/a.txt", 403),
        ("10.1.1.3", "/office/board/a.txt", 403),
        // Other spellings, siblings and the directory of an index file.
        ("192.0.2.1", "/secret.css", 403),
        ("192.0.2.1", "/%73ecret.css", 403),
        ("192.0.2.1", "/x/..//secret.css", 403),
        ("192.0.2.1", "/secret.css.gz", 403),
        ("10.0.0.1", "/secret.css", 200),
        ("10.0.0.1", "/secret.css.gz", 200),
        ("10.9.0.1", "/dir/index.html", 403),
        ("10.9.0.1", "/dir/", 403),
        ("192.0.2.1", "/dir/", 200),
        ("192.0.2.1", "/report.css", 200),
        ("192.0.2.1", "/report.css.gz", 403),
        ("10.0.0.1", "/report.css.gz", 200),
    ];
    for (source, path, expected) in rows {
        check(&town, source, path, expected);
    }
    // What one was told others are not.
    let request = "GET /report.css HTTP/1.1\nHost: a\nAccept-Encoding: gzip";
    assert!(town.ask_from("10.0.0.1".parse().ok(), request).ends_with("\n\nopen"));
    assert!(town.ask_from("192.0.2.66".parse().ok(), "GET / HTTP/1.1\nHost: b").contains("200"));
}

/// What a GET of those who are let in gets is told, whoever they are.
#[test]
fn it_is_told_what_those_get_who_are_let_in() {
    let town = town();
    let now = Now { at: Instant::from_ms(1), date: Date::new(1 << 31) };
    let rows = [
        ("/office/a.txt", 200),
        ("/office/board/a.txt", 200),
        ("/office/old", 301),
        ("/office/login", 401),
        ("/missing", 404),
        ("/secret.css", 200),
    ];
    for (path, expected) in rows {
        let asked = town.site.asked("a", path, &now).expect(path);
        assert_eq!(asked.status, Status(expected), "{path}");
    }
}

#[test]
fn rules_that_let_nobody_in_are_a_mistake() {
    let everybody = ["0.0.0.0/0", "::/0"];
    let rows = [
        (vec![("/", allow(&["10.0.0.0/8"])), ("/a", allow(&["11.0.0.0/8"]))], Some(2)),
        (vec![("/a", allow(&["10.0.0.0/8"])), ("/b", allow(&["11.0.0.0/8"]))], None),
        (
            vec![("/a", allow(&["10.0.0.0/8"])), ("/", deny(&["10.0.0.0/9", "10.128.0.0/9"]))],
            Some(2),
        ),
        (vec![("/a", allow(&["10.0.0.0/8"])), ("/", deny(&["10.0.0.0/9"]))], None),
        (vec![("/", deny(&everybody[..1])), ("/a", deny(&everybody[1..]))], Some(2)),
        (vec![("/", deny(&everybody))], Some(1)),
        (vec![("/", allow(&[]))], Some(1)),
        (vec![("/", deny(&[]))], Some(1)),
        // Where another answers before they never meet.
        (
            vec![
                ("/", allow(&["10.0.0.0/8"])),
                ("/a", Effect::Answer(Status::GONE)),
                ("/a", allow(&["11.0.0.0/8"])),
            ],
            None,
        ),
    ];
    for (rules, line) in rows {
        let told = format!("{rules:?}");
        let made = Counter::with(&[], |_| vec![host(&["a"], rules)]);
        let fault = made.err().map(|e| e.to_string());
        match (fault, line) {
            (Some(fault), Some(line)) => {
                assert!(fault.starts_with(&format!("weir.toml:{line}:1: ")), "{told}: {fault}");
                let is_empty = fault.contains("no network is named");
                assert!(is_empty || fault.contains("write `answer = 403`"), "{told}: {fault}");
            }
            (fault, line) => assert_eq!((fault, line), (None, None), "{told}"),
        }
    }
}
