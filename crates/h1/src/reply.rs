//! A reply on its way: what is to be sent now, what comes after it, how fast it goes.

use measure::{Duration, Instant};

use crate::compose::{Composed, Pieces};
use crate::{Block, Chunk, FilePart, Limits, Status};

/// A reply that has been sent whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: Status,
    /// Bytes of content sent, the head left out.
    pub bytes: u64,
    /// What its request was [counted under](crate::Connection::count_under).
    pub host: u8,
    /// When the first byte of its request was received; of a request that came behind another, when
    /// that one's reply was out.
    pub begun: Instant,
}

/// What becomes of a connection when the reply is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Stays,
    Shuts,
    Closes,
}

/// A reply on its way.
#[derive(Debug)]
pub(crate) struct Sending<F> {
    pub(crate) chunk: Chunk,
    /// The window of the piece's file part that is sent now.
    pub(crate) part: Option<FilePart<F>>,
    /// Where that file part ends.
    part_end: u64,
    /// The pieces of a reply that has several.
    others: Option<Box<Pieces<F>>>,
    pub(crate) after: After,
    /// Some of it is out: no other reply can take its place.
    pub(crate) has_begun: bool,
    status: Status,
    content_bytes: u64,
    pub(crate) rate: Rate,
}

impl<F> Sending<F> {
    pub(crate) fn new(composed: Composed<F>, after: After, limits: &Limits, now: Instant) -> Self {
        let Composed { status, content_bytes, mut pieces } = composed;
        let (chunk, part) = pieces.next().unwrap_or_else(|| (Chunk::whole(Block::default()), None));
        let others = (pieces.remaining() > 0).then(|| Box::new(pieces));
        let rate = Rate::new(now);
        let mut sending = Self {
            chunk,
            part,
            part_end: 0,
            others,
            after,
            has_begun: false,
            status,
            content_bytes,
            rate,
        };
        sending.begin_part(limits);
        sending
    }

    /// A reply that another will follow.
    pub(crate) fn of_interim(chunk: Chunk, limits: &Limits, now: Instant) -> Self {
        let pieces = Pieces::one(chunk, None);
        let composed = Composed { status: Status::CONTINUE, content_bytes: 0, pieces };
        Self::new(composed, After::Stays, limits, now)
    }

    /// Takes note of bytes that are out. `true`: all of what was wanted; what is wanted next is set
    /// up, and without a part there is no more.
    pub(crate) fn sent(&mut self, n: u64, limits: &Limits, now: Instant) -> bool {
        let of_chunk = n.min((self.chunk.end - self.chunk.at) as u64);
        let of_part = self.part.as_ref().map_or(0, FilePart::len).min(n - of_chunk);
        self.chunk.at += of_chunk as usize;
        if let Some(part) = &mut self.part {
            part.at += of_part;
        }
        self.rate.moved(of_chunk + of_part, limits, now);
        self.has_begun |= n > 0;
        let is_out =
            self.chunk.at == self.chunk.end && self.part.as_ref().is_none_or(FilePart::is_empty);
        is_out && self.step(limits)
    }

    /// It is out, and so is what it is counted under.
    pub(crate) fn reply(&self, host: u8, begun: Instant) -> Reply {
        Reply { status: self.status, bytes: self.content_bytes, host, begun }
    }

    /// Whether nothing follows what is wanted now.
    pub(crate) fn is_last(&self) -> bool {
        self.others.is_none() && self.part.as_ref().is_none_or(|part| part.end == self.part_end)
    }

    pub(crate) fn remaining(&self) -> u64 {
        let chunk = (self.chunk.end - self.chunk.at) as u64;
        let part = self.part.as_ref().map_or(0, |part| self.part_end - part.at);
        chunk + part + self.others.as_ref().map_or(0, |others| others.remaining())
    }

    /// The next window, or the next piece; `false` if that is a chunk alone, wanted by the same
    /// `Send`.
    fn step(&mut self, limits: &Limits) -> bool {
        if let Some(part) = &mut self.part
            && part.end < self.part_end
        {
            part.end = self.part_end.min(part.end + limits.window_bytes.max(1));
            return true;
        }
        self.part = None;
        let Some(others) = &mut self.others else { return true };
        let Some((chunk, part)) = others.next() else {
            self.others = None;
            return true;
        };
        if others.remaining() == 0 {
            self.others = None;
        }
        self.chunk = chunk;
        self.part = part;
        self.begin_part(limits);
        self.part.is_some()
    }

    fn begin_part(&mut self, limits: &Limits) {
        self.part.take_if(|part| part.is_empty());
        if let Some(part) = &mut self.part {
            self.part_end = part.end;
            part.end = part.end.min(part.at + limits.window_bytes.max(1));
        }
    }
}

/// A buffer of a megabyte, of which a third has to be free before bytes move again, is silent for
/// so long towards a client that takes 300 KB/s. More would count for a client that takes nothing:
/// in its first seconds the kernel still enlarges the buffer.
const AHEAD_MAX: Duration = Duration::from_secs(1);

/// How fast bytes move, judged at the end of each window. What went faster than asked counts for
/// later windows: the kernel takes bytes in bursts of a good part of its buffer, which is seconds
/// of silence towards a client that reads steadily and slowly. Only so much counts as a burst may
/// need: a silence that is longer ends by the stall timeout, and who took a gigabyte at once must
/// not live on it for days.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// When this window began.
    pub(crate) since: Instant,
    last: Instant,
    /// Bytes beyond those asked for in earlier windows.
    ahead: u64,
    /// Before the first window's end there is nothing to compare.
    first: bool,
    /// Until then the bytes have moved at the rate that is asked for while places are short: each
    /// byte moves it on by its share of a second. It may lie in the future, for the kernel takes
    /// bytes in bursts: by [`AHEAD_MAX`], and no more than the transfer has lasted, as the first
    /// burst fills a buffer of the kernel and says nothing of the peer.
    pub(crate) behind_since: Instant,
    begun: Instant,
}

impl Rate {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { since: now, last: now, ahead: 0, first: true, behind_since: now, begun: now }
    }

    /// Goes on after a pause that was not the peer's.
    pub(crate) fn resumed(self, now: Instant) -> Self {
        let behind_since = self.behind_since.max(now);
        Self { ahead: self.ahead, behind_since, begun: self.begun, ..Self::new(now) }
    }

    pub(crate) fn moved(&mut self, bytes: u64, limits: &Limits, now: Instant) {
        self.ahead += bytes;
        self.last = now;
        let gained_ns = bytes.saturating_mul(1_000_000_000) / limits.crowded_rate_min.max(1);
        let most = now + AHEAD_MAX.min(now - self.begun);
        self.behind_since = (self.behind_since + Duration::from_nanos(gained_ns)).min(most);
    }

    /// At a window's end: whether enough has moved; if so the next begins.
    pub(crate) fn goes_on(&mut self, limits: &Limits, now: Instant) -> bool {
        let passed = if self.first { Duration::ZERO } else { now - self.since };
        let asked = (limits.rate_min as f64 * passed.as_secs_f64()) as u64;
        if self.ahead < asked || now - self.last >= limits.stall_timeout {
            return false;
        }
        let ahead = (self.ahead - asked).min(Self::ahead_max(limits));
        *self = Self { since: now, ahead, first: false, ..*self };
        true
    }

    /// One stall timeout's bytes for a silence, and as many for the burst that is yet to come.
    fn ahead_max(limits: &Limits) -> u64 {
        (2.0 * limits.stall_timeout.as_secs_f64() * limits.rate_min as f64) as u64
    }
}
