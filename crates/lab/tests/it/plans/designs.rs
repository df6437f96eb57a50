//! Capacities and rates.

use lab::Failure;
use lab::capacity::{RATE, TRIES};
use lab::design::{Design, EQUAL, OF_CAPACITY, PROBE, RATES, filled};
use lab::experiment::Experiment;
use lab::experiments::experiment;
use lab::known::{ATTEMPTS_MAX, Known};
use lab::point::{Point, Verdict};
use lab::schedule::{self, News, missing};
use lab::setup::{OnDisk, Setup, WarmUp};
use lab::spec::{Load, Spec};
use lab::subject::Kind;
use load::bracket;
use proptest::prelude::*;

use super::model::{Server, point};

fn capacity() -> &'static Experiment {
    experiment("capacity").expect("an experiment of this name")
}

fn setup(subjects: &[&str]) -> Setup {
    let subjects = subjects.iter().map(|text| text.parse().expect("a subject"));
    Setup { subjects: subjects.collect(), ..Setup::default() }
}

/// All points that the experiment asks for.
pub(crate) fn performed(of: &Experiment, setup: &Setup, server: Server<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| Ok(point(&specs[0], attempt, server));
    schedule::run(&[of], setup, &mut points, &mut measure, &mut |_| ()).expect("a whole run");
    points
}

/// The rates that a subject was asked at, as multiples of its capacity, with what they were then.
fn rates(points: &[Point], subject: &str) -> Vec<(f64, f64)> {
    let of_it = |point: &&Point| {
        point.spec.stage == RATES
            && point.spec.repeat == 0
            && point.spec.subject.to_string() == subject
    };
    let rate = |point: &Point| {
        let rate: f64 = point.spec.load.flags["rate"].parse().expect("a number");
        (point.spec.factors[OF_CAPACITY], rate)
    };
    points.iter().filter(of_it).map(rate).collect()
}

#[test]
fn each_subject_is_asked_for_multiples_of_its_own_capacity() {
    let setup = setup(&["sped", "mt"]);
    let points = performed(capacity(), &setup, &|spec, rate| {
        let capacity = if spec.subject.name == "sped" { 9_000.0 } else { 3_000.0 };
        rate.map_or(capacity, |rate| capacity.min(rate))
    });
    for (subject, capacity) in [("sped", 9_000.0), ("mt", 3_000.0)] {
        let rates = rates(&points, subject);
        assert_eq!(rates.len(), 9, "{subject}: {rates:?}");
        for (multiple, rate) in rates {
            let off = rate / (capacity * multiple);
            let half = bracket::STEP.sqrt() * 1.01;
            assert!((1.0 / half..=half).contains(&off), "{subject} at {multiple}: {rate}");
        }
    }
}

#[test]
fn what_tunes_itself_is_asked_for_the_rates_of_the_paper_s_server() {
    let limits = ["auto,admit-percent=auto,backlog=auto", "inf,backlog=128"];
    for name in ["brecht04-one-packet", "brecht04-specweb99"] {
        let of = experiment(name).expect("an experiment of this name");
        let capacity = |of: &str| if of.contains("=auto") { 9_000.0 } else { 4_000.0 };
        let points = performed(of, &Setup::default(), &|spec, rate| {
            let capacity = capacity(&spec.subject.to_string());
            rate.map_or(capacity, |rate| capacity.min(rate))
        });
        let others = "connections-max=15000,passes=1,poller=select";
        let subjects = limits.map(|of| format!("sped:accept-limit={of},{others}"));
        let [tuned, original] = subjects.map(|of| rates(&points, &of));
        assert!(!tuned.is_empty() && tuned == original, "{name}: {tuned:?}, {original:?}");
    }
}

#[test]
fn rivals_take_turns() {
    let setup = setup(&["sped", "mt", "amped"]);
    let points = performed(capacity(), &setup, &|_, rate| rate.unwrap_or(5_000.0).min(5_000.0));
    let order: Vec<(&str, &str, u32)> = points
        .iter()
        .map(|point| (&*point.spec.subject.name, &*point.spec.stage, point.spec.repeat))
        .collect();
    for three in order.chunks(3) {
        assert_eq!(three.iter().map(|of| of.0).collect::<Vec<_>>(), ["sped", "mt", "amped"]);
        assert!(three.iter().all(|of| (of.1, of.2) == (three[0].1, three[0].2)), "{three:?}");
    }
}

