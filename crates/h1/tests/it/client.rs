//! The client's side: what requests look like, and what replies of every kind are taken for,
//! however they are cut on their way.

use h1::client::{Ask, Event, Exchange, Fault, HEAD_BYTES_MAX, Method, Validators, is_target};
use proptest::prelude::*;

/// What was heard of one reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Heard {
    status: u16,
    length: Option<u64>,
    content: Vec<u8>,
    /// Whether its end came, and if so whether the connection stays.
    whole: Option<bool>,
}

/// Reads replies to requests by these methods from pieces; then the connection ends.
fn hear<'p>(
    methods: &[Method],
    pieces: impl Iterator<Item = &'p [u8]>,
) -> (Vec<Heard>, Option<Fault>) {
    let mut methods = methods.iter();
    let mut exchange = methods.next().map(|&method| Exchange::new(method, true));
    let mut replies = Vec::new();
    let mut reply = Heard::default();
    for mut bytes in pieces {
        while let Some(reading) = &mut exchange {
            let (taken, event) = match reading.read(bytes) {
                Ok(told) => told,
                Err(fault) => {
                    replies.push(reply);
                    return (replies, Some(fault));
                }
            };
            bytes = &bytes[taken..];
            match event {
                Event::Part if taken == 0 => break,
                Event::Part => {}
                Event::Head(head) => (reply.status, reply.length) = (head.status, head.length),
                Event::Content(piece) => reply.content.extend_from_slice(piece),
                Event::Whole => {
                    reply.whole = Some(reading.keeps());
                    replies.push(std::mem::take(&mut reply));
                    exchange = methods.next().map(|&method| Exchange::new(method, true));
                }
            }
        }
    }
    let Some(mut reading) = exchange else { return (replies, None) };
    let fault = reading.ended().err();
    reply.whole = fault.is_none().then(|| reading.keeps());
    replies.push(reply);
    (replies, fault)
}

/// One reply to a method: status, length, content, and whether the connection stays.
fn check(method: Method, text: &str, status: u16, length: Option<u64>, content: &str, keeps: bool) {
    let expected =
        Heard { status, length, content: content.as_bytes().to_vec(), whole: Some(keeps) };
    for size in [1, 2, 7, text.len()] {
        let told = hear(&[method], text.as_bytes().chunks(size));
        assert_eq!(told, (vec![expected.clone()], None), "{text:?} in pieces of {size}");
    }
}

