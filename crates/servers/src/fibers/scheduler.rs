//! The scheduler: which fiber runs next (Pariag07 section 4).
//!
//! It goes in rounds: it asks the poller, hears what workers and verifiers have done and whose
//! deadline has passed, and then each fiber that can go on runs once, until it parks. A fiber that
//! has used up its turn is in the next round.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use h1::{Deadline, Miss, Tag};
use measure::{Duration, Instant};
use os::poller::{Event, Interest, Poller};
use os::{File, Socket};

use super::Running;
use super::running::Accepted;
use super::slots::{Mail, Slots};
use crate::connection::Dialog;
use crate::connection::books::Books;
use crate::connection::gate::stays;
use crate::connection::perform::{Load, Service};
use crate::connection::timers::Timers;
use crate::loops::accepting::{Accepting, LISTENER_0, Taken};
use crate::loops::helpers::{HandedOver, Helpers, Part};
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::{Server, Worker};
use crate::shared::stops::Stop;
use crate::shared::verifiers::Verifiers;

/// Tokens of the supervisor's order, of what workers have done, and of verdicts on passwords.
/// Fibers have their numbers.
const ORDER: u64 = u64::MAX;
const WORKERS: u64 = u64::MAX - 1;
const VERDICTS: u64 = u64::MAX - 2;

/// See the head of this file. Fibers borrow it; what changes is borrowed for no longer than a call.
pub(crate) struct Scheduler<'s> {
    pub(super) worker: &'s Worker<'s>,
    state: RefCell<State<'s>>,
    /// The order to end has come.
    is_draining: Cell<bool>,
    /// One fiber accepts for all others.
    accepts_alone: bool,
}