#[test]
fn what_is_invalid_is_measured_again_and_not_for_ever() {
    for (attempts, expected) in [(None, ATTEMPTS_MAX), (Some(2), 2)] {
        gives_up(&Setup { attempts, ..setup(&["sped"]) }, expected);
    }
}

fn gives_up(setup: &Setup, attempts_max: u32) {
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        let mut point = point(spec, attempt, &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0));
        // The first of every two tries, and one rate for good.
        let is_never = spec.factors.get(OF_CAPACITY) == Some(&2.0);
        if is_never || (spec.stage != PROBE && attempt == 0) {
            point.verdict = Verdict::Invalid(vec![String::from("steal")]);
        }
        Ok(point)
    };
    schedule::run(&[capacity()], setup, &mut points, &mut measure, &mut |_| ()).expect("a run");
    let known = Known::of(&points);
    for cell in known.cells("capacity", RATES) {
        let is_never = cell.factor(OF_CAPACITY) == Some(2.0);
        let (good, invalid) = (cell.points().count(), cell.invalid.len() as u32);
        let expected = if is_never { (0, 3 * attempts_max) } else { (3, 3) };
        assert_eq!((good, invalid), expected, "{:?}", cell.spec.factors);
    }
}

/// Also where others of the same measurement count, so that a median of few is not taken for one of
/// all.
#[test]
fn a_repeat_that_never_counts_is_told() {
    let setup = setup(&["sped"]);
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        let mut point = point(spec, attempt, &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0));
        if spec.factors.get(OF_CAPACITY) == Some(&2.0) && spec.repeat == 1 {
            point.verdict = Verdict::Invalid(vec![String::from("steal")]);
        }
        Ok(point)
    };
    schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut |_| ()).expect("a run");
    let sections = (capacity().sections)(&setup, &Known::of(&points));
    let excluded = &sections[0].excluded;
    let is_it = |line: &&String| line.ends_with("repeat 1: invalid: steal");
    assert_eq!(excluded.iter().filter(is_it).count(), 1, "{excluded:?}");
}

/// Five points in a row that others disturb end a run, and four do not.
#[test]
fn run_on_a_machine_that_stays_busy_stops_after_five_points() {
    const OTHERS: &str = "other programs ran: 56.2 % of the processors; more than 5 % is too much";
    let setup = setup(&["sped"]);
    for (quiet_every, expected) in [(None, Some(5)), (Some(5), None)] {
        let (mut points, mut count) = (Vec::new(), 0);
        let mut measure = |specs: &[Spec], attempt| {
            count += 1;
            let server = |_: &Spec, rate: Option<f64>| rate.unwrap_or(1_000.0).min(1_000.0);
            let mut point = point(&specs[0], attempt, &server);
            if quiet_every.is_none_or(|every| count % every != 0) {
                point.verdict = Verdict::Invalid(vec![OTHERS.into()]);
            }
            Ok(point)
        };
        let ran = schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut |_| ());
        match expected {
            None => assert_eq!(ran, Ok(())),
            Some(expected) => {
                assert_eq!(points.len(), expected);
                let why = ran.expect_err("it goes on").to_string();
                assert!(why.contains("56.2 %") && why.contains("--anyway"), "{why}");
            }
        }
    }
}

/// A probe whose client was the limit would be so again; one that was disturbed is tried again.
#[test]
fn a_probe_is_tried_again_unless_its_client_was_the_limit() {
    for (why, expected) in [("client-cpu: 99 %", 1), ("steal", 2)] {
        let mut points = Vec::new();
        let mut measure = |specs: &[Spec], attempt| {
            let spec = &specs[0];
            let mut point = point(spec, attempt, &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0));
            if spec.stage == PROBE && attempt == 0 {
                point.verdict = Verdict::Invalid(vec![String::from(why)]);
            }
            Ok(point)
        };
        let setup = setup(&["sped"]);
        schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut |_| ()).expect("run");
        let probes = points.iter().filter(|point| point.spec.stage == PROBE).count();
        assert_eq!(probes, expected, "{why}");
        assert_eq!(rates(&points, "sped").len(), 9, "{why}");
    }
}

