//! Proof of what becomes of requests that one connection has in hand at the same time: answered as
//! soon as each can be, or one after the other, as the registry says of each architecture.
//!
//! The protocol is that of the example `several`: frames of streams, each of which is HTTP/1.1.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::PATIENCE;
use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::rest::check_rests;
use crate::support::server::Server;
use crate::support::slow::{SlowFiles, content, lacks_slow_files};
use crate::support::wire::Wire;

/// How long silence counts as waiting one's turn.
const SILENCE: Duration = Duration::from_millis(300);

#[test]
fn what_is_in_memory_is_answered_while_another_of_the_connection_loads() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms(Program::Several, |combination| {
        let stage = Stage::new(combination);
        let mut pair = stage.pair();
        pair.ask(0, "/slow/a.bin");
        stage.slow.await_read("a.bin");
        pair.ask(1, "/digits.txt");
        match combination.row["requests"].as_str() {
            Some("several") => pair.expect(1, DIGITS),
            Some("in turn") => pair.expect_silence(1),
            other => panic!("{combination}: the registry says {other:?} of requests"),
        }
        stage.slow.release();
        pair.expect(0, &content("a.bin"));
        if combination.row["requests"] == "in turn" {
            pair.expect(1, DIGITS);
        }
        stage.end("/slow/a.bin", "/digits.txt");
    });
}

/// Loads of one connection, each known by its tag: of two files, of one file, of one name.
#[test]
fn two_loads_of_one_connection_are_in_hand_together() {
    if lacks_slow_files() {
        return;
    }
    for (first, second) in [("a.bin", "b.bin"), ("a.bin", "a.bin"), ("small.txt", "small.txt")] {
        on_mechanisms(Program::Several, |combination| {
            let stage = Stage::new(combination);
            let mut pair = stage.pair();
            pair.ask(0, &format!("/slow/{first}"));
            stage.slow.await_read(first);
            pair.ask(1, &format!("/slow/{second}"));
            if combination.row["requests"] == "several" && first != second {
                stage.slow.await_read(second);
            }
            stage.slow.release();
            pair.expect(1, &content(second));
            pair.expect(0, &content(first));
            // What has come back for either leaves nothing behind.
            let targets = ["/large.bin", "/digits.txt", "/hundreds.bin", "/large.bin"];
            for target in targets {
                [1, 0].into_iter().for_each(|stream| pair.ask(stream, target));
            }
            for target in targets {
                let content = stage.site.content(target);
                [0, 1].into_iter().for_each(|stream| pair.expect(stream, &content));
            }
            stage.end(first, second);
        });
    }
}

/// One connection has not all helpers to itself: of six loads four are in hand, and the others
/// follow as these come back.
#[test]
fn a_connection_has_four_loads_in_hand() {
    if lacks_slow_files() {
        return;
    }
    let names = ["a.bin", "b.bin", "c.bin", "d.bin", "long.bin", "small.txt"];
    let enough = ["--helpers", "8"];
    on_mechanisms(Program::Several, |combination| {
        let flags = if combination.takes(&enough) { &enough[..] } else { &[] };
        let stage = Stage::with(combination, flags);
        let mut pair = stage.pair();
        let most = if combination.row["requests"] == "several" { 4 } else { 1 };
        for (stream, name) in (0..).zip(names) {
            pair.ask(stream, &format!("/slow/{name}"));
        }
        let read = stage.slow.await_reads(most, SILENCE);
        assert_eq!(read.len(), most, "{combination}: {read:?}");
        stage.slow.release();
        for (stream, name) in names.iter().enumerate() {
            pair.expect(stream, &content(name));
        }
        stage.server.stop();
    });
}

