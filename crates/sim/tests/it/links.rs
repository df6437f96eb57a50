//! A link by itself, by times that can be worked out by hand and by theory; and servers that send
//! over one.

use crate::theory::check;
use measure::Duration;
use measure::draw::{Draw, Stream};
use proptest::prelude::*;
use sim::agenda::Agenda;
use sim::models::{MODELS, Model};
use sim::parameters::Parameters;
use sim::resources::links::{FlowId, Link, Passed};
use sim::run::{LINK, Run};
use sim::scenario::Scenario;

use Passed::{All, Room};

const MS: u64 = 1_000_000;

/// A link of 1,000 bytes in a millisecond, and what it has told, in milliseconds.
struct Network {
    agenda: Agenda,
    link: Link,
    told: Vec<(u64, Passed)>,
}

impl Network {
    fn new() -> Self {
        let mut agenda = Agenda::default();
        let link = Link::new(1e6, agenda.place());
        Self { agenda, link, told: Vec::new() }
    }

    /// Lets it go on until then.
    fn run(&mut self, until_ns: u64) {
        while let Some((now_ns, _)) = self.agenda.ring(until_ns) {
            while let Some(passed) = self.link.next(now_ns, &mut self.agenda) {
                self.told.push((now_ns, passed));
            }
        }
    }

    fn put(&mut self, at_ms: u64, flow: FlowId, bytes: u64) {
        self.run(at_ms * MS);
        self.link.put(flow, bytes, at_ms * MS, &mut self.agenda);
    }

    #[track_caller]
    fn check(mut self, expected: &[(u64, Passed)]) {
        self.run(1_000 * MS);
        let told: Vec<_> = self.told.iter().map(|(at_ns, passed)| (at_ns / MS, *passed)).collect();
        assert_eq!(told, expected);
        assert!(self.link.little(1_000 * MS).holds());
        let carried = self.link.carried(1_000 * MS);
        assert_eq!(carried.put_bytes, carried.through_bytes + carried.lost_bytes);
    }
}

#[test]
fn who_sends_alone_has_all_of_it() {
    let mut network = Network::new();
    network.put(0, 7, 4_000);
    network.put(10, 7, 2_000);
    network.check(&[(4, All(7)), (12, All(7))]);
}

/// 1,000 bytes alone, then both at half of the rate until the short one is over.
#[test]
fn who_comes_takes_a_fair_share() {
    let mut network = Network::new();
    network.put(0, 0, 4_000);
    network.put(1, 1, 1_000);
    network.check(&[(3, All(1)), (5, All(0))]);
}

#[test]
fn more_is_put_behind_what_is_left() {
    let mut network = Network::new();
    network.put(0, 0, 3_000);
    network.put(0, 1, 3_000);
    network.put(2, 0, 1_000);
    assert_eq!(network.link.left(0, 2 * MS), 3_000);
    network.check(&[(6, All(1)), (7, All(0))]);
}

#[test]
fn room_is_told_once_and_before_the_end() {
    let mut network = Network::new();
    network.put(0, 0, 6_000);
    network.link.ask_room(0, 4_000, 0, &mut network.agenda);
    network.check(&[(2, Room(0)), (6, All(0))]);
    // No more than that is left already.
    let mut network = Network::new();
    network.put(0, 0, 3_000);
    network.link.ask_room(0, 4_000, 0, &mut network.agenda);
    network.check(&[(0, Room(0)), (3, All(0))]);
}

#[test]
fn who_is_forgotten_leaves_his_share() {
    let mut network = Network::new();
    network.put(0, 0, 4_000);
    network.put(0, 1, 4_000);
    network.run(4 * MS);
    network.link.forget(1, 4 * MS, &mut network.agenda);
    assert_eq!((network.link.left(1, 4 * MS), network.link.sends(1)), (0, false));
    assert_eq!(network.link.carried(4 * MS).lost_bytes, 4_000);
    network.check(&[(6, All(0))]);
}

/// Shares that are worked out anew whenever somebody comes, ends or is forgotten.
#[derive(Default)]
struct Naive {
    now_ms: f64,
    /// Thousands of bytes, by flow.
    left: [f64; 4],
    ends: Vec<(f64, FlowId)>,
}

