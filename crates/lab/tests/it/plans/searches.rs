//! Tuning by halving.

use std::collections::BTreeMap;

use lab::design::is_over;
use lab::experiments::{experiment, tuned};
use lab::known::Known;
use lab::point::{Point, Verdict};
use lab::setup::{Setup, WarmUp};
use lab::spec::{Load, Spec};
use lab::subject::Subject;
use lab::testbed::Layout;
use lab::tuning::Tuning;

use super::model::{Server, point};

fn tuning() -> Tuning {
    let values = |all: &[&str]| all.iter().map(|value| String::from(*value)).collect();
    Tuning {
        experiment: String::from("of a test"),
        of: "sped".parse().expect("a subject"),
        grid: vec![
            (String::from("connections-max"), values(&["100", "1000", "10000"])),
            (String::from("processes"), values(&["1", "4", "16"])),
        ],
        load: Load {
            workload: String::from("one-packet"),
            seconds: 1.0,
            warm_up: WarmUp::Fixed(0.0),
            flags: BTreeMap::new(),
            idle_connections: 0,
            beside: None,
        },
        layout: Layout::default(),
        capacity: 1_000.0,
        multiples: &[1.0, 4.0],
        filling_max_s: 0.0,
        finalists: 2,
        repeats: 3,
        settings_max: 9,
        most_s: 1_080.0,
        is_brief: false,
    }
}

/// A peak near 1,000 connections and the given number of processes.
fn server(spec: &Spec, rate: Option<f64>, processes: f64) -> f64 {
    let knob = |name: &str| {
        let value = spec.subject.knobs.get(name);
        value.map_or(1.0, |value| value.parse::<f64>().expect("a number"))
    };
    let far = |value: f64, best: f64| (value / best).log10().abs();
    let off = far(knob("connections-max"), 1_000.0) + far(knob("processes"), processes);
    (3_000.0 / (1.0 + off)).min(rate.unwrap_or(f64::MAX))
}

/// What becomes of a point beside what the formula says.
type Fate<'f> = &'f dyn Fn(&Spec) -> Verdict;

fn performed(tuning: &Tuning, processes: f64, fate: Fate<'_>) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    loop {
        let known = Known::of(&points);
        let plan = tuning.plan(&known);
        let left: Vec<Spec> =
            plan.specs.into_iter().filter(|spec| !is_over(&known, spec)).collect();
        if left.is_empty() {
            return points;
        }
        for spec in left {
            let mut point = point(&spec, 0, &|spec, rate| server(spec, rate, processes));
            point.verdict = fate(&spec);
            points.push(point);
        }
    }
}

fn best(tuning: &Tuning, points: &[Point]) -> String {
    tuning.finalists(&Known::of(points))[0].0.to_string()
}

#[test]
fn the_best_of_a_grid_is_found_and_what_lies_beside_it() {
    for (processes, expected) in [
        (4.0, "sped:connections-max=1000,processes=4"),
        (16.0, "sped:connections-max=1000,processes=16"),
        // Between two values of the grid: the finer one has it.
        (8.0, "sped:connections-max=1000,processes=8"),
    ] {
        let points = performed(&tuning(), processes, &|_| Verdict::Good);
        assert_eq!(best(&tuning(), &points), expected);
    }
}

#[test]
fn what_fails_at_any_rate_is_never_the_best() {
    let fate = |spec: &Spec| match has_processes(spec, "4") && spec.load.flags["rate"] == "4000" {
        true => Verdict::Failed(vec![String::from("wrong bytes")]),
        false => Verdict::Good,
    };
    let points = performed(&tuning(), 4.0, &fate);
    let told = best(&tuning(), &points);
    assert!(told.starts_with("sped:connections-max=1000") && !told.ends_with("=4"), "{told}");
}

#[test]
fn half_of_them_leave_each_round_and_rounds_double() {
    let points = performed(&tuning(), 4.0, &|_| Verdict::Good);
    let of = |stage: &str| {
        let of_it: Vec<&Point> = points.iter().filter(|point| point.spec.stage == stage).collect();
        (of_it.len(), of_it.first().map(|point| point.spec.load.seconds))
    };
    assert_eq!(of("round 1"), (9 * 2, Some(1.0)));
    assert_eq!(of("round 2"), (5 * 2, Some(2.0)));
    assert_eq!(of("round 3"), (3 * 2, Some(4.0)));
    assert_eq!(of("round 4"), (0, None));
    // The finalists, the best one beside them, and what it is untuned.
    assert_eq!(of("final"), (4 * 2 * 3, Some(4.0)));
    // The best of them and what it is untuned, with more repeats.
    assert_eq!(of("best and untuned"), (2 * 2 * 5, Some(4.0)));
}

