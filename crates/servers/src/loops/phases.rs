//! The verbs of the readiness loops: get_events, accept, work, flush, expire, drain.
//!
//! Loops are written out in full in each architecture's file; what is shared is only how one phase
//! is done. A connection is named by a token, its descriptor and a generation, so that an event or
//! a helper's answer that comes late never meets another connection.

use std::{io, mem};

use h1::Now;
use measure::{Duration, Instant};
use os::poller::{Interest, Poller};
use os::{Blocking, Listener, SpareDescriptor};

use crate::connection::Connection;
use crate::connection::gate::Gate;
use crate::connection::perform::{Hands, Loads, Nobody, Progress, count_fault, fault};
use crate::connection::slots::{Slots, TOKENS_END};
use crate::connection::timers::Timers;
use crate::loops::helpers::Done;
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Clock;
use crate::shared::server::Server;

/// Token of the supervisor's order; connections have lower ones than these three.
const ORDER: u64 = u64::MAX;
const LISTENER_0: u64 = TOKENS_END;
/// Token of whatever an architecture adds: AMPED's helpers.
pub(crate) const EXTRA: u64 = u64::MAX - 1;

/// Bytes received per call: the head limit fits, and so do several pipelined requests.
const BUFFER_BYTES: usize = 16 << 10;
/// Wants of one connection performed in a turn, so that a flood of pipelined requests cannot keep
/// the loop to itself.
const WANTS_MAX: u32 = 64;

/// A readiness loop's state between its phases.
pub(crate) struct Loop<'h> {
    server: &'h Server,
    worker: usize,
    poller: Poller,
    clock: Clock,
    now: Now,
    /// When the poller was last asked. What came later nobody has looked at yet, so no deadline
    /// after it has passed: a loop that the disk held up must not blame its clients.
    polled: Instant,
    /// How often it was asked since, because its answers were full; until one is not, no deadline
    /// takes effect.
    asked: usize,
    peers: Slots<Connection>,
    timers: Timers,
    /// Connections to be worked on in this round.
    ready: Vec<u64>,
    /// Connections to be worked on in the next round, whatever the poller says.
    carried: Vec<u64>,
    gate: Gate,
    /// Which listening socket is the first in an accept-phase: none is always the last.
    first: usize,
    /// The poller looks at the listening sockets, as it does while the gate is open.
    listening: bool,
    listener_ready: bool,
    extra_ready: bool,
    buffer: Vec<u8>,
    spare: SpareDescriptor,
    tally: Tally,
    log: Option<AccessLog>,
}

/// How far a connection is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it has something to send.
    Send,
    /// Until it would block.
    Blocked,
}

/// How much of a connection's work is done before the others' turn.
struct Turn {
    until: Until,
    wants: u32,
    /// That are sent.
    bytes: u64,
}

impl<'h> Loop<'h> {
    pub(crate) fn new(server: &'h Server, worker: usize) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let settings = &server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(server.orders.wake(), ORDER)?;
        for (n, listener) in server.listeners.iter().enumerate() {
            poller.add_level(&**listener, LISTENER_0 + n as u64)?;
        }
        let mut clock = Clock::new();
        let now = clock.now();
        let log = crate::shared::log::start(server, worker)?;
        let spare = SpareDescriptor::new()?;
        server.started(worker);
        Ok(Self {
            server,
            worker,
            poller,
            now,
            polled: now.at,
            asked: 0,
            clock,
            peers: Slots::new(),
            timers: Timers::new(),
            ready: Vec::new(),
            carried: Vec::new(),
            gate: Gate::new(server.connections_max),
            first: 0,
            listening: true,
            listener_ready: false,
            extra_ready: false,
            buffer: vec![0; BUFFER_BYTES],
            spare,
            tally: Tally::default(),
            log,
        })
    }

    /// Also waits for a descriptor of the architecture's own.
    pub(crate) fn add_extra(&mut self, wake: &os::Wake) -> io::Result<()> {
        self.poller.add_level(wake, EXTRA)
    }

