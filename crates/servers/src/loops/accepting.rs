//! Where a loop's connections come from: the listening sockets, and whether it accepts from them.

use std::{io, mem};

use os::poller::Poller;
use os::{Blocking, Listener, Socket, SpareDescriptor};

use crate::connection::books::Books;
use crate::connection::gate::Gate;
use crate::connection::intake::Intake;
use crate::connection::places::TOKENS_END;
use crate::shared::counters::Counter;

/// Token of the first listening socket.
pub(super) const LISTENER_0: u64 = TOKENS_END;

/// Turns of a connection with one request: it is answered, and the peer closes.
const TURNS: u32 = 2;

/// What takes connections.
pub(crate) struct Accepting {
    pub(crate) gate: Gate,
    pub(crate) intake: Intake,
    spare: SpareDescriptor,
    /// Which listening socket is the first in an accept-phase: none is always the last.
    first: usize,
    /// The poller looks at the listening sockets, as it does while the gate is open.
    is_watched: bool,
}

/// What a call of accept has brought.
pub(crate) enum Taken {
    One(Socket),
    /// One that was lost at once, or a refusal of the machine.
    Lost,
    /// Nobody waits, or nobody is to be let in.
    Nobody,
}

impl Accepting {
    /// From all listening sockets, which the poller looks at from now on.
    pub(crate) fn new(books: &Books<'_>, poller: &mut Poller) -> io::Result<Self> {
        for (token, listener) in (LISTENER_0..).zip(&books.server.listeners) {
            poller.add_level(&**listener, token)?;
        }
        Ok(Self {
            gate: Gate::new(books.server.connections_max),
            intake: Intake::new(books.worker, TURNS),
            spare: SpareDescriptor::new()?,
            first: 0,
            is_watched: true,
        })
    }

    /// The listening sockets with their places, in the order of the next accept-phase.
    pub(crate) fn listeners<'s>(
        &mut self,
        books: &Books<'s>,
    ) -> impl Iterator<Item = (usize, &'s Listener)> + use<'s> {
        self.first += 1;
        let all = books.server.listeners_from(self.first);
        all.map(|(place, listener)| (place, &**listener))
    }

    /// Takes one connection, if the gate is open.
    pub(crate) fn take(&mut self, listener: &Listener, books: &mut Books<'_>) -> Taken {
        if !self.gate.is_open() {
            return Taken::Nobody;
        }
        match listener.accept(Blocking::No) {
            Ok(socket) => {
                books.tally.accepted(Some(&socket));
                Taken::One(socket)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Taken::Nobody,
            Err(e) => {
                if books.refused(&e) == Counter::MachineFaults {
                    // In a drain those who wait can wait until somebody has gone.
                    if os::is_out_of_descriptors(&e) && !self.gate.is_draining() {
                        books.tally.add(Counter::Shed, u64::from(self.spare.refuse(listener)));
                    }
                    self.gate.refused(books.now.at);
                }
                Taken::Lost
            }
        }
    }

    /// The poller looks at the listening sockets as long as the gate is open to newcomers.
    pub(crate) fn watch(&mut self, books: &mut Books<'_>, poller: &mut Poller) {
        let wanted = self.gate.is_open() && !self.gate.is_draining();
        if mem::replace(&mut self.is_watched, wanted) == wanted {
            return;
        }
        let listeners = &books.server.listeners;
        let mut added = wanted;
        for (token, listener) in (LISTENER_0..).zip(listeners) {
            added = added && poller.add_level(&**listener, token).is_ok();
        }
        if added {
            return;
        }
        listeners.iter().for_each(|listener| poller.pause_level(&**listener));
        if wanted {
            books.tally.add(Counter::MachineFaults, 1);
            self.gate.refused(books.now.at);
            self.is_watched = false;
        }
    }
}
