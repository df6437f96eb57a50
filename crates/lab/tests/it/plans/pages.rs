//! What the page of results says of them as a whole.

use std::collections::BTreeMap;
use std::path::Path;

use lab::Failure;
use lab::account::page;
use lab::again;
use lab::capacity::{self, TRIES};
use lab::design::PROBE;
use lab::experiments::experiment;
use lab::known::Known;
use lab::page::{Mark, Page};
use lab::point::{Point, SCHEMA, Verdict};
use lab::results::{Results, Run};
use lab::schedule;
use lab::setup::Setup;
use lab::spec::Spec;

use super::designs::performed;
use super::model::point;

pub(crate) fn run(experiments: &[&str], setup: &Setup) -> Run {
    Run {
        schema: SCHEMA,
        run: String::from("of a test"),
        began: String::from("2026-11-21T08:00:00Z"),
        experiments: experiments.iter().map(ToString::to_string).collect(),
        setup: setup.clone(),
        again_of: None,
        command: format!("weir lab run {}", experiments.join(" ")),
        machine: BTreeMap::new(),
        versions: BTreeMap::new(),
        missing: Vec::new(),
    }
}

/// Of a run that is stopped behind so many points, of each of which is judged.
fn results(experiments: &[&str], points_max: usize, judge: &dyn Fn(&Spec) -> Verdict) -> Results {
    results_of(experiments, 1, points_max, judge)
}

fn results_of(
    experiments: &[&str],
    repeats: u32,
    points_max: usize,
    judge: &dyn Fn(&Spec) -> Verdict,
) -> Results {
    let subjects = ["sped", "mt"].map(|text| text.parse().expect("a subject"));
    let setup = Setup { subjects: subjects.into(), repeats: Some(repeats), ..Setup::default() };
    let of: Vec<_> =
        experiments.iter().map(|name| experiment(name).expect("an experiment")).collect();
    let mut points: Vec<Point> = Vec::new();
    let mut left = points_max;
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        left = left.checked_sub(1).ok_or(Failure::Stopped)?;
        let mut point = point(spec, attempt, &|_, rate| rate.unwrap_or(900.0).min(900.0));
        point.verdict = judge(spec);
        Ok(point)
    };
    let _ = schedule::run(&of, &setup, &mut points, &mut measure, &mut |_| ());
    Results { runs: vec![run(experiments, &setup)], points }
}

fn of_one(results: &Results) -> Page {
    page(&[(Path::new("a place"), results)])
}

#[test]
fn a_page_says_what_is_missing_and_how_to_go_on() {
    let good = |_: &Spec| Verdict::Good;
    let whole = results(&["capacity"], usize::MAX, &good).points.len();
    let stopped = |told: &str| {
        let go_on = "To go on: weir lab run capacity --dir 'a place'";
        vec![format!("Not finished: {told}"), String::from(go_on)]
    };
    let rows = [
        (1, stopped("1 point of capacity is missing, and others that depend on what comes out")),
        (whole - 2, stopped("2 points of capacity are missing")),
        (usize::MAX, Vec::new()),
    ];
    for (points_max, expected) in rows {
        let results = results(&["capacity"], points_max, &good);
        let summary = of_one(&results).summary;
        let at = summary.iter().position(|line| line.starts_with("Measured from"));
        // How long it takes is the experiment's to say.
        let told = summary[at.expect("a summary") + 1..].iter();
        let told: Vec<&str> = told.map(|line| line.split(". That takes").next().unwrap()).collect();
        assert_eq!(told, expected, "{points_max}");
    }
}

#[test]
fn a_command_that_names_its_directory_is_told_as_it_is() {
    for (flag, expected) in [(" --dir x", true), (" --dir=x", true), (" --dirs 3", false)] {
        let mut stopped = results(&["capacity"], 1, &|_| Verdict::Good);
        stopped.runs[0].command += flag;
        let summary = of_one(&stopped).summary;
        let line = summary.last().expect("a line");
        assert_eq!(line.ends_with(flag), expected, "{line}");
    }
}

