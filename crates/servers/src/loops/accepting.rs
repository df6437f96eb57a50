//! Where a loop's connections come from: the listening sockets, and whether it accepts from them.

use std::{io, mem};

use os::poller::Poller;
use os::{Blocking, Listener, Socket, SpareDescriptor};

use crate::connection::books::Books;
use crate::connection::gate::Gate;
use crate::connection::intake::Intake;
use crate::connection::places::TOKENS_END;
use crate::shared::counters::Counter;
use crate::shared::server::Worker;
use crate::shared::stops::Stop;

/// Token of the first listening socket.
pub(crate) const LISTENER_0: u64 = TOKENS_END;
/// Token of the bell, see [`crate::shared::listening`].
pub(crate) const BELL: u64 = u64::MAX - 3;

/// What takes connections.
pub(crate) struct Accepting {
    pub(crate) gate: Gate,
    pub(crate) intake: Intake,
    spare: SpareDescriptor,
    /// Which listening socket is the first in an accept-phase: none is always the last.
    first: usize,
    /// The poller looks at the listening sockets, as it does while the gate is open.
    is_watched: bool,
    /// Whether sends of file parts wait.
    blocking: Blocking,
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
    /// A connection with one request has so many turns.
    pub(crate) fn new(books: &Books<'_>, poller: &mut Poller, turns: u32) -> io::Result<Self> {
        look_at_all(books, poller)?;
        Ok(Self {
            gate: Gate::new(books.server),
            intake: Intake::new(books.worker, turns),
            spare: SpareDescriptor::new()?,
            first: 0,
            is_watched: true,
            blocking: if books.server.parts_wait() { Blocking::Yes } else { Blocking::No },
        })
    }

    /// The listening sockets with their places, in the order of the next accept-phase.
    pub(crate) fn listeners<'s>(
        &mut self,
        books: &Books<'s>,
    ) -> impl Iterator<Item = (usize, &'s Listener)> + use<'s> {
        self.first += 1;
        let worker: &'s Worker<'s> = books.worker;
        let all = worker.listeners_from(self.first);
        all.map(|(place, listener)| (place, &**listener))
    }

    /// Takes one connection, if the gate is open.
    pub(crate) fn take(&mut self, listener: &Listener, books: &mut Books<'_>) -> Taken {
        if !self.gate.is_open() {
            return Taken::Nobody;
        }
        match listener.accept(self.blocking) {
            Ok(socket) => {
                books.server.stops.at(Stop::Accepted);
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
        if !wanted {
            look_away(books, poller);
            if poller.is_edge_triggered() {
                books.server.listeners.leave_to_others(books.worker.number);
            }
        } else if look_at_all(books, poller).is_err() {
            self.cannot_watch(books, poller);
        }
    }

    /// Another worker has left somebody waiting: the poller looks at the listening sockets anew, by
    /// which it tells of those where somebody waits for as long as that is so.
    pub(crate) fn hear_bell(&mut self, books: &mut Books<'_>, poller: &mut Poller) {
        books.server.listeners.common_bell().clear();
        look_away(books, poller);
        if look_at_all(books, poller).is_err() {
            self.cannot_watch(books, poller);
        }
    }

    /// The machine has no memory to look with.
    fn cannot_watch(&mut self, books: &mut Books<'_>, poller: &mut Poller) {
        look_away(books, poller);
        books.tally.add(Counter::MachineFaults, 1);
        self.gate.refused(books.now.at);
        self.is_watched = false;
    }
}

/// The poller is to tell who waits to be accepted, and who has been left by another worker.
fn look_at_all(books: &Books<'_>, poller: &mut Poller) -> io::Result<()> {
    let Books { server, worker, .. } = books;
    for (place, listener) in worker.listeners() {
        let token = LISTENER_0 + place as u64;
        if server.listeners.is_shared(place) {
            poller.add_exclusive(&**listener, token)?;
        } else {
            poller.add_level(&**listener, token)?;
        }
    }
    match server.listeners.bell(worker.number) {
        // With the other pollers all workers are woken for each connection.
        Some(bell) if poller.is_edge_triggered() => poller.add_exclusive(&**bell, BELL),
        _ => Ok(()),
    }
}

fn look_away(books: &Books<'_>, poller: &mut Poller) {
    let Books { server, worker, .. } = books;
    worker.listeners().for_each(|(_, listener)| poller.pause_level(&**listener));
    server.listeners.bell(worker.number).into_iter().for_each(|bell| poller.pause_level(&**bell));
}
