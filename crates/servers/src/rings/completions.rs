//! The verbs of the completion loops: accept, submit_and_wait, complete, start, expire.
//!
//! A connection has at most one receive in flight, which stays armed while it sends, and at most
//! one other operation. It is freed when the last of them has come back.

mod accepts;

use std::{io, mem};

use h1::{Chunk, Deadline, FilePart, Found, Loaded, Miss, Now, Shared, Status, Timeout, Want};
use os::ring::{Done, How, Ring, RingSettings};
use os::{File, Socket};

use crate::connection::count;
use crate::connection::gate::Gate;
use crate::connection::perform::count_fault;
use crate::connection::slots::{Slots, TOKENS_END};
use crate::connection::timers::Timers;
use crate::rings::connection::{Piece, Receive, RingConnection};
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Clock;
use crate::shared::server::Server;
use crate::shared::trace::Step;

use accepts::Accepts;

/// Tokens that are no connection's.
const ORDER: u64 = u64::MAX;
const LISTENER_0: u64 = TOKENS_END;

/// Bytes of a file that one read brings: most files in one, and no reader far behind. Also the
/// window of a session here, so that each is read as a load: a slow disk is no slow client.
pub(crate) const READ_BYTES: u64 = 128 << 10;
/// What is read and not yet sent, of all connections; beyond it each read brings less, because
/// thousands of slow clients would otherwise hold gigabytes. The other reads of a window are then
/// the client's time.
const PIECES_BYTES_MAX: u64 = 64 << 20;
const READ_BYTES_MIN: u64 = 16 << 10;
/// Operations queued between two submissions.
const ENTRIES: u32 = 1024;
/// Provided buffers: as many receives as may complete in one round, each one head large.
const BUFFERS: u16 = 4096;
const BUFFER_BYTES: u32 = 2048;
/// Slots beyond the maximum of connections. The kernel closes whoever it accepted and has no slot
/// for, so there are some for those that come while accepting is being stopped.
const SLOTS_BEYOND: u64 = 1024;
/// What the kernel takes as the size of a table of sockets (IORING_MAX_FIXED_FILES).
const HANDLES_MAX: u64 = 1 << 20;
/// Bytes that go out together with FIN: behind more, a slow client's progress would not be seen.
const SENT_THEN_SHUT_MAX: usize = 16 << 10;

/// A completion loop's state.
pub(crate) struct Completions<'h> {
    server: &'h Server,
    worker: usize,
    ring: Ring,
    clock: Clock,
    now: Now,
    connections: Slots<RingConnection>,
    timers: Timers,
    /// Connections for which something completed in this round.
    touched: Vec<u64>,
    gate: Gate,
    /// Of each listening socket.
    accepts: Vec<Accepts>,
    /// The order to drain has come and is yet to be obeyed.
    ordered: bool,
    /// Bytes being read, or read and not yet sent.
    pieces_bytes: u64,
    tally: Tally,
    log: Option<AccessLog>,
}

/// The ring of a worker for so many connections.
pub(crate) fn ring(connections: u64) -> io::Result<Ring> {
    Ring::new(&RingSettings {
        entries: ENTRIES,
        completions: 16_384,
        buffers: BUFFERS,
        buffer_bytes: BUFFER_BYTES,
        // The kernel takes no more of them than a process may have descriptors.
        handles: os::limits::descriptors().min(connections + SLOTS_BEYOND).min(HANDLES_MAX) as u32,
    })
}

impl<'h> Completions<'h> {
    pub(crate) fn new(server: &'h Server, worker: usize) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let mut ring = ring(server.connections_max as u64)?;
        ring.poll(server.orders.wake(), ORDER)?;
        let mut clock = Clock::new();
        let log = crate::shared::log::start(server, worker)?;
        server.started(worker);
        Ok(Self {
            server,
            worker,
            ring,
            now: clock.now(),
            clock,
            connections: Slots::new(),
            timers: Timers::new(),
            touched: Vec::new(),
            gate: Gate::new(server.connections_max),
            accepts: vec![Accepts::default(); server.listeners.len()],
            ordered: false,
            pieces_bytes: 0,
            tally: Tally::default(),
            log,
        })
    }

    /// Until drained.
    pub(crate) fn goes_on(&self) -> bool {
        !self.gate.is_draining() || !self.connections.is_empty() || self.gate.due().is_some()
    }

