use std::io;

use h1::{FilePart, Lookup, Shared, Tag, Want};
use measure::Instant;
use os::File;
use os::ring::Handle;
use site::Opening;

use crate::connection::Dialog;
use crate::connection::books::Books;

/// Bytes received ahead of what is being answered: then receiving stops until all is answered.
const AHEAD_BYTES_MAX: usize = 8 << 10;

/// One connection as a completion loop holds it.
pub(crate) struct RingConnection {
    pub(crate) handle: Handle,
    pub(crate) dialog: Dialog,
    pub(crate) receive: Receive,
    /// Bytes that came while it wanted something else.
    pub(crate) ahead_bytes: usize,
    /// A send is in flight, or room for one is waited for.
    pub(crate) sends: bool,
    pub(crate) reads: Vec<Read>,
    /// What was read of a large file, to be sent.
    pub(crate) piece: Option<Piece>,
    /// What was in memory of a large file when it was asked for, to be sent from there.
    pub(crate) resident: Option<Resident>,
    /// Some of that was sent in this turn: more is in another one.
    pub(crate) had_its_turn: bool,
    /// Bytes that were asked for with reads, and count as long as the session may hold them.
    pub(crate) held_bytes: u64,
    pub(crate) ending: Ending,
    /// It is to be closed, as soon as nothing is in flight or its peer's FIN has come.
    pub(crate) goes: bool,
    /// Shutdowns in flight, each of which names the handle.
    pub(crate) shutdowns: u8,
    /// Something completed for it in this round.
    pub(crate) touched: bool,
}

/// Where its receive stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    Off,
    Armed,
    /// It found no buffer, though something is there: it is begun again when one comes back.
    Thirsty,
    /// It is being cancelled.
    Ends,
    /// FIN has come: there is nothing more to receive.
    Over,
}

/// How far it has come to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Open,
    /// FIN is out, or goes out behind the send in flight.
    FinOut,
    /// It is closed as soon as nothing is in flight.
    Closing,
}

/// A read in flight.
pub(crate) struct Read {
    pub(crate) tag: Tag,
    pub(crate) of: ReadOf,
}

/// What it is for.
pub(crate) enum ReadOf {
    /// A small file on its way into the cache, by the name that was asked for.
    Small(Box<(Lookup, Opening)>),
    /// Pages that the session wanted to be there.
    Pages(FilePart<File>),
    /// Bytes that the session wanted.
    More,
    /// The rest of what is being sent, of which less was read than was wanted.
    Rest(FilePart<File>),
}

/// Bytes of the file that the reply in hand sends.
pub(crate) struct Piece {
    file: Shared<File>,
    /// Where in the file they begin.
    at: u64,
    pub(crate) bytes: Shared<[u8]>,
}

/// A part of a file that was in memory, and when.
pub(crate) struct Resident {
    pub(crate) part: FilePart<File>,
    pub(crate) at: Instant,
}

impl RingConnection {
    pub(crate) fn new(handle: Handle, dialog: Dialog) -> Self {
        Self {
            handle,
            dialog,
            receive: Receive::Off,
            ahead_bytes: 0,
            sends: false,
            reads: Vec::new(),
            piece: None,
            resident: None,
            had_its_turn: false,
            held_bytes: 0,
            ending: Ending::Open,
            goes: false,
            shutdowns: 0,
            touched: false,
        }
    }

    /// Takes what a receive brought; `more`: it stays armed.
    pub(crate) fn received(
        &mut self,
        received: io::Result<&[u8]>,
        more: bool,
        books: &mut Books<'_>,
    ) {
        if !more {
            let was_armed = self.receive == Receive::Armed;
            let found_none = received.as_ref().is_err_and(os::is_out_of_buffers);
            self.receive = if was_armed && found_none { Receive::Thirsty } else { Receive::Off };
        }
        match received {
            Ok([]) => {
                self.receive = Receive::Over;
                books.ended(&mut self.dialog);
            }
            Ok(bytes) => {
                books.received(&mut self.dialog, bytes);
                if !matches!(self.dialog.session.want(), Want::Recv) {
                    self.ahead_bytes += bytes.len();
                }
            }
            // No buffer was free; or it was to pause, and is armed again when bytes are wanted.
            Err(e) if os::is_out_of_buffers(&e) || os::is_cancelled(&e) => {}
            Err(e) => self.broke_off(&e, books),
        }
    }

    /// An operation failed. What is received and what is sent break off both; that is one break.
    pub(crate) fn broke_off(&mut self, error: &io::Error, books: &mut Books<'_>) {
        if !matches!(self.dialog.session.want(), Want::Close) {
            books.broke_off(&mut self.dialog, error);
        }
    }

    /// Whether what it wants has to wait until an operation is done.
    pub(crate) fn is_busy(&self) -> bool {
        self.sends || self.reads.iter().any(|read| matches!(read.of, ReadOf::Rest(_)))
    }

    /// Whether so much came ahead of what is being answered that it is to pause.
    pub(crate) fn is_far_ahead(&self) -> bool {
        self.receive == Receive::Armed && self.ahead_bytes > AHEAD_BYTES_MAX
    }

    /// Takes out the read with that tag, which has come back.
    pub(crate) fn has_read(&mut self, tag: Tag) -> ReadOf {
        let at = self.reads.iter().position(|read| read.tag == tag);
        self.reads.swap_remove(at.expect("a read that was begun")).of
    }

    /// Lets go of what was read; returns how many bytes were asked for.
    pub(crate) fn let_go(&mut self) -> u64 {
        self.piece = None;
        self.resident = None;
        core::mem::take(&mut self.held_bytes)
    }

    /// Adds it to those that were touched in this round, once.
    pub(crate) fn touch(&mut self, token: u64, touched: &mut Vec<u64>) {
        if !core::mem::replace(&mut self.touched, true) {
            touched.push(token);
        }
    }
}

impl Resident {
    /// Whether all of a part is here.
    pub(crate) fn covers(&self, part: &FilePart<File>) -> bool {
        let known = &self.part;
        Shared::ptr_eq(&known.file, &part.file) && known.at <= part.at && part.end <= known.end
    }
}

impl Piece {
    /// The bytes of a part, or of its beginning.
    pub(crate) fn new(part: FilePart<File>, bytes: Shared<[u8]>) -> Self {
        Self { file: part.file, at: part.at, bytes }
    }

    /// Whether the beginning of a part is here.
    pub(crate) fn covers(&self, part: &FilePart<File>) -> bool {
        let bytes = self.at..self.at + self.bytes.len() as u64;
        Shared::ptr_eq(&self.file, &part.file) && bytes.contains(&part.at)
    }

    /// Where in the bytes the beginning of a part lies that they cover.
    pub(crate) fn range(&self, part: &FilePart<File>) -> (usize, usize) {
        let at = (part.at - self.at) as usize;
        (at, self.bytes.len().min(at + part.len() as usize))
    }
}
