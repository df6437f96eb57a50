//! Dialogs with a connection: what a client sends, and what it is told.

use crate::connection::driver::{Driver, crlf, get, limits};
use h1::Limits;

#[test]
fn connections_stay() {
    check("GET /small HTTP/1.1\nHost: a\n\n", "200+5, Recv");
    check("HEAD /small HTTP/1.1\nHost: a\n\n", "200+0h, Recv");
    check("GET /large HTTP/1.1\nHost: a\n\n", "200+3500, Recv");
    check("GET /loaded HTTP/1.1\nHost: a\n\n", "200+6, Recv");
    check("GET /missing HTTP/1.1\nHost: a\n\n", "404, Recv");
    check("GET /nowhere HTTP/1.1\nHost: a\n\n", "404, Recv");
    check("GET /small HTTP/1.9\nHost: a\n\n", "200+5, Recv");
    check("GET /small HTTP/1.0\nConnection: Keep-Alive\n\n", "200+5k, Recv");
    check("GET /small HTTP/1.1\nHost: a\nConnection: keep-alive\n\n", "200+5, Recv");
    check("GET /small HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: h2c\n\n", "200+5, Recv");
}

#[test]
fn connections_close() {
    check("GET /small HTTP/1.0\n\n", "200+5c, Close");
    check("GET /small HTTP/1.0\nHost: a\n\n", "200+5c, Close");
    check("GET /small HTTP/1.1\nHost: a\nConnection: close\n\n", "200+5c, Close");
    check("GET /small HTTP/1.1\nHost: a\nConnection: keep-alive, Close\n\n", "200+5c, Close");
    check("GET /small HTTP/1.0\nConnection: close\nConnection: keep-alive\n\n", "200+5c, Close");
    check("GET /large HTTP/1.0\n\n", "200+3500c, Close");
    // What follows a request that was said to be the last is read away, not answered.
    check("GET /small HTTP/1.0\n\nGET /small HTTP/1.0\n\n", "200+5c, Shut");
}

/// What comes behind the last request must not destroy the reply: a socket that is closed resets.
#[test]
fn who_may_still_send_is_heard_out() {
    let closing = |path: &str| format!("GET {path} HTTP/1.1\nHost: a\nConnection: close\n\n");
    // A reply that does not leave at once is on its way for as long as its client likes.
    check(&closing("/broad"), "200+14280c, Shut");
    check("GET /broad HTTP/1.0\n\n", "200+14280c, Shut");
    check("HEAD /broad HTTP/1.0\n\n", "200+0hc, Close");
    let mut driver = Driver::new();
    driver.connection.received(crlf(&closing("/broad")).as_bytes(), &driver.now);
    driver.connection.ended(&driver.now);
    assert_eq!(driver.run().told(), "200+14280c, Close");
    // Or something has come while any was on its way.
    for (path, until) in [
        ("/small", "Find"),
        ("/small", "Send"),
        ("/loaded", "Load"),
        ("/loaded", "Send"),
        ("/large", "Load"),
        ("/large", "Send"),
    ] {
        let mut driver = Driver::new();
        driver.connection.received(crlf(&closing(path)).as_bytes(), &driver.now);
        while driver.wants() != until {
            driver.step();
        }
        assert!(!driver.connection.received(b"G", &driver.now), "{path}: enough for now");
        assert!(driver.run().told().ends_with("c, Shut"), "{path} {until}: {}", driver.told());
    }
}

#[test]
fn requests_may_follow_each_other_at_once() {
    let small = "GET /small HTTP/1.1\nHost: a\n\n";
    let mixed = "GET /large HTTP/1.1\nHost: a\n\nHEAD /loaded HTTP/1.1\nHost: a\n\n";
    check(&small.repeat(3), "200+5 200+5 200+5, Recv");
    check(&format!("{mixed}{small}GET"), "200+3500 200+0h 200+5, Recv");
    check(&format!("{small}BAD\n\n{small}"), "200+5 400c, Shut");
    // However many come in one piece.
    let many = 10_000;
    let replies = vec!["200+5"; many].join(" ");
    check(&small.repeat(many), &format!("{replies}, Recv"));
}

