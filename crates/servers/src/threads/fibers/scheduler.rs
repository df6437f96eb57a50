//! The scheduler: which fiber runs next (Pariag07 section 4).
//!
//! It goes in rounds: it asks the poller, hears what workers and verifiers have done and whose
//! deadline has passed, and then each fiber that can go on runs once, until it parks. A fiber that
//! has used up its turn is in the next round.

mod state;

use std::cell::{Cell, RefCell};
use std::io;
use std::mem;
use std::sync::Arc;

use h1::{Deadline, FilePart, Miss, Tag};
use os::poller::{Event, Interest};
use os::{File, Socket};

use self::state::State;
use super::slots::Mail;
use crate::connection::Dialog;
use crate::connection::books::Books;
use crate::connection::perform::{Load, Service};
use crate::loops::accepting::Taken;
use crate::loops::helpers::{HandedOver, Helpers, Part};
use crate::shared::counters::Counter;
use crate::shared::server::Worker;
use crate::shared::stops::Stop;

/// See the head of this file. Fibers borrow it; what changes is borrowed for no longer than a call.
pub(crate) struct Scheduler<'s> {
    pub(super) worker: &'s Worker<'s>,
    state: RefCell<State<'s>>,
    /// The order to end has come.
    is_draining: Cell<bool>,
    /// One fiber accepts for all others.
    accepts_alone: bool,
}

impl<'s> Scheduler<'s> {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(
        worker: &'s Worker<'s>,
        helpers: &Helpers,
        workers: HandedOver<'s>,
    ) -> io::Result<Self> {
        os::thread::set_name("weir-fiber");
        let state = RefCell::new(State::new(worker, helpers, workers)?);
        let accepts_alone = worker.server.settings.acceptor;
        Ok(Self { worker, state, is_draining: Cell::new(false), accepts_alone })
    }

    /// Until drained: each fiber has ended.
    pub(crate) fn go_on(&self) -> bool {
        let state = self.state.borrow();
        let gate = &state.accepting.gate;
        !gate.is_draining() || state.slots.len() > 0 || gate.is_open() || gate.due().is_some()
    }