fn has_processes(spec: &Spec, count: &str) -> bool {
    spec.subject.knobs.get("processes").is_some_and(|value| value == count)
}

fn disturbed() -> Verdict {
    Verdict::Invalid(vec![String::from("steal")])
}

/// A machine that is disturbed whenever the best one is asked for much, until the finals.
#[test]
fn who_could_not_be_measured_leaves_no_round() {
    let fate = |spec: &Spec| {
        let is_hit = has_processes(spec, "4") && spec.load.flags["rate"] == "4000";
        if is_hit && spec.stage != "final" { disturbed() } else { Verdict::Good }
    };
    let points = performed(&tuning(), 4.0, &fate);
    assert_eq!(best(&tuning(), &points), "sped:connections-max=1000,processes=4");
}

/// And one that could not be measured in the finals either is told, and is not the best.
#[test]
fn who_was_never_measured_is_told() {
    let fate = |spec: &Spec| match has_processes(spec, "4") {
        true => disturbed(),
        false => Verdict::Good,
    };
    let points = performed(&tuning(), 4.0, &fate);
    let known = Known::of(&points);
    assert!(!best(&tuning(), &points).ends_with("=4"));
    let unknown = tuning().unknown(&known);
    assert!(unknown.iter().any(|of| of.to_string() == "sped:connections-max=1000,processes=4"));
    assert!(tuning().finalists(&known).iter().all(|(of, _)| !unknown.contains(of)));
}

/// By other figures than those that it was chosen by: here it is only in the finals that it is so
/// good.
#[test]
fn what_the_best_brings_is_told_by_a_last_comparison() {
    for (is_flattered, is_more) in [(false, true), (true, false)] {
        let mut points = performed(&tuning(), 4.0, &|_| Verdict::Good);
        if is_flattered {
            let last: Vec<Spec> = points
                .iter()
                .map(|point| point.spec.clone())
                .filter(|spec| spec.stage == "best and untuned")
                .collect();
            points.retain(|point| point.spec.stage != "best and untuned");
            points.extend(
                last.iter().map(|spec| {
                    point(spec, 0, &|spec, _| 1_000.0 + 100.0 * f64::from(spec.repeat))
                }),
            );
        }
        let gain = tuning().gain(&Known::of(&points)).expect("a comparison");
        assert_eq!(gain.best.to_string(), "sped:connections-max=1000,processes=4");
        assert_eq!(gain.more.is_some(), is_more);
        assert_eq!(gain.scores.0.count, 5);
    }
}

/// Who is the best of the finals and answers wrongly in the last comparison brings nothing.
#[test]
fn who_fails_the_last_comparison_brings_nothing() {
    let best = "sped:connections-max=1000,processes=4";
    for failed in [best, "sped"] {
        let is_it = |spec: &Spec| spec.subject.to_string() == failed;
        let fate = |spec: &Spec| {
            let is_last = spec.stage == "best and untuned" && spec.repeat == 4;
            match is_last && is_it(spec) && spec.load.flags["rate"] == "4000" {
                true => Verdict::Failed(vec![String::from("wrong bytes")]),
                false => Verdict::Good,
            }
        };
        let points = performed(&tuning(), 4.0, &fate);
        let known = Known::of(&points);
        assert_eq!(self::best(&tuning(), &points), best);
        assert_eq!(tuning().gain(&known), None);
        let told: Vec<String> =
            tuning().failed_at_last(&known).iter().map(ToString::to_string).collect();
        assert_eq!(told, [failed]);
    }
}

