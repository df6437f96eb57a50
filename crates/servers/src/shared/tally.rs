//! What one thread counts, until it publishes it.

use std::sync::atomic::Ordering::Relaxed;

use h1::{Reply, Status};
use measure::Duration;
use os::Socket;

use super::counters::{CLASSES, COUNTERS, Counter, Counters};

/// What one thread has counted since it last published.
pub struct Tally {
    counts: [u64; COUNTERS.len()],
    /// One for each reply.
    replies: Vec<Replied>,
}

/// A reply, by host and class, and how long it took.
struct Replied {
    of: (usize, usize),
    took_ns: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: [0; COUNTERS.len()], replies: Vec::new() }
    }
}

impl Tally {
    /// Counts a reply that is out.
    pub(crate) fn replied(&mut self, reply: Reply, took: Duration) {
        self.add(Counter::Replies, 1);
        self.add(Counter::Refusals, u64::from(reply.status >= Status::BAD_REQUEST));
        let class = usize::from(reply.status.0 / 100).clamp(2, 1 + CLASSES) - 2;
        let of = (usize::from(reply.host), class);
        self.replies.push(Replied { of, took_ns: took.as_nanos() as u64 });
    }

    /// Counts `n` more.
    pub fn add(&mut self, counter: Counter, n: u64) {
        self.counts[counter as usize] += n;
    }

    /// What has been counted and is not published yet.
    pub(crate) const fn pending(&self, counter: Counter) -> u64 {
        self.counts[counter as usize]
    }

    /// Counts a connection. The first one since the last publishing begins an accept phase: a round
    /// has one at most, and a round that takes no connection has none. Of the first one it also
    /// counts the wait in the kernel's queue, where that is known: it was the longest. Asking for
    /// it costs one system call.
    pub(crate) fn accepted(&mut self, socket: Option<&Socket>) {
        self.add(Counter::Accepted, 1);
        if self.counts[Counter::Accepted as usize] > 1 {
            return;
        }
        self.add(Counter::AcceptPhases, 1);
        if let Some(waited) = socket.and_then(Socket::since_received) {
            self.add(Counter::QueueSamples, 1);
            self.add(Counter::QueueDelay, waited.as_nanos() as u64);
        }
    }

    /// Adds all to a row and starts anew.
    pub fn publish(&mut self, counters: &Counters, row: usize) {
        for (count, word) in self.counts.iter_mut().zip(counters.row(row)) {
            if *count > 0 {
                word.fetch_add(*count, Relaxed);
                *count = 0;
            }
        }
        for Replied { of, took_ns } in self.replies.drain(..) {
            counters.count_reply(row, of, took_ns);
        }
    }
}
