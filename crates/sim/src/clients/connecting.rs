//! Handshakes, and what becomes of those for which the listening queue has no room, as Linux has
//! it.

use load::record::{Outcome, Step};

use super::manner::Timeouts;
use super::{Clients, Connection, Drops, Life, State};
use crate::resources::queues::Item;
use crate::world::World;

/// A SYN is sent so often again. Where it waits for a second at first, that is for the last time
/// after 67 s, and it is given up after 131 s: `tcp_syn_retries` of 6, beside those of
/// [`LINEAR_RETRIES`] (Linux, ip-sysctl.rst).
const SYN_RETRIES: u32 = 6 + LINEAR_RETRIES;
/// So many, and the next one, wait as long as the first; those behind them twice as long as the one
/// before: `tcp_syn_linear_timeouts`.
const LINEAR_RETRIES: u32 = 4;

/// What comes with the end of a handshake is sent so often again. Where it waits for 200 ms at
/// first, that is for the last time after 51 s. The server has forgotten the handshake after 63 s
/// (`tcp_synack_retries` of 5; here after those 51), and answers the next one, after 102 s, with a
/// reset.
const DATA_RETRIES: u32 = 8;

impl Clients {
    /// A SYN is there, or is given up.
    pub(super) fn connect(&mut self, world: &mut World, client: u32, dropped: u32) {
        if dropped > SYN_RETRIES {
            return self.give_up(world, client, (Outcome::TimedOut, 0));
        }
        if let Some(class) = self.refuses(world) {
            *class(&mut self.tally.drops) += 1;
            world.interrupt(client, self.manner.interrupts.dropped_ns);
            let state = State::Connects(dropped + 1);
            let waits_ns = self.manner.timeouts.of_syn_ns(dropped);
            return self.begin_with(world, client, state, waits_ns);
        }
        world.interrupt(client, self.manner.interrupts.taken_ns);
        self.half_open += 1;
        // When the answer has come: whatever becomes of its end, the client is connected then.
        self.all[client as usize].connected_ns = Some(world.now_ns + self.way_ns());
        self.begin_with(world, client, State::Acknowledges(0), self.manner.round_trip_ns);
    }

    /// The end of a handshake is there with a request, or both are given up.
    pub(super) fn acknowledge(&mut self, world: &mut World, client: u32, dropped: u32) {
        if dropped > DATA_RETRIES {
            return self.give_up(world, client, (Outcome::Reset(Step::FirstByte), 0));
        }
        let connection = self.free.pop().unwrap_or_else(|| {
            self.connections.push(Connection::NONE);
            self.connections.len() as Item - 1
        });
        if !world.push(self.listening, connection) {
            self.free.push(connection);
            self.tally.drops.listen_overflow += 1;
            world.interrupt(client, self.manner.interrupts.dropped_ns);
            if dropped == DATA_RETRIES {
                self.half_open -= 1;
            }
            let state = State::Acknowledges(dropped + 1);
            let waits_ns = self.manner.timeouts.of_data_ns(dropped);
            return self.begin_with(world, client, state, waits_ns);
        }
        self.half_open -= 1;
        self.tally.opened += 1;
        self.all[client as usize].connection = Some(connection);
        self.connections[connection as usize] =
            Connection { client: Some(client), life: Life::Open, ..Connection::NONE };
        self.request(world, client, connection);
    }

    /// Whether the server remembers a handshake of which so many ends were dropped.
    pub(super) const fn is_half_open(dropped: u32) -> bool {
        dropped <= DATA_RETRIES
    }

    /// Why a SYN is dropped, in the order of Linux's `tcp_conn_request`.
    fn refuses(&self, world: &World) -> Option<fn(&mut Drops) -> &mut u64> {
        let accept_queue = world.queue_at(self.listening);
        // 0: whoever comes gets a cookie, and nothing is remembered of him.
        let half_open_max = self.manner.half_open_max;
        if half_open_max > 0 && self.half_open >= accept_queue.bound() as u64 {
            return Some(|drops| &mut drops.syn_queue_full);
        }
        if accept_queue.is_full() {
            return Some(|drops| &mut drops.accept_queue_full);
        }
        let room = half_open_max.saturating_sub(self.half_open);
        (room < half_open_max / 4).then_some(|drops| &mut drops.drop_request)
    }
}

impl Timeouts {
    /// How long Linux waits for an answer to a SYN that was sent so often before.
    const fn of_syn_ns(&self, before: u32) -> u64 {
        self.syn_ns << before.saturating_sub(LINEAR_RETRIES)
    }

    /// And for that to data, twice as long each time.
    const fn of_data_ns(&self, before: u32) -> u64 {
        self.data_ns << before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS_NS: u64 = 1_000_000;
    const LINUX: Timeouts = Timeouts { syn_ns: 1_000 * MS_NS, data_ns: 200 * MS_NS };

    /// Linux's ip-sysctl.rst: the last one after 67 s, and the end after 131 s.
    #[test]
    fn syns_are_sent_again_as_linux_does() {
        let sum_s = |sent: u32| {
            (0..sent).map(|before| LINUX.of_syn_ns(before)).sum::<u64>() / (1_000 * MS_NS)
        };
        let sent_s: Vec<u64> = (1..=SYN_RETRIES).map(sum_s).collect();
        assert_eq!(sent_s, [1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
        assert_eq!(sum_s(SYN_RETRIES + 1), 131);
    }

    /// The last one before the server forgets, and the first one after that.
    #[test]
    fn requests_are_sent_again_as_linux_does() {
        let sum_ms =
            |sent: u32| (0..sent).map(|before| LINUX.of_data_ns(before)).sum::<u64>() / MS_NS;
        assert_eq!([sum_ms(1), sum_ms(2), sum_ms(3)], [200, 600, 1_400]);
        assert!(sum_ms(DATA_RETRIES) < 63_000 && sum_ms(DATA_RETRIES + 1) > 63_000);
    }
}
