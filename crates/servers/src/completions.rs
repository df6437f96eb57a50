//! The verbs of the completion loops: accept, submit_and_wait, complete, start, expire.
//!
//! A connection has at most one receive in flight, which stays armed while it sends, and at most
//! one other operation. It is freed when the last of them has come back.

use std::{io, mem};

use h1::{Chunk, Deadline, FilePart, Loaded, Miss, Now, Shared, Timeout, Want};
use measure::Instant;
use os::ring::{Done, Handle, How, Ring, RingSettings};
use os::{File, Socket};

use crate::House;
use crate::counters::{Counter, Tally};
use crate::house::Clock;
use crate::log::AccessLog;
use crate::party::{Party, Piece};
use crate::peer::count;
use crate::perform::count_fault;
use crate::phases::LISTEN_AGAIN;
use crate::registry::Performer;
use crate::settings::ACCEPT_INF;
use crate::slots::{Slots, TOKENS_END};
use crate::timers::Timers;
use crate::trace::Step;

/// Tokens that are no connection's.
const ORDER: u64 = u64::MAX;
const LISTENER_0: u64 = TOKENS_END;

/// Bytes of a file that one read brings: most files in one, and no reader far behind.
const READ_BYTES: u64 = 128 << 10;
/// Provided buffers: as many receives as may complete in one round, each one head large.
const BUFFERS: u16 = 4096;
const BUFFER_BYTES: u32 = 2048;
/// Slots beyond the maximum of connections: for those that came while accepting was stopped.
const SLOTS_BEYOND: u64 = 1024;
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
    /// Accepts that have not come back for the last time.
    accepting: u32,
    listening: bool,
    /// The machine had no descriptor: others may have given some back by then.
    listen_again: Option<Instant>,
    /// The order to drain has come and is yet to be obeyed.
    ordered: bool,
    draining: bool,
    tally: Tally,
    log: Option<AccessLog>,
}

impl<'h> Completions<'h> {
    pub(crate) fn new(house: &'h House, worker: usize) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let settings = &house.settings;
        let connections = house.connections_max as u64;
        let mut ring = Ring::new(&RingSettings {
            entries: settings.events_max.next_power_of_two().clamp(64, 4096),
            completions: 16_384,
            buffers: BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            // The kernel takes no more of them than a process may have descriptors.
            handles: os::limits::descriptors().min(connections + SLOTS_BEYOND) as u32,
        })?;
        ring.poll(house.orders.wake(), ORDER)?;
        let mut clock = Clock::new();
        Ok(Self {
            house,
            worker,
            ring,
            now: clock.now(),
            clock,
            parties: Slots::new(),
            timers: Timers::new(),
            touched: Vec::new(),
            accepting: 0,
            listening: true,
            listen_again: None,
            ordered: false,
            draining: false,
            tally: Tally::default(),
            log: settings.access_log.as_deref().map(crate::log::start).transpose()?,
        })
    }

    /// Until drained.
    pub(crate) fn goes_on(&self) -> bool {
        !self.draining || !self.parties.is_empty()
    }

    /// Submits what takes connections, unless that is still in flight.
    pub(crate) fn accept(&mut self, limit: u32) -> io::Result<()> {
        if self.accepting > 0 || !self.listening {
            return Ok(());
        }
        self.tally.add(Counter::AcceptPhases, 1);
        let house = self.house;
        for (n, listener) in house.listeners.iter().enumerate() {
            let shots = if limit == ACCEPT_INF { 1 } else { limit.min(1024) };
            for _ in 0..shots {
                self.ring.accept(listener, LISTENER_0 + n as u64, limit == ACCEPT_INF)?;
                self.accepting += 1;
            }
        }
        Ok(())
    }