struct State<'s> {
    slots: Slots,
    poller: Poller,
    timers: Timers,
    accepting: Accepting,
    workers: HandedOver<'s>,
    books: Books<'s>,
    /// Fibers that wait to accept; the one that has had a connection last is taken first.
    free: Vec<u32>,
    accepted: VecDeque<Accepted>,
    /// Connections that were accepted and are not closed.
    open: usize,
    /// Somebody may be accepted in this round, and no fiber has been told so yet.
    is_knocked: bool,
    /// When the poller was last asked. What came later nobody has looked at yet, so no deadline
    /// after it has passed.
    polled: Instant,
    /// How often it was asked since, because its answers were full.
    asked: usize,
    /// How long who was answered stayed when it was last looked for room.
    stays: Duration,
    /// Time in accept phases of this round.
    accept_ns: u64,
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
        let settings = &worker.server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(worker.wake(), ORDER)?;
        poller.add_level(helpers.wake(), WORKERS)?;
        if let Some(verifiers) = &worker.verifiers {
            poller.add_level(verifiers.wake(), VERDICTS)?;
        }
        let books = Books::new(worker, Performer::Fiber);
        let accepting = Accepting::new(&books, &mut poller)?;
        let state = State {
            slots: Slots::default(),
            poller,
            timers: Timers::new(),
            accepting,
            workers,
            polled: books.now.at,
            books,
            free: Vec::new(),
            accepted: VecDeque::new(),
            open: 0,
            is_knocked: false,
            asked: 0,
            stays: stays(worker.server),
            accept_ns: 0,
        };
        let (state, is_draining) = (RefCell::new(state), Cell::new(false));
        Ok(Self { worker, state, is_draining, accepts_alone: settings.acceptor })
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
        state.accept_ns = 0;
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
        self.state.borrow_mut().slots.give_back(number);
    }

    /// The end of a round: who waits for room is looked after, and what was counted is published.
    pub(crate) fn expire(&self) {
        let state = &mut *self.state.borrow_mut();
        let took = state.books.look_at_clock().as_nanos() as u64;
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

    /// Whether that fiber is to wait until somebody can be accepted.
    pub(super) fn is_to_wait(&self, number: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        let waits = self.accepts_alone || state.accepted.is_empty();
        let waits = waits && !state.accepting.gate.is_shut();
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

    /// accept-phase of a fiber: see [`Running::accept`].
    pub(super) fn accept(&self, fiber: &Running<'_, '_>) {
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
                    Taken::One(socket) => lost += u32::from(!self.admit(fiber, socket, place)),
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
    fn admit(&self, fiber: &Running<'_, '_>, socket: Socket, place: usize) -> bool {
        let (dialog, goes) = {
            let state = &mut *self.state.borrow_mut();
            state.books.fiber = Some(fiber.number);
            let dialog = state.books.dialog(place, || socket.peer_ip());
            if matches!(dialog.session.want(), h1::Want::Close) {
                state.books.tally.add(Counter::Closed, 1);
                return false;
            }
            let is_full = state.accepting.gate.room(state.open) == 0;
            (dialog, if is_full { state.who_may_go() } else { None })
        };
        if let Some(goes) = goes {
            self.state.borrow_mut().cut(goes);
            fiber.goes_behind(goes);
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
        let State { slots, poller, timers, accepting, books, open, .. } =
            &mut *self.state.borrow_mut();
        timers.set(number, None);
        let slot = slots.of(number);
        if let Some(socket) = slot.socket.take().filter(|_| slot.is_watched) {
            poller.remove(&*socket);
        }
        *open -= 1;
        books.tally.add(Counter::Closed, 1);
        accepting.gate.closed(*open);
    }

    /// That fiber parks until its socket is ready for this, or its deadline has passed.
    pub(super) fn parks(
        &self,
        number: u32,
        interest: Interest,
        deadline: Option<Deadline>,
    ) -> io::Result<()> {
        let State { slots, poller, timers, .. } = &mut *self.state.borrow_mut();
        timers.set(number, deadline);
        let slot = slots.of(number);
        slot.waits(interest);
        let socket = slot.socket.as_ref().expect("who waits for a socket has one");
        if slot.is_watched {
            // Only select and poll have something to change; a refusal there would show at the next
            // round as silence, which the deadline ends.
            let _ = poller.set(&**socket, interest);
            return Ok(());
        }
        poller.add(&**socket, number.into(), interest)?;
        slot.is_watched = true;
        Ok(())
    }

    /// It runs again; what the poller has told meanwhile.
    pub(super) fn goes_on(&self, number: u32) -> Option<Event> {
        self.state.borrow_mut().slots.of(number).goes_on()
    }

    /// Whether it is to look once more whether something lies unread. Asked once.
    pub(super) fn looks(&self, number: u32) -> bool {
        std::mem::take(&mut self.state.borrow_mut().slots.of(number).looks)
    }

    /// Whether it has looked since the order to end came.
    pub(super) fn has_looked(&self, number: u32) -> bool {
        !self.state.borrow_mut().slots.of(number).looks
    }

    /// Its turn is over.
    pub(super) fn yields(&self, number: u32) {
        let state = &mut *self.state.borrow_mut();
        state.timers.set(number, None);
        state.slots.wake(number);
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
            self.waits_for_mail(number);
        }
        load
    }

    /// A worker is to send a part of a file for it.
    pub(super) fn send(&self, number: u32, part: Part) {
        self.state.borrow_mut().workers.send(number.into(), part);
        self.waits_for_mail(number);
    }

    /// It waits for nothing but an answer.
    pub(super) fn waits_for_mail(&self, number: u32) {
        let State { slots, poller, timers, .. } = &mut *self.state.borrow_mut();
        timers.set(number, None);
        let slot = slots.of(number);
        if let Some(socket) = slot.socket.as_ref().filter(|_| slot.is_watched) {
            // As above.
            let _ = poller.set(&**socket, Interest::NONE);
        }
    }

    /// What it has asked for, if that is there.
    pub(super) fn mail(&self, number: u32) -> Option<Mail> {
        self.state.borrow_mut().slots.of(number).mail.take()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.get()
    }

    /// Whether its connection goes for another.
    pub(super) fn is_cut(&self, number: u32) -> bool {
        self.state.borrow_mut().slots.of(number).is_cut
    }
}

impl State<'_> {
    /// Whether an order, answers of workers, and verdicts have come.
    fn poll(&mut self) -> io::Result<(bool, bool, bool)> {
        let timeout = self.patience();
        let Self { slots, poller, books, .. } = self;
        books.look_at_clock();
        let events = poller.wait(timeout)?;
        books.tally.add(Counter::GeteventsCalls, 1);
        books.tally.add(Counter::Events, events.len() as u64);
        books.tally.add(Counter::Interest, self.open as u64);
        let events_max = books.server.settings.events_max as usize;
        let is_full = events.len() >= events_max;
        let (mut is_ordered, mut has_answers, mut has_verdicts) = (false, false, false);
        for event in events {
            match event.token {
                ORDER => is_ordered = true,
                WORKERS => has_answers = true,
                VERDICTS => has_verdicts = true,
                LISTENER_0.. => self.is_knocked = true,
                _ => slots.tell(event),
            }
        }
        let took = books.look_at_clock();
        books.tally.add(Counter::GeteventsNs, took.as_nanos() as u64);
        if self.asked == 0 {
            self.polled = books.now.at;
        }
        let goes_on = is_full && self.asked < self.open / events_max;
        self.asked = if goes_on { self.asked + 1 } else { 0 };
        self.accepting.gate.tick(books.now.at, self.open);
        // In a drain who waits is let in without being waited for.
        let gate = &self.accepting.gate;
        self.is_knocked |= gate.is_draining() && gate.is_open();
        Ok((is_ordered, has_answers, has_verdicts))
    }

    fn patience(&self) -> Option<Duration> {
        let gate = &self.accepting.gate;
        if self.slots.has_next() || gate.is_draining() && gate.is_open() {
            return Some(Duration::ZERO);
        }
        let Server { settings, limits, .. } = self.books.server;
        let waits = settings.make_room && gate.is_full() && !gate.is_open();
        let goes = waits.then(|| self.timers.goes_at(limits, self.stays)).flatten();
        let due = self.timers.earliest().into_iter().chain(gate.due()).chain(goes).min();
        due.map(|at| at - self.books.now.at)
    }

    fn hear_workers(&mut self) {
        for fetched in self.workers.fetched() {
            let number = fetched.token as u32;
            self.slots.of(number).mail = Some(Mail::Loaded(fetched));
            self.slots.wake(number);
        }
        for sent in self.workers.sent() {
            let number = sent.token as u32;
            self.slots.of(number).mail = Some(Mail::Sent(sent.sent, sent.who));
            self.slots.wake(number);
        }
    }

    fn hear_verdicts(&mut self) {
        let verifiers = self.books.worker.verifiers.as_ref();
        for verdict in verifiers.map(Verifiers::verdicts).unwrap_or_default() {
            let number = verdict.token as u32;
            self.slots.of(number).mail = Some(Mail::Verdict(verdict.lets_in));
            self.slots.wake(number);
        }
    }

    /// Who serves somebody who has come: a free fiber or a new one, or the one that accepts.
    fn next_to_serve(&mut self, accepts_alone: bool) -> Option<u32> {
        let Self { slots, free, accepted, is_knocked, .. } = self;
        if accepts_alone && slots.len() == 0 && !self.accepting.gate.is_shut() {
            return Some(slots.take());
        }
        if std::mem::take(is_knocked) {
            // The only one that is ever free of an acceptor's.
            return free.pop().or_else(|| (!accepts_alone).then(|| slots.take()));
        }
        if accepted.is_empty() {
            return None;
        }
        let free = if accepts_alone { None } else { free.pop() };
        Some(free.unwrap_or_else(|| slots.take()))
    }

    /// How many may be taken from the listening socket at that place before other work.
    fn quota(&mut self, place: usize) -> u32 {
        let Self { accepting, books, .. } = self;
        match accepting.gate.is_draining() {
            true => books.server.waiting_max(),
            false => accepting.intake.quota(books.worker, place, books.now.at),
        }
    }

    fn take(&mut self, listener: &os::Listener) -> Taken {
        self.accepting.take(listener, &mut self.books)
    }

    fn took_in(&mut self, accepted: Accepted) {
        self.open += 1;
        self.accepted.push_back(accepted);
        self.accepting.gate.accepted(self.open);
        self.look_for_room();
    }

    /// An accept phase that began then is over.
    fn end_accept(&mut self, begun: Instant) {
        let Self { accepting, books, .. } = self;
        let gate = &mut accepting.gate;
        if gate.is_draining() {
            if gate.is_open() {
                gate.emptied();
            }
            if gate.is_shut() {
                books.worker.stop_listening();
            }
        } else {
            books.tally.add(Counter::Bounded, u64::from(!gate.is_open()));
        }
        let took = (os::clock::monotonic() - begun).as_nanos() as u64;
        books.tally.add(Counter::AcceptNs, took);
        self.accept_ns += took;
    }

    /// Whether another may come at the maximum.
    fn look_for_room(&mut self) {
        if self.accepting.gate.is_full() {
            self.stays = stays(self.books.server);
            let may = self.who_may_go().is_some();
            self.accepting.gate.may_make_room(may, self.open);
        }
    }

    /// Nobody of whom the poller has not yet said all.
    fn who_may_go(&mut self) -> Option<u32> {
        let Server { settings, limits, .. } = self.books.server;
        let may = settings.make_room && self.asked == 0 && !self.accepting.gate.is_draining();
        let Self { slots, timers, .. } = self;
        let mut longest = timers.may_go(limits, self.stays, self.polled);
        longest.find(|number| may && !slots.of(*number).is_queued())
    }

    fn cut(&mut self, number: u32) {
        self.slots.of(number).is_cut = true;
        self.books.tally.add(Counter::Evicted, 1);
    }

    /// Every connection ends after what it has; who waits to be accepted is taken in.
    fn drain(&mut self) {
        let Self { slots, poller, accepting, books, open, .. } = self;
        poller.pause_level(books.worker.wake());
        accepting.gate.drain(books.server.waiting_max(), *open);
        self.is_knocked = accepting.gate.is_open();
        slots.wake_all();
    }

    /// In a drain, when nobody comes any more, those fibers end that have waited for somebody.
    fn end_free(&mut self) {
        if self.accepting.gate.is_shut() {
            let Self { slots, free, .. } = self;
            free.drain(..).for_each(|number| slots.wake(number));
        }
    }
}
