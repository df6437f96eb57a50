//! A stage that waits for sockets: it holds its connections, and knows each by a token for as long
//! as it does.

use std::io;
use std::mem;

use h1::Deadline;
use measure::{Duration, Instant};
use os::poller::{Interest, Poller};

use super::belt::{Batch, Belt};
use super::carried::{Carried, Does, Next};
use super::plant::Plant;
use crate::connection::Connection;
use crate::connection::books::Books;
use crate::connection::calls::{Calls, interest};
use crate::connection::gate::stays;
use crate::connection::perform::Service;
use crate::connection::places::{Places, place_of};
use crate::connection::timers::Timers;
use crate::loops::phases::BUFFER_BYTES;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Server;
use crate::shared::verifiers::Verifiers;

/// Token of the queue in front of it; connections have lower ones.
const INBOX: u64 = u64::MAX;
/// Token of verdicts on passwords.
const VERDICTS: u64 = u64::MAX - 1;

/// See the head of this file.
pub(crate) struct Holding<'s, 'p> {
    plant: &'p Plant<'s>,
    inbox: &'p Belt<'s>,
    does: &'static [Does],
    number: usize,
    /// Its own of [`Carried::armed`].
    bit: u8,
    poller: Poller,
    connections: Places<Box<Carried>>,
    timers: Timers,
    pub(crate) books: Books<'s>,
    /// When the poller was last asked. What came later nobody has looked at yet, so no deadline
    /// after it has passed: a stage that was held up must not blame its clients.
    polled: Instant,
    /// How often it was asked since, because its answers were full; until one is not, no deadline
    /// takes effect.
    asked: usize,
    /// Connections to be worked on in this round, and in the next.
    ready: Vec<u64>,
    carried_over: Vec<u64>,
    arrived: Batch,
    has_heard_end: bool,
    /// How long who was answered stayed when it was last looked for room.
    stays: Duration,
    buffer: Vec<u8>,
}

