//! An open loop: sessions begin when they are to, whatever the server does, by the arrivals of
//! `load`.

use load::Purpose;
use load::arrivals::{Gaps, Schedule};
use measure::draw::Stream;

use super::{Client, Clients, State};
use crate::resources::queues::Item;
use crate::world::{Whose, World};

/// Whose alarm that of the next arrival is: no client has that number.
pub(super) const ARRIVAL: u32 = u32::MAX;

/// See the head of this file.
pub(super) struct Open {
    schedule: Schedule<Gaps>,
    /// In the agenda.
    place: u32,
    /// Clients that have no session.
    free: Vec<u32>,
    /// Connections that others have left, the last one first, as `load` takes them.
    pub(super) kept: Vec<Item>,
}

impl Open {
    pub(super) fn new(gaps: Gaps, seed: u64, world: &mut World) -> Self {
        Self {
            schedule: Schedule::new(gaps, Stream::new(seed, Purpose::Arrivals as u64)),
            place: world.place(Whose::Outside(ARRIVAL)),
            free: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The next one comes when it is to, if one does.
    pub(super) fn wait(&mut self, world: &mut World) {
        if let Some(at) = self.schedule.next() {
            world.agenda.set(self.place, at.as_nanos() as u64);
        }
    }
}

impl Clients {
    /// A session is to begin.
    pub(super) fn arrive(&mut self, world: &mut World) {
        let Some(open) = &mut self.open else { return };
        open.wait(world);
        let client = open.free.pop().or_else(|| {
            let number = self.all.len() as u32;
            (number < self.manner.count).then(|| {
                self.all.push(Client::new(world, number));
                number
            })
        });
        match client {
            None => self.tally.missed += 1,
            Some(client) => {
                self.begin_session(client);
                self.ask(world, client);
            }
        }
    }

    /// A client's session is over.
    pub(super) fn leave(&mut self, world: &mut World, client: u32) {
        let of = &mut self.all[client as usize];
        of.state = State::Thinks;
        world.agenda.clear(of.place);
        if let Some(open) = &mut self.open {
            open.kept.extend(of.connection.take());
            open.free.push(client);
        }
    }
}