    /// Whether that became readable in this round.
    pub(crate) const fn is_extra_ready(&self) -> bool {
        self.extra_ready
    }

    /// Until drained.
    pub(crate) fn goes_on(&self) -> bool {
        !self.gate.is_draining() || !self.peers.is_empty() || self.gate.due().is_some()
    }

    /// getevents-phase: which connections can be worked on without blocking.
    pub(crate) fn get_events(&mut self) -> io::Result<()> {
        let before = self.now.at;
        let timeout = self.patience();
        self.ready.append(&mut self.carried);
        self.listener_ready = false;
        self.extra_ready = false;
        let events = self.poller.wait(timeout)?;
        self.tally.add(Counter::GeteventsCalls, 1);
        self.tally.add(Counter::Events, events.len() as u64);
        let events_max = self.server.settings.events_max as usize;
        let is_full = events.len() >= events_max;
        let mut ordered = false;
        for event in events {
            match event.token {
                ORDER => ordered = true,
                EXTRA => self.extra_ready = true,
                LISTENER_0.. => self.listener_ready = true,
                token => {
                    let Some(peer) = self.peers.named(token) else { continue };
                    peer.readable |= event.readable || event.ended;
                    peer.writable |= event.writable || event.ended;
                    peer.ended |= event.ended;
                    enqueue(peer, token, &mut self.ready);
                }
            }
        }
        self.now = self.clock.now();
        if self.asked == 0 {
            self.polled = self.now.at;
        }
        let goes_on = is_full && self.asked < self.peers.len() / events_max;
        self.asked = if goes_on { self.asked + 1 } else { 0 };
        self.tally.add(Counter::GeteventsNs, (self.now.at - before).as_nanos() as u64);
        self.gate.tick(self.now.at);
        if ordered && !self.gate.is_draining() {
            self.drain();
        }
        Ok(())
    }

    /// Whether connections wait to be accepted.
    pub(crate) const fn is_listener_ready(&self) -> bool {
        self.listener_ready
    }

    /// accept-phase: takes up to `limit` connections from each listening socket.
    pub(crate) fn accept(&mut self, limit: u32) {
        self.tally.add(Counter::AcceptPhases, 1);
        for listener in self.server.listeners_from(self.first) {
            for _ in 0..limit {
                if !self.gate.is_open() || matches!(self.accept_one(listener), Taken::Nobody) {
                    break;
                }
            }
        }
        self.first += 1;
        let before = self.now.at;
        self.now = self.clock.now();
        let took = (self.now.at - before).as_nanos() as u64;
        self.tally.add(Counter::AcceptNs, took);
        self.tally.add(Counter::ReadyDelay, took * self.ready.len() as u64);
    }

    /// The connections that this round works on.
    pub(crate) fn ready(&mut self) -> Vec<u64> {
        self.tally.add(Counter::WorkPhases, u64::from(!self.ready.is_empty()));
        self.tally.add(Counter::Worked, self.ready.len() as u64);
        mem::take(&mut self.ready)
    }

    /// work-phase, for one connection: performs its wants until `until`.
    pub(crate) fn work(&mut self, token: u64, until: Until, loads: &mut dyn Loads) {
        let bytes = self.server.work_bytes_max();
        match self.perform(token, Turn { until, wants: WANTS_MAX, bytes }, loads) {
            None => {}
            Some(Progress::Went) => {
                if let Some(peer) = self.peers.named(token) {
                    enqueue(peer, token, &mut self.carried);
                }
            }
            Some(Progress::Over) => self.close(token),
            Some(Progress::Blocked(interest)) => self.rest(token, interest),
            Some(Progress::Away) => self.rest(token, Interest::NONE),
        }
    }

    /// What came of the last want; nothing if it is not to be worked on, or `until` was reached.
    fn perform(&mut self, token: u64, turn: Turn, loads: &mut dyn Loads) -> Option<Progress> {
        let peer = self.peers.named(token).filter(|peer| !peer.away)?;
        let mut hands = Hands {
            server: self.server,
            now: &self.now,
            buffer: &mut self.buffer,
            tally: &mut self.tally,
            log: self.log.as_mut(),
            loads,
            budget: turn.bytes,
        };
        for _ in 0..turn.wants {
            if turn.until == Until::Send && matches!(peer.session.want(), h1::Want::Send(..)) {
                return None;
            }
            match hands.perform(token, peer) {
                Progress::Went if hands.budget > 0 => {}
                progress => return Some(progress),
            }
        }
        Some(Progress::Went)
    }

