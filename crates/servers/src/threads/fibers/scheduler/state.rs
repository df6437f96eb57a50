//! What changes in a scheduler, and what becomes of it in a round.

use std::collections::VecDeque;
use std::io;

use measure::{Duration, Instant};
use os::poller::Poller;

use super::super::slots::{Accepted, Mail, Slots};
use crate::connection::books::Books;
use crate::connection::gate::stays;
use crate::connection::timers::Timers;
use crate::loops::accepting::{Accepting, LISTENER_0, Taken};
use crate::loops::helpers::{HandedOver, Helpers};
use crate::loops::phases::TURNS;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::{Server, Worker};
use crate::shared::verifiers::Verifiers;

/// Tokens of the supervisor's order, of what workers have done, and of verdicts on passwords.
/// Fibers have their numbers.
const ORDER: u64 = u64::MAX;
const WORKERS: u64 = u64::MAX - 1;
const VERDICTS: u64 = u64::MAX - 2;

/// What changes in a scheduler.
pub(super) struct State<'s> {
    pub(super) slots: Slots,
    pub(super) poller: Poller,
    pub(super) timers: Timers,
    pub(super) accepting: Accepting,
    pub(super) workers: HandedOver<'s>,
    pub(super) books: Books<'s>,
    /// Fibers that wait to accept; the one that has had a connection last is taken first.
    pub(super) free: Vec<u32>,
    pub(super) accepted: VecDeque<Accepted>,
    /// Connections that were accepted and are not closed.
    pub(super) open: usize,
    /// Of these, those that the poller is asked about.
    pub(super) interest: usize,
    /// Somebody may be accepted in this round, and no fiber has been told so yet.
    pub(super) is_knocked: bool,
    /// When the poller was last asked. What came later nobody has looked at yet, so no deadline
    /// after it has passed.
    pub(super) polled: Instant,
    /// How often it was asked since, because its answers were full.
    pub(super) asked: usize,
    /// How long who was answered stayed when it was last looked for room.
    pub(super) stays: Duration,
    /// The one that accepts for all others, if one does.
    pub(super) acceptor: Option<u32>,
    /// When this round has begun, and the time in accept phases since.
    pub(super) begun: Instant,
    pub(super) accept_ns: u64,
}

impl<'s> State<'s> {
    pub(super) fn new(
        worker: &'s Worker<'s>,
        helpers: &Helpers,
        workers: HandedOver<'s>,
    ) -> io::Result<Self> {
        let settings = &worker.server.settings;
        let mut poller = Poller::new(settings.poller, settings.events_max as usize)?;
        poller.add_level(worker.wake(), ORDER)?;
        poller.add_level(helpers.wake(), WORKERS)?;
        if let Some(verifiers) = &worker.verifiers {
            poller.add_level(verifiers.wake(), VERDICTS)?;
        }
        let books = Books::new(worker, Performer::Fiber);
        let accepting = Accepting::new(&books, &mut poller, TURNS)?;
        Ok(Self {
            slots: Slots::default(),
            poller,
            timers: Timers::new(),
            accepting,
            workers,
            polled: books.now.at,
            begun: books.now.at,
            acceptor: None,
            books,
            free: Vec::new(),
            accepted: VecDeque::new(),
            open: 0,
            interest: 0,
            is_knocked: false,
            asked: 0,
            stays: stays(worker.server),
            accept_ns: 0,
        })
    }

