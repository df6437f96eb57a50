//! Clients that wait so long and no longer for a reply, as those of `weir load --patience`.
//!
//! Who has no patience left resets the connection. The server learns of it when it sends: it has
//! read the request, and looked for the file, in vain.

use load::record::{Outcome, Step};

use super::{Clients, Reply, State};
use crate::resources::queues::Item;
use crate::world::World;

impl Clients {
    /// Rings then, or when the client's patience is over if that is before.
    pub(super) fn set_alarm(&mut self, world: &mut World, client: u32, at_ns: u64) {
        let of = &self.all[client as usize];
        let deadline_ns = self.deadline_ns(client).filter(|_| of.state != State::Thinks);
        world.agenda.set(of.place, deadline_ns.map_or(at_ns, |deadline| at_ns.min(deadline)));
    }

    /// Rings when the client's patience with a server that has its request is over.
    pub(super) fn set_deadline(&mut self, world: &mut World, client: u32) {
        if let Some(deadline_ns) = self.deadline_ns(client) {
            world.agenda.set(self.all[client as usize].place, deadline_ns);
        }
    }

    pub(super) fn is_impatient(&self, client: u32, now_ns: u64) -> bool {
        let is_over = self.deadline_ns(client).is_some_and(|deadline_ns| deadline_ns <= now_ns);
        is_over && self.all[client as usize].state != State::Thinks
    }

    /// Gives its request up, and the connection with it.
    pub(super) fn lose_patience(&mut self, world: &mut World, client: u32) {
        let of = &mut self.all[client as usize];
        let connection = of.connection.take();
        let step = match (of.state, connection) {
            (State::Acknowledges(_), _) => {
                self.half_open -= 1;
                Step::FirstByte
            }
            (_, None) => Step::Connect,
            (_, Some(connection)) => match self.connections[connection as usize].first_byte_ns {
                None => Step::FirstByte,
                Some(_) => Step::Reply,
            },
        };
        if let Some(connection) = connection {
            self.reset(world, connection);
        }
        self.give_up(world, client, Outcome::Impatient(step));
    }

    fn reset(&mut self, world: &mut World, connection: Item) {
        world.interrupt(connection, self.manner.interrupts.taken_ns);
        if let Some(link) = &mut self.link {
            link.forget(connection, world.now_ns, &mut world.agenda);
        }
        let of = &mut self.connections[connection as usize];
        of.client = None;
        self.tally.lost_bytes += std::mem::take(&mut of.sent_bytes);
        // Else the server is about to send.
        let is_idle = of.reply != Reply::Unsent && !of.is_closed;
        if let Some(queue) = of.heard.filter(|_| is_idle) {
            world.push(queue, connection);
        }
        if of.is_closed {
            self.free(connection);
        }
    }

    fn deadline_ns(&self, client: u32) -> Option<u64> {
        Some(self.all[client as usize].intended_ns + self.manner.patience_ns?)
    }
}
