//! A model of a listening socket, of those who knock at it, and of a loop that serves them.
//!
//! As Linux has it: a SYN meets the filter and the queue's bound; the ACK a round trip later meets
//! the bound again, and is sent again behind it with the data (200 ms, doubling); a SYN that was
//! dropped is sent again four times after a second each, then after twice as long each time.
//!
//! The loop goes in rounds: it takes as many as an accept phase may, works on them and on those
//! that it keeps, who ask again at once, and looks again when it has done so.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem;

use control::admission::{ALL, Admission, Sample, Share};
use control::phase::{Phase, Work};
use measure::draw::Stream;
use measure::{Duration, Instant};

/// Who comes, and what serves them. Times in seconds, rates a second.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) capacity: f64,
    /// From when how many come.
    pub(crate) offered: Vec<(f64, f64)>,
    pub(crate) round_trip: f64,
    pub(crate) patience: f64,
    /// The server runs for this share of each period, and is faster then.
    pub(crate) quota: Option<(f64, f64)>,
    /// It stands still from then, for so long.
    pub(crate) stalls: Vec<(f64, f64)>,
    /// By how much its speed varies, for 100 ms and more: that of a machine which others use, too.
    pub(crate) varies: f64,
    /// Connections that are kept and always ask for something, and of what a newcomer costs, what
    /// one of their turns does.
    pub(crate) kept: (usize, f64),
    /// Requests of a client, one after the other on one connection.
    pub(crate) requests: u32,
    /// Clients who come again, on another connection, as soon as they are served.
    pub(crate) closed: usize,
    /// Those that the kernel lets wait, whatever is asked for.
    pub(crate) room_max: u32,
    pub(crate) lasts: f64,
    pub(crate) counts_from: f64,
}

/// What became of it.
#[derive(Default)]
pub(crate) struct Seen {
    good: u64,
    /// Clients whose first request was answered in time.
    pub(crate) begun: u64,
    pub(crate) refused: u64,
    /// Of good replies, without the round trips; in order.
    waits: Vec<f64>,
    pub(crate) looks: Vec<Look>,
}

pub(crate) struct Look {
    pub(crate) at: f64,
    pub(crate) share: Share,
    pub(crate) backlog: u32,
    pub(crate) accepted: u64,
}

/// Of what a newcomer costs, what accepting it does.
const ACCEPTING: f64 = 0.3;
/// The defaults of the server.
const CALM_PHASE: Duration = Duration::from_millis(20);
const FLOOD_PHASE: Duration = Duration::from_millis(5);

impl Seen {
    /// Clients who were answered all they asked, of those who were answered at all.
    pub(crate) fn finished(&self) -> f64 {
        self.good as f64 / self.begun.max(1) as f64
    }

    /// Clients who were answered all they asked, of all that the server can serve.
    pub(crate) fn kept(&self, world: &World) -> f64 {
        self.good as f64 / (world.lasts - world.counts_from) / world.capacity
    }

    pub(crate) fn wait(&self, quantile: f64) -> f64 {
        let last = self.waits.len().saturating_sub(1) as f64;
        self.waits.get((last * quantile) as usize).copied().unwrap_or(0.0)
    }

    pub(crate) fn within(&self, bound: f64) -> f64 {
        let within = self.waits.iter().filter(|wait| **wait <= bound).count();
        within as f64 / self.waits.len() as f64
    }
}

#[derive(Clone, Copy)]
struct Client {
    since: f64,
    hash: u32,
    comes_again: bool,
    /// Requests that were answered.
    answered: u32,
}

#[derive(Clone, Copy)]
enum Event {
    Arrival,
    /// One who was served before.
    Again,
    Syn(Client, u32),
    Ack(Client, u32),
    /// One who was answered before asks for more.
    Asks(Client),
    Round,
}

struct At(f64, Event);

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for At {}

pub(crate) fn run(world: &World, admission: Admission, seed: u64) -> Seen {
    run_changed(world, admission, seed, (f64::INFINITY, 1.0))
}