    /// Whether an order, answers of workers, and verdicts have come.
    pub(super) fn poll(&mut self) -> io::Result<(bool, bool, bool)> {
        let timeout = self.patience();
        let Self { slots, poller, books, .. } = self;
        books.look_at_clock();
        let events = poller.wait(timeout)?;
        books.tally.add(Counter::GeteventsCalls, 1);
        books.tally.add(Counter::Events, events.len() as u64);
        books.tally.add(Counter::Interest, self.interest as u64);
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

    pub(super) fn patience(&self) -> Option<Duration> {
        let gate = &self.accepting.gate;
        if self.slots.has_next() || gate.is_draining() && gate.is_open() {
            return Some(Duration::ZERO);
        }
        let Server { settings, .. } = self.books.server;
        let waits = settings.make_room && gate.is_full() && !gate.is_open();
        let goes = waits.then(|| self.timers.goes_at(self.stays)).flatten();
        let due = self.timers.earliest().into_iter().chain(gate.due()).chain(goes).min();
        due.map(|at| at - self.books.now.at)
    }

    /// Whether the poller is asked about the socket of that fiber from now on.
    pub(super) fn asks_about(&mut self, number: u32, is: bool) {
        let was = std::mem::replace(&mut self.slots.of(number).is_asked_about, is);
        self.interest = self.interest + usize::from(is) - usize::from(was);
    }

    pub(super) fn hear_workers(&mut self) {
        for fetched in self.workers.fetched() {
            self.slots.answer(fetched.token, Mail::Loaded(fetched));
        }
        for sent in self.workers.sent() {
            self.slots.answer(sent.token, Mail::Sent(sent.sent, sent.who));
        }
    }

    pub(super) fn hear_verdicts(&mut self) {
        let verifiers = self.books.worker.verifiers.as_ref();
        for verdict in verifiers.map(Verifiers::verdicts).unwrap_or_default() {
            self.slots.answer(verdict.token, Mail::Verdict(verdict.lets_in));
        }
    }

    /// Who serves somebody who has come: a free fiber or a new one, or the one that accepts. A new
    /// one finds for itself that somebody knocks.
    pub(super) fn next_to_serve(&mut self, accepts_alone: bool) -> Option<u32> {
        let Self { slots, free, accepted, acceptor, is_knocked, .. } = self;
        *is_knocked &= !self.accepting.gate.is_shut();
        if *is_knocked {
            if let Some(number) = free.pop() {
                *is_knocked = false;
                return Some(number);
            }
            if !accepts_alone || acceptor.is_none() {
                let number = slots.take();
                *acceptor = Some(number).filter(|_| accepts_alone);
                return Some(number);
            }
        }
        if accepted.is_empty() {
            return None;
        }
        let free = if accepts_alone { None } else { free.pop() };
        Some(free.unwrap_or_else(|| slots.take()))
    }

    /// How many may be taken from the listening socket at that place before other work.
    pub(super) fn quota(&mut self, place: usize) -> u32 {
        let Self { accepting, books, .. } = self;
        match accepting.gate.is_draining() {
            true => books.server.waiting_max(),
            false => accepting.intake.quota(books.worker, place, books.now.at),
        }
    }

    pub(super) fn take(&mut self, listener: &os::Listener) -> Taken {
        self.accepting.take(listener, &mut self.books)
    }

    pub(super) fn took_in(&mut self, accepted: Accepted) {
        self.open += 1;
        self.accepted.push_back(accepted);
        self.accepting.gate.accepted(self.open);
        self.look_for_room();
    }

    /// An accept phase that began then is over.
    pub(super) fn end_accept(&mut self, begun: Instant) {
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
        // A worker may answer one of them before this round ends.
        books.publish();
        self.accept_ns += took;
    }

    /// Whether another may come at the maximum.
    pub(super) fn look_for_room(&mut self) {
        if self.accepting.gate.is_full() {
            self.stays = stays(self.books.server);
            let may = self.next_evictable().is_some();
            self.accepting.gate.may_make_room(may, self.open);
        }
    }

    /// The connection to evict first: none while the poller has more events to report.
    pub(super) fn next_evictable(&mut self) -> Option<u32> {
        let Server { settings, .. } = self.books.server;
        let may = settings.make_room && self.asked == 0 && !self.accepting.gate.is_draining();
        let Self { slots, timers, .. } = self;
        let mut longest = timers.may_go(self.stays, self.polled);
        longest.find(|number| may && slots.of(*number).rests())
    }

    pub(super) fn cut(&mut self, number: u32) {
        self.slots.of(number).is_cut = true;
    }

    /// Every connection ends after what it has; who waits to be accepted is taken in.
    pub(super) fn drain(&mut self) {
        let Self { slots, poller, accepting, books, open, .. } = self;
        poller.pause_level(books.worker.wake());
        accepting.gate.drain(books.server.waiting_max(), *open);
        self.is_knocked = accepting.gate.is_open();
        slots.wake_all();
    }

    /// In a drain, when nobody comes any more, those fibers end that have waited for somebody.
    pub(super) fn end_free(&mut self) {
        if self.accepting.gate.is_shut() {
            let Self { slots, free, .. } = self;
            free.drain(..).for_each(|number| slots.wake(number));
        }
    }
}
