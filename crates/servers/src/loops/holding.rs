//! The connections that a loop holds: their places, what the poller looks at, their deadlines.

use std::io;

use measure::{Duration, Instant};
use os::poller::{Interest, Poller};

use crate::connection::Connection;
use crate::connection::calls::Ready;
use crate::connection::places::{Places, place_of};
use crate::connection::timers::Timers;

pub(crate) struct Holding {
    pub(crate) poller: Poller,
    pub(crate) connections: Places<Connection<Ready>>,
    timers: Timers,
}

impl Holding {
    pub(crate) fn new(poller: Poller) -> Self {
        Self { poller, connections: Places::new(), timers: Timers::new() }
    }

    /// Takes a connection in, and names it.
    ///
    /// # Errors
    /// The poller refuses it, and it is closed.
    pub(crate) fn hold(&mut self, connection: Connection<Ready>) -> io::Result<u64> {
        let deadline = connection.dialog.session.view().deadline;
        let token = self.connections.insert(connection);
        let held = self.connections.named(token).expect("just inserted");
        if let Err(e) = self.poller.add(&held.calls.socket, token, Interest::READ) {
            self.connections.remove(token);
            return Err(e);
        }
        self.timers.set(place_of(token), deadline);
        Ok(token)
    }

    /// It waits for this, and for its deadline.
    pub(crate) fn rest(&mut self, token: u64, interest: Interest) {
        let Some(connection) = self.connections.named(token) else { return };
        let view = connection.dialog.session.view();
        connection.hears = view.hears;
        connection.rests = true;
        self.timers.set(place_of(token), view.deadline);
        // Only select and poll have something to change; a refusal there would show at the next
        // round as silence, which the deadline ends.
        let _ = self.poller.set(&connection.calls.socket, interest);
    }

    /// Lets go of it; dropped, it is closed.
    pub(crate) fn remove(&mut self, token: u64) -> Option<Connection<Ready>> {
        let connection = self.connections.remove(token)?;
        self.timers.set(place_of(token), None);
        self.poller.remove(&connection.calls.socket);
        Some(connection)
    }

    /// The next one whose deadline has passed.
    pub(crate) fn passed(&mut self, at: Instant) -> Option<(u64, &mut Connection<Ready>)> {
        let place = self.timers.passed(at)?;
        Some(self.connections.at(place).expect("whoever has a deadline is held"))
    }

    /// The connection that is to be evicted next, if one may be. One that has been answered stays
    /// for so long.
    pub(crate) fn evictable(&mut self, stays: Duration, now: Instant) -> Option<u64> {
        let Self { connections, timers, .. } = self;
        timers.may_go(stays, now).find_map(|place| {
            let (token, connection) = connections.at(place)?;
            (!connection.queued).then_some(token)
        })
    }

    /// When one of them will have waited for as long as it takes to go for another.
    pub(crate) fn goes_at(&self, stays: Duration) -> Option<Instant> {
        self.timers.goes_at(stays)
    }

    /// When the next deadline passes.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.timers.earliest()
    }
}
