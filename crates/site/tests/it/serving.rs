//! What is served, from a real directory.

use std::fs;

use crate::town::{Got, Town};
use h1::Status;
use site::{Settings, Site};

#[test]
fn files_have_all_that_their_answers_need() {
    let town = Town::new(&[("index.html", "front"), ("a/b.css", "p {}"), ("empty", "")]);
    town.age("a/b.css", 5);
    let page = town.get("/a/b.css?v=1").page();
    assert_eq!(page.status, Status::OK);
    assert_eq!(page.text, "p {}");
    assert_eq!(page.media_type, "text/css; charset=utf-8");
    assert_eq!(page.modified, Some(1_699_999_995));
    let etag = page.etag.unwrap();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");
    assert!(!page.varies && !page.open && !page.hit);
    let prebuilt = page.prebuilt.unwrap();
    assert!(prebuilt.starts_with("HTTP/1.1 200 ") && prebuilt.ends_with("\r\n\r\np {}"));

    assert_eq!(town.get("/").text(), "front");
    assert_eq!(town.get("/a/..//./index.html").text(), "front");
    assert_eq!(town.get("/empty").text(), "");
}

/// Builds that set all times to nothing give two versions of a file the same.
#[test]
fn a_time_that_says_nothing_is_no_validator() {
    const NOW: u64 = 1_700_000_000;
    let town = Town::new(&[]);
    for (time, expected) in [(0, None), (1, None), (86_399, None), (86_400, Some(86_400))] {
        let name = time.to_string();
        town.write(&name, "");
        town.age(&name, NOW - time);
        let page = town.get(&format!("/{name}")).page();
        assert_eq!((page.modified, page.etag.is_some()), (expected, true), "{time}");
    }
}

