//! Directories as pages.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::counter::{Counter, field, host};
use site::rules::Effect;

const FILES: &[(&str, &str)] = &[
    ("www/b & <c>", "12345"),
    ("www/<img src=x onerror=alert(1)>", ""),
    ("www/'><script>alert(1)<script>", ""),
    ("www/100%25 ?#&amp;", ""),
    ("www/中文 - עברית - 😀", ""),
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
    set_modified_s(path, 784_111_777);
}

fn set_modified_s(path: &Path, seconds: u64) {
    let moment = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(moment).unwrap();
}

#[test]
fn for_programs() {
    let town = town();
    let www = town.place.path().join("www");
    for entry in fs::read_dir(&www).unwrap() {
        let path = entry.unwrap().path();
        if path.exists() {
            set_modified(&path.canonicalize().unwrap());
        }
    }
    let entry = |name: &str, href: &str, rest: &str| {
        format!("\n{{\"name\":\"{name}\",\"href\":\"{href}\",{rest},\"modified\":784111777}}")
    };
    let directory = "\"kind\":\"directory\"";
    let empty = "\"kind\":\"file\",\"size\":0";
    let entries = [
        entry("'><script>alert(1)<script>", "'%3E%3Cscript%3Ealert(1)%3Cscript%3E", empty),
        entry("100%25 ?#&amp;", "100%2525%20%3F%23&amp;", empty),
        entry("<img src=x onerror=alert(1)>", "%3Cimg%20src=x%20onerror=alert(1)%3E", empty),
        entry("a\\\"b:c", "a%22b%3Ac", "\"kind\":\"file\",\"size\":1"),
        entry("b & <c>", "b%20&%20%3Cc%3E", "\"kind\":\"file\",\"size\":5"),
        entry("linked", "linked/", directory),
        entry("off", "off/", directory),
        entry("with", "with/", directory),
        entry("é", "%C3%A9/", directory),
        entry(
            "中文 - עברית - 😀",
            "%E4%B8%AD%E6%96%87%20-%20%D7%A2%D7%91%D7%A8%D7%99%D7%AA%20-%20%F0%9F%98%80",
            empty,
        ),
    ];
    for path in ["/", "/deep/er/"] {
        let reply = town.ask(&json(path));
        assert!(reply.starts_with("HTTP/1.1 200 OK\nContent-Type: application/json\n"), "{reply}");
        assert!(reply.contains("\nVary: Accept\nX-A: 1\n"), "{reply}");
        let listed = entries.join(",");
        let expected =
            format!("{{\"path\":\"{path}\",\"complete\":false,\"entries\":[{listed}\n]}}\n");
        // A link leads out of the root.
        assert_eq!(content(&reply), expected);
        assert!(town.is_hit(&json(path)));
    }
}

#[test]
fn for_people() {
    let town = town();
    let reply = town.get("a", "/");
    let type_ = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n";
    assert!(reply.starts_with(type_) && reply.contains("\nX-A: 1\n"), "{reply}");
    let policy = "\nVary: Accept\nContent-Security-Policy: default-src 'none'; ";
    assert!(reply.contains(policy), "{reply}");
    for part in [
        "<a href=\"./b%20&amp;%20%3Cc%3E\">b &amp; &lt;c&gt;</a></td>\
         <td title=\"5 bytes\">5 B</td>",
        "<a href=\"./a%22b:c\">a&quot;b:c</a></td><td title=\"1 byte\">1 B</td>",
        "<a href=\"./%C3%A9/\">é/</a></td><td></td>",
        "<a href=\"./linked/\">linked/</a>",
        ">&lt;img src=x onerror=alert(1)&gt;</a>",
        ">&#39;&gt;&lt;script&gt;alert(1)&lt;script&gt;</a>",
        "<a href=\"./100%2525%20%3F%23&amp;amp;\">100%25 ?#&amp;amp;</a>",
        ">中文 - עברית - 😀</a>",
        "<p>4 directories, 6 files, 6 B; 1 not shown</p>",
    ] {
        assert!(reply.contains(part), "lacks {part}: {reply}");
    }
    for part in [".hidden", "../", "\"./out", "<script", "<img"] {
        assert!(!reply.contains(part), "has {part}: {reply}");
    }
    assert!(town.get("a", "/%c3%a9/").contains("<a href=\"../\">"));
    assert!(town.get("a", "/deep/er/").contains("<a href=\"../\">"));
    let way = "<h1><a href=\"../../\">/</a><a href=\"../\">deep/</a>er/</h1>";
    assert!(town.get("a", "/deep/er/").contains(way));
    assert!(town.get("a", "/%c3%a9").contains("Location: /%C3%A9/\n"));
}

