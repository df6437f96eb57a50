//! Every patience, with time moved by hand.

use h1::{Limits, Timeout};
use measure::Duration;

use crate::connection::driver::{Driver, crlf, get, limits};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_new_connection_has_ten_seconds_for_its_first_head() {
    let mut driver = Driver::new();
    check(&driver, Timeout::Head, 10);
    // Who has asked nothing is told nothing.
    assert_eq!(driver.pass(10 * SECOND).told(), "Close");
    // Bytes that trickle do not move the end.
    let mut driver = Driver::new();
    for _ in 0..9 {
        driver.peer_sends(b"G").pass(SECOND);
        assert_eq!(driver.told(), "Recv");
    }
    check(&driver, Timeout::Head, 1);
    assert_eq!(driver.pass(SECOND).run().told(), "408c, Shut");
    // Nor do empty lines.
    let mut driver = Driver::new();
    driver.pass(9 * SECOND).peer_sends(b"\r\n\r\n");
    assert_eq!(driver.pass(SECOND).told(), "Close");
}

#[test]
fn a_new_connection_has_a_second_for_its_head_to_begin_while_drained() {
    let drained = || {
        let mut driver = Driver::new();
        driver.connection.drain();
        check(&driver, Timeout::Linger, 1);
        driver
    };
    assert_eq!(drained().pass(SECOND).told(), "Shut");
    assert_eq!(drained().peer_sends(get("/small").as_bytes()).told(), "200+5c, Shut");
    let mut begun = drained();
    begun.peer_sends(b"G");
    check(&begun, Timeout::Head, 10);
}

#[test]
fn a_connection_that_was_promised_to_stay_has_a_second_more_while_drained() {
    let mut driver = Driver::new().asked("/small");
    driver.step();
    driver.connection.drain();
    driver.run();
    check(&driver, Timeout::Linger, 1);
    assert_eq!(driver.pass(SECOND).told(), "200+5, Shut");
}

#[test]
fn an_idle_connection_has_a_grace_when_it_retires() {
    let mut driver = Driver::new();
    driver.peer_sends(get("/small").as_bytes()).run();
    driver.pass(30 * SECOND);
    driver.connection.retire(&driver.now);
    check(&driver, Timeout::Idle, 5);
    assert_eq!(driver.peer_sends(get("/small").as_bytes()).told(), "200+5 200+5c, Shut");
}

#[test]
fn an_idle_connection_has_a_minute() {
    let mut driver = Driver::new();
    driver.pass(9 * SECOND).peer_sends(get("/small").as_bytes());
    check(&driver, Timeout::Idle, 60);
    assert_eq!(driver.pass(59 * SECOND).told(), "200+5, Recv");
    driver.peer_sends(b"\r\n");
    check(&driver, Timeout::Idle, 1);
    // The next head has its own time.
    driver.peer_sends(b"GET");
    check(&driver, Timeout::Head, 10);
    assert_eq!(driver.pass(10 * SECOND).run().told(), "200+5 408c, Shut");
    let mut driver = Driver::new();
    assert_eq!(
        driver.peer_sends(get("/small").as_bytes()).pass(60 * SECOND).told(),
        "200+5, Close"
    );
}

#[test]
fn a_head_that_came_with_another_has_its_time_from_then_on() {
    let mut driver = Driver::new().asked("/small");
    driver.connection.received(b"GET", &driver.now);
    driver.now.at = driver.now.at + 100 * SECOND;
    assert_eq!(driver.run().told(), "200+5, Recv");
    check(&driver, Timeout::Head, 10);
}

#[test]
fn bodies_must_get_on() {
    let head = "POST / HTTP/1.1\nHost: a\nContent-Length: 60000\n\n";
    let post = |pieces: &[usize]| {
        let mut driver = Driver::new();
        driver.peer_sends(crlf(head).as_bytes());
        for &piece in pieces {
            check(&driver, Timeout::Rate, 5);
            driver.peer_sends(&vec![b'x'; piece]).pass(5 * SECOND);
        }
        driver.run().told()
    };
    // 2500 bytes in five seconds from the second window on.
    assert_eq!(post(&[0]), "Recv");
    assert_eq!(post(&[0, 2_500, 2_500]), "Recv");
    assert_eq!(post(&[0, 2_499]), "408c, Shut");
    assert_eq!(post(&[60_000]), "405, Recv");
}

