//! What an event costs by the number that are pending, beside what else could hold them: the hold
//! model (Vaucher and Duval, A Comparison of Simulation Event List Algorithms, 1975), where whoever
//! rings is set again, and one in four moves an alarm before it rings, as a slice that ends early
//! does. Nanoseconds for each event: the median of the rounds, with the lowest and the highest.
//!
//!     cargo run --release -p sim --example agenda

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::hint::black_box;
use std::time::Instant;

use measure::draw::{Draw, Stream};
use sim::agenda::Agenda;

const PENDING: [u32; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const EVENTS: u32 = 1_000_000;
const ROUNDS: usize = 7;

/// Something that holds alarms, one for each place.
trait Queue {
    fn with(places: u32) -> Self;
    fn set(&mut self, place: u32, at_ns: u64);
    fn ring(&mut self) -> (u64, u32);
}

/// As it ships.
impl Queue for Agenda {
    fn with(places: u32) -> Self {
        let mut agenda = Self::default();
        for _ in 0..places {
            agenda.place();
        }
        agenda
    }

    fn set(&mut self, place: u32, at_ns: u64) {
        Self::set(self, place, at_ns);
    }

    fn ring(&mut self) -> (u64, u32) {
        Self::ring(self, u64::MAX).expect("all are set")
    }
}

/// The library's heap: what has moved stays in it until it rings, and does not count then.
struct Lazy {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    at_ns: Vec<u64>,
}

impl Queue for Lazy {
    fn with(places: u32) -> Self {
        Self { heap: BinaryHeap::new(), at_ns: vec![0; places as usize] }
    }

    fn set(&mut self, place: u32, at_ns: u64) {
        self.at_ns[place as usize] = at_ns;
        self.heap.push(Reverse((at_ns, place)));
    }

    fn ring(&mut self) -> (u64, u32) {
        loop {
            let Reverse((at_ns, place)) = self.heap.pop().expect("all are set");
            if self.at_ns[place as usize] == at_ns {
                return (at_ns, place);
            }
        }
    }
}

/// An ordered set, from which what has moved is taken.
struct Tree {
    set: BTreeSet<(u64, u32)>,
    at_ns: Vec<u64>,
}

impl Queue for Tree {
    fn with(places: u32) -> Self {
        Self { set: BTreeSet::new(), at_ns: vec![0; places as usize] }
    }

    fn set(&mut self, place: u32, at_ns: u64) {
        self.set.remove(&(self.at_ns[place as usize], place));
        self.at_ns[place as usize] = at_ns;
        self.set.insert((at_ns, place));
    }

    fn ring(&mut self) -> (u64, u32) {
        self.set.pop_first().expect("all are set")
    }
}

/// What it is, and what an event costs with so many that are pending.
type Kind = (&'static str, fn(u32) -> f64);

fn main() {
    let kinds: [Kind; 3] = [
        ("heap of four children", cost::<Agenda>),
        ("library's heap, lazy", cost::<Lazy>),
        ("ordered set", cost::<Tree>),
    ];
    for pending in PENDING {
        let mut costs = kinds.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            kinds.iter().zip(&mut costs).for_each(|((_, cost), costs)| costs.push(cost(pending)));
        }
        for ((name, _), costs) in kinds.iter().zip(&mut costs) {
            costs.sort_by(f64::total_cmp);
            let (least, median, most) = (costs[0], costs[ROUNDS / 2], costs[ROUNDS - 1]);
            println!("{pending:9} pending, {name:21}: {median:6.1} ns ({least:.1} to {most:.1})");
        }
    }
}

fn cost<Q: Queue>(pending: u32) -> f64 {
    let mut draws = Stream::new(1, 0);
    let gap = Draw::Exponential { mean: 1e6 };
    // Ties are of what stands longer, by place, in all of them: no two are at one time here.
    let mut after = |now_ns: u64| now_ns + 1 + gap.draw(&mut draws) as u64;
    let mut queue = Q::with(pending);
    (0..pending).for_each(|place| queue.set(place, after(0)));
    let began = Instant::now();
    for event in 0..EVENTS {
        let (now_ns, place) = queue.ring();
        queue.set(place, after(now_ns));
        if event % 4 == 0 {
            let other = (place ^ event) % pending;
            queue.set(other, after(now_ns));
        }
    }
    black_box(queue.ring());
    began.elapsed().as_nanos() as f64 / f64::from(EVENTS)
}
