//! `weir serve` whose every byte on the wire is re-coded, so that no part of a file can be sent
//! from the file itself. It shows that a session may wrap another (as one for TLS will) without a
//! line in any architecture, and the table of dialogs runs on it.
//!
//! `cargo run -p servers --example recoded -- DIR --listen 127.0.0.1:0 ...`, flags as `weir serve`.

mod coded;
mod program;

use std::process::ExitCode;
use std::sync::Arc;

use coded::Coded;
use h1::{Chunk, Connection, Limits, Loaded, Miss, Now, Reply, Shared, Tag, Want};
use os::File;
use servers::session::{Asked, Event, Session, Sessions, View};

fn main() -> ExitCode {
    program::serve("recoded", recoded)
}

fn recoded(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |_, now| {
        let inner = Connection::new(Shared::clone(&limits), now.at);
        Box::new(Recoded { inner, out: None, waits: false })
    })
}

/// A connection behind a code.
struct Recoded {
    inner: Connection<File>,
    out: Option<Coded>,
    /// A piece of a file was handed over to be read.
    waits: bool,
}

/// The code is its own inverse.
fn code(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

fn coded(plain: &[u8]) -> Coded {
    Coded::new(plain.len(), code(plain))
}

impl Recoded {
    /// Codes what the connection wants to send, as far as it is in memory.
    fn prepare(&mut self, now: &Now) {
        if self.out.is_some() {
            return;
        }
        match self.inner.want() {
            // What is read for coding need not be in the page cache before.
            Want::Load(_, Miss::Pages(_)) => {
                self.inner.loaded(Loaded::Pages, now);
                self.prepare(now);
            }
            Want::Send(chunk, _) if !chunk.bytes().is_empty() => {
                self.out = Some(coded(chunk.bytes()));
            }
            _ => {}
        }
    }

    fn wants_piece(&self) -> bool {
        matches!(self.inner.want(), Want::Send(..))
    }

    /// A piece of a file has come; none of it: the file has become shorter.
    fn add(&mut self, piece: &Chunk) {
        self.waits = false;
        if piece.bytes().is_empty() {
            self.inner.failed();
        } else if self.wants_piece() {
            self.out = Some(coded(piece.bytes()));
        }
    }

    fn sent(&mut self, n: u64, now: &Now) {
        let Some(out) = &mut self.out else { return };
        let plain = out.sent(n);
        if out.is_out() {
            self.out = None;
        }
        self.inner.sent(plain, now);
    }
}

impl Session for Recoded {
    fn want(&self) -> Want<'_, File> {
        if let Some(out) = &self.out {
            return Want::Send(&out.chunk, None);
        }
        match self.inner.want() {
            Want::Send(..) if self.waits => Want::Wait,
            Want::Send(_, Some(part)) => Want::Load(Tag::default(), Miss::More(part.clone())),
            want => want,
        }
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        match event {
            Event::Bytes(bytes) => self.inner.tell(Event::Bytes(&code(bytes)), now),
            Event::Sent(n) => self.sent(n, now),
            Event::HandedOver(_) if self.wants_piece() => self.waits = true,
            Event::Loaded(_, Loaded::More(piece)) => self.add(&piece),
            // A reply has begun that cannot be finished.
            Event::Loaded(_, Loaded::Status(_)) if self.wants_piece() => self.inner.failed(),
            event => self.inner.tell(event, now),
        }
        if matches!(self.inner.want(), Want::Close) {
            self.out = None;
        }
        self.prepare(now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        let is_over = self.inner.expired(now);
        if matches!(self.inner.want(), Want::Close) {
            self.out = None;
        }
        self.prepare(now);
        is_over
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        Session::next_reply(&mut self.inner)
    }

    fn view(&self) -> View {
        let view = Session::view(&self.inner);
        // The time of a disk is not the client's.
        View { deadline: view.deadline.filter(|_| !self.waits), ..view }
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        Session::asked(&self.inner, tag)
    }
}