#[test]
fn a_client_that_is_told_to_go_on_must_go_on() {
    let head = "GET / HTTP/1.1\nHost: a\nContent-Length: 3\nExpect: 100-continue\n\n";
    let mut driver = Driver::new();
    driver.peer_sends(crlf(head).as_bytes()).pass(5 * SECOND);
    assert_eq!(driver.told(), "100, Recv");
    assert_eq!(driver.pass(5 * SECOND).run().told(), "100 408c, Shut");
}

#[test]
fn answers_must_get_on() {
    let send = |pieces: &[u64]| {
        let limits = Limits { window_bytes: 1 << 20, ..limits() };
        let mut driver = Driver::with(limits).asked("/large");
        while driver.wants() != "Send" {
            driver.step();
        }
        for &piece in pieces {
            check(&driver, Timeout::Rate, 5);
            driver.connection.sent(piece, &driver.now);
            driver.pass(5 * SECOND);
        }
        driver.wants()
    };
    assert_eq!(send(&[0]), "Send");
    assert_eq!(send(&[0, 2_500]), "Send");
    // A reply that stops half-way is not followed by another.
    assert_eq!(send(&[0, 2_499]), "Close");
    // What went faster counts for later: kernels take bytes in bursts.
    assert_eq!(send(&[2_500, 0]), "Send");
    assert_eq!(send(&[2_499, 0]), "Close");
    assert_eq!(send(&[2_500, 0, 0]), "Close");
}

/// Two stall timeouts of the least rate are what a burst of the kernel may save up: whoever took
/// much at once does not live on it for hours.
#[test]
fn what_went_faster_counts_for_two_stall_timeouts() {
    let windows = |taken: u64, per_window: u64| {
        let stall_timeout = Duration::from_secs(15);
        let limits = Limits { window_bytes: 1 << 20, rate_min: 10, stall_timeout, ..limits() };
        let mut driver = Driver::with(limits).asked("/large");
        while driver.wants() != "Send" {
            driver.step();
        }
        driver.connection.sent(taken, &driver.now);
        let mut windows = 0;
        while driver.pass(5 * SECOND).wants() == "Send" && windows < 10 {
            driver.connection.sent(per_window, &driver.now);
            windows += 1;
        }
        windows
    };
    // The first window is not judged, and each of the others takes 50 bytes of at most 300.
    assert_eq!(windows(300, 1), 7);
    assert_eq!(windows(3_000, 1), 7);
    assert_eq!(windows(299, 1), 7);
    assert_eq!(windows(240, 1), 5);
    assert_eq!(windows(3_000, 49), 10);
}

/// Since when a peer has been too slow, in milliseconds from the begin.
#[test]
fn transfers_fall_behind_when_they_are_slow() {
    // Bytes that move at each 500 ms, and since when the peer is behind after the last.
    let rows: [(&[u64], u64); 6] = [
        (&[0], 0),
        (&[100, 100], 200),
        (&[0, 0, 400, 100], 500),
        // A burst counts for as long as the transfer has lasted, and for a second at most.
        (&[3_000, 0, 0], 1_000),
        (&[0, 0, 1_700, 0], 1_700),
        (&[0, 0, 3_400, 0], 2_500),
    ];
    for (moves, expected_ms) in rows {
        let limits = Limits { window_bytes: 1 << 20, crowded_rate_min: 1_000, ..limits() };
        let mut sends = Driver::with(limits.clone()).asked("/large");
        while sends.wants() != "Send" {
            sends.step();
        }
        let mut receives = Driver::with(limits);
        let post = "POST / HTTP/1.1\nHost: a\nContent-Length: 60000\n\n";
        receives.peer_sends(crlf(post).as_bytes());
        let begun = sends.now.at;
        for &bytes in moves {
            let now = sends.pass(SECOND / 2).now;
            sends.connection.sent(bytes, &now);
            receives.pass(SECOND / 2).peer_sends(&vec![b'x'; bytes as usize]);
        }
        for (what, driver) in [("reply", &sends), ("body", &receives)] {
            let since = driver.connection.deadline().and_then(|due| due.waits_since);
            let since_ms = since.map(|since| (since - begun).as_millis() as u64);
            assert_eq!(since_ms, Some(expected_ms), "{what}: {moves:?}");
        }
    }
    let mut driver = Driver::with(Limits { crowded_rate_min: 0, ..limits() }).asked("/large");
    while driver.wants() != "Send" {
        driver.step();
    }
    let deadline = driver.connection.deadline().expect("it is judged");
    assert_eq!((deadline.timeout, deadline.waits_since), (Timeout::Rate, None));
}