#[test]
fn empty_lines_before_a_request_are_passed_over() {
    check("\n", "Recv");
    check("\n\n\nGET /small HTTP/1.1\nHost: a\n\n\n\n", "200+5, Recv");
    check_raw(b"\nGET /small HTTP/1.1\r\nHost: a\r\n\r\n", "400c, Shut");
    check_raw(b" GET /small HTTP/1.1\r\nHost: a\r\n\r\n", "400c, Shut");
    // Also where a line that was empty has come before, in pieces.
    let mut driver = Driver::new();
    driver.peer_sends(b"\r").peer_sends(b"\n").peer_sends(b"").peer_sends(b"\n");
    assert_eq!(driver.peer_sends(get("/small").as_bytes()).told(), "400c, Shut");
}

#[test]
fn not_many_empty_lines_are_passed_over() {
    let small = "GET /small HTTP/1.1\nHost: a\n\n";
    let most = format!("{}{small}", "\n".repeat(8));
    check(&"\n".repeat(8), "Recv");
    check(&"\n".repeat(9), "400c, Shut");
    check(&"\n".repeat(100_000), "400c, Shut");
    // Before each request anew, however they are cut.
    check(&most.repeat(3), "200+5 200+5 200+5, Recv");
    check(&format!("{most}{}", "\n".repeat(9)), "200+5 400c, Shut");
    for cut in 1..5 {
        let mut driver = Driver::new().cut(&[cut]);
        assert_eq!(driver.peer_sends(crlf(&most.repeat(2)).as_bytes()).told(), "200+5 200+5, Recv");
        assert_eq!(driver.peer_sends(b"\r\n".repeat(8).as_slice()).told(), "200+5 200+5, Recv");
        assert_eq!(driver.peer_sends(b"\r\n").told(), "200+5 200+5 400c, Shut");
    }
}

#[test]
fn methods() {
    check("OPTIONS * HTTP/1.1\nHost: a\n\n", "204+0, Recv");
    check("OPTIONS /small HTTP/1.1\nHost: a\n\n", "204+0, Recv");
    check("OPTIONS http://a HTTP/1.1\nHost: a\n\n", "204+0, Recv");
    check("GET * HTTP/1.1\nHost: a\n\n", "400c, Shut");
    for method in ["POST", "PUT", "DELETE", "TRACE", "PATCH"] {
        check(&format!("{method} /small HTTP/1.1\nHost: a\n\n"), "405, Recv");
    }
    check("CONNECT a:80 HTTP/1.1\nHost: a\n\n", "405, Recv");
    check("BREW /small HTTP/1.1\nHost: a\n\n", "501, Recv");
    check("get /small HTTP/1.1\nHost: a\n\n", "501, Recv");
}

#[test]
fn bodies_are_read_away() {
    let post = "POST / HTTP/1.1\nHost: a\n";
    let next = "GET /small HTTP/1.1\nHost: a\n\n";
    check(&format!("{post}Content-Length: 3\n\nabc{next}"), "405 200+5, Recv");
    check(&format!("{post}Content-Length: 0\n\n{next}"), "405 200+5, Recv");
    check(&format!("{post}Content-Length: 3\n\nab"), "Recv");
    let chunked = format!("{post}Transfer-Encoding: chunked\n\n");
    check(&format!("{chunked}3\nabc\n0\n\n{next}"), "405 200+5, Recv");
    check(&format!("{chunked}3;a=\"b\"\nabc\n0\nTrailer: x\n\n{next}"), "405 200+5, Recv");
    check(&format!("{chunked}0\n\n{next}"), "405 200+5, Recv");
    check(&format!("{chunked}0\n"), "Recv");
    check("GET /small HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc", "200+5, Recv");
    check("HEAD /small HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc", "200+0h, Recv");
    check("OPTIONS * HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc", "204+0, Recv");
    check("POST / HTTP/1.0\nContent-Length: 3\n\nabc", "405c, Close");
    // Many in one piece.
    let many = format!("{post}Content-Length: 1\n\nx").repeat(2_000);
    check(&many, &format!("{}, Recv", vec!["405"; 2_000].join(" ")));
}

/// The body is read away when it is known what the reply will be, and before any of that is sent.
#[test]
fn a_request_is_looked_up_before_its_body_has_come() {
    let mut driver = Driver::new();
    let head = "GET /small HTTP/1.1\nHost: a\nContent-Length: 3\n\n";
    driver.connection.received(crlf(head).as_bytes(), &driver.now);
    assert_eq!(driver.wants(), "Find");
    assert_eq!(driver.run().told(), "Recv");
    assert_eq!(driver.peer_sends(b"ab").told(), "Recv");
    assert_eq!(driver.peer_sends(b"c").told(), "200+5, Recv");
}

