//! Pages without the endings of their names, and rules by ending in replies as clients get them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::counter::{Counter, auth, error_page, field, host};
use h1::Status;
use site::rules::Effect;

const HASH: &str = "$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";

const FILES: &[(&str, &str)] = &[
    ("www/index.html", "front"),
    ("www/.html", "hidden"),
    ("www/about.html", "about"),
    ("www/about.html.br", "about, packed"),
    ("www/both", "a file"),
    ("www/both.html", "a page"),
    ("www/docs.html", "docs, a page"),
    ("www/docs/index.html", "docs, an index"),
    ("www/docs/deep.html", "deep"),
    ("www/bare/index.html", "bare"),
    ("www/dir.html/x", "x"),
    ("www/v1.2.html", "version"),
    ("www/style.css", "style"),
    ("www/style.css.gz", "style, packed"),
    ("www/data.xml", "data"),
    ("www/data.xml.gz", "data, packed"),
    ("www/404.html", "<p>none"),
    ("home/ann/www/notes.html", "Ann's"),
];

/// A request, and what the reply begins and ends with.
fn check(town: &Counter, rows: &[(&str, &str, &str)]) {
    for (path, begins, ends) in rows {
        let (path, fields) = path.split_once(' ').unwrap_or((path, ""));
        let request = format!("GET {path} HTTP/1.1\nHost: a\n{fields}");
        // From the disk, and from memory.
        for _ in 0..2 {
            let reply = town.ask(request.trim_end());
            let is_so = reply.starts_with(&format!("HTTP/1.1 {begins}")) && reply.ends_with(ends);
            assert!(is_so, "{path} {fields}: {reply}");
        }
    }
}

#[test]
fn a_page_is_shown_without_its_ending() {
    let town = Counter::new(FILES, |place| {
        let home = place.join("home/ann");
        fs::write(place.join("passwd"), format!("ann:x:1:1::{}:\n", home.display())).unwrap();
        let www = || Effect::Root(place.join("www"));
        let rules = vec![
            ("/", Effect::CleanUrls(true)),
            ("/as-it-is", Effect::CleanUrls(false)),
            ("/as-it-is", www()),
            ("/here", www()),
            ("/people", Effect::UserDirectories("www".into())),
            ("/", www()),
        ];
        vec![host(&["a"], rules), host(&["b"], vec![("/", www())])]
    });
    let found = "200 OK\nContent-Type: text/html; charset=utf-8\n";
    check(
        &town,
        &[
            ("/about", found, "\n\nabout"),
            ("/about.html", found, "\n\nabout"),
            ("/about Accept-Encoding: br", found, "\n\nabout, packed"),
            ("/%61bout?a=b", found, "\n\nabout"),
            ("/about/", "404 ", ""),
            ("/index", found, "\n\nfront"),
            ("/", found, "\n\nfront"),
            // The exact file, then the page, then the directory.
            ("/both", "200 OK\nContent-Type: application/octet-stream\n", "\n\na file"),
            ("/docs", found, "\n\ndocs, a page"),
            ("/docs/", found, "\n\ndocs, an index"),
            ("/docs/deep", found, "\n\ndeep"),
            ("/bare", "301 ", "Location: /bare/\n\n"),
            ("/dir", "404 ", ""),
            ("/v1.2", "404 ", ""),
            ("/none", "404 ", ""),
            ("/as-it-is/about", "404 ", ""),
            ("/as-it-is/about.html", found, "\n\nabout"),
            // A prefix is no name in its root.
            ("/here", "301 ", "Location: /here/\n\n"),
            ("/here/about", found, "\n\nabout"),
            ("/people/~ann", "301 ", "Location: /people/~ann/\n\n"),
            ("/people/~ann/notes", found, "\n\nAnn's"),
        ],
    );
    assert!(town.is_hit("GET /about HTTP/1.1\nHost: a"));
    assert!(town.get("b", "/about").starts_with("HTTP/1.1 404 "), "clean in another host");
}