    /// Enters the kernel once: submits what was started, waits for a completion or a deadline.
    pub(crate) fn submit_and_wait(&mut self) -> io::Result<()> {
        let before = self.now.at;
        let due = self.timers.earliest().into_iter().chain(self.listen_again).min();
        self.ring.submit_and_wait(1, due.map(|at| at - self.now.at))?;
        self.now = self.clock.now();
        if self.listen_again.take_if(|at| *at <= self.now.at).is_some() {
            self.listening = !self.draining;
        }
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
                self.accepting -= u32::from(!more);
                self.accepted(accepted)?;
            }
            Done::Ready(_) => self.ordered = true,
            Done::Received(received) => {
                let Some(party) = self.parties.named(token) else { return Ok(true) };
                party.received(received, more, &self.now, &mut self.tally);
                self.touched.push(token);
                if party.is_far_ahead() {
                    self.ring.cancel(token)?;
                }
            }
            Done::Sent(sent) => self.sent(token, sent),
            Done::Read(read) => self.read(token, read)?,
            Done::Shut(_) => {
                let Some(party) = self.parties.named(token) else { return Ok(true) };
                party.shutting -= 1;
                self.touched.push(token);
            }
            Done::Installed(socket) => self.introduce(token, socket),
        }
        Ok(true)
    }

    /// Starts what every connection of this round wants next.
    pub(crate) fn start_all(&mut self) -> io::Result<()> {
        if mem::take(&mut self.ordered) {
            self.draining = true;
            self.drain()?;
        }
        let mut touched = mem::take(&mut self.touched);
        self.tally.add(Counter::WorkPhases, u64::from(!touched.is_empty()));
        self.tally.add(Counter::Worked, touched.len() as u64);
        for token in touched.drain(..) {
            self.start(token)?;
        }
        self.touched = touched;
        Ok(())
    }

    /// Lets deadlines that have passed take effect, and publishes what was counted.
    pub(crate) fn expire(&mut self) -> io::Result<()> {
        while let Some(slot) = self.timers.passed(self.now.at) {
            let Some((token, party)) = self.parties.at(slot) else { continue };
            self.tally.add(Counter::Timeouts, 1);
            if !party.closing {
                party.session.expired(&self.now);
            }
            if party.closing || (party.busy && matches!(party.session.want(), Want::Close)) {
                // What is in flight, or a peer that does not close either, is made to end.
                self.ring.shutdown(party.handle, How::Both, token)?;
                party.shutting += 1;
            } else {
                self.start(token)?;
            }
        }
        if let Some(log) = &mut self.log {
            log.flush_if_due(&self.now, &mut self.tally);
        }
        self.tally.publish(&self.house.counters, self.worker);
        Ok(())
    }

    fn accepted(&mut self, accepted: io::Result<Handle>) -> io::Result<()> {
        let handle = match accepted {
            Ok(handle) => handle,
            Err(e) if os::is_out_of_descriptors(&e) => {
                self.tally.add(Counter::MachineFaults, 1);
                self.listen_again = Some(self.now.at + LISTEN_AGAIN);
                return self.hold_back();
            }
            // That one connection's misfortune.
            Err(_) => return Ok(()),
        };
        self.tally.add(Counter::Accepted, 1);
        let mut party = Party::new(handle, self.house, self.log.is_some(), &self.now);
        if self.draining {
            party.session.drain();
        }
        let token = self.parties.insert(handle.slot(), party);
        if self.log.is_some() {
            self.ring.install(handle, token)?;
        }
        self.touched.push(token);
        if self.parties.len() >= self.house.connections_max { self.hold_back() } else { Ok(()) }
    }

    /// The log names peers by address, and a slot of the ring cannot be asked for it.
    fn introduce(&mut self, token: u64, socket: io::Result<Socket>) {
        let party = self.parties.named(token);
        if let (Some(party), Ok(socket)) = (party, socket) {
            party.introduce(socket.peer_ip());
        }
    }

    fn sent(&mut self, token: u64, sent: io::Result<usize>) {
        let Some(party) = self.parties.named(token) else { return };
        party.busy = false;
        self.touched.push(token);
        match sent {
            Ok(n) => {
                self.tally.add(Counter::Bytes, n as u64);
                let Some(reply) = party.session.sent(n as u64, &self.now) else { return };
                party.piece = None;
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
                (Err(e), _) => party.broke_off(&e, &mut self.tally),
                (Ok(bytes), _) if bytes.is_empty() => {
                    self.tally.add(Counter::FileFaults, 1);
                    party.session.failed();
                }
                (Ok(bytes), Want::Load(_)) => {
                    party.session.loaded(Loaded::More(Chunk::whole(bytes)), &self.now);
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
                    if !party.receiving {
                        self.ring.recv(party.handle, token)?;
                        party.receiving = true;
                    }
                    break;
                }
                Want::Find(head) => {
                    let found = self.house.site.find(&head, &self.now);
                    self.tally.add(Counter::Requests, 1);
                    if let Some(witness) = &mut party.witness {
                        witness.note(&*party.session);
                        witness.mark(Step::Find, Performer::Loop);
                    }
                    party.session.found(found, &self.now);
                }
                Want::Load(miss) => {
                    self.tally.add(Counter::Loads, 1);
                    load(&mut self.ring, party, miss, self.house, &self.now, token)?;
                }
                Want::Send(..) => send(&mut self.ring, party, token)?,
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
        if party.receiving {
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
        if let Some(party) = self.parties.remove(token) {
            self.ring.close(party.handle)?;
            self.tally.add(Counter::Closed, 1);
        }
        let open = self.parties.len();
        self.listening |= !self.draining && open <= self.house.connections_resume();
        Ok(())
    }

    /// At nine tenths of the descriptors no more are accepted until eight tenths: the house's
    /// maximum is the nine tenths (lighttpd's hysteresis).
    fn hold_back(&mut self) -> io::Result<()> {
        self.listening = false;
        for n in 0..self.house.listeners.len() {
            self.ring.cancel(LISTENER_0 + n as u64)?;
        }
        Ok(())
    }

    /// Takes what has come, connections and bytes, then accepts no more; every connection ends
    /// after what it has.
    fn drain(&mut self) -> io::Result<()> {
        for _ in 0..self.house.settings.backlog {
            self.accept(self.house.settings.accept_limit())?;
            self.ring.submit_and_wait(0, None)?;
            if !self.complete()? {
                break;
            }
            while self.complete()? {}
        }
        self.hold_back()?;
        for token in self.parties.tokens() {
            if let Some(party) = self.parties.named(token) {
                party.session.drain();
                self.touched.push(token);
            }
        }
        Ok(())
    }
}

/// A path is translated and its file opened here; what is in the file is read by the ring.
fn load(
    ring: &mut Ring,
    party: &mut Party,
    miss: Miss<File>,
    house: &House,
    now: &Now,
    token: u64,
) -> io::Result<()> {
    match miss {
        Miss::Path(lookup) => {
            let opening = house.site.open(&lookup);
            party.mark(Step::Path, Performer::Loop);
            match opening.unread().filter(|part| !part.is_empty()) {
                Some(part) => {
                    party.opening = Some(Box::new(opening));
                    ring.read(&part.file, part.at, part.len() as usize, token)?;
                    party.busy = true;
                }
                None => party.session.loaded(house.site.keep(opening, now), now),
            }
        }
        // The ring waits for pages when it reads them.
        Miss::Pages(_) => party.session.loaded(Loaded::Pages, now),
        Miss::More(part) => read_part(ring, party, &part, token)?,
    }
    Ok(())
}

fn send(ring: &mut Ring, party: &mut Party, token: u64) -> io::Result<()> {
    if let Some(witness) = &mut party.witness {
        witness.note(&*party.session);
        witness.mark(Step::Send, Performer::Ring);
    }
    let Want::Send(chunk, part) = party.session.want() else { return Ok(()) };
    let part = part.filter(|part| !part.is_empty());
    let closes = party.session.closes();
    let (bytes, range, last) = match (part, &party.piece) {
        (part, _) if !chunk.bytes().is_empty() => {
            (chunk.of.clone(), (chunk.at, chunk.end), part.is_none())
        }
        (Some(part), Some(piece)) if piece.covers(part.at) => {
            let range = piece.range(part);
            (piece.bytes.clone(), range, part.at + (range.1 - range.0) as u64 == part.end)
        }
        (Some(part), _) => {
            let part = part.clone();
            return read_part(ring, party, &part, token);
        }
        (None, _) => {
            party.session.failed();
            return Ok(());
        }
    };
    if closes && last && range.1 - range.0 <= SENT_THEN_SHUT_MAX {
        party.shut = true;
        party.shutting += 1;
        ring.send_then_shut(party.handle, bytes, range, token)?;
    } else {
        ring.send(party.handle, bytes, range, !last, token)?;
    }
    party.busy = true;
    Ok(())
}

fn read_part(
    ring: &mut Ring,
    party: &mut Party,
    part: &FilePart<File>,
    token: u64,
) -> io::Result<()> {
    ring.read(&part.file, part.at, part.len().min(READ_BYTES) as usize, token)?;
    party.busy = true;
    Ok(())
}
