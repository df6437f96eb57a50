//! What rules do, in replies as clients get them.

use std::fs;
use std::path::Path;

use crate::counter::{Counter, cors, error_page, field, host, redirect};
use h1::Status;
use site::rules::{Effect, Host};
use site::{Settings, Site};

const FILES: &[(&str, &str)] = &[
    ("www/index.html", "front"),
    ("www/a.txt", "0123456789"),
    ("www/sub/index.html", "sub"),
    ("www/sub/none/x", "x"),
    ("www/errors/404.html", "<p>gone"),
    ("docs/a.txt", "doc"),
    ("docs/b/index.html", "b"),
    ("home/ann/www/index.html", "Ann"),
    ("home/ann/private", "private"),
    ("home/eve/pages/private", "private"),
    ("home/dan/x", "x"),
    ("passwd", ""),
];

fn root(place: &Path, name: &str) -> Effect {
    Effect::Root(place.join(name))
}

/// What a client gets: the first words of the reply, then lines that it has, then those that it
/// has not.
type Row<'r> = (&'r str, &'r str, &'r [&'r str], &'r [&'r str]);

fn check(counter: &Counter, rows: &[Row<'_>]) {
    for (request, begins, has, lacks) in rows {
        // From the disk, and from memory.
        for _ in 0..2 {
            let reply = counter.ask(request);
            assert!(reply.starts_with(&format!("HTTP/1.1 {begins}")), "{request}: {reply}");
            for part in *has {
                assert!(reply.contains(part), "{request} lacks {part}: {reply}");
            }
            for part in *lacks {
                assert!(!reply.contains(part), "{request} has {part}: {reply}");
            }
        }
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\nHost: a")
}

#[test]
fn hosts_and_prefixes_have_roots_of_their_own() {
    let counter = Counter::new(FILES, |place| {
        vec![
            host(&["a"], vec![("/docs", root(place, "docs")), ("/", root(place, "www"))]),
            host(&["b"], vec![("/deep/down/", root(place, "docs"))]),
        ]
    });
    let rows = [
        ("a", "/a.txt", "200 OK", "0123456789"),
        ("a", "/docs/a.txt", "200 OK", "doc"),
        ("A:80", "/x/..//docs/a.txt", "200 OK", "doc"),
        ("a", "/docsa.txt", "404 Not Found", ""),
        ("a", "/docs", "301 Moved Permanently", "Location: /docs/\n"),
        ("a", "/docs?a=%20&b", "301 Moved Permanently", "Location: /docs/?a=%20&b\n"),
        ("a", "/docs/", "404 Not Found", ""),
        ("a", "/docs/b", "301 Moved Permanently", "Location: /docs/b/\n"),
        ("a", "/docs/b/", "200 OK", "b"),
        ("a", "/sub", "301 Moved Permanently", "Location: /sub/\n"),
        ("a", "/docs/../a.txt", "200 OK", "0123456789"),
        ("b", "/deep/down/a.txt", "200 OK", "doc"),
        ("b", "/deep/down", "301 Moved Permanently", "Location: /deep/down/\n"),
        ("b", "/deep/a.txt", "404 Not Found", ""),
        ("b", "/", "404 Not Found", ""),
        ("c", "/", "421 Misdirected Request", ""),
        ("a", "/%00", "400 Bad Request", ""),
    ];
    for (host, path, begins, has) in rows {
        let reply = counter.get(host, path);
        assert!(reply.starts_with(&format!("HTTP/1.1 {begins}\n")), "{host}{path}: {reply}");
        assert!(reply.contains(has), "{host}{path}: {reply}");
    }
    // The target's host wins over the field's (RFC 9112 section 3.2.2).
    let absolute = "GET HTTP://B:80/deep/down/a.txt HTTP/1.1\nHost: a";
    assert!(counter.ask(absolute).ends_with("\n\ndoc"));
    // A client of HTTP/1.0 need not name a host.
    assert!(counter.ask("GET / HTTP/1.0").starts_with("HTTP/1.1 421 "));
}

/// None is dropped, whatever the reply, and only those of the path are there.
#[test]
fn fields_are_on_every_reply() {
    let counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/sub", field("x-a", "2")),
            ("/go", redirect("/x", 302)),
            ("/no", Effect::Answer(Status::FORBIDDEN)),
            ("/", root(place, "www")),
            ("/", field("X-Late", "never")),
        ];
        vec![host(&["a"], rules)]
    });
    let (one, both) = (&["\nX-A: 1\n"][..], &["\nX-A: 1\nx-a: 2\n"][..]);
    let (two, late) = (&["x-a: 2", "X-Late"][..], &["X-Late"][..]);
    let file = get("/a.txt");
    check(
        &counter,
        &[
            (&file, "200 OK", one, two),
            (&format!("{file}\nRange: bytes=1-2"), "206 ", one, two),
            (&format!("{file}\nRange: bytes=10-"), "416 ", one, two),
            (&format!("{file}\nIf-None-Match: *"), "304 ", one, &["x-a: 2", "Content-Length"]),
            (&format!("{file}\nIf-Match: \"x\""), "412 ", one, two),
            (&file.replace("GET", "HEAD"), "200 OK", one, &["0123"]),
            (&get("/sub"), "301 ", both, late),
            (&get("/sub/"), "200 OK", both, late),
            (&get("/sub/none"), "301 ", both, late),
            (&get("/sub/missing"), "404 ", both, late),
            (&get("/go"), "302 ", one, two),
            (&get("/no"), "403 Forbidden", one, two),
            (&get("/.hidden"), "404 ", one, two),
            (&get("/../x"), "400 ", one, two),
        ],
    );
}

#[test]
fn errors_have_pages() {
    let counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", error_page(404, "/errors/404.html")),
            ("/sub", error_page(404, "/a.txt")),
            ("/", error_page(410, "/a.txt")),
            ("/gone", Effect::Answer(Status::GONE)),
            ("/empty", Effect::Answer(Status::NO_CONTENT)),
            ("/", root(place, "www")),
        ];
        vec![host(&["a"], rules)]
    });
    let html = &["Content-Type: text/html; charset=utf-8\nContent-Length: 7\n", "\n\n<p>gone"][..];
    check(
        &counter,
        &[
            (&get("/missing"), "404 Not Found", html, &[]),
            (&get("/.hidden"), "404 Not Found", html, &[]),
            (&get("/missing").replace("GET", "HEAD"), "404 ", &html[..1], &["<p>"]),
            (&format!("{}\nIf-None-Match: *", get("/missing")), "404 ", html, &[]),
            (&get("/sub/missing"), "404 ", &["\n\n0123456789"], &["<p>"]),
            (&get("/gone"), "410 Gone", &["\n\n0123456789"], &[]),
            (&get("/empty"), "204 No Content", &["Allow: "], &["Content-"]),
            (&get("/%"), "400 Bad Request", &["\n\n400 Bad Request\n"], &[]),
        ],
    );
}

