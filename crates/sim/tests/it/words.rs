//! What a parameter changes that stands for something which the paper leaves open.

use measure::Duration;
use sim::agenda::Agenda;
use sim::models::Model;
use sim::parameters::Parameters;
use sim::resources::links::{Link, Passed};
use sim::run::{CACHE, LOCK_WAIT, Run};
use sim::scenario::Scenario;

const MS: u64 = 1_000_000;

/// A small Clarknet, of which memory holds two thirds.
fn run(model: &str, cores: u32, set: &[(&str, &str)]) -> Run {
    let parameters = Parameters::shipped("choi05").expect("a set");
    let mut scenario = Scenario {
        cores,
        memory_bytes: 20 << 20,
        clients: 50,
        workload: String::from("choi-clarknet"),
        warm_up: Duration::from_secs(1),
        measured: Duration::from_secs(5),
        ..Scenario::new(Model::named(model).expect("a model"), &parameters)
    };
    for (name, value) in [("trace-scale", "0.1")].iter().chain(set) {
        match scenario.model.knobs.iter().any(|knob| knob.name == *name) {
            true => scenario.knobs.push(((*name).into(), (*value).into())),
            false => scenario.set(name, value).expect("a parameter"),
        }
    }
    let mut workload = scenario.workload().expect("a trace");
    let warm = scenario.warm(&mut workload).expect("it fits");
    let (run, _) = scenario.run(warm, workload).expect("it runs");
    assert_eq!(run.whole.faults, [""; 0], "{model} {set:?}");
    assert!(run.whole.tally.replied > 1_000, "{model} {set:?}: {:?}", run.whole.tally);
    run
}

fn switches(run: &Run) -> f64 {
    let all: u64 = run.whole.busy.iter().map(|busy| busy.switches).sum();
    all as f64 / run.whole.tally.replied as f64
}

/// How many times as much it is with them as without.
fn check(
    (model, cores): (&str, u32),
    set: &[(&str, &str)],
    of: impl Fn(&Run) -> f64,
    times: (f64, f64),
) {
    let both = [&[][..], set].map(|set| of(&run(model, cores, set)));
    let is = both[1] / both[0];
    assert!((times.0..=times.1).contains(&is), "{model} {set:?}: {both:?} is {is} times");
}

#[test]
fn a_lock_that_covers_more_is_waited_for() {
    let waits = |run: &Run| LOCK_WAIT.of(run);
    for covers in ["read", "send"] {
        for model in ["mt", "pipelined"] {
            check((model, 3), &[("lock-covers", covers)], waits, (1.3, f64::INFINITY));
        }
    }
}

#[test]
fn a_stage_that_takes_one_switches_for_each() {
    // From one queue to the next, six times for a request whose file is in memory.
    let of = |takes| switches(&run("pipelined", 1, &[("stage-takes", takes)]));
    let (all, one) = (of("all"), of("one"));
    assert!(all < 1.0 && (4.0..7.0).contains(&one), "{all} {one}");
}

/// Of four tasks on three processors two share one for good, also while another one is idle.
#[test]
fn rows_of_tasks_are_not_levelled() {
    for (model, knob) in [("mp", "processes"), ("mt", "threads")] {
        let replied = |rows| {
            let four = [(knob, "4"), ("task-rows", rows), ("disk-latency", "0.1")];
            run(model, 3, &four).whole.tally.replied
        };
        let [one, each] = ["one", "each"].map(replied);
        assert!(each < one, "{model}: {each} and {one}");
    }
}

#[test]
fn memory_may_be_for_contents_alone() {
    for model in ["mp", "mt", "amped"] {
        let run = run(model, 1, &[("memory-is", "contents")]);
        assert!((CACHE.of(&run) - 20.0).abs() < 1e-6, "{model}: {}", CACHE.of(&run));
    }
}

/// 14 KB take 5.3 ms of 22 Mbit/s for each client, and nothing of the processor.
#[test]
fn each_client_may_have_a_link_of_his_own() {
    let of = |is| {
        let link = [("transmit", "0"), ("link-rate", "22"), ("link-is", is)];
        run("sped", 1, &link).whole.tally.replied
    };
    let [shared, own] = ["shared", "own"].map(of);
    assert!(own > 5 * shared, "{own} and {shared}");

    let mut agenda = Agenda::default();
    let mut link = Link::new(1e6, agenda.place()).one_for_each();
    link.put(0, 4_000, 0, &mut agenda);
    link.put(1, 1_000, MS, &mut agenda);
    let mut told = Vec::new();
    while let Some((now_ns, _)) = agenda.ring(100 * MS) {
        while let Some(passed) = link.next(now_ns, &mut agenda) {
            told.push((now_ns / MS, passed));
        }
    }
    assert_eq!(told, [(2, Passed::All(1)), (4, Passed::All(0))]);
    assert!(link.little(100 * MS).holds());
}

/// What only takes time leaves memory as it is.
#[test]
fn what_decides_of_a_warm_memory_is_told_apart() {
    let parameters = Parameters::shipped("choi05").expect("a set");
    let caches = |set: &[(&str, &str)]| {
        let mut scenario = Scenario::new(Model::named("amped").expect("a model"), &parameters);
        scenario.knobs = vec![(String::from("processes"), String::from("4"))];
        for (name, value) in set {
            scenario.set(name, value).expect("a parameter");
        }
        scenario.caches().expect("it fits")
    };
    let base = caches(&[]);
    for (name, value, is_same) in [
        ("thread-switch", "50", true),
        ("disk-rate", "594", true),
        ("lock-covers", "read", true),
        ("contents", "private", false),
        ("entry-file", "0", false),
        ("entry-bytes", "851", false),
        ("helper-bytes", "16", false),
        ("memory-is", "contents", false),
        ("file-sizes", "mean", false),
        ("warmth", "pass", false),
        ("path-entries", "600", false),
        ("trace-scale", "0.5", false),
    ] {
        assert_eq!(caches(&[(name, value)]) == base, is_same, "{name} {value}");
    }
}
