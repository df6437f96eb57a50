//! Who asks, with the sessions of `load`: clients in a closed loop, each of which begins its next
//! session when the one before is over (Choi05 5.1), or in an open one (`open.rs`).
//!
//! A client costs an event only when it pauses, when its SYN is dropped, and where what it sends is
//! on its way for a while. What becomes of its requests goes to the collector of `load`, so that a
//! simulated run has the results of a measured one.

mod manner;
mod open;

use load::behaviour::Keeps;
use load::collector::Collector;
use load::collector::results::Results;
use load::record::{Outcome, Record};
use load::session::Session;
use load::source::{Workload, draws};
use measure::Instant;

use crate::resources::queues::{Item, QueueId};
use crate::world::{Whose, World};
pub use manner::{Interrupts, Manner};
use open::Open;

/// Where sessions come from.
pub type Sessions = Box<dyn Workload + Send>;

/// See the head of this file.
pub struct Clients {
    workload: Sessions,
    /// Of each file, in bytes.
    sizes: Vec<u64>,
    manner: Manner,
    all: Vec<Client>,
    /// `None`: closed loop.
    open: Option<Open>,
    connections: Vec<Connection>,
    /// Numbers of connections that nobody has.
    free: Vec<Item>,
    sessions: u64,
    listening: QueueId,
    collector: Collector,
    tally: Tally,
}

/// What was counted from the start, warm-up included: connections are opened and closed once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were made.
    pub asked: u64,
    /// Those that were answered.
    pub replied: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Those that the server has closed.
    pub closed: u64,
    /// SYNs that found the queue for `accept` full.
    pub syns_dropped: u64,
    /// Requests given up, as no SYN of theirs came through.
    pub given_up: u64,
    /// Bytes of all replies that came whole.
    pub bytes: u64,
    /// Sessions that began.
    pub begun: u64,
    /// Sessions of an open loop that did not, as all clients were busy.
    pub missed: u64,
}

struct Client {
    /// In the agenda.
    place: u32,
    number: u64,
    session: Session,
    burst: usize,
    request: usize,
    /// Requests of its session before this one.
    before: u32,
    connection: Option<Item>,
    intended_ns: u64,
    connected_ns: Option<u64>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Thinks,
    /// A request is on its way, or what a connection begins with.
    Sends,
    /// So many SYNs were sent, and dropped.
    Connects(u32),
    Waits,
}

struct Connection {
    client: u32,
    file: u32,
    bytes: u64,
    /// Whether a request has come that the server has not heard of.
    asks: bool,
    is_last: bool,
    /// Where the server hears of it.
    heard: Option<QueueId>,
    first_byte_ns: Option<u64>,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The file.
    pub file: u32,
    /// Its size.
    pub bytes: u64,
    /// Whether the connection ends behind it.
    pub is_last: bool,
}

const SECOND_NS: u64 = 1_000_000_000;
/// A SYN is sent so often again, for the last time after 67 s, and given up after 131 s:
/// `tcp_syn_retries` of 6, beside those of [`LINEAR_RETRIES`] (Linux, ip-sysctl.rst).
const SYN_RETRIES: u32 = 6 + LINEAR_RETRIES;
/// These wait a second each, whoever comes behind them twice as long as the one before:
/// `tcp_syn_linear_timeouts`.
const LINEAR_RETRIES: u32 = 4;

/// How long Linux waits for an answer to a SYN that was sent so often before.
const fn syn_timeout_ns(before: u32) -> u64 {
    SECOND_NS << before.saturating_sub(LINEAR_RETRIES)
}

impl Clients {
    /// So many, who have not begun.
    #[must_use]
    pub fn new(
        (workload, sizes): (Sessions, Vec<u64>),
        collector: Collector,
        manner: Manner,
        world: &mut World,
        listening: QueueId,
    ) -> Self {
        let open = manner.gaps.clone().map(|gaps| Open::new(gaps, manner.seed, world));
        // Of an open loop they come one by one.
        let first = if open.is_some() { 0 } else { manner.count };
        Self {
            workload,
            sizes,
            manner,
            all: (0..first).map(|number| Client::new(world, number)).collect(),
            open,
            connections: Vec::new(),
            free: Vec::new(),
            sessions: 0,
            listening,
            collector,
            tally: Tally::default(),
        }
    }

    /// All of them begin, or the first one comes.
    pub fn begin(&mut self, world: &mut World) {
        if let Some(open) = &mut self.open {
            return open.wait(world);
        }
        for client in 0..self.all.len() as u32 {
            self.begin_session(client);
            self.ask(world, client);
        }
    }

    /// A client's alarm rings.
    pub fn rung(&mut self, world: &mut World, client: u32) {
        if client == open::ARRIVAL {
            return self.arrive(world);
        }
        match self.all[client as usize].state {
            State::Thinks => self.ask(world, client),
            State::Sends => self.reach(world, client),
            State::Connects(sent) if sent > SYN_RETRIES => self.give_up(world, client),
            State::Connects(sent) => self.connect(world, client, sent),
            State::Waits => unreachable!("who waits for the server has set no alarm"),
        }
    }

