//! A model of a listening socket, of those who knock at it, and of a server of known capacity.
//!
//! As Linux has it: a SYN meets the filter and the queue's bound; the ACK a round trip later meets
//! the bound again, and is sent again behind it with the data (200 ms, doubling); a SYN that was
//! dropped is sent again four times after a second each, then after twice as long each time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use control::admission::{ALL, Admission, Sample, Share};
use measure::Instant;
use measure::draw::Stream;

/// Who comes, and what serves them. Times in seconds, rates a second.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) capacity: f64,
    /// From when how many come.
    pub(crate) offered: Vec<(f64, f64)>,
    pub(crate) round_trip: f64,
    pub(crate) patience: f64,
    /// The server runs for this share of each [`PERIOD`], and is faster then.
    pub(crate) quota: Option<f64>,
    pub(crate) lasts: f64,
    pub(crate) counts_from: f64,
}

/// What became of it.
#[derive(Default)]
pub(crate) struct Seen {
    good: u64,
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

const PERIOD: f64 = 0.005;
/// The server looks for work so often.
const ROUND: f64 = 0.001;

impl Seen {
    /// Good replies, of all that the server can.
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
}

#[derive(Clone, Copy)]
enum Event {
    Arrival,
    Syn(Client, u32),
    Ack(Client, u32),
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
        sample: Sample::default(),
        looked: -1.0,
        credit: 0.0,
        change,
        seen: Seen::default(),
        draw: Stream::new(seed, 1),
    };
    socket.at(0.0, Event::Arrival);
    socket.at(0.0, Event::Round);
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
    sample: Sample,
    looked: f64,
    credit: f64,
    change: (f64, f64),
    seen: Seen,
    draw: Stream,
}

impl Socket<'_> {
    fn at(&mut self, at: f64, event: Event) {
        self.events.push(Reverse(At(at, event)));
    }

    fn happens(&mut self, now: f64, event: Event) {
        match event {
            Event::Arrival => self.arrives(now),
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
            Event::Ack(client, _) => self.queue.push_back(client),
            Event::Round => {
                self.look(now);
                self.serve(now);
                self.at(now + ROUND, Event::Round);
            }
        }
    }

    fn arrives(&mut self, now: f64) {
        let rate = self.world.offered.iter().rfind(|(from, _)| *from <= now).expect("a rate").1;
        let gap = -(1.0 - self.draw.unit()).ln() / rate;
        self.at(now + gap, Event::Arrival);
        let client = Client { since: now, hash: self.draw.below(ALL) };
        self.happens(now, Event::Syn(client, 0));
    }

    fn is_full(&self) -> bool {
        self.queue.len() as u32 > self.admission.setting().backlog
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
        let at = Instant { ns: (now * 1e9) as u64 };
        self.admission.observe(at, &self.sample);
        if now >= self.world.counts_from {
            let set = self.admission.setting();
            let accepted = self.sample.accepted;
            let look = Look { at: now, share: set.share, backlog: set.backlog, accepted };
            self.seen.looks.push(look);
        }
    }

    fn serve(&mut self, now: f64) {
        let World { capacity, round_trip, patience, quota, counts_from, .. } = *self.world;
        let quota = quota.unwrap_or(1.0);
        let ran = |at: f64| {
            let (whole, part) = ((at / PERIOD).floor(), at % PERIOD);
            (whole * PERIOD * quota + part.min(PERIOD * quota)) / quota
        };
        let times = if now >= self.change.0 { self.change.1 } else { 1.0 };
        self.credit += (ran(now) - ran(now - ROUND)) * capacity * times;
        while self.credit >= 1.0 {
            // What it could have done and nobody wanted is lost.
            let Some(client) = self.queue.pop_front() else { return self.credit = 1.0 };
            self.credit -= 1.0;
            self.sample.accepted += 1;
            let took = now + round_trip - client.since;
            if took <= patience && now >= counts_from {
                self.seen.good += 1;
                self.seen.waits.push(took - 2.0 * round_trip);
            }
        }
    }
}
