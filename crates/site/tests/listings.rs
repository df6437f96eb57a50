//! Directories as pages.

mod counter;

use std::fs;
use std::path::Path;

use counter::{Counter, field, host};
use site::rules::Effect;

const FILES: &[(&str, &str)] = &[
    ("www/b & <c>", "12345"),
    ("www/a\"b:c", "1"),
    ("www/.hidden", "secret"),
    ("www/é/x", "x"),
    ("www/with/index.html", "index"),
    ("www/off/x", "x"),
    ("outside", "secret"),
];

fn town() -> Counter {
    Counter::new(FILES, |place| {
        let www = place.join("www");
        std::os::unix::fs::symlink("../outside", www.join("out")).unwrap();
        std::os::unix::fs::symlink("with", www.join("linked")).unwrap();
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/", Effect::Listing(true)),
            ("/off", Effect::Listing(false)),
            ("/deep/er", Effect::Root(www.clone())),
            ("/", Effect::Root(www)),
        ];
        vec![host(&["a"], rules)]
    })
}

fn json(path: &str) -> String {
    format!("GET {path} HTTP/1.1\nHost: a\nAccept: application/json")
}

fn content(reply: &str) -> &str {
    reply.split_once("\n\n").unwrap().1
}

fn set_modified(path: &Path) {
    let moment = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(784_111_777);
    fs::File::open(path).unwrap().set_modified(moment).unwrap();
}

#[test]
fn for_programs() {
    let town = town();
    let www = town.place.path().join("www");
    for name in ["b & <c>", "a\"b:c", "é", "with", "off"] {
        set_modified(&www.join(name));
    }
    let entry =
        |name: &str, rest: &str| format!("\n{{\"name\":\"{name}\",{rest},\"modified\":784111777}}");
    let directory = "\"kind\":\"directory\"";
    let entries = [
        entry("a\\\"b:c", "\"kind\":\"file\",\"size\":1"),
        entry("b & <c>", "\"kind\":\"file\",\"size\":5"),
        entry("linked", directory),
        entry("off", directory),
        entry("with", directory),
        entry("é", directory),
    ];
    for path in ["/", "/deep/er/"] {
        let reply = town.ask(&json(path));
        assert!(reply.starts_with("HTTP/1.1 200 OK\nContent-Type: application/json\n"), "{reply}");
        assert!(reply.contains("\nVary: Accept\nX-A: 1\n"), "{reply}");
        let listed = entries.join(",");
        let expected =
            format!("{{\"path\":\"{path}\",\"complete\":true,\"entries\":[{listed}\n]}}\n");
        assert_eq!(content(&reply), expected);
        assert!(town.is_hit(&json(path)));
    }
}

#[test]
fn for_people() {
    let town = town();
    let reply = town.get("a", "/");
    let type_ = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n";
    assert!(reply.starts_with(type_) && reply.contains("\nVary: Accept\nX-A: 1\n"), "{reply}");
    for part in [
        "<a href=\"./b%20&amp;%20%3Cc%3E\">b &amp; &lt;c&gt;</a></td><td>5</td>",
        "<a href=\"./a%22b:c\">a&quot;b:c</a></td><td>1</td>",
        "<a href=\"./%C3%A9/\">é/</a></td><td></td>",
        "<a href=\"./linked/\">linked/</a>",
    ] {
        assert!(reply.contains(part), "lacks {part}: {reply}");
    }
    for part in ["hidden", "../", "\"./out"] {
        assert!(!reply.contains(part), "has {part}: {reply}");
    }
    assert!(town.get("a", "/%c3%a9/").contains("<a href=\"../\">"));
    assert!(town.get("a", "/deep/er/").contains("<a href=\"../\">"));
    assert!(town.get("a", "/%c3%a9").contains("Location: /%C3%A9/\n"));
}

#[test]
fn where_and_to_whom() {
    let town = town();
    let html = "text/html; charset=utf-8";
    let rows = [
        ("/", "", html),
        ("/", "*/*", html),
        ("/", "text/html,application/json", html),
        ("/", "text/html;q=0.5,application/json", "application/json"),
        ("/", "text/html, application/json;q=0.9", html),
        ("/", "application/json;v=1;q=0.1, */*", "application/json"),
        ("/", "application/json;q=0", html),
        ("/", "text/html;q=x\nAccept: application/JSON; Q=1.5", html),
        ("/", "text/html;q=0.1\nAccept: application/JSON", "application/json"),
        ("/with/", "application/json", html),
        ("/off/", "", "text/plain"),
        ("/missing/", "", "text/plain"),
        ("/b%20&%20%3Cc%3E/", "", "text/plain"),
    ];
    for (path, accept, media_type) in rows {
        let request = format!("GET {path} HTTP/1.1\nHost: a\nAccept: {accept}");
        let reply = town.ask(&request);
        let line = format!("\nContent-Type: {media_type}\n");
        assert!(reply.contains(&line), "{path} {accept}: {reply}");
        assert_eq!(reply.starts_with("HTTP/1.1 404 "), media_type == "text/plain", "{path}");
    }
    assert_eq!(content(&town.get("a", "/with/")), "index");
}

#[test]
fn changes_show_within_a_second() {
    let mut town = town();
    town.ask(&json("/"));
    fs::write(town.place.path().join("www/new"), "").unwrap();
    assert!(!town.ask(&json("/")).contains("\"new\""));
    town.wait_ms(1000);
    assert!(town.ask(&json("/")).contains("\"new\",\"kind\":\"file\",\"size\":0,"));
    // It grows, and the directory's own times stay as they are.
    fs::write(town.place.path().join("www/new"), "12").unwrap();
    town.wait_ms(1000);
    assert!(town.ask(&json("/")).contains("\"new\",\"kind\":\"file\",\"size\":2,"));
}

#[test]
fn no_more_than_ten_thousand() {
    let town = town();
    let many = town.place.path().join("www/many");
    fs::create_dir(&many).unwrap();
    for n in 0..10_001 {
        fs::write(many.join(format!("f{n}")), "").unwrap();
    }
    let reply = town.ask(&json("/many/"));
    assert_eq!(reply.matches("\"name\"").count(), 10_000);
    assert!(reply.contains("\"complete\":false"));
    assert!(town.get("a", "/many/").contains("the rest is not shown"));
}

/// Whatever the names are like, a page is small enough to be kept.
#[test]
fn no_more_than_two_megabytes() {
    const COUNT: usize = 9_000;
    let town = town();
    let many = town.place.path().join("www/many");
    fs::create_dir(&many).unwrap();
    for n in 0..COUNT {
        fs::write(many.join(format!("{n:04}{}", "ä".repeat(120))), "").unwrap();
    }
    for (asked, shown, cut) in [
        (json("/many/"), "\"name\"", "\"complete\":false"),
        ("GET /many/ HTTP/1.1\nHost: a".to_string(), "<tr><td>", "the rest is not shown"),
    ] {
        let reply = town.ask(&asked);
        let many = reply.matches(shown).count();
        assert!((1..COUNT).contains(&many) && reply.contains(cut), "{many}, {}", reply.len());
        assert!(reply.len() < (2 << 20) + 2_000 && town.is_hit(&asked), "{}", reply.len());
    }
}
