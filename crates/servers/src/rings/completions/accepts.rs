//! How a completion loop takes connections.

use std::net::IpAddr;
use std::{io, mem};

use measure::{Duration, Instant};
use os::ring::{Handle, Takes};
use os::{Listener, Socket};

use super::{BELL, Completions, LISTENER_0};
use crate::rings::connection::RingConnection;
use crate::rings::ways::SLOTS_BEYOND;
use crate::shared::counters::Counter;
use crate::shared::stops::Stop;

/// Accepts in flight for each listening socket where each takes one connection.
const ACCEPTS_MAX: u32 = 1024;

/// The same where few come: who comes next is taken without being asked for.
const ACCEPTS_IDLE: u32 = 16;

/// Connections that are taken along at most when others accept from now on, whether there is room
/// for them or not: fewer than there are slots beyond the maximum.
const HANDED_ON_MAX: u32 = SLOTS_BEYOND as u32 / 2;

/// An accept that takes many cannot be told where to stop, so none is begun until for so long each
/// round could take all who waited.
const SINGLY_FOR: Duration = Duration::from_millis(100);

/// How often a ring looks whether somebody waits of whom it has not heard.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Accepts of a listening socket that have not come back for the last time.
#[derive(Clone, Copy, Default)]
pub(super) struct Accepts {
    in_flight: u32,
    /// There was no limit when they were begun.
    unlimited: bool,
    /// They are being cancelled.
    end: bool,
    /// Connections that have come in this round and in the one before, and how many were to.
    brought: u32,
    before: u32,
    limit: u32,
    /// More wait than are to come in a round, so until then each accept takes one.
    singly_until: Instant,
}

impl Accepts {
    /// One has come back; `more`: it goes on.
    pub(super) fn came_back(&mut self, more: bool) {
        let left = self.in_flight.checked_sub(u32::from(!more));
        self.in_flight = left.expect("an accept that was begun");
        self.end &= self.in_flight > 0;
    }
}