#[test]
fn a_fallback_stands_for_files_that_are_not_there() {
    let mut counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/app", Effect::Fallback("/index.html".into())),
            ("/none", Effect::Fallback("/nothing.html".into())),
            ("/", root(place, "www")),
        ];
        vec![host(&["a"], rules)]
    });
    let front = &["text/html", "X-A: 1", "\n\nfront"][..];
    let rows: &[Row<'_>] = &[
        (&get("/app/any/where"), "200 OK", front, &[]),
        (&get("/app/"), "200 OK", front, &[]),
        (&format!("{}\nRange: bytes=0-1", get("/app/x")), "206 ", &["\n\nfr"], &[]),
        (&format!("{}\nIf-None-Match: *", get("/app/x")), "304 ", &[], &[]),
        (&get("/app/.hidden"), "404 ", &[], &[]),
        (&get("/elsewhere"), "404 ", &[], &[]),
        (&get("/none/x"), "404 ", &["X-A: 1"], &[]),
    ];
    check(&counter, rows);
    assert!(counter.is_hit(&get("/app/any/where")));
    // What names clients invent costs no room for another copy.
    let bytes = counter.site.statistics().bytes;
    counter.ask(&get("/app/invented"));
    assert!(counter.site.statistics().bytes - bytes < 400);
    // It may come to be, and may change.
    fs::create_dir(counter.place.path().join("www/app")).unwrap();
    fs::write(counter.place.path().join("www/app/x"), "real").unwrap();
    fs::write(counter.place.path().join("www/index.html"), "changed").unwrap();
    counter.wait_ms(1000);
    check(&counter, &[(&get("/app/x"), "200 OK", &["\n\nreal"], &[])]);
    check(&counter, &[(&get("/app/y"), "200 OK", &["\n\nchanged"], &[])]);
}

