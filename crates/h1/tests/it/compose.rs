//! Replies byte by byte, and the promise that whatever ranges are asked for, the bytes are right.

use std::hash::{DefaultHasher, Hash, Hasher};

use h1::{
    Answer, Block, Chunk, Coding, Content, Date, FilePart, Head, Limits, Now, Persistence,
    Representation, Request, Shared, Status, Wording, Words,
    compose::{self, Composed},
};
use measure::Instant;
use proptest::prelude::*;

/// Sun, 06 Nov 1994 08:49:37 GMT
const SECONDS: u64 = 784_111_777;
const DATED: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\nServer: weir\n";
const VALIDATED: &str = "Last-Modified: Sun, 06 Nov 1994 08:48:57 GMT\nETag: \"e\"\n";

#[test]
fn whole() {
    let described = format!("Content-Type: text/plain\nContent-Length: 300\n{VALIDATED}");
    let ok = format!("HTTP/1.1 200 OK\n{DATED}{described}Accept-Ranges: bytes\n");
    let content = text_of(300);
    check("GET / HTTP/1.1", 300, &ok, &content);
    check("HEAD / HTTP/1.1", 300, &ok, "");
    check("GET / HTTP/1.0", 300, &format!("{ok}Connection: close\n"), &content);
    check("HEAD / HTTP/1.0", 300, &format!("{ok}Connection: close\n"), "");
    let stays = format!("{ok}Connection: keep-alive\n");
    check("GET / HTTP/1.0\nConnection: keep-alive", 300, &stays, &content);
    check("GET / HTTP/1.1\nConnection: close", 300, &format!("{ok}Connection: close\n"), &content);
}

#[test]
fn empty() {
    let described = format!("Content-Type: text/plain\nContent-Length: 0\n{VALIDATED}");
    let ok = format!("HTTP/1.1 200 OK\n{DATED}{described}Accept-Ranges: bytes\n");
    check("GET / HTTP/1.1", 0, &ok, "");
    check("GET / HTTP/1.1\nRange: bytes=-1", 0, &ok, "");
    check("GET / HTTP/1.1\nRange: bytes=0-", 0, &unsatisfiable(0), "416 Range Not Satisfiable\n");
}

#[test]
fn conditions() {
    let unchanged = format!("HTTP/1.1 304 Not Modified\n{DATED}{VALIDATED}");
    check("GET / HTTP/1.1\nIf-None-Match: \"e\"", 300, &unchanged, "");
    check("HEAD / HTTP/1.1\nIf-None-Match: \"e\"", 300, &unchanged, "");
    check("GET / HTTP/1.1\nIf-None-Match: \"e\"\nRange: bytes=0-0", 300, &unchanged, "");
    let failed = "HTTP/1.1 412 Precondition Failed";
    let failed = format!("{failed}\n{DATED}Content-Type: text/plain\nContent-Length: 24\n");
    check("GET / HTTP/1.1\nIf-Match: \"f\"", 300, &failed, "412 Precondition Failed\n");
    check("HEAD / HTTP/1.1\nIf-Match: \"f\"", 300, &failed, "");
}

#[test]
fn one_range() {
    let partial = |length: u64, range: &str| {
        format!(
            "HTTP/1.1 206 Partial Content\n{DATED}Content-Type: text/plain\n\
             Content-Length: {length}\nContent-Range: bytes {range}\n{VALIDATED}\
             Accept-Ranges: bytes\n"
        )
    };
    check("GET / HTTP/1.1\nRange: bytes=1-2", 300, &partial(2, "1-2/300"), "bc");
    check("GET / HTTP/1.1\nRange: bytes=-1", 300, &partial(1, "299-299/300"), "n");
    check("GET / HTTP/1.1\nRange: bytes=0-", 300, &partial(300, "0-299/300"), &text_of(300));
    check("GET / HTTP/1.1\nRange: bytes=0-0\nIf-Range: \"e\"", 300, &partial(1, "0-0/300"), "a");
    check("GET / HTTP/1.1\nRange: bytes=300-", 300, &unsatisfiable(300), NOT_SATISFIABLE);
    let ok = "HTTP/1.1 200 OK";
    check_status("HEAD / HTTP/1.1\nRange: bytes=1-2", ok);
    check_status("GET / HTTP/1.1\nRange: bytes=1-2\nIf-Range: \"f\"", ok);
    check_status("GET / HTTP/1.1\nRange: bytes=2-1", ok);
    check_status("GET / HTTP/1.1\nRange: bytes=0-0,90-90,180-180,-1", ok);
}