#[test]
fn a_page_comes_before_what_is_served_instead_of_nothing() {
    let town = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", Effect::CleanUrls(true)),
            ("/", Effect::Fallback("/index".into())),
            ("/docs", Effect::Fallback("/none".into())),
            ("/docs", error_page(404, "/404.html")),
            ("/", Effect::Root(place.join("www"))),
        ];
        vec![host(&["a"], rules)]
    });
    check(
        &town,
        &[
            ("/about", "200 OK", "\n\nabout"),
            ("/none", "200 OK", "\n\nfront"),
            ("/docs/deep", "200 OK", "\n\ndeep"),
            ("/docs/none", "404 ", "\n\n<p>none"),
        ],
    );
}

/// What there is under a clean URL may change, and shows when it has come of age.
#[test]
fn what_a_clean_url_shows_may_change() {
    type Change = fn(&std::path::Path);
    let rows: [(&str, Change, &str, &str); 6] = [
        ("/about", |www| fs::write(www.join("about"), "a file").unwrap(), "octet-stream", "a file"),
        ("/about", |www| symlink("about.html", www.join("about")).unwrap(), "octet-", "about"),
        ("/about", |www| fs::write(www.join("about.html"), "anew").unwrap(), "text/html", "anew"),
        ("/both", |www| fs::remove_file(www.join("both")).unwrap(), "text/html", "a page"),
        ("/docs", |www| fs::remove_file(www.join("docs.html")).unwrap(), "301 ", ""),
        ("/none", |www| fs::write(www.join("none.html"), "new").unwrap(), "text/html", "new"),
    ];
    for (path, change, part, ends) in rows {
        let mut town = Counter::new(FILES, |place| {
            let root = Effect::Root(place.join("www"));
            vec![host(&["a"], vec![("/", Effect::CleanUrls(true)), ("/", root)])]
        });
        let before = town.get("a", path);
        change(&town.place.path().join("www"));
        assert_eq!(town.get("a", path), before, "{path}: not yet");
        town.wait_ms(1000);
        let reply = town.get("a", path);
        assert!(reply.contains(part) && reply.ends_with(&format!("\n\n{ends}")), "{path}: {reply}");
    }
}

const GONE: Effect = Effect::Answer(Status::GONE);
const CLEAN: (&str, Effect) = ("/", Effect::CleanUrls(true));

/// Rules, and what a client that takes all codings gets for a path: a status, or a content.
type Doors = (&'static [(&'static str, Effect)], &'static [(&'static str, &'static str)]);

const DOORS: &[Doors] = &[
    (
        &[("/*.css", GONE)],
        &[
            ("/style.css", "410"),
            ("/style.css.gz", "410"),
            ("/style.css.br", "410"),
            ("/none.css.zst", "410"),
            ("/style.css.bak", "404"),
            ("/data.xml", "data, packed"),
        ],
    ),
    (
        &[("/*.html", GONE)],
        &[
            ("/", "410"),
            ("/docs/", "410"),
            ("/docs", "301"),
            ("/index.html.br", "410"),
            ("/about", "404"),
            ("/both", "a file"),
            ("/style.css", "style, packed"),
        ],
    ),
    (
        &[("/*.css.gz", GONE)],
        &[
            ("/style.css.gz", "410"),
            ("/style.css", "style"),
            ("/data.xml", "data, packed"),
            ("/", "front"),
        ],
    ),
    (
        &[("/*.gz", GONE)],
        &[("/style.css", "style"), ("/data.xml", "data"), ("/about.html", "about")],
    ),
    (&[("/docs/*.gz", GONE)], &[("/style.css", "style, packed"), ("/data.xml.gz", "data, packed")]),
    (
        &[CLEAN, ("/*.html", GONE)],
        &[("/about", "410"), ("/docs/index", "410"), ("/both", "410"), ("/docs", "410")],
    ),
    (
        &[CLEAN, ("/*.html.br", GONE)],
        &[("/about", "about"), ("/about.html", "about"), ("/about.html.br", "410")],
    ),
    (
        &[CLEAN, ("/about.html", GONE)],
        &[
            ("/about", "410"),
            ("/about.html", "410"),
            ("/about.html.br", "410"),
            ("/%61bout", "410"),
            ("/index", "front"),
        ],
    ),
    (
        &[CLEAN, ("/about", GONE)],
        &[("/about", "410"), ("/about.html", "410"), ("/about.html.br", "410")],
    ),
    (
        &[CLEAN, ("/about.html.br", GONE)],
        &[("/about", "about"), ("/about.html", "about"), ("/about.html.br", "410")],
    ),
    (
        &[CLEAN, ("/docs/index.html", GONE)],
        &[("/docs/", "410"), ("/docs/index", "410"), ("/docs", "docs, a page"), ("/", "front")],
    ),
    (
        &[CLEAN, ("/docs/index", GONE)],
        &[("/docs/", "410"), ("/docs/index.html.gz", "410"), ("/docs/deep", "deep")],
    ),
    (&[("/about", GONE)], &[("/about.html", "about, packed"), ("/about.br", "410")]),
    (&[("/docs/index", GONE)], &[("/docs/", "docs, an index")]),
];

