use measure::{Duration, Instant};
use proptest::prelude::*;

use super::*;
use crate::collector::results::Process;
use crate::collector::{Collector, LATE, Pace, Plan};
use crate::expectation::Expectation;
use crate::files::{File, FileId, Files, size_class_name};
use crate::gates::{self, Limits, Proof};
use crate::record::{Outcome, Record, Step};
use crate::stop::Stop;

const START: Instant = Instant { ns: 3_000_000_000 };
const SECOND: Duration = Duration::from_secs(1);

fn about() -> About {
    let named = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    };
    About {
        notes: None,
        target: "http://127.0.0.1:8080".into(),
        command: "weir load 127.0.0.1:8080 --rate 10".into(),
        workload: "one-packet".into(),
        load: "10/s".into(),
        began: "2026-01-31T12:00:00Z".into(),
        seed: 7,
        knobs: named(&[("patience", "2s"), ("rate", "10")]),
        machine: named(&[("processors", "2")]),
        versions: named(&[("weir", "0.1.0")]),
    }
}

/// 10/s for 4 s after 1 s of warm-up.
fn plan(clients: u32) -> Plan {
    let stop = Stop {
        after: 5 * SECOND,
        sessions_max: None,
        warm_up: SECOND,
        cool_down: Duration::ZERO,
        interval: SECOND,
    };
    Plan {
        start: START,
        stop,
        patience: Some(2 * SECOND),
        pace: Pace::Open,
        clients,
        verified: Some(1.0),
        lag_max: LATE,
    }
}

/// Request `number` takes as long as is said, and ends so; the run is stopped after so long.
fn run(
    plan: &Plan,
    numbers: u64,
    stopped: Duration,
    of: impl Fn(u64) -> (Duration, Outcome),
) -> Results {
    let file = |class, bytes| File { target: "/".into(), bytes: Some(bytes), class };
    let files = Files::new(vec![file(0, 1024), file(1, 10_240)], true);
    let mut collector = Collector::new(plan, &files, size_class_name);
    collector.stop(START + stopped);
    for number in 0..numbers {
        let (whole, outcome) = of(number);
        let intended = START + Duration::from_millis(number * 100);
        collector.record(&Record {
            file: FileId(u32::from(plan.clients > 1 && number % 4 == 0)),
            session: number,
            place: 0,
            is_last: true,
            intended,
            started: intended + Duration::from_micros(20),
            connected: Some(intended + Duration::from_micros(120)),
            first_byte: (outcome == Outcome::Good).then(|| intended + whole / 2),
            ended: intended + whole,
            bytes: if outcome == Outcome::Good { 1300 } else { 0 },
            outcome,
        });
    }
    let mut results = collector.finish(START + 6 * SECOND);
    let (cpu, lasted) = (Duration::from_millis(600), 6 * SECOND);
    results.ran(Process { cpu, lasted, descriptors: 40, descriptors_max: 20_000, missed: 0 });
    results
}

fn swift(number: u64) -> (Duration, Outcome) {
    (Duration::from_micros(400 + number * 10), Outcome::Good)
}

fn calm() -> Results {
    run(&plan(1), 50, 5 * SECOND, swift)
}

fn flood() -> Results {
    run(&plan(3), 50, 5 * SECOND, |number| match number % 5 {
        0 => (2 * SECOND, Outcome::Impatient(Step::FirstByte)),
        1 => (Duration::from_micros(200), Outcome::Impatient(Step::Connect)),
        2 if number > 30 => (Duration::from_micros(900), Outcome::Status(503)),
        _ => (Duration::from_millis(150 + number * 10), Outcome::Good),
    })
}

/// Clients that wait for the server, and have all the time that it wants.
fn closed() -> Results {
    let mut plan = Plan { pace: Pace::Closed, patience: None, ..plan(1) };
    plan.stop.warm_up = Duration::ZERO;
    run(&plan, 50, 5 * SECOND, swift)
}

/// Stopped between two intervals.
fn stopped() -> Results {
    run(&plan(1), 24, Duration::from_millis(2_400), swift)
}

/// Over before the warm-up was.
fn short() -> Results {
    run(&plan(1), 7, Duration::from_millis(700), swift)
}

/// One request, which nobody answers.
fn single() -> Results {
    let mut plan = plan(1);
    plan.stop.warm_up = Duration::ZERO;
    run(&plan, 1, 5 * SECOND, |_| (Duration::from_micros(90), Outcome::Refused))
}

