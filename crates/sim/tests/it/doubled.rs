//! All times doubled: each event is at exactly twice its time, whatever is simulated.
//!
//! Times that are drawn are whole nanoseconds when they come into a simulation, and are doubled as
//! such; to what others are rounded is a time, too.

use load::Purpose;
use load::arrivals::{Gaps, Schedule};
use load::files::Files;
use load::session::Session;
use load::source::Workload;
use load::source::model::Model as Known;
use measure::Duration;
use measure::draw::Stream;
use sim::clients::Sessions;
use sim::models::{MODELS, Model};
use sim::parameters::{Parameters, Takes, Value};
use sim::run::{Run, Whole};
use sim::scenario::Scenario;

/// Something that is simulated, and that it was.
struct Case {
    what: &'static str,
    workload: &'static str,
    /// Sessions in a second, drawn; `None`: closed loop.
    rate: Option<f64>,
    clients: u32,
    patience_ms: Option<u64>,
    set: &'static [(&'static str, &'static str)],
    is_seen: fn(&Whole) -> bool,
}

/// Where nothing else is said.
const PLAIN: Case = Case {
    what: "closed loop",
    workload: "choi-clarknet",
    rate: None,
    clients: 100,
    patience_ms: None,
    set: &[],
    is_seen: |whole| whole.tally.replied > 1_000,
};

/// Whoever is dropped sends it again before he gives up, and what comes with the end of a handshake
/// more than once.
const PATIENT: Option<u64> = Some(1_500);

const CASES: &[Case] = &[
    PLAIN,
    Case {
        what: "thoughts that are drawn",
        workload: "surge",
        is_seen: |whole| whole.tally.replied > 100 && whole.open > 10,
        ..PLAIN
    },
    Case { what: "gaps that are drawn", rate: Some(300.0), ..PLAIN },
    Case {
        what: "kept connections, on which some think",
        workload: "surge",
        rate: Some(20.0),
        set: &[("round-trip", "2.000001"), ("wake", "7"), ("interrupt", "3")],
        is_seen: |whole| whole.tally.replied > whole.tally.opened && whole.open > 10,
        ..PLAIN
    },
    Case {
        what: "a short queue",
        rate: Some(2_000.0),
        clients: 1_000,
        patience_ms: PATIENT,
        set: &[
            ("receive", "2000"),
            ("backlog", "5"),
            ("round-trip", "30"),
            ("interrupt-dropped", "3"),
        ],
        is_seen: |whole| {
            let drops = whole.tally.drops;
            drops.accept_queue_full > 0 && drops.listen_overflow > 0 && whole.tally.given_up > 0
        },
        ..PLAIN
    },
    Case {
        what: "few handshakes that may be half open",
        rate: Some(2_000.0),
        clients: 1_000,
        patience_ms: PATIENT,
        set: &[("receive", "2000"), ("backlog", "3000"), ("round-trip", "30"), ("half-open", "20")],
        is_seen: |whole| whole.tally.drops.drop_request > 0 && whole.tally.given_up > 0,
        ..PLAIN
    },
    Case {
        what: "more handshakes than the queue has room for",
        rate: Some(2_000.0),
        clients: 1_000,
        patience_ms: PATIENT,
        set: &[("receive", "2000"), ("backlog", "20"), ("round-trip", "30"), ("half-open", "4000")],
        is_seen: |whole| whole.tally.drops.syn_queue_full > 0 && whole.tally.given_up > 0,
        ..PLAIN
    },
    Case {
        what: "a link",
        clients: 20,
        set: &[("link-rate", "20")],
        is_seen: |whole| whole.carried.busy_ns > whole.lasts_ns / 10,
        ..PLAIN
    },
    Case {
        what: "a link and send buffers",
        clients: 20,
        set: &[("link-rate", "20"), ("send-buffer", "4096")],
        is_seen: |whole| whole.carried.busy_ns > whole.lasts_ns / 10,
        ..PLAIN
    },
    Case {
        what: "a link in an open loop",
        rate: Some(400.0),
        clients: 20,
        set: &[("link-rate", "10"), ("send-buffer", "9000"), ("round-trip", "2")],
        is_seen: |whole| whole.carried.busy_ns > whole.lasts_ns / 10 && whole.tally.missed > 0,
        ..PLAIN
    },
    Case {
        what: "replies that are given up on a link",
        clients: 20,
        patience_ms: PATIENT,
        set: &[("link-rate", "1"), ("send-buffer", "4096")],
        is_seen: |whole| whole.carried.lost_bytes > 0 && whole.tally.lost_bytes > 0,
        ..PLAIN
    },
];