impl Naive {
    fn run(&mut self, until_ms: f64) {
        loop {
            let open: Vec<usize> = (0..4).filter(|flow| self.left[*flow] > 1e-9).collect();
            let least = open.iter().map(|flow| self.left[*flow]).min_by(f64::total_cmp);
            let ends_ms = least.map(|least| self.now_ms + least * open.len() as f64);
            let Some(ends_ms) = ends_ms.filter(|ends_ms| *ends_ms <= until_ms + 1e-9) else {
                open.iter().for_each(|flow| {
                    self.left[*flow] -= (until_ms - self.now_ms) / open.len() as f64;
                });
                self.now_ms = until_ms;
                return;
            };
            for flow in &open {
                self.left[*flow] -= (ends_ms - self.now_ms) / open.len() as f64;
                if self.left[*flow] <= 1e-9 {
                    self.left[*flow] = 0.0;
                    self.ends.push((ends_ms, *flow as FlowId));
                }
            }
            self.now_ms = ends_ms;
        }
    }
}

proptest! {
    /// Whoever puts more behind what is left, and whoever is forgotten in the midst.
    #[test]
    fn shares_are_as_of_a_naive_link(
        steps in prop::collection::vec((0..6_u64, 0..4_usize, 0..9_u64), 1..12),
    ) {
        let (mut network, mut naive) = (Network::new(), Naive::default());
        let mut at_ns = 0;
        for (step, (gap_ms, flow, thousands)) in (1..).zip(steps) {
            // So that nobody is forgotten just when he ends.
            at_ns += gap_ms * MS + 1_237 * step * step;
            naive.run(at_ns as f64 / 1e6);
            network.run(at_ns);
            match thousands {
                0 => {
                    naive.left[flow] = 0.0;
                    network.link.forget(flow as FlowId, at_ns, &mut network.agenda);
                }
                _ => {
                    naive.left[flow] += thousands as f64;
                    let bytes = thousands * 1_000;
                    network.link.put(flow as FlowId, bytes, at_ns, &mut network.agenda);
                }
            }
        }
        naive.run(1e6);
        network.run(1_000 * MS);
        let told = |flow: FlowId| {
            let of = network.told.iter().filter(move |(_, of)| *of == All(flow));
            of.map(|(at_ns, _)| *at_ns as f64 / 1e6).collect::<Vec<_>>()
        };
        for flow in 0..4 {
            let expected = naive.ends.iter().filter(|(_, of)| *of == flow);
            let expected: Vec<f64> = expected.map(|(at_ms, _)| *at_ms).collect();
            let told = told(flow);
            prop_assert_eq!(told.len(), expected.len(), "{:?} {:?}", told, expected);
            let near = told.iter().zip(&expected).all(|(one, other)| (one - other).abs() < 1e-5);
            prop_assert!(near, "{:?} {:?}", told, expected);
        }
        prop_assert!(network.link.little(1_000 * MS).holds());
        let carried = network.link.carried(1_000 * MS);
        prop_assert_eq!(carried.put_bytes, carried.through_bytes + carried.lost_bytes);
    }
}

/// M/G/1 with processor sharing: ρ / (1 - ρ) on the link, whatever is drawn.
#[test]
fn a_shared_link_is_as_theory_says() {
    for load in [0.5, 0.7] {
        // The mean of a Weibull of shape 0.5 is twice its scale: 1,000 bytes, which take 1 ms.
        for sizes in [
            Draw::Weibull { scale: 500.0, shape: 0.5 },
            Draw::Exponential { mean: 1_000.0 },
            Draw::Constant(1_000.0),
        ] {
            let what = format!("M/G/1-PS, {load} of {sizes:?}");
            check(&what, load / (1.0 - load), |seed| mean_flows(load, sizes, seed));
        }
    }
}