#[test]
fn bodies_that_are_too_long_are_refused() {
    let post = "POST / HTTP/1.1\nHost: a\n";
    let most = "x".repeat(64 << 10);
    check(&format!("{post}Content-Length: 65536\n\n{most}"), "405, Recv");
    check(&format!("{post}Content-Length: 65537\n\n"), "413c, Shut");
    check(&format!("{post}Content-Length: 99999999999999999999999\n\n"), "413c, Shut");
    check("HEAD / HTTP/1.1\nHost: a\nContent-Length: 65537\n\n", "413hc, Shut");
    let chunked = format!("{post}Transfer-Encoding: chunked\n\n");
    check(&format!("{chunked}10000\n{most}\n0\n\n"), "405, Recv");
    check(&format!("{chunked}10001\n"), "413c, Shut");
    check(&format!("{chunked}10000\n{most}\n1\n"), "413c, Shut");
    check(&format!("{chunked}1;{most}"), "431c, Shut");
    check(&format!("{chunked}0\nName: {most}"), "431c, Shut");
    check(&format!("{chunked}x\n"), "400c, Shut");
}

#[test]
fn expectations() {
    let get = "GET /small HTTP/1.1\nHost: a\nExpect: 100-continue\n";
    let mut driver = Driver::new();
    driver.peer_sends(crlf(&format!("{get}Content-Length: 3\n\n")).as_bytes());
    assert_eq!(driver.told(), "100, Recv");
    assert_eq!(driver.peer_sends(b"abc").told(), "100 200+5, Recv");
    let mut driver = Driver::new();
    driver.peer_sends(crlf(&format!("{get}Transfer-Encoding: chunked\n\n")).as_bytes());
    assert_eq!(driver.peer_sends(b"0\r\n\r\n").told(), "100 200+5, Recv");
    // The body has come or there is none: no word is needed.
    check(&format!("{get}Content-Length: 3\n\nabc"), "200+5, Recv");
    check(&format!("{get}Content-Length: 0\n\n"), "200+5, Recv");
    check(&format!("{get}\n"), "200+5, Recv");
    // The body is not wanted: it is refused instead of awaited.
    check(&get.replace("GET", "POST").replace("\nE", "\nContent-Length: 3\nE"), "Recv");
    check(&format!("{}Content-Length: 3\n\n", get.replace("GET", "POST")), "405c, Shut");
    check(&format!("{}Content-Length: 3\n\n", get.replace("GET", "BREW")), "501c, Shut");
    check(&format!("{}Content-Length: 3\n\n", get.replace("small", "missing")), "404c, Shut");
    // What is not in memory may be on the disk, which is asked behind the body.
    let loaded = format!("{}Content-Length: 3\n\n", get.replace("small", "loaded"));
    let mut driver = Driver::new();
    driver.peer_sends(crlf(&loaded).as_bytes());
    assert_eq!(driver.told(), "100, Recv");
    assert_eq!(driver.peer_sends(b"abc").told(), "100 200+6, Recv");
    check(&format!("{get}Content-Length: 65537\n\n"), "413c, Shut");
    check("GET /small HTTP/1.1\nHost: a\nExpect: 200-ok\n\n", "417c, Shut");
    check("GET /small HTTP/1.0\nExpect: 100-continue\nContent-Length: 3\n\nabc", "200+5c, Close");
}

#[test]
fn a_client_that_ends_while_it_is_told_to_go_on_is_not_waited_for() {
    let mut driver = Driver::new();
    let request = "GET / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 3\n\n";
    driver.connection.received(crlf(request).as_bytes(), &driver.now);
    assert!(driver.step());
    assert_eq!(driver.wants(), "Send");
    driver.connection.ended(&driver.now);
    assert_eq!(driver.run().told(), "100, Close");
}