#[test]
fn doubled_times_double_everything() {
    for case in CASES {
        for model in MODELS {
            check(case, model);
        }
    }
}

fn check(case: &Case, model: &'static Model) {
    let scenario = case.scenario(model);
    let as_given = run(&scenario, 1);
    let [one, twice] = [1, 2].map(|times| run(&stretched(&scenario, times), times));
    let what = format!("{}: {}", model.name, case.what);
    // Gaps are the same as a list.
    assert_eq!(as_given.whole.digest, one.whole.digest, "{what}");
    let (one, twice) = (one.whole, twice.whole);
    assert!((case.is_seen)(&one), "{what}: {:?} {:?}", one.tally, one.carried);
    assert_eq!(one.events, twice.events, "{what}");
    // Each event, not their sums alone.
    assert_eq!(one.digest.wrapping_mul(2), twice.digest, "{what}");
    assert_eq!(one.tally, twice.tally, "{what}");
    for (one, twice) in one.busy.iter().zip(&twice.busy) {
        assert_eq!(2 * one.work_ns, twice.work_ns, "{what}");
        assert_eq!(2 * one.switching_ns, twice.switching_ns, "{what}");
        assert_eq!(2 * one.interrupts_ns, twice.interrupts_ns, "{what}");
    }
    assert_eq!(2 * one.disk_busy_ns, twice.disk_busy_ns, "{what}");
    assert_eq!(2 * one.locks.waited_ns, twice.locks.waited_ns, "{what}");
    assert_eq!(2 * one.carried.busy_ns, twice.carried.busy_ns, "{what}");
    assert_eq!(one.carried.through_bytes, twice.carried.through_bytes, "{what}");
}

impl Case {
    fn scenario(&self, model: &'static Model) -> Scenario {
        let mut scenario = Scenario {
            cores: 2,
            memory_bytes: 8 << 20,
            clients: self.clients,
            gaps: self.rate.map(|rate| Gaps::Poisson(Box::new(Gaps::Fixed { rate }))),
            patience: self.patience_ms.map(Duration::from_millis),
            workload: String::from(self.workload),
            warm_up: Duration::from_secs(1),
            measured: Duration::from_secs(4),
            ..Scenario::new(model, &Parameters::shipped("choi05").expect("a set"))
        };
        for (name, value) in self.set {
            scenario.set(name, value).expect("a parameter");
        }
        if self.workload.starts_with("choi") {
            scenario.set("trace-scale", "0.02").expect("a knob of traces");
        }
        scenario
    }
}

/// The same with all times so many times as long.
fn stretched(scenario: &Scenario, times: u32) -> Scenario {
    let mut all = scenario.clone();
    for (definition, parameter) in scenario.parameters.all() {
        let Value::Number(value) = parameter.value else { continue };
        let value = match definition.takes {
            Takes::Time => value * f64::from(times),
            Takes::Rate => value / f64::from(times),
            _ => continue,
        };
        let of_unit = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("Mbit/s", 125e3)];
        let of_unit = of_unit.iter().find(|(unit, _)| *unit == parameter.unit).expect("a unit");
        all.parameters.set(definition.name, &(value / of_unit.1).to_string()).expect("a value");
    }
    all.warm_up *= times;
    all.measured *= times;
    all.patience = scenario.patience.map(|patience| patience * times);
    all.gaps = scenario.gaps.as_ref().map(|gaps| {
        let stream = Stream::new(scenario.seed, Purpose::Arrivals as u64);
        let ends = scenario.warm_up + scenario.measured;
        let drawn = Schedule::new(gaps, stream).take_while(|at| *at <= ends);
        Gaps::Times(drawn.map(|at| at * times).collect())
    });
    all
}

fn run(scenario: &Scenario, times: u32) -> Run {
    let of = scenario.workload().expect("a workload");
    let mut workload: Sessions = Box::new(Slowly { of, times });
    let warm = scenario.warm(&mut workload).expect("it fits");
    let run = scenario.run(warm, workload).expect("it runs").0;
    assert_eq!(run.whole.faults, [""; 0], "{}", scenario.model.name);
    run
}

/// Sessions whose clients pause so many times as long.
struct Slowly {
    of: Sessions,
    times: u32,
}

impl Workload for Slowly {
    fn files(&self) -> &Files {
        self.of.files()
    }

    fn session(&mut self, number: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session {
        let mut session = self.of.session(number, sessions, thinking);
        for burst in &mut session.bursts {
            burst.think *= self.times;
            burst.requests.iter_mut().for_each(|request| request.pause *= self.times);
        }
        session
    }

    fn pass(&self) -> Option<u64> {
        self.of.pass()
    }

    fn model(&self) -> Known {
        self.of.model()
    }
}
