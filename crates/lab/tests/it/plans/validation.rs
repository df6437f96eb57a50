//! A validation of the simulator from its first measurement to its page, of servers that are a
//! formula: what they take is what the simulator can say, or what it cannot.

use std::collections::BTreeMap;

use lab::capacity::{RATE, TRIES};
use lab::experiments::experiment;
use lab::fitted;
use lab::known::Known;
use lab::page::{NONE, Section};
use lab::point::{Point, Verdict};
use lab::profile::{Profile, Seen};
use lab::schedule;
use lab::setup::Setup;
use lab::simulated::Simulations;
use lab::spec::{OF_CAPACITY, Spec};
use lab::vitals::Vitals;

use crate::plans::model::point;

/// Of a server whose processor is busy for so long in a second.
fn vitals(busy_us: f64) -> Vitals {
    let text = include_str!("vitals.json").replace("\"BUSY\"", &(busy_us.round()).to_string());
    serde_json::from_str(&text).expect("vitals")
}

/// What a reply takes of a processor that is never idle.
const BUSY_US: f64 = 40.0;

/// So many replies in a second are that.
const BUSY_PER_S: f64 = 1e6 / BUSY_US;

/// µs for a reply at a share of the capacity.
type Takes = fn(f64) -> f64;

fn measured(spec: &Spec, attempt: u32, takes: Takes) -> Point {
    let mut of = point(spec, attempt, &|_, rate| rate.unwrap_or(BUSY_PER_S).min(BUSY_PER_S));
    let load = of.load.as_ref().expect("a load");
    let per_s = load.flow.replies as f64 / load.measured.as_secs_f64();
    let share = spec.factors.get(OF_CAPACITY).copied().unwrap_or(1.0);
    let takes_us = if spec.experiment == "parameters" { step_us(spec) } else { takes(share) };
    of.vitals = Some(vitals(per_s * takes_us));
    if spec.profile.is_some() {
        let seen = Seen::Costs(TIMED.map(|(name, ns)| (name.into(), ns)).into());
        of.profile = Some(Ok(Profile { window_us: 0, faults: Vec::new(), seen }));
    }
    of
}

/// What is timed by itself, in ns.
const TIMED: [(&str, f64); 7] = [
    ("switch-thread", 1_000.0),
    ("switch-process", 1_000.0),
    ("hand-over", 2_000.0),
    ("close", 0.0),
    ("epoll-call", 100.0),
    ("epoll-event", 100.0),
    ("cache-line", 100.0),
];

/// What a reply takes under the loads of which steps are made: together they come to [`BUSY_US`],
/// and to ten more where the server sleeps. Connections take nothing.
fn step_us(spec: &Spec) -> f64 {
    const KEPT_US: f64 = 15.0;
    let is_kept = !spec.subject.knobs.contains_key("cache-mb");
    let has = |flag: &str, value: &str| spec.load.flags.get(flag).is_some_and(|of| of == value);
    match is_kept {
        false => BUSY_US,
        true if spec.load.flags.contains_key("rest") => KEPT_US + 10.0,
        true if has("bytes", "65000") => KEPT_US + 6.0,
        true => KEPT_US,
    }
}

/// What clients can ask for in a second, of an open loop.
const NO_LIMIT: f64 = f64::INFINITY;

/// What is said of these servers; of none: of those of the experiment.
fn section(name: &str, subjects: &[&str], takes: Takes) -> Section {
    let subjects = subjects.iter().map(|text| text.parse().expect("a subject"));
    let setup = Setup { subjects: subjects.collect(), ..Setup::default() };
    performed(name, &setup, takes, NO_LIMIT).1
}

fn performed(name: &str, setup: &Setup, takes: Takes, limit: f64) -> (Vec<Point>, Section) {
    let of = experiment(name).expect("an experiment of this name");
    let mut points = Vec::new();
    let mut simulations = Simulations::default();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        let mut point = Point::begun("of a test", spec, attempt);
        if fitted::is_asked(spec) {
            fitted::fit(spec, &mut point)?;
        } else if spec.is_simulated() {
            simulations.simulate(specs, &mut point)?;
        } else {
            point = measured(spec, attempt, takes);
            let rate = spec.factors.get(RATE).copied();
            let is_closed = spec.experiment == name && spec.load.flags.contains_key("clients");
            if rate.unwrap_or(if is_closed { BUSY_PER_S } else { 0.0 }) > limit {
                let why = String::from("late-starts: the share of sessions begun late is 12 %");
                point.verdict = Verdict::Invalid(vec![why]);
            }
        }
        Ok(point)
    };
    schedule::run(&[of], setup, &mut points, &mut measure, &mut |_| ()).expect("a whole run");
    let section = (of.sections)(setup, &Known::of(&points)).remove(0);
    (points, section)
}

/// By server and what it is, whether it is near enough.
fn verdicts(section: &Section, column: usize) -> BTreeMap<(String, String), String> {
    let rows = section.tables[0].rows.iter();
    rows.map(|row| ((row[0].clone(), row[1].clone()), row[column].clone())).collect()
}

/// Where verdicts stand on what is simulated by fitted parameters, and by steps.
const FITTED: usize = 5;
const BY_STEPS: usize = 8;

