//! What is said of servers that fail verification: that they do, and nothing else.

use lab::capacity::TRIES;
use lab::design::{OF_CAPACITY, PROBE, RATES};
use lab::experiment::Experiment;
use lab::experiments::EXPERIMENTS;
use lab::experiments::experiment;
use lab::known::Known;
use lab::page::{Agreement, Figure, Mark, Section};
use lab::point::{Point, Verdict};
use lab::policies::REPLAYS;
use lab::profile::{Calls, Kind, Part, Profile, Seen, Shares, Task};
use lab::schedule;
use lab::setup::Setup;
use lab::spec::Spec;

use super::designs::performed;
use super::model::point;

/// As many as a claim has to have.
const REPEATS: u32 = 3;

/// Sections of an experiment in whose tries servers pass, and in the last repeat of all else fail.
fn sections(of: &Experiment) -> Vec<Section> {
    let setup = Setup { repeats: Some(REPEATS), ..Setup::default() };
    let mut points = Vec::new();
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        // Far enough from each other, and without spread, so that a claim would be judged.
        let own = 1_000.0 + 10.0 * spec.subject.to_string().len() as f64;
        let server = |_: &Spec, rate: Option<f64>| rate.map_or(own, |rate| own.min(rate));
        let mut point = point(spec, attempt, &server);
        point.profile = spec.profile.map(|kind| Ok(profile(kind)));
        // A replay is its own last repeat.
        let is_last = spec.repeat + 1 == REPEATS || spec.stage == REPLAYS;
        if ![PROBE, TRIES].contains(&&*spec.stage) && is_last {
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
        Kind::Costs => Seen::Costs([(String::from("accept"), 1_000.0)].into()),
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
    // Nobody can fail who is simulated.
    let is_measured =
        |of: &&lab::experiment::Experiment| !lab::experiments::SIMULATED.contains(&of.name);
    for of in EXPERIMENTS.iter().filter(is_measured) {
        for section in sections(of) {
            for row in &section.comparisons {
                assert_eq!(row.agrees, Agreement::Open, "{}: {row:?}", of.name);
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

/// Who is the best at the highest rate, and answers wrongly at one far below it or in a try, is
/// no rival there (Pariag07 3.4).
#[test]
fn who_fails_at_one_rate_is_first_at_none() {
    let at_rate = (RATES, " failed verification at 0.9 of the capacity");
    let in_tries = (TRIES, " failed verification in a try of its capacity");
    let left_out = |stage| (stage, "Left out, as they failed verification: sped:accept-limit=10.");
    let rows = [
        ("capacity", at_rate),
        ("capacity", in_tries),
        ("best", left_out(RATES)),
        ("best", left_out(TRIES)),
        ("brecht04-one-packet", at_rate),
        ("pariag07-processes", at_rate),
        ("pariag07-processes", in_tries),
    ];
    for (name, (stage, expected)) in rows {
        let of = experiment(name).expect("an experiment of this name");
        let subjects = ["sped:accept-limit=1", "sped:accept-limit=10"];
        let subjects = subjects.map(|text| text.parse().expect("a subject")).into();
        let setup = Setup { subjects, ..Setup::default() };
        let is_best =
            |spec: &Spec| spec.subject.knobs.get("accept-limit").is_some_and(|of| of == "10");
        let mut points = performed(of, &setup, &|spec, rate| {
            let own = if is_best(spec) { 2_000.0 } else { 1_000.0 };
            rate.unwrap_or(own).min(own)
        });
        let mut tries = points.iter().filter(|point| point.spec.stage == TRIES);
        let first = tries.find(|point| is_best(&point.spec)).map(|point| point.spec.key());
        let is_it = |spec: &Spec| match stage {
            TRIES => Some(spec.key()) == first,
            _ => spec.stage == RATES && spec.factors[OF_CAPACITY] == 0.9,
        };
        for point in points.iter_mut().filter(|point| is_best(&point.spec) && is_it(&point.spec)) {
            point.verdict = Verdict::Failed(vec![String::from("correct: wrong bytes")]);
        }
        let answer = (of.sections)(&setup, &Known::of(&points)).remove(0).answer;
        let last = answer.last().expect("a line");
        assert!(last.contains(expected), "{name}, {stage}: {answer:?}");
        let figures =
            answer.iter().filter(|line| line.contains("limit 10:") || line.contains("=10:"));
        assert_eq!(figures.count(), 0, "{name}, {stage}: {answer:?}");
    }
}
