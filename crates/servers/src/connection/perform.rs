//! One want, performed by a non-blocking call: what the readiness loops share.

use std::io;

use h1::{FilePart, Found, Loaded, Miss, Now, Status, Want};
use os::poller::Interest;
use os::{File, Socket};

use crate::connection::{Connection, count};
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Server;
use crate::shared::settings::Sendfile;
use crate::shared::trace::Step;

/// Where a peer stands after one want.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Performed; it wants something else now.
    Went,
    /// Nothing more until the socket is ready for this.
    Blocked(Interest),
    /// A helper has it.
    Away,
    /// It is to be dropped.
    Over,
}

/// Who loads: the loop itself, or somebody it hands over to.
pub(crate) trait Loads {
    /// Takes a miss of the peer with this token: answers now, or later.
    fn load(&mut self, token: u64, miss: Miss<File>, server: &Server, now: &Now) -> Handed;
}

/// What became of a miss.
pub(crate) enum Handed {
    /// Loaded here and now.
    Loaded(Loaded<File>),
    /// Handed over.
    Away,
    /// Too much waits already.
    Refused,
}

/// Nobody to hand over to: the loop blocks until the disk has answered.
pub(crate) struct Nobody;

impl Loads for Nobody {
    fn load(&mut self, _: u64, miss: Miss<File>, server: &Server, now: &Now) -> Handed {
        Handed::Loaded(server.load(&miss, now))
    }
}

/// What a loop lends for performing a want.
pub(crate) struct Hands<'l> {
    pub(crate) server: &'l Server,
    pub(crate) now: &'l Now,
    pub(crate) buffer: &'l mut [u8],
    pub(crate) tally: &'l mut Tally,
    pub(crate) log: Option<&'l mut AccessLog>,
    pub(crate) loads: &'l mut dyn Loads,
    /// Bytes that may still be sent in this turn.
    pub(crate) budget: u64,
}

