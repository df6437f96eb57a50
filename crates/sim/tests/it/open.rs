//! An open loop: whether as many sessions begin as were asked for, what theory says of their waits,
//! and what connections cost them.

use crate::plain::run;
use load::arrivals::Gaps;
use load::behaviour::Keeps;
use load::files::Files;
use load::session::Session;
use load::source::Workload;
use measure::Duration;
use measure::draw::Stream;
use sim::clients::Sessions;
use sim::models::{MODELS, Model};
use sim::run::Run;
use sim::scenario::Scenario;

fn scenario(model: &str, set: &[(&str, &str)]) -> Scenario {
    Scenario {
        warm_up: Duration::from_secs(2),
        measured: Duration::from_secs(400),
        ..crate::plain::scenario(Model::named(model).expect("a model"), RATE, set)
    }
}

const RATE: f64 = 700.0;

fn response_ms(run: &Run) -> f64 {
    run.results.requests.whole.mean().as_secs_f64() * 1e3
}

/// M/D/1: a service, and ρ / (2 (1 - ρ)) of one before it.
#[test]
fn sessions_begin_as_asked_and_wait_as_theory_says() {
    let run = run(&scenario("sped", &[]));
    let whole = run.whole;
    let begun_per_s = whole.tally.begun as f64 / (whole.lasts_ns as f64 / 1e9);
    assert!((begun_per_s / RATE - 1.0).abs() < 0.01, "{begun_per_s}");
    assert_eq!(whole.tally.missed, 0);
    let load = RATE / 1e3;
    let expected_ms = 1.0 + load / (2.0 * (1.0 - load));
    let run_ms = run.results.requests.whole.mean().as_secs_f64() * 1e3;
    assert!((run_ms / expected_ms - 1.0).abs() < 0.03, "{run_ms} for {expected_ms}");
}

/// The gaps of `load`: the same seed, the same sessions, whoever serves them.
#[test]
fn all_models_see_the_same_arrivals() {
    let begun = ["sped", "mt", "pipelined"].map(|model| {
        let scenario = Scenario { measured: Duration::from_secs(3), ..scenario(model, &[]) };
        run(&scenario).whole.tally.begun
    });
    assert!(begun[0] > 0 && begun.iter().all(|of| *of == begun[0]), "{begun:?}");
}

/// For how long a connection is kept, by those that were opened.
#[test]
fn connections_are_kept_as_by_load() {
    // (how long, whether each request has its own)
    for (keeps, is_each) in [
        (None, true),
        (Some(Keeps::Request), true),
        (Some(Keeps::Session), true),
        (Some(Keeps::Client), false),
    ] {
        let measured = Duration::from_secs(3);
        let tally = run(&Scenario { keeps, measured, ..scenario("sped", &[]) }).whole.tally;
        match is_each {
            true => assert_eq!(tally.opened, tally.asked, "{keeps:?}: {tally:?}"),
            // As many as there were clients at a time.
            false => assert!(tally.opened * 20 < tally.asked, "{keeps:?}: {tally:?}"),
        }
    }
}

#[test]
fn more_clients_than_may_come_make_a_run_invalid() {
    let told =
        run(&Scenario { clients: 3, measured: Duration::from_secs(3), ..scenario("sped", &[]) });
    let why = told.judge().expect_err("too few clients");
    assert!(why.contains("sessions could not begin, as all clients were busy"), "{why}");
    assert_eq!(told.whole.tally.asked, told.whole.tally.begun);
}

/// What a request takes that finds nobody else: its service, what the network is away for (on a
/// new connection, the handshake's round trip and its own) and what the processor has to be woken.
#[test]
fn a_request_takes_its_way_and_a_wake() {
    let gaps = Some(Gaps::Fixed { rate: 10.0 });
    for (keeps, set, expected_ms) in [
        (Keeps::Request, &[("round-trip", "8")][..], 17.0),
        (Keeps::Client, &[("round-trip", "8")], 9.0),
        (Keeps::Client, &[("wake", "500"), ("round-trip", "2")], 3.5),
        (Keeps::Request, &[("accept", "250"), ("close", "9000")], 1.25),
    ] {
        let measured = Duration::from_secs(60);
        let gaps = gaps.clone();
        for model in ["sped", "mt"] {
            let scenario = scenario(model, set);
            let run =
                run(&Scenario { gaps: gaps.clone(), keeps: Some(keeps), measured, ..scenario });
            let took_ms = response_ms(&run);
            assert!((took_ms - expected_ms).abs() < 0.02, "{model} {keeps:?} {set:?}: {took_ms}");
        }
    }
}

/// Whoever is idle on a connection that is kept is nobody's event, however many there are.
#[test]
fn idle_connections_cost_no_events() {
    const IDLE: u64 = 10_000;
    let second = Duration::from_secs(1);
    let came = |count: u64, every: Duration, since: Duration| {
        (0..count).map(move |number| since + every * number as u32)
    };
    for model in MODELS {
        let whole = |idle: u64, asking: u64| {
            let idle_come = came(idle, second / 500, Duration::ZERO);
            let all = idle_come.chain(came(asking, second / 500, 30 * second)).collect();
            // Where each holds one connection.
            let holder = match model.name {
                "mp" => Some("processes"),
                "mt" => Some("threads"),
                _ => None,
            };
            let scenario = Scenario {
                knobs: holder
                    .map(|name| (name.into(), (IDLE + 1).to_string()))
                    .into_iter()
                    .collect(),
                gaps: Some(Gaps::Times(all)),
                keeps: Some(Keeps::Session),
                clients: IDLE as u32 + 10,
                memory_bytes: 64 << 30,
                measured: 40 * second,
                ..scenario(model.name, &[])
            };
            let of = scenario.workload().expect("a workload");
            let mut workload: Sessions = Box::new(ThenIdle { of, idle });
            let warm = scenario.warm(&mut workload).expect("it fits");
            let whole = scenario.run(warm, workload).expect("it runs").0.whole;
            assert_eq!(whole.faults, [""; 0], "{}", model.name);
            assert_eq!((whole.tally.replied, whole.open), (idle + asking, idle), "{}", model.name);
            whole
        };
        let [both, idle, asking] =
            [(IDLE, 1_000), (IDLE, 0), (0, 1_000)].map(|(idle, asking)| whole(idle, asking).events);
        assert!(asking > 1_000, "{}: {asking}", model.name);
        assert_eq!(both, idle + asking, "{}", model.name);
    }
}

/// The first sessions ask once, and then not within an hour.
struct ThenIdle {
    of: Sessions,
    idle: u64,
}

impl Workload for ThenIdle {
    fn files(&self) -> &Files {
        self.of.files()
    }

    fn session(&mut self, number: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session {
        let mut session = self.of.session(number, sessions, thinking);
        if number < self.idle {
            session.bursts.push(session.bursts[0].clone());
            session.bursts[0].think = Duration::from_secs(3_600);
        }
        session
    }
}
