//! Heads: what is refused because two readers could understand it differently, and what is not.

use h1::{Framing, Head, Limits, Method, Persistence, Refusal, Request, Version};
use proptest::prelude::*;

#[test]
fn request_lines() {
    for line in [
        "GET / HTTP/1.1",
        "GET /?a?b HTTP/1.1",
        "GET //a/../b;c=d HTTP/1.1",
        "GET /%00%zz HTTP/1.1",
        "GET /\"<>\\^`{|} HTTP/1.1",
        "M-SEARCH / HTTP/1.1",
        "!#$%&'*+-.^_`|~ / HTTP/1.1",
    ] {
        check_line(line, 200);
    }
    for line in [
        "GET /",
        "GET / ",
        "GET  HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET /a b HTTP/1.1",
        "GET\t/\tHTTP/1.1",
        "GET / http/1.1",
        "GET / HTTP/1",
        "GET / HTTP/1.",
        "GET / HTTP/1.10",
        "GET / HTTP/01.1",
        "GET / HTTPS/1.1",
        "G(T / HTTP/1.1",
        "GET /\0 HTTP/1.1",
        "GET /\x7f HTTP/1.1",
        "GET /a\rb HTTP/1.1",
        "GET /#part HTTP/1.1",
        "GET a HTTP/1.1",
        "GET ?a HTTP/1.1",
        "GET * HTTP/1.1",
        "",
    ] {
        check_line(line, 400);
    }
    for version in ["0.9", "2.0", "3.0", "9.9"] {
        check_line(&format!("GET / HTTP/{version}"), 505);
    }
    assert_eq!(status(b"PRI * HTTP/2.0\r\n\r\n"), 505);
}