#[test]
fn origins_that_may_read() {
    let counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/sub", cors(&["https://one.example", "https://two.example"])),
            ("/docs", cors(&["*"])),
            ("/sub/one", cors(&["*"])),
            ("/errors", cors(&["https://one.example"])),
            ("/", root(place, "www")),
        ];
        vec![host(&["a"], rules)]
    });
    let from = |path: &str, origin: &str| format!("{}\nOrigin: https://{origin}", get(path));
    let asks = |path: &str, origin: &str| {
        let request = from(path, origin).replace("GET", "OPTIONS");
        format!("{request}\nAccess-Control-Request-Method: GET")
    };
    let allowed = "\nAccess-Control-Allow-Origin: ";
    let two = &["\nAccess-Control-Allow-Origin: https://two.example\n", "\nVary: Origin\n"][..];
    let varies = "Vary: Origin";
    let exposed = "Expose-Headers: Accept-Ranges, Content-Encoding, Content-Range, ETag, *\n";
    let methods = "\nAccess-Control-Allow-Methods: GET, HEAD, OPTIONS\n";
    check(
        &counter,
        &[
            (&get("/a.txt"), "200 OK", &[], &["Origin"]),
            (&from("/a.txt", "two.example"), "200 OK", &[], &["Origin"]),
            (&get("/sub/"), "200 OK", &["\nVary: Origin\n"], &[allowed]),
            (&from("/sub/", "two.example"), "200 OK", two, &["one.example"]),
            (&from("/sub/missing", "two.example"), "404 ", two, &["one.example"]),
            (&from("/sub/", "three.example"), "200 OK", &["\nVary: Origin\n"], &[allowed, exposed]),
            (&from("/sub/", "two.example\nOrigin: x"), "200 OK", &["\nVary: Origin\n"], &[allowed]),
            (&get("/docs/x"), "404 ", &["\nAccess-Control-Allow-Origin: *\n"], &[varies]),
            (&from("/sub/", "two.example"), "200 OK", &[exposed], &[]),
            (&from("/sub/one", "x.example"), "404 ", &[&format!("{allowed}*\n")], &[varies]),
            (&get("/errors/404.html"), "200 OK", &["https://one.example\n"], &[varies]),
            (&asks("/sub/", "two.example"), "204 ", &[two[0], two[1], methods], &["\nContent-"]),
            (&asks("/sub/", "two.example"), "204 ", &["Access-Control-Max-Age: "], &["<"]),
            // The star does not stand for this one (Fetch standard, section 4.9).
            (
                &asks("/sub/", "two.example"),
                "204 ",
                &["\nAccess-Control-Allow-Headers: Authorization, *\n"],
                &[],
            ),
            (&asks("/sub/", "three.example"), "204 ", &["\nVary: Origin\n", "Allow: "], &[allowed]),
            (&asks("/a.txt", "two.example"), "204 ", &["Allow: GET, HEAD, OPTIONS"], &["Access"]),
        ],
    );
}

