//! The stage that accepts, and lets in no more than the others work on soon.
//!
//! Who waits in the kernel's queue is seen to wait there, and may be refused; who waits between
//! stages is not. So no more are accepted while as many newcomers wait for a stage as one accept
//! phase takes: where a stage falls behind, those before it fill up, and the first one stops.

use std::{io, mem};

use measure::{Duration, Instant};
use os::Socket;
use os::poller::Poller;

use super::belt::{Batch, Belt};
use super::carried::Carried;
use super::plant::Plant;
use crate::connection::books::Books;
use crate::loops::accepting::{Accepting, BELL, LISTENER_0, Taken};
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::stops::Stop;

/// Token of the supervisor's order.
const ORDER: u64 = u64::MAX;
/// Token of what other stages tell.
const DOOR: u64 = u64::MAX - 1;

/// How often it looks where it waits for other stages, which tell what has changed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// See the head of this file.
pub(crate) struct Door<'s, 'p> {
    plant: &'p Plant<'s>,
    /// Those of all stages; the first is the next one's.
    belts: &'p [Belt<'s>],
    accepting: Accepting,
    poller: Poller,
    books: Books<'s>,
    is_listener_ready: bool,
    /// So many newcomers may wait for a stage: as the intake lets in at a time, and no more than
    /// fill a queue.
    limit: u32,
    /// Another was told to go.
    waits_for_room: bool,
    /// It waits for others since it last looked at the listening sockets.
    is_held_up: bool,
    /// How often one had been closed when that was last asked.
    closes: u64,
    batch: Batch,
}