const NOT_SATISFIABLE: &str = "416 Range Not Satisfiable\n";

fn unsatisfiable(length: u64) -> String {
    format!(
        "HTTP/1.1 416 Range Not Satisfiable\n{DATED}Content-Type: text/plain\n\
         Content-Length: {}\nContent-Range: bytes */{length}\n",
        NOT_SATISFIABLE.len()
    )
}

#[test]
fn several_ranges() {
    let reply = wire(composed("GET / HTTP/1.1\nRange: bytes=1-2,-1", in_memory(1000)), 1000);
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
    let (_, rest) = head.split_once("boundary=").expect("a boundary");
    let (boundary, _) = rest.split_once("\r\n").expect("further lines");
    let expected = format!(
        "\n--{boundary}\nContent-Type: text/plain\nContent-Range: bytes 1-2/1000\n\nbc\
         \n--{boundary}\nContent-Type: text/plain\nContent-Range: bytes 999-999/1000\n\nl\
         \n--{boundary}--\n"
    );
    assert_eq!(body, crlf(&expected));
    let expected = format!(
        "HTTP/1.1 206 Partial Content\n{DATED}\
         Content-Type: multipart/byteranges; boundary={boundary}\nContent-Length: {}\n\
         {VALIDATED}Accept-Ranges: bytes",
        body.len()
    );
    assert_eq!(head, crlf(&expected));
}

/// Who writes a file may know all that its boundary is made of, but for the process's own seed.
/// This shows that there is one: without it the boundary would be what is foreseen.
#[test]
fn a_boundary_is_not_made_of_what_its_file_tells_alone() {
    let told = || wire(composed("GET / HTTP/1.1\nRange: bytes=1-2,-1", in_memory(1000)), 1000);
    let representation = in_memory(1000);
    let mut hasher = DefaultHasher::new();
    representation.words.etag().hash(&mut hasher);
    representation.modified.hash(&mut hasher);
    vec![1..3_u64, 999..1000].hash(&mut hasher);
    let foreseen = format!("boundary=weir-{:016x}", hasher.finish());
    assert!(!told().contains(&foreseen), "{foreseen}");
    assert_eq!(told(), told(), "the same request");
}

#[test]
fn of_a_sibling() {
    let sibling = || Representation {
        coding: Some(Coding::Brotli),
        varies: true,
        words: Words::of(Wording { fields: b"Cache-Control: no-cache\r\n", ..WORDING }),
        ..in_memory(1000)
    };
    let lines = "Content-Encoding: br\r\nVary: Accept-Encoding\r\nCache-Control: no-cache\r\n\r\n";
    for (fields, status) in
        [("", "200"), ("Range: bytes=0-0", "206"), ("Range: bytes=0-0,-1", "200")]
    {
        let reply = wire(composed(&format!("GET / HTTP/1.1\n{fields}"), sibling()), 1000);
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        assert!(reply.contains(lines), "{reply}");
    }
    let reply = wire(composed("GET / HTTP/1.1\nIf-None-Match: *", sibling()), 1000);
    let lines = "\"e\"\r\nVary: Accept-Encoding\r\nCache-Control: no-cache\r\n\r\n";
    assert!(reply.ends_with(lines), "{reply}");
}

/// Fields that the site adds are on whatever its answer turns into.
#[test]
fn fields_of_the_site() {
    let with_fields = || {
        let words = Words::of(Wording { fields: b"X-A: 1\r\nX-A: 2\r\n", ..WORDING });
        Representation { words, ..in_file(9) }
    };
    let rows = [
        ("GET / HTTP/1.1", "200"),
        ("HEAD / HTTP/1.1", "200"),
        ("GET / HTTP/1.1\nRange: bytes=0-0", "206"),
        ("GET / HTTP/1.1\nIf-None-Match: *", "304"),
        ("GET / HTTP/1.1\nIf-Match: \"f\"", "412"),
        ("GET / HTTP/1.1\nRange: bytes=9-", "416"),
    ];
    for (request, status) in rows {
        let reply = wire(composed(request, with_fields()), 9);
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        assert!(reply.contains("\r\nX-A: 1\r\nX-A: 2\r\n"), "{reply}");
    }
}

/// RFC 9110 section 8.6: a 204 has no length, whoever made it.
#[test]
fn no_content_of_the_site() {
    let wording = Wording { fields: b"Allow: GET\r\n", ..Wording::default() };
    let reply = Representation::made(Status::NO_CONTENT, wording, Block::default());
    let expected = format!("HTTP/1.1 204 No Content\n{DATED}Allow: GET\n\n");
    assert_eq!(wire(composed("OPTIONS / HTTP/1.1", reply), 0), crlf(&expected));
}