/// So that somebody who waits knows for how long.
#[test]
fn the_time_that_is_left_is_told() {
    let mut told = Vec::new();
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        Ok(point(spec, attempt, &|_, rate| rate.unwrap_or(5_000.0).min(5_000.0)))
    };
    let mut tell = |news: News<'_>| {
        if let News::Begins { done, left, left_s, .. } = news {
            told.push((done, left, left_s));
        }
    };
    let setup = setup(&["sped", "mt"]);
    schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut tell).expect("a run");
    let took_s: f64 = points.iter().map(|point| point.cost.whole_s).sum();
    let (_, _, first_s) = told[0];
    assert!((0.6..=1.4).contains(&(first_s / took_s)), "{first_s} of {took_s}");
    assert!(told.iter().enumerate().all(|(at, (done, ..))| *done == at), "{told:?}");
    let last_s = points.last().expect("a point").cost.whole_s;
    let &(_, left, left_s) = told.last().expect("a point");
    assert!(left == 1 && (left_s / last_s - 1.0).abs() < 0.01, "{left_s} of {last_s}");
}

/// Where nobody knows what a server can do, nothing is asked for in multiples of it.
#[test]
fn who_has_no_capacity_is_asked_for_no_multiple_of_it() {
    // Answers all; answers nothing at all rates; and tries that never count.
    let rows: [(&str, Server<'_>, &str); 3] = [
        (
            "all",
            &|_, rate| rate.unwrap_or(1_000.0),
            "it answers all that it was asked for, up to 4,",
        ),
        ("none", &|_, rate| if rate.is_some() { 1.0 } else { 1_000.0 }, "it does not answer 2"),
        ("noise", &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0), "no try counts: invalid: steal"),
    ];
    for (name, server, why) in rows {
        let (setup, mut points) = (setup(&["sped", "mt"]), Vec::new());
        let mut measure = |specs: &[Spec], attempt| {
            let spec = &specs[0];
            let own = |_: &Spec, rate: Option<f64>| rate.unwrap_or(3_000.0).min(3_000.0);
            let is_it = spec.subject.name == "mt";
            let mut point = point(spec, attempt, if is_it { server } else { &own });
            if is_it && spec.stage == TRIES && name == "noise" {
                point.verdict = Verdict::Invalid(vec![String::from("steal")]);
            }
            Ok(point)
        };
        schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut |_| ()).expect("it");
        assert_eq!(rates(&points, "mt"), [], "{name}");
        assert_eq!(rates(&points, "sped").len(), 9, "{name}");
        let section = (capacity().sections)(&setup, &Known::of(&points)).remove(0);
        assert!(section.excluded[0].contains(why), "{name}: {:?}", section.excluded);
        assert!(section.answer.iter().all(|line| !line.starts_with("mt")), "{name}");
    }
}

/// The least capacity on a page, and the one in the middle: of which all can answer the one.
#[test]
fn all_are_asked_at_the_same_rates() {
    let setup = setup(&["sped", "mt", "amped"]);
    let of = |name: &str| match name {
        "sped" => 9_000.0,
        "mt" => 1_000.0,
        _ => 4_000.0,
    };
    let points = performed(capacity(), &setup, &|spec, rate| {
        let own = of(&spec.subject.name);
        rate.unwrap_or(own).min(own)
    });
    let equal = points.iter().filter(|point| point.spec.stage == EQUAL && point.spec.repeat == 0);
    let asked: Vec<(&str, f64)> =
        equal.map(|point| (&*point.spec.subject.name, point.spec.factors[RATE])).collect();
    let (low, middle) = (asked[0].1, asked[3].1);
    assert!((0.87 * 1_000.0..0.95 * 1_000.0).contains(&low), "{low}");
    assert!((0.87 * 4_000.0..0.95 * 4_000.0).contains(&middle), "{middle}");
    let names = ["sped", "mt", "amped"];
    let expected = [low, middle].map(|rate| names.map(|name| (name, rate))).concat();
    assert_eq!(asked, expected);
    let section = (capacity().sections)(&setup, &Known::of(&points)).remove(0);
    assert!(section.tables.iter().any(|table| table.rows.len() == 6), "{:?}", section.tables);
}

#[test]
fn an_overload_is_measured_when_its_queues_are_full() {
    let flags = [("patience", "1")].map(|(name, value)| (name.into(), String::from(value)));
    let load = |warm_up| Load {
        workload: String::from("one-packet"),
        seconds: 1.0,
        warm_up,
        flags: flags.clone().into(),
        idle_connections: 0,
        beside: None,
    };
    // A multiple, the longest, and what comes of a warm-up of half a second.
    let rows =
        [(0.9, 3.0, 0.5), (1.0, 3.0, 0.5), (2.0, 3.0, 2.0), (1.1, 3.0, 3.0), (2.0, 0.0, 0.5)];
    for (multiple, most_s, expected) in rows {
        let filled = filled(&load(WarmUp::Fixed(0.5)), multiple, most_s);
        assert_eq!(filled.warm_up, WarmUp::Fixed(expected), "{multiple} {most_s}");
    }
    assert_eq!(filled(&load(WarmUp::Steady(9)), 2.0, 3.0).warm_up, WarmUp::Steady(9));
    // Who comes again is still refused then.
    let rows = [("1", 2.0, 0.0), ("3", 2.0, 3.0), ("3", 1.0, 0.0), ("15", 3.0, 15.0)];
    for (patience, multiple, expected) in rows {
        let load = load(WarmUp::Fixed(0.5)).with("patience", patience);
        assert_eq!(filled(&load, multiple, 3.0).cool_down_s(), expected, "{patience} {multiple}");
    }
}