#[test]
fn a_run_is_told_as_it_was() {
    type Text = fn(&Report<'_>) -> String;
    let hgrm: Text = |report| hgrm::text(&report.results.requests.whole);
    let rows: [(&str, Results, Text, &str); 8] = [
        ("calm.txt", calm(), summary::text, include_str!("golden/calm.txt")),
        ("calm.json", calm(), json::text, include_str!("golden/calm.json")),
        ("calm.hgrm", calm(), hgrm, include_str!("golden/calm.hgrm")),
        ("flood.txt", flood(), summary::text, include_str!("golden/flood.txt")),
        ("closed.txt", closed(), summary::text, include_str!("golden/closed.txt")),
        ("stopped.txt", stopped(), summary::text, include_str!("golden/stopped.txt")),
        ("short.txt", short(), summary::text, include_str!("golden/short.txt")),
        ("single.txt", single(), summary::text, include_str!("golden/single.txt")),
    ];
    for (name, results, text, expected) in rows {
        let findings = gates::findings(&results, &Limits::default());
        let report =
            Report { about: &about(), results: &results, findings: &findings, expected: &[] };
        let told = text(&report);
        assert!(told == expected, "{name} is told as:\n{told}");
    }
}

#[test]
fn what_was_expected_stands_last() {
    let results = calm();
    let findings = gates::findings(&results, &Limits::default());
    let read = |text| Expectation::read(text).expect(text).met(&results, Proof::All);
    let expected = ["p99<50ms", "good>5000/s"].map(read);
    let about = about();
    let report =
        Report { about: &about, results: &results, findings: &findings, expected: &expected };
    let told = summary::text(&report);
    let end = "\n\nexpected          seen\n  p99<50ms      890 us  holds\n  \
               good>5000/s  10.00/s  FAILS\n";
    assert!(told.ends_with(end), "{told}");
    let line =
        r#""expected": [{"expected":"p99<50ms","seen":"890 us","holds":true,"is_proven":true},{"#;
    assert!(json::text(&report).contains(line), "{told}");
}

#[test]
fn run_whose_generator_was_late_says_what_it_proves() {
    let stop = Stop { warm_up: Duration::ZERO, ..plan(1).stop };
    let plan = Plan { lag_max: Duration::ZERO, stop, ..plan(1) };
    let results = run(&plan, 50, 6 * SECOND, |_| (Duration::from_millis(1), Outcome::Good));
    let findings = gates::findings(&results, &Limits::default());
    let proof = gates::proof(&findings, &results);
    assert_eq!(proof, Proof::Bounds);
    let about = about();
    // (what is expected, words that the end has, and words that it has not)
    let rows: [(&[&str], &[&str], &[&str]); 3] = [
        (
            &["p99<50ms", "good>5/s"],
            &["holds good>5/s", "proven although the run"],
            &["not proven"],
        ),
        (&["p99<50ms", "failed<1%"], &["holds, not proven"], &["although"]),
        (&["p99<1us"], &["FAILS, not proven"], &["although"]),
    ];
    for (expected, has, has_not) in rows {
        let read = |text: &&str| Expectation::read(text).expect(text).met(&results, proof);
        let expected: Vec<_> = expected.iter().map(read).collect();
        let report =
            Report { about: &about, results: &results, findings: &findings, expected: &expected };
        let told = summary::text(&report);
        let told: Vec<&str> = told.split_whitespace().collect();
        let told = told.join(" ");
        assert!(told.contains("this run is INVALID"), "{told}");
        assert!(has.iter().all(|words| told.contains(words)), "{told}");
        assert!(!has_not.iter().any(|words| told.contains(words)), "{told}");
    }
}

#[test]
fn what_was_written_is_read_again() {
    let results = flood();
    let report = Report { about: &about(), results: &results, findings: &[], expected: &[] };
    assert_eq!(json::read(&json::text(&report)), Ok(results.clone()));
}

fn written(results: &Results, about: &About) -> json::Whole {
    let findings = gates::findings(results, &Limits::default());
    let report = Report { about, results, findings: &findings, expected: &[] };
    json::read_whole(&json::text(&report)).expect("a report")
}

#[test]
fn two_runs_are_compared() {
    let other = About {
        target: "http://other:8080/b".into(),
        knobs: [("patience", "2s"), ("rate", "20"), ("json", "b.json")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        machine: [(String::from("processors"), String::from("4"))].into(),
        ..about()
    };
    let (calm, flood) = (written(&calm(), &about()), written(&flood(), &about()));
    let other = written(&single(), &other);
    let run = |name, whole| comparison::Run { name, whole };
    let rows = [
        ("same.txt", &calm, &calm, include_str!("golden/same.txt")),
        ("compared.txt", &calm, &flood, include_str!("golden/compared.txt")),
        ("not-comparable.txt", &calm, &other, include_str!("golden/not-comparable.txt")),
    ];
    for (name, a, b, expected) in rows {
        let told = comparison::text(&run("a.json", a), &run("b.json", b));
        assert!(told == expected, "{name} is told as:\n{told}");
    }
}

/// A report may be of somebody who means ill.
#[test]
fn a_terminal_obeys_no_report() {
    const WORDS: &str = "a\u{1b}[2J\u{9b}\r\nb";
    let words = || String::from(WORDS);
    let named = |name: &str| [(String::from(name), words())].into();
    let foreign = About {
        target: words(),
        workload: words(),
        load: words(),
        began: words(),
        knobs: named(WORDS),
        machine: named("kernel"),
        versions: named("weir"),
        ..about()
    };
    let (own, foreign) = (written(&calm(), &about()), written(&calm(), &foreign));
    let run = |whole| comparison::Run { name: WORDS, whole };
    let told = comparison::text(&run(&own), &run(&foreign));
    assert!(told.contains("a\\u{1b}[2J"), "{told}");
    assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
    let unread = json::read("{\"schema\": 1, \"results\": \"\u{9b}\"}").expect_err("none");
    assert!(!unread.to_string().contains(char::is_control), "{unread:?}");
}

#[test]
fn what_is_no_report_is_not_read() {
    let rows = [
        ("", "EOF"),
        ("[]", "invalid"),
        ("{}", "missing field `schema`"),
        (r#"{"schema": 2, "results": 5}"#, "its schema is 2, and this program reads 1"),
        (r#"{"schema": 1}"#, "missing field `results`"),
    ];
    for (text, expected) in rows {
        let unread = json::read(text).expect_err(text).to_string();
        assert!(unread.contains(expected), "{text}: {unread}");
    }
}

#[test]
fn a_line_tells_how_it_goes() {
    let results = flood();
    let interval = results.intervals.iter().nth(2).expect("an interval").1;
    let at = |seconds| summary::Progress {
        at: seconds * SECOND,
        of: Some(30 * SECOND),
        warm_up: 5 * SECOND,
        latest: Some(interval),
        interval: SECOND,
        open: 1234,
        asking: 28,
        over: None,
    };
    let waits = |seconds, asking| summary::Progress {
        asking,
        over: Some((30 * SECOND, 45 * SECOND)),
        ..at(seconds)
    };
    let endless = summary::Progress { over: Some((SECOND, 100_000 * SECOND)), ..at(2) };
    let early = summary::Progress { latest: None, of: None, open: 0, ..at(0) };
    let after = "  good      6.00/s  failed     4.00/s  p99  390 ms  open  1,234";
    let over = |what: &str| format!("  30 s over, waits for {what} at most; ^C ends that");
    let rows = [
        (at(12), 80, format!("  12 of 30 s  {after}")),
        (at(2), 80, format!("   2 s warm-up{after}")),
        (waits(31, 28), 80, over("28 replies, for 15 s")),
        (waits(45, 1), 80, over("1 reply, for 1 s")),
        (waits(31, 1234), 80, over("1,234 replies, for 15 s")),
        (endless, 80, String::from("   1 s over, waits for 28 replies; ^C ends that")),
        (waits(31, 28), 20, String::from("  30 s over, waits f")),
        (at(12), 20, String::from("  12 of 30 s    good")),
        (early, 80, String::from("   0 s warm-up  open      0")),
    ];
    for (progress, columns, expected) in rows {
        assert_eq!(summary::progress(&progress, columns), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A file may be anybody's: what is read of it is told, and nothing ends the program.
    #[test]
    fn no_text_that_was_tampered_with_panics(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let results = flood();
        let report = Report { about: &about(), results: &results, findings: &[], expected: &[] };
        let mut bytes = json::text(&report).into_bytes();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            // Other digits are what is most often still read.
            bytes[place] = if bytes[place].is_ascii_digit() { b'0' + byte % 10 } else { byte };
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(mut results) = json::read(&text) {
            let findings = gates::findings(&results, &Limits::default());
            let report =
                Report { about: &about(), results: &results, findings: &findings, expected: &[] };
            prop_assert!(!summary::text(&report).is_empty());
            prop_assert!(!json::text(&report).is_empty());
            prop_assert!(!hgrm::text(&results.requests.whole).is_empty());
            _ = results.merge(flood());
        }
    }
}