/// At a time the server becomes so many times as fast.
pub(crate) fn run_changed(
    world: &World,
    admission: Admission,
    seed: u64,
    change: (f64, f64),
) -> Seen {
    let mut socket = Socket {
        world,
        admission,
        events: BinaryHeap::new(),
        queue: VecDeque::new(),
        asked: Vec::new(),
        sample: Sample::default(),
        phase: Phase::new(2),
        work: Work::default(),
        looked: -1.0,
        emptied: false,
        idles: false,
        change,
        speeds: speeds(world, seed),
        seen: Seen::default(),
        draw: Stream::new(seed, 1),
    };
    socket.at(0.0, Event::Arrival);
    socket.at(0.0, Event::Round);
    for n in 0..world.closed {
        socket.at(0.001 * n as f64 / world.closed as f64, Event::Again);
    }
    while let Some(Reverse(At(now, event))) = socket.events.pop() {
        if now > world.lasts {
            break;
        }
        socket.happens(now, event);
    }
    let mut seen = socket.seen;
    seen.waits.sort_by(f64::total_cmp);
    seen
}

struct Socket<'w> {
    world: &'w World,
    admission: Admission,
    events: BinaryHeap<Reverse<At>>,
    queue: VecDeque<Client>,
    /// Those who have a connection, and have asked.
    asked: Vec<Client>,
    sample: Sample,
    phase: Phase,
    work: Work,
    looked: f64,
    /// A phase since has left nobody.
    emptied: bool,
    /// It waits for somebody to come.
    idles: bool,
    change: (f64, f64),
    /// Of each 100 ms, beside the others.
    speeds: Vec<f64>,
    seen: Seen,
    draw: Stream,
}