    /// Enters the kernel once: submits what was started, waits for a completion or a deadline.
    pub(crate) fn submit_and_wait(&mut self) -> io::Result<()> {
        let before = self.now.at;
        let due = self.timers.earliest().into_iter().chain(self.gate.due()).min();
        self.ring.submit_and_wait(1, due.map(|at| at - self.now.at))?;
        self.now = self.clock.now();
        self.gate.tick(self.now.at);
        self.tally.add(Counter::GeteventsCalls, 1);
        self.tally.add(Counter::GeteventsNs, (self.now.at - before).as_nanos() as u64);
        Ok(())
    }

    /// Takes one completion to the connection it belongs to; `false`: there are no more.
    pub(crate) fn complete(&mut self) -> io::Result<bool> {
        let Some(completion) = self.ring.completion() else { return Ok(false) };
        self.tally.add(Counter::Events, 1);
        let (token, more) = (completion.token, completion.more);
        match completion.done {
            Done::Accepted(accepted) => {
                let accepts = &mut self.accepts[(token - LISTENER_0) as usize];
                accepts.in_flight -= u32::from(!more);
                accepts.end &= accepts.in_flight > 0;
                self.accepted(accepted, more)?;
            }
            Done::Ready(_) => self.ordered = true,
            Done::Received(received) => {
                let Some(connection) = self.connections.named(token) else { return Ok(true) };
                connection.received(received, more, &self.now, &mut self.tally);
                connection.touch(token, &mut self.touched);
                if connection.is_far_ahead() {
                    connection.receive = Receive::Ends;
                    self.ring.cancel(token)?;
                }
            }
            Done::Sent(sent) => self.sent(token, sent),
            Done::Read(read) => self.read(token, read)?,
            Done::Shut(_) => {
                let Some(connection) = self.connections.named(token) else { return Ok(true) };
                connection.shutting -= 1;
                connection.touch(token, &mut self.touched);
            }
            Done::Installed(socket) => self.introduce(token, socket),
        }
        Ok(true)
    }

    /// Starts what every connection of this round wants next.
    pub(crate) fn start_all(&mut self) -> io::Result<()> {
        if mem::take(&mut self.ordered) {
            self.drain()?;
        }
        self.start_touched()?;
        // Whoever went has made room, and the last to go is not the end while others wait.
        while self.gate.is_draining() && self.gate.is_open() {
            self.accept_waiting()?;
            self.start_touched()?;
        }
        Ok(())
    }

    fn start_touched(&mut self) -> io::Result<()> {
        let mut touched = mem::take(&mut self.touched);
        self.tally.add(Counter::WorkPhases, u64::from(!touched.is_empty()));
        self.tally.add(Counter::Worked, touched.len() as u64);
        for token in touched.drain(..) {
            if let Some(connection) = self.connections.named(token) {
                connection.touched = false;
                self.start(token)?;
            }
        }
        self.touched = touched;
        Ok(())
    }

    /// Lets deadlines that have passed take effect, and publishes what was counted.
    pub(crate) fn expire(&mut self) -> io::Result<()> {
        self.catch_up()?;
        while let Some(slot) = self.timers.passed(self.now.at) {
            let Some((token, connection)) = self.connections.at(slot) else { continue };
            let is_over = connection.closing || connection.session.expired(&self.now);
            self.tally.add(Counter::Timeouts, u64::from(is_over));
            if is_over && matches!(connection.session.want(), Want::Close) {
                // What is in flight, or a peer that does not close either, is made to end.
                connection.closing = true;
                connection.shut = true;
                self.ring.shutdown(connection.handle, How::Both, token)?;
                connection.shutting += 1;
            } else {
                self.start(token)?;
            }
        }
        self.tally.publish(&self.server.counters, self.worker);
        self.server.counters.count_switches(self.now.date.seconds);
        Ok(())
    }

    /// Before a deadline takes effect: what has come by now is looked at first. One entry into the
    /// kernel may bring only a few of many completions.
    fn catch_up(&mut self) -> io::Result<()> {
        for _ in 0..=self.connections.len() {
            if self.timers.earliest().is_none_or(|at| at > self.now.at) {
                break;
            }
            self.ring.submit_and_wait(0, None)?;
            if !self.complete()? {
                break;
            }
            while self.complete()? {}
            self.start_all()?;
        }
        Ok(())
    }