#[test]
fn who_has_no_capacity_is_named_with_the_reason() {
    let (noise, wrong) = (vec![String::from("steal")], vec![String::from("correct: wrong bytes")]);
    let rows = [
        (Verdict::Invalid(noise), "sessions/s no try counts: invalid: steal"),
        (Verdict::Failed(wrong), "sessions/s no try counts: failed: correct: wrong bytes"),
    ];
    for (verdict, why) in rows {
        let of = results(&["capacity"], usize::MAX, &|spec| {
            let is_it = spec.stage == TRIES && spec.subject.name == "mt";
            if is_it { verdict.clone() } else { Verdict::Good }
        });
        let excluded = &of_one(&of).sections[0].excluded;
        let begin = "mt is in no figure and no rank, as its capacity could not be found: at ";
        assert!(excluded[0].starts_with(begin) && excluded[0].ends_with(why), "{excluded:?}");
        assert!(excluded.iter().all(|line| !line.starts_with("sped")), "{excluded:?}");
    }
}

#[test]
fn what_never_counted_is_missing() {
    let of = results(&["capacity"], usize::MAX, &|spec| match spec.factors.get("of_capacity") {
        Some(2.0) => Verdict::Invalid(vec![String::from("steal")]),
        _ => Verdict::Good,
    });
    let summary = of_one(&of).summary;
    let told = "2 points could not be measured: none of 3 attempts counts.";
    assert_eq!(summary.last().map(String::as_str), Some(told));
    let table = &of_one(&of).sections[0].tables[0];
    assert!(table.rows.iter().all(|row| row[2] != "2"), "{:?}", table.rows);
}

#[test]
fn what_nobody_could_look_into_is_told_once_with_its_cure() {
    let mut results = results(&["jaws97-whitebox"], usize::MAX, &|_| Verdict::Good);
    let none = of_one(&results).summary.iter().any(|line| line.contains("looked into"));
    assert!(!none);
    let points = results.points.iter_mut().filter(|point| point.spec.profile.is_some());
    let why = "bpftrace is not installed: apt-get install bpftrace";
    let count = points.map(|point| point.profile = Some(Err(why.into()))).count();
    let summary = of_one(&results).summary;
    let told = format!("{count} points could not be looked into: {why}.");
    assert_eq!(summary.iter().filter(|line| **line == told).count(), 1, "{summary:?}");
}

#[test]
fn a_terminal_has_the_answer_why_points_do_not_count_and_what_to_do() {
    const OTHERS: &str = "other programs ran: 7.5 % of the processors; more than 5 % is too much";
    let twice = |spec: &Spec, why: &str| match spec.factors.get("of_capacity") {
        Some(2.0) if spec.subject.name == "sped" => Verdict::Invalid(vec![why.into()]),
        _ => Verdict::Good,
    };
    type Row<'r> = (&'r [&'r str], &'r dyn Fn(&Spec) -> Verdict, &'r [&'r str]);
    let rows: [Row<'_>; 4] = [
        (
            &["capacity"],
            &|_| Verdict::Good,
            &[
                "sped answers most; too close to call: mt (1 repeat of each).",
                "sped: 891 replies/s at its capacity",
                "0 that do not count.",
            ],
        ),
        (
            &["capacity"],
            &|spec| twice(spec, OTHERS),
            &["3 that do not count (3 times other programs ran).", "(top shows which): end them"],
        ),
        (
            &["capacity"],
            &|spec| twice(spec, "client-cpu: 97 % of it"),
            &["the client was too busy", "(--quota 10)"],
        ),
        (
            &["capacity", "ablation"],
            &|_| Verdict::Good,
            &["Capacity, and what comes beyond:", "Of 6 claims of the paper: 0 yes, 0 no, 6 open."],
        ),
    ];
    for (experiments, judge, expected) in rows {
        let page = of_one(&results(experiments, usize::MAX, judge));
        let told = lab::report::terminal::page(&page);
        let lines = told.lines().count();
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in expected {
            assert!(told.contains(expected), "{experiments:?}: {expected}: {told}");
        }
        assert!(lines < 40, "{told}");
    }
}