#[test]
fn homes_of_users() {
    let counter = Counter::new(FILES, |place| {
        let at = place.display();
        let line = |name, uid| format!("{name}:x:{uid}:1::{at}/home/{name}:/bin/sh\n");
        let users = [("ann", 1000), ("eve", 1001), ("dan", 1002), ("root", 0)];
        fs::write(place.join("passwd"), users.map(|(name, uid)| line(name, uid)).concat()).unwrap();
        let outside = place.join("docs/a.txt");
        let links = [
            ("ann/www/self", Path::new("index.html")),
            ("ann/www/mine", Path::new("../private")),
            ("ann/www/out", &outside),
            ("eve/www", Path::new("pages")),
            ("dan/www", Path::new("../ann/www")),
            ("root", Path::new("ann")),
        ];
        for (link, to) in links {
            std::os::unix::fs::symlink(to, place.join("home").join(link)).unwrap();
        }
        let people = Effect::UserDirectories("www".into());
        let rules = vec![("/", people.clone()), ("/people", people), ("/", root(place, "www"))];
        vec![host(&["a"], rules)]
    });
    check(
        &counter,
        &[
            (&get("/~ann/"), "200 OK", &["\n\nAnn"], &[]),
            (&get("/~ann"), "301 ", &["Location: /~ann/\n"], &[]),
            (&get("/people/~ann"), "301 ", &["Location: /people/~ann/\n"], &[]),
            (&get("/people/~ann/index.html"), "200 OK", &["\n\nAnn"], &[]),
            (&get("/%7Eann/"), "200 OK", &["\n\nAnn"], &[]),
            (&get("/~ann/../private"), "404 ", &[], &[]),
            (&get("/~ann/self"), "200 OK", &["\n\nAnn"], &[]),
            (&get("/~ann/mine"), "404 ", &[], &[]),
            (&get("/~ann/out"), "404 ", &[], &[]),
            // The directory itself may be a link within the home.
            (&get("/~eve/private"), "200 OK", &["\n\nprivate"], &[]),
            (&get("/~eve/www"), "404 ", &[], &[]),
            (&get("/~dan/"), "404 ", &[], &[]),
            (&get("/~root/"), "404 ", &[], &[]),
            (&get("/~bob/"), "404 ", &[], &[]),
            (&get("/~"), "404 ", &[], &[]),
            (&get("/"), "200 OK", &["\n\nfront"], &[]),
        ],
    );
}

pub(crate) fn refusal(hosts: impl FnOnce(&Path) -> Vec<Host>) -> String {
    match Counter::with(FILES, hosts) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// A file is for GET and HEAD; a rule that answers does so whatever the method is.
#[test]
fn methods() {
    let counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/", cors(&["*"])),
            ("/", error_page(405, "/errors/404.html")),
            ("/go", redirect("/x", 308)),
            ("/no", Effect::Answer(Status::GONE)),
            ("/", root(place, "www")),
        ];
        vec![host(&["a"], rules)]
    });
    let of = |method: &str, path: &str| get(path).replace("GET", method) + "\nContent-Length: 0";
    let lines = &["\nX-A: 1\n", "\nAccess-Control-Allow-Origin: *\n"][..];
    let allow = "\nAllow: GET, HEAD, OPTIONS\n";
    check(
        &counter,
        &[
            (&of("POST", "/a.txt"), "405 ", &[lines[0], lines[1], allow, "\n\n<p>gone"], &[]),
            (&of("TRACE", "/missing"), "405 ", lines, &[]),
            (&of("POST", "/go/a?b"), "308 ", &[lines[0], "\nLocation: /x/a?b\n"], &[]),
            (&of("DELETE", "/no"), "410 ", &[lines[0], "\n\n410 Gone\n"], &[]),
            (&of("POST", "/%"), "400 ", lines, &[]),
            (&of("OPTIONS", "/a.txt"), "204 ", &[lines[0], lines[1], allow], &["\nContent-"]),
            ("OPTIONS * HTTP/1.1\nHost: a", "204 ", &[lines[0], allow], &[]),
            ("OPTIONS / HTTP/1.0", "204 ", &[allow], lines),
            ("POST / HTTP/1.1\nHost: b", "421 ", &[], lines),
            ("CONNECT a:80 HTTP/1.1\nHost: a", "405 ", &[allow], &[]),
        ],
    );
    let plain = Site::new(counter.place.path(), &Settings::default()).unwrap();
    let counter = Counter { site: plain, ..counter };
    check(
        &counter,
        &[
            (&of("POST", "/passwd"), "405 ", &[allow], &[]),
            (&of("OPTIONS", "/passwd"), "204 ", &[allow], &[]),
        ],
    );
}

/// Everything is out of service but the page that says so.
#[test]
fn maintenance() {
    let counter = Counter::new(FILES, |place| {
        let rules = vec![
            ("/errors", root(place, "www/errors")),
            ("/", error_page(503, "/errors/404.html")),
            ("/", Effect::Answer(Status::SERVICE_UNAVAILABLE)),
            ("/", root(place, "www")),
        ];
        vec![host(&["a"], rules)]
    });
    let page = &["\n\n<p>gone"][..];
    check(
        &counter,
        &[(&get("/a.txt"), "503 ", page, &[]), (&get("/errors/404.html"), "200 ", page, &[])],
    );
}