impl<'s, 'p> Holding<'s, 'p> {
    /// The stage of that number, in the thread that calls.
    ///
    /// # Errors
    /// No descriptor is left, or no memory.
    pub(crate) fn new(
        (plant, inbox): (&'p Plant<'s>, &'p Belt<'s>),
        (number, by, does): (usize, Performer, &'static [Does]),
    ) -> io::Result<Self> {
        let worker = plant.worker;
        let settings = &worker.server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(inbox.wake(), INBOX)?;
        if let Some(verifiers) = worker.verifiers.as_ref().filter(|_| does.contains(&Does::Verify))
        {
            poller.add_level(verifiers.wake(), VERDICTS)?;
        }
        let books = Books::new(worker, by);
        Ok(Self {
            plant,
            inbox,
            does,
            number,
            bit: 1 << number,
            poller,
            connections: Places::new(),
            timers: Timers::new(),
            polled: books.now.at,
            books,
            asked: 0,
            ready: Vec::new(),
            carried_over: Vec::new(),
            arrived: Batch::new(),
            has_heard_end: false,
            stays: stays(worker.server),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Whether some connections of the pipeline are not held by this stage. Nobody comes to others
    /// but by way of the first one, so that whoever is not here may wait there.
    pub(super) fn are_elsewhere(&self) -> bool {
        self.plant.open() > self.connections.len()
    }

    /// Waits for events, and merges in what has come from other stages.
    ///
    /// # Errors
    /// The machine has no memory to wait with.
    pub(crate) fn get_events(&mut self) -> io::Result<()> {
        self.get_events_within(None)
    }

    /// The same, and waits no longer than that, if that is said.
    ///
    /// # Errors
    /// As there.
    pub(super) fn get_events_within(&mut self, most: Option<Duration>) -> io::Result<()> {
        let timeout = self.patience().into_iter().chain(most).min();
        self.ready.append(&mut self.carried_over);
        let Self { poller, connections, books, ready, .. } = self;
        let events = poller.wait(timeout)?;
        books.tally.add(Counter::GeteventsCalls, 1);
        books.tally.add(Counter::Events, events.len() as u64);
        books.tally.add(Counter::Interest, connections.len() as u64);
        let events_max = books.server.settings.events_max as usize;
        let is_full = events.len() >= events_max;
        let (mut has_arrived, mut is_judged) = (false, false);
        for event in events {
            match event.token {
                INBOX => has_arrived = true,
                VERDICTS => is_judged = true,
                token => {
                    let Some(carried) = connections.named(token) else { continue };
                    carried.connection.calls.is(event);
                    enqueue(carried, token, ready);
                }
            }
        }
        let took = books.look_at_clock();
        books.tally.add(Counter::GeteventsNs, took.as_nanos() as u64);
        books.disk.asked_for_events(took);
        if self.asked == 0 {
            self.polled = books.now.at;
        }
        let goes_on = is_full && self.asked < connections.len() / events_max;
        self.asked = if goes_on { self.asked + 1 } else { 0 };
        if has_arrived {
            self.merge();
        }
        if is_judged {
            self.hear_verdicts();
        }
        self.make_room();
        if self.plant.is_draining() && !mem::replace(&mut self.has_heard_end, true) {
            for token in self.connections.tokens() {
                self.again(token);
            }
        }
        Ok(())
    }

    /// The connections that this round works on.
    pub(crate) fn round(&mut self) -> Vec<u64> {
        let round = mem::take(&mut self.ready);
        self.books.tally.add(Counter::WorkPhases, u64::from(!round.is_empty()));
        self.books.tally.add(Counter::Worked, round.len() as u64);
        round
    }

    /// Performs what the stage does for one of them: it stays, or goes on to who does what it wants
    /// next.
    pub(crate) fn work(
        &mut self,
        token: u64,
        service: &mut dyn Service,
    ) -> Option<(Does, Box<Carried>)> {
        let Self { connections, books, buffer, does, plant, .. } = self;
        let carried = connections.named(token)?;
        carried.connection.queued = false;
        carried.is_worked_on(plant);
        if plant.is_draining() {
            carried.hear_end(buffer, books);
        }
        match carried.work(token, does, buffer, (service, books, plant)) {
            Next::Again => self.again_later(token),
            Next::Moves(does) => return Some((does, self.let_go(token)?)),
            Next::Rests(interest) => self.rest(token, interest),
            Next::Over => self.close(token),
        }
        None
    }

    /// One that can be written to goes on; another waits until it can.
    pub(crate) fn take_writable(&mut self, token: u64) -> Option<Box<Carried>> {
        let carried = self.connections.named(token)?;
        carried.connection.queued = false;
        carried.is_worked_on(self.plant);
        if carried.is_ready_to_write() {
            return self.let_go(token);
        }
        let Connection { calls, hears, .. } = &carried.connection;
        let interest = interest(*hears && calls.may_hear(), true);
        self.rest(token, interest);
        None
    }

    /// The end of a round: deadlines that have passed take effect in the next one, who is told to
    /// goes for a newcomer, and what was counted is published.
    pub(crate) fn expire(&mut self) {
        // What was passed on may have waited for room, or for another stage's turn.
        self.books.look_at_clock();
        while self.asked == 0
            && let Some(place) = self.timers.passed(self.polled)
        {
            let (token, carried) = self.connections.at(place).expect("who has a deadline is held");
            carried.connection.expired(self.polled, &mut self.books);
            self.again_later(token);
        }
        self.plant.may_go(self.number, self.timers.firsts_go_at(self.stays));
        self.books.publish();
    }

    /// All of the round have been worked on; what follows may wait.
    pub(crate) fn worked(&mut self) {
        let took = self.books.look_at_clock().as_nanos() as u64;
        self.books.tally.add(Counter::WorkNs, took);
    }

    /// Takes in those of which it is not yet known whether they have to wait.
    pub(crate) fn take_back(&mut self, batch: Batch) {
        for mut carried in batch {
            carried.is_new_here = true;
            let token = self.connections.insert(carried);
            self.again_later(token);
        }
    }

    /// Takes in what has come from other stages.
    fn merge(&mut self) {
        self.inbox.drain(&mut self.arrived);
        Belt::tell_wait(&self.arrived, &mut self.books);
        while let Some(mut carried) = self.arrived.pop_front() {
            carried.is_new_here = true;
            let token = self.connections.insert(carried);
            self.again(token);
        }
    }

    fn again(&mut self, token: u64) {
        if let Some(carried) = self.connections.named(token) {
            enqueue(carried, token, &mut self.ready);
        }
    }

    fn again_later(&mut self, token: u64) {
        if let Some(carried) = self.connections.named(token) {
            enqueue(carried, token, &mut self.carried_over);
        }
    }

    /// It waits for this, and for its deadline.
    fn rest(&mut self, token: u64, interest: Interest) {
        let Some(carried) = self.connections.named(token) else { return };
        let view = carried.connection.dialog.session.view();
        carried.connection.hears = view.hears;
        let mut deadline = view.deadline;
        if mem::take(&mut carried.is_new_here) {
            // Of what its client did while it was elsewhere nobody has asked yet.
            let asked = self.polled + Duration::from_nanos(1);
            deadline = deadline.map(|due| Deadline { at: due.at.max(asked), ..due });
        }
        self.timers.set(place_of(token), deadline);
        let socket = &carried.connection.calls.socket;
        if interest == Interest::NONE {
            return self.poller.remove(socket);
        }
        let was = carried.armed & self.bit != 0;
        match self.poller.arm(socket, token, interest, was) {
            Ok(()) => carried.armed |= self.bit,
            Err(_) => {
                self.books.tally.add(Counter::MachineFaults, 1);
                self.close(token);
            }
        }
    }

    fn let_go(&mut self, token: u64) -> Option<Box<Carried>> {
        let carried = self.connections.remove(token)?;
        self.timers.set(place_of(token), None);
        self.poller.remove(&carried.connection.calls.socket);
        Some(carried)
    }

    fn close(&mut self, token: u64) {
        if let Some(carried) = self.let_go(token) {
            close(carried, self.plant, &mut self.books);
        }
    }

    /// Verdicts on passwords have fallen.
    fn hear_verdicts(&mut self) {
        let verifiers = self.books.worker.verifiers.as_ref();
        for verdict in verifiers.map(Verifiers::verdicts).unwrap_or_default() {
            let token = verdict.token;
            let Some(carried) = self.connections.named(token) else { continue };
            carried.judged(verdict, &mut self.books);
            enqueue(carried, token, &mut self.ready);
        }
    }

    /// As many as were told to go for newcomers do, the longest waiting first.
    fn make_room(&mut self) {
        let Server { settings, .. } = self.books.server;
        if !settings.make_room || self.plant.is_draining() {
            return;
        }
        self.stays = stays(self.books.server);
        for _ in 0..self.plant.to_go(self.number) {
            let Self { connections, timers, stays, polled, .. } = self;
            let longest = timers.may_go(*stays, *polled).find_map(|place| {
                let (token, carried) = connections.at(place)?;
                (!carried.connection.queued).then_some(token)
            });
            let Some(token) = longest.filter(|_| self.asked == 0) else { return };
            let Some(carried) = self.connections.named(token) else { return };
            carried.connection.evicted(&mut self.books);
            self.close(token);
        }
    }

    fn patience(&self) -> Option<Duration> {
        if !self.carried_over.is_empty() || self.plant.is_over() {
            return Some(Duration::ZERO);
        }
        self.timers.earliest().map(|at| at - self.books.now.at)
    }
}

/// It ends here.
pub(super) fn close(mut carried: Box<Carried>, plant: &Plant<'_>, books: &mut Books<'_>) {
    carried.is_worked_on(plant);
    if let Some(took) = carried.took() {
        plant.replied(books.now.at, took);
    }
    drop(carried);
    books.tally.add(Counter::Closed, 1);
    plant.closed();
}

/// Adds a connection to a round, once: twice would be two turns.
fn enqueue(carried: &mut Carried, token: u64, round: &mut Vec<u64>) {
    if !mem::replace(&mut carried.connection.queued, true) {
        round.push(token);
    }
}