/// RFC 3986 section 2.5.
#[test]
fn names_are_bytes() {
    // A name; the name and the link in JSON; the text in HTML.
    let rows: [(&[u8], &str, &str, &str); 5] = [
        (b"\xe9t\xe9.html", "\u{FFFD}t\u{FFFD}.html", "%E9t%E9.html", "\u{FFFD}t\u{FFFD}.html"),
        (b"a\\b", "a\\\\b", "a%5Cb", "a\\\\b"),
        (b"a\tb", "a\\u0009b", "a%09b", "a\\u{9}b"),
        (b"new\nline", "new\\u000aline", "new%0Aline", "new\\u{A}line"),
        (b"\x7f", "\\u007f", "%7F", "\\u{7F}"),
    ];
    let town = Counter::new(&[("www/a/x", "x")], |place| {
        let www = place.join("www");
        for (name, ..) in &rows {
            fs::write(www.join("a").join(OsStr::from_bytes(name)), name).unwrap();
        }
        fs::create_dir(www.join(OsStr::from_bytes(b"\xff"))).unwrap();
        vec![host(&["a"], vec![("/", Effect::Listing(true)), ("/", Effect::Root(www))])]
    });
    let (html, listed) = (town.get("a", "/a/"), town.ask(&json("/a/")));
    assert!(listed.contains("\"complete\":true"), "{listed}");
    for (name, in_json, link, in_html) in rows {
        let entry = format!("{{\"name\":\"{in_json}\",\"href\":\"{link}\",");
        assert!(listed.contains(&entry), "{entry}: {listed}");
        let row = format!("<a href=\"./{link}\">{in_html}</a>");
        assert!(html.contains(&row), "{row}: {html}");
        let length = format!("\nContent-Length: {}\n", name.len());
        assert!(town.ask(&format!("HEAD /a/{link} HTTP/1.1\nHost: a")).contains(&length), "{link}");
    }
    assert!(town.get("a", "/%ff").contains("\nLocation: /%FF/\n"));
}

