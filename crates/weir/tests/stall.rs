//! Proof that a name is true, from outside: one client asks for a file that is slow to read, and
//! the others show who waits with it. Everybody where the loop itself reads; one of N where threads
//! do; nobody else where helpers or the kernel's ring do.
//!
//! No duration is judged. The slow file lies on a file system that answers when this test lets it,
//! so "is served meanwhile" is an event, and only "is not served meanwhile" needs a bounded wait.
#![forbid(unsafe_code)]

mod support;

use std::time::Duration;

use support::PATIENCE;
use support::fixture::{DIGITS, Fixture};
use support::server::{Combination, Program, Server, on_every};
use support::slow::{SlowFiles, content};
use support::wire::Wire;

/// How long silence counts as being stalled. Too short would call a slow machine stalled, which is
/// what this test expects then, so it can only miss a mistake and never invent one.
const SILENCE: Duration = Duration::from_millis(300);

#[test]
fn who_stalls_is_as_the_registry_says() {
    on_every(Program::Weir, |combination| {
        let site = Fixture::new();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), flags(combination));
        let stage = Stage { combination, server: &server, slow: &slow };
        stage.warm();
        let mut waits = vec![stage.ask_slow("/slow/a.bin")];
        match combination.row["stalls"].as_str() {
            Some("all") => stage.expect_all_stall(),
            Some("one of N") => {
                stage.expect_served();
                waits.push(stage.ask_slow("/slow/b.bin"));
                stage.expect_all_stall();
            }
            Some("nobody") => {
                stage.expect_served();
                waits.push(stage.ask_slow("/slow/b.bin"));
                stage.expect_served();
                slow.release();
            }
            other => panic!("{combination}: the registry says that {other:?} stall"),
        }
        for mut wire in waits {
            let (head, body) = wire.reply(false).expect("the slow file, in the end");
            assert_eq!(head.status, 200, "{combination}");
            assert!(body == content(), "{combination}: another content");
        }
        server.stop();
    });
}

/// The disk's time is nobody's fault: neither of who asked for the slow file, nor of who came with
/// a request while a loop was waiting for it.
#[test]
fn a_slow_disk_is_no_slow_client() {
    on_every(Program::Weir, |combination| {
        let site = Fixture::new();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let patience = ["--head-timeout-ms", "300", "--stall-timeout-ms", "300"];
        let window = ["--rate-window-ms", "300", "--rate-min", "1000000"];
        let flags = [&patience[..], &window, flags(combination)].concat();
        let server = combination.start(&site.root(), &flags);
        let stage = Stage { combination, server: &server, slow: &slow };
        stage.warm();
        let mut waits = stage.ask_slow("/slow/a.bin");
        let mut meanwhile = server.connect();
        meanwhile.get("/digits.txt", "Connection: close\r\n").expect("sent");
        // Longer than any patience of the server: there is nothing to wait for but time.
        std::thread::sleep(SILENCE * 4);
        slow.release();
        let (head, body) = waits.reply(false).expect("the slow file, in the end");
        assert_eq!(head.status, 200, "{combination}");
        assert!(body == content(), "{combination}: another content");
        let (head, _) = meanwhile.reply(false).expect("who came meanwhile is answered");
        assert_eq!(head.status, 200, "{combination}");
        server.stop();
    });
}

/// A disk that fails: a refusal, or a reply that visibly breaks off; never one that looks whole.
#[test]
fn what_the_disk_fails_to_give_is_not_passed_off_as_sent() {
    on_every(Program::Weir, |combination| {
        let site = Fixture::new();
        let _slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &[]);
        for target in ["/slow/broken-small.txt", "/slow/broken-large.bin"] {
            let fetched = server.fetch(target);
            assert!(fetched.is_err(), "{combination}: {target} was served");
            assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
        }
        let refused = server.fetch("/slow/broken-small.txt");
        assert_eq!(refused, Err("status 500".to_owned()), "{combination}");
        let said = server.stop();
        assert!(said.contains(" 3 of the machine"), "{combination}: not counted: {said}");
    });
}

/// Two threads, so that one of them can be stalled and then both.
fn flags(combination: &Combination) -> &'static [&'static str] {
    match combination.row["stalls"].as_str() {
        Some("one of N") => &["--threads", "2", "--threads-min", "2"],
        _ => &[],
    }
}

struct Stage<'s> {
    combination: &'s Combination,
    server: &'s Server,
    slow: &'s SlowFiles,
}

impl Stage<'_> {
    /// The file that others ask for is in the cache, so that it needs nothing of a disk.
    fn warm(&self) {
        assert_eq!(self.server.fetch("/digits.txt"), Ok(DIGITS.to_vec()));
    }

    /// A client that waits for a slow file, once the server is reading it.
    fn ask_slow(&self, target: &str) -> Wire {
        let mut wire = self.server.connect();
        wire.get(target, "Connection: close\r\n").expect("sent");
        self.slow.await_read();
        wire
    }

    fn expect_served(&self) {
        for _ in 0..3 {
            let fetched = self.server.fetch("/digits.txt");
            assert_eq!(fetched, Ok(DIGITS.to_vec()), "{}: another stalls", self.combination);
        }
    }

    /// Nobody is answered until the slow file is let go on; then everybody is.
    fn expect_all_stall(&self) {
        let mut other = self.server.connect();
        other.get("/digits.txt", "Connection: close\r\n").expect("sent");
        other.set_patience(SILENCE);
        let early = other.reply(false);
        assert!(early.is_err(), "{}: served though all should stall", self.combination);
        self.slow.release();
        other.set_patience(PATIENCE);
        let (_, body) = other.reply(false).expect("answered after the release");
        assert_eq!(body, DIGITS, "{}", self.combination);
    }
}
