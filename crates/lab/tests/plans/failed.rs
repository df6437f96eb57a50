//! What is said of servers that fail verification: that they do, and nothing else.

use lab::design::{PROBE, SWEEP};
use lab::experiment::Experiment;
use lab::experiments::EXPERIMENTS;
use lab::known::Known;
use lab::page::{Agreement, Figure, Mark, Section};
use lab::point::{Point, Verdict};
use lab::profile::{Calls, Kind, Part, Profile, Seen, Shares, Task};
use lab::schedule;
use lab::setup::Setup;
use lab::spec::Spec;

use super::model::point;

/// As many as a claim has to have.
const REPEATS: u32 = 3;

/// Sections of an experiment in whose sweeps servers pass, and in the last repeat of all else fail.
fn sections(of: &Experiment) -> Vec<Section> {
    let setup = Setup { repeats: Some(REPEATS), ..Setup::default() };
    let mut points = Vec::new();
    let mut measure = |spec: &Spec, attempt| {
        // Far enough from each other, and without spread, so that a claim would be judged.
        let own = 1_000.0 + 10.0 * spec.subject.to_string().len() as f64;
        let server = |_: &Spec, rate: Option<f64>| rate.map_or(own, |rate| own.min(rate));
        let mut point = point(spec, attempt, &server);
        point.profile = spec.profile.map(|kind| Ok(profile(kind)));
        if ![PROBE, SWEEP].contains(&&*spec.stage) && spec.repeat + 1 == REPEATS {
            point.verdict = Verdict::Failed(vec![String::from("correct: wrong bytes")]);
        }
        Ok(point)
    };
    schedule::run(&[of], &setup, &mut points, &mut measure, &mut |_| ()).expect("a whole run");
    assert!(points.iter().any(|point: &Point| !point.verdict.is_good()), "{}", of.name);
    (of.sections)(&setup, &Known::of(&points))
}

fn profile(kind: Kind) -> Profile {
    let seen = match kind {
        Kind::Calls => Seen::Calls(Calls {
            by_task: Task::ALL.iter().map(|task| (*task, Default::default())).collect(),
            user_us: 100,
            ..Calls::default()
        }),
        Kind::Shares => Seen::Shares(Shares {
            percent: Part::ALL.iter().map(|part| (*part, 1.0)).collect(),
            ..Shares::default()
        }),
    };
    Profile { window_us: 1, faults: Vec::new(), seen }
}

/// What is drawn at the values of what was measured here.
fn marks(figure: &Figure) -> Vec<Mark> {
    let is_of_paper = |x: f64| {
        let name = figure.x.names.get(x as usize);
        name.is_some_and(|name| name.starts_with("the paper's"))
    };
    let series = figure.series.iter().filter(|series| !series.is_reference);
    let dots = series.flat_map(|series| &series.points);
    dots.filter(|dot| !is_of_paper(dot.x)).map(|dot| dot.mark).collect()
}

#[test]
fn who_fails_verification_supports_nothing_and_is_shown_as_failed() {
    for of in EXPERIMENTS {
        for section in sections(of) {
            for row in &section.comparisons {
                // A capacity was found by a sweep, which passed.
                let is_of_sweep = row.here.contains("at the capacity");
                let is_open = row.agrees == Agreement::Open;
                assert!(is_open || is_of_sweep, "{}: {row:?}", of.name);
            }
            for figure in &section.figures {
                let marks = marks(figure);
                let is_failed = |mark: &Mark| *mark == Mark::Failed;
                assert!(marks.iter().all(is_failed), "{}, {}: {marks:?}", of.name, figure.name);
            }
            for line in &section.answer {
                assert!(line.contains("failed"), "{}: {line}", of.name);
            }
            let crosses =
                section.tables.iter().flat_map(|table| table.rows.iter().chain([&table.head]));
            let is_crossed = crosses.flatten().any(|cell| cell.contains('✗'));
            assert!(
                is_crossed || section.tables.iter().all(|table| table.rows.is_empty()),
                "{}",
                of.name
            );
            assert!(!section.excluded.is_empty(), "{}", of.name);
        }
    }
}
