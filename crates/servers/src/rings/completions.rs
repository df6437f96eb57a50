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
use crate::rings::connection::{Party, Piece, Receive};
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Clock;
use crate::shared::server::House;
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
    house: &'h House,
    worker: usize,
    ring: Ring,
    clock: Clock,
    now: Now,
    parties: Slots<Party>,
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
    pub(crate) fn new(house: &'h House, worker: usize) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let mut ring = ring(house.connections_max as u64)?;
        ring.poll(house.orders.wake(), ORDER)?;
        let mut clock = Clock::new();
        let log = crate::shared::log::start(house, worker)?;
        house.started(worker);
        Ok(Self {
            house,
            worker,
            ring,
            now: clock.now(),
            clock,
            parties: Slots::new(),
            timers: Timers::new(),
            touched: Vec::new(),
            gate: Gate::new(house.connections_max),
            accepts: vec![Accepts::default(); house.listeners.len()],
            ordered: false,
            pieces_bytes: 0,
            tally: Tally::default(),
            log,
        })
    }

    /// Until drained.
    pub(crate) fn goes_on(&self) -> bool {
        !self.gate.is_draining() || !self.parties.is_empty() || self.gate.due().is_some()
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
                let Some(party) = self.parties.named(token) else { return Ok(true) };
                party.received(received, more, &self.now, &mut self.tally);
                party.touch(token, &mut self.touched);
                if party.is_far_ahead() {
                    party.receive = Receive::Ends;
                    self.ring.cancel(token)?;
                }
            }
            Done::Sent(sent) => self.sent(token, sent),
            Done::Read(read) => self.read(token, read)?,
            Done::Shut(_) => {
                let Some(party) = self.parties.named(token) else { return Ok(true) };
                party.shutting -= 1;
                party.touch(token, &mut self.touched);
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
            if let Some(party) = self.parties.named(token) {
                party.touched = false;
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
            let Some((token, party)) = self.parties.at(slot) else { continue };
            let is_over = party.closing || party.session.expired(&self.now);
            self.tally.add(Counter::Timeouts, u64::from(is_over));
            if is_over && matches!(party.session.want(), Want::Close) {
                // What is in flight, or a peer that does not close either, is made to end.
                party.closing = true;
                party.shut = true;
                self.ring.shutdown(party.handle, How::Both, token)?;
                party.shutting += 1;
            } else {
                self.start(token)?;
            }
        }
        self.tally.publish(&self.house.counters, self.worker);
        self.house.counters.count_switches(self.now.date.seconds);
        Ok(())
    }

    /// Before a deadline takes effect: what has come by now is looked at first. One entry into the
    /// kernel may bring only a few of many completions.
    fn catch_up(&mut self) -> io::Result<()> {
        for _ in 0..=self.parties.len() {
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
        let Some(party) = self.parties.named(token) else { return };
        party.introduce(socket.ok().and_then(|socket| socket.peer_ip()), &self.now);
        if self.house.asks_who {
            party.touch(token, &mut self.touched);
        }
    }

    fn sent(&mut self, token: u64, sent: io::Result<usize>) {
        let Some(party) = self.parties.named(token) else { return };
        party.busy = false;
        party.touch(token, &mut self.touched);
        match sent {
            Ok(n) => {
                self.tally.add(Counter::Bytes, n as u64);
                let Some(reply) = party.session.sent(n as u64, &self.now) else { return };
                self.pieces_bytes -= party.let_go();
                count(reply, &mut self.tally);
                if let Some(witness) = &mut party.witness {
                    let log = self.log.as_mut();
                    witness.finish(reply, self.house, log, &self.now, &mut self.tally);
                }
            }
            Err(e) => party.broke_off(&e, &mut self.tally),
        }
    }

    /// Bytes of a file: for the cache, for the session, or to be sent as they are.
    fn read(&mut self, token: u64, read: io::Result<Shared<[u8]>>) -> io::Result<()> {
        let Some(party) = self.parties.named(token) else { return Ok(()) };
        party.busy = false;
        party.mark(Step::Pages, Performer::Ring);
        if let Some(mut opening) = party.opening.take() {
            opening.read(read);
            let loaded = self.house.site.keep(*opening, &self.now);
            count_fault(&loaded, &mut self.tally);
            party.session.loaded(loaded, &self.now);
        } else {
            match (read, party.session.want()) {
                (Err(_), Want::Load(_)) => {
                    let loaded = Loaded::Status(Status::INTERNAL_SERVER_ERROR);
                    count_fault(&loaded, &mut self.tally);
                    party.session.loaded(loaded, &self.now);
                }
                (Err(e), _) => party.broke_off(&e, &mut self.tally),
                (Ok(bytes), _) if bytes.is_empty() => {
                    self.tally.add(Counter::FileFaults, 1);
                    party.session.failed();
                }
                (Ok(bytes), Want::Load(Miss::More(_))) => {
                    party.session.loaded(Loaded::More(Chunk::whole(bytes)), &self.now);
                }
                (Ok(bytes), Want::Load(Miss::Pages(part))) => {
                    party.piece = Some(Piece { at: part.at, bytes });
                    party.session.loaded(Loaded::Pages, &self.now);
                }
                (Ok(bytes), Want::Send(_, Some(part))) => {
                    party.piece = Some(Piece { at: part.at, bytes });
                }
                _ => {}
            }
        }
        self.start(token)
    }

    /// Performs what needs no waiting, until an operation is in flight or bytes are awaited.
    fn start(&mut self, token: u64) -> io::Result<()> {
        while let Some(party) = self.parties.named(token) {
            if party.busy {
                break;
            }
            match party.session.want() {
                Want::Recv => {
                    party.ahead_bytes = 0;
                    if party.receive == Receive::Off {
                        self.ring.recv(party.handle, token)?;
                        party.receive = Receive::Armed;
                    }
                    break;
                }
                Want::Find(head) => {
                    let found = self.house.site.find(&head, &self.now);
                    self.tally.add(Counter::Requests, 1);
                    self.tally.add(Counter::Loads, u64::from(matches!(found, Found::Miss(_))));
                    if let Some(witness) = &mut party.witness {
                        witness.note(&*party.session);
                        witness.mark(Step::Find, Performer::Loop);
                    }
                    self.house.orders.tell_near_end(&mut *party.session, &self.now);
                    party.session.found(found, &self.now);
                }
                Want::Load(miss) => self.load(token, miss)?,
                Want::Send(..) => self.send(token)?,
                Want::Shut => {
                    if !mem::replace(&mut party.shut, true) {
                        self.ring.shutdown(party.handle, How::Write, token)?;
                        party.shutting += 1;
                    }
                    party.session.shut(&self.now);
                }
                Want::Close => return self.close(token),
            }
        }
        if let Some(party) = self.parties.named(token) {
            self.timers.set(token as u32, party.session.deadline());
        }
        Ok(())
    }

    /// Closes once nothing is in flight. An armed receive holds the socket: it ends with the peer's
    /// FIN, which ours mostly brings about, or is made to end.
    fn close(&mut self, token: u64) -> io::Result<()> {
        let Some(party) = self.parties.named(token) else { return Ok(()) };
        if party.receive != Receive::Off {
            if mem::replace(&mut party.closing, true) {
                return Ok(());
            }
            let at = self.now.at + self.house.limits.linger_timeout;
            let deadline = Deadline { timeout: Timeout::Linger, at };
            self.timers.set(token as u32, party.shut.then_some(deadline));
            if !party.shut {
                self.ring.shutdown(party.handle, How::Both, token)?;
                party.shutting += 1;
            }
            return Ok(());
        }
        self.timers.set(token as u32, None);
        if party.shutting > 0 {
            return Ok(());
        }
        if let Some(mut party) = self.parties.remove(token) {
            self.pieces_bytes -= party.let_go();
            self.ring.close(party.handle)?;
            self.tally.add(Counter::Closed, 1);
        }
        self.gate.closed(self.parties.len());
        Ok(())
    }

    /// Takes what has come, connections and bytes; every connection ends after what it has.
    fn drain(&mut self) -> io::Result<()> {
        self.gate.drain(self.house.waiting_max(), self.parties.len());
        if self.house.orders.is_retiring() {
            self.hand_on()?;
        }
        self.accept_waiting()?;
        for token in self.parties.tokens() {
            if let Some(party) = self.parties.named(token) {
                self.house.orders.tell(&mut *party.session, &self.now);
                party.touch(token, &mut self.touched);
            }
        }
        Ok(())
    }

    /// A path is translated and its file opened here; what is in the file is read by the ring.
    fn load(&mut self, token: u64, miss: Miss<File>) -> io::Result<()> {
        let Some(party) = self.parties.named(token) else { return Ok(()) };
        match miss {
            Miss::Path(lookup) => {
                let begun = os::clock::monotonic();
                let opening = self.house.site.open(&lookup);
                let blocked = os::clock::monotonic() - begun;
                self.tally.add(Counter::Blocked, blocked.as_nanos() as u64);
                party.mark(Step::Path, Performer::Loop);
                match opening.unread().filter(|part| !part.is_empty()) {
                    Some(part) => {
                        party.opening = Some(Box::new(opening));
                        party.busy = true;
                        self.ring.read(&part.file, part.at, part.len() as usize, token)?;
                        self.tally.add(Counter::HandOvers, 1);
                    }
                    None => {
                        let loaded = self.house.site.keep(opening, &self.now);
                        count_fault(&loaded, &mut self.tally);
                        party.session.loaded(loaded, &self.now);
                    }
                }
                Ok(())
            }
            Miss::Pages(part) | Miss::More(part) => self.read_part(token, &part),
        }
    }

    fn read_part(&mut self, token: u64, part: &FilePart<File>) -> io::Result<()> {
        let Some(party) = self.parties.named(token) else { return Ok(()) };
        // What it had is sent.
        self.pieces_bytes -= party.let_go();
        let is_much = self.pieces_bytes > PIECES_BYTES_MAX;
        let bytes = part.len().min(if is_much { READ_BYTES_MIN } else { READ_BYTES });
        self.ring.read(&part.file, part.at, bytes as usize, token)?;
        self.pieces_bytes += bytes;
        party.piece_bytes = bytes;
        self.tally.add(Counter::HandOvers, 1);
        party.busy = true;
        Ok(())
    }

    fn send(&mut self, token: u64) -> io::Result<()> {
        let Some(party) = self.parties.named(token) else { return Ok(()) };
        if let Some(witness) = &mut party.witness {
            witness.note(&*party.session);
            witness.mark(Step::Send, Performer::Ring);
        }
        let Want::Send(chunk, part) = party.session.want() else { return Ok(()) };
        let part = part.filter(|part| !part.is_empty());
        let closes = party.session.closes();
        let is_head = !chunk.bytes().is_empty();
        let (bytes, range, last) = match (part, &party.piece) {
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
                party.session.failed();
                return Ok(());
            }
        };
        if closes && last && range.1 - range.0 <= SENT_THEN_SHUT_MAX {
            party.shut = true;
            party.shutting += 1;
            self.ring.send_then_shut(party.handle, bytes, range, token)?;
        } else {
            let more = !last && (!is_head || self.house.limits.gather);
            self.ring.send(party.handle, bytes, range, more, token)?;
        }
        party.busy = true;
        Ok(())
    }
}