#[test]
fn clients_that_end() {
    // Between requests, within one, and before any.
    for sent in ["", "GET", "GET /small HTTP/1.1\nHost: a\n\n", "POST / HTTP/1.1\nHost: a\n"] {
        let mut driver = Driver::new();
        driver.peer_sends(crlf(sent).as_bytes()).connection.ended(&Driver::new().now);
        assert_eq!(driver.wants(), "Close", "{sent}");
    }
    // While requests are in hand: all are answered.
    let mut driver = Driver::new();
    driver.connection.received(get("/small").repeat(2).as_bytes(), &driver.now);
    driver.connection.ended(&driver.now);
    assert_eq!(driver.run().told(), "200+5 200+5c, Close");
}

#[test]
fn clients_that_send_far_ahead() {
    let ahead = get("/small");
    // So much that it may wait: all of it is answered.
    let mut driver = Driver::new().asked("/small");
    let most = ahead.repeat((256 << 10) / ahead.len());
    assert!(!driver.connection.received(most.as_bytes(), &driver.now), "enough for now");
    assert!(driver.run().told().ends_with("200+5, Recv"));
    // More: only what is in hand is answered, and the connection closes.
    let more = ahead.repeat((273 << 10) / ahead.len());
    let mut driver = Driver::new().asked("/small");
    assert!(!driver.connection.received(more.as_bytes(), &driver.now));
    assert_eq!(driver.run().told(), "200+5c, Shut");
    // It was told already that the connection stays, but does not.
    let mut driver = Driver::new().asked("/large");
    driver.step();
    assert!(!driver.connection.received(more.as_bytes(), &driver.now));
    assert_eq!(driver.run().told(), "200+3500, Shut");
}

#[test]
fn bounds_of_heads() {
    let target = |bytes: usize| format!("GET /{} HTTP/1.1\nHost: a\n\n", "x".repeat(bytes - 1));
    check(&target(8 << 10), "404, Recv");
    check(&target((8 << 10) + 1), "414c, Shut");
    check(&target(70 << 10), "414c, Shut");
    check(&format!("GET /{}", "x".repeat(9 << 10)), "414c, Shut");
    let field = |bytes: usize| {
        let rest = "GET /small HTTP/1.1\r\nHost: a\r\nName: \r\n\r\n".len();
        format!("GET /small HTTP/1.1\nHost: a\nName: {}\n\n", "x".repeat(bytes - rest))
    };
    check(&field(16 << 10), "200+5, Recv");
    check(&field((16 << 10) + 1), "431c, Shut");
    check(&field(70 << 10), "431c, Shut");
    let fields = |n: usize| format!("GET /small HTTP/1.1\nHost: a\n{}\n", "a: b\n".repeat(n - 1));
    check(&fields(100), "200+5, Recv");
    check(&fields(101), "431c, Shut");
    check(&fields(1_000), "431c, Shut");
}

#[test]
fn bounds_that_no_knob_lifts() {
    let most = Limits { fields_max: 1_000, head_bytes_max: 1 << 20, ..limits() };
    let told =
        |request: String| Driver::with(most.clone()).peer_sends(crlf(&request).as_bytes()).told();
    let fields = |n: usize| format!("GET /small HTTP/1.1\nHost: a\n{}\n", "a: b\n".repeat(n - 1));
    assert_eq!(told(fields(128)), "200+5, Recv");
    assert_eq!(told(fields(129)), "431c, Shut");
    let long = |n: usize| format!("GET /small HTTP/1.1\nHost: a\nName: {}\n\n", "x".repeat(n));
    assert_eq!(told(long(65_000)), "200+5, Recv");
    assert_eq!(told(long(66_000)), "431c, Shut");
}

#[test]
fn refusals_of_head_requests_have_no_content() {
    check("HEAD / HTTP/1.1\n\n", "400hc, Shut");
    check("HEAD / HTTP/1.1\nHost: a\nExpect: x\n\n", "417hc, Shut");
    check("HEAD /missing HTTP/1.1\nHost: a\n\n", "404h, Recv");
    check("BREW / HTTP/1.1\n\n", "400c, Shut");
}

/// `sent`'s lines end by LF here, and by CRLF on the wire.
fn check(sent: &str, told: &str) {
    check_raw(crlf(sent).as_bytes(), told);
}

fn check_raw(sent: &[u8], told: &str) {
    let mut driver = Driver::new();
    driver.peer_sends(sent);
    let line = sent.get(..60).unwrap_or(sent).escape_ascii();
    assert_eq!(driver.told(), told, "{line}");
}
