//! A listening socket, those who knock, and a server of known capacity.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use control::admission::{ALL, Admission, Sample};
use measure::Instant;
use measure::draw::Stream;

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct At(f64, Event);
impl Eq for At {}
impl Ord for At {
    fn cmp(&self, o: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&o.0)
    }
}
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
enum Event {
    Arrive,
    Syn(Client, u32),
    Ack(Client, u32),
    Serve,
}
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Client {
    since: f64,
    hash: u32,
}

pub struct World {
    pub capacity: f64,
    pub offered: Vec<(f64, f64)>,
    pub rtt: f64,
    pub patience: f64,
    pub quota: Option<f64>,
    pub seconds: f64,
    pub from: f64,
    pub phase: f64,
}

#[derive(Default, Debug)]
pub struct Seen {
    pub good: u64,
    pub dead: u64,
    pub waits: Vec<f64>,
    pub queue: Vec<(f64, u32, f64)>,
}

pub fn run(w: &World, mut control: Admission, seed: u64) -> Seen {
    let mut draw = Stream::new(seed, 1);
    let mut events = BinaryHeap::new();
    let mut queue: VecDeque<Client> = VecDeque::new();
    let (mut backlog, mut share) = (4096_u32, ALL);
    let mut s = Sample::default();
    let mut seen = Seen::default();
    let mut push = |events: &mut BinaryHeap<Reverse<At>>, at: f64, e: Event| events.push(Reverse(At(at, e)));
    push(&mut events, 0.0, Event::Arrive);
    push(&mut events, 0.0, Event::Serve);
    let mut looked = -1.0;
    let mut credit = 0.0_f64;
    let mut last_served = 0.0;
    while let Some(Reverse(At(t, event))) = events.pop() {
        if t > w.seconds { break }
        match event {
            Event::Arrive => {
                let rate = w.offered.iter().rev().find(|(at, _)| *at <= t).unwrap().1;
                push(&mut events, t - (1.0 - draw.unit()).ln() / rate, Event::Arrive);
                let client = Client { since: t, hash: draw.below(ALL) };
                push(&mut events, t, Event::Syn(client, 0));
            }
            Event::Syn(c, n) => {
                if t > c.since + w.patience { continue }
                if c.hash >= share || queue.len() as u32 > backlog {
                    s.refused = s.refused.wrapping_add(1);
                    let after = if n < 4 { 1.0 } else { f64::from(1 << (n - 3)) };
                    push(&mut events, t + after, Event::Syn(c, n + 1));
                } else {
                    push(&mut events, t + w.rtt, Event::Ack(c, 0));
                }
            }
            Event::Ack(c, n) => {
                if t > c.since + w.patience { continue }
                if queue.len() as u32 > backlog {
                    s.refused = s.refused.wrapping_add(1);
                    push(&mut events, t + 0.2 * f64::from(1 << n.min(6)), Event::Ack(c, n + 1));
                } else {
                    queue.push_back(c);
                }
            }
            Event::Serve => {
                // A phase: looks, then serves for w.phase seconds' worth.
                let dt = t - last_served;
                last_served = t;
                if t - looked >= control.every().as_secs_f64() - 1e-9 {
                    looked = t;
                    s.queue = queue.len() as u32;
                    let now = Instant { ns: (t * 1e9) as u64 + 1 };
                    if let Some(set) = control.observe(now, &s) {
                        (backlog, share) = (set.backlog, set.share);
                    }
                    if t >= w.from {
                        seen.queue.push((t, s.queue, f64::from(share) / f64::from(ALL)));
                    }
                }
                let runs = match w.quota {
                    None => dt,
                    Some(q) => {
                        // 5 ms periods, the first q of which it runs, at capacity / q.
                        let on = |t: f64| (t / 0.005).floor() * 0.005 * q + (t % 0.005).min(0.005 * q);
                        (on(t) - on(t - dt)) / q
                    }
                };
                credit = (credit + runs * w.capacity).min((w.capacity * w.phase * 4.0).max(2.0));
                while credit >= 1.0 {
                    let Some(c) = queue.pop_front() else { break };
                    credit -= 1.0;
                    s.accepted += 1;
                    let waited = t + w.rtt - c.since;
                    if waited > w.patience {
                        seen.dead += 1;
                    } else if t >= w.from {
                        seen.good += 1;
                        seen.waits.push(waited - w.rtt * 2.0);
                    }
                }
                if queue.is_empty() { credit = credit.min(1.0) }
                push(&mut events, t + w.phase, Event::Serve);
            }
        }
    }
    seen.waits.sort_by(f64::total_cmp);
    seen
}

