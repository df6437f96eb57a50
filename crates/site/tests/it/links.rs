//! Links that lead out of a root, and rules that let them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::counter::{Counter, error_page, host};
use h1::{Codings, Found, Lookup};
use site::Hint;
use site::rules::{Effect, Host};

const FILES: &[(&str, &str)] = &[
    ("www/index.html", "front"),
    ("releases/1/index.html", "one"),
    ("releases/1/page.html", "page"),
    ("releases/1/page.html.gz", "page in gzip"),
    ("releases/1/sub/x", "x"),
    ("releases/1/.hidden", "SECRET"),
    ("releases/1/404.html", "<p>none in one"),
    ("releases/2/index.html", "two"),
    ("secrets/x", "SECRET"),
    ("secrets/index.html", "SECRET"),
    ("home/ann/www/index.html", "Ann"),
];

const LINKS: &[(&str, &str)] = &[
    ("www/current", "../releases/1"),
    ("www/off", "../releases/1"),
    ("www/file", "../releases/1/sub/x"),
    ("www/out", "../secrets"),
    ("www/out.txt", "../secrets/x"),
    ("releases/1/leak", "../../secrets/x"),
    ("releases/1/leaks", "../../secrets"),
    ("home/ann/www/current", "../../../releases/1"),
];

fn town() -> Counter {
    Counter::new(FILES, |place| {
        for (name, to) in LINKS {
            symlink(to, place.join(name)).unwrap();
        }
        let home = place.join("home/ann");
        fs::write(place.join("passwd"), format!("ann:x:1:1::{}:\n", home.display())).unwrap();
        vec![host(&["a"], rules(place)), plain(place)]
    })
}

fn rules(place: &Path) -> Vec<(&'static str, Effect)> {
    vec![
        ("/", Effect::FollowLinks(vec![place.join("releases")])),
        ("/off", Effect::FollowLinks(Vec::new())),
        ("/", Effect::Listing(true)),
        ("/current/app", Effect::Fallback("/current/index.html".into())),
        ("/current", error_page(404, "/current/404.html")),
        ("/people", Effect::UserDirectories("www".into())),
        ("/", Effect::Root(place.join("www"))),
    ]
}

/// What no rule lets links lead out of.
fn plain(place: &Path) -> Host {
    host(&["plain"], vec![("/", Effect::Root(place.join("www")))])
}

#[test]
fn what_a_link_leads_to_is_served_as_if_it_lay_there() {
    let town = town();
    let rows = [
        ("a", "/current/", "200 OK", "\n\none"),
        ("a", "/current/index.html", "200 OK", "\n\none"),
        ("a", "/current", "301 Moved Permanently", "\nLocation: /current/\n"),
        ("a", "/current/sub", "301 Moved Permanently", "\nLocation: /current/sub/\n"),
        ("a", "/current/sub/", "200 OK", "href=\"./x\""),
        ("a", "/current/sub/x", "200 OK", "\n\nx"),
        ("a", "/current/app/any/where", "200 OK", "\n\none"),
        ("a", "/current/none", "404 Not Found", "<p>none in one"),
        ("a", "/file", "200 OK", "\n\nx"),
        ("a", "/current/.hidden", "404 Not Found", ""),
        ("a", "/current/leak", "404 Not Found", ""),
        ("a", "/current/leaks/x", "404 Not Found", ""),
        ("a", "/current/leaks/", "404 Not Found", ""),
        ("a", "/out/x", "404 Not Found", ""),
        ("a", "/out/", "404 Not Found", ""),
        ("a", "/out.txt", "404 Not Found", ""),
        ("a", "/off/", "404 Not Found", ""),
        ("a", "/people/~ann/", "200 OK", "\n\nAnn"),
        ("a", "/people/~ann/current/", "404 Not Found", ""),
        ("plain", "/current/", "404 Not Found", ""),
        ("plain", "/file", "404 Not Found", ""),
    ];
    for (host, path, begins, has) in rows {
        let reply = town.get(host, path);
        assert!(reply.starts_with(&format!("HTTP/1.1 {begins}\n")), "{host}{path}: {reply}");
        assert!(reply.contains(has) && !reply.contains("SECRET"), "{host}{path}: {reply}");
    }
    let sibling = "GET /current/page.html HTTP/1.1\nHost: a\nAccept-Encoding: gzip";
    let reply = town.ask(sibling);
    assert!(reply.contains("Content-Encoding: gzip") && reply.contains("page in gzip"), "{reply}");
}

