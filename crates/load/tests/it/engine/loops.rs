//! Open and closed loops, and how a run ends.

use std::sync::{Arc, Barrier};

use load::arrivals::{Arrivals, Gaps, Stage};
use load::behaviour::Keeps;
use load::engine::{self, Failure};
use load::files::Files;
use load::record::Outcome::{Good, Impatient};
use load::record::Step;
use load::session::Session;
use load::workload::Workload;
use measure::Duration;
use measure::draw::{Draw, Stream};

use crate::engine::server::{
    Client, PATIENCE, Same, answer, made, outcomes, plan, reply, run, serve,
};

/// The server says nothing until all have come: they come whatever it does.
#[test]
fn an_open_loop_waits_for_nobody() {
    let all = Arc::new(Barrier::new(5));
    let address = serve(move |mut client: Client| {
        client.asks();
        all.wait();
        client.tell(reply(&made("/0", crate::engine::server::BYTES)));
        client.wait();
    });
    let (records, summary) = run(&plan(address), &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [Good; 5]);
    assert_eq!(summary.connections, 5);
    let mut sessions: Vec<u64> = records.iter().map(|record| record.session).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [0, 1, 2, 3, 4]);
}

/// Who comes late by the generator's fault comes all the same, and his times count from when he was
/// to come.
#[test]
fn missed_arrivals_fire_late() {
    let mut plan = plan(serve(answer));
    plan.begin = measure::Instant { ns: plan.begin.ns - 1_000_000_000 };
    let (records, summary) = run(&plan, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [Good; 5]);
    assert_eq!(summary.missed, 0);
    for record in &records {
        let offset = Duration::from_millis(record.session);
        assert_eq!(record.intended, plan.begin + offset);
        assert!(record.started - record.intended >= Duration::from_millis(900));
    }
}

/// A schedule that lies in the past from its first to its last: what was not begun by the end of
/// everybody's patience is told.
#[test]
fn what_was_never_begun_is_counted() {
    let mut plan = plan(serve(answer));
    plan.begin = measure::Instant { ns: plan.begin.ns - 10_000_000_000 };
    plan.arrivals = Arrivals::Open(Gaps::Fixed { rate: 1000.0 });
    plan.stop.after = Duration::from_secs(1);
    plan.behaviour.patience = Some(Duration::from_secs(1));
    let (records, summary) = run(&plan, &mut Same::bursts(&[1]));
    assert_eq!(summary.sessions + summary.missed, 1000);
    assert!(summary.missed > 0 && records.len() as u64 == summary.sessions);
}

/// Who comes takes what another one of his address has left.
#[test]
fn clients_of_an_open_loop_leave_connections_to_others() {
    for sources in [vec![], vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()]] {
        let mut plan = plan(serve(answer));
        plan.arrivals = Arrivals::Open(Gaps::Fixed { rate: 1000.0 });
        plan.stop.sessions_max = Some(500);
        plan.behaviour.keeps = Keeps::Client;
        plan.behaviour.connections_max = 1000;
        plan.behaviour.sources = sources;
        let (records, summary) = run(&plan, &mut Same::bursts(&[2]));
        assert_eq!(outcomes(&records), [Good; 1000]);
        let new = records.iter().filter(|record| record.connected.is_some()).count();
        // Even if all of them are late: a round has fewer arrivals than that.
        assert!(new < 500 && new as u64 == summary.connections, "{new}: {summary:?}");
    }
}

#[test]
fn clients_of_a_closed_loop_come_again() {
    for keeps in [Keeps::Request, Keeps::Session, Keeps::Client] {
        for think in [0.0, 0.001] {
            let mut plan = plan(serve(answer));
            plan.arrivals = Arrivals::Closed { clients: 3, think: Draw::Constant(think) };
            plan.behaviour.keeps = keeps;
            plan.stop.sessions_max = Some(30);
            let (records, summary) = run(&plan, &mut Same::bursts(&[2]));
            assert_eq!(outcomes(&records), [Good; 60], "{keeps:?}");
            let connections = match keeps {
                Keeps::Request => 60,
                Keeps::Session => 30,
                Keeps::Client => 3,
            };
            assert_eq!((summary.sessions, summary.connections), (30, connections), "{keeps:?}");
        }
    }
}

/// Takes its time to say what is asked.
struct Slow(Same);

const TAKES: Duration = Duration::from_millis(2);

impl Workload for Slow {
    fn files(&self) -> &Files {
        self.0.files()
    }

    fn session(&mut self, number: u64, asking: &mut Stream, thinking: &mut Stream) -> Session {
        let end = os::clock::monotonic() + TAKES;
        while os::clock::monotonic() < end {}
        self.0.session(number, asking, thinking)
    }
}