#[test]
fn columns_of_which_nothing_is_known_are_left_out() {
    let page = of_one(&results(&["capacity"], usize::MAX, &|_| Verdict::Good));
    let table = &page.sections[0].tables[0];
    // A formula has no processors.
    assert!(table.head.iter().all(|head| !head.contains("processor")), "{:?}", table.head);
    assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
    let stopped = of_one(&results(&["capacity"], 1, &|_| Verdict::Good));
    assert!(stopped.sections[0].tables.is_empty() && stopped.sections[0].figures.is_empty());
}

#[test]
fn two_runs_are_compared_by_their_capacities_and_loads() {
    let good = |_: &Spec| Verdict::Good;
    let (one, mut other) = (
        results_of(&["capacity"], 3, usize::MAX, &good),
        results_of(&["capacity"], 3, usize::MAX, &good),
    );
    let answer = |other: &Results| {
        let page = page(&[(Path::new("a"), &one), (Path::new("b"), other)]);
        page.sections.last().expect("what both times have").answer.clone()
    };
    let same = answer(&other);
    assert!(
        same[1].starts_with("Of the capacities these differ most: ")
            && same[1].ends_with(" 0 % apart."),
        "{same:?}"
    );
    assert_eq!(same.len(), 2, "{same:?}");
    // A tenth less in all of the second one's tries.
    for point in &mut other.points {
        let load = point.load.as_mut().filter(|_| point.spec.stage == TRIES);
        load.into_iter().for_each(|load| load.flow.goodput = load.flow.goodput * 9 / 10);
    }
    let less = answer(&other);
    assert!(less[2].starts_with("Those that do not agree, the furthest first: "), "{less:?}");
    assert!(
        less[2]
            .contains(" capacity, good replies: 891 (870 to 912) and 799 replies/s, 10.3 % apart"),
        "{less:?}"
    );
}

/// Whose capacity is another one is asked for as much of it, at other rates.
#[test]
fn times_are_compared_where_both_asked_for_as_much() {
    let good = |_: &Spec| Verdict::Good;
    let one = results_of(&["capacity"], 3, usize::MAX, &good);
    // (its rates in the second one, of those in the first; figures that are compared)
    for (share, expected) in [(1.0, 42), (0.96, 42), (0.9, 24)] {
        let mut other = one.clone();
        for point in other.points.iter_mut().filter(|point| point.spec.stage == "rates") {
            let rate = point.spec.factors["rate"] * share;
            point.spec.factors.insert("rate".into(), rate);
            point.spec.load = point.spec.load.with("rate", rate);
        }
        let page = page(&[(Path::new("a"), &one), (Path::new("b"), &other)]);
        let told = &page.sections.last().expect("what both times have").answer[0];
        assert!(told.starts_with(&format!("{expected} of {expected} figures agree.")), "{told}");
    }
    let mut once = one.clone();
    once.points.retain(|point| point.spec.repeat == 0);
    let page = page(&[(Path::new("a"), &one), (Path::new("b"), &once)]);
    let told = &page.sections.last().expect("what both times have").answer[0];
    assert_eq!(told, "No figure has 3 repeats in both, so that none is compared.");
}

/// A run whose questions are those of another one, stopped behind so many points, of a server that
/// answers this share of what the first one did.
fn again_of(first: &Results, specs: &[Spec], points_max: usize, share: f64) -> Results {
    let mut points = Vec::new();
    let mut left = points_max;
    let mut measure = |specs: &[Spec], attempt| {
        let spec = &specs[0];
        left = left.checked_sub(1).ok_or(Failure::Stopped)?;
        Ok(point(spec, attempt, &|_, rate| share * rate.unwrap_or(900.0).min(900.0)))
    };
    let _ = schedule::run_again(specs, None, &mut points, &mut measure, &mut |_| ());
    let first = &first.runs[0];
    let run = Run {
        run: String::from("another"),
        again_of: Some(first.run.clone()),
        command: String::from("weir lab again a --dir b"),
        ..first.clone()
    };
    Results { runs: vec![run], points }
}

