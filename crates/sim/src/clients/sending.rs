//! What the server sends: into the connection's send buffer, out of which a link takes it to the
//! client.
//!
//! Where there is no link a reply is there as soon as it is sent. A head has no bytes.

use super::{Clients, Life, Reply};
use crate::resources::links::{Carried, Passed};
use crate::resources::queues::Item;
use crate::world::World;

/// Whose alarm the link's is: no client has that number.
pub(super) const LINK: u32 = u32::MAX - 1;

/// Of what a send buffer holds, so much is left when Linux says that there is room again: a third
/// of it is free (`sk_stream_is_writeable`).
const LEFT_SHARE: (u64, u64) = (2, 3);

impl Clients {
    /// What the server has to send of a reply yet, and for how much of it there is room; nothing:
    /// the client has reset the connection.
    #[must_use]
    pub fn unsent(&self, connection: Item, now_ns: u64) -> (u64, u64) {
        let of = &self.connections[connection as usize];
        if of.client.is_none() {
            return (0, 0);
        }
        let unsent = of.bytes - of.sent_bytes;
        let buffer = self.manner.sending.buffer_bytes;
        match &self.link {
            Some(link) if buffer > 0 => {
                (unsent, unsent.min(buffer.saturating_sub(link.left(connection, now_ns))))
            }
            _ => (unsent, unsent),
        }
    }

    /// Sends so many bytes; says how many were taken, which is none after a reset.
    pub fn send(&mut self, world: &mut World, connection: Item, bytes: u64) -> u64 {
        let of = &mut self.connections[connection as usize];
        if of.client.is_none() {
            return 0;
        }
        of.sent_bytes += bytes;
        if let Some(link) = &mut self.link {
            link.put(connection, bytes, world.now_ns, &mut world.agenda);
        }
        bytes
    }

    /// The server can send no more now, and wants to hear of the connection when there is room.
    pub fn wait_for_room(&mut self, world: &mut World, connection: Item) {
        self.connections[connection as usize].reply = Reply::Waits;
        let (of, all) = LEFT_SHARE;
        let left = self.manner.sending.buffer_bytes * of / all;
        let link = self.link.as_mut().expect("who waits for room has a link");
        link.ask_room(connection, left, world.now_ns, &mut world.agenda);
    }

    /// The server has sent all of a reply.
    pub fn sent(&mut self, world: &mut World, connection: Item) {
        let of = &mut self.connections[connection as usize];
        of.reply = Reply::Sent;
        let is_there = self.link.as_ref().is_none_or(|link| !link.sends(connection));
        if is_there && of.client.is_some() {
            self.replied(world, connection);
        }
    }

    /// Whether the client has reset the connection.
    #[must_use]
    pub fn is_reset(&self, connection: Item) -> bool {
        self.connections[connection as usize].client.is_none()
    }

    /// The server has no more to do with a connection: the link may have.
    pub fn close(&mut self, connection: Item) {
        self.connections[connection as usize].life = Life::Closed;
        if self.link.as_ref().is_none_or(|link| !link.sends(connection)) {
            self.free(connection);
        }
    }

    /// The link's alarm has rung.
    pub(super) fn pass(&mut self, world: &mut World) {
        while let Some(passed) =
            self.link.as_mut().and_then(|link| link.next(world.now_ns, &mut world.agenda))
        {
            match passed {
                Passed::Room(connection) => {
                    let of = &mut self.connections[connection as usize];
                    of.reply = Reply::Unsent;
                    if let Some(queue) = of.heard {
                        world.push(queue, connection);
                    }
                }
                Passed::All(connection) => self.passed(world, connection),
            }
        }
    }

    /// What was sent on a connection has come, which may be all of the reply.
    fn passed(&mut self, world: &mut World, connection: Item) {
        let of = &self.connections[connection as usize];
        let (is_whole, is_closed) = (of.reply == Reply::Sent, of.life == Life::Closed);
        if is_whole {
            self.replied(world, connection);
        }
        if is_closed {
            self.free(connection);
        }
    }

    /// A connection is over, and its number may be another's.
    pub(super) fn free(&mut self, connection: Item) {
        let of = &mut self.connections[connection as usize];
        assert_ne!(of.life, Life::Over, "a connection ends once");
        of.life = Life::Over;
        self.tally.closed += 1;
        self.free.push(connection);
    }

    /// What the link did up to now.
    #[must_use]
    pub fn carried(&self, now_ns: u64) -> Carried {
        self.link.as_ref().map(|link| link.carried(now_ns)).unwrap_or_default()
    }

    /// What the link has lost, a line each.
    pub(super) fn link_faults(&self, now_ns: u64) -> Vec<String> {
        let Some(link) = &self.link else { return Vec::new() };
        let (little, carried, open_bytes) =
            (link.little(now_ns), link.carried(now_ns), link.open_bytes());
        let checks = [
            (little.holds(), format!("Little's law does not hold of the link: {little}")),
            (
                carried.put_bytes == carried.through_bytes + carried.lost_bytes + open_bytes,
                format!("the link: {carried:?}, and {open_bytes} bytes are on it"),
            ),
        ];
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
    }
}
