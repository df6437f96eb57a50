//! `weir serve` whose connections have several requests in hand at the same time. It shows what
//! becomes of them (as HTTP/2 and HTTP/3 have them) in each architecture, without a line in any.
//!
//! Bytes travel in frames, in both directions: the number of a stream (0 to 5), a length of two
//! bytes, the higher one first, and so many bytes. What a stream carries is HTTP/1.1.
//!
//! `cargo run -p servers --example several -- DIR --listen 127.0.0.1:0 ...`, flags as `weir serve`.

mod coded;
mod program;
mod stream;

use std::process::ExitCode;
use std::sync::Arc;

use coded::Coded;
use h1::{Limits, Now, Reply, Shared, Tag, Want};
use os::File;
use servers::session::{Asked, Event, Session, Sessions, View};
use stream::Stream;

/// More than a connection may have loads in hand.
const STREAMS: usize = 6;

/// Bytes in a frame that goes out.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// Of a frame before its content.
const HEAD_BYTES: usize = 3;

fn main() -> ExitCode {
    program::serve("several", several)
}

fn several(limits: &Shared<Limits>) -> Sessions {
    let limits = stream::limits(limits);
    Arc::new(move |_, now| {
        let streams = [(); STREAMS].map(|()| Stream::new(&limits, now));
        let came = Vec::new();
        Box::new(Several { streams, came, ended: false, out: None, last: STREAMS - 1 })
    })
}

/// Several connections on one.
struct Several {
    streams: [Stream; STREAMS],
    /// The beginning of a frame, of which the rest has not come.
    came: Vec<u8>,
    /// The peer sent FIN.
    ended: bool,
    out: Option<Coded>,
    /// The stream that `out` is of, or was: the turn of the one behind it is next.
    last: usize,
}

impl Several {
    /// All, the one whose turn it is first.
    fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let last = self.last;
        (1..=STREAMS).map(move |n| (last + n) % STREAMS)
    }

    fn hear(&mut self, bytes: &[u8], now: &Now) {
        self.came.extend_from_slice(bytes);
        while let Some((head, rest)) = self.came.split_first_chunk::<HEAD_BYTES>() {
            let [stream, high, low] = *head;
            let length = usize::from(u16::from_be_bytes([high, low]));
            let Some(of) = self.streams.get_mut(usize::from(stream)) else { return self.fail() };
            let Some(content) = rest.get(..length) else { return };
            of.inner.received(content, now);
            self.came.drain(..HEAD_BYTES + length);
        }
    }

    /// Frames what the next one wants to send, as far as it is in memory.
    fn prepare(&mut self) {
        for of in self.in_turn() {
            if self.out.is_none()
                && let Some(chunk) = self.streams[of].ready()
            {
                self.out = Some(framed(of, chunk.bytes()));
                self.last = of;
            }
        }
    }

    fn sent(&mut self, n: u64, now: &Now) {
        let Some(out) = &mut self.out else { return };
        let plain = out.sent(n);
        if out.is_out() {
            self.out = None;
        }
        self.streams[self.last].inner.sent(plain, now);
    }

    /// The time of another's bytes on their way is not its own.
    fn is_timed(&self, of: usize) -> bool {
        self.out.is_none() || of == self.last || !self.streams[of].sends()
    }

    /// What is half out can neither be finished nor followed.
    fn give_up(&mut self) {
        if self.out.is_some() && matches!(self.streams[self.last].inner.want(), Want::Close) {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.out = None;
        self.streams.iter_mut().for_each(|stream| stream.inner.failed());
    }
}

fn framed(of: usize, plain: &[u8]) -> Coded {
    let mut frames = Vec::with_capacity(plain.len() + HEAD_BYTES);
    for content in plain.chunks(FRAME_BYTES_MAX) {
        let [high, low] = (content.len() as u16).to_be_bytes();
        frames.extend([of as u8, high, low]);
        frames.extend_from_slice(content);
    }
    Coded::new(plain.len(), frames)
}

fn is_over(stream: &Stream) -> bool {
    matches!(stream.inner.want(), Want::Shut | Want::Close)
}

impl Session for Several {
    fn want(&self) -> Want<'_, File> {
        if let Some(out) = &self.out {
            return Want::Send(&out.chunk, None);
        }
        let mut waits = false;
        for of in self.in_turn() {
            match self.streams[of].want(Tag(of as u8)) {
                Want::Wait => waits = true,
                Want::Recv | Want::Shut | Want::Close => {}
                want => return want,
            }
        }
        match () {
            () if waits => Want::Wait,
            () if self.streams.iter().any(is_over) => Want::Close,
            () => Want::Recv,
        }
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        match event {
            Event::Introduced(_) | Event::Shut => {}
            Event::Bytes(bytes) => self.hear(bytes, now),
            Event::Sent(n) => self.sent(n, now),
            Event::Failed => self.fail(),
            Event::Host(Tag(of), host) => self.streams[usize::from(of)].inner.count_under(host),
            Event::Found(Tag(of), found) => {
                self.streams[usize::from(of)].inner.found(found, now);
            }
            Event::HandedOver(Tag(of)) => self.streams[usize::from(of)].handed_over(),
            Event::Loaded(Tag(of), loaded) => self.streams[usize::from(of)].loaded(loaded, now),
            Event::Fin => {
                self.ended = true;
                self.streams.iter_mut().for_each(|of| of.inner.ended(now));
            }
            Event::Refused(status) => {
                self.streams.iter_mut().for_each(|of| of.inner.refuse(status, now));
            }
            Event::Drain => self.streams.iter_mut().for_each(|of| of.inner.drain()),
            Event::Retire => self.streams.iter_mut().for_each(|of| of.inner.retire(now)),
        }
        self.give_up();
        self.prepare();
    }

    fn expired(&mut self, now: &Now) -> bool {
        let mut is_over = false;
        for of in 0..self.streams.len() {
            is_over |= self.is_timed(of) && self.streams[of].expired(now);
        }
        self.give_up();
        self.prepare();
        is_over
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        let replies = self.streams.iter_mut().enumerate();
        let mut replies = replies.filter_map(|(of, stream)| Some((of, stream.inner.next_reply()?)));
        replies.next().map(|(of, reply)| (Tag(of as u8), reply))
    }

    fn view(&self) -> View {
        let timed = (0..self.streams.len()).filter(|of| self.is_timed(*of));
        let deadlines = timed.filter_map(|of| self.streams[of].deadline());
        View {
            deadline: deadlines.min_by_key(|due| due.at),
            is_idle: self.streams.iter().all(|stream| stream.inner.is_idle()),
            closes: false,
            drops: false,
            hears: !self.ended,
        }
    }

    fn asked(&self, Tag(of): Tag) -> Option<Asked<'_>> {
        let request = self.streams[usize::from(of)].inner.asked()?;
        Some(Asked { request, source: None })
    }
}