#[test]
fn of_the_future() {
    let file = Representation { modified: Some(SECONDS + 60), ..in_memory(1) };
    let reply = wire(composed("HEAD / HTTP/1.1", file), 1);
    assert!(reply.contains("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), "{reply}");
}

fn redirect(to: &str) -> Representation<()> {
    let wording = Wording { location: to.as_bytes(), ..Wording::default() };
    Representation::made(Status::MOVED_PERMANENTLY, wording, Block::default())
}

#[test]
fn a_redirect_takes_the_query_with_it() {
    let rows = [
        ("/a/", "/", "/a/"),
        ("/a/", "/?", "/a/"),
        ("/a/", "/?b=c&d", "/a/?b=c&d"),
        ("/a/?e", "/", "/a/?e"),
        ("/a/?e", "/?b", "/a/?e&b"),
        ("/a/#f?", "/?b", "/a/?b#f?"),
        ("http://c/a?e#f", "/?b?", "http://c/a?e&b?#f"),
    ];
    for (to, target, expected) in rows {
        let representation = Shared::new(redirect(to));
        // Also where the reply without a query was made before.
        let kept = compose::prebuilt(&representation, &Date::new(SECONDS));
        for prebuilt in [None, Some(Chunk::whole(kept))] {
            let answer = Answer { representation: Shared::clone(&representation), prebuilt };
            let reply = wire(answered(&format!("GET {target} HTTP/1.1"), answer), 0);
            assert!(reply.contains(&format!("\r\nLocation: {expected}\r\n")), "{to}: {reply}");
        }
    }
}

#[test]
fn a_redirect_has_no_conditions() {
    let redirect = || redirect("/a/");
    let expected =
        format!("HTTP/1.1 301 Moved Permanently\n{DATED}Content-Length: 0\nLocation: /a/\n\n");
    for fields in ["", "Range: bytes=0-0", "If-None-Match: *", "If-Match: \"a\""] {
        let reply = composed(&format!("GET / HTTP/1.1\n{fields}"), redirect());
        assert_eq!(wire(reply, 0), crlf(&expected), "{fields}");
    }
}

#[test]
fn the_prebuilt_reply_is_used_for_the_plain_get_only() {
    for representation in [in_memory(300), in_file(300), in_memory(0), in_file(0)] {
        let length = representation.content.length();
        let prebuilt = Chunk::whole(compose::prebuilt(&representation, &Date::new(SECONDS)));
        let representation = Shared::new(representation);
        let of = |prebuilt| Answer { representation: Shared::clone(&representation), prebuilt };
        let (without, with) = (of(None), of(Some(prebuilt.clone())));
        for (request, is_used) in [
            ("GET / HTTP/1.1", true),
            ("GET / HTTP/1.1\nAccept-Encoding: gzip", true),
            ("HEAD / HTTP/1.1", false),
            ("GET / HTTP/1.0", false),
            ("GET / HTTP/1.0\nConnection: keep-alive", false),
            ("GET / HTTP/1.1\nConnection: close", false),
            ("GET / HTTP/1.1\nRange: bytes=0-0", false),
            ("GET / HTTP/1.1\nIf-Match: \"e\"", false),
        ] {
            let anew = wire(answered(request, without.clone()), length);
            assert_eq!(wire(answered(request, with.clone()), length), anew, "{request}");
            let mut reply = answered(request, with.clone());
            let (chunk, _) = reply.pieces.next().expect("a piece");
            assert_eq!(std::ptr::eq(chunk.bytes(), prebuilt.bytes()), is_used, "{request}");
        }
    }
}

#[test]
fn as_few_sends_as_possible() {
    let sends = |request: &str, representation: Representation<()>| {
        composed(request, representation).pieces.count()
    };
    let (get, parts) = ("GET / HTTP/1.1", "GET / HTTP/1.1\nRange: bytes=0-16000,-1000");
    assert_eq!(sends(get, in_memory(16 << 10)), 1);
    assert_eq!(sends(get, in_memory((16 << 10) + 1)), 2);
    assert_eq!(sends(get, in_file(1 << 20)), 1);
    assert_eq!(sends("HEAD / HTTP/1.1", in_memory(1 << 20)), 1);
    assert_eq!(sends("HEAD / HTTP/1.1", in_file(1 << 20)), 1);
    assert_eq!(sends("GET / HTTP/1.1\nRange: bytes=0-9", in_memory(1 << 20)), 1);
    assert_eq!(sends(parts, in_memory(18 << 10)), 5);
    assert_eq!(sends(parts, in_file(18 << 10)), 3);
}

/// What is saved on a reply is never seen in its bytes, only in how they leave.
#[test]
fn savings_change_no_byte() {
    // Request; content; how many sends without gathering.
    let rows = [
        ("GET / HTTP/1.1", in_memory(300), 2),
        ("GET / HTTP/1.1", in_memory(20 << 10), 2),
        ("GET / HTTP/1.1", in_memory(0), 1),
        ("GET / HTTP/1.1", in_file(300), 1),
        ("GET / HTTP/1.1", in_file(0), 1),
        ("GET / HTTP/1.1", redirect("/a/"), 1),
        ("GET / HTTP/1.1\nConnection: close", in_memory(300), 2),
        ("HEAD / HTTP/1.1", in_memory(300), 1),
        ("GET / HTTP/1.1\nRange: bytes=0-9", in_memory(300), 2),
        ("GET / HTTP/1.1\nRange: bytes=0-0,90-90", in_memory(1000), 5),
    ];
    for (request, representation, sends) in rows {
        let length = representation.content.length();
        let representation = Shared::new(representation);
        let expected = wire(answered(request, of(&representation, None)), length);
        for (date_cache, gather) in [(true, false), (false, true), (false, false)] {
            let limits = Limits { date_cache, gather, ..Limits::default() };
            // A head that was kept too long shows whether its date is taken.
            let second = if date_cache { SECONDS } else { SECONDS - 1 };
            let kept = Chunk::whole(compose::prebuilt(&representation, &Date::new(second)));
            for prebuilt in [None, Some(kept)] {
                let reply = || answered_by(&limits, request, of(&representation, prebuilt.clone()));
                assert_eq!(wire(reply(), length), expected, "{request} {limits:?}");
                if !gather {
                    assert_eq!(reply().pieces.count(), sends, "{request} of {length}");
                }
            }
        }
    }
}

fn of(representation: &Shared<Representation<()>>, prebuilt: Option<Chunk>) -> Answer<()> {
    Answer { representation: Shared::clone(representation), prebuilt }
}

#[test]
fn replies_of_the_server() {
    let not_found =
        format!("HTTP/1.1 404 Not Found\n{DATED}Content-Type: text/plain\nContent-Length: 14\n");
    let stays = Persistence::Stays;
    check_small(Status::NOT_FOUND, stays, true, &format!("{not_found}\n"), "404 Not Found\n");
    check_small(Status::NOT_FOUND, stays, false, &format!("{not_found}\n"), "");
    let no_content = format!("HTTP/1.1 204 No Content\n{DATED}Allow: GET, HEAD, OPTIONS\n\n");
    check_small(Status::NO_CONTENT, stays, true, &no_content, "");
    let closes = "HTTP/1.1 405 Method Not Allowed";
    let closes = format!(
        "{closes}\n{DATED}Content-Type: text/plain\nContent-Length: 23\n\
         Allow: GET, HEAD, OPTIONS\nConnection: close\n\n"
    );
    let text = "405 Method Not Allowed\n";
    check_small(Status::METHOD_NOT_ALLOWED, Persistence::Closes, true, &closes, text);
    assert_eq!(compose::continue_().bytes(), b"HTTP/1.1 100 Continue\r\n\r\n");
}

fn check_small(
    status: Status,
    persistence: Persistence,
    has_content: bool,
    head: &str,
    text: &str,
) {
    let reply = compose::status(status, None, persistence, has_content, &Date::new(SECONDS));
    assert_eq!(wire(reply, 0), crlf(head) + text);
}

/// `head` without its empty line. What is in memory and what is in a file is answered alike.
fn check(request: &str, length: u64, head: &str, body: &str) {
    let expected = crlf(&format!("{head}\n")) + body;
    for representation in [in_memory(length), in_file(length)] {
        let reply = composed(request, representation);
        assert!(head.starts_with(&format!("HTTP/1.1 {} ", reply.status.0)), "{request}");
        assert_eq!(wire(reply, length), expected, "{request}");
    }
}

fn check_status(request: &str, status_line: &str) {
    let reply = wire(composed(request, in_memory(300)), 300);
    assert_eq!(reply.lines().next(), Some(status_line), "{request}");
}

proptest! {
    #[test]
    fn the_bytes_asked_for_arrive(
        ranges in prop::collection::vec((0..60_000_u64, 0..300_u64), 1..6),
        length in prop_oneof![1..3000_u64, 1..60_000_u64],
    ) {
        let set: Vec<_> = ranges.iter().map(|(at, n)| format!("{at}-{}", at + n)).collect();
        let request = format!("GET / HTTP/1.1\nRange: bytes={}", set.join(","));
        let reply = wire(composed(&request, in_memory(length)), length);
        prop_assert_eq!(&reply, &wire(composed(&request, in_file(length)), length));
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
        let announced = after(head, "Content-Length: ").parse::<usize>();
        prop_assert_eq!(announced, Ok(body.len()));
        let content = text_of(length);
        match after(head, "HTTP/1.1 ") {
            "200 OK" => prop_assert_eq!(body, content),
            "416 Range Not Satisfiable" => {
                prop_assert!(ranges.iter().all(|(at, _)| *at >= length));
            }
            _ => check_parts(head, body, &content)?,
        }
    }
}

fn check_parts(head: &str, body: &str, content: &str) -> Result<(), TestCaseError> {
    let Some((_, boundary)) = after(head, "Content-Type: ").split_once("boundary=") else {
        return check_part(head, body, content);
    };
    prop_assert!(body.len() <= content.len());
    let delimiter = format!("\r\n--{boundary}");
    let mut parts: Vec<_> = body.split(&delimiter).collect();
    prop_assert_eq!(parts.first(), Some(&""));
    prop_assert_eq!(parts.pop(), Some("--\r\n"));
    for part in &parts[1..] {
        let (head, body) = part.split_once("\r\n\r\n").expect("the head of a part");
        check_part(head, body, content)?;
    }
    Ok(())
}

fn check_part(head: &str, body: &str, content: &str) -> Result<(), TestCaseError> {
    let (range, length) = after(head, "Content-Range: bytes ").split_once('/').expect("a length");
    let (first, last) = range.split_once('-').expect("a range");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    prop_assert_eq!(number(length), content.len());
    prop_assert_eq!(body, &content[number(first)..=number(last)]);
    Ok(())
}

/// The rest of the line that begins with `name`.
fn after<'h>(head: &'h str, name: &str) -> &'h str {
    head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
}

