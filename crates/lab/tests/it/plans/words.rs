//! What a terminal shows: how long an experiment takes, and what came out.

use lab::experiments::{EXPERIMENTS, experiment};
use lab::known::Known;
use lab::schedule::{costs, missing};
use lab::setup::Setup;

use super::designs::performed;

/// An estimate: what comes later depends on what came before.
#[test]
fn experiments_take_about_as_long_as_is_said() {
    let setup = Setup { repeats: Some(1), ..Setup::default() };
    for of in EXPERIMENTS {
        let (specs, later_s) = missing(of, &setup, &[]);
        let said_s = costs(&specs) + later_s;
        let points = performed(of, &setup, &|_, rate| rate.map_or(5_000.0, |r| r.min(5_000.0)));
        let took_s: f64 = points.iter().map(|point| point.cost.whole_s).sum();
        let share = said_s / took_s;
        assert!((0.7..=1.35).contains(&share), "{}: {said_s:.0} s of {took_s:.0} s", of.name);
    }
}

#[test]
fn who_is_first_is_said_with_by_how_much_and_how_often_it_was_measured() {
    let of = experiment("capacity").expect("an experiment");
    let subjects = ["sped", "mt"].map(|text| text.parse().expect("a subject"));
    let rows = [
        (
            3,
            4_000.0,
            "mt is first: it answers 4.00 (4.00 to 4.00) times as much as sped (3 repeats",
        ),
        (1, 4_000.0, "mt answers most; too close to call: sped (1 repeat of each)."),
        (3, 1_000.0, "sped answers most; too close to call: mt (3 repeats of each)."),
    ];
    for (repeats, of_mt, expected) in rows {
        let setup =
            Setup { subjects: subjects.clone().into(), repeats: Some(repeats), ..Setup::default() };
        let points = performed(of, &setup, &|spec, rate| {
            let capacity = if spec.subject.name == "mt" { of_mt } else { 1_000.0 };
            rate.map_or(capacity, |rate| rate.min(capacity))
        });
        let answer = &(of.sections)(&setup, &Known::of(&points))[0].answer;
        assert!(answer[0].contains(expected), "{answer:?}");
    }
}
