//! Which disk experiments with a disk have.

use lab::experiments::experiment;
use lab::known::Known;
use lab::point::{Point, Verdict};
use lab::schedule::missing;
use lab::setup::{OnDisk, Setup};
use lab::testbed::Disk;

use super::designs::performed;

const EXPERIMENTS: [&str; 4] =
    ["pariag07-processes", "pariag07-architectures", "pariag07-blocking", "pariag07-knot"];

fn points(name: &str, setup: &Setup) -> Vec<Point> {
    performed(experiment(name).expect("an experiment"), setup, &|_, rate| {
        rate.unwrap_or(900.0).min(900.0)
    })
}

fn setup(disk: Option<OnDisk>) -> Setup {
    let subjects = vec!["sped".parse().expect("a subject")];
    Setup { subjects, repeats: Some(1), disk, ..Setup::default() }
}

fn question(name: &str, setup: &Setup, points: &[Point]) -> String {
    let of = experiment(name).expect("an experiment");
    (of.sections)(setup, &Known::of(points))[0].question.join(" ")
}

/// The model is blocked by 6 ms for 42.9 % of the time, and for a third of it by 3.94 ms.
#[test]
fn a_disk_is_as_slow_as_a_loop_has_to_wait() {
    for name in EXPERIMENTS {
        let setup = setup(None);
        let points = points(name, &setup);
        let is_search = |point: &&Point| point.spec.stage == "disk";
        let tried: Vec<_> = points.iter().filter(is_search).map(|of| of.spec.layout.disk).collect();
        let disk = |delay_us| Some(Disk { delay_us, arm: None });
        assert_eq!(tried, [6_000, 6_000, 6_000, 3_940, 3_940, 3_940].map(disk), "{name}");
        let mut rest = points.iter().filter(|point| !is_search(point)).peekable();
        assert!(rest.peek().is_some() && rest.all(|of| of.spec.layout.disk == disk(3_940)));
        let told = question(name, &setup, &points);
        assert!(
            told.contains(
                "6.00 ms: 42.9 %; 3.94 ms: 33.0 %; 3.94 ms: 33.0 %; 3.94 ms: 33.0 %. It is 3.94"
            ),
            "{told}"
        );
    }
}

#[test]
fn an_operator_says_which_disk() {
    let slow = Disk { delay_us: 700, arm: None };
    let rows = [
        (OnDisk::Itself, None, "The disk is the machine's own"),
        (OnDisk::Slow(slow), Some(slow), "as the operator says: delay-us=700."),
    ];
    for (said, disk, words) in rows {
        for name in EXPERIMENTS {
            let setup = setup(Some(said));
            let points = points(name, &setup);
            assert!(points.iter().all(|point| point.spec.layout.disk == disk), "{name} {said:?}");
            let told = question(name, &setup, &points);
            assert!(told.contains(words), "{told}");
        }
    }
}

/// Nothing is measured on a disk of which nobody knows what it does.
#[test]
fn without_a_delay_nothing_else_is_measured() {
    type Row<'r> = (&'r dyn Fn(&mut Point), &'r [f64], &'r str);
    let never_waits = |point: &mut Point| {
        point.counters.insert(String::from("blocked_ns"), 0.0);
    };
    let is_disturbed =
        |point: &mut Point| point.verdict = Verdict::Invalid(vec![String::from("lag: too late")]);
    let is_uncounted = |point: &mut Point| point.counters.clear();
    let rows: [Row<'_>; 3] = [
        (&never_waits, &[6e3, 24e3, 96e3, 384e3, 1e6], "No delay makes it wait"),
        (&is_disturbed, &[6e3; 3], "A try at 6.00 ms could not be measured: lag: too late. So"),
        (&is_uncounted, &[6e3], "A try at 6.00 ms could not be measured: the kernel does not"),
    ];
    let setup = setup(None);
    let of = experiment(EXPERIMENTS[0]).expect("an experiment");
    for (happens, expected, words) in rows {
        let mut points = Vec::new();
        while let Some(spec) = missing(of, &setup, &points).0.pop() {
            assert_eq!(spec.stage, "disk");
            let mut point = super::model::point(&spec, 0, &|_, _| 900.0);
            happens(&mut point);
            points.push(point);
        }
        let tried: Vec<f64> = points.iter().map(|point| point.spec.factors["delay_us"]).collect();
        assert_eq!(tried, expected);
        let told = question(EXPERIMENTS[0], &setup, &points);
        assert!(told.contains(words), "{told}");
    }
}