    /// Log and sessions know peers by address, and a slot of the ring cannot be asked for it.
    fn introduce(&mut self, token: u64, socket: io::Result<Socket>) {
        let Some(connection) = self.connections.named(token) else { return };
        connection.introduce(socket.ok().and_then(|socket| socket.peer_ip()), &self.now);
        if self.server.asks_who {
            connection.touch(token, &mut self.touched);
        }
    }

    fn sent(&mut self, token: u64, sent: io::Result<usize>) {
        let Some(connection) = self.connections.named(token) else { return };
        connection.busy = false;
        connection.touch(token, &mut self.touched);
        match sent {
            Ok(n) => {
                self.tally.add(Counter::Bytes, n as u64);
                let Some(reply) = connection.session.sent(n as u64, &self.now) else { return };
                self.pieces_bytes -= connection.let_go();
                count(reply, &mut self.tally);
                if let Some(journal) = &mut connection.journal {
                    let log = self.log.as_mut();
                    journal.finish(reply, self.server, log, &self.now, &mut self.tally);
                }
            }
            Err(e) => connection.broke_off(&e, &mut self.tally),
        }
    }

    /// Bytes of a file: for the cache, for the session, or to be sent as they are.
    fn read(&mut self, token: u64, read: io::Result<Shared<[u8]>>) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        connection.busy = false;
        connection.mark(Step::Pages, Performer::Ring);
        if let Some(mut opening) = connection.opening.take() {
            opening.read(read);
            let loaded = self.server.site.keep(*opening, &self.now);
            count_fault(&loaded, &mut self.tally);
            connection.session.loaded(loaded, &self.now);
        } else {
            match (read, connection.session.want()) {
                (Err(_), Want::Load(_)) => {
                    let loaded = Loaded::Status(Status::INTERNAL_SERVER_ERROR);
                    count_fault(&loaded, &mut self.tally);
                    connection.session.loaded(loaded, &self.now);
                }
                (Err(e), _) => connection.broke_off(&e, &mut self.tally),
                (Ok(bytes), _) if bytes.is_empty() => {
                    self.tally.add(Counter::FileFaults, 1);
                    connection.session.failed();
                }
                (Ok(bytes), Want::Load(Miss::More(_))) => {
                    connection.session.loaded(Loaded::More(Chunk::whole(bytes)), &self.now);
                }
                (Ok(bytes), Want::Load(Miss::Pages(part))) => {
                    connection.piece = Some(Piece { at: part.at, bytes });
                    connection.session.loaded(Loaded::Pages, &self.now);
                }
                (Ok(bytes), Want::Send(_, Some(part))) => {
                    connection.piece = Some(Piece { at: part.at, bytes });
                }
                _ => {}
            }
        }
        self.start(token)
    }

    /// Performs what needs no waiting, until an operation is in flight or bytes are awaited.
    fn start(&mut self, token: u64) -> io::Result<()> {
        while let Some(connection) = self.connections.named(token) {
            if connection.busy {
                break;
            }
            match connection.session.want() {
                Want::Recv => {
                    connection.ahead_bytes = 0;
                    if connection.receive == Receive::Off {
                        self.ring.recv(connection.handle, token)?;
                        connection.receive = Receive::Armed;
                    }
                    break;
                }
                Want::Find(head) => {
                    let found = self.server.site.find(&head, &self.now);
                    self.tally.add(Counter::Requests, 1);
                    self.tally.add(Counter::Loads, u64::from(matches!(found, Found::Miss(_))));
                    if let Some(journal) = &mut connection.journal {
                        journal.note(&*connection.session);
                        journal.mark(Step::Find, Performer::Loop);
                    }
                    self.server.orders.tell_near_end(&mut *connection.session, &self.now);
                    connection.session.found(found, &self.now);
                }
                Want::Load(miss) => self.load(token, miss)?,
                Want::Send(..) => self.send(token)?,
                Want::Shut => {
                    if !mem::replace(&mut connection.shut, true) {
                        self.ring.shutdown(connection.handle, How::Write, token)?;
                        connection.shutting += 1;
                    }
                    connection.session.shut(&self.now);
                }
                Want::Close => return self.close(token),
            }
        }
        if let Some(connection) = self.connections.named(token) {
            self.timers.set(token as u32, connection.session.deadline());
        }
        Ok(())
    }

    /// Closes once nothing is in flight. An armed receive holds the socket: it ends with the peer's
    /// FIN, which ours mostly brings about, or is made to end.
    fn close(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        if connection.receive != Receive::Off {
            if mem::replace(&mut connection.closing, true) {
                return Ok(());
            }
            let at = self.now.at + self.server.limits.linger_timeout;
            let deadline = Deadline { timeout: Timeout::Linger, at };
            self.timers.set(token as u32, connection.shut.then_some(deadline));
            if !connection.shut {
                self.ring.shutdown(connection.handle, How::Both, token)?;
                connection.shutting += 1;
            }
            return Ok(());
        }
        self.timers.set(token as u32, None);
        if connection.shutting > 0 {
            return Ok(());
        }
        if let Some(mut connection) = self.connections.remove(token) {
            self.pieces_bytes -= connection.let_go();
            self.ring.close(connection.handle)?;
            self.tally.add(Counter::Closed, 1);
        }
        self.gate.closed(self.connections.len());
        Ok(())
    }

    /// Takes what has come, connections and bytes; every connection ends after what it has.
    fn drain(&mut self) -> io::Result<()> {
        self.gate.drain(self.server.waiting_max(), self.connections.len());
        if self.server.orders.is_retiring() {
            self.hand_on()?;
        }
        self.accept_waiting()?;
        for token in self.connections.tokens() {
            if let Some(connection) = self.connections.named(token) {
                self.server.orders.tell(&mut *connection.session, &self.now);
                connection.touch(token, &mut self.touched);
            }
        }
        Ok(())
    }

    /// A path is translated and its file opened here; what is in the file is read by the ring.
    fn load(&mut self, token: u64, miss: Miss<File>) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        match miss {
            Miss::Path(lookup) => {
                let begun = os::clock::monotonic();
                let opening = self.server.site.open(&lookup);
                let blocked = os::clock::monotonic() - begun;
                self.tally.add(Counter::Blocked, blocked.as_nanos() as u64);
                connection.mark(Step::Path, Performer::Loop);
                match opening.unread().filter(|part| !part.is_empty()) {
                    Some(part) => {
                        connection.opening = Some(Box::new(opening));
                        connection.busy = true;
                        self.ring.read(&part.file, part.at, part.len() as usize, token)?;
                        self.tally.add(Counter::HandOvers, 1);
                    }
                    None => {
                        let loaded = self.server.site.keep(opening, &self.now);
                        count_fault(&loaded, &mut self.tally);
                        connection.session.loaded(loaded, &self.now);
                    }
                }
                Ok(())
            }
            Miss::Pages(part) | Miss::More(part) => self.read_part(token, &part),
        }
    }

    fn read_part(&mut self, token: u64, part: &FilePart<File>) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        // What it had is sent.
        self.pieces_bytes -= connection.let_go();
        let is_much = self.pieces_bytes > PIECES_BYTES_MAX;
        let bytes = part.len().min(if is_much { READ_BYTES_MIN } else { READ_BYTES });
        self.ring.read(&part.file, part.at, bytes as usize, token)?;
        self.pieces_bytes += bytes;
        connection.piece_bytes = bytes;
        self.tally.add(Counter::HandOvers, 1);
        connection.busy = true;
        Ok(())
    }

    fn send(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        if let Some(journal) = &mut connection.journal {
            journal.note(&*connection.session);
            journal.mark(Step::Send, Performer::Ring);
        }
        let Want::Send(chunk, part) = connection.session.want() else { return Ok(()) };
        let part = part.filter(|part| !part.is_empty());
        let closes = connection.session.closes();
        let is_head = !chunk.bytes().is_empty();
        let (bytes, range, last) = match (part, &connection.piece) {
            (part, _) if is_head => (chunk.of.clone(), (chunk.at, chunk.end), part.is_none()),
            (Some(part), Some(piece)) if piece.covers(part.at) => {
                let range = piece.range(part);
                (piece.bytes.clone(), range, part.at + (range.1 - range.0) as u64 == part.end)
            }
            (Some(part), _) => {
                let part = part.clone();
                return self.read_part(token, &part);
            }
            (None, _) => {
                connection.session.failed();
                return Ok(());
            }
        };
        if closes && last && range.1 - range.0 <= SENT_THEN_SHUT_MAX {
            connection.shut = true;
            connection.shutting += 1;
            self.ring.send_then_shut(connection.handle, bytes, range, token)?;
        } else {
            let more = !last && (!is_head || self.server.limits.gather);
            self.ring.send(connection.handle, bytes, range, more, token)?;
        }
        connection.busy = true;
        Ok(())
    }
}