#[test]
fn targets_are_ascii() {
    check_line("GET /gr%C3%B6%C3%9Fe HTTP/1.1", 200);
    check_line("GET /größe HTTP/1.1", 400);
    check_line("GET /?größe HTTP/1.1", 400);
    assert_eq!(status(b"GET /gr\xf6\xdfe HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
}

#[test]
fn targets() {
    let check = |target: &str, path: &str, query: &str, host: &str| {
        let text = format!("GET {target} HTTP/1.1\r\nHost: field:80\r\n\r\n");
        let request = Request::judge(text.as_bytes(), &Limits::default()).expect(target);
        let head = Head::new(text.as_bytes(), &request);
        let parts = [head.path(), head.query(), head.host()];
        assert_eq!(parts, [path.as_bytes(), query.as_bytes(), host.as_bytes()], "{target}");
    };
    check("/", "/", "", "field:80");
    check("/a/b?c=d?e", "/a/b", "c=d?e", "field:80");
    check("/?", "/", "", "field:80");
    check("/http://x", "/http://x", "", "field:80");
    // The target's host wins over the field's (RFC 9112 section 3.2.2).
    check("http://target", "/", "", "target");
    check("HTTP://target:8080/a?b", "/a", "b", "target:8080");
    check("http://[::1]:1?b", "/", "b", "[::1]:1");
    for bad in [
        "http://",
        "http:///a",
        "http://:80/",
        "http://user@host/",
        "http://a b/",
        "http://a\\b/",
        "http://a%/",
        "http://a%2/",
        "http://%zz/",
        "http:a",
        // No TLS is spoken here, so nothing of that scheme can be (RFC 9110 section 7.4).
        "https://a/",
        "HTTPS://a",
        "ftp://a/",
        "a:80",
    ] {
        check_line(&format!("GET {bad} HTTP/1.1"), 400);
    }
}

#[test]
fn hosts() {
    for host in
        ["", "a", "a.b-c_d~e", "a:1", "a:", "1.2.3.4:80", "[::1]", "[1:2::3.4.5.6]:80", "%61%C3%A4"]
    {
        check(&format!("Host: {host}"), 200);
        check(&format!("Host:{host}\t "), 200);
    }
    for host in [
        "a b",
        "a,b",
        "a/b",
        "a\\b",
        "user@a",
        "a:b",
        "a:123456",
        "a:1:2",
        ":80",
        "[",
        "[]",
        "[::1",
        "[::1]a",
        "[g]",
        "a%",
        "a%4",
        "%zz",
        "a%4g.b:80",
        "a#b",
        "a?b",
        "\u{e4}",
        "<a>",
    ] {
        let expected = if host == "a,b" { 200 } else { 400 };
        check(&format!("Host: {host}"), expected);
    }
    check("Host: a\nHost: a", 400);
    check("Name: a", 400);
    assert_eq!(status(b"GET / HTTP/1.0\r\n\r\n"), 200);
    assert_eq!(status(b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    // The target does not make up for a field that lacks.
    assert_eq!(status(b"GET http://a/ HTTP/1.1\r\n\r\n"), 400);
}

#[test]
fn fields() {
    for field in
        ["Name:", "Name: \t ", "Name:\ta\tb", "!#$%&'*+-.^_`|~: x", "Name: \u{e4}", "a:b:c"]
    {
        check(&format!("Host: a\n{field}"), 200);
    }
    for field in [
        "Name",
        "Name : x",
        "Na me: x",
        " Name: x",
        "\tName: x",
        ": x",
        "Name: \0",
        "Name: \x01",
        "Name: \x7f",
        "Name: a\rb",
        "N\u{e4}me: x",
        "Name: a\n b",
        "Name: a\n\tb",
        "Name: a\n \n",
        "(Name): x",
    ] {
        check(&format!("Host: a\n{field}"), 400);
    }
}

#[test]
fn lines_end_by_crlf() {
    for bad in [
        &b"GET / HTTP/1.1\nHost: a\r\n\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: a\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nB: c\nD: e\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
        b"GET / HTTP/1.1\rHost: a\r\n\r\n",
        b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.0\n\r\n",
        b"GET / HTTP/1.0\n\n",
        b"GET / HTTP/1.0\r\n",
        b"GET / HTTP/1.0\r\n\r\nGET",
        b"",
    ] {
        assert_eq!(status(bad), 400, "{}", bad.escape_ascii());
    }
}

#[test]
fn framings() {
    use Framing::{Chunked, None, Sized};
    for (fields, framing) in [
        ("", Ok(None)),
        ("Content-Length: 0", Ok(Sized(0))),
        ("content-length:\t007 ", Ok(Sized(7))),
        ("Content-Length: 18446744073709551615", Ok(Sized(u64::MAX))),
        ("Content-Length: 18446744073709551616", Ok(Sized(u64::MAX))),
        ("Content-Length:", Err(400)),
        ("Content-Length: -1", Err(400)),
        ("Content-Length: +1", Err(400)),
        ("Content-Length: 0x1", Err(400)),
        ("Content-Length: 1 2", Err(400)),
        ("Content-Length: 1,1", Err(400)),
        ("Content-Length: 1;", Err(400)),
        ("Content-Length: \u{661}", Err(400)),
        ("Content-Length: 1\nContent-Length: 1", Err(400)),
        ("Content-Length: 1\nContent-Length: 2", Err(400)),
        ("Content_Length: 1", Ok(None)),
        ("Transfer-Encoding: chunked", Ok(Chunked)),
        ("TRANSFER-ENCODING:Chunked\t", Ok(Chunked)),
        ("Transfer-Encoding: ,chunked", Err(400)),
        ("Transfer-Encoding: chunked,", Err(400)),
        ("Transfer-Encoding: gzip, chunked", Err(501)),
        ("Transfer-Encoding: gzip\nTransfer-Encoding: chunked", Err(501)),
        ("Transfer-Encoding:", Err(400)),
        ("Transfer-Encoding: ,", Err(400)),
        ("Transfer-Encoding: gzip", Err(400)),
        ("Transfer-Encoding: identity", Err(400)),
        ("Transfer-Encoding: chunked, gzip", Err(400)),
        ("Transfer-Encoding: chunked, identity", Err(400)),
        ("Transfer-Encoding: chunked, chunked", Err(400)),
        ("Transfer-Encoding: chunked\nTransfer-Encoding: chunked", Err(400)),
        ("Transfer-Encoding: chunked\nTransfer-Encoding:", Err(400)),
        ("Transfer-Encoding: chunked;a=b", Err(400)),
        ("Transfer-Encoding: \"chunked\"", Err(400)),
        ("Transfer-Encoding: xchunked", Err(400)),
        ("Transfer-Encoding: chunked chunked", Err(400)),
        ("Transfer-Encoding: \x0bchunked", Err(400)),
        ("Transfer-Encoding : chunked", Err(400)),
        ("Transfer-Encoding: chunked\nContent-Length: 1", Err(400)),
        ("Content-Length: 0\nTransfer-Encoding: chunked", Err(400)),
        ("Content-Length: 1\nTransfer-Encoding: gzip", Err(400)),
    ] {
        let judged = judge(&with(fields));
        assert_eq!(judged.map(|request| request.framing), framing, "{fields}");
    }
    assert_eq!(status(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

#[test]
fn judgement() {
    let request = judge(&with("Connection: close\nExpect: 100-CONTINUE\nRange: x")).expect("good");
    assert_eq!(request.method, Method::Get);
    assert_eq!(request.version, Version::Http11);
    assert_eq!(request.persistence, Persistence::Closes);
    assert!(request.expects_continue);
    for name in ["if-match", "If-None-Match", "if-range", "if-modified-since", "RANGE"] {
        let text = with(&format!("{name}: x"));
        let request = judge(&text).expect("good");
        assert!(Head::new(text.as_bytes(), &request).is_conditional(), "{name}");
    }
    let plain = with("Accept: x");
    let request = judge(&plain).expect("good");
    assert!(!Head::new(plain.as_bytes(), &request).is_conditional());
}

proptest! {
    /// What is read with `values` is what was judged.
    #[test]
    fn values_are_those_that_were_sent(
        fields in prop::collection::vec(("[a-c]", "[ \t]{0,2}", "[!-~]([ -~]{0,8}[!-~])?"), 0..8),
    ) {
        let lines: Vec<_> = fields.iter().map(|(n, gap, v)| format!("{n}:{gap}{v}{gap}")).collect();
        let text = with(&lines.join("\n"));
        let request = judge(&text).expect("a good head");
        let head = Head::new(text.as_bytes(), &request);
        for name in ["a", "b", "c"] {
            let sent = fields.iter().filter(|(n, ..)| n == name).map(|(_, _, v)| v.as_bytes());
            prop_assert!(head.values(name).eq(sent), "{}", text);
        }
    }
}

fn check_line(line: &str, expected: u16) {
    let text = format!("{line}\r\nHost: a\r\n\r\n");
    assert_eq!(status(text.as_bytes()), expected, "{line:?}");
}

/// `fields` are all that there are, `Host` included.
fn check(fields: &str, expected: u16) {
    let text = format!("GET / HTTP/1.1\n{fields}\n\n").replace('\n', "\r\n");
    assert_eq!(status(text.as_bytes()), expected, "{fields:?}");
}

fn with(fields: &str) -> String {
    let fields = if fields.is_empty() { String::new() } else { format!("{fields}\n") };
    format!("GET / HTTP/1.1\nHost: a\n{fields}\n").replace('\n', "\r\n")
}

fn judge(text: &str) -> Result<Request, u16> {
    Request::judge(text.as_bytes(), &Limits::default()).map_err(|Refusal(status)| status.0)
}

/// 200 for what is accepted.
fn status(bytes: &[u8]) -> u16 {
    Request::judge(bytes, &Limits::default()).map_or_else(|Refusal(status)| status.0, |_| 200)
}
