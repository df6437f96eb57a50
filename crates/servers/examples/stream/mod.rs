//! A connection of HTTP/1.1 whose files pass through memory, because what carries it sends other
//! bytes than theirs.

use h1::{Chunk, Connection, Deadline, Limits, Loaded, Miss, Now, Shared, Tag, Want};
use os::File;

/// Bytes of a file that are read at once.
const PIECE_BYTES: u64 = 64 << 10;

pub(crate) struct Stream {
    pub(crate) inner: Connection<File>,
    /// What was read of a file, to be sent behind what is in memory.
    piece: Option<Chunk>,
    /// Less was read than was wanted, and the rest is.
    waits: bool,
}

/// Those of its connections: each window is one piece. A connection wants it loaded before it
/// sends, so that what a disk takes is nobody's time.
pub(crate) fn limits(limits: &Limits) -> Shared<Limits> {
    Shared::new(Limits { window_bytes: PIECE_BYTES, ..limits.clone() })
}

impl Stream {
    pub(crate) fn new(limits: &Shared<Limits>, now: &Now) -> Self {
        let inner = Connection::new(Shared::clone(limits), now.at);
        Self { inner, piece: None, waits: false }
    }

    pub(crate) fn want(&self, tag: Tag) -> Want<'_, File> {
        match self.inner.want() {
            Want::Find(_, head) => Want::Find(tag, head),
            Want::Load(_, Miss::Pages(part)) => Want::Load(tag, Miss::More(part)),
            Want::Load(_, miss) => Want::Load(tag, miss),
            Want::Send(..) if self.waits => Want::Wait,
            Want::Send(_, Some(part)) => Want::Load(tag, Miss::More(part.clone())),
            want => want,
        }
    }

    /// What of it is in memory and to be sent.
    pub(crate) fn ready(&mut self) -> Option<Chunk> {
        match self.inner.want() {
            Want::Send(chunk, _) if !chunk.bytes().is_empty() => Some(chunk.clone()),
            Want::Send(..) => self.piece.take(),
            _ => None,
        }
    }

    pub(crate) fn handed_over(&mut self) {
        self.waits = self.sends();
        self.inner.handed_over();
    }

    pub(crate) fn loaded(&mut self, loaded: Loaded<File>, now: &Now) {
        self.waits = false;
        match loaded {
            // None of it: the file has become shorter.
            Loaded::More(piece) if piece.bytes().is_empty() => self.inner.failed(),
            Loaded::More(piece) => {
                self.inner.loaded(Loaded::Pages, now);
                self.piece = self.sends().then_some(piece);
            }
            // A reply has begun that cannot be finished.
            Loaded::Status(_) if self.sends() => self.inner.failed(),
            loaded => self.inner.loaded(loaded, now),
        }
    }

    pub(crate) fn expired(&mut self, now: &Now) -> bool {
        !self.waits && self.inner.expired(now)
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.inner.deadline().filter(|_| !self.waits)
    }

    pub(crate) fn sends(&self) -> bool {
        matches!(self.inner.want(), Want::Send(..))
    }
}
