//! The verbs of the readiness loops: get_events, accept, work, flush, expire.
//!
//! Loops are written out in full in each architecture's file; what is shared is only how one phase
//! is done. A connection is named by a token, its place and a generation, so that an event or a
//! helper's answer that comes late never meets another connection.

use std::{io, mem};

use h1::{Miss, Tag};
use measure::{Duration, Instant};
use os::poller::Poller;
use os::{File, Socket, Wake};

use super::accepting::{Accepting, BELL, LISTENER_0, Taken};
use super::helpers::Fetched;
use super::holding::Holding;
use crate::connection::Connection;
use crate::connection::books::Books;
use crate::connection::calls::Ready;
use crate::connection::gate::stays;
pub(crate) use crate::connection::perform::Until;
use crate::connection::perform::{InPlace, Progress, Service, Share};
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::{Server, Worker};
use crate::shared::stops::Stop;
use crate::shared::verifiers::Verifiers;

/// Token of the supervisor's order; connections have lower ones than these, the bell's and those
/// of listening sockets.
const ORDER: u64 = u64::MAX;
/// Token of whatever an architecture adds: AMPED's helpers.
const EXTRA: u64 = u64::MAX - 1;
/// Token of verdicts on passwords.
const VERDICTS: u64 = u64::MAX - 2;

/// Turns of a connection with one request: it is answered, and the peer closes.
pub(crate) const TURNS: u32 = 2;
/// Bytes received per call: the head limit fits, and so do several pipelined requests.
pub(crate) const BUFFER_BYTES: usize = 16 << 10;
/// Wants of one connection performed before the others' turn, so that a flood of pipelined requests
/// cannot keep the loop to itself.
const WANTS_MAX: u32 = 64;

/// A readiness loop's state between its phases.
pub(crate) struct Loop<'s> {
    accepting: Accepting,
    holding: Holding,
    books: Books<'s>,
    /// When the poller was last asked. What came later nobody has looked at yet, so no deadline
    /// after it has passed: a loop that the disk held up must not blame its clients.
    polled: Instant,
    /// How often it was asked since, because its answers were full; until one is not, no deadline
    /// takes effect.
    asked: usize,
    /// Connections to be worked on in this round.
    ready: Vec<u64>,
    /// Connections to be worked on in the next round, whatever the poller says.
    carried: Vec<u64>,
    listener_ready: bool,
    extra_ready: bool,
    /// How long who was answered stayed when it was last looked for room: whoever was let in by
    /// that finds somebody who goes.
    stays: Duration,
    /// What is to be loaded for connections of this round that were let in.
    let_in: Vec<(u64, Tag, Miss<File>)>,
    buffer: Vec<u8>,
}

