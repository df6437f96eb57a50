//! Who asks, with the sessions of `load`: clients in a closed loop, each of which begins its next
//! session when the one before is over (Choi05 5.1), or in an open one (`open.rs`).
//!
//! A client costs an event only when it pauses, when its SYN is dropped, where what it sends is on
//! its way for a while, and when its patience is over. What becomes of its requests goes to the
//! collector of `load`, so that a simulated run has the results of a measured one.

mod connecting;
mod manner;
mod open;
mod patience;
mod sending;
mod tally;

use std::mem;

use load::behaviour::Keeps;
use load::collector::Collector;
use load::collector::results::Results;
use load::record::{Outcome, Record};
use load::session::Session;
use load::source::{Workload, draws};
use measure::Instant;

use crate::resources::links::Link;
use crate::resources::queues::{Item, QueueId};
use crate::world::{Whose, World};
pub use manner::{Interrupts, Manner, Sending, Timeouts};
use open::Open;
pub use tally::{Drops, Tally};

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
    /// Handshakes that the server has answered, and of which no end has come.
    half_open: u64,
    /// What replies come over; `None`: they are there as soon as they are sent.
    link: Option<Link>,
    collector: Collector,
    tally: Tally,
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
    /// A request is on its way, on a connection that was kept.
    Sends,
    /// A SYN is, or will be sent again; so many were dropped.
    Connects(u32),
    /// The end of a handshake is on its way with a request, or both will be sent again; so many
    /// were dropped.
    Acknowledges(u32),
    Waits,
}

struct Connection {
    /// `None`: it has reset it.
    client: Option<u32>,
    file: u32,
    bytes: u64,
    /// What the server has sent of the reply, which is on its way.
    sent_bytes: u64,
    reply: Reply,
    /// Whether a request has come that the server has not heard of.
    asks: bool,
    is_last: bool,
    life: Life,
    /// Where the server hears of it; `None`: it does not yet, or any more.
    heard: Option<QueueId>,
    first_byte_ns: Option<u64>,
}

/// How long a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Open,
    /// By the server, while the link still carries what it has sent.
    Closed,
    /// Its number is nobody's.
    Over,
}