impl Hands<'_> {
    /// Performs what `peer` wants, once.
    pub(crate) fn perform(&mut self, token: u64, peer: &mut Connection) -> Progress {
        match peer.session.want() {
            Want::Recv => self.receive(peer),
            Want::Find(head) => {
                let found = self.server.site.find(&head, self.now);
                self.tally.add(Counter::Requests, 1);
                if let Some(journal) = &mut peer.journal {
                    journal.note(&*peer.session);
                    journal.mark(Step::Find, Performer::Loop);
                }
                if matches!(found, Found::Miss(_)) {
                    self.tally.add(Counter::Loads, 1);
                }
                self.server.orders.tell_near_end(&mut *peer.session, self.now);
                peer.session.found(found, self.now);
                Progress::Went
            }
            Want::Load(miss) => self.load(token, miss, peer),
            Want::Send(..) => self.send(peer),
            Want::Shut => match peer.socket.shutdown_write() {
                Ok(()) => {
                    peer.session.shut(self.now);
                    Progress::Went
                }
                Err(e) => {
                    self.tally.add(fault(&e), 1);
                    Progress::Over
                }
            },
            Want::Close => Progress::Over,
        }
    }

    fn receive(&mut self, peer: &mut Connection) -> Progress {
        if !peer.readable {
            return Progress::Blocked(Interest::READ);
        }
        match peer.socket.recv(self.buffer) {
            Ok(0) => {
                peer.session.ended(self.now);
                // A half-closed peer may still be sent to; it will never be readable again.
                peer.readable = false;
                peer.ended = false;
            }
            Ok(n) => {
                // A short read has emptied the socket, unless a FIN lies behind the bytes.
                peer.readable = n == self.buffer.len() || peer.ended;
                peer.session.received(&self.buffer[..n], self.now);
                peer.mark(Step::Receive, Performer::Loop);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => peer.readable = false,
            Err(e) => self.broke_off(peer, &e),
        }
        Progress::Went
    }

    fn load(&mut self, token: u64, miss: Miss<File>, peer: &mut Connection) -> Progress {
        let step = step_of(&miss);
        let begun = os::clock::monotonic();
        match self.loads.load(token, miss, self.server, self.now) {
            Handed::Loaded(loaded) => {
                let blocked = os::clock::monotonic() - begun;
                self.tally.add(Counter::Blocked, blocked.as_nanos() as u64);
                count_fault(&loaded, self.tally);
                peer.mark(step, Performer::Loop);
                peer.session.loaded(loaded, self.now);
                Progress::Went
            }
            Handed::Away => {
                self.tally.add(Counter::HandOvers, 1);
                peer.away = true;
                Progress::Away
            }
            Handed::Refused => {
                let refused = Loaded::Status(Status::SERVICE_UNAVAILABLE);
                peer.session.loaded(refused, self.now);
                Progress::Went
            }
        }
    }

    fn send(&mut self, peer: &mut Connection) -> Progress {
        if !peer.writable {
            return Progress::Blocked(Interest::WRITE);
        }
        if let Some(journal) = &mut peer.journal {
            journal.note(&*peer.session);
            journal.mark(Step::Send, Performer::Loop);
        }
        let Want::Send(chunk, part) = peer.session.want() else { return Progress::Went };
        let bytes = chunk.bytes();
        let (enough, sent) = if bytes.is_empty() {
            let Some(part) = part else { return Progress::Over };
            let most = part.len().min(self.budget.max(1));
            // Less than `most` may be all that was read, or all that the file still has. Whether
            // the socket is full only the next call tells; a poller of edges never would.
            (1, send_part(&peer.socket, part, most, self.server.settings.sendfile))
        } else {
            let more = part.is_some_and(|part| !part.is_empty()) && self.server.limits.gather;
            let sent = peer.socket.send(bytes, more);
            (bytes.len() as u64, sent.map(|n| n as u64))
        };
        match sent {
            Ok(0) => {
                self.tally.add(Counter::FileFaults, 1);
                peer.session.failed();
            }
            Ok(n) => {
                self.tally.add(Counter::Bytes, n);
                self.budget = self.budget.saturating_sub(n);
                peer.writable = n >= enough;
                if let Some(reply) = peer.session.sent(n, self.now) {
                    self.finish(peer, reply);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => peer.writable = false,
            Err(e) => self.broke_off(peer, &e),
        }
        Progress::Went
    }

    fn finish(&mut self, peer: &mut Connection, reply: h1::Reply) {
        count(reply, self.tally);
        if let Some(journal) = &mut peer.journal {
            journal.finish(reply, self.server, self.log.as_deref_mut(), self.now, self.tally);
        }
    }

    fn broke_off(&mut self, peer: &mut Connection, error: &io::Error) {
        self.tally.add(fault(error), 1);
        peer.session.failed();
    }
}

/// The step of a request that a miss belongs to.
pub(crate) fn step_of(miss: &Miss<File>) -> Step {
    match miss {
        Miss::Path(_) => Step::Path,
        Miss::Pages(_) | Miss::More(_) => Step::Pages,
    }
}

/// Whose fault an error on a socket or a file is.
pub(crate) fn fault(error: &io::Error) -> Counter {
    if os::is_peer_gone(error) { Counter::PeerFaults } else { Counter::MachineFaults }
}

/// Counts what a load came to, if that is somebody's fault: no page of a file that shrank, or a
/// disk or a machine that refused.
pub(crate) fn count_fault(loaded: &Loaded<File>, tally: &mut Tally) {
    match loaded {
        Loaded::More(piece) if piece.bytes().is_empty() => tally.add(Counter::FileFaults, 1),
        Loaded::Status(status) => count_status(*status, tally),
        Loaded::Answer(answer) => count_status(answer.representation.status, tally),
        _ => {}
    }
}

fn count_status(status: Status, tally: &mut Tally) {
    if status >= Status::INTERNAL_SERVER_ERROR {
        tally.add(Counter::MachineFaults, 1);
    }
}

/// Sends up to `most` bytes of a file part; 0 if the file has become shorter.
pub(crate) fn send_part(
    socket: &Socket,
    part: &FilePart<File>,
    most: u64,
    how: Option<Sendfile>,
) -> io::Result<u64> {
    match how {
        Some(Sendfile::Off) => {
            let end = part.end.min(part.at + most);
            let piece = crate::shared::server::piece(&FilePart { end, ..part.clone() })?;
            if piece.bytes().is_empty() {
                return Ok(0);
            }
            let more = part.at + (piece.bytes().len() as u64) < part.end;
            Ok(socket.send(piece.bytes(), more)? as u64)
        }
        _ => socket.send_file(&part.file, part.at, most),
    }
}