fn tell(name: &str, w: &World, seen: &Seen) {
    let q = |s: f64| if seen.waits.is_empty() { 0.0 } else { 1000.0 * seen.waits[((seen.waits.len() - 1) as f64 * s) as usize] };
    let good = seen.good as f64 / (w.seconds - w.from) / w.capacity;
    let within = seen.waits.iter().filter(|x| **x < 0.1).count() as f64 / seen.waits.len().max(1) as f64;
    println!("{name:42} kept {:5.1} %  p50 {:6.1} p95 {:6.1} p99 {:6.1} ms  in 100 ms {:5.1} %  dead {}", 100.0 * good, q(0.5), q(0.95), q(0.99), 100.0 * within, seen.dead);
}

#[test]
fn explore() {
    let env = |name: &str, or: f64| std::env::var(name).ok().map_or(or, |v| v.parse().unwrap());
    let mut a = Admission::new(4096);
    let d = a.p;
    a.p = control::admission::Params { kd: env("KD", d.kd), cap_s: env("CAP", d.cap_s), tau: env("TAU", d.tau), sigma: env("SIGMA", d.sigma), hyst: env("HYST", d.hyst), full: env("FULL", d.full), up: env("UP", d.up), boost: env("BOOST", d.boost), tau0: env("TAU0", d.tau0), settle: env("SETTLE", d.settle), drain: env("DRAIN", d.drain) };
    println!("{:?}", a.p);
    let c = env("C", 2000.0);
    for patience in [1.0, 3.0, 15.0] {
        for k in [2.0, 3.0] {
            let mut line = format!("patience {patience:2} k {k}");
            for rtt in [0.0002, 0.02, 0.1] {
                let w = World { capacity: c, offered: vec![(0.0, c * k)], rtt, patience, quota: None, seconds: 6.0_f64.max(patience * 1.5), from: 1.0, phase: 0.001 };
                let seen = run(&w, a.clone(), 1);
                let good = seen.good as f64 / (w.seconds - w.from) / w.capacity;
                let within = seen.waits.iter().filter(|x| **x < 0.1).count() as f64 / seen.waits.len().max(1) as f64;
                let q = |s: f64| 1000.0 * seen.waits[((seen.waits.len() - 1) as f64 * s) as usize];
                line += &format!(" | rtt {rtt}: kept {:5.1} in {:5.1} p50 {:5.1} p99 {:6.1}", 100.0 * good, 100.0 * within, q(0.5), q(0.99));
            }
            println!("{line}");
        }
    }
}

#[test]
fn trace() {
    let env = |name: &str, or: f64| std::env::var(name).ok().map_or(or, |v| v.parse().unwrap());
    let mut a = Admission::new(4096);
    let d = a.p;
    a.p = control::admission::Params { kd: env("KD", d.kd), cap_s: env("CAP", d.cap_s), tau: env("TAU", d.tau), sigma: env("SIGMA", d.sigma), hyst: env("HYST", d.hyst), full: env("FULL", d.full), up: env("UP", d.up), boost: env("BOOST", d.boost), tau0: env("TAU0", d.tau0), settle: env("SETTLE", d.settle), drain: env("DRAIN", d.drain) };
    let c = env("C", 2000.0);
    let w = World { capacity: c, offered: vec![(0.0, c * env("K", 3.0))], rtt: env("RTT", 0.0002), patience: env("P", 3.0), quota: None, seconds: 10.0, from: 0.0, phase: 0.001 };
    let seen = run(&w, a.clone(), 1);
    let mut last = -1.0;
    for (t, q, share) in &seen.queue {
        if t - last >= 0.1 { println!("TRACE {t:5.2} queue {:6.1} ms share {share:.3}", f64::from(*q) / c * 1000.0); last = *t; }
    }
}
