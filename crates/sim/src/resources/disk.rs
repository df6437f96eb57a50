//! A disk: one arm, or so many requests at once; who comes waits in one row.

use std::collections::VecDeque;

use super::cores::TaskId;
use super::row::{Little, Row};

/// What a request to it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Before the first byte, in nanoseconds.
    pub latency_ns: u64,
    /// Of the bytes that come then.
    pub bytes_per_s: f64,
    /// Requests that are served at a time.
    pub channels: u32,
}

/// What was seen of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Requests that were served.
    pub count: u64,
    /// For how long its channels were busy, together.
    pub busy_ns: u64,
    /// How long requests waited for a channel, together.
    pub waited_ns: u64,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Disk {
    speed: Speed,
    /// Whom each channel serves, and when he came.
    channels: Vec<Option<(TaskId, u64)>>,
    free: Vec<u32>,
    row: VecDeque<Request>,
    /// Of these and those.
    all: Row,
    reads: Reads,
}

#[derive(Debug)]
struct Request {
    task: TaskId,
    bytes: u64,
    since_ns: u64,
}

/// A channel that has begun with a request, and for how long it is busy with it.
pub type Begun = (u32, u64);

impl Disk {
    /// Nobody reads.
    #[must_use]
    pub fn new(speed: Speed) -> Self {
        let channels = vec![None; speed.channels as usize];
        let free = (0..speed.channels).rev().collect();
        let (row, all, reads) = Default::default();
        Self { speed, channels, free, row, all, reads }
    }

    /// A task asks for so many bytes.
    pub fn ask(&mut self, task: TaskId, bytes: u64, now_ns: u64) -> Option<Begun> {
        self.all.come(now_ns);
        self.row.push_back(Request { task, bytes, since_ns: now_ns });
        self.begin(now_ns)
    }

    /// A channel has served somebody, and begins with the next one.
    pub fn served(&mut self, channel: u32, now_ns: u64) -> (TaskId, Option<Begun>) {
        let served = self.channels[channel as usize].take();
        let (task, came_ns) = served.expect("a busy channel");
        self.all.go(now_ns, came_ns);
        self.free.push(channel);
        (task, self.begin(now_ns))
    }

    /// Requests that it serves at a time.
    #[must_use]
    pub const fn channels(&self) -> u32 {
        self.speed.channels
    }

    /// Of who waits for it, or is served.
    #[must_use]
    pub fn little(&self, now_ns: u64) -> Little {
        let waiting = self.row.iter().map(|request| request.since_ns);
        let served = self.channels.iter().flatten().map(|(_, came_ns)| *came_ns);
        self.all.little(now_ns, waiting.chain(served))
    }

    /// From the start.
    #[must_use]
    pub const fn reads(&self) -> Reads {
        self.reads
    }

    fn begin(&mut self, now_ns: u64) -> Option<Begun> {
        if self.row.is_empty() {
            return None;
        }
        let free = self.free.pop()?;
        let Request { task, bytes, since_ns } = self.row.pop_front()?;
        let transfer_ns = (bytes as f64 * 1e9 / self.speed.bytes_per_s).round() as u64;
        let busy_ns = self.speed.latency_ns + transfer_ns;
        self.channels[free as usize] = Some((task, since_ns));
        self.reads.count += 1;
        self.reads.busy_ns += busy_ns;
        self.reads.waited_ns += now_ns - since_ns;
        Some((free, busy_ns))
    }
}