#[test]
fn each_window_of_a_file_is_judged_anew() {
    let mut driver = Driver::new().asked("/large");
    while driver.wants() != "Recv" {
        if driver.wants() == "Send" {
            driver.pass(5 * SECOND);
            assert_eq!(driver.wants(), "Send");
        }
        driver.step();
    }
    assert_eq!(driver.told(), "200+3500, Recv");
}

#[test]
fn silence_ends_what_no_rate_ends() {
    let limits = Limits { rate_min: 0, ..limits() };
    let mut driver = Driver::with(limits);
    driver.peer_sends(crlf("POST / HTTP/1.1\nHost: a\nContent-Length: 9\n\n").as_bytes());
    driver.pass(5 * SECOND).peer_sends(b"x");
    for _ in 0..11 {
        assert_eq!(driver.pass(5 * SECOND).told(), "Recv");
    }
    assert_eq!(driver.pass(5 * SECOND).run().told(), "408c, Shut");
}

#[test]
fn bytes_after_the_last_reply_are_discarded_until_a_second_of_silence() {
    let refused = || {
        let mut driver = Driver::new();
        driver.peer_sends(b"BAD\r\n\r\n").connection.shut(&Driver::new().now);
        check(&driver, Timeout::Linger, 1);
        driver
    };
    assert_eq!(refused().pass(SECOND).told(), "400c, Close");
    // However many come, but not for longer than five seconds.
    let mut driver = refused();
    for _ in 0..8 {
        driver.pass(SECOND / 2).peer_sends(&vec![b'x'; 1 << 20]);
        check(&driver, Timeout::Linger, 1);
        assert_eq!(driver.told(), "400c, Recv");
    }
    driver.pass(SECOND / 2).peer_sends(b"x");
    assert_eq!(driver.told(), "400c, Recv");
    assert_eq!(driver.pass(SECOND / 2).told(), "400c, Close");
    let mut driver = refused();
    driver.connection.ended(&driver.now);
    assert_eq!(driver.told(), "400c, Close");
}

#[test]
fn the_disk_is_waited_for() {
    for path in ["/small", "/loaded", "/large"] {
        let mut driver = Driver::new().asked(path);
        assert_eq!(driver.connection.deadline(), None, "{path}");
        if driver.step() && driver.wants() == "Load" {
            assert_eq!(driver.connection.deadline(), None, "{path}");
            driver.pass(1_000 * SECOND);
            assert_eq!(driver.wants(), "Load", "{path}");
        }
    }
}

#[test]
fn before_the_deadline_nothing_expires() {
    let mut driver = Driver::new();
    driver.peer_sends(b"GET").pass(10 * SECOND - Duration::from_nanos(1));
    assert_eq!(driver.told(), "Recv");
    assert_eq!(driver.pass(Duration::from_nanos(1)).run().told(), "408c, Shut");
}

/// The patience that runs, and the whole seconds that it still has.
fn check(driver: &Driver, timeout: Timeout, seconds: u64) {
    let deadline = driver.connection.deadline().expect("a deadline");
    assert_eq!((deadline.timeout, (deadline.at - driver.now.at).as_secs()), (timeout, seconds));
}