    /// The server wants to hear of a connection there, also of what came before.
    pub fn hear(&mut self, world: &mut World, connection: Item, queue: QueueId) {
        let of = &mut self.connections[connection as usize];
        of.heard = Some(queue);
        if of.asks {
            world.push(queue, connection);
        }
    }

    /// The server takes the request of a connection.
    pub fn taken(&mut self, connection: Item) {
        self.connections[connection as usize].asks = false;
    }

    /// What a connection asks for.
    #[must_use]
    pub fn asked(&self, connection: Item) -> Asked {
        let of = &self.connections[connection as usize];
        Asked { file: of.file, bytes: of.bytes, is_last: of.is_last }
    }

    /// The first byte of the reply has come.
    pub fn first_byte(&mut self, connection: Item, now_ns: u64) {
        self.connections[connection as usize].first_byte_ns = Some(now_ns);
    }

    /// The last one has.
    pub fn replied(&mut self, world: &mut World, connection: Item) {
        let way_ns = self.way_ns();
        let of = &mut self.connections[connection as usize];
        let client = &mut self.all[of.client as usize];
        self.tally.replied += 1;
        self.tally.bytes += of.bytes;
        let is_last = is_last(client);
        self.collector.record(&Record {
            connected: client.connected_ns.take().map(at),
            first_byte: of.first_byte_ns.take().map(|ns| at(ns + way_ns)),
            bytes: of.bytes,
            ..client.record(world.now_ns + way_ns, Outcome::Good)
        });
        if of.is_last {
            client.connection = None;
        }
        let client = of.client;
        self.go_on(world, client, is_last);
    }

    /// The server has no more to do with a connection.
    pub fn close(&mut self, connection: Item) {
        self.tally.closed += 1;
        self.free.push(connection);
    }

    /// Since the start.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Connections that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    /// What was lost on the way, a line each: requests, connections, bytes. The server has sent so
    /// many.
    #[must_use]
    pub fn faults(&self, sent_bytes: u64) -> Vec<String> {
        let Tally { asked, replied, opened, closed, given_up, bytes, .. } = self.tally;
        let asking = self.all.iter().filter(|client| client.state != State::Thinks).count() as u64;
        let on_their_way = self.connections.iter().map(|of| of.bytes).sum::<u64>();
        let open = self.open() as u64;
        let checks = [
            (
                asked == replied + given_up + asking,
                format!(
                    "{asked} requests, {replied} replies, {given_up} given up, and {asking} wait"
                ),
            ),
            (
                opened == closed + open,
                format!("{opened} connections opened, {closed} closed, and {open} are open"),
            ),
            (
                (bytes..=bytes + on_their_way).contains(&sent_bytes),
                format!(
                    "{sent_bytes} bytes sent, {bytes} of them in whole replies, and {on_their_way} \
                     asked for"
                ),
            ),
        ];
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
    }

    /// What came of it, and the workload.
    #[must_use]
    pub fn finish(self, now_ns: u64) -> (Results, Sessions) {
        (self.collector.finish(Instant { ns: now_ns }), self.workload)
    }

    /// No SYN of this client's came through: its session is over.
    fn give_up(&mut self, world: &mut World, client: u32) {
        let of = &self.all[client as usize];
        self.tally.given_up += 1;
        let record = of.record(world.now_ns, Outcome::TimedOut);
        self.collector.record(&Record { is_last: true, ..record });
        if self.open.is_some() {
            return self.leave(client);
        }
        self.begin_session(client);
        self.ask(world, client);
    }

    fn go_on(&mut self, world: &mut World, client: u32, was_last: bool) {
        let of = &mut self.all[client as usize];
        let burst = &of.session.bursts[of.burst];
        let pause = if of.request + 1 < burst.requests.len() {
            of.request += 1;
            burst.requests[of.request].pause
        } else {
            let think = burst.think;
            (of.burst, of.request) = (of.burst + 1, 0);
            think
        };
        of.before += 1;
        if was_last {
            if self.open.is_some() {
                return self.leave(client);
            }
            self.begin_session(client);
        }
        match pause.as_nanos() as u64 + self.way_ns() {
            0 => self.ask(world, client),
            pause_ns => {
                let of = &mut self.all[client as usize];
                of.state = State::Thinks;
                world.agenda.set(of.place, world.now_ns + pause_ns);
            }
        }
    }

    fn begin_session(&mut self, client: u32) {
        let number = self.sessions;
        self.sessions += 1;
        self.tally.begun += 1;
        let (mut sessions, mut thinking) = draws(self.manner.seed, number);
        let mut session = self.workload.session(number, &mut sessions, &mut thinking);
        session.bursts.retain(|burst| !burst.requests.is_empty());
        let of = &mut self.all[client as usize];
        (of.number, of.session) = (number, session);
        (of.burst, of.request, of.before) = (0, 0, 0);
    }

