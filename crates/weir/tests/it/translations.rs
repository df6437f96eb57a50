//! The listings of docs/translations.md are served. Where a reply shows what a heading says, the
//! test looks at that.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::combination::Program;
use crate::support::fixture::write;
use crate::support::server::Server;
use crate::support::wire::{Head, Wire};

const PAGE: &str = include_str!("../../../../docs/translations.md");

/// Of `ann`, whose password is `secret`: it is never said here.
const USERS: &str = "ann:$2y$05$abcdefghijklmnopqrstuuAyhDzU6bXCKRbUFwsE5QHcMCSMwCDqS\n";

/// What is asked: the target, then further fields.
type Request = (&'static str, &'static str);
/// The status, and what a field or the content has.
type Expected = (u16, &'static str, &'static str);

const CONTENT: &str = "";

const ROWS: [(&str, Request, Expected); 23] = [
    ("A directory", ("/about.html", ""), (200, CONTENT, "about")),
    ("Names of hosts", ("/about.html", ""), (200, CONTENT, "about")),
    ("Where to listen", ("/about.html", ""), (200, CONTENT, "about")),
    ("Lists of directories", ("/docs/", ""), (200, CONTENT, "a.txt")),
    ("An application that is one page", ("/some/where", ""), (200, CONTENT, "front")),
    ("Names without .html", ("/about", ""), (200, CONTENT, "about")),
    ("Pages of errors", ("/nothing", ""), (404, CONTENT, "nothing here")),
    ("All of a host to HTTPS", ("/a?b", ""), (301, "location", "https://example.org/a?b")),
    ("A part that has moved", ("/old/a?b", ""), (301, "location", "/new/a?b")),
    ("An answer without a file", ("/gone", ""), (410, CONTENT, "")),
    ("Header fields", ("/nothing", ""), (404, "x-frame-options", "DENY")),
    ("How long browsers keep files", ("/style.css", ""), (200, "cache-control", "max-age=3600")),
    ("Types of files", ("/x.gltf", ""), (200, "content-type", "model/gltf+json")),
    (
        "Files that were compressed before",
        ("/style.css", "Accept-Encoding: gzip\r\n"),
        (200, "content-encoding", "gzip"),
    ),
    ("Passwords", ("/private/x", ""), (401, "www-authenticate", "Private")),
    ("Clients by their addresses", ("/internal/x", ""), (403, CONTENT, "")),
    ("Another directory for a part", ("/img/x.png", ""), (200, CONTENT, "image")),
    (
        "Pages of other origins",
        ("/docs/a.txt", "Origin: https://shop.example.org\r\n"),
        (200, "access-control-allow-origin", "https://shop.example.org"),
    ),
    ("Logs", ("/about.html", ""), (200, CONTENT, "about")),
    ("Limits of one client", ("/about.html", ""), (200, CONTENT, "about")),
    ("Behind a proxy", ("/about.html", ""), (200, CONTENT, "about")),
    ("Patience with clients", ("/about.html", ""), (200, CONTENT, "about")),
    ("Processes and connections", ("/about.html", ""), (200, CONTENT, "about")),
];

/// What stands below a heading, with the head of the page where it is a rule of a host.
fn listing(section: &str) -> String {
    let (_, below) = section.split_once("```toml\n").expect("a listing");
    let (listing, _) = below.split_once("```").expect("its end");
    let host = "[[host]]\nnames = [\"example.org\"]\nroot = \"site\"\n";
    let host = if listing.starts_with("[[host.rule]]") { host } else { "" };
    let listing = listing.replace("\"8080\"", "\"127.0.0.1:0\"").replace("/run/", "");
    let listen = if listing.contains("listen =") { "" } else { "listen = \"127.0.0.1:0\"\n" };
    format!("admin = \"off\"\n{listen}{host}{listing}")
}

fn make_site(home: &Path) {
    for (name, content) in [
        ("site/index.html", "front"),
        ("site/about.html", "about"),
        ("site/missing.html", "nothing here"),
        ("site/style.css", "a {}"),
        ("site/style.css.gz", "compressed"),
        ("site/x.gltf", "{}"),
        ("site/docs/a.txt", "a"),
        ("site/private/x", "x"),
        ("site/internal/x", "x"),
        ("images/x.png", "image"),
        ("users", USERS),
    ] {
        write(&home.join(name), content.as_bytes());
    }
}

#[test]
fn every_listing_is_served() {
    let sections: Vec<_> = PAGE.split("\n### ").skip(1).collect();
    let headings: Vec<_> = sections.iter().filter_map(|section| section.lines().next()).collect();
    assert_eq!(headings, ROWS.map(|(heading, ..)| heading));
    for (section, (heading, (target, fields), (status, name, value))) in sections.iter().zip(ROWS) {
        let home = tempfile::tempdir().expect("a directory");
        make_site(home.path());
        let file = home.path().join("weir.toml");
        fs::write(&file, listing(section)).expect("a configuration");
        let mut command = Command::new(Program::Weir.path());
        command.args(["serve", "--config"]).arg(&file);
        let server = Server::start(command, 0);
        let (head, content) = asked(server.connect(), "example.org", target, fields);
        let seen = if name == CONTENT { &content } else { head.field(name).unwrap_or_default() };
        assert!(head.status == status && seen.contains(value), "{heading}: {head:?} {content}");
        check_further(heading, &server, home.path());
        server.stop();
        let log = fs::read_to_string(home.path().join("access.log")).unwrap_or_default();
        assert_eq!(heading == "Logs", log.contains("GET /about.html"), "{heading}: {log}");
    }
}

/// What one reply does not show.
fn check_further(heading: &str, server: &Server, home: &Path) {
    match heading {
        "Names of hosts" => {
            for (host, status) in [("www.example.org", 200), ("example.net", 421)] {
                assert_eq!(asked(server.connect(), host, "/", "").0.status, status, "{host}");
            }
        }
        "Where to listen" => {
            let wire = Wire::connect_unix(&home.join("www.sock")).expect("a connection");
            assert_eq!(asked(wire, "example.org", "/", "").0.status, 200);
        }
        _ => {}
    }
}

fn asked(mut wire: Wire, host: &str, target: &str, fields: &str) -> (Head, String) {
    let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
    wire.send(head.as_bytes()).expect("sent");
    let (head, content) = wire.reply(false).expect("a reply");
    (head, String::from_utf8_lossy(&content).into_owned())
}