    /// The second pass of a round: sends for all that the first has made ready.
    pub(crate) fn flush(&mut self, round: Vec<u64>, loads: &mut dyn Loads) {
        for &token in &round {
            if let Some(peer) = self.peers.named(token) {
                peer.queued = false;
                self.work(token, Until::Blocked, loads);
            }
        }
        let before = self.now.at;
        self.now = self.clock.now();
        let took = (self.now.at - before).as_nanos() as u64;
        self.tally.add(Counter::WorkNs, took);
        // The clock is not asked for each: on the average one waits for half of the others.
        self.tally.add(Counter::ReadyDelay, took * round.len() as u64 / 2);
        // The allocation serves the next round.
        if self.ready.is_empty() {
            self.ready = round;
            self.ready.clear();
        }
    }

    /// Hands a helper's answer to the connection it was for, which then joins the round.
    pub(crate) fn come_back(&mut self, done: Done) {
        count_fault(&done.loaded, &mut self.tally);
        if let Some(peer) = self.peers.named(done.token) {
            peer.away = false;
            peer.mark_who(done.step, done.who);
            peer.session.loaded(done.loaded, &self.now);
            enqueue(peer, done.token, &mut self.ready);
        }
    }

    /// The end of a round: deadlines that have passed take effect in the next one, who waits for a
    /// drain is let in, and what was counted is published.
    pub(crate) fn expire(&mut self) {
        let polled = Now { at: self.polled, ..self.now };
        while self.asked == 0
            && let Some(slot) = self.timers.passed(self.polled)
        {
            let Some((token, peer)) = self.peers.at(slot) else { continue };
            let is_over = peer.session.expired(&polled);
            self.tally.add(Counter::Timeouts, u64::from(is_over));
            enqueue(peer, token, &mut self.carried);
        }
        // First, because whoever is woken for a connection is perhaps the only one.
        self.watch_listeners();
        if self.gate.is_draining() && self.gate.is_open() {
            self.accept_waiting();
        }
        self.tally.publish(&self.server.counters, self.worker);
        self.server.counters.count_switches(self.now.date.seconds);
    }