#[test]
fn heads_are_kept_or_not() {
    let bytes = [false, true].map(|head_cache| {
        let settings = Settings { head_cache, ..Settings::default() };
        let town = Town::with(&settings, &[("a", &"a".repeat(5000)), ("b/index.html", "b")]);
        for hit in [false, true] {
            for path in ["/a", "/b"] {
                let page = town.get(path).page();
                assert_eq!((page.hit, page.prebuilt.is_some()), (hit, head_cache), "{path}");
            }
        }
        town.site.statistics().bytes
    });
    // A head stands before its content, which is there once either way.
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn nothing_else_is_served() {
    let town = Town::new(&[("a/file", "text"), (".secret", "s"), (".well-known/x", "known")]);
    make_fifo(&town.path("fifo"));
    std::os::unix::net::UnixListener::bind(town.path("socket")).unwrap();
    fs::create_dir(town.path("empty")).unwrap();
    let long = format!("/{}", "n".repeat(300));
    let rows = [
        ("/none", 404),
        ("/a/file/", 404),
        ("/a/file/more", 404),
        ("/empty/", 404),
        ("/.secret", 404),
        ("/fifo", 404),
        ("/fifo/", 404),
        ("/socket", 404),
        (&long, 404),
        ("/../root/a/file", 400),
        ("/a%00", 400),
    ];
    for (path, status) in rows {
        assert_eq!(town.get(path), Got::Status(Status(status)), "{path}");
    }
    assert_eq!(town.get("/.well-known/x").text(), "known");
}

/// The standard library makes no FIFOs.
fn make_fifo(path: &std::path::Path) {
    let made = harness::output(std::process::Command::new("mkfifo").arg(path)).unwrap();
    assert!(made.status.success());
}

#[test]
fn directories_redirect_to_their_slash() {
    let town = Town::new(&[("a/index.html", "a"), ("ä b/c%/x", "x")]);
    let rows = [
        ("/a", "/a/"),
        ("//a", "/a/"),
        // The query is put behind it when the reply is composed.
        ("/a?q=1", "/a/"),
        ("/%c3%a4%20b/c%25", "/%C3%A4%20b/c%25/"),
    ];
    for (path, location) in rows {
        let page = town.get(path).page();
        assert_eq!((page.status, &page.location[..]), (Status::MOVED_PERMANENTLY, location));
        assert_eq!((page.text.len(), page.etag, page.varies), (0, None, false));
        assert!(town.get(path).page().hit);
    }
    assert_eq!(town.get("/a/").text(), "a");
}

#[test]
fn index_files_are_tried_in_order() {
    let names = vec!["index.html".into(), "index.txt".into()];
    let settings = Settings { index_files: names, ..Settings::default() };
    let files = [("a/index.txt", "text"), ("b/index.txt", "text"), ("b/index.html", "page")];
    let town = Town::with(&settings, &files);
    fs::create_dir(town.path("a/index.html")).unwrap();
    assert_eq!(town.get("/a/").page().media_type, "text/plain; charset=utf-8");
    assert_eq!(town.get("/b/").text(), "page");
}

#[test]
fn siblings_are_chosen_by_what_the_client_takes() {
    let town = Town::new(&[
        ("a.js", "plain"),
        ("a.js.br", "brotli"),
        ("a.js.gz", "gzip"),
        ("b.js", "plain"),
        ("b.js.gz", "stale"),
        ("c.png", "plain"),
        ("c.png.gz", "never"),
        ("d.js.gz", "orphan"),
        ("sub/index.html", "plain"),
        ("sub/index.html.zst", "zstd"),
    ]);
    for name in ["a.js", "a.js.br", "b.js", "sub/index.html.zst"] {
        town.age(name, 10);
    }
    town.age("sub/index.html", 20);
    town.age("b.js.gz", 11);
    fs::create_dir(town.path("b.js.br")).unwrap();
    let rows = [
        ("/a.js", "identity", "plain", None, true),
        ("/a.js", "gzip, deflate, br, zstd", "brotli", Some("br"), true),
        ("/a.js", "gzip", "gzip", Some("gzip"), true),
        ("/a.js", "zstd", "plain", None, true),
        ("/a.js", "br;q=0.5, gzip", "gzip", Some("gzip"), true),
        ("/b.js", "gzip, br", "plain", None, false),
        ("/c.png", "gzip", "plain", None, false),
        ("/sub/", "br, zstd", "zstd", Some("zstd"), true),
    ];
    // Twice: what comes from memory is what came from the disk.
    for hit in [false, true] {
        for (path, codings, text, coding, varies) in rows {
            let page = town.get_coded(path, codings).page();
            let got = (&page.text[..], page.coding, page.varies);
            assert_eq!(got, (text, coding, varies), "{path} {codings}");
            assert!(!hit || page.hit, "{path} {codings}");
        }
    }
    assert_eq!(town.get_coded("/d.js", "gzip"), Got::Status(Status::NOT_FOUND));
    let direct = town.get_coded("/a.js.gz", "gzip").page();
    assert_eq!((&direct.media_type[..], direct.coding), ("application/gzip", None));
    let tags = ["identity", "br", "gzip"].map(|c| town.get_coded("/a.js", c).page().etag.unwrap());
    assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
    let types = ["identity", "br"].map(|c| town.get_coded("/a.js", c).page().media_type);
    assert_eq!(types[0], types[1]);
}

/// Behind a balancer a client's copy, or its part of a file, is as good at any of several machines.
#[test]
fn replicas_have_the_same_tags() {
    let files = &[("a.js", "plain"), ("a.js.br", "brotli"), ("b.js", "other")];
    let replicas = [Town::new(files), Town::new(files)];
    let tag = |town: &Town, path: &str, coding| town.get_coded(path, coding).page().etag.unwrap();
    for (path, coding) in [("/a.js", "identity"), ("/a.js", "br"), ("/b.js", "br")] {
        let [one, other] = replicas.each_ref().map(|town| tag(town, path, coding));
        assert_eq!(one, other, "{path} {coding}");
    }
}

#[test]
fn what_does_not_vary_is_kept_once() {
    let town = Town::new(&[("a.js", "plain")]);
    assert!(!town.get_coded("/a.js", "gzip").page().hit);
    for codings in ["br", "identity", "gzip, br", "zstd"] {
        assert!(town.get_coded("/a.js", codings).page().hit, "{codings}");
    }
    assert_eq!(town.site.statistics().entries, 1);
}

#[test]
fn large_files_are_sent_from_their_descriptor() {
    let settings = Settings { small_bytes_max: 4, ..Settings::default() };
    let town = Town::with(&settings, &[("small", "1234"), ("large", "12345")]);
    assert!(!town.get("/small").page().open);
    let large = town.get("/large").page();
    assert!(large.open);
    assert_eq!(large.text, "12345");
    assert!(large.prebuilt.unwrap().ends_with("\r\n\r\n"), "only the head");
    assert_eq!(town.site.statistics().descriptors, 1);
}

#[test]
fn links_stay_beneath_the_root() {
    let town = Town::new(&[("a/file", "inside")]);
    fs::write(town.place.path().join("outside"), "outside").unwrap();
    fs::create_dir(town.place.path().join("other")).unwrap();
    fs::write(town.place.path().join("other/index.html"), "outside").unwrap();
    town.link("a/file", "inner");
    town.link("../a/file", "a/up");
    town.link("a", "directory");
    town.link("../outside", "outer");
    town.link(town.place.path().join("outside"), "absolute");
    town.link("../other", "tree");
    town.link("loop", "loop");
    town.link("nowhere", "dangling");
    for path in ["/inner", "/a/up", "/directory/file"] {
        assert_eq!(town.get(path).text(), "inside", "{path}");
    }
    assert_eq!(town.get("/directory").page().location, "/directory/");
    let none = ["/outer", "/absolute", "/tree/", "/tree/index.html", "/tree", "/loop", "/dangling"];
    for path in none {
        assert_eq!(town.get(path), Got::Status(Status::NOT_FOUND), "{path}");
    }
}

#[test]
fn a_root_that_cannot_be_served_says_so_in_a_line() {
    let town = Town::new(&[("file", "text")]);
    let said = |root: &std::path::Path| match Site::new(root, &Settings::default()) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("{} is served", root.display()),
    };
    let (file, none) = (town.path("file"), town.path("none"));
    assert_eq!(said(&file), format!("not a directory: {}", file.display()));
    assert_eq!(said(&none), format!("no such directory: {}", none.display()));
    assert!(Site::new(std::path::Path::new("."), &Settings::default()).is_ok());
}
