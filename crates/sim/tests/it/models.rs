//! Each model with few clients: what holds of every run, whatever is simulated.

use std::thread;

use measure::Duration;
use servers::architectures::ARCHITECTURES;
use sim::PolicyKind;
use sim::models::MODELS;
use sim::parameters::Parameters;
use sim::point::{Course, Point};
use sim::run::{HITS, Run};
use sim::scenario::Scenario;

fn parameters() -> Parameters {
    Parameters::shipped("choi05").expect("a set")
}

fn scenario(model: usize, cores: u32) -> Scenario {
    let mut scenario = Scenario {
        cores,
        memory_bytes: 20 << 20,
        clients: 100,
        workload: String::from("choi-clarknet"),
        warm_up: Duration::from_secs(1),
        measured: Duration::from_secs(4),
        ..Scenario::new(&MODELS[model], &parameters())
    };
    scenario.set("trace-scale", "0.1").expect("a scale");
    scenario
}

fn run(scenario: &Scenario) -> Run {
    let mut workload = scenario.workload().expect("a trace");
    let warm = scenario.warm(&mut workload).expect("it fits");
    scenario.run(warm, workload).expect("it runs").0
}

#[test]
fn nothing_is_lost() {
    for model in 0..MODELS.len() {
        for cores in [1, 3] {
            let scenario = scenario(model, cores);
            let Run { results, whole, .. } = run(&scenario);
            let name = scenario.model.name;
            assert_eq!(whole.faults, [""; 0], "{name}");
            let tally = whole.tally;
            assert!(tally.replied > 1_000, "{name}: {tally:?}");
            assert_eq!(tally.asked - tally.replied, 100, "{name}: each client waits for one");
            assert_eq!(tally.opened - tally.closed, whole.open, "{name}");
            assert_eq!(tally.closed, tally.replied, "{name}: a connection for each request");
            assert!(results.flow.replies > 0 && results.flow.failed == 0, "{name}");
            assert!(whole.disk_busy_ns <= whole.lasts_ns, "{name}: one arm");
        }
    }
}

/// As of `weir load`: a connection for each session, of several requests.
#[test]
fn a_connection_lasts_as_long_as_its_session() {
    for model in 0..MODELS.len() {
        for link in ["0", "1000"] {
            let mut scenario = scenario(model, 1);
            scenario.workload = String::from("surge");
            scenario.set("think", "none").expect("no pauses");
            scenario.set("link-rate", link).expect("a rate");
            let Run { whole, .. } = run(&scenario);
            let (name, tally) = (scenario.model.name, whole.tally);
            assert_eq!(whole.faults, [""; 0], "{name} {link}");
            assert!(tally.replied > 5 * tally.begun, "{name} {link}: {tally:?}");
            assert_eq!(tally.opened, tally.begun, "{name} {link}: {tally:?}");
        }
    }
}

/// A run has its end, whatever is set.
#[test]
fn a_parameter_may_be_nothing_or_very_much() {
    for (answers, set) in [
        (true, &[("backlog", "10"), ("syn-timeout", "0")][..]),
        (true, &[("backlog", "10"), ("round-trip", "1"), ("data-timeout", "0")]),
        (true, &[("grain", "0")]),
        (false, &[("slice", "0")]),
        (true, &[("disk-channels", "4294967296")]),
        (false, &[("disk-rate", "0")]),
        (false, &[("link-rate", "0.0000000000000001"), ("send-buffer", "1")]),
    ] {
        for model in 0..MODELS.len() {
            let mut scenario = scenario(model, 1);
            scenario.measured = Duration::from_secs(1);
            set.iter().for_each(|(name, value)| scenario.set(name, value).expect("a value"));
            let Run { whole, .. } = run(&scenario);
            let name = scenario.model.name;
            assert_eq!(whole.faults, [""; 0], "{name} {set:?}");
            assert!(whole.tally.replied > 0 || !answers, "{name} {set:?}: {:?}", whole.tally);
        }
    }
}

/// A queue for few, and one process: who is dropped asks again, and gives up at last.
#[test]
fn who_is_dropped_asks_again_and_gives_up() {
    let mut scenario = scenario(0, 1);
    scenario.knobs = vec![(String::from("processes"), String::from("1"))];
    for (name, value) in
        [("backlog", "1"), ("accept", "3000000"), ("interrupt", "7"), ("interrupt-dropped", "3")]
    {
        scenario.parameters.set(name, value).expect("a number");
    }
    (scenario.warm_up, scenario.measured) = (Duration::ZERO, Duration::from_secs(300));
    let Run { results, whole, .. } = run(&scenario);
    assert_eq!(whole.faults, [""; 0]);
    let tally = whole.tally;
    let waiting = u64::from(scenario.clients);
    assert_eq!(tally.asked - tally.replied - tally.given_up, waiting, "{tally:?}");
    assert!(tally.given_up > 0 && results.flow.failed == tally.given_up, "{tally:?}");
    // Eleven SYNs for each who gave up, and no connection.
    assert!(tally.drops.all() >= 11 * tally.given_up, "{tally:?}");
    let interrupts_ns = 7_000 * 2 * tally.opened + 3_000 * tally.drops.all();
    assert_eq!(whole.busy[0].interrupts_ns, interrupts_ns, "{tally:?}");
}

/// Little's law of the whole server: of a closed loop without pauses all clients are in it. Whose
/// reply has not come at the end is left out, which are few only of a long run: a thread that runs
/// serves one client after the other within its slice, and others wait long.
#[test]
fn littles_law_holds() {
    for model in 0..MODELS.len() {
        let mut scenario = scenario(model, 2);
        scenario.measured = Duration::from_secs(20);
        let results = run(&scenario).results;
        let rate = results.flow.replies as f64 / scenario.measured.as_secs_f64();
        let inside = rate * results.requests.whole.mean().as_secs_f64();
        let off = inside / f64::from(scenario.clients) - 1.0;
        assert!(off.abs() < 0.03, "{}: {inside} of {}", scenario.model.name, scenario.clients);
    }
}

