//! How a completion loop takes connections.

use std::{io, mem};

use os::ring::Handle;

use super::{Completions, LISTENER_0};
use crate::counters::Counter;
use crate::party::Party;
use crate::perform::fault;
use crate::settings::ACCEPT_INF;

/// Accepts in flight for each listening socket where each takes one connection.
const ACCEPTS_MAX: u32 = 1024;

/// Accepts of a listening socket that have not come back for the last time.
#[derive(Clone, Copy, Default)]
pub(super) struct Accepts {
    pub(super) in_flight: u32,
    /// They are being cancelled.
    pub(super) end: bool,
}

impl Completions<'_> {
    /// Submits what takes connections. With a limit so many accepts of one connection, again when
    /// all have come back; without one a single accept of many. That one cannot be told where to
    /// stop, so near the maximum of connections there are as many single ones as there is room for.
    pub(crate) fn accept(&mut self, limit: u32) -> io::Result<()> {
        if !self.gate.is_open() {
            return Ok(());
        }
        let house = self.house;
        let many = limit == ACCEPT_INF && self.has_room_for_all();
        let room = (self.gate.room(self.parties.len()) / house.listeners.len()) as u32;
        let wanted = if many { 1 } else { room.clamp(1, ACCEPTS_MAX).min(limit) };
        for (n, listener) in house.listeners.iter().enumerate() {
            let Accepts { in_flight, end } = self.accepts[n];
            if end || in_flight >= wanted || (in_flight > 0 && limit != ACCEPT_INF) {
                continue;
            }
            self.tally.add(Counter::AcceptPhases, 1);
            for _ in in_flight..wanted {
                self.ring.accept(listener, LISTENER_0 + n as u64, many)?;
            }
            self.accepts[n].in_flight = wanted;
        }
        Ok(())
    }

    /// Takes what an accept has brought; `more`: it goes on.
    pub(super) fn accepted(&mut self, accepted: io::Result<Handle>, more: bool) -> io::Result<()> {
        let handle = match accepted {
            Ok(handle) => handle,
            Err(e) if os::is_cancelled(&e) => return Ok(()),
            // Another worker has stopped listening, because nobody waits.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                self.gate.refused(self.now.at);
                self.gate.emptied();
                return Ok(());
            }
            Err(e) => {
                let whose = fault(&e);
                self.tally.add(whose, 1);
                if whose == Counter::MachineFaults {
                    self.house.errors.refused(self.worker, &e, self.now.at);
                    self.gate.refused(self.now.at);
                }
                return Ok(());
            }
        };
        self.tally.add(Counter::Accepted, 1);
        let mut party = Party::new(handle, self.house, self.log.is_some(), &self.now);
        if self.gate.is_draining() {
            party.session.drain();
        }
        party.touched = true;
        let token = self.parties.insert(handle.slot(), party);
        self.touched.push(token);
        if self.log.is_some() {
            self.ring.install(handle, token)?;
        }
        self.gate.accepted(self.parties.len());
        let goes_on = self.gate.is_open() && (!more || self.has_room_for_all());
        if goes_on { Ok(()) } else { self.stop_accepting() }
    }

    /// Takes who waits to be accepted, as far as there is room for them.
    pub(super) fn accept_waiting(&mut self) -> io::Result<()> {
        let mut brought = true;
        while brought && self.gate.is_open() {
            self.accept(self.house.accept_limit)?;
            // Where accepts are being cancelled others can be submitted only after that.
            let ending = self.accepts.iter().any(|accepts| accepts.end);
            self.ring.submit_and_wait(u32::from(ending), None)?;
            // Nothing else is started meanwhile, so what completes comes to an end.
            brought = self.complete()?;
            while self.complete()? {}
        }
        if self.gate.is_open() {
            self.gate.emptied();
        }
        if self.gate.is_shut() {
            self.stop_accepting()?;
            self.house.stop_listening();
        }
        Ok(())
    }

    fn stop_accepting(&mut self) -> io::Result<()> {
        for (n, accepts) in self.accepts.iter_mut().enumerate() {
            if accepts.in_flight > 0 && !mem::replace(&mut accepts.end, true) {
                self.ring.cancel(LISTENER_0 + n as u64)?;
            }
        }
        Ok(())
    }

    /// Whether all who may wait to be accepted could be.
    fn has_room_for_all(&self) -> bool {
        self.gate.room(self.parties.len()) >= self.house.waiting_max() as usize
    }
}