#[test]
fn every_name_of_what_is_closed_is_closed() {
    for ((rules, replies), asks) in DOORS.iter().flat_map(|row| [(row, false), (row, true)]) {
        let town = Counter::new(FILES, |place| {
            let shuts = |effect: &Effect| match effect {
                Effect::Answer(_) if asks => auth("r", &[("x", HASH)]),
                other => other.clone(),
            };
            let rules = rules.iter().map(|(at, effect)| (*at, shuts(effect)));
            let root = ("/", Effect::Root(place.join("www")));
            vec![host(&["a"], rules.chain([root]).collect())]
        });
        for (path, expected) in *replies {
            let codings = "Accept-Encoding: br, zstd, gzip";
            let reply = town.ask(&format!("GET {path} HTTP/1.1\nHost: a\n{codings}"));
            let expected = if asks && *expected == "410" { "401" } else { expected };
            let is_so = match expected.parse::<u16>() {
                Ok(status) => reply.starts_with(&format!("HTTP/1.1 {status} ")),
                Err(_) => reply.ends_with(&format!("\n\n{expected}")),
            };
            assert!(is_so, "{rules:?}: {path}: {reply}");
        }
    }
}

#[test]
fn rules_by_ending_set_what_is_served() {
    let town = Counter::new(FILES, |place| {
        let rules = vec![
            ("/*.html", field("X-A", "page")),
            ("/*.css", field("X-A", "style")),
            ("/docs/*.html", field("X-B", "docs")),
            ("/*.png", Effect::Fallback("/style.css".into())),
            ("/*.css", error_page(404, "/404.html")),
            ("/docs", Effect::CleanUrls(true)),
            ("/", Effect::Root(place.join("www"))),
        ];
        vec![host(&["a"], rules)]
    });
    let rows: [(&str, &str, &[&str]); 9] = [
        ("/", "200 ", &["\nX-A: page\n", "front"]),
        ("/about.html", "200 ", &["\nX-A: page\n"]),
        ("/style.css", "200 ", &["\nX-A: style\n"]),
        ("/none.css", "404 ", &["\nX-A: style\n", "<p>none"]),
        ("/none.png", "200 ", &["Content-Type: text/css", "\n\nstyle"]),
        ("/data.xml", "200 ", &["\n\ndata"]),
        ("/docs/", "200 ", &["\nX-A: page\nX-B: docs\n"]),
        ("/docs/deep", "200 ", &["\nX-A: page\nX-B: docs\n", "deep"]),
        // Names without a dot count as pages in all of the host.
        ("/both", "200 ", &["\nX-A: page\n", "a file"]),
    ];
    for (path, begins, parts) in rows {
        let reply = town.get("a", path);
        assert!(reply.starts_with(&format!("HTTP/1.1 {begins}")), "{path}: {reply}");
        for part in parts {
            assert!(reply.contains(part), "{path} lacks {part}: {reply}");
        }
        let fields = reply.matches("\nX-").count();
        let expected = parts.iter().map(|part| part.matches("\nX-").count()).sum();
        assert_eq!(fields, expected, "{path}: {reply}");
    }
}
