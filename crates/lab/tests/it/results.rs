//! What is known is written down, read again as it was, and mended where it was broken off.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lab::Failure;
use lab::point::{Commands, Cost, Point, SCHEMA, Verdict};
use lab::results::{FILE, Line, Log, Results, Run};
use lab::setup::{Setup, WarmUp};
use lab::spec::{Load, Spec};
use lab::subject::resolve;
use lab::testbed::Layout;
use load::collector::times::GRAIN_NS;
use measure::Duration;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

#[test]
fn what_was_broken_off_is_left_out_and_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[run("first"), point("µ, of two bytes")]);
    let text = fs::read(dir.path().join(FILE)).unwrap();
    let first = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mu = text.windows(2).position(|two| two == "µ".as_bytes()).unwrap();
    for (end, points) in
        [(text.len(), 1), (text.len() - 1, 0), (mu + 1, 0), (first + 1, 0), (first, 0)]
    {
        fs::write(dir.path().join(FILE), &text[..end]).unwrap();
        let results = Results::read(dir.path()).unwrap();
        assert_eq!((results.runs.len(), results.points.len()), (1, points), "{end}");
        let (mut log, found) = open(dir.path());
        assert_eq!(found, results, "{end}");
        log.add(&run("second")).unwrap();
        let results = Results::read(dir.path()).unwrap();
        assert_eq!((results.runs.len(), results.points.len()), (2, points), "{end}");
    }
}

/// Opens a file that this process alone has opened before. A program that another test starts has
/// its lock as well, until it runs.
fn open(dir: &Path) -> (Log, Results) {
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        match Log::open(dir) {
            Err(Failure::Operator(what)) if what.contains("another weir lab adds to it") => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("{}: locked for ever", dir.display());
}

#[test]
fn what_is_none_of_ours_is_refused_with_its_line_and_left_as_it_is() {
    let whole = |line: &Line| {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), std::slice::from_ref(line));
        fs::read_to_string(dir.path().join(FILE)).unwrap()
    };
    let (run, point) = (whole(&run("first")), whole(&point("µ")));
    let of_form =
        |schema: u32| run.replace(&format!("\"schema\":{SCHEMA}"), &format!("\"schema\":{schema}"));
    let (older, newer) = (of_form(SCHEMA - 1), of_form(SCHEMA + 1));
    let rows: [(Vec<u8>, usize, &str); 9] = [
        (b"hello\n".into(), 1, "no line of results: "),
        (format!("{run}\n").into(), 2, "no line of results: "),
        (format!("{run}{{}}\n{point}").into(), 2, "no line of results: missing field `schema`"),
        ([run.as_bytes(), b"\xff\n", point.as_bytes()].concat(), 2, "no line of results: "),
        (older.into(), 1, "an older weir has written it; take another --dir, or that weir"),
        (newer.into(), 1, "a newer weir has written it; take another --dir, or that weir"),
        (run.replace("\"run\"", "\"walk\"").into(), 1, "a line of walk, which there is not"),
        (format!("{run}{}", point.replace("\"spec\"", "\"sp\"")).into(), 2, "missing field `spec`"),
        // What is behind it may be anything's.
        (b"hello\nand no more".into(), 1, "no line of results: "),
    ];
    for (text, number, told) in rows {
        let shown = text.escape_ascii().to_string();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), &text).unwrap();
        for failure in [
            Results::read(dir.path()).map(|_| ()).unwrap_err(),
            Log::open(dir.path()).map(|_| ()).unwrap_err(),
        ] {
            let Failure::Operator(what) = failure else { panic!("{failure:?}: {shown}") };
            let place = format!("{}:{number}: ", dir.path().join(FILE).display());
            assert!(what.starts_with(&place) && what.contains(told), "{what}");
        }
        assert_eq!(fs::read(dir.path().join(FILE)).unwrap(), text, "{shown}");
    }
}

#[test]
fn two_do_not_write_into_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path());
    let Err(Failure::Operator(what)) = Log::open(dir.path()) else { panic!("two of them") };
    assert!(what.ends_with("another weir lab adds to it; take another --dir"), "{what}");
    // Who only reads is in nobody's way.
    assert_eq!(Results::read(dir.path()), Ok(Results::default()));
    drop(first);
    open(dir.path());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_are_read_as_they_were_written(lines in vec(any_line(), 0..4)) {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &lines);
        let mut expected = Results::default();
        for line in lines {
            match line {
                Line::Run(run) => expected.runs.push(*run),
                Line::Point(point) => expected.points.push(*point),
            }
        }
        let read = Results::read(dir.path()).unwrap();
        prop_assert_eq!(&read, &expected);
        // What was measured is known again, also by what it is called.
        for (read, expected) in read.points.iter().zip(&expected.points) {
            prop_assert_eq!(read.spec.key(), expected.spec.key());
        }
    }
}

fn write(dir: &Path, lines: &[Line]) {
    let (mut log, _) = Log::open(dir).unwrap();
    for line in lines {
        log.add(line).unwrap();
    }
}