/// Flows on a link, on the average.
fn mean_flows(load: f64, sizes: Draw, seed: u64) -> f64 {
    const ARRIVALS: u32 = 100_000;
    let mut network = Network::new();
    let [mut of_gaps, mut of_sizes] = [1, 2].map(|what| Stream::of(seed, what, 0));
    let gaps = Draw::Exponential { mean: MS as f64 / load };
    let (mut now_ns, mut flows, mut free) = (0, 0, Vec::new());
    for _ in 0..ARRIVALS {
        now_ns += gaps.draw(&mut of_gaps).round() as u64;
        network.run(now_ns);
        free.extend(network.told.drain(..).map(|(_, of)| match of {
            All(flow) | Room(flow) => flow,
        }));
        let flow = free.pop().unwrap_or_else(|| {
            flows += 1;
            flows - 1
        });
        let bytes = sizes.draw(&mut of_sizes).round() as u64;
        network.link.put(flow, bytes.max(1), now_ns, &mut network.agenda);
    }
    let little = network.link.little(now_ns);
    assert!(little.holds(), "{little}");
    little.number_ns as f64 / now_ns as f64
}

fn run(model: &'static Model, set: &[(&str, &str)], change: impl Fn(&mut Scenario)) -> Run {
    let parameters = Parameters::shipped("choi05").expect("a set");
    let mut scenario = Scenario {
        clients: 50,
        workload: String::from("choi-clarknet"),
        warm_up: Duration::from_secs(1),
        measured: Duration::from_secs(10),
        ..Scenario::new(model, &parameters)
    };
    scenario.set("trace-scale", "0.1").expect("a scale");
    for (name, value) in set {
        scenario.set(name, value).expect("a parameter");
    }
    change(&mut scenario);
    let mut workload = scenario.workload().expect("a trace");
    let warm = scenario.warm(&mut workload).expect("it fits");
    let run = scenario.run(warm, workload).expect("it runs").0;
    assert_eq!(run.whole.faults, [""; 0], "{} {set:?}", model.name);
    run
}

/// A link that is slower than the processor is what limits every architecture, whatever its send
/// buffers have room for, where it has somebody for each client.
#[test]
fn a_slow_link_is_the_limit() {
    for model in MODELS {
        let [wide, all, small] =
            [("1000", "0"), ("5", "0"), ("5", "16384")].map(|(rate, buffer)| {
                let many = |scenario: &mut Scenario| {
                    if model.name == "mp" {
                        scenario.knobs = vec![(String::from("processes"), String::from("50"))];
                    }
                };
                let set = [("link-rate", rate), ("send-buffer", buffer)];
                LINK.of(&run(model, &set, many))
            });
        assert!(wide < 20.0, "{}: {wide}", model.name);
        assert!(all > 98.0 && small > 98.0, "{}: {all} and {small}", model.name);
    }
}

/// Who has a buffer without a bound sends a reply in one go; who has a small one is told of room
/// again and again.
#[test]
fn small_buffers_cost_events() {
    for model in MODELS {
        let rate = ("link-rate", "20");
        let events = |buffer: &str| {
            let whole = run(model, &[rate, ("send-buffer", buffer)], |_| ()).whole;
            whole.events as f64 / whole.tally.replied as f64
        };
        let [unbounded, large, small] = ["0", "10000000", "4096"].map(events);
        assert_eq!(unbounded, large, "{}", model.name);
        assert!(small > unbounded + 1.0, "{}: {small} and {unbounded}", model.name);
    }
}

/// Who blocks on its send buffer does nothing for anybody else meanwhile.
#[test]
fn who_blocks_serves_fewer() {
    let mp = Model::named("mp").expect("a model");
    let set = [("link-rate", "5"), ("send-buffer", "4096")];
    let one = run(mp, &set, |of| of.knobs = vec![(String::from("processes"), String::from("1"))]);
    let many = run(mp, &set, |_| ());
    assert!(one.whole.tally.replied > 100);
    assert!(one.whole.tally.replied < many.whole.tally.replied);
}

/// What drains while a piece is sent is no room for the next one: with a third of 16 KiB at a time,
/// and nobody else on the link, a reply has a few pieces and not thousands.
#[test]
fn a_reply_is_not_sent_in_crumbs() {
    for model in MODELS {
        let set = [("link-rate", "100"), ("send-buffer", "16384"), ("transmit", "1")];
        let whole = run(model, &set, |of| of.clients = 1).whole;
        let pieces = whole.tally.bytes as f64 / 5_000.0 + whole.tally.replied as f64;
        let events = whole.events as f64 / pieces;
        assert!(events < 12.0, "{}: {events} for each piece", model.name);
    }
}