#[test]
fn a_run_that_is_asked_again_is_told_beside_the_first() {
    let one = results_of(&["capacity"], 3, usize::MAX, &|_| Verdict::Good);
    let specs = again::specs(&one);
    let agree = "Three of four or more: the two agree within what is known of the first.";
    let differ = "Less than three of four: the two do not agree within what is known of the first.";
    let rows = [
        (usize::MAX, 1.0, agree),
        (specs.len() - 2, 1.0, agree),
        (usize::MAX, 0.97, agree),
        (usize::MAX, 0.9, differ),
    ];
    for (points_max, share, verdict) in rows {
        let other = again_of(&one, &specs, points_max, share);
        let page = page(&[(Path::new("a"), &one), (Path::new("b"), &other)]);
        let names: Vec<&str> = page.sections.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["capacity", "capacity-repeated"]);
        let told = &page.sections[1].answer[0];
        assert!(told.contains(verdict), "{share}: {told}");
        let is_stopped = points_max < specs.len();
        let missing = "Not finished: 2 points of capacity are missing. That takes ";
        let is_told = page.summary.iter().any(|line| line.starts_with(missing));
        assert_eq!(is_told, is_stopped, "{:?}", page.summary);
        let go_on = "To go on: weir lab again a --dir b";
        assert_eq!(page.summary.iter().any(|line| line == go_on), is_stopped);
    }
}

/// Hints are left out, and so is what has no spread; of tries the ends of a bracket are asked; what
/// had to be tried again is asked once.
#[test]
fn what_was_told_is_asked_again_in_the_same_order() {
    let mut one = results_of(&["tune"], 3, usize::MAX, &|_| Verdict::Good);
    let is_hint = |spec: &Spec| spec.stage == PROBE || spec.stage.starts_with("round");
    assert!(one.points.iter().any(|of| of.spec.stage.starts_with("round")));
    let known = Known::of(&one.points);
    let has_spread = |spec: &Spec| known.cell(spec).is_some_and(|cell| cell.points().count() >= 3);
    let specs = one.points.iter().map(|of| of.spec.clone());
    let is_end = |spec: &Spec| known.cell(spec).is_some_and(|cell| capacity::is_end(&known, cell));
    let is_told = |spec: &Spec| match spec.stage == TRIES {
        true => is_end(spec),
        false => !is_hint(spec) && has_spread(spec),
    };
    let expected: Vec<Spec> = specs.filter(is_told).collect();
    assert!(expected.len() > 10);
    assert_eq!(again::specs(&one), expected);
    let place = one.points.iter().position(|of| of.spec == expected[0]).expect("it");
    let mut in_vain = one.points[place].clone();
    in_vain.verdict = Verdict::Invalid(vec![String::from("steal")]);
    one.points[place].attempt = 1;
    one.points.insert(place, in_vain);
    assert_eq!(again::specs(&one), expected);
    let once = results(&["best"], usize::MAX, &|_| Verdict::Good);
    assert!(again::specs(&once).iter().all(|spec| spec.stage == TRIES));
}

#[test]
fn a_repetition_is_compared_with_its_first_wherever_that_is() {
    let one = results_of(&["capacity"], 3, usize::MAX, &|_| Verdict::Good);
    let between = results(&["step"], usize::MAX, &|_| Verdict::Good);
    let two = again_of(&one, &again::specs(&one), usize::MAX, 1.0);
    let [a, b, c] = ["a", "b", "c"].map(Path::new);
    let all = page(&[(a, &one), (b, &between), (c, &two)]);
    let names: Vec<&str> = all.sections.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["capacity", "step", "capacity-repeated"]);
    assert_eq!(all.sections[2].tables[0].head[2..4], ["first (a)", "second (c)"]);
    let alone = of_one(&two);
    let told = "It repeats the run of a test, which is not here.";
    assert!(alone.summary.iter().any(|line| line == told), "{:?}", alone.summary);
}

