//! A server, a file system that answers when it is let, and clients of both.

use std::time::{Duration, Instant};

use crate::support::PATIENCE;
use crate::support::combination::Combination;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::server::Server;
use crate::support::slow::{SlowFiles, content};
use crate::support::wire::Wire;

/// How long silence counts as being stalled. Too short would call a slow machine stalled, which is
/// what this test expects then, so it can only miss a mistake and never invent one.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);

/// See the head of this file.
pub(crate) struct Stage<'s> {
    pub(crate) combination: &'s Combination,
    pub(crate) site: &'s Fixture,
    pub(crate) server: &'s Server,
    pub(crate) slow: &'s SlowFiles,
}

impl Stage<'_> {
    /// The file that others ask for is in the cache, so that it needs nothing of a disk.
    pub(crate) fn warm(&self) {
        assert_eq!(self.server.fetch("/digits.txt"), Ok(DIGITS.to_vec()));
    }

    /// A client that waits for a slow file, once the server is reading it.
    pub(crate) fn ask_slow(&self, name: &str) -> Wire {
        let wire = self.ask(&format!("/slow/{name}"));
        self.slow.await_read(name);
        wire
    }

    /// The same, where others wait for slow files already: a pipeline may have nobody left to read.
    pub(crate) fn ask_slow_too(&self, name: &str) -> Wire {
        match self.combination.row["holder"].as_str() {
            Some("stages") => self.ask(&format!("/slow/{name}")),
            _ => self.ask_slow(name),
        }
    }

    /// A client that waits.
    pub(crate) fn ask(&self, target: &str) -> Wire {
        let mut wire = self.server.connect();
        wire.get(target, "Connection: close\r\n").expect("sent");
        wire
    }

    /// Such a client has what it waited for.
    pub(crate) fn expect_slow(&self, wire: &mut Wire, name: &str) {
        let (head, body) = wire.reply(false).expect("the slow file, in the end");
        assert_eq!(head.status, 200, "{}", self.combination);
        assert!(body == content(name), "{}: another content of {name}", self.combination);
    }

    /// Whatever is in memory is answered all that time.
    pub(crate) fn expect_hot_for(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.expect_hot();
        }
    }

    /// Also that there is nothing under a name is in memory, and what leaves from a file is, too.
    pub(crate) fn expect_hot(&self) {
        let site = self.site;
        for (target, expected) in [
            ("/digits.txt", Ok(DIGITS.to_vec())),
            ("/hot.bin", Ok(site.content("/hot.bin"))),
            ("/dir/", Ok(site.content("/dir/index.html"))),
            ("/missing", Err(String::from("status 404"))),
        ] {
            let answered = self.server.fetch(target) == expected;
            assert!(answered, "{}: {target} is not answered", self.combination);
        }
    }

    pub(crate) fn expect_served(&self) {
        for _ in 0..3 {
            let fetched = self.server.fetch("/digits.txt");
            assert_eq!(fetched, Ok(DIGITS.to_vec()), "{}: another stalls", self.combination);
        }
    }

    /// Nobody is answered until the slow file is let go on; then everybody is.
    pub(crate) fn expect_all_stall(&self) {
        self.expect_all_stall_until(|| self.slow.release());
    }

    /// The same, until `release` lets go on what they wait for.
    pub(crate) fn expect_all_stall_until(&self, release: impl FnOnce()) {
        let mut other = self.server.connect();
        other.get("/digits.txt", "Connection: close\r\n").expect("sent");
        other.set_patience(SILENCE);
        let early = other.reply(false);
        assert!(early.is_err(), "{}: served though all should stall", self.combination);
        release();
        other.set_patience(PATIENCE);
        let (_, body) = other.reply(false).expect("answered after the release");
        assert_eq!(body, DIGITS, "{}", self.combination);
    }
}