/// Who says that no more will come is answered; who goes leaves nothing behind.
#[test]
fn both_loads_come_back_whoever_has_gone_meanwhile() {
    if lacks_slow_files() {
        return;
    }
    for stays in [true, false] {
        on_mechanisms(Program::Several, |combination| {
            // There may be one helper alone, who is needed for what is new.
            let stage = Stage::with(combination, &["--answer-age-ms", "3600000"]);
            let mut other = stage.pair();
            other.ask(0, "/digits.txt");
            other.expect(0, DIGITS);
            let mut pair = stage.pair();
            pair.ask(0, "/slow/a.bin");
            pair.ask(1, "/slow/b.bin");
            stage.slow.await_read("a.bin");
            let pair = stays.then_some(pair);
            if let Some(pair) = &pair {
                pair.wire.fin().expect("half a close");
            }
            if combination.row["stalls"] == "nobody" {
                other.ask(0, "/digits.txt");
                other.expect(0, DIGITS);
            }
            stage.slow.release();
            if let Some(mut pair) = pair {
                pair.expect(0, &content("a.bin"));
                pair.expect(1, &content("b.bin"));
                assert_eq!(pair.wire.end(), Ok(()), "{combination}");
            }
            other.ask(1, "/large.bin");
            other.expect(1, &stage.site.content("/large.bin"));
            stage.server.stop();
        });
    }
}

/// While a load is out, whoever has said that no more will come, or has gone, is no event that a
/// loop or a thread wakes up for again and again.
#[test]
fn nothing_spins_for_who_has_ended_while_a_load_is_out() {
    if lacks_slow_files() {
        return;
    }
    for goes in [false, true] {
        on_mechanisms(Program::Several, |combination| {
            let mut stage = Stage::with(combination, &["--admin", "127.0.0.1:0"]);
            let admin = stage.server.await_admin();
            let mut pair = stage.pair();
            pair.ask(0, "/slow/a.bin");
            stage.slow.await_read("a.bin");
            pair.wire.fin().expect("half a close");
            let pair = (!goes).then_some(pair);
            check_rests(combination, &stage.server, admin);
            stage.slow.release();
            if let Some(mut pair) = pair {
                pair.expect(0, &content("a.bin"));
                assert_eq!(pair.wire.end(), Ok(()), "{combination}");
            }
            stage.server.stop();
        });
    }
}

/// What is in hand when the order to end comes is finished, on both streams.
#[test]
fn a_drain_waits_for_both_loads() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms(Program::Several, |combination| {
        let mut stage = Stage::new(combination);
        let (mut pair, _idle) = (stage.pair(), stage.pair());
        pair.ask(0, "/slow/a.bin");
        pair.ask(1, "/slow/b.bin");
        stage.slow.await_read("a.bin");
        stage.server.signal(Signal::TERM);
        stage.server.await_line("draining");
        stage.slow.release();
        pair.expect(0, &content("a.bin"));
        pair.expect(1, &content("b.bin"));
        assert_eq!(pair.wire.end(), Ok(()), "{combination}");
        let status = stage.server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}");
    });
}

/// Who is let in is known only after a while: what needs no password does not wait for it, nor do
/// passwords for each other's files.
#[test]
fn what_needs_no_password_is_answered_while_one_is_verified() {
    if lacks_slow_files() {
        return;
    }
    // `secret`, and what nobody waits for.
    let cheap = "ann=$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";
    let endless = "eve=$2y$16$Nwb3h4F0MheQSCs25tnZo.0sHbFDICtakUyBF33tLTfz2kA4LiOA.";
    let users = format!("{cheap} {endless}");
    on_mechanisms(Program::Several, |combination| {
        let stage = Stage::with(combination, &["--auth", &users]);
        let mut pair = stage.pair();
        // Of `ann:secret` twice, of `ann:x`, and of `eve:x`.
        let [right, wrong, never] = ["YW5uOnNlY3JldA==", "YW5uOng=", "ZXZlOng="];
        pair.ask_as(1, "/dir/", right);
        pair.ask_as(2, "/dir/other.txt", right);
        pair.ask_as(3, "/dir/", wrong);
        pair.expect(1, &stage.site.content("/dir/index.html"));
        pair.expect(2, &stage.site.content("/dir/other.txt"));
        pair.expect_status(3, 401);
        pair.ask_as(0, "/dir/", never);
        pair.ask(1, "/large.bin");
        // A thread that waits for the verdict, or a process that verifies, does nothing else.
        if combination.row["holder"] != "loop" {
            pair.expect_silence(1);
        } else {
            pair.expect(1, &stage.site.content("/large.bin"));
            pair.ask_as(2, "/dir/", right);
            pair.expect(2, &stage.site.content("/dir/index.html"));
        }
        pair.expect_silence(0);
    });
}

struct Stage<'s> {
    combination: &'s Combination,
    site: Fixture,
    slow: SlowFiles,
    server: Server,
}

impl<'s> Stage<'s> {
    fn new(combination: &'s Combination) -> Self {
        Self::with(combination, &[])
    }