#[test]
fn replies_end_where_their_heads_say() {
    use Method::{Get, Head};
    let ok = "HTTP/1.1 200 OK\r\n";
    let sized = |fields: &str| format!("{ok}{fields}Content-Length: 3\r\n\r\nabc");
    check(Get, &sized(""), 200, Some(3), "abc", true);
    check(Get, &sized("Connection: close\r\n"), 200, Some(3), "abc", false);
    check(Get, &sized("connection: x, CLOSE\r\n"), 200, Some(3), "abc", false);
    check(Get, &sized("Content-Length: 3, 3\r\n"), 200, Some(3), "abc", true);
    check(Get, &sized("A: b\r\n folded: c\r\n"), 200, Some(3), "abc", true);
    check(Get, &sized(&"A: b\r\n".repeat(1000)), 200, Some(3), "abc", true);
    check(Get, &sized(&format!("A: {}\r\n", "b".repeat(100 << 10))), 200, Some(3), "abc", true);
    check(Get, "HTTP/1.1 200\r\nContent-Length:0\r\n\r\n", 200, Some(0), "", true);
    check(Get, "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, Some(1), "a", false);
    let kept = "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na";
    check(Get, kept, 200, Some(1), "a", true);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
    let body = "3;x\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
    check(Get, &format!("{chunked}{body}"), 200, None, "abcde", true);
    check(Get, &format!("{chunked}0\r\n\r\n"), 200, None, "", true);
    check(Get, &format!("{ok}\r\nuntil the end"), 200, None, "until the end", false);
    check(Get, &format!("{ok}\r\n"), 200, None, "", false);
    check(Head, &format!("{ok}Content-Length: 3\r\n\r\n"), 200, Some(3), "", true);
    check(Head, &format!("{ok}\r\n"), 200, None, "", true);
    check(Get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", 304, Some(3), "", true);
    check(Get, "HTTP/1.1 204 No Content\r\n\r\n", 204, None, "", true);
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    check(Get, &format!("{hints}{}", sized("")), 200, Some(3), "abc", true);
}

#[test]
fn pipelined_replies_come_in_order() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
                HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n\
                HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n\
                HTTP/1.1 200 OK\r\n\r\nrest";
    let methods = [Method::Get, Method::Head, Method::Get, Method::Get];
    let reply = |status, length, content: &str, keeps| Heard {
        status,
        length,
        content: content.as_bytes().to_vec(),
        whole: Some(keeps),
    };
    let expected = vec![
        reply(200, Some(3), "abc", true),
        reply(404, Some(5), "", true),
        reply(200, None, "x", true),
        reply(200, None, "rest", false),
    ];
    for size in [1, 3, 16, text.len()] {
        let told = hear(&methods, text.as_bytes().chunks(size));
        assert_eq!(told, (expected.clone(), None), "in pieces of {size}");
    }
}

#[test]
fn what_is_no_reply_is_a_fault() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let with = |fields: &str| format!("{ok}{fields}\r\n\r\nabc");
    let chunked = |body: &str| format!("{ok}Transfer-Encoding: chunked\r\n\r\n{body}");
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let rows = [
        (String::from("<html>"), Fault::NotHttp),
        (String::from("\r\nHTTP/1.1 200 OK\r\n\r\n"), Fault::NotHttp),
        (String::from("HTTP/2 200 OK\r\n\r\n"), Fault::NotHttp),
        (String::from("SSH-2.0-x\r\n"), Fault::NotHttp),
        (String::from("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), Fault::Head),
        (String::from("HTTP/1.x 200 OK\r\n\r\n"), Fault::Head),
        (String::from("HTTP/1.1 20 OK\r\n\r\n"), Fault::Head),
        (String::from("HTTP/1.1 099 OK\r\n\r\n"), Fault::Head),
        (with("no colon"), Fault::Head),
        (with("A : b"), Fault::Head),
        (with("A: \0"), Fault::Head),
        (with("Content-Length: 3x"), Fault::Framing),
        (with("Content-Length: -3"), Fault::Framing),
        (with("Content-Length: +3"), Fault::Framing),
        (with("Content-Length:"), Fault::Framing),
        (with("Content-Length: 3\r\nContent-Length: 4"), Fault::Framing),
        (with("Content-Length: 3, 4"), Fault::Framing),
        (with("Content-Length: 18446744073709551616"), Fault::Framing),
        (with("Content-Length: 3\r\nTransfer-Encoding: chunked"), Fault::Framing),
        (with("Transfer-Encoding: gzip, chunked"), Fault::Framing),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), Fault::Framing),
        (String::from("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Fault::Framing),
        (chunked("x\r\n"), Fault::Chunks),
        (chunked("3\r\nabcd\r\n"), Fault::Chunks),
        (chunked("3\nabc"), Fault::Chunks),
        (format!("{ok}A: {}", "b".repeat(HEAD_BYTES_MAX)), Fault::TooLong),
        (format!("{ok}{}", "A: b\r\n".repeat(HEAD_BYTES_MAX / 6)), Fault::TooLong),
        (format!("{ok}{}\r\n", "A: b\r\n".repeat(1025)), Fault::TooLong),
        (interim.repeat(9), Fault::Interim),
        (String::from("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Fault::Upgrade),
        (String::new(), Fault::Cut),
        (String::from("HTTP/1.1 200"), Fault::Cut),
        (String::from(interim), Fault::Cut),
        (with("Content-Length: 4"), Fault::Cut),
        (chunked("3\r\nabc\r\n"), Fault::Cut),
        (chunked("0\r\n"), Fault::Cut),
    ];
    for (text, expected) in rows {
        for size in [1, 5, text.len().max(1)] {
            let (_, fault) = hear(&[Method::Get], text.as_bytes().chunks(size));
            let shown = &text[..text.len().min(80)];
            assert_eq!(fault, Some(expected), "{shown:?} in pieces of {size}");
        }
    }
}

#[test]
fn requests_are_written() {
    let both = Validators { etag: Some((*b"\"e\"").into()), modified: Some((*b"a date").into()) };
    let plain = Ask {
        method: Method::Get,
        target: "/a?b",
        host: "h:1",
        fields: "",
        keeps: true,
        copy: None,
        content: b"",
    };
    let head = "GET /a?b HTTP/1.1\r\nHost: h:1\r\n";
    let rows = [
        (plain, format!("{head}\r\n")),
        (Ask { keeps: false, ..plain }, format!("{head}Connection: close\r\n\r\n")),
        (Ask { fields: "A: b\r\n", ..plain }, format!("{head}A: b\r\n\r\n")),
        (
            Ask { copy: Some(&both), ..plain },
            format!("{head}If-None-Match: \"e\"\r\nIf-Modified-Since: a date\r\n\r\n"),
        ),
        (
            Ask { method: Method::Post, content: b"abc", ..plain },
            String::from("POST /a?b HTTP/1.1\r\nHost: h:1\r\nContent-Length: 3\r\n\r\nabc"),
        ),
        (
            Ask { method: Method::Put, ..plain },
            String::from("PUT /a?b HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            Ask { method: Method::Options, target: "*", ..plain },
            String::from("OPTIONS * HTTP/1.1\r\nHost: h:1\r\n\r\n"),
        ),
    ];
    for (ask, expected) in rows {
        let mut written = b"before".to_vec();
        ask.write(&mut written);
        assert_eq!(String::from_utf8(written).unwrap(), format!("before{expected}"));
    }
}

#[test]
fn a_copy_is_known_by_what_its_reply_said() {
    let rows = [
        ("", None),
        ("ETag: \"a\"\r\n", Some((Some("\"a\""), None))),
        ("etag:\r\nLAST-MODIFIED: then \r\n", Some((None, Some("then")))),
        ("ETag: W/\"a\"\r\nLast-Modified: then\r\n", Some((Some("W/\"a\""), Some("then")))),
    ];
    for (fields, expected) in rows {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n");
        let boxed = |text: Option<&str>| text.map(|text| Box::from(text.as_bytes()));
        let expected = expected
            .map(|(etag, modified)| Validators { etag: boxed(etag), modified: boxed(modified) });
        for size in [1, text.len()] {
            let mut exchange = Exchange::new(Method::Get, true);
            for piece in text.as_bytes().chunks(size) {
                if let (_, Event::Head(head)) = exchange.read(piece).unwrap() {
                    assert_eq!(head.validators(), expected, "{fields:?}");
                }
            }
        }
    }
}

#[test]
fn targets_fit_into_a_request_line() {
    for good in ["/", "/a%20b?c=d&e", "*", "//"] {
        assert!(is_target(good), "{good:?}");
    }
    for bad in ["", "a", "/a b", "/a\r\nb", "/\u{e9}", "/\t", "http://host/"] {
        assert!(!is_target(bad), "{bad:?}");
    }
}

/// A reply, and what is to be heard of it.
fn reply() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let content = prop::collection::vec(any::<u8>(), 0..300);
    (content, prop::collection::vec(1_usize..40, 0..8), any::<bool>(), "[a-zA-Z -]{0,40}").prop_map(
        |(content, sizes, is_chunked, reason)| {
            let mut text = format!("HTTP/1.1 200 {reason}\r\nA: b\r\n").into_bytes();
            if !is_chunked {
                text.extend(format!("Content-Length: {}\r\n\r\n", content.len()).bytes());
                text.extend(&content);
                return (text, content);
            }
            text.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            let mut rest = content.as_slice();
            let mut sizes = sizes.into_iter();
            while !rest.is_empty() {
                let size = sizes.next().unwrap_or(rest.len()).min(rest.len());
                text.extend(format!("{size:x}\r\n").bytes());
                text.extend(&rest[..size]);
                text.extend(b"\r\n");
                rest = &rest[size..];
            }
            text.extend(b"0\r\n\r\n");
            (text, content)
        },
    )
}

/// The pieces between these places, which may be any.
fn cut<'b>(bytes: &'b [u8], places: &[usize]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|two| &bytes[two[0]..two[1]]).collect()
}

proptest! {
    #[test]
    fn replies_are_the_same_however_they_are_cut(
        replies in prop::collection::vec(reply(), 1..4),
        places in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let bytes: Vec<u8> = replies.iter().flat_map(|(text, _)| text.clone()).collect();
        let methods = vec![Method::Get; replies.len()];
        let (heard, fault) = hear(&methods, cut(&bytes, &places).into_iter());
        prop_assert_eq!(fault, None);
        let contents: Vec<_> = heard.iter().map(|reply| &reply.content).collect();
        let sent: Vec<_> = replies.iter().map(|(_, content)| content).collect();
        prop_assert_eq!(contents, sent);
        prop_assert!(heard.iter().all(|reply| reply.whole == Some(true)));
    }

    #[test]
    fn garbage_is_the_same_however_it_is_cut(
        (mut bytes, _) in reply(),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        places in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        for (place, byte) in changes {
            let at = place % bytes.len();
            bytes[at] = byte;
        }
        let methods = [Method::Get; 3];
        let whole = hear(&methods, std::iter::once(bytes.as_slice()));
        let pieces = hear(&methods, cut(&bytes, &places).into_iter());
        prop_assert_eq!(whole, pieces);
    }
}