impl Completions<'_> {
    /// Submits what takes connections. With a limit so many accepts of one connection, again when
    /// all have come back; without one a single accept of many. That one cannot be told where to
    /// stop, so near the maximum of connections there are as many single ones as there is room for.
    pub(crate) fn accept(&mut self) -> io::Result<()> {
        let room = self.room();
        if !self.gate.is_open() || self.gate.is_crowded() && room == 0 {
            self.intake.watch(self.books.worker, self.books.now.at);
            return Ok(());
        }
        let (server, worker) = (self.books.server, self.books.worker);
        let room = (room / worker.places().len()) as u32;
        let bell = server.listeners.bell(worker.number);
        if let Some(bell) = bell.filter(|_| !self.hears_bell && !self.gate.is_draining()) {
            self.ring.poll(bell, BELL)?;
            self.hears_bell = true;
        }
        for (n, listener) in worker.listeners() {
            let limit = self.quota(n);
            let is_calm = self.books.now.at >= self.accepts[n].singly_until;
            let is_unlimited = is_calm && self.intake.is_unlimited(server, n);
            let many = is_unlimited && !self.are_single && self.has_room_for_all();
            let limit = if is_unlimited { self.all_who_wait(n, listener) } else { limit };
            let wanted = if many { 1 } else { room.clamp(1, ACCEPTS_MAX).min(limit) };
            let Accepts { in_flight, unlimited, end, .. } = self.accepts[n];
            if unlimited && in_flight > 0 && !is_unlimited {
                // The limit came while they were there; they end only when they are told to.
                self.stop_accepting_from(n)?;
                continue;
            }
            let has_enough = in_flight >= wanted || in_flight > 0 && !is_unlimited;
            if end || has_enough || worker.order.is_handed_on(n) {
                continue;
            }
            let takes = if many { Takes::Many } else { self.takes_one() };
            // Those that are there would have brought whoever waits. In a drain that has to be
            // known for sure.
            let nobody_waits = in_flight > 0 && !self.gate.is_draining();
            for _ in in_flight..wanted {
                let token = LISTENER_0 + n as u64;
                match nobody_waits {
                    true => self.ring.await_accept(listener, token, takes)?,
                    false => self.ring.accept(listener, token, takes)?,
                }
            }
            self.accepts[n] =
                Accepts { in_flight: wanted, unlimited: is_unlimited, ..self.accepts[n] };
        }
        Ok(())
    }

    /// How many take whoever waits, where nothing limits them. Where each takes one, others than
    /// these would take newcomers throughout the work phase, who are to wait in the socket's queue.
    fn all_who_wait(&self, n: usize, listener: &Listener) -> u32 {
        let is_busy = self.was_cut || self.accepts[n].before >= ACCEPTS_IDLE;
        let waiting = || listener.queue().map_or(ACCEPTS_MAX, |queue| queue.length);
        match self.are_single {
            true if !is_busy => ACCEPTS_IDLE,
            true if listener.is_tcp() => waiting().clamp(ACCEPTS_IDLE, ACCEPTS_MAX),
            _ => ACCEPTS_MAX,
        }
    }

    /// How an accept takes one connection.
    fn takes_one(&self) -> Takes {
        if self.tell_who { Takes::OneAndWho } else { Takes::One }
    }

    /// Tells who has come in the last round, and how many may in the next.
    fn quota(&mut self, n: usize) -> u32 {
        let worker = self.books.worker;
        let Accepts { in_flight, unlimited, brought, limit, .. } = self.accepts[n];
        let now = self.books.now.at;
        // Without a limit all who wait are taken; with one an accept has come back for each.
        let emptied = if unlimited { brought <= limit } else { in_flight > 0 || brought == 0 };
        // Where work is left over, whoever came meanwhile waits for all of it.
        let emptied = emptied && !self.was_cut;
        if !emptied {
            self.accepts[n].singly_until = now + SINGLY_FOR;
        }
        self.intake.brought(worker, n, brought, emptied);
        let limit = self.intake.quota(worker, n, now);
        self.accepts[n] = Accepts { brought: 0, before: brought, limit, ..self.accepts[n] };
        limit
    }

    /// Takes what an accept has brought; `more`: it goes on.
    pub(super) fn accepted(
        &mut self,
        accepted: io::Result<(Handle, Option<IpAddr>)>,
        listener: usize,
        more: bool,
    ) -> io::Result<()> {
        let (handle, who) = match accepted {
            Ok(accepted) => accepted,
            Err(e) if os::is_cancelled(&e) => {
                // Perhaps it was the one that was woken for somebody.
                if !self.gate.is_open() && self.accepts[listener].in_flight == 0 {
                    self.books.server.listeners.leave_to_others(self.books.worker.number);
                }
                return Ok(());
            }
            // Another worker has stopped listening, because nobody waits.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                self.gate.refused(self.books.now.at);
                self.gate.emptied();
                return Ok(());
            }
            Err(e) => {
                if self.books.refused(&e) == Counter::MachineFaults {
                    self.gate.refused(self.books.now.at);
                }
                return Ok(());
            }
        };
        self.books.server.stops.at(Stop::Accepted);
        self.books.tally.accepted(None);
        self.accepts[listener].brought += 1;
        self.look_at = self.books.now.at + LOOK_EVERY;
        let ask = || self.ring.socket(handle).and_then(Socket::peer_ip);
        let dialog = self.books.dialog(listener, || who.or_else(ask));
        let mut connection = RingConnection::new(handle, dialog);
        if self.gate.is_draining() {
            self.books.tell_end(&mut connection.dialog);
        }
        connection.touched = true;
        let is_crowded = self.gate.is_crowded();
        let token = self.connections.insert(connection);
        self.touched.push(token);
        self.gate.accepted(self.connections.len());
        self.gate.may_make_room(is_crowded, self.connections.len());
        let goes_on = self.gate.is_open() && (!more || self.has_room_for_all());
        if goes_on { Ok(()) } else { self.stop_accepting() }
    }

    /// Of all who wait for a connection the kernel wakes one: perhaps the ring of a process that
    /// stands still, or that has died, until the kernel has taken the ring down. Whoever was left
    /// waiting by that is found here, where accepts begin anew.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let now = self.books.now.at;
        if self.looks().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.look_at = now + LOOK_EVERY;
        let listeners = self.books.worker.kept_listeners().map(|listener| listener.as_fd_ref());
        let waits = os::wait_readable(listeners, Some(Duration::ZERO))?;
        if waits.contains(&true) { self.stop_accepting() } else { Ok(()) }
    }

    /// Another worker has left somebody waiting. One that accepts nobody leaves the bell to the
    /// others, and hears it when it accepts again.
    pub(super) fn hear_bell(&mut self) {
        self.hears_bell = false;
        if self.looks().is_some() {
            self.books.server.listeners.common_bell().clear();
            self.look_at = self.books.now.at;
        }
    }

    /// When to look again.
    pub(super) fn looks(&self) -> Option<Instant> {
        (self.gate.is_open() && !self.gate.is_draining()).then_some(self.look_at)
    }

    /// Takes who waits to be accepted, as far as there is room for them.
    pub(super) fn accept_waiting(&mut self) -> io::Result<()> {
        let mut brought = true;
        while brought && self.gate.is_open() {
            self.accept()?;
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
            self.books.worker.stop_listening();
        }
        Ok(())
    }

    /// Others accept from now on. Of all who wait for a connection the kernel wakes one, and that
    /// was perhaps this ring; so it takes along whoever still waits when it has ceased to.
    pub(super) fn hand_on(&mut self) -> io::Result<()> {
        let (server, worker) = (self.books.server, self.books.worker);
        let handed_on = || worker.listeners().filter(|(n, _)| worker.order.is_handed_on(*n));
        for _ in 0..=server.waiting_max().min(HANDED_ON_MAX) / worker.places().len() as u32 {
            self.stop_accepting()?;
            while self.accepts.iter().any(|accepts| accepts.in_flight > 0) {
                self.ring.submit_and_wait(1, None)?;
                while self.complete()? {}
            }
            let listeners = handed_on().map(|(_, listener)| listener.as_fd_ref());
            let waits = os::wait_readable(listeners, Some(Duration::ZERO))?;
            if !waits.contains(&true) {
                break;
            }
            for (n, listener) in handed_on() {
                self.ring.accept(listener, LISTENER_0 + n as u64, self.takes_one())?;
                self.accepts[n].in_flight = 1;
            }
            self.ring.submit_and_wait(0, None)?;
            while self.complete()? {}
        }
        Ok(())
    }

    pub(super) fn stop_accepting(&mut self) -> io::Result<()> {
        (0..self.accepts.len()).try_for_each(|n| self.stop_accepting_from(n))
    }

    fn stop_accepting_from(&mut self, n: usize) -> io::Result<()> {
        let accepts = &mut self.accepts[n];
        if accepts.in_flight > 0 && !mem::replace(&mut accepts.end, true) {
            self.ring.cancel(LISTENER_0 + n as u64)?;
        }
        Ok(())
    }

    /// Whether all who may wait to be accepted could be.
    fn has_room_for_all(&self) -> bool {
        self.gate.room(self.connections.len()) >= self.books.server.waiting_max() as usize
    }
}