/// How far the server is with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// The server has it, or will have: it hears of the connection, or works for it.
    Unsent,
    /// A part is sent, and the send buffer has no room for more.
    Waits,
    /// All of it is sent.
    Sent,
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
        let Sending { link_bytes_per_s: rate, has_own_links, .. } = manner.sending;
        let link = (rate > 0.0).then(|| {
            let place = world.place(Whose::Outside(sending::LINK));
            let link = Link::new(rate, place).rounding_to(manner.grain_ns);
            if has_own_links { link.one_for_each() } else { link }
        });
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
            half_open: 0,
            link,
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

    /// Somebody's alarm rings: a client's, that of the next arrival, or the link's.
    pub fn rung(&mut self, world: &mut World, who: u32) {
        match who {
            open::ARRIVAL => self.arrive(world),
            sending::LINK => self.pass(world),
            client if self.is_impatient(client, world.now_ns) => self.lose_patience(world, client),
            client => self.act(world, client),
        }
    }

    /// What a client has begun is there, or over.
    fn act(&mut self, world: &mut World, client: u32) {
        match self.all[client as usize].state {
            State::Thinks => self.ask(world, client),
            State::Sends => self.send_request(world, client),
            State::Connects(dropped) => self.connect(world, client, dropped),
            State::Acknowledges(dropped) => self.acknowledge(world, client, dropped),
            State::Waits => unreachable!("who waits for the server has set no other alarm"),
        }
    }

    /// What a client begins now, and when it is there. What is there at once is no event.
    fn begin_with(&mut self, world: &mut World, client: u32, state: State, lasts_ns: u64) {
        self.all[client as usize].state = state;
        match lasts_ns {
            0 => self.act(world, client),
            _ => self.set_alarm(world, client, world.now_ns + lasts_ns),
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
        let of = &mut self.connections[connection as usize];
        debug_assert!(of.asks && of.heard.is_some(), "a request, of a connection that is heard");
        of.asks = false;
    }

    /// The server begins to close a connection: it hears of it no more.
    pub fn closes(&mut self, connection: Item) {
        self.connections[connection as usize].heard = None;
    }

    /// Whether a request has come that the server has not taken.
    #[must_use]
    pub fn asks(&self, connection: Item) -> bool {
        self.connections[connection as usize].asks
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
    fn replied(&mut self, world: &mut World, connection: Item) {
        let way_ns = self.way_ns();
        let of = &mut self.connections[connection as usize];
        let number = of.client.expect("who has reset a connection gets no replies");
        let client = &mut self.all[number as usize];
        self.tally.replied += 1;
        self.tally.bytes += mem::take(&mut of.sent_bytes);
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
        self.go_on(world, number, is_last);
    }

    /// Since the start.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Connections that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.connections.iter().filter(|of| of.life != Life::Over).count()
    }

    /// What was lost on the way, a line each: requests, connections, bytes. The server has sent so
    /// many.
    #[must_use]
    pub fn faults(&self, sent_bytes: u64, now_ns: u64) -> Vec<String> {
        let asking = self.all.iter().filter(|client| client.state != State::Thinks).count() as u64;
        let on_their_way = self.connections.iter().map(|of| of.sent_bytes).sum::<u64>();
        let standing = (asking, self.open() as u64, on_their_way);
        let faults = self.tally.faults(standing, sent_bytes);
        faults.into_iter().chain(self.link_faults(now_ns)).collect()
    }

    /// What came of it, and the workload.
    #[must_use]
    pub fn finish(self, now_ns: u64) -> (Results, Sessions) {
        (self.collector.finish(Instant { ns: now_ns }), self.workload)
    }

    /// A request is given up in so long, and its session with it.
    fn give_up(&mut self, world: &mut World, client: u32, (outcome, in_ns): (Outcome, u64)) {
        let of = &mut self.all[client as usize];
        self.tally.given_up += 1;
        let connected = of.connected_ns.take().map(at);
        let record = of.record(world.now_ns + in_ns, outcome);
        self.collector.record(&Record { is_last: true, connected, ..record });
        if self.open.is_some() {
            return self.leave(world, client);
        }
        self.begin_session(client);
        self.begin_with(world, client, State::Thinks, in_ns);
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
                return self.leave(world, client);
            }
            self.begin_session(client);
        }
        let pause_ns = pause.as_nanos() as u64 + self.way_ns();
        self.begin_with(world, client, State::Thinks, pause_ns);
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
            self.connections[kept as usize].client = Some(client);
        }
        let is_kept = self.all[client as usize].connection.is_some();
        let state = if is_kept { State::Sends } else { State::Connects(0) };
        self.begin_with(world, client, state, self.way_ns());
    }

    /// What a client has sent on a connection that it has is there.
    fn send_request(&mut self, world: &mut World, client: u32) {
        let connection = self.all[client as usize].connection.expect("one that was kept");
        self.request(world, client, connection);
        if let Some(queue) = self.connections[connection as usize].heard {
            world.push(queue, connection);
        }
    }

    /// A request is there.
    fn request(&mut self, world: &mut World, client: u32, connection: Item) {
        world.interrupt(client, self.manner.interrupts.taken_ns);
        let of = &self.all[client as usize];
        let file = of.session.bursts[of.burst].requests[of.request].file;
        let connection = &mut self.connections[connection as usize];
        connection.file = file.0;
        connection.bytes = self.sizes[file.0 as usize];
        connection.reply = Reply::Unsent;
        connection.is_last = match self.manner.keeps {
            Keeps::Request => true,
            Keeps::Session => is_last(of),
            Keeps::Client => false,
        };
        connection.asks = true;
        self.all[client as usize].state = State::Waits;
        self.set_deadline(world, client);
    }

    /// To the server, or back.
    const fn way_ns(&self) -> u64 {
        let Manner { round_trip_ns, grain_ns, .. } = self.manner;
        round_trip_ns / 2 / grain_ns * grain_ns
    }
}

impl Connection {
    const NONE: Self = Self {
        client: None,
        file: 0,
        bytes: 0,
        sent_bytes: 0,
        reply: Reply::Unsent,
        asks: false,
        is_last: false,
        life: Life::Over,
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