/// Beside its measuring time and its warm-up a point may cost two seconds. The lab itself needs a
/// half of one at most, which leaves the rest for replies that clients of an open loop still wait
/// for. Those of a closed loop have no more to wait for than one reply each. Where it is asked what
/// patience does, it costs what it costs.
#[test]
fn nobody_is_waited_for_longer_than_a_point_may_cost() {
    let mut are_open = 0;
    for of in lab::experiments::EXPERIMENTS {
        let setup = Setup { repeats: Some(1), ..Setup::default() };
        let points = performed(of, &setup, &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0));
        for Point { spec, .. } in points {
            let flags = &spec.load.flags;
            let is_open = flags.contains_key("rate") || flags.contains_key("steps");
            let patience_s = flags.get("patience").and_then(|text| text.parse::<f64>().ok());
            let of_second =
                spec.load.beside.as_ref().and_then(|beside| beside.flags.get("patience"));
            let second_s = of_second.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            let is_short =
                patience_s.is_some_and(|patience_s| patience_s <= 1.5) && second_s <= 8.0;
            let is_asked = of.name.contains("-patience-");
            assert!(!is_open || is_short || is_asked, "{}: {flags:?}", of.name);
            are_open += usize::from(is_open);
        }
    }
    assert!(are_open > 100, "{are_open}");
}

