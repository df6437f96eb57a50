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
    /// To whole such is the time of bytes rounded.
    pub grain_ns: u64,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Disk {
    speed: Speed,
    /// Whom each channel serves.
    channels: Vec<Option<Served>>,
    free: Vec<u32>,
    row: VecDeque<Request>,
    /// Of these and those.
    all: Row,
    /// Of all requests that were begun.
    busy_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Served {
    task: TaskId,
    came_ns: u64,
    until_ns: u64,
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
        let (row, all, busy_ns) = Default::default();
        Self { speed, channels, free, row, all, busy_ns }
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
        let Served { task, came_ns, .. } = served.expect("a busy channel");
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
        let served = self.channels.iter().flatten().map(|served| served.came_ns);
        self.all.little(now_ns, waiting.chain(served))
    }

    /// For how long its channels were busy from the start, together.
    #[must_use]
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let ahead = self.channels.iter().flatten().map(|served| served.until_ns - now_ns);
        self.busy_ns - ahead.sum::<u64>()
    }

    fn begin(&mut self, now_ns: u64) -> Option<Begun> {
        if self.row.is_empty() {
            return None;
        }
        let free = self.free.pop()?;
        let Request { task, bytes, since_ns } = self.row.pop_front()?;
        let Speed { latency_ns, bytes_per_s, grain_ns, .. } = self.speed;
        let grains = (bytes as f64 * 1e9 / bytes_per_s / grain_ns as f64).round() as u64;
        let lasts_ns = latency_ns + grains * grain_ns;
        let until_ns = now_ns + lasts_ns;
        self.channels[free as usize] = Some(Served { task, came_ns: since_ns, until_ns });
        self.busy_ns += lasts_ns;
        Some((free, lasts_ns))
    }
}
