//! What the scheduler knows of each fiber, and which of them run next.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;

use os::Socket;
use os::poller::{Event, Interest};

use crate::connection::Dialog;
use crate::loops::helpers::Fetched;
use crate::shared::trace::Who;

/// All fibers, by their numbers.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    /// Numbers that no fiber has; the one that ended last is taken first, as its stack is warm.
    vacant: Vec<u32>,
    /// Fibers that run in this round, and in the next.
    round: VecDeque<u32>,
    next: VecDeque<u32>,
}

/// One of them.
#[derive(Default)]
pub(super) struct Slot {
    /// Its connection's.
    pub(super) socket: Option<Arc<Socket>>,
    /// The poller looks at that socket.
    pub(super) is_watched: bool,
    /// And is asked about it, as it was last told.
    pub(super) is_asked_about: bool,
    /// It cannot: the machine has refused.
    pub(super) is_refused: bool,
    /// What it has parked for.
    waits: Option<Interest>,
    /// What the poller has told since it last looked.
    told: Option<Event>,
    /// What it has asked somebody else for.
    mail: Option<Mail>,
    /// It is to look once more whether there is something to receive: its deadline has passed, or
    /// the order to end has come.
    pub(super) looks: bool,
    /// Its connection goes for another.
    pub(super) is_cut: bool,
    is_queued: bool,
}

/// A connection that was accepted and has no fiber yet.
pub(super) type Accepted = (Arc<Socket>, Dialog);

/// What comes back.
pub(super) enum Mail {
    Loaded(Fetched),
    Sent(io::Result<u64>, Option<Who>),
    Verdict(bool),
}

impl Slots {
    /// A number for a fiber that is to be made.
    pub(super) fn take(&mut self) -> u32 {
        self.vacant.pop().unwrap_or_else(|| {
            self.all.push(Slot::default());
            u32::try_from(self.all.len() - 1).expect("fewer than descriptors")
        })
    }

    /// That fiber has ended.
    pub(super) fn give_back(&mut self, number: u32) {
        self.vacant.push(number);
    }

    /// How many fibers there are.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.vacant.len()
    }

    pub(super) fn of(&mut self, number: u32) -> &mut Slot {
        &mut self.all[number as usize]
    }

    /// Its fiber runs in the round that begins next.
    pub(super) fn wake(&mut self, number: u32) {
        if !mem::replace(&mut self.of(number).is_queued, true) {
            self.next.push_back(number);
        }
    }

    /// What its fiber has asked for has come.
    pub(super) fn answer(&mut self, token: u64, mail: Mail) {
        let number = token as u32;
        self.of(number).mail = Some(mail);
        self.wake(number);
    }

    /// Wakes all that have a connection, and they look whether something lies unread.
    pub(super) fn wake_all(&mut self) {
        for number in 0..self.all.len() as u32 {
            if self.of(number).socket.is_some() {
                self.of(number).looks = true;
                self.wake(number);
            }
        }
    }

    /// Its fiber runs before all others of this round.
    pub(super) fn hurry(&mut self, number: u32) {
        assert!(!mem::replace(&mut self.of(number).is_queued, true), "it is not in two rounds");
        self.round.push_front(number);
    }

    /// The poller tells of a socket.
    pub(super) fn tell(&mut self, event: &Event) {
        let number = event.token as u32;
        let slot = self.of(number);
        let told = slot.told.get_or_insert(Event { readable: false, writable: false, ..*event });
        told.readable |= event.readable;
        told.writable |= event.writable;
        told.ended |= event.ended;
        let Some(Interest { read, write }) = slot.waits else { return };
        let is_awaited = event.ended && (read || write);
        if is_awaited || event.readable && read || event.writable && write {
            self.wake(number);
        }
    }

    /// A round begins; how many run in it, as far as is known.
    pub(super) fn begin(&mut self) -> usize {
        self.round.append(&mut self.next);
        self.round.len()
    }

    /// The next one in it.
    pub(super) fn next(&mut self) -> Option<u32> {
        let number = self.round.pop_front()?;
        self.of(number).is_queued = false;
        Some(number)
    }

    /// Whether some are to run in the next round.
    pub(super) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }
}

impl Slot {
    /// What it has asked for, if that is there.
    pub(super) fn hears(&mut self) -> Option<Mail> {
        self.mail.take()
    }

    /// It has a connection from now on.
    pub(super) fn holds(&mut self, socket: Arc<Socket>) {
        *self = Self { socket: Some(socket), is_queued: self.is_queued, ..Self::default() };
    }

    /// It parks for this. Whoever is to run already does not wait.
    pub(super) fn waits(&mut self, interest: Interest) {
        self.waits = Some(interest);
    }

    /// It runs again, and hears what the poller has told meanwhile.
    pub(super) fn goes_on(&mut self) -> Option<Event> {
        self.waits = None;
        self.told.take()
    }

    /// Whether it has parked for its socket, and nothing has come of that yet.
    pub(super) const fn rests(&self) -> bool {
        self.waits.is_some() && !self.is_queued
    }
}