    fn accept_one(&mut self, listener: &Listener) -> Taken {
        match listener.accept(Blocking::No) {
            Ok(socket) => {
                self.tally.accepted(&socket);
                let logs = self.log.is_some();
                let mut peer =
                    Connection::new(socket, self.server, Performer::Loop, logs, &self.now);
                if matches!(peer.session.want(), h1::Want::Close) {
                    self.tally.add(Counter::Closed, 1);
                    return Taken::Lost;
                }
                // Where the poller may stay silent about what is there already, try.
                peer.readable = self.server.settings.work_on_accepted;
                self.admit(peer)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Taken::Nobody,
            Err(e) => {
                let whose = fault(&e);
                self.tally.add(whose, 1);
                if whose == Counter::MachineFaults {
                    self.server.errors.refused(self.worker, &e, self.now.at);
                    // In a drain those who wait can wait until somebody has gone.
                    if os::is_out_of_descriptors(&e) && !self.gate.is_draining() {
                        self.tally.add(Counter::Shed, u64::from(self.spare.refuse(listener)));
                    }
                    self.gate.refused(self.now.at);
                }
                Taken::Lost
            }
        }
    }

    fn admit(&mut self, peer: Connection) -> Taken {
        let deadline = peer.session.deadline();
        let token = self.peers.insert(peer.socket.id(), peer);
        let Some(peer) = self.peers.named(token) else { return Taken::Lost };
        if self.poller.add(&peer.socket, token, Interest::READ).is_err() {
            self.peers.remove(token);
            self.tally.add(Counter::MachineFaults, 1);
            self.tally.add(Counter::Closed, 1);
            self.gate.refused(self.now.at);
            return Taken::Lost;
        }
        if self.server.settings.work_on_accepted && !self.gate.is_draining() {
            enqueue(peer, token, &mut self.ready);
        }
        self.timers.set(token as u32, deadline);
        self.gate.accepted(self.peers.len());
        Taken::One(token)
    }

    fn rest(&mut self, token: u64, interest: Interest) {
        let Some(peer) = self.peers.named(token) else { return };
        self.timers.set(token as u32, peer.session.deadline());
        // Only select and poll have something to change; a refusal there would show at the next
        // round as silence, which the deadline ends.
        let _ = self.poller.set(&peer.socket, interest);
    }

    fn close(&mut self, token: u64) {
        let Some(peer) = self.peers.remove(token) else { return };
        self.timers.set(token as u32, None);
        self.poller.remove(&peer.socket);
        self.tally.add(Counter::Closed, 1);
        self.gate.closed(self.peers.len());
    }

    /// The poller looks at the listening sockets as long as the gate is open to newcomers.
    fn watch_listeners(&mut self) {
        let wanted = self.gate.is_open() && !self.gate.is_draining();
        if mem::replace(&mut self.listening, wanted) == wanted {
            return;
        }
        let listeners = || (LISTENER_0..).zip(&self.server.listeners);
        let mut added = wanted;
        for (token, listener) in listeners() {
            added = added && self.poller.add_level(&**listener, token).is_ok();
        }
        if added {
            return;
        }
        for (_, listener) in listeners() {
            self.poller.pause_level(&**listener);
        }
        if wanted {
            self.tally.add(Counter::MachineFaults, 1);
            self.gate.refused(self.now.at);
            self.listening = false;
        }
    }

    /// Every connection ends after what it has; the round's end takes who waits to be accepted.
    fn drain(&mut self) {
        self.poller.pause_level(self.server.orders.wake());
        self.gate.drain(self.server.waiting_max(), self.peers.len());
        self.listener_ready = false;
        for token in self.peers.tokens() {
            self.drain_one(token);
        }
    }

    /// Takes who waits to be accepted, as far as there is room for them.
    fn accept_waiting(&mut self) {
        for listener in self.server.listeners_from(self.first) {
            while self.gate.is_open() {
                match self.accept_one(listener) {
                    Taken::One(token) => self.drain_one(token),
                    Taken::Lost => {}
                    Taken::Nobody => break,
                }
            }
        }
        self.first += 1;
        if self.gate.is_open() {
            self.gate.emptied();
        }
        if self.gate.is_shut() {
            self.server.stop_listening();
        }
    }

    fn drain_one(&mut self, token: u64) {
        self.receive_once(token);
        if let Some(peer) = self.peers.named(token) {
            self.server.orders.tell(&mut *peer.session, &self.now);
            enqueue(peer, token, &mut self.carried);
        }
    }

    /// Who looks idle may have a request here that no round has read: it is in flight.
    fn receive_once(&mut self, token: u64) {
        let Some(peer) = self.peers.named(token) else { return };
        if !matches!(peer.session.want(), h1::Want::Recv) {
            return;
        }
        peer.readable = true;
        self.perform(token, Turn { until: Until::Blocked, wants: 1, bytes: 0 }, &mut Nobody);
    }

    fn patience(&self) -> Option<Duration> {
        if !self.carried.is_empty() {
            return Some(Duration::ZERO);
        }
        let due = self.timers.earliest().into_iter().chain(self.gate.due()).min();
        due.map(|at| at - self.now.at)
    }
}

/// What a call of accept has brought.
enum Taken {
    One(u64),
    /// One that was lost at once, or a refusal of the machine.
    Lost,
    /// Nobody waits.
    Nobody,
}

/// Adds a connection to a round, once: twice would be two turns.
fn enqueue(peer: &mut Connection, token: u64, round: &mut Vec<u64>) {
    if !mem::replace(&mut peer.queued, true) {
        round.push(token);
    }
}