impl<'s, 'p> Door<'s, 'p> {
    /// `turns`: in so many stages a connection with one request has its turn.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(plant: &'p Plant<'s>, belts: &'p [Belt<'s>], turns: u32) -> io::Result<Self> {
        os::thread::set_name("weir-acceptor");
        let worker = plant.worker;
        let settings = &worker.server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(worker.wake(), ORDER)?;
        poller.add_level(plant.door(), DOOR)?;
        let books = Books::new(worker, Performer::Acceptor);
        let accepting = Accepting::new(&books, &mut poller, turns)?;
        Ok(Self {
            plant,
            belts,
            accepting,
            poller,
            books,
            is_listener_ready: false,
            limit: settings.stages.queue,
            waits_for_room: false,
            is_held_up: false,
            closes: 0,
            batch: Batch::new(),
        })
    }

    /// Until drained.
    pub(crate) fn go_on(&self) -> bool {
        let gate = &self.accepting.gate;
        !gate.is_draining() || self.plant.open() > 0 || !gate.is_shut()
    }

    /// Waits until somebody can be accepted, or for an order.
    ///
    /// # Errors
    /// The machine has no memory to wait with.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.is_listener_ready = false;
        let is_ordered =
            if self.is_to_wait_for_others() { self.wait_for_others()? } else { self.poll()? };
        self.plant.door_looks();
        self.books.look_at_clock();
        self.accepting.gate.tick(self.books.now.at, self.plant.open());
        self.look_for_room();
        if is_ordered && !self.accepting.gate.is_draining() {
            self.drain();
        }
        Ok(())
    }

    /// Whether connections wait to be accepted.
    pub(crate) const fn is_listener_ready(&self) -> bool {
        self.is_listener_ready
    }

    /// accept-phase: takes as many connections from each listening socket as the intake lets in,
    /// less those that wait for a stage, and passes them on.
    pub(crate) fn accept(&mut self) {
        self.books.server.stops.at(Stop::Woken);
        let (worker, now) = (self.books.worker, self.books.now.at);
        let queue = self.books.server.settings.stages.queue;
        self.limit = queue;
        for (place, listener) in self.accepting.listeners(&self.books) {
            // One socket's flood is no reason to let in fewer from another.
            let limit = queue.min(self.accepting.intake.quota(worker, place, now));
            self.limit = self.limit.min(limit);
            let queued = u32::try_from(self.plant.queued()).unwrap_or(u32::MAX);
            let waiting = queued.saturating_add(self.batch.len() as u32);
            let (mut taken, mut lost, mut emptied) = (0, 0, false);
            for _ in waiting..limit {
                if self.asks_for_room() {
                    break;
                }
                let stays = match self.accepting.take(listener, &mut self.books) {
                    Taken::One(socket) => self.admit(socket, place),
                    Taken::Lost => false,
                    Taken::Nobody => {
                        emptied = self.accepting.gate.is_open();
                        break;
                    }
                };
                taken += 1;
                // Who does not stay fills no gate: of those no more are taken than could wait.
                lost += u32::from(!stays);
                if lost >= self.books.server.waiting_max() {
                    break;
                }
            }
            self.accepting.intake.took(worker, place, taken, emptied);
        }
        let took = self.books.look_at_clock().as_nanos() as u64;
        self.books.tally.add(Counter::AcceptNs, took);
        self.pass_on();
    }

    /// The end of a round: who waits for a drain is let in, and what was counted is published.
    pub(crate) fn expire(&mut self) {
        let gate = &self.accepting.gate;
        if !self.is_listener_ready {
            self.accepting.intake.watch(self.books.worker, self.books.now.at);
        }
        if gate.is_draining() && gate.is_open() {
            self.accept_waiting();
        }
        self.books.publish();
        self.accepting.intake.give_way(self.books.worker);
    }

    /// All stages are to end.
    pub(crate) fn end(&self) {
        self.plant.end();
        self.belts.iter().for_each(Belt::close);
        self.belts.iter().for_each(Belt::nudge);
    }

    /// Whether other stages have to do something before anybody is accepted. They are told so
    /// first, and then it is looked once more: what has changed before is seen, what changes from
    /// now on wakes.
    fn is_to_wait_for_others(&mut self) -> bool {
        self.look_for_room();
        let gate = &self.accepting.gate;
        let is_refused = gate.due().is_some();
        if is_refused || gate.is_draining() || gate.is_full() || self.waits_for_room {
            self.plant.door_waits(None);
            self.look_for_room();
        }
        if self.is_behind() {
            self.plant.door_waits(Some(self.limit as usize / 2));
        }
        self.waits_for_room || self.is_behind()
    }

    /// As many newcomers wait for a stage as an accept phase takes.
    fn is_behind(&self) -> bool {
        !self.accepting.gate.is_draining() && self.plant.queued() >= self.limit as usize
    }

    fn wait_for_others(&mut self) -> io::Result<bool> {
        if !mem::replace(&mut self.is_held_up, true) && self.poller.is_edge_triggered() {
            // Whoever has woken only this one would wait with it.
            self.books.server.listeners.leave_to_others(self.books.worker.number);
        }
        let wakes = [self.books.worker.wake().as_fd_ref(), self.plant.door().as_fd_ref()];
        let ready = os::wait_readable(wakes, Some(LOOK_AGAIN))?;
        self.waits_for_room = false;
        Ok(ready[0])
    }

    fn poll(&mut self) -> io::Result<bool> {
        self.is_held_up = false;
        self.accepting.watch(&mut self.books, &mut self.poller);
        let timeout = self.patience();
        let (mut is_ordered, mut is_rung) = (false, false);
        for event in self.poller.wait(timeout)? {
            match event.token {
                ORDER => is_ordered = true,
                DOOR => {}
                BELL => is_rung = true,
                LISTENER_0.. => self.is_listener_ready = true,
                token => unreachable!("{token}: nobody else is waited for"),
            }
        }
        if is_rung {
            self.accepting.hear_bell(&mut self.books, &mut self.poller);
            self.is_listener_ready = true;
        }
        Ok(is_ordered)
    }

    /// `false`: it is turned away.
    fn admit(&mut self, socket: Socket, place: usize) -> bool {
        let dialog = self.books.dialog(place, || socket.peer_ip());
        if matches!(dialog.session.want(), h1::Want::Close) {
            self.books.tally.add(Counter::Closed, 1);
            return false;
        }
        self.accepting.gate.accepted(self.plant.opened());
        self.batch.push_back(Carried::new(socket, dialog, &self.books));
        true
    }

    fn pass_on(&mut self) {
        if !self.batch.is_empty() {
            // They may be answered before this round ends.
            self.books.publish();
        }
        self.belts[0].put(&mut self.batch, self.books.now.at);
    }

    /// At the maximum another connection is to be evicted first.
    fn asks_for_room(&mut self) -> bool {
        let is_crowded = self.accepting.gate.is_crowded();
        if is_crowded && self.accepting.gate.room(self.plant.open()) == 0 {
            self.waits_for_room = true;
            let number = self.plant.sends_away(self.books.now.at);
            self.belts[number].nudge();
        }
        self.waits_for_room
    }

    /// Who has gone, and whether another may come at the maximum.
    fn look_for_room(&mut self) {
        // In that order: who goes is counted as gone before it is told that somebody went.
        let closes = self.plant.closes();
        let open = self.plant.open();
        if mem::replace(&mut self.closes, closes) != closes {
            self.accepting.gate.closed(open);
            self.waits_for_room = false;
        }
        if self.accepting.gate.is_full() {
            let defers = self.accepting.gate.defers(self.books.worker, self.books.now.at);
            let may = self.plant.goes_at().is_some_and(|at| at <= os::clock::monotonic());
            let may = may && self.books.server.settings.make_room && !defers;
            self.accepting.gate.may_make_room(may, open);
        }
    }

    /// Every connection ends after what it has; the round's end takes who waits to be accepted.
    fn drain(&mut self) {
        self.poller.pause_level(self.books.worker.wake());
        self.accepting.gate.drain(self.books.server.waiting_max(), self.plant.open());
        self.is_listener_ready = false;
        self.plant.drain();
        self.belts.iter().for_each(Belt::nudge);
    }

    /// Takes who waits to be accepted, as far as there is room for them.
    fn accept_waiting(&mut self) {
        for (place, listener) in self.accepting.listeners(&self.books) {
            for _ in 0..self.books.server.waiting_max() {
                match self.accepting.take(listener, &mut self.books) {
                    Taken::One(socket) => {
                        self.admit(socket, place);
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
        self.pass_on();
    }

    fn patience(&self) -> Option<Duration> {
        let gate = &self.accepting.gate;
        let is_over = gate.is_shut() && self.plant.open() == 0;
        if gate.is_draining() && (gate.is_open() || is_over) {
            return Some(Duration::ZERO);
        }
        let waits = self.books.server.settings.make_room && gate.is_full() && !gate.is_open();
        let looks_again = gate.looks_again();
        let goes = self.plant.goes_at().filter(|_| waits && looks_again.is_none());
        let due: Option<Instant> = gate.due().into_iter().chain(goes).chain(looks_again).min();
        due.map(|at| at - self.books.now.at)
    }
}