/// What is there and cannot be served.
#[test]
fn a_listing_that_lacks_an_entry_says_so() {
    let whole = (true, "<p>0 directories, 1 file, 1 B</p>");
    let lacks = (false, "<p>0 directories, 1 file, 1 B; 1 not shown</p>");
    type Make = fn(&Path);
    let rows: [(&str, Make, (bool, &str)); 4] = [
        ("a hidden name", |path| fs::write(path.with_file_name(".x"), "").unwrap(), whole),
        ("a socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()), lacks),
        ("a dangling link", |path| std::os::unix::fs::symlink("none", path).unwrap(), lacks),
        ("a link out of the root", |path| std::os::unix::fs::symlink("/", path).unwrap(), lacks),
    ];
    for (what, make, (is_complete, sum)) in rows {
        let town = Counter::new(&[("www/a", "a")], |place| {
            let www = place.join("www");
            make(&www.join("x"));
            vec![host(&["a"], vec![("/", Effect::Listing(true)), ("/", Effect::Root(www))])]
        });
        let complete = format!("\"complete\":{is_complete},");
        assert!(town.ask(&json("/")).contains(&complete), "{what}");
        assert!(town.get("a", "/").contains(sum), "{what}: {}", town.get("a", "/"));
    }
}

/// What turns the order of letters around, or is not seen, is written out; the link leads to the
/// name that there is.
#[test]
fn names_look_like_what_they_are() {
    let rows = [
        ("evil\u{202e}gpj.exe", "evil\\u{202E}gpj.exe", "evil\\u202egpj.exe"),
        ("\u{2066}a\u{2069}\u{200f}", "\\u{2066}a\\u{2069}\\u{200F}", "\\u2066a\\u2069\\u200f"),
        ("a\u{feff}b\u{200b}", "a\\u{FEFF}b\\u{200B}", "a\\ufeffb\\u200b"),
        ("tag\u{e0061}", "tag\\u{E0061}", "tag\\udb40\\udc61"),
        ("👩\u{200d}🔬", "👩\u{200d}🔬", "👩\u{200d}🔬"),
        ("می\u{200c}خواهم", "می\u{200c}خواهم", "می\u{200c}خواهم"),
    ];
    let files = rows.map(|(name, ..)| format!("www/in\u{202e}/{name}"));
    let files: Vec<_> = files.iter().map(|name| (name.as_str(), "x")).collect();
    let town = Counter::new(&files, |place| {
        vec![host(
            &["a"],
            vec![("/", Effect::Listing(true)), ("/", Effect::Root(place.join("www")))],
        )]
    });
    let (html, json) = (town.get("a", "/in%E2%80%AE/"), town.ask(&json("/in%e2%80%ae/")));
    assert!(html.contains("<title>/in\\u{202E}/</title>"), "{html}");
    assert!(html.contains("<h1><a href=\"../\">/</a>in\\u{202E}/</h1>"), "{html}");
    assert!(json.contains("{\"path\":\"/in\\u202e/\","), "{json}");
    for (name, in_html, in_json) in rows {
        let (_, row) = html.split_once(&format!(">{in_html}</a>")).expect(in_html);
        assert!(row.starts_with("</td><td title=\"1 byte\">"), "{name}: {row}");
        assert!(json.contains(&format!("{{\"name\":\"{in_json}\",")), "{in_json}: {json}");
        let link: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert!(town.get("a", &format!("/in%E2%80%AE/{link}")).ends_with("\n\nx"), "{name}");
    }
    assert!(html.contains("<a href=\"./evil%E2%80%AEgpj.exe\">"), "{html}");
}

/// Directories first, then as was asked; and who clicks again turns it around.
#[test]
fn in_the_order_that_was_asked_for() {
    let files = [("www/file-10", "1"), ("www/file-2", "333"), ("www/File-3", "22")];
    let town = Counter::new(&files, |place| {
        let www = place.join("www");
        for (n, name) in ["file-10", "File-3", "file-2"].into_iter().enumerate() {
            set_modified_s(&www.join(name), 784_111_777 + 60 * n as u64);
        }
        for name in ["z-1", "z-10", "z-9"] {
            fs::create_dir(www.join(name)).unwrap();
            set_modified(&www.join(name));
        }
        vec![host(&["a"], vec![("/", Effect::Listing(true)), ("/", Effect::Root(www))])]
    });
    let up = "z-1/ z-9/ z-10/";
    let down = "z-10/ z-9/ z-1/";
    let rows = [
        ("", up, "file-2 File-3 file-10"),
        ("?sort=name&order=desc", down, "file-10 File-3 file-2"),
        ("?sort=size", up, "file-2 File-3 file-10"),
        ("?sort=size&order=asc", up, "file-10 File-3 file-2"),
        ("?sort=date&order=desc", up, "file-2 File-3 file-10"),
        ("?sort=date&order=asc", up, "file-10 File-3 file-2"),
        ("?sort=<script>", up, "file-2 File-3 file-10"),
    ];
    for (query, directories, files) in rows {
        let reply = town.get("a", &format!("/{query}"));
        let names =
            reply.split("<td><a href=\"./").skip(1).map(|row| row.split_once('\"').unwrap().0);
        let names = names.collect::<Vec<_>>().join(" ");
        assert_eq!(names, format!("{directories} {files}"), "{query}");
        assert!(!reply.contains("<script"), "{reply}");
        assert_eq!(reply.matches(" aria-sort=\"").count(), 1, "{query}");
    }
    let reply = town.get("a", "/?sort=size");
    for part in [
        "<th><form rel=\"nofollow\"><input type=\"hidden\" name=\"order\" value=\"asc\">\
         <button name=\"sort\" value=\"name\">Name</button></form></th>",
        "<th aria-sort=\"descending\"><form rel=\"nofollow\">\
         <input type=\"hidden\" name=\"order\" value=\"asc\">\
         <button name=\"sort\" value=\"size\">Size</button></form></th>",
        "value=\"desc\"><button name=\"sort\" value=\"date\">Changed (UTC)</button>",
        "<td>1994-11-06 08:50</td>",
    ] {
        assert!(reply.contains(part), "lacks {part}: {reply}");
    }
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
        assert!(reply.len() < (2 << 20) + 4_000 && town.is_hit(&asked), "{}", reply.len());
    }
}