    fn ask(&mut self, world: &mut World, client: u32) {
        self.tally.asked += 1;
        let of = &mut self.all[client as usize];
        of.intended_ns = world.now_ns;
        if of.connection.is_none()
            && let Some(kept) = self.open.as_mut().and_then(|open| open.kept.pop())
        {
            of.connection = Some(kept);
            self.connections[kept as usize].client = client;
        }
        match self.manner.round_trip_ns {
            0 => self.reach(world, client),
            round_trip_ns => {
                // What a connection begins with goes there, back, and there again.
                let handshake_ns = if of.connection.is_none() { round_trip_ns } else { 0 };
                of.state = State::Sends;
                let place = of.place;
                world.agenda.set(place, world.now_ns + handshake_ns + self.way_ns());
            }
        }
    }

    /// What a client has sent is there.
    fn reach(&mut self, world: &mut World, client: u32) {
        let of = &mut self.all[client as usize];
        of.state = State::Waits;
        let Some(connection) = of.connection else { return self.connect(world, client, 0) };
        self.request(world, client, connection);
        if let Some(queue) = self.connections[connection as usize].heard {
            world.push(queue, connection);
        }
    }

    fn connect(&mut self, world: &mut World, client: u32, sent: u32) {
        let connection = self.free.pop().unwrap_or_else(|| {
            self.connections.push(Connection::NONE);
            self.connections.len() as Item - 1
        });
        let way_ns = self.way_ns();
        let of = &mut self.all[client as usize];
        of.state = State::Waits;
        if !world.push(self.listening, connection) {
            world.interrupt(connection, self.manner.interrupts.dropped_ns);
            self.tally.syns_dropped += 1;
            of.state = State::Connects(sent + 1);
            world.agenda.set(of.place, world.now_ns + syn_timeout_ns(sent));
            self.free.push(connection);
            return;
        }
        world.interrupt(connection, self.manner.interrupts.taken_ns);
        self.tally.opened += 1;
        (of.connection, of.connected_ns) = (Some(connection), Some(world.now_ns - way_ns));
        self.connections[connection as usize] = Connection { client, ..Connection::NONE };
        self.request(world, client, connection);
    }

    /// The request is on its way.
    fn request(&mut self, world: &mut World, client: u32, connection: Item) {
        world.interrupt(connection, self.manner.interrupts.taken_ns);
        let of = &self.all[client as usize];
        let file = of.session.bursts[of.burst].requests[of.request].file;
        let connection = &mut self.connections[connection as usize];
        connection.file = file.0;
        connection.bytes = self.sizes[file.0 as usize];
        connection.is_last = match self.manner.keeps {
            Keeps::Request => true,
            Keeps::Session => is_last(of),
            Keeps::Client => false,
        };
        connection.asks = true;
    }

    /// To the server, or back.
    const fn way_ns(&self) -> u64 {
        self.manner.round_trip_ns / 2
    }
}

impl Connection {
    const NONE: Self = Self {
        client: 0,
        file: 0,
        bytes: 0,
        asks: false,
        is_last: false,
        heard: None,
        first_byte_ns: None,
    };
}

impl Client {
    fn new(world: &mut World, number: u32) -> Self {
        Self {
            place: world.place(Whose::Outside(number)),
            number: 0,
            session: Session::default(),
            burst: 0,
            request: 0,
            before: 0,
            connection: None,
            intended_ns: 0,
            connected_ns: None,
            state: State::Thinks,
        }
    }

    /// Of the request that is over now, without what its connection knows.
    fn record(&self, now_ns: u64, outcome: Outcome) -> Record {
        let request = &self.session.bursts[self.burst].requests[self.request];
        Record {
            file: request.file,
            session: self.number,
            place: self.before,
            is_last: is_last(self),
            intended: at(self.intended_ns),
            started: at(self.intended_ns),
            connected: None,
            first_byte: None,
            ended: at(now_ns),
            bytes: 0,
            outcome,
        }
    }
}

const fn at(ns: u64) -> Instant {
    Instant { ns }
}

/// Whether nothing of its session comes behind this request.
fn is_last(client: &Client) -> bool {
    let bursts = &client.session.bursts;
    client.burst + 1 == bursts.len() && client.request + 1 == bursts[client.burst].requests.len()
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("tally", &self.tally).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's ip-sysctl.rst: the last one after 67 s, and the end after 131 s.
    #[test]
    fn syns_are_sent_again_as_linux_does() {
        let sum = |sent: u32| (0..sent).map(syn_timeout_ns).sum::<u64>() / SECOND_NS;
        let sent_s: Vec<u64> = (1..=SYN_RETRIES).map(sum).collect();
        assert_eq!(sent_s, [1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
        assert_eq!(sum(SYN_RETRIES + 1), 131);
    }
}