/// A list names what can be asked for, and nothing else.
#[test]
fn a_list_has_the_links_that_are_followed() {
    let town = town();
    let list = |path: &str| {
        let request = format!("GET {path} HTTP/1.1\nHost: a\nAccept: application/json");
        let reply = town.ask(&request);
        let names = reply.split("\"name\":\"").skip(1);
        names.map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // The front page is its index; without one it would be a list.
    fs::remove_file(town.place.path().join("www/index.html")).unwrap();
    assert_eq!(list("/"), ["current", "file", "off"]);
    fs::remove_file(town.place.path().join("releases/1/index.html")).unwrap();
    assert_eq!(list("/current/"), ["404.html", "page.html", "page.html.gz", "sub"]);
}

#[test]
fn a_deploy_shows_and_is_asked_of_the_disk() {
    let mut town = town();
    let request = "GET /current/ HTTP/1.1\nHost: a";
    let is_told = |town: &Counter| {
        let Found::Miss(lookup) = town.find(request) else { panic!("it is old") };
        let told = town.site.compare(&lookup, &town.now);
        let _ = town.site.give_up(&lookup, &town.now);
        told.is_some()
    };
    assert!(town.ask(request).ends_with("\n\none"));
    town.wait_ms(1000);
    // Nothing has changed, and still it cannot be told without asking.
    assert!(!is_told(&town));
    assert!(town.ask(request).ends_with("\n\none"));
    let place = town.place.path().to_path_buf();
    let swap = |to: &str| {
        symlink(to, place.join("next")).unwrap();
        fs::rename(place.join("next"), place.join("www/current")).unwrap();
    };
    for (to, expected) in [
        ("../releases/2", "200 OK"),
        ("../secrets", "404 Not Found"),
        ("../releases/3", "404 Not Found"),
        ("../releases/1", "200 OK"),
    ] {
        swap(to);
        town.wait_ms(1000);
        assert!(!is_told(&town), "{to}");
        let reply = town.ask(request);
        assert!(reply.starts_with(&format!("HTTP/1.1 {expected}\n")), "{to}: {reply}");
        assert!(!reply.contains("SECRET"), "{to}: {reply}");
    }
}

/// The key is named where a link leads out, and only there.
#[test]
fn an_operator_is_told_of_the_key() {
    let town = town();
    let www = town.place.path().join("www");
    let rows = [
        ("a", "/out/x", Some("out")),
        ("a", "/current/leak", Some("current/leak")),
        ("a", "/current/leaks/x", Some("current/leaks")),
        ("a", "/off/sub/x", Some("off")),
        ("plain", "/current/sub/x", Some("current")),
        ("a", "/current/sub/none", None),
        ("a", "/none", None),
    ];
    for (host, path, expected) in rows {
        let request = format!("GET {path} HTTP/1.1\nHost: {host}");
        let Found::Miss(lookup) = town.find(&request) else { panic!("{path} is known") };
        let opening = town.site.open(&Lookup { codings: Codings::default(), ..lookup });
        let expected = expected.map(|name| Hint::LeadsOut(www.join(name)));
        assert_eq!(opening.hint(), expected.as_ref(), "{host} {path}");
        if let Some(hint) = expected {
            assert!(hint.to_string().contains("`follow-links`"), "{hint}");
        }
    }
}

#[test]
fn what_cannot_be_a_place_is_told_at_the_start() {
    let rows = [
        ("/", "weir.toml:1:1: / is the whole machine; name the directories that links lead to"),
        ("root", "weir.toml:1:1: / is the whole machine; name the directories that links lead to"),
        ("none", "weir.toml:1:1: no such directory: "),
        ("www/index.html", "weir.toml:1:1: not a directory: "),
    ];
    for (name, expected) in rows {
        let made = Counter::with(FILES, |place| {
            symlink("/", place.join("root")).unwrap();
            vec![host(&["a"], vec![("/", Effect::FollowLinks(vec![place.join(name)]))])]
        });
        let told = made.err().expect(name).to_string();
        assert!(told.starts_with(expected), "{name}: {told}");
    }
}