/// On the average 1 while it is counted.
fn speeds(world: &World, seed: u64) -> Vec<f64> {
    let mut draw = Stream::new(seed, 2);
    let mut drift = 0.0;
    let mut speeds: Vec<f64> = (0..(world.lasts * 10.0) as usize)
        .map(|_| {
            let normal = (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
            drift = 0.7 * drift + 0.7 * world.varies * normal;
            f64::exp(drift)
        })
        .collect();
    let counted = &speeds[(world.counts_from * 10.0) as usize..];
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    speeds.iter_mut().for_each(|speed| *speed /= mean);
    speeds
}

impl Socket<'_> {
    fn at(&mut self, at: f64, event: Event) {
        self.events.push(Reverse(At(at, event)));
    }

    fn happens(&mut self, now: f64, event: Event) {
        match event {
            Event::Arrival => self.arrives(now),
            Event::Again => {
                let hash = self.draw.below(ALL);
                let client = Client { since: now, hash, comes_again: true, answered: 0 };
                self.happens(now, Event::Syn(client, 0));
            }
            Event::Syn(client, _) | Event::Ack(client, _)
                if now > client.since + self.world.patience => {}
            Event::Syn(client, tries) => {
                let is_admitted = client.hash < self.admission.setting().share;
                if is_admitted && !self.is_full() {
                    self.at(now + self.world.round_trip, Event::Ack(client, 0));
                } else {
                    self.refuse();
                    let after = if tries < 4 { 1.0 } else { f64::from(1 << (tries - 3)) };
                    self.at(now + after, Event::Syn(client, tries + 1));
                }
            }
            Event::Ack(_, tries) if self.is_full() => {
                self.refuse();
                let after = 0.2 * f64::from(1 << tries.min(6));
                let Event::Ack(client, _) = event else { return };
                self.at(now + after, Event::Ack(client, tries + 1));
            }
            Event::Ack(client, _) => {
                self.queue.push_back(client);
                self.wake(now);
            }
            Event::Asks(client) => {
                self.asked.push(client);
                self.wake(now);
            }
            Event::Round => self.round(now),
        }
    }

    fn wake(&mut self, now: f64) {
        if mem::take(&mut self.idles) {
            self.at(self.ran(now, 0.0), Event::Round);
        }
    }

    fn arrives(&mut self, now: f64) {
        let rate = self.world.offered.iter().rfind(|(from, _)| *from <= now).expect("a rate").1;
        let gap = -(1.0 - self.draw.unit()).ln() / rate;
        self.at(now + gap, Event::Arrival);
        let hash = self.draw.below(ALL);
        let client = Client { since: now, hash, comes_again: false, answered: 0 };
        self.happens(now, Event::Syn(client, 0));
    }

    fn is_full(&self) -> bool {
        self.queue.len() as u32 > self.room()
    }

    fn room(&self) -> u32 {
        self.admission.setting().backlog.min(self.world.room_max)
    }

    fn refuse(&mut self) {
        self.seen.refused += 1;
        self.sample.refused = self.sample.refused.wrapping_add(1);
    }

    fn look(&mut self, now: f64) {
        if now - self.looked < self.admission.look_after().as_secs_f64() {
            return;
        }
        self.looked = now;
        self.sample.queue = self.queue.len() as u32;
        self.sample.room = self.room();
        self.sample.could = self.phase.could();
        self.sample.emptied = mem::take(&mut self.emptied);
        let at = Instant { ns: (now * 1e9) as u64 };
        self.admission.observe(at, &self.sample);
        if now >= self.world.counts_from {
            let set = self.admission.setting();
            let accepted = self.sample.accepted;
            let look = Look { at: now, share: set.share, backlog: set.backlog, accepted };
            self.seen.looks.push(look);
        }
    }

    fn round(&mut self, now: f64) {
        self.look(now);
        let time = if self.admission.told().is_flood { FLOOD_PHASE } else { CALM_PHASE };
        let (kept, each) = self.world.kept;
        let asked = mem::take(&mut self.asked);
        let limit = self.phase.limit(time, 1) as usize;
        self.emptied |= self.queue.len() < limit;
        let newcomers: Vec<_> = self.queue.drain(..limit.min(self.queue.len())).collect();
        if newcomers.is_empty() && kept + asked.len() == 0 {
            self.idles = true;
            return;
        }
        let times = if now >= self.change.0 { self.change.1 } else { 1.0 };
        let speed = self.speeds[((now * 10.0) as usize).min(self.speeds.len() - 1)];
        let share = self.world.quota.map_or(1.0, |(share, _)| share);
        let turns = ACCEPTING + (1.0 - ACCEPTING) * f64::from(self.world.requests);
        let cost = share / self.world.capacity / turns / times / speed;
        let accepted = self.ran(now, ACCEPTING * cost * newcomers.len() as f64);
        let mut worked = self.ran(accepted, each * cost * kept as f64);
        self.sample.accepted += newcomers.len() as u64;
        self.work.accepted += newcomers.len() as u64;
        self.work.worked += (2 * newcomers.len() + asked.len() + kept) as u64;
        for client in newcomers.into_iter().chain(asked) {
            worked = self.ran(worked, (1.0 - ACCEPTING) * cost);
            self.served(worked, client);
        }
        self.work.accept_ns += ((accepted - now) * 1e9) as u64;
        self.work.work_ns += ((worked - accepted) * 1e9) as u64;
        self.phase.observe(Instant { ns: (worked * 1e9) as u64 }, &self.work);
        self.at(worked, Event::Round);
    }

    fn served(&mut self, at: f64, client: Client) {
        let World { round_trip, patience, counts_from, lasts, requests, .. } = *self.world;
        let took = at + round_trip - client.since;
        let answered = client.answered + 1;
        let is_seen = at >= counts_from && at < lasts;
        if took <= patience && is_seen {
            let trips = if answered > 1 { 1.0 } else { 2.0 };
            self.seen.waits.push(took - trips * round_trip);
            self.seen.begun += u64::from(answered == 1);
            self.seen.good += u64::from(answered == requests);
        }
        if took <= patience && answered < requests {
            // As it is there, but its client has sent it half a round trip before.
            let since = at + 0.5 * round_trip;
            self.at(at + round_trip, Event::Asks(Client { since, answered, ..client }));
        }
        if client.comes_again {
            self.at(at + round_trip, Event::Again);
        }
    }

    /// When the server has run for that long.
    fn ran(&self, mut now: f64, mut lasts: f64) -> f64 {
        let in_stall = |now: f64| {
            let stalls = self.world.stalls.iter().map(|(at, lasts)| (*at, at + lasts));
            stalls.into_iter().find(|(from, until)| (*from..*until).contains(&now))
        };
        let (share, period) = self.world.quota.unwrap_or((1.0, f64::INFINITY));
        loop {
            if let Some((_, until)) = in_stall(now) {
                now = until;
            }
            let stalls = self.world.stalls.iter().map(|(at, _)| *at);
            let stall = stalls.filter(|at| *at > now).fold(f64::INFINITY, f64::min);
            let begun = if period.is_finite() { (now / period).floor() * period } else { 0.0 };
            let end = if period.is_finite() { begun + share * period } else { f64::INFINITY };
            let left = end.min(stall) - now;
            if left > lasts {
                return now + lasts;
            }
            lasts -= left.max(0.0);
            // Not exactly: sums of fractions are a little less at times.
            now = if stall < end { stall } else { begun + period * 1.000_000_1 };
        }
    }
}
