//! Clients that wait so long and no longer for a reply, as those of `weir load --patience`.
//!
//! Who has no patience left resets the connection. The server learns of it when it sends: it has
//! read the request, and looked for the file, in vain. It may learn of it a round trip too early
//! here, as soon as nothing that it sends can come in time.

use load::record::{Outcome, Step};

use super::{Clients, Life, Reply, State};
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
            let at_ns = deadline_ns.max(world.now_ns);
            world.agenda.set(self.all[client as usize].place, at_ns);
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
        if let State::Acknowledges(dropped) = of.state
            && Self::is_half_open(dropped)
        {
            self.half_open -= 1;
        }
        let ends_ns = of.intended_ns + self.manner.patience_ns.unwrap_or_default();
        of.connected_ns = of.connected_ns.filter(|connected_ns| *connected_ns <= ends_ns);
        let is_connected = of.connected_ns.is_some() || connection.is_some();
        let of = connection.map(|connection| &self.connections[connection as usize]);
        let step = match of.and_then(|of| of.first_byte_ns) {
            Some(_) => Step::Reply,
            None if is_connected => Step::FirstByte,
            None => Step::Connect,
        };
        if let Some(connection) = connection {
            self.reset(world, client, connection);
        }
        let in_ns = ends_ns.saturating_sub(world.now_ns);
        self.give_up(world, client, (Outcome::Impatient(step), in_ns));
    }

    fn reset(&mut self, world: &mut World, client: u32, connection: Item) {
        world.interrupt(client, self.manner.interrupts.taken_ns);
        if let Some(link) = &mut self.link {
            link.forget(connection, world.now_ns, &mut world.agenda);
        }
        let of = &mut self.connections[connection as usize];
        of.client = None;
        self.tally.lost_bytes += std::mem::take(&mut of.sent_bytes);
        // Else the server works for it, or has heard of it already.
        if let Some(queue) = of.heard.filter(|_| of.reply != Reply::Unsent) {
            of.reply = Reply::Unsent;
            world.push(queue, connection);
        }
        if of.life == Life::Closed {
            self.free(connection);
        }
    }

    /// When nothing that is sent from then on comes in time.
    fn deadline_ns(&self, client: u32) -> Option<u64> {
        let patience_ns = self.manner.patience_ns?.saturating_sub(self.way_ns());
        Some(self.all[client as usize].intended_ns + patience_ns)
    }
}