/// Of the page, with a search of a server that answers wrongly in the end, and of two searches with
/// the same servers at rates of their own.
#[test]
fn what_is_told_of_a_search_is_its_own() {
    let tune = experiment("tune").expect("an experiment of this name");
    let rows: [(&[&str], bool, &str); 3] = [
        (&["sped"], false, "Measured once more: "),
        (&["sped"], true, " failed verification: no gain is reported."),
        (&["sped", "sped:backlog=64"], false, "Measured once more: "),
    ];
    for (subjects, is_failed, expected) in rows {
        let subjects: Vec<Subject> =
            subjects.iter().map(|text| text.parse().expect("a subject")).collect();
        let count = subjects.len();
        let setup = Setup { subjects, ..Setup::default() };
        let mut points = super::designs::performed(tune, &setup, &|spec, rate| {
            let is_short = spec.subject.knobs.get("backlog").is_some_and(|value| value == "64");
            let capacity = if is_short { 2_500.0 } else { 3_000.0 };
            let processes = if has_processes(spec, "4") { 1_000.0 } else { 0.0 };
            rate.unwrap_or(f64::MAX).min(capacity + processes)
        });
        let last = points.iter_mut().filter(|point| point.spec.stage == "best and untuned");
        for point in last.filter(|_| is_failed) {
            point.verdict = Verdict::Failed(vec![String::from("wrong bytes")]);
        }
        let section = (tune.sections)(&setup, &Known::of(&points)).remove(0);
        assert_eq!(section.answer.len(), count, "{:?}", section.answer);
        assert!(section.answer.iter().all(|line| line.contains(expected)), "{:?}", section.answer);
        assert_eq!(section.tables.len(), count);
        for table in &section.tables {
            let values = table.rows.iter().flatten();
            assert!(table.rows.len() >= 2 && values.clone().all(|value| value != "-"), "{table:?}");
            let is_crossed = values.clone().any(|value| value.contains('✗'));
            assert_eq!(is_crossed, is_failed, "{table:?}");
        }
    }
}

/// Rounds of minutes: after the first one, what is left of the time is for the finals.
#[test]
fn a_search_that_takes_too_long_leaves_rounds_out() {
    let mut tuning = tuning();
    tuning.load.seconds = 60.0;
    let points = performed(&tuning, 4.0, &|_| Verdict::Good);
    let stages: std::collections::BTreeSet<&str> =
        points.iter().map(|point| point.spec.stage.as_str()).collect();
    assert!(stages.contains("round 1") && !stages.contains("round 2"), "{stages:?}");
    assert_eq!(best(&tuning, &points), "sped:connections-max=1000,processes=4");
}

/// All are tuned, with as many settings of each, in the time that there is; what was found is what
/// another run asks.
#[test]
fn what_is_found_of_all_is_read_by_who_asks_for_the_best() {
    let [tune, best] = ["tune", "best"].map(|name| experiment(name).expect("an experiment"));
    let subjects = ["sped", "mt", "nginx"].map(|text| text.parse().expect("a subject"));
    for (minutes, is_enough) in [(15, true), (2, false)] {
        let setup =
            Setup { subjects: subjects.clone().into(), minutes: Some(minutes), ..Setup::default() };
        let server: Server<'_> = &|spec, rate| {
            let is_short = spec.subject.knobs.get("backlog").is_some_and(|value| value == "64");
            rate.unwrap_or(f64::MAX).min(if is_short { 3_000.0 } else { 2_500.0 })
        };
        let points = super::designs::performed(tune, &setup, server);
        let took_s: f64 = points.iter().map(|point| point.cost.whole_s).sum();
        assert!(took_s <= 60.0 * f64::from(minutes), "{took_s}");
        let run = super::pages::run(&["tune"], &setup);
        let tuned = tuned(&run, &Known::of(&points));
        if !is_enough {
            assert!(tuned.servers.len() < subjects.len());
            continue;
        }
        assert_eq!(tuned.servers.len(), subjects.len());
        assert!(tuned.servers.iter().all(|of| of.tried == 12), "{tuned:?}");
        assert!(tuned.servers.iter().all(|of| of.best.knobs["backlog"] == "64"), "{tuned:?}");
        let setup = Setup { minutes: None, tuned: Some(tuned), ..setup };
        let points = super::designs::performed(best, &setup, server);
        let asked: std::collections::BTreeSet<_> =
            points.iter().map(|point| &point.spec.subject).collect();
        assert_eq!(asked.len(), 2 * subjects.len(), "{asked:?}");
        let section = (best.sections)(&setup, &Known::of(&points)).remove(0);
        let tried = "of Weir's 12, of the others 12.";
        assert!(
            section.question.iter().any(|line| line.ends_with(tried)),
            "{:?}",
            section.question
        );
        assert_eq!(section.tables[0].rows.len(), subjects.len());
        assert!(section.tables[0].rows.iter().all(|row| row[1] == "12" && row[3] != row[4]));
    }
}