    fn with(combination: &'s Combination, flags: &[&str]) -> Self {
        let site = Fixture::new();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let log = site.beside("access.log");
        let logs = ["--access-log", log.to_str().expect("UTF-8")];
        let server = combination.start(&site.root(), &[&logs, flags].concat());
        Self { combination, site, slow, server }
    }

    fn pair(&self) -> Pair<'s> {
        let wire = self.server.connect();
        Pair { combination: self.combination, wire, came: <[Vec<u8>; 6]>::default() }
    }

    /// Every request is in the log, once and under its own name.
    fn end(self, first: &str, second: &str) {
        self.server.stop();
        let log = std::fs::read_to_string(self.site.beside("access.log")).expect("a log");
        let times = |name: &str| log.lines().filter(|line| line.contains(name)).count();
        let expected = if first == second { 2 } else { 1 };
        let logged = [times(first), times(second)];
        assert_eq!(logged, [expected; 2], "{}: {log}", self.combination);
    }
}

/// A client with several streams.
struct Pair<'s> {
    combination: &'s Combination,
    wire: Wire,
    /// Of each what came and was not taken.
    came: [Vec<u8>; 6],
}

impl Pair<'_> {
    fn ask(&mut self, stream: u8, target: &str) {
        self.send(stream, &format!("GET {target} HTTP/1.1\r\nHost: weir.test\r\n\r\n"));
    }

    /// With a name and a password, encoded.
    fn ask_as(&mut self, stream: u8, target: &str, who: &str) {
        let fields = format!("Host: weir.test\r\nAuthorization: Basic {who}\r\n");
        self.send(stream, &format!("GET {target} HTTP/1.1\r\n{fields}\r\n"));
    }

    fn send(&mut self, stream: u8, request: &str) {
        let length = u16::try_from(request.len()).expect("a short request").to_be_bytes();
        let frame = [&[stream], &length[..], request.as_bytes()].concat();
        self.wire.send(&frame).expect("sent");
    }

    /// The next reply of a stream is the whole of this.
    fn expect(&mut self, stream: usize, content: &[u8]) {
        let who = self.combination;
        let body = loop {
            if let Some(at) = self.came[stream].windows(4).position(|four| four == b"\r\n\r\n")
                && self.came[stream].len() >= at + 4 + content.len()
            {
                let reply: Vec<u8> = self.came[stream].drain(..at + 4 + content.len()).collect();
                assert!(reply.starts_with(b"HTTP/1.1 200 "), "{who}: {}", reply.escape_ascii());
                break reply[at + 4..].to_vec();
            }
            let came = self.frame();
            came.unwrap_or_else(|fault| panic!("{who}: no reply on stream {stream}: {fault}"));
        };
        assert!(body == content, "{who}: another content on stream {stream}");
    }

    /// A reply of a stream begins so.
    fn expect_status(&mut self, stream: usize, status: u16) {
        let (who, begin) = (self.combination, format!("HTTP/1.1 {status} "));
        while self.came[stream].len() < begin.len() {
            let came = self.frame();
            came.unwrap_or_else(|fault| panic!("{who}: no reply on stream {stream}: {fault}"));
        }
        let came = &self.came[stream];
        assert!(came.starts_with(begin.as_bytes()), "{who}: {}", came.escape_ascii());
    }

    /// Nothing comes of a stream for a while, whatever comes of the other.
    fn expect_silence(&mut self, stream: usize) {
        // Only a frame's first bytes are waited for so short: the rest of one that has begun comes.
        loop {
            self.wire.set_patience(SILENCE);
            let head = self.wire.bytes(3);
            self.wire.set_patience(PATIENCE);
            let Ok(head) = head else { break };
            self.rest_of_frame(&head).expect("the rest of a frame");
        }
        assert!(self.came[stream].is_empty(), "{}: answered out of turn", self.combination);
    }

    fn frame(&mut self) -> Result<(), String> {
        let head = self.wire.bytes(3)?;
        self.rest_of_frame(&head)
    }

    fn rest_of_frame(&mut self, head: &[u8]) -> Result<(), String> {
        let length = u16::from_be_bytes([head[1], head[2]]);
        let content = self.wire.bytes(usize::from(length))?;
        self.came[usize::from(head[0])].extend(content);
        Ok(())
    }
}