/// Who takes more the more it sleeps is simulated as it is; of whom a point that judges is another
/// than all others say, that point is told.
#[test]
fn what_a_simulator_can_say_is_told_from_what_it_cannot() {
    let sleeps: Takes = |share| BUSY_US + 10.0 * (1.0 - share);
    let jumps: Takes =
        |share| if share == 0.5 { 2.0 * BUSY_US } else { BUSY_US + 8.0 * (1.0 - share) };
    let rows = [
        ("validation-kept", sleeps, "yes"),
        ("validation-one-packet", sleeps, "yes"),
        ("validation-kept", jumps, "no"),
    ];
    for (name, takes, at_half) in rows {
        let section = section(name, &["sped:cache-mb=0"], takes);
        for column in [FITTED, BY_STEPS] {
            let verdicts = verdicts(&section, column);
            assert_eq!(verdicts.len(), 7, "{name}: {verdicts:?}");
            for ((server, what), verdict) in &verdicts {
                let is_it = what.contains("processor time") && what.contains("at 0.5");
                // Clients of a formula wait always alike.
                let expected = match what.contains("response time") {
                    true => "no",
                    false if is_it => at_half,
                    false => "yes",
                };
                let tables = &section.tables;
                assert_eq!(verdict, expected, "{name} {column}, {server}, {what}: {tables:?}");
            }
        }
        let told = |way: &str| section.answer.iter().any(|line| line.starts_with(way));
        assert!(told("Fitted: of 7") && told("By steps: of 7"), "{:?}", section.answer);
    }
}

/// A server that takes less where it sleeps is nobody's whom the simulator knows: it says so, and
/// simulates nothing.
#[test]
fn parameters_that_do_not_reach_what_they_are_made_of_are_told() {
    let section = section("validation-kept", &[], |share| BUSY_US - 20.0 * (1.0 - share));
    assert!(verdicts(&section, FITTED).values().all(|verdict| verdict == "open"));
    let lost = section.answer.iter().filter(|line| line.contains("no parameters were found"));
    assert_eq!(lost.count(), 3, "{:?}", section.answer);
    let by_steps = verdicts(&section, BY_STEPS);
    let judged = by_steps.values().filter(|verdict| *verdict != "open").count();
    assert!(judged > 0, "steps are another way: {by_steps:?}");
}

/// Whose clients are at their limit before it is has no capacity, and is simulated all the same: at
/// shares of what they could ask for.
#[test]
fn a_server_that_its_clients_cannot_fill_is_judged_at_shares_of_what_they_ask_for() {
    let subjects = vec!["sped:cache-mb=0".parse().expect("a subject")];
    let setup = Setup { subjects, ..Setup::default() };
    let sleeps: Takes = |share| BUSY_US + 10.0 * (1.0 - share);
    let (points, section) = performed("validation-kept", &setup, sleeps, 15_000.0);
    let asked = section.answer.iter().find(|line| line.contains("its clients are at their limit"));
    assert!(asked.is_some_and(|line| line.contains(" 14,")), "{:?}", section.answer);
    let rows = &section.tables[0].rows;
    assert_eq!(rows.len(), 7, "{rows:?}");
    assert!(rows[0][1].contains("its clients are the limit"), "{:?}", rows[0]);
    for row in &rows[1..] {
        assert!(row[1].ends_with(" of what its clients could ask for"), "{row:?}");
        assert!(row[2..].iter().all(|text| text != NONE), "{row:?}");
    }
    let of_asked = |point: &&Point| point.spec.factors.contains_key("of_asked");
    assert!(points.iter().filter(of_asked).all(|point| point.spec.factors[RATE] <= 15_000.0));
    // Nothing counts at all: that ends too, and nothing is asked for in shares of nothing.
    let (points, section) = performed("validation-kept", &setup, sleeps, 1.0);
    assert!(points.iter().all(|point| ["parameters", "busy", TRIES].contains(&&*point.spec.stage)));
    assert_eq!(points.iter().filter(|point| point.spec.stage == TRIES).count(), 27);
    assert!(section.tables[0].rows.iter().all(|row| row[FITTED] == "open"));
}

/// Both validations of a run have the same steps, and one that does not count is told.
#[test]
fn steps_are_measured_once_and_those_that_do_not_count_are_told() {
    let names = ["validation-kept", "validation-one-packet"];
    let of = names.map(|name| experiment(name).expect("an experiment of this name"));
    let subjects = vec!["sped:cache-mb=0".parse().expect("a subject")];
    let setup = Setup { subjects, ..Setup::default() };
    let of_steps = |specs: Vec<Spec>| -> Vec<String> {
        let keys = specs.iter().filter(|spec| spec.experiment == "parameters");
        keys.map(|spec| format!("{} {}", spec.key(), spec.repeat)).collect()
    };
    let [kept, each] = of.map(|of| of_steps(schedule::missing(of, &setup, &[]).0));
    assert_eq!(kept, each);
    assert_eq!(kept.len(), 3 * (5 + 1), "five loads and what is timed, three times: {kept:?}");
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        let mut point = Point::begun("of a test", spec, attempt);
        if !fitted::is_asked(spec) && !spec.is_simulated() {
            point = measured(spec, attempt, |_| BUSY_US);
        }
        if spec.load.flags.contains_key("rest") {
            point.verdict = Verdict::Invalid(vec![String::from("steal: by others")]);
        }
        Ok(point)
    };
    schedule::run(&of[..1], &setup, &mut points, &mut measure, &mut |_| ()).expect("a whole run");
    let section = (of[0].sections)(&setup, &Known::of(&points)).remove(0);
    let told = section.answer.iter().find(|line| line.contains("its steps were not all measured"));
    assert!(told.is_some_and(|line| line.contains("weir lab run validation-kept")));
    assert!(section.excluded.iter().any(|line| line.contains("steal")), "{:?}", section.excluded);
    assert!(verdicts(&section, BY_STEPS).values().all(|verdict| verdict == "open"));
}