/// What the generator does between the time of a request and its first byte is its own delay, and
/// not the server's.
#[test]
fn a_request_is_made_when_it_leaves() {
    for keeps in [Keeps::Request, Keeps::Session, Keeps::Client] {
        let mut plan = plan(serve(answer));
        plan.arrivals = Arrivals::Closed { clients: 1, think: Draw::Constant(0.001) };
        plan.behaviour.keeps = keeps;
        plan.stop.sessions_max = Some(3);
        let (records, _) = run(&plan, &mut Slow(Same::bursts(&[1])));
        assert_eq!(outcomes(&records), [Good; 3]);
        for record in &records {
            let lag = record.started - record.intended;
            assert!(lag >= TAKES, "{keeps:?}, session {}: {lag:?}", record.session);
        }
    }
}

/// Whoever has nothing to ask must not keep the loop from going on.
#[test]
fn sessions_without_requests_are_sessions() {
    let mut plan = plan(serve(answer));
    plan.stop.sessions_max = Some(1000);
    for arrivals in [
        Arrivals::Closed { clients: 3, think: Draw::Constant(0.0) },
        Arrivals::Open(Gaps::Fixed { rate: 1e6 }),
    ] {
        plan.arrivals = arrivals;
        let (records, summary) = run(&plan, &mut Same::bursts(&[]));
        assert_eq!((records.len(), summary.sessions), (0, 1000));
    }
}

#[test]
fn a_run_ends_with_its_patience() {
    let mut plan = plan(serve(Client::wait));
    plan.stop.after = Duration::from_millis(500);
    plan.behaviour.patience = Some(Duration::from_secs(1));
    for arrivals in [
        Arrivals::Open(Gaps::Fixed { rate: 100.0 }),
        Arrivals::Closed { clients: 2, think: Draw::Constant(0.0) },
    ] {
        plan.arrivals = arrivals;
        plan.begin = os::clock::monotonic();
        let (records, summary) = run(&plan, &mut Same::bursts(&[2]));
        assert!(!records.is_empty());
        assert!(records.iter().all(|at| at.outcome == Impatient(Step::FirstByte)), "{records:?}");
        assert!(summary.ended - plan.begin < PATIENCE, "it goes on");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = plan("127.0.0.1:1".parse().unwrap());
    let refuse = |change: &dyn Fn(&mut engine::Plan), expected: &str| {
        let mut plan = good.clone();
        change(&mut plan);
        match engine::run(&plan, &mut Same::bursts(&[1]), &mut |_: &load::record::Record| {}) {
            Err(Failure::Operator(what)) => assert!(what.contains(expected), "{what}"),
            other => panic!("{expected}: {other:?}"),
        }
    };
    let check = |change: fn(&mut engine::Plan), expected| refuse(&change, expected);
    let second = Duration::from_secs(1);
    let steps = |rates: &[f64]| {
        Gaps::Steps(rates.iter().map(|&rate| Stage { rate, lasts: second }).collect())
    };
    let ramp = |from, to| Gaps::Ramp { from, to, over: second };
    let fixed = |rate| Gaps::Fixed { rate };
    let times = |ms: &[u64]| Gaps::Times(ms.iter().copied().map(Duration::from_millis).collect());
    for gaps in [
        fixed(0.0),
        fixed(-1.0),
        fixed(f64::INFINITY),
        steps(&[]),
        steps(&[0.0]),
        steps(&[0.0, 0.0]),
        steps(&[1.0, -1.0]),
        ramp(0.0, 0.0),
        ramp(1.0, -1.0),
        ramp(f64::NAN, 1.0),
        times(&[2, 1]),
    ] {
        refuse(&|plan| plan.arrivals = Arrivals::Open(gaps.clone()), "rate");
    }
    for mean in [fixed(f64::NAN), steps(&[0.0]), ramp(0.0, 0.0), times(&[])] {
        let gaps = Gaps::Poisson(Box::new(mean));
        refuse(&|plan| plan.arrivals = Arrivals::Open(gaps.clone()), "rate");
    }
    check(|plan| plan.part = engine::Part { place: 3, of: 3 }, "no part 3 of 3");
    check(
        |plan| {
            plan.arrivals = Arrivals::Closed { clients: 2, think: Draw::Constant(0.0) };
            plan.part = engine::Part { place: 0, of: 3 };
        },
        "cannot be divided",
    );
    check(|plan| plan.behaviour.parallel = 0, "at least one connection");
    check(|plan| plan.behaviour.connections_max = 0, "at least one connection");
    check(|plan| plan.behaviour.sources = vec!["::1".parse().unwrap()], "leads from");
    check(
        |plan| {
            plan.behaviour.keeps = Keeps::Request;
            plan.behaviour.pipelines = true;
        },
        "pipelined",
    );
}

/// The kernel would connect from others, and say nothing.
#[test]
fn ports_that_are_not_the_kernels_are_refused() {
    let all = os::limits::local_ports().unwrap();
    let mut plan = plan("127.0.0.1:1".parse().unwrap());
    plan.behaviour.ports = Some(all.start() - 1..=*all.end());
    match engine::run(&plan, &mut Same::bursts(&[1]), &mut |_: &load::record::Record| {}) {
        Err(Failure::Machine(what)) => {
            assert!(what.contains("ip_local_port_range") && !what.contains('\n'), "{what}");
        }
        other => panic!("{other:?}"),
    }
}