impl<'s> Loop<'s> {
    pub(crate) fn new(worker: &'s Worker<'s>) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let settings = &worker.server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(worker.wake(), ORDER)?;
        if let Some(verifiers) = &worker.verifiers {
            poller.add_level(verifiers.wake(), VERDICTS)?;
        }
        let books = Books::new(worker, Performer::Loop);
        let accepting = Accepting::new(&books, &mut poller, TURNS)?;
        Ok(Self {
            accepting,
            holding: Holding::new(poller),
            polled: books.now.at,
            books,
            asked: 0,
            ready: Vec::new(),
            carried: Vec::new(),
            listener_ready: false,
            extra_ready: false,
            stays: stays(worker.server),
            let_in: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Also waits for a descriptor of the architecture's own.
    pub(crate) fn add_extra(&mut self, wake: &Wake) -> io::Result<()> {
        self.holding.poller.add_level(wake, EXTRA)
    }

    /// Whether that became readable in this round.
    pub(crate) const fn is_extra_ready(&self) -> bool {
        self.extra_ready
    }

    /// Until drained.
    pub(crate) fn go_on(&self) -> bool {
        let gate = &self.accepting.gate;
        !gate.is_draining() || !self.holding.connections.is_empty() || gate.due().is_some()
    }

    /// getevents-phase: which connections can be worked on without blocking.
    pub(crate) fn get_events(&mut self) -> io::Result<()> {
        let timeout = self.patience();
        self.ready.append(&mut self.carried);
        self.listener_ready = false;
        self.extra_ready = false;
        let Holding { poller, connections, .. } = &mut self.holding;
        let events = poller.wait(timeout)?;
        self.books.tally.add(Counter::GeteventsCalls, 1);
        self.books.tally.add(Counter::Events, events.len() as u64);
        self.books.tally.add(Counter::Interest, connections.len() as u64);
        let events_max = self.books.server.settings.events_max as usize;
        let is_full = events.len() >= events_max;
        let (mut ordered, mut judged, mut rung) = (false, false, false);
        for event in events {
            match event.token {
                ORDER => ordered = true,
                EXTRA => self.extra_ready = true,
                VERDICTS => judged = true,
                BELL => rung = true,
                LISTENER_0.. => self.listener_ready = true,
                token => {
                    let Some(connection) = connections.named(token) else { continue };
                    connection.calls.is(event);
                    enqueue(connection, token, &mut self.ready);
                }
            }
        }
        let took = self.books.look_at_clock();
        if self.asked == 0 {
            self.polled = self.books.now.at;
        }
        let goes_on = is_full && self.asked < connections.len() / events_max;
        self.asked = if goes_on { self.asked + 1 } else { 0 };
        self.books.tally.add(Counter::GeteventsNs, took.as_nanos() as u64);
        self.books.disk.asked_for_events(took);
        self.accepting.gate.tick(self.books.now.at, self.holding.connections.len());
        if judged {
            self.hear_verdicts();
        }
        if rung {
            self.accepting.hear_bell(&mut self.books, &mut self.holding.poller);
            self.listener_ready = true;
        }
        if ordered && !self.accepting.gate.is_draining() {
            self.drain();
        }
        Ok(())
    }

    /// Whether connections wait to be accepted.
    pub(crate) const fn is_listener_ready(&self) -> bool {
        self.listener_ready
    }

    /// accept-phase: takes as many connections from each listening socket as the intake lets in.
    pub(crate) fn accept(&mut self) {
        self.books.server.stops.at(Stop::Woken);
        // Who could have gone for a newcomer has perhaps something to be looked at by now.
        self.look_for_room();
        // Who does not stay fills no gate: of those no more are taken than could wait.
        let mut lost = 0;
        for (place, listener) in self.accepting.listeners(&self.books) {
            let (worker, now) = (self.books.worker, self.books.now.at);
            let limit = self.accepting.intake.quota(worker, place, now);
            let (mut taken, mut emptied) = (0, false);
            for _ in 0..limit {
                let stays = match self.accepting.take(listener, &mut self.books) {
                    Taken::One(socket) => self.admit(socket, place).is_some(),
                    Taken::Lost => false,
                    Taken::Nobody => {
                        emptied = self.accepting.gate.is_open();
                        break;
                    }
                };
                taken += 1;
                lost += u32::from(!stays);
                if lost >= self.books.server.waiting_max() {
                    break;
                }
            }
            self.accepting.intake.took(worker, place, taken, emptied);
        }
        let took = self.books.look_at_clock().as_nanos() as u64;
        self.books.tally.add(Counter::AcceptNs, took);
        self.books.tally.add(Counter::ReadyDelay, took * self.ready.len() as u64);
    }

    /// The connections that this round works on.
    pub(crate) fn ready(&mut self) -> Vec<u64> {
        self.books.tally.add(Counter::WorkPhases, u64::from(!self.ready.is_empty()));
        self.books.tally.add(Counter::Worked, self.ready.len() as u64);
        mem::take(&mut self.ready)
    }

    /// work-phase, for one connection: performs its wants until `until`.
    pub(crate) fn work(&mut self, token: u64, until: Until, service: &mut dyn Service) {
        if !self.let_in.is_empty() {
            self.load_let_in(service);
        }
        match self.perform(token, until, WANTS_MAX, service) {
            None | Some(Progress::Sends) => {}
            Some(Progress::Went) => {
                if let Some(connection) = self.holding.connections.named(token) {
                    enqueue(connection, token, &mut self.carried);
                }
            }
            Some(Progress::Over) => self.close(token),
            Some(Progress::Blocked(interest)) => self.holding.rest(token, interest),
        }
    }

    /// What came of the last want; nothing if there is no such connection any more.
    fn perform(
        &mut self,
        token: u64,
        until: Until,
        wants: u32,
        service: &mut dyn Service,
    ) -> Option<Progress> {
        let connection = self.holding.connections.named(token)?;
        let bytes = self.books.server.work_bytes_max();
        let mut share = Share { until, wants, bytes, buffer: &mut self.buffer };
        Some(self.books.work(token, connection, &mut share, service))
    }

    /// The second pass of a round: sends for all that the first has made ready.
    pub(crate) fn flush(&mut self, round: Vec<u64>, service: &mut dyn Service) {
        for &token in &round {
            if let Some(connection) = self.holding.connections.named(token) {
                connection.queued = false;
                // What has to wait since the first pass has to wait in this one, too.
                if !connection.rests {
                    self.work(token, Until::Blocked, service);
                }
            }
        }
        let took = self.books.look_at_clock().as_nanos() as u64;
        self.books.tally.add(Counter::WorkNs, took);
        // The clock is not asked for each: on the average one waits for half of the others.
        self.books.tally.add(Counter::ReadyDelay, took * round.len() as u64 / 2);
        // The allocation serves the next round.
        if self.ready.is_empty() {
            self.ready = round;
            self.ready.clear();
        }
    }

    /// Hands a helper's answer to the connection it was for, which then joins the round.
    pub(crate) fn come_back(&mut self, fetched: Fetched) {
        let Fetched { token, tag, step, who, loaded } = fetched;
        if let Some(connection) = self.holding.connections.named(token) {
            self.books.came_back(&mut connection.dialog, tag, (step, who), loaded);
            enqueue(connection, token, &mut self.ready);
        }
    }

    /// Verdicts on passwords have fallen: the connections join the round.
    fn hear_verdicts(&mut self) {
        let verifiers = self.books.worker.verifiers.as_ref();
        for verdict in verifiers.map(Verifiers::verdicts).unwrap_or_default() {
            let (token, tag) = (verdict.token, verdict.tag);
            let Some(connection) = self.holding.connections.named(token) else { continue };
            if let Some(miss) = self.books.judged(&mut connection.dialog, verdict) {
                self.let_in.push((token, tag, miss));
            }
            enqueue(connection, token, &mut self.ready);
        }
    }

    /// By whoever loads for this loop.
    fn load_let_in(&mut self, service: &mut dyn Service) {
        for (token, tag, miss) in self.let_in.drain(..) {
            if let Some(connection) = self.holding.connections.named(token) {
                self.books.load(token, connection, tag, miss, service);
            }
        }
    }

    /// The end of a round: deadlines that have passed take effect in the next one, who waits for a
    /// drain is let in, and what was counted is published.
    pub(crate) fn expire(&mut self) {
        while self.asked == 0
            && let Some((token, connection)) = self.holding.passed(self.polled)
        {
            connection.expired(self.polled, &mut self.books);
            enqueue(connection, token, &mut self.carried);
        }
        self.look_for_room();
        // First, because whoever is woken for a connection is perhaps the only one.
        self.accepting.watch(&mut self.books, &mut self.holding.poller);
        if !self.accepting.gate.is_open() {
            self.accepting.intake.watch(self.books.worker, self.books.now.at);
        }
        let gate = &self.accepting.gate;
        if gate.is_draining() && gate.is_open() {
            self.accept_waiting();
        }
        self.books.publish();
        self.accepting.intake.give_way(self.books.worker);
    }

    fn admit(&mut self, socket: Socket, listener: usize) -> Option<u64> {
        let dialog = self.books.dialog(listener, || socket.peer_ip());
        if matches!(dialog.session.want(), h1::Want::Close) {
            self.books.tally.add(Counter::Closed, 1);
            return None;
        }
        self.make_room();
        let settings = &self.books.server.settings;
        let mut connection = Connection::new(Ready::new(socket, settings.sendfile), dialog);
        // Where the poller may stay silent about what is there already, try.
        if settings.work_on_accepted {
            connection.calls.expect();
        }
        let Ok(token) = self.holding.hold(connection) else {
            self.books.tally.add(Counter::MachineFaults, 1);
            self.books.tally.add(Counter::Closed, 1);
            self.accepting.gate.refused(self.books.now.at);
            return None;
        };
        if settings.work_on_accepted && !self.accepting.gate.is_draining() {
            let connection = self.holding.connections.named(token)?;
            enqueue(connection, token, &mut self.ready);
        }
        self.accepting.gate.accepted(self.holding.connections.len());
        self.look_for_room();
        Some(token)
    }

    /// For who comes at the maximum another goes.
    fn make_room(&mut self) {
        let is_full = self.accepting.gate.room(self.holding.connections.len()) == 0;
        if is_full
            && let Some(token) = self.next_evictable()
            && let Some(connection) = self.holding.connections.named(token)
        {
            connection.evicted(&mut self.books);
            self.close(token);
        }
    }

    /// Whether another may come at the maximum.
    fn look_for_room(&mut self) {
        if self.accepting.gate.is_full() {
            self.stays = stays(self.books.server);
            let (worker, now) = (self.books.worker, self.books.now.at);
            let defers = self.accepting.gate.defers(worker, now);
            let may = self.next_evictable().is_some() && !defers;
            self.accepting.gate.may_make_room(may, self.holding.connections.len());
        }
    }

    /// The connection to evict first: none while the poller has more events to report.
    fn next_evictable(&mut self) -> Option<u64> {
        let Server { settings, .. } = self.books.server;
        let may = settings.make_room && self.asked == 0 && !self.accepting.gate.is_draining();
        may.then(|| self.holding.evictable(self.stays, self.polled)).flatten()
    }

    fn close(&mut self, token: u64) {
        if self.holding.remove(token).is_some() {
            self.books.tally.add(Counter::Closed, 1);
            self.accepting.gate.closed(self.holding.connections.len());
        }
    }

    /// Every connection ends after what it has; the round's end takes who waits to be accepted.
    fn drain(&mut self) {
        let Self { accepting, holding, books, .. } = self;
        holding.poller.pause_level(books.worker.wake());
        accepting.gate.drain(books.server.waiting_max(), holding.connections.len());
        self.listener_ready = false;
        for token in self.holding.connections.tokens() {
            self.drain_one(token);
        }
    }

    /// Takes who waits to be accepted, as far as there is room for them.
    fn accept_waiting(&mut self) {
        for (place, listener) in self.accepting.listeners(&self.books) {
            for _ in 0..self.books.server.waiting_max() {
                match self.accepting.take(listener, &mut self.books) {
                    Taken::One(socket) => {
                        if let Some(token) = self.admit(socket, place) {
                            self.drain_one(token);
                        }
                    }
                    Taken::Lost => {}
                    Taken::Nobody => break,
                }
            }
        }
        let gate = &mut self.accepting.gate;
        if gate.is_open() {
            gate.emptied();
        }
        if gate.is_shut() {
            self.books.worker.stop_listening();
        }
    }

    fn drain_one(&mut self, token: u64) {
        self.receive_once(token);
        if let Some(connection) = self.holding.connections.named(token) {
            self.books.tell_end(&mut connection.dialog);
            enqueue(connection, token, &mut self.carried);
        }
    }

    /// A connection that looks idle may have a request in its socket that no round has read yet:
    /// that one is in flight, and is answered.
    fn receive_once(&mut self, token: u64) {
        let Some(connection) = self.holding.connections.named(token) else { return };
        if matches!(connection.dialog.session.want(), h1::Want::Recv) {
            connection.calls.expect();
            self.perform(token, Until::Blocked, 1, &mut InPlace);
        }
    }

    fn patience(&self) -> Option<Duration> {
        if !self.carried.is_empty() {
            return Some(Duration::ZERO);
        }
        let gate = &self.accepting.gate;
        let Server { settings, .. } = self.books.server;
        let waits = settings.make_room && gate.is_full() && !gate.is_open();
        let waits = waits && gate.looks_again().is_none();
        let goes = waits.then(|| self.holding.goes_at(self.stays)).flatten();
        let due = self.holding.earliest().into_iter().chain(gate.due()).chain(goes);
        let due = due.chain(gate.looks_again()).min();
        due.map(|at| at - self.books.now.at)
    }
}

/// Adds a connection to a round, once: twice would be two turns.
fn enqueue(connection: &mut Connection<Ready>, token: u64, round: &mut Vec<u64>) {
    connection.rests = false;
    if !mem::replace(&mut connection.queued, true) {
        round.push(token);
    }
}
