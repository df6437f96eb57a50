//! Redirects: where they lead, and what no operator may write.

use crate::counter::{Counter, host, redirect};
use crate::rules::refusal;
use h1::Status;
use site::rules::Effect;

#[test]
fn redirects_keep_the_query_and_never_leave_the_site_unasked() {
    let rules = vec![
        ("/old", redirect("/new/", 308)),
        ("/top", redirect("/", 301)),
        ("/out", redirect("https://example.org", 302)),
        ("/find", redirect("/search?from=find#top", 303)),
        ("/~x", redirect("/x", 307)),
    ];
    let counter = Counter::new(&[], |_| vec![host(&["a"], rules)]);
    let rows = [
        ("/old", "308 Permanent Redirect", "/new/"),
        ("/old/", "308 Permanent Redirect", "/new/"),
        ("/old/a/b?q=1&r=%20", "308 Permanent Redirect", "/new/a/b?q=1&r=%20"),
        ("/old/%c3%a4%20%3f%23", "308 Permanent Redirect", "/new/%C3%A4%20%3F%23"),
        ("/old//evil.example/", "308 Permanent Redirect", "/new/evil.example/"),
        ("/top//evil.example/", "301 Moved Permanently", "/evil.example/"),
        ("/top///evil.example", "301 Moved Permanently", "/evil.example"),
        ("/top/", "301 Moved Permanently", "/"),
        ("/top?q", "301 Moved Permanently", "/?q"),
        ("/out", "302 Found", "https://example.org"),
        ("/out/@evil.example", "302 Found", "https://example.org/@evil.example"),
        ("/out/%0d%0aX:1", "302 Found", "https://example.org/%0D%0AX:1"),
        ("/out/%5cevil", "302 Found", "https://example.org/%5Cevil"),
        ("/find/a?q=1", "303 See Other", "/search/a?from=find&q=1#top"),
        ("/~x/y", "307 Temporary Redirect", "/x/y"),
    ];
    for (path, begins, location) in rows {
        let lines = format!("Location: {location}");
        let expected = format!("HTTP/1.1 {begins}\nContent-Length: 0\n{lines}\n\n");
        assert_eq!(counter.get("a", path), expected, "{path}");
    }
    assert!(counter.get("a", "/out\\evil").starts_with("HTTP/1.1 400 "));
}

#[test]
fn redirects_lead_to_the_host_that_was_asked_for() {
    let rules = vec![("/secure", redirect("https://$host$path?$query", 301))];
    let counter = Counter::new(&[], |_| vec![host(&["a", "*.b.test", "[::1]"], rules)]);
    let rows = [
        ("a", "https://a/secure/x?q"),
        ("A:8080", "https://a/secure/x?q"),
        ("c.D.b.test.:1", "https://c.d.b.test/secure/x?q"),
        ("[::1]:80", "https://[::1]/secure/x?q"),
    ];
    for (host, location) in rows {
        let reply = counter.get(host, "/secure/x?q");
        assert!(reply.contains(&format!("\nLocation: {location}\n")), "{host}: {reply}");
    }
    let of_all = vec![("/", redirect("https://$host", 301))];
    let said = refusal(|_| vec![host(&["a", "*"], of_all)]);
    assert!(said.contains("a client would choose `$host`"), "{said}");
    // Names that no name in the DNS has are not written on.
    for host in ["a'b.b.test", "a%2fb.b.test", "a;b.b.test"] {
        let reply = counter.get(host, "/secure/x");
        assert!(reply.starts_with("HTTP/1.1 400 "), "{host}: {reply}");
    }
}

#[test]
fn redirects_that_lead_back_are_refused() {
    let elsewhere = || ("/stop", Effect::Answer(Status::GONE));
    let rows = [
        (vec![("/", redirect("/", 301))], 1),
        (vec![("/docs", redirect("/docs/", 301))], 1),
        (vec![("/", redirect("/page?q#f", 302))], 1),
        (vec![("/", redirect("$path/", 301))], 1),
        (vec![("/", redirect("/$host$path", 301))], 1),
        (vec![elsewhere(), ("/a", redirect("/a/b", 301))], 2),
        (
            vec![
                ("/a", redirect("/b", 301)),
                ("/b", redirect("/c?x", 301)),
                ("/c", redirect("/a", 301)),
            ],
            1,
        ),
        (vec![("/a/b", Effect::Answer(Status::GONE)), ("/a", redirect("/a/b", 301))], 0),
        (vec![elsewhere(), ("/a", redirect("/stop", 301))], 0),
        (vec![("/a", redirect("/b", 301)), ("/b", redirect("/c", 301))], 0),
        (vec![("/", redirect("https://a/", 301))], 0),
        (vec![("/", redirect("//a/", 301))], 0),
        (vec![("/", redirect("/.x", 301))], 0),
        // No request meets the redirect.
        (vec![("/a", Effect::Answer(Status::GONE)), ("/a", redirect("/a", 301))], 0),
    ];
    for (rules, line) in rows {
        let told = format!("{rules:?}");
        let said = refusal(|_| vec![host(&["a"], rules)]);
        let begins = format!("weir.toml:{line}:1: leads back to itself");
        assert_eq!(said.starts_with(&begins), line > 0, "{told}: {said}");
        assert_eq!(said.is_empty(), line == 0, "{told}: {said}");
    }
}
