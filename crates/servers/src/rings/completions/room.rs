//! How a completion loop makes room: who comes at the maximum is taken first, by a slot beyond it,
//! and then another goes. Nobody goes for nobody so, and a ring cannot see whether somebody waits.

use std::io;

use h1::Want;
use measure::Instant;

use super::Completions;
use crate::connection::gate::stays;
use crate::session::Event;

impl Completions<'_> {
    /// How many more may come in.
    pub(super) fn room(&self) -> usize {
        let open = self.connections.len();
        if self.gate.is_crowded() {
            let most = self.books.server.connections_max + self.beyond;
            return most.saturating_sub(open);
        }
        self.gate.room(open)
    }

    /// For each connection beyond the maximum another one is evicted; the next may come as long as
    /// one may be.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        for _ in 0..self.owed() {
            let Some(token) = self.next_evictable(self.polled) else { break };
            let Some(connection) = self.connections.named(token) else { break };
            let sends = matches!(connection.dialog.session.want(), Want::Send(..));
            self.books.evicted(&connection.dialog);
            connection.dialog.session.tell(Event::Failed, &self.books.now);
            if sends {
                self.break_off(token, sends)?;
                self.start(token)?;
            } else {
                self.close(token)?;
            }
        }
        if self.gate.is_full() {
            let (worker, now) = (self.books.worker, self.books.now.at);
            let defers = self.gate.defers(worker, now);
            let may = self.next_evictable(now).is_some() && !defers;
            self.gate.may_make_room(may, self.connections.len());
            if !may {
                self.stop_accepting()?;
            }
        }
        Ok(())
    }

    /// While nobody may go yet: when somebody will.
    pub(super) fn goes_at(&self) -> Option<Instant> {
        let server = self.books.server;
        let waits = server.settings.make_room && self.gate.is_full() && !self.gate.is_open();
        let looks_again = self.gate.looks_again();
        let waits = waits && (self.owed() > 0 || looks_again.is_none());
        let goes = waits.then(|| self.timers.goes_at(stays(server))).flatten();
        goes.into_iter().chain(looks_again).min()
    }

    /// Newcomers for whom somebody is still to go. Those who go already do, whatever the reason.
    pub(super) fn owed(&self) -> usize {
        let staying = self.connections.len() - self.going;
        staying.saturating_sub(self.books.server.connections_max)
    }

    /// The connection to evict first, of those that have waited for long enough at that time.
    pub(super) fn next_evictable(&mut self, at: Instant) -> Option<u64> {
        let server = self.books.server;
        if !server.settings.make_room || self.gate.is_draining() {
            return None;
        }
        self.timers.may_go(stays(server), at).find_map(|place| {
            let (token, connection) = self.connections.at(place)?;
            (!connection.touched).then_some(token)
        })
    }
}