/// The operator hears it at the start, and where it was written.
#[test]
fn rules_that_cannot_be_obeyed() {
    let answer = |status| Effect::Answer(Status(status));
    let rows: Vec<(Effect, &str)> = vec![
        (Effect::Root("/no such directory".into()), "no such directory: /no such directory"),
        (Effect::UserDirectories("../x".into()), "cannot be used"),
        (Effect::UserDirectories(String::new()), "cannot be used"),
        (Effect::UserDirectories("a\0b".into()), "cannot be used"),
        (redirect("elsewhere", 301), "is no place"),
        (redirect("javascript:alert(1)", 301), "is no place"),
        (redirect("https://{host}", 301), "write `$host`"),
        (redirect("/a b", 301), "what a URI cannot"),
        (redirect("/a\r\nX: 1", 301), "what a URI cannot"),
        (redirect("/a", 304), "choose 301"),
        (answer(101), "answered with 101 alone"),
        (answer(206), "answered with 206 alone"),
        (answer(205), "answered with 205 alone"),
        (answer(304), "answered with 304 alone"),
        (answer(301), "301 leads nowhere; write a `redirect`"),
        (answer(399), "399 leads nowhere"),
        (answer(401), "ask for a password"),
        (answer(1000), "answered with 1000 alone"),
        (error_page(200, "/a.txt"), "200 is no error"),
        (error_page(412, "/a.txt"), "never has a page"),
        (error_page(431, "/a.txt"), "never has a page"),
        (error_page(404, "/.hidden"), "hidden by a dot"),
        (error_page(404, "/missing"), "cannot read /missing"),
        (error_page(404, "/sub"), "no regular file"),
        (error_page(404, "/gone/x"), "not beneath a root"),
        (error_page(404, "x"), "no path of a file"),
        (Effect::Fallback("/gone/x".into()), "not beneath a root"),
        (field("Content-Length", "1"), "the server itself sends Content-Length"),
        (field("transfer-encoding", "chunked"), "the server itself sends"),
        (field("Allow", "PUT"), "the server itself sends"),
        (field("access-control-Allow-Origin", "*"), "`cors`"),
        (field("Date", "x"), "the server itself sends"),
        (field("X Y", "1"), "no name of a field"),
        (field("", "1"), "no name of a field"),
        (field("X", "a\r\nb"), "no value of a field"),
        (field("X", " a"), "no value of a field"),
        (cors(&[]), "no origin is named"),
        (cors(&["example.org"]), "is no origin"),
        (cors(&["https://example.org/"]), "is no origin"),
        (cors(&["https://Example.org"]), "lower case"),
        (cors(&["https://example.org:443"]), "without the usual port"),
        (cors(&["http://[::1]:80"]), "without the usual port"),
        (crate::counter::auth("r", &[]), "nobody may come in"),
        (crate::counter::auth("r", &[("a", "plain")]), "no hash of a password"),
        (crate::counter::auth("r", &[("a:b", "plain")]), "is no name of a user"),
        (crate::counter::auth("r\n", &[]), "control character"),
    ];
    for (effect, says) in rows {
        let said = refusal(|place| {
            let rules = vec![
                ("/gone", Effect::Answer(Status::GONE)),
                ("/", effect.clone()),
                ("/", root(place, "www")),
            ];
            vec![host(&["a"], rules)]
        });
        assert!(said.starts_with("weir.toml:2:1: ") && said.contains(says), "{effect:?}: {said}");
    }
    let said = refusal(|_| vec![host(&["a"], vec![("docs", answer(404))])]);
    assert!(said.contains("begin it with a slash"), "{said}");
    let origins: Vec<_> = (0..65).map(|n| format!("https://{n}.example")).collect();
    let origins: Vec<_> = origins.iter().map(String::as_str).collect();
    let said = refusal(|_| vec![host(&["a"], vec![("/", cors(&origins))])]);
    assert!(said.contains("allow `*` instead"), "{said}");
}