/// What fails in one of them, and who is in one of them alone, as the winner of a search.
#[test]
fn what_two_runs_do_not_share_is_told() {
    let good = |_: &Spec| Verdict::Good;
    let one = results_of(&["capacity"], 3, usize::MAX, &good);
    let is_twice = |of: &Point| of.spec.factors.get("of_capacity") == Some(&2.0);
    let is_mt = |of: &Point| of.spec.subject.name == "mt";
    let failed = || Verdict::Failed(vec![String::from("correct: wrong bytes")]);
    type Change<'c> = &'c dyn Fn(&mut Vec<Point>);
    let rows: [(Change<'_>, &str, &[&str]); 5] = [
        (&|_| (), "42 of 42 figures agree.", &[]),
        (
            &|points| {
                let hit = points.iter_mut().filter(|of| is_twice(of) && is_mt(of));
                hit.for_each(|of| of.verdict = failed());
            },
            "40 of 41 figures agree.",
            &["Failed verification in one of them alone: mt at 2 of its capacity, in the \
                 second one."],
        ),
        (
            &|points| points.retain(|of| !(is_twice(of) && is_mt(of))),
            "40 of 40 figures agree.",
            &["Only the first one has: mt at 2 of its capacity."],
        ),
        (
            &|points| points.retain(|of| of.spec.stage != "rates" || !is_mt(of)),
            "24 of 24 figures agree.",
            &["Only the first one has: mt rates."],
        ),
        (
            &|points| {
                let winner = || "mt:backlog=64".parse().expect("a subject");
                let own = points.iter_mut().filter(|of| is_mt(of));
                own.for_each(|of| of.spec.subject = winner());
            },
            "21 of 21 figures agree.",
            &["Only the first one has: mt.", "Only the second one has: mt:backlog=64."],
        ),
    ];
    for (change, first, expected) in rows {
        let mut other = one.clone();
        change(&mut other.points);
        let page = page(&[(Path::new("a"), &one), (Path::new("b"), &other)]);
        let section = page.sections.last().expect("what both times have");
        assert!(section.answer[0].starts_with(first), "{:?}", section.answer);
        assert_eq!(section.answer[2..], *expected);
        let disagree = section.tables[0].rows.iter().filter(|row| row.last().unwrap() == "no");
        assert_eq!(disagree.count(), usize::from(first.starts_with("40 of 41")));
    }
}

/// All of them are at 0.9 of the capacity.
#[test]
fn each_number_of_idle_connections_is_unstable_by_itself() {
    let of = experiment("idle").expect("an experiment");
    let subjects = vec!["sped".parse().expect("a subject")];
    let setup = Setup { subjects, ..Setup::default() };
    let points = performed(of, &setup, &|spec, rate| {
        let share = 1.0 - 0.2 * f64::from(spec.repeat);
        let share = if spec.load.idle_connections == 250 { share } else { 1.0 };
        rate.map_or(5_000.0, |rate| rate.min(5_000.0) * share)
    });
    let sections = (of.sections)(&setup, &Known::of(&points));
    let figures = &sections[0].figures;
    let figure = figures.iter().find(|figure| figure.name == "goodput").expect("a figure");
    let marks: Vec<_> = figure.series[0].points.iter().map(|dot| (dot.x, dot.mark)).collect();
    let expected = [
        (0.0, Mark::Plain),
        (250.0, Mark::Unstable),
        (1_000.0, Mark::Plain),
        (5_000.0, Mark::Plain),
    ];
    assert_eq!(marks, expected);
}
