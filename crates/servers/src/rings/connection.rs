use std::io;
use std::net::IpAddr;

use h1::{FilePart, Now, Shared, Want};
use os::File;
use os::ring::Handle;
use site::Opening;

use crate::connection::Journal;
use crate::connection::perform::fault;
use crate::session::Session;
use crate::shared::counters::Tally;
use crate::shared::performer::Performer;
use crate::shared::server::Server;
use crate::shared::trace::Step;

/// Bytes received ahead of what is being answered: then receiving stops until all is answered.
const AHEAD_BYTES_MAX: usize = 8 << 10;

/// One connection as a completion loop holds it.
pub(crate) struct RingConnection {
    pub(crate) handle: Handle,
    pub(crate) session: Box<dyn Session>,
    pub(crate) receive: Receive,
    /// A send or a read is in flight.
    pub(crate) busy: bool,
    /// FIN is out, or goes out behind the send in flight.
    pub(crate) shut: bool,
    /// Shutdowns in flight, each of which names the handle.
    pub(crate) shutting: u8,
    /// It is to be closed as soon as nothing is in flight.
    pub(crate) closing: bool,
    /// Bytes that came while it wanted something else.
    pub(crate) ahead_bytes: usize,
    /// A small file on its way into the cache.
    pub(crate) opening: Option<Box<Opening>>,
    /// What was read of a large one, to be sent.
    pub(crate) piece: Option<Piece>,
    /// Bytes that were asked for with it.
    pub(crate) piece_bytes: u64,
    /// Something completed for it in this round.
    pub(crate) touched: bool,
    pub(crate) journal: Option<Box<Journal>>,
}

/// Where its receive stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    Off,
    Armed,
    /// It is being cancelled.
    Ends,
}

/// Bytes of the file that the reply in hand sends.
pub(crate) struct Piece {
    /// Where in the file they begin.
    pub(crate) at: u64,
    pub(crate) bytes: Shared<[u8]>,
}

impl RingConnection {
    pub(crate) fn new(handle: Handle, server: &Server, logs: bool, now: &Now) -> Self {
        let journal = (logs || server.trace.is_some())
            .then(|| Journal::new(None, server, logs, Performer::Ring));
        Self {
            handle,
            session: (server.sessions)(now),
            receive: Receive::Off,
            busy: false,
            shut: false,
            shutting: 0,
            closing: false,
            ahead_bytes: 0,
            opening: None,
            piece: None,
            piece_bytes: 0,
            touched: false,
            journal,
        }
    }

    /// Takes what a receive brought; `more`: it stays armed.
    pub(crate) fn received(
        &mut self,
        received: io::Result<&[u8]>,
        more: bool,
        now: &Now,
        tally: &mut Tally,
    ) {
        if !more {
            self.receive = Receive::Off;
        }
        match received {
            Ok([]) => self.session.ended(now),
            Ok(bytes) => {
                self.session.received(bytes, now);
                self.mark(Step::Receive, Performer::Ring);
                if !matches!(self.session.want(), Want::Recv) {
                    self.ahead_bytes += bytes.len();
                }
            }
            // No buffer was free, or it was to pause: armed again when bytes are wanted.
            Err(e) if os::is_out_of_buffers(&e) || os::is_cancelled(&e) => {}
            Err(e) => self.broke_off(&e, tally),
        }
    }

    /// An operation failed. What is received and what is sent break off both; that is one break.
    pub(crate) fn broke_off(&mut self, error: &io::Error, tally: &mut Tally) {
        if !matches!(self.session.want(), Want::Close) {
            tally.add(fault(error), 1);
            self.session.failed();
        }
    }

    /// Whether so much came ahead of what is being answered that it is to pause.
    pub(crate) fn is_far_ahead(&self) -> bool {
        self.receive == Receive::Armed && self.ahead_bytes > AHEAD_BYTES_MAX
    }

    /// Lets go of what was read; returns how many bytes were asked for.
    pub(crate) fn let_go(&mut self) -> u64 {
        self.piece = None;
        core::mem::take(&mut self.piece_bytes)
    }

    /// Adds it to those that were touched in this round, once.
    pub(crate) fn touch(&mut self, token: u64, touched: &mut Vec<u64>) {
        if !core::mem::replace(&mut self.touched, true) {
            touched.push(token);
        }
    }

    /// Its address has come to be known, or cannot be.
    pub(crate) fn introduce(&mut self, ip: Option<IpAddr>, now: &Now) {
        self.session.introduced(ip, now);
        if let Some(journal) = &mut self.journal {
            journal.introduce(ip);
        }
    }

    /// A step of its request was performed.
    pub(crate) fn mark(&mut self, step: Step, by: Performer) {
        if let Some(journal) = &mut self.journal {
            journal.mark(step, by);
        }
    }
}

impl Piece {
    pub(crate) fn covers(&self, at: u64) -> bool {
        (self.at..self.at + self.bytes.len() as u64).contains(&at)
    }

    /// Where in the bytes the beginning of a part lies that they cover.
    pub(crate) fn range(&self, part: &FilePart<File>) -> (usize, usize) {
        let at = (part.at - self.at) as usize;
        (at, self.bytes.len().min(at + part.len() as usize))
    }
}
