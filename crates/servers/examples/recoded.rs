//! `weir serve` whose every byte on the wire is re-coded, so that no part of a file can be sent
//! from the file itself. It shows that a session may wrap another (as one for TLS will) without a
//! line in any architecture, and the table of dialogs runs on it.
//!
//! `cargo run -p servers --example recoded -- DIR --listen 127.0.0.1:0 ...`, flags as `weir serve`.

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

fn main() -> ExitCode {
    program::serve("recoded", recoded)
}

fn recoded(limits: &Shared<Limits>) -> Sessions {
    let limits = stream::limits(limits);
    Arc::new(move |_, now| Box::new(Recoded { stream: Stream::new(&limits, now), out: None }))
}

/// A connection behind a code.
struct Recoded {
    stream: Stream,
    out: Option<Coded>,
}

/// The code is its own inverse.
fn code(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

impl Recoded {
    /// Codes what the connection wants to send, as far as it is in memory.
    fn prepare(&mut self) {
        if matches!(self.stream.inner.want(), Want::Close) {
            self.out = None;
        }
        if self.out.is_none() {
            let ready = self.stream.ready();
            self.out = ready.map(|plain| Coded::new(plain.bytes().len(), code(plain.bytes())));
        }
    }

    fn sent(&mut self, n: u64, now: &Now) {
        let Some(out) = &mut self.out else { return };
        let plain = out.sent(n);
        if out.is_out() {
            self.out = None;
        }
        self.stream.inner.sent(plain, now);
    }
}

impl Session for Recoded {
    fn want(&self) -> Want<'_, File> {
        match &self.out {
            Some(out) => Want::Send(&out.chunk, None),
            None => self.stream.want(Tag::default()),
        }
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        match event {
            Event::Bytes(bytes) => self.stream.inner.tell(Event::Bytes(&code(bytes)), now),
            Event::Sent(n) => self.sent(n, now),
            Event::HandedOver(_) => self.stream.handed_over(),
            Event::Loaded(_, loaded) => self.stream.loaded(loaded, now),
            event => self.stream.inner.tell(event, now),
        }
        self.prepare();
    }

    fn expired(&mut self, now: &Now) -> bool {
        let is_over = self.stream.expired(now);
        self.prepare();
        is_over
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        Session::next_reply(&mut self.stream.inner)
    }

    fn view(&self) -> View {
        let view = Session::view(&self.stream.inner);
        // What is on its way may be a part of the last that the connection wants to send.
        let is_last = matches!(self.stream.inner.want(), Want::Send(_, None));
        let deadline = self.stream.deadline();
        View { deadline, closes: view.closes && is_last, ..view }
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        Session::asked(&self.stream.inner, tag)
    }
}