#[test]
fn the_same_seed_gives_the_same() {
    for model in 0..MODELS.len() {
        let scenario = scenario(model, 2);
        let [one, other] = [0, 1].map(|_| run(&scenario));
        assert_eq!(one.results, other.results, "{}", scenario.model.name);
        assert_eq!(one.whole.digest, other.whole.digest, "{}", scenario.model.name);
        let different = run(&Scenario { seed: 2, ..scenario.clone() });
        assert_ne!(one.results, different.results, "{}", scenario.model.name);
    }
}

/// What memory holds at the start: after any time all that fits, after one pass what was asked for
/// in it.
#[test]
fn memory_is_warm_by_its_parameter() {
    for (warmth, holds_all) in [("drawn", true), ("pass", false)] {
        let mut scenario = Scenario { memory_bytes: 200 << 20, ..scenario(1, 1) };
        scenario.settings.set("trace-scale", "0.01").expect("a scale");
        scenario.parameters.set("warmth", warmth).expect("a word");
        let mut workload = scenario.workload().expect("a trace");
        let mut few = scenario.warm(&mut workload).expect("it fits").files;
        let count = workload.files().count() as u32;
        let held = (0..count).filter(|file| few.has(*file)).count() as u32;
        assert_eq!(held == count, holds_all, "{warmth}: {held} of {count}");
        assert!(held > count / 2, "{warmth}: {held} of {count}");
        assert!(few.look(0), "{warmth}: what is asked for most");
    }
}

/// Any of the server's; who is told what will be asked for keeps more of it.
#[test]
fn every_policy_says_who_goes() {
    let hits = |policy: PolicyKind| {
        let run = run(&Scenario { policy, memory_bytes: 8 << 20, ..scenario(2, 1) });
        assert_eq!(run.whole.faults, [""; 0], "{policy:?}");
        assert!(run.whole.tally.replied > 1_000, "{policy:?}");
        HITS.of(&run)
    };
    let all: Vec<_> = PolicyKind::ALL.iter().map(|policy| (*policy, hits(*policy))).collect();
    let of = |policy| all.iter().find(|(of, _)| *of == policy).expect("one of them").1;
    assert_eq!(of(PolicyKind::None), 0.0);
    assert!(of(PolicyKind::Hinted) > of(PolicyKind::Lru) + 0.5, "{all:?}");
    assert!(
        all.iter().all(|(policy, hits)| *policy == PolicyKind::None || *hits > 10.0),
        "{all:?}"
    );
}

/// A loop that takes few events at a time asks for them as often.
#[test]
fn a_loop_takes_so_many_events_at_a_time() {
    let replies = |batch: &str| {
        let mut scenario = scenario(2, 1);
        scenario.parameters.set("events-call", "1000").expect("a time");
        scenario.parameters.set("events-batch", batch).expect("a count");
        run(&scenario).whole.tally.replied
    };
    let [all, many, one] = ["0", "100000", "1"].map(replies);
    assert_eq!(all, many);
    assert!(one > 0 && one * 11 < all * 10, "{one} of {all}");
}

fn told(point: &Point) -> Vec<String> {
    point.runs.iter().map(|run| format!("{:?}", run.results)).collect()
}

/// By any number of threads, and no two seeds share a replication.
#[test]
fn replications_are_their_seeds_own() {
    let scenario = Scenario { measured: Duration::from_secs(1), ..scenario(2, 2) };
    let told = |seed: u64, threads: usize| {
        let scenario = Scenario { seed, ..scenario.clone() };
        told(&Point::new(&scenario, 4, threads, &Course::default()).expect("it runs"))
    };
    let one = told(1, 1);
    assert_eq!(one, told(1, 3));
    let next = told(2, 1);
    assert!(one.iter().all(|run| !next.contains(run)), "shared");
}

/// Whoever stops them has those that were done, and these are what they would have been.
#[test]
fn replications_that_are_stopped_leave_what_is_done() {
    const MANY: u64 = 1_000_000;
    let scenario = Scenario { measured: Duration::from_secs(1), ..scenario(2, 2) };
    let of = |replications: u64, course: &Course| {
        Point::new(&scenario, replications, 1, course).expect("it runs")
    };
    let course = Course::default();
    let stopped = thread::scope(|scope| {
        let all = scope.spawn(|| of(MANY, &course));
        while course.done() < 2 && !all.is_finished() {
            thread::yield_now();
        }
        course.stop();
        all.join().expect("it ends")
    });
    let stopped = told(&stopped);
    let count = stopped.len() as u64;
    assert!((2..MANY).contains(&count) && course.done() == count, "{count}");
    let simulated = course.simulated().as_secs();
    assert!((2 * count..=2 * count + 2).contains(&simulated), "{simulated} s of {count}");
    assert_eq!(stopped[..2], told(&of(2, &Course::default())));
    // Also before the first one.
    assert!(of(MANY, &course).runs.is_empty());
}

#[test]
fn models_have_the_names_and_knobs_of_their_architectures() {
    for model in MODELS {
        let row = ARCHITECTURES.iter().find(|row| row.name == model.name).expect("a row");
        for of in model.knobs {
            let knob = servers::knobs::knob(of.name).expect("a knob of the server's");
            assert!(knob.is_taken_by(row.name), "{} of {}", of.name, row.name);
        }
    }
}