#[test]
fn a_server_that_does_not_answer_is_left_out() {
    let setup = setup(&["sped", "mt"]);
    let points = performed(capacity(), &setup, &|spec, rate| {
        if spec.subject.name == "mt" { 0.0 } else { rate.unwrap_or(100.0).min(100.0) }
    });
    assert_eq!(points.iter().filter(|point| point.spec.subject.name == "mt").count(), 1);
    assert_eq!(rates(&points, "sped").len(), 9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Wherever the capacity is, also if the probe saw much less of it or more, and if the server
    /// collapses behind it: clients of a closed loop never flood it.
    #[test]
    fn a_capacity_is_found(capacity in 200.0..20_000.0, bias in 0.6..2.3, kept in 0.1..1.0) {
        let setup = setup(&["sped"]);
        let server = |_: &Spec, rate: Option<f64>| match rate {
            None => capacity * bias,
            Some(rate) if rate <= capacity => rate,
            Some(_) => capacity * kept,
        };
        let points = performed(self::capacity(), &setup, &server);
        let rates = rates(&points, "sped");
        let (_, best) = rates.iter().find(|(multiple, _)| *multiple == 1.0).expect("a rate");
        let off = best / capacity;
        // Two rungs are 5 % apart; a tenth of a second at 200 sessions/s counts to 20.
        prop_assert!((0.94..=1.06).contains(&off), "{off}");
    }

    /// Who stops anywhere and goes on measures the same points.
    #[test]
    fn a_run_goes_on_where_it_was(stopped_at in 0_usize..80) {
        let setup = setup(&["sped", "mt"]);
        let server = |_: &Spec, rate: Option<f64>| rate.unwrap_or(2_000.0).min(2_000.0);
        let whole = performed(capacity(), &setup, &server);
        let mut points = Vec::new();
        for stops in [stopped_at, usize::MAX] {
            let mut left = stops;
            let mut measure = |specs: &[Spec], attempt| {
            let spec = &specs[0];
                left = left.checked_sub(1).ok_or(Failure::Stopped)?;
                Ok(point(spec, attempt, &server))
            };
            let _ = schedule::run(&[capacity()], &setup, &mut points, &mut measure, &mut |_| ());
        }
        prop_assert_eq!(points, whole);
    }
}

#[test]
fn every_experiment_comes_to_an_end_and_tells_something() {
    for of in lab::experiments::EXPERIMENTS {
        let setup = Setup { repeats: Some(1), ..Setup::default() };
        let points = performed(of, &setup, &|spec, rate| {
            // A little of its own for each, so that none is like another.
            let own = 1_000.0 + spec.subject.to_string().len() as f64;
            rate.map_or(own, |rate| own.min(rate))
        });
        let (left, later_s) = missing(of, &setup, &points);
        assert!(left.is_empty() && later_s == 0.0, "{}: {} left", of.name, left.len());
        let sections = (of.sections)(&setup, &Known::of(&points));
        assert!(!sections.is_empty(), "{}", of.name);
        for section in sections {
            let told = section.figures.iter().map(|figure| figure.series.len()).sum::<usize>()
                + section.tables.iter().map(|table| table.rows.len()).sum::<usize>();
            assert!(told > 0, "{}: {section:#?}", of.name);
            for table in &section.tables {
                let wide = table.rows.iter().find(|row| row.len() != table.head.len());
                assert_eq!(wide, None, "{}: {:?}", of.name, table.head);
            }
        }
        // And of nothing: nothing, without a panic.
        let _ = (of.sections)(&setup, &Known::default());
    }
}

/// What the first question of an experiment is, by what it was asked.
#[test]
fn what_is_chosen_changes_what_is_asked() {
    let workload = |name: &str| Setup { workload: Some(name.into()), ..setup(&["sped"]) };
    let far = |ms| Setup { round_trip_ms: Some(ms), ..setup(&["sped"]) };
    // (experiment, choices, a flag of its probe, its value)
    let rows = [
        ("capacity", setup(&["sped"]), "clients", Some("64")),
        ("capacity", far(10), "clients", Some("704")),
        ("capacity", far(500), "clients", Some("2048")),
        ("capacity", workload("one-packet"), "think", None),
        ("capacity", workload("specweb99"), "think", Some("none")),
        ("best", workload("specweb99"), "dirs", Some("10")),
        ("pariag07-processes", setup(&["sped"]), "dirs", Some("34")),
    ];
    for (name, setup, flag, expected) in rows {
        let of = experiment(name).expect("an experiment");
        let (specs, _) = missing(of, &setup, &[]);
        let load = &specs[0].load;
        assert_eq!(load.flags.get(flag).map(String::as_str), expected, "{name} {flag} {load:?}");
        // What follows is as hasty.
        let points = performed(of, &setup, &|_, rate| rate.unwrap_or(900.0).min(900.0));
        let is_same = |point: &Point| {
            flag == "clients" || point.spec.load.flags.get(flag) == load.flags.get(flag)
        };
        assert!(name.starts_with("pariag07") || points.iter().all(is_same), "{name} {flag}");
    }
}

/// All is told as a share of an architecture with all of its savings.
#[test]
fn an_ablation_has_its_whole() {
    let of = experiment("ablation").expect("an experiment");
    let (specs, _) = missing(of, &setup(&["sped:backlog=16"]), &[]);
    assert!(specs.iter().any(|spec| spec.subject.to_string() == "sped"));
}

#[test]
fn a_design_knows_no_capacity_before_its_tries() {
    let known = Known::default();
    let load = performed(capacity(), &setup(&["sped"]), &|_, _| 10.0)[0].spec.load.clone();
    let setup = setup(&["sped"]);
    let machines = (load, lab::testbed::Layout::default());
    let design = Design::of("of a test", &setup, setup.subjects.clone(), machines);
    assert_eq!(design.capacity(&known, &design.subjects[0]), None);
    assert!(design.curve(&known, &design.subjects[0]).is_empty());
    assert_eq!(design.plan(&known).specs.len(), 1);
}

/// In the memory of these testbeds Weir takes fewer connections of itself than the pages say.
#[test]
fn beside_a_disk_every_weir_is_told_how_many_connections() {
    for name in ["pariag07-processes", "pariag07-architectures"] {
        let of = experiment(name).expect("an experiment");
        let setup = Setup { disk: Some(OnDisk::Itself), ..Setup::default() };
        let (specs, _) = missing(of, &setup, &[]);
        let weirs = specs.iter().map(|spec| &spec.subject);
        let weirs: Vec<_> = weirs.filter(|of| matches!(of.kind(), Ok(Kind::Weir(_)))).collect();
        assert!(weirs.len() > 1, "{name}");
        for of in weirs {
            let told = of.knobs.get("connections-max");
            assert!(told.is_some(), "{name}: {of}");
            assert!(of.name != "mt" || told == of.knobs.get("threads"), "{name}: {of}");
        }
    }
}