fn composed(request: &str, representation: Representation<()>) -> Composed<()> {
    answered(request, Answer { representation: Shared::new(representation), prebuilt: None })
}

fn answered(request: &str, answer: Answer<()>) -> Composed<()> {
    answered_by(&Limits::default(), request, answer)
}

fn answered_by(limits: &Limits, request: &str, answer: Answer<()>) -> Composed<()> {
    let (line, fields) = request.split_once('\n').unwrap_or((request, ""));
    let fields = if fields.is_empty() { String::new() } else { format!("{fields}\n") };
    let request = crlf(&format!("{line}\nHost: a\n{fields}\n"));
    let now = Now { at: Instant::ORIGIN, date: Date::new(SECONDS) };
    let judged = Request::judge(request.as_bytes(), limits).expect("a good request");
    let head = Head::new(request.as_bytes(), &judged);
    compose::answer(&head, answer, judged.persistence, limits, &now)
}

/// All bytes of a reply about the first `length` bytes of the text.
fn wire(reply: Composed<()>, length: u64) -> String {
    let content = text_of(length);
    let mut all = String::new();
    let mut pieces = reply.pieces;
    let announced = pieces.remaining();
    while let Some((chunk, part)) = pieces.next() {
        all += str::from_utf8(chunk.bytes()).expect("text");
        if let Some(FilePart { at, end, .. }) = part {
            assert!(at < end, "an empty part");
            all += &content[at as usize..end as usize];
        }
        assert_eq!(announced, all.len() as u64 + pieces.remaining());
    }
    assert_eq!(pieces.remaining(), 0);
    let head = all.find("\r\n\r\n").expect("a head") + 4;
    assert_eq!(reply.content_bytes, (all.len() - head) as u64);
    all
}

/// Of all files here.
const WORDING: Wording<'_> =
    Wording { media_type: b"text/plain", etag: b"\"e\"", location: b"", fields: b"" };

fn in_memory(length: u64) -> Representation<()> {
    // Neither at the beginning of its block nor up to its end.
    let of = Block::from(format!("before{}behind", text_of(length)).into_bytes());
    let content = Content::Bytes(Chunk { of, at: 6, end: 6 + length as usize });
    Representation { content, ..in_file(length) }
}

fn in_file(length: u64) -> Representation<()> {
    Representation {
        modified: Some(SECONDS - 40),
        content: Content::File { file: Shared::new(()), length },
        ..Representation::made(Status::OK, WORDING, Block::default())
    }
}

fn text_of(length: u64) -> String {
    ('a'..='z').cycle().take(length as usize).collect()
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}