    /// Asks the poller, and wakes whoever can go on: a round begins.
    pub(crate) fn get_events(&self) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        let (is_ordered, has_answers, has_verdicts) = state.poll()?;
        if has_answers {
            state.hear_workers();
        }
        if has_verdicts {
            state.hear_verdicts();
        }
        if is_ordered && !self.is_draining.replace(true) {
            state.drain();
        }
        while state.asked == 0
            && let Some(number) = state.timers.passed(state.polled)
        {
            state.slots.of(number).looks = true;
            state.slots.wake(number);
        }
        let round = state.slots.begin() as u64;
        state.books.tally.add(Counter::WorkPhases, u64::from(round > 0));
        (state.begun, state.accept_ns) = (state.books.now.at, 0);
        Ok(())
    }

    /// The fiber that runs next in this round. One that accepts, or has what was accepted, comes
    /// last, and there may be none of that number yet.
    pub(crate) fn next(&self) -> Option<u32> {
        let state = &mut *self.state.borrow_mut();
        let next = state.slots.next().or_else(|| state.next_to_serve(self.accepts_alone));
        state.books.tally.add(Counter::UserSwitches, u64::from(next.is_some()));
        state.books.tally.add(Counter::Worked, u64::from(next.is_some()));
        next
    }

    /// The fiber of that number has ended.
    pub(super) fn ended(&self, number: u32) {
        let State { slots, acceptor, .. } = &mut *self.state.borrow_mut();
        slots.give_back(number);
        acceptor.take_if(|acceptor| *acceptor == number);
    }

    pub(super) fn is_acceptor(&self, number: u32) -> bool {
        self.state.borrow().acceptor == Some(number)
    }

    /// The end of a round: who waits for room is looked after, and what was counted is published.
    pub(crate) fn expire(&self) {
        let state = &mut *self.state.borrow_mut();
        state.books.look_at_clock();
        let took = (state.books.now.at - state.begun).as_nanos() as u64;
        state.books.tally.add(Counter::WorkNs, took.saturating_sub(state.accept_ns));
        state.look_for_room();
        state.accepting.watch(&mut state.books, &mut state.poller);
        let gate = &state.accepting.gate;
        if !gate.is_open() {
            state.accepting.intake.watch(self.worker, state.books.now.at);
        }
        if gate.is_draining() {
            state.end_free();
        }
        state.books.publish();
        state.accepting.intake.give_way(self.worker);
    }

    /// Whether that fiber is to wait until somebody can be accepted; also where some were accepted
    /// already, as serving all of them would be more than one turn. If not, it is to accept whoever
    /// knocks in this round, or nobody comes any more.
    pub(super) fn is_to_wait(&self, number: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        let waits = !state.accepting.gate.is_shut() && !mem::take(&mut state.is_knocked);
        if waits {
            state.free.push(number);
        }
        waits
    }

    /// Nobody comes any more, and nobody who has come waits.
    pub(super) fn is_shut(&self) -> bool {
        let state = self.state.borrow();
        state.accepting.gate.is_shut() && (self.accepts_alone || state.accepted.is_empty())
    }

    /// accept-phase of the fiber of that number: takes as many connections from each listening
    /// socket as the intake lets in, unless some that were accepted have no fiber yet. `behind` has
    /// another run first, whose connection goes for one of these.
    pub(super) fn accept(&self, number: u32, behind: impl Fn(u32)) {
        let (listeners, begun) = {
            let state = &mut *self.state.borrow_mut();
            if !state.accepted.is_empty() && !self.accepts_alone {
                return;
            }
            state.books.server.stops.at(Stop::Woken);
            state.look_for_room();
            state.books.look_at_clock();
            (state.accepting.listeners(&state.books), state.books.now.at)
        };
        let waiting_max = self.worker.server.waiting_max();
        for (place, listener) in listeners {
            let limit = self.state.borrow_mut().quota(place);
            let (mut taken, mut lost, mut emptied) = (0, 0, false);
            while taken < limit && lost < waiting_max {
                let next = self.state.borrow_mut().take(listener);
                match next {
                    Taken::One(socket) => {
                        lost += u32::from(!self.admit((number, &behind), socket, place));
                    }
                    Taken::Lost => lost += 1,
                    Taken::Nobody => {
                        emptied = self.state.borrow().accepting.gate.is_open();
                        break;
                    }
                }
                taken += 1;
            }
            self.state.borrow_mut().accepting.intake.took(self.worker, place, taken, emptied);
        }
        self.state.borrow_mut().end_accept(begun);
    }

    /// Takes in one who has come, perhaps in another's place; `false`: he is turned away.
    fn admit(&self, (number, behind): (u32, &impl Fn(u32)), socket: Socket, place: usize) -> bool {
        let (dialog, goes) = {
            let state = &mut *self.state.borrow_mut();
            state.books.fiber = Some(number);
            let dialog = state.books.dialog(place, || socket.peer_ip());
            if matches!(dialog.session.want(), h1::Want::Close) {
                state.books.tally.add(Counter::Closed, 1);
                return false;
            }
            let is_full = state.accepting.gate.room(state.open) == 0;
            (dialog, if is_full { state.next_evictable() } else { None })
        };
        if let Some(goes) = goes {
            self.state.borrow_mut().cut(goes);
            behind(goes);
        }
        self.state.borrow_mut().took_in((Arc::new(socket), dialog));
        true
    }

    /// Those fibers run next, in that order.
    pub(super) fn hurry(&self, fibers: [u32; 2]) {
        let state = &mut *self.state.borrow_mut();
        fibers.into_iter().rev().for_each(|number| state.slots.hurry(number));
    }

    /// The connection that was accepted first, for the fiber of that number.
    pub(super) fn takes(&self, number: u32) -> Option<(Arc<Socket>, Dialog)> {
        let state = &mut *self.state.borrow_mut();
        let (socket, dialog) = state.accepted.pop_front()?;
        state.slots.of(number).holds(Arc::clone(&socket));
        Some((socket, dialog))
    }

    /// The connection of that fiber is about to be closed.
    pub(super) fn closes(&self, number: u32) {
        let state = &mut *self.state.borrow_mut();
        state.asks_about(number, false);
        let State { slots, poller, timers, accepting, books, open, .. } = state;
        timers.set(number, None);
        let slot = slots.of(number);
        if let Some(socket) = slot.socket.take().filter(|_| slot.is_watched) {
            poller.remove(&*socket);
        }
        *open -= 1;
        books.tally.add(Counter::Closed, 1);
        accepting.gate.closed(*open);
        if slot.is_refused {
            accepting.gate.refused(books.now.at);
        }
    }

    /// That fiber is to park until its socket is ready for this, or its deadline has passed; not if
    /// the poller has told something while it waited for something else.
    pub(super) fn parks(
        &self,
        number: u32,
        interest: Interest,
        deadline: Option<Deadline>,
    ) -> io::Result<Option<Event>> {
        let state = &mut *self.state.borrow_mut();
        if let Some(told) = state.slots.of(number).goes_on() {
            return Ok(Some(told));
        }
        state.asks_about(number, interest != Interest::NONE);
        let State { slots, poller, timers, .. } = state;
        let slot = slots.of(number);
        timers.set(number, deadline);
        slot.waits(interest);
        let socket = slot.socket.as_ref().expect("who waits for a socket has one");
        if slot.is_watched {
            // Only select and poll have something to change; a refusal there would show at the next
            // round as silence, which the deadline ends.
            let _ = poller.set(&**socket, interest);
            return Ok(None);
        }
        let added = poller.add(&**socket, number.into(), interest);
        slot.is_refused = added.is_err();
        added?;
        slot.is_watched = true;
        Ok(None)
    }

    /// It runs again; what the poller has told meanwhile.
    pub(super) fn goes_on(&self, number: u32) -> Option<Event> {
        self.state.borrow_mut().slots.of(number).goes_on()
    }

    /// Whether it is to look once more whether something lies unread. Asked once.
    pub(super) fn looks(&self, number: u32) -> bool {
        mem::take(&mut self.state.borrow_mut().slots.of(number).looks)
    }

    /// Whether it has looked since the order to end came.
    pub(super) fn has_looked(&self, number: u32) -> bool {
        !self.state.borrow_mut().slots.of(number).looks
    }

    /// Its turn is over.
    pub(super) fn yields(&self, number: u32) {
        self.state.borrow_mut().slots.wake(number);
    }

    /// As [`Service::load`], for the connection of that fiber.
    pub(super) fn load(
        &self,
        number: u32,
        tag: Tag,
        miss: Miss<File>,
        books: &mut Books<'_>,
    ) -> Load {
        let load = self.state.borrow_mut().workers.load(number.into(), tag, miss, books);
        if matches!(load, Load::HandedOver | Load::Joined) {
            self.waits_for_mail(number, None);
        }
        load
    }

    /// Whether a part of a file is in memory.
    pub(super) fn has_pages(&self, part: &FilePart<File>) -> bool {
        self.state.borrow().workers.has_pages(part)
    }

    /// A worker is to send a part of a file for it, for whose client patience goes on.
    pub(super) fn send(&self, number: u32, part: Part, deadline: Option<Deadline>) {
        self.state.borrow_mut().workers.send(number.into(), part);
        self.waits_for_mail(number, deadline);
    }

    /// It waits for nothing but an answer.
    pub(super) fn waits_for_mail(&self, number: u32, deadline: Option<Deadline>) {
        let state = &mut *self.state.borrow_mut();
        state.asks_about(number, false);
        let State { slots, poller, timers, .. } = state;
        // It cannot be evicted while another works for it.
        timers.set(number, deadline.map(|due| Deadline { waits_since: None, ..due }));
        let slot = slots.of(number);
        if let Some(socket) = slot.socket.as_ref().filter(|_| slot.is_watched) {
            // As above.
            let _ = poller.set(&**socket, Interest::NONE);
        }
    }

    /// What it has asked for, if that is there.
    pub(super) fn mail(&self, number: u32) -> Option<Mail> {
        self.state.borrow_mut().slots.of(number).hears()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.get()
    }

    /// Whether its connection goes for another.
    pub(super) fn is_cut(&self, number: u32) -> bool {
        self.state.borrow_mut().slots.of(number).is_cut
    }
}