fn run(name: &str) -> Line {
    Line::Run(Box::new(Run {
        schema: SCHEMA,
        run: name.into(),
        began: String::new(),
        experiments: vec![String::from("capacity")],
        setup: Setup::default(),
        again_of: None,
        command: String::from("weir lab"),
        machine: BTreeMap::new(),
        versions: BTreeMap::new(),
        missing: Vec::new(),
    }))
}

fn point(fact: &str) -> Line {
    let mut point = crate::plans::model::point(&spec(), 0, &|_, _| 100.0);
    point.testbed = BTreeMap::from([(String::from("fact"), fact.into())]);
    Line::Point(Box::new(point))
}

fn spec() -> Spec {
    Spec {
        experiment: String::from("capacity"),
        stage: String::from("tries"),
        subject: resolve("sped").unwrap(),
        load: Load {
            workload: String::from("one-packet"),
            seconds: 1.0,
            warm_up: WarmUp::Fixed(0.5),
            flags: BTreeMap::from([(String::from("rate"), String::from("100"))]),
            idle_connections: 0,
            beside: None,
        },
        layout: Layout::default(),
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    }
}

fn any_line() -> impl Strategy<Value = Line> {
    prop_oneof![
        any_run().prop_map(|run| Line::Run(Box::new(run))),
        any_point().prop_map(|point| Line::Point(Box::new(point))),
    ]
}

fn any_run() -> impl Strategy<Value = Run> {
    let texts = || vec(any::<String>(), 0..3);
    let maps = || btree_map(any::<String>(), any::<String>(), 0..3);
    (any::<String>(), texts(), any_setup(), maps(), maps(), texts()).prop_map(
        |(text, experiments, setup, machine, versions, missing)| Run {
            schema: SCHEMA,
            run: text.clone(),
            began: text.clone(),
            again_of: experiments.first().cloned(),
            experiments,
            setup,
            command: text,
            machine,
            versions,
            missing,
        },
    )
}

fn any_setup() -> impl Strategy<Value = Setup> {
    let number = || proptest::option::of(any::<u32>());
    let subjects = prop::sample::subsequence(SUBJECTS.to_vec(), 0..=SUBJECTS.len());
    let seconds = proptest::option::of(finite());
    (subjects, seconds, any_warm_up(), [number(), number(), number()], any::<bool>()).prop_map(
        |(subjects, seconds, warm_up, [repeats, quota_percent, round_trip_ms], is)| Setup {
            subjects: subjects.into_iter().map(|text| resolve(text).unwrap()).collect(),
            seconds,
            warm_up: Some(warm_up),
            repeats,
            quota_percent,
            round_trip_ms,
            is_loopback: is,
            workload: is.then(|| String::from("one-packet")),
            is_paper: !is,
            ..Setup::default()
        },
    )
}

const SUBJECTS: [&str; 4] = [
    "sped",
    "mt:backlog=3,threads=8",
    "nginx:sendfile=off",
    "command:A='b c' d {port} --x=1,2 \"é\"",
];

fn any_warm_up() -> impl Strategy<Value = WarmUp> {
    prop_oneof![finite().prop_map(WarmUp::Fixed), any::<u32>().prop_map(WarmUp::Steady)]
}

fn any_point() -> impl Strategy<Value = Point> {
    let numbers = || btree_map(any::<String>(), finite(), 0..4);
    let texts = || btree_map(any::<String>(), any::<String>(), 0..3);
    let of_spec = (prop::sample::select(&SUBJECTS), any_warm_up(), numbers(), any::<u32>());
    let told = (any_verdict(), [finite(), finite()], texts(), numbers());
    (of_spec, told, vec(GRAIN_NS..1 << 62, 0..20), any::<bool>()).prop_map(
        |((subject, warm_up, factors, repeat), told, times, is_loaded)| {
            let (verdict, [whole_s, start_s], testbed, counters) = told;
            let mut spec = spec();
            spec.subject = resolve(subject).unwrap();
            spec.load.warm_up = warm_up;
            (spec.factors, spec.repeat) = (factors, repeat);
            let mut point =
                crate::plans::model::point(&spec, repeat, &|_, _| times.len() as f64 * 10.0);
            if let Some(load) = &mut point.load {
                for ns in times {
                    load.requests.whole.record(Duration::from_nanos(ns));
                }
            }
            let commands = Commands { server: format!("{subject} \u{1b}\n"), ..point.commands };
            Point {
                verdict,
                cost: Cost { whole_s, start_s, ..Cost::default() },
                commands,
                testbed,
                load: point.load.filter(|_| is_loaded),
                counters,
                counted_s: start_s,
                ..point
            }
        },
    )
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    let why = || vec(any::<String>(), 0..3);
    prop_oneof![
        Just(Verdict::Good),
        why().prop_map(Verdict::Failed),
        why().prop_map(Verdict::Invalid),
    ]
}

/// All that can be measured: no time, rate or count is none.
fn finite() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    // Of a rate that was rounded, and of any bits.
    prop_oneof![
        (0_u32..1000).prop_map(|count| f64::from(count) * 0.1),
        POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
    ]
}
