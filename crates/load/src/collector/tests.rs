use proptest::prelude::*;

use super::figures::Figures;
use super::results::{Process, Share};
use super::*;
use crate::files::{File, FileId, size_class_name};
use crate::record::Step;

const START: Instant = Instant { ns: 77_000_000_000 };
const SECOND: Duration = Duration::from_secs(1);

fn at(us: u64) -> Instant {
    START + Duration::from_micros(us)
}

/// Ten seconds, all of them measured.
fn plan() -> Plan {
    let stop = Stop {
        after: 10 * SECOND,
        sessions_max: None,
        warm_up: Duration::ZERO,
        cool_down: Duration::ZERO,
        interval: SECOND,
    };
    Plan {
        start: START,
        stop,
        patience: Some(15 * SECOND),
        pace: Pace::Open,
        clients: 4,
        verified: Some(1.0),
        lag_max: LATE,
    }
}

/// Of 102, 2048 and 102 bytes.
fn files() -> Files {
    let file = |class, bytes| File { target: "/".into(), bytes: Some(bytes), class };
    Files::new(vec![file(0, 102), file(1, 2048), file(0, 102)], true)
}

/// Asked for in time on a connection of its own, and answered; times in microseconds.
fn answered(session: u64, intended: u64, ended: u64) -> Record {
    Record {
        file: FileId(0),
        session,
        place: 0,
        is_last: true,
        intended: at(intended),
        started: at(intended),
        connected: Some(at(intended)),
        first_byte: Some(at(ended)),
        ended: at(ended),
        bytes: 250,
        outcome: Outcome::Good,
    }
}

/// One that ran for ten seconds.
fn process(cpu: Duration) -> Process {
    Process { cpu, lasted: 10 * SECOND, descriptors: 5, descriptors_max: 20, missed: 0 }
}

fn collected(plan: &Plan, records: &[Record]) -> Results {
    let mut collector = Collector::new(plan, &files(), size_class_name);
    records.iter().for_each(|record| collector.record(record));
    collector.finish(at(60_000_000))
}

#[test]
fn a_server_that_was_stopped_for_a_second_made_its_clients_wait_that_long() {
    // 1,000/s for 10 s; who comes within the fifth second is answered at its end. Whether the
    // generator asked in time or was stopped as well changes nothing for him.
    for is_late in [false, true] {
        let records: Vec<Record> = (0..10_000_u64)
            .map(|request| {
                let intended = request * 1000;
                let is_stopped = (4_000_000..5_000_000).contains(&intended);
                let ended = if is_stopped { 5_000_000 } else { intended + 100 };
                let mut record = answered(request, intended, ended);
                if is_stopped && is_late {
                    record.started = at(ended);
                }
                record
            })
            .collect();
        let results = collected(&plan(), &records);
        let whole = &results.requests.whole;
        let (p99, longest) = (whole.quantile(0.99).as_secs_f64(), whole.longest().as_secs_f64());
        assert!((p99 / 0.9 - 1.0).abs() < 0.02, "{p99}");
        assert!((longest - 1.0).abs() < 0.02, "{longest}");
        assert!(whole.quantile(0.5) <= Duration::from_micros(101));
        assert_eq!(results.requests.arrivals_late, if is_late { 1000 } else { 0 });
        let in_the_fifth = results.intervals.iter().nth(4).expect("an interval").1;
        assert_eq!((in_the_fifth.offered, in_the_fifth.flow.replies), (1000, 0));
    }
}

#[test]
fn requests_count_by_when_they_were_to_be_made_and_replies_by_when_they_came() {
    let mut plan = plan();
    plan.stop.warm_up = 2 * SECOND;
    plan.patience = Some(SECOND);
    // (intended, ended, both in ms; requests, left out, replies, goodput, failed)
    let rows = [
        (Outcome::Good, 0, 1_000, [0, 1, 0, 0, 0]),
        (Outcome::Good, 1_500, 2_000, [0, 1, 1, 1, 0]),
        (Outcome::Good, 1_500, 3_000, [0, 1, 1, 0, 0]),
        (Outcome::Good, 2_000, 3_000, [1, 0, 1, 1, 0]),
        (Outcome::Good, 2_000, 3_001, [1, 0, 1, 0, 0]),
        (Outcome::Good, 9_999, 10_000, [1, 0, 0, 0, 0]),
        (Outcome::Good, 10_000, 10_001, [0, 1, 0, 0, 0]),
        (Outcome::Status(404), 5_000, 5_001, [1, 0, 1, 0, 0]),
        (Outcome::Wrong, 5_000, 5_001, [1, 0, 1, 0, 0]),
        (Outcome::Impatient(Step::Reply), 5_000, 6_000, [1, 0, 0, 0, 1]),
        (Outcome::NotStarted, 5_000, 5_000, [1, 0, 0, 0, 1]),
    ];
    for (outcome, intended, ended, expected) in rows {
        let record = Record { outcome, ..answered(0, intended * 1000, ended * 1000) };
        let results = collected(&plan, &[record]);
        let (requests, flow) = (results.requests.counts.total(), results.flow);
        let told = [requests, results.left_out, flow.replies, flow.goodput, flow.failed];
        assert_eq!(told, expected, "{outcome:?} {intended} {ended}");
        assert_eq!(results.measured, 8 * SECOND);
        // A time counts only of what is good.
        let good = if outcome == Outcome::Good { requests } else { 0 };
        assert_eq!(results.requests.whole.count(), good, "{outcome:?} {intended} {ended}");
    }
}

#[test]
fn what_comes_in_the_cool_down_is_not_measured() {
    let mut plan = plan();
    (plan.stop.warm_up, plan.stop.cool_down) = (2 * SECOND, 3 * SECOND);
    // (intended, ended, both in ms; requests, left out, replies)
    let rows = [
        (6_999, 9_000, [1, 0, 0]),
        (7_000, 7_001, [0, 1, 0]),
        (6_000, 6_999, [1, 0, 1]),
        (1_999, 2_000, [0, 1, 1]),
    ];
    for (intended, ended, expected) in rows {
        let results = collected(&plan, &[answered(0, intended * 1000, ended * 1000)]);
        let told = [results.requests.counts.total(), results.left_out, results.flow.replies];
        assert_eq!(told, expected, "{intended} {ended}");
        assert_eq!((results.measured, results.planned), (5 * SECOND, 5 * SECOND));
    }
}

#[test]
fn a_run_that_ended_early_measured_less() {
    let mut plan = plan();
    plan.stop.warm_up = 2 * SECOND;
    for (end_ms, measured_ms) in
        [(0, 0), (1_000, 0), (3_500, 1_500), (10_000, 8_000), (99_000, 8_000)]
    {
        let results = Collector::new(&plan, &files(), size_class_name).finish(at(end_ms * 1000));
        assert_eq!(results.measured, Duration::from_millis(measured_ms), "{end_ms}");
        let figures = Figures::of(&results);
        assert_eq!((figures.replies_per_s, figures.response_time_ms), (0.0, 0.0));
    }
}

#[test]
fn what_comes_after_a_run_was_stopped_is_not_measured() {
    let mut plan = plan();
    plan.stop.warm_up = 2 * SECOND;
    // (stopped at, intended, ended, all in ms; measured in ms, requests, replies)
    let rows = [
        (4_000, 3_000, 3_900, (2_000, 1, 1)),
        (4_000, 3_000, 4_000, (2_000, 1, 0)),
        (4_000, 3_000, 9_000, (2_000, 1, 0)),
        (1_000, 500, 3_000, (0, 0, 0)),
        (99_000, 3_000, 9_000, (8_000, 1, 1)),
    ];
    for (stopped, intended, ended, (measured, requests, replies)) in rows {
        let mut collector = Collector::new(&plan, &files(), size_class_name);
        collector.stop(at(stopped * 1000));
        collector.record(&answered(0, intended * 1000, ended * 1000));
        let results = collector.finish(at(20_000_000));
        let told = (results.measured, results.requests.counts.total(), results.flow.replies);
        assert_eq!(told, (Duration::from_millis(measured), requests, replies), "{stopped}");
    }
}

#[test]
fn a_server_that_answers_some_is_no_faster_than_one_that_answers_all() {
    // Of 100 requests the first so many are answered, the next after 1 ms, 2 ms and so on; the
    // others are refused at once.
    let of = |answers: u64| {
        let records: Vec<Record> = (0..100)
            .map(|number| Record {
                outcome: if number < answers { Outcome::Good } else { Outcome::Status(503) },
                ..answered(number, 0, if number < answers { (number + 1) * 1000 } else { 10 })
            })
            .collect();
        collected(&plan(), &records).requests
    };
    // (answered, of which share of all, milliseconds)
    let rows = [
        (100, 0.5, Some(50)),
        (100, 1.0, Some(100)),
        (60, 0.5, Some(50)),
        (60, 0.6, Some(60)),
        (60, 0.61, None),
        (50, 0.5, Some(50)),
        (0, 0.5, None),
        (0, 0.0, None),
    ];
    for (answers, share, ms) in rows {
        let told = of(answers).whole_of_all(share).map(|time| time.as_secs_f64() * 1e3);
        let near = match (told, ms) {
            (Some(told), Some(ms)) => (told / f64::from(ms) - 1.0).abs() < 0.01,
            (told, ms) => told.is_none() && ms.is_none(),
        };
        assert!(near, "{answers} {share}: {told:?}");
        let requests = of(answers);
        assert_eq!(requests.first_byte.count(), answers);
    }
}

#[test]
fn a_session_is_admitted_by_its_first_request_and_finished_by_its_last() {
    let of =
        |session, place, is_last, ended| Record { place, is_last, ..answered(session, 0, ended) };
    // One is whole, of one the rest never comes, one is a single request, and one is refused.
    let records = [
        of(0, 0, false, 1_000),
        of(0, 1, true, 2_000),
        of(1, 0, false, 1_000),
        of(2, 0, true, 1_000),
        Record { outcome: Outcome::Status(503), ..of(3, 0, true, 1_000) },
    ];
    let requests = collected(&plan(), &records).requests;
    assert_eq!((requests.admitted, requests.finished), (3, 2));
}

#[test]
fn figures_have_the_papers_meanings() {
    // A session of three requests on one connection that took 4 ms; the first was asked for 1 ms
    // late. Replies take 2, 4 and 6 ms from when they could be sent.
    let first = Record {
        started: at(1_000),
        connected: Some(at(5_000)),
        bytes: 10_000,
        ..answered(0, 0, 7_000)
    };
    let next = |place, intended, ended| Record {
        place,
        connected: None,
        bytes: 10_000,
        ..answered(0, intended, ended)
    };
    let records = [first, next(1, 10_000, 14_000), next(2, 20_000, 26_000)];
    let mut results = collected(&plan(), &records);
    [SECOND, 2 * SECOND].into_iter().for_each(|cpu| results.ran(process(cpu)));
    let figures = Figures::of(&results);
    let expected = Figures {
        measured_s: 10.0,
        offered_per_s: 0.3,
        replies_per_s: 0.3,
        goodput_per_s: 0.3,
        failures_per_s: 0.0,
        failed_share: 0.0,
        timeouts_share: 0.0,
        client_cpu_share: 0.2,
        server_throughput_mbit_per_s: 0.024,
        connections_per_s: 0.1,
        // 240,000 bits in 12 ms of waiting.
        client_throughput_mbit_per_s: 20.0,
        client_latency_ms: 4.0,
        // (2 + 4 + 6 + the connection's 4) / 3
        response_time_ms: 5.333_333,
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let pairs = [
        (figures.measured_s, expected.measured_s),
        (figures.offered_per_s, expected.offered_per_s),
        (figures.replies_per_s, expected.replies_per_s),
        (figures.goodput_per_s, expected.goodput_per_s),
        (figures.failures_per_s, expected.failures_per_s),
        (figures.failed_share, expected.failed_share),
        (figures.timeouts_share, expected.timeouts_share),
        (figures.client_cpu_share, expected.client_cpu_share),
        (figures.server_throughput_mbit_per_s, expected.server_throughput_mbit_per_s),
        (figures.connections_per_s, expected.connections_per_s),
        (figures.client_throughput_mbit_per_s, expected.client_throughput_mbit_per_s),
        (figures.client_latency_ms, expected.client_latency_ms),
        (figures.response_time_ms, expected.response_time_ms),
    ];
    assert!(pairs.iter().all(|&(a, b)| near(a, b)), "{figures:#?} {expected:#?}");
    assert_eq!(results.requests.arrivals, 1);
    assert_eq!(results.requests.connect.longest(), Duration::from_millis(5));
}

#[test]
fn kinds_and_clients_have_their_own() {
    let of = |session, file, outcome| Record {
        file: FileId(file),
        outcome,
        ..answered(session, 1000, 2000)
    };
    let records = [
        of(0, 0, Outcome::Good),
        of(4, 2, Outcome::Impatient(Step::Connect)),
        of(5, 1, Outcome::TimedOut),
        of(6, 1, Outcome::Refused),
    ];
    let results = collected(&plan(), &records);
    let kinds: Vec<_> = results
        .kinds
        .iter()
        .map(|of| (of.kind.bytes, Share::of_timeouts(&of.detail.counts)))
        .collect();
    let share = |count, of| Share { count, of };
    assert_eq!(kinds, [(Some(102), share(1, 2)), (Some(2048), share(1, 2))]);
    let clients: Vec<_> = results.clients.iter().map(|of| of.kinds.clone()).collect();
    let expected = [
        [share(1, 2), share(0, 0)],
        [share(0, 0), share(1, 1)],
        [share(0, 0), share(0, 1)],
        [share(0, 0), share(0, 0)],
    ];
    assert_eq!(clients, expected);
}

#[test]
fn results_of_another_run_are_not_taken_in() {
    type Change = fn(&mut Results);
    let rows: [(Change, &str); 9] = [
        (|results| results.start_ns += 1, "start"),
        (|results| results.warm_up = SECOND, "warm-up"),
        (|results| results.planned = SECOND, "planned length"),
        (|results| results.patience = None, "patience"),
        (|results| results.pace = Pace::Closed, "loop"),
        (|results| results.clients.truncate(3), "number of clients"),
        (|results| results.kinds[0].kind.class = 9, "files"),
        (|results| results.clients[0].kinds.clear(), "files of each client"),
        (|results| results.intervals = flow::Intervals::new(3 * SECOND), "interval"),
    ];
    let ours = collected(&plan(), &[answered(0, 0, 1)]);
    for (change, what) in rows {
        let mut other = ours.clone();
        change(&mut other);
        let mut merged = ours.clone();
        let mismatch = merged.merge(other).expect_err(what);
        assert_eq!(mismatch.what, what);
        assert_eq!(merged, ours, "{what}");
    }
}

#[test]
fn each_process_tells_what_it_used() {
    let [mut ours, mut theirs] = [SECOND, 2 * SECOND].map(|cpu| {
        let mut results = collected(&plan(), &[]);
        results.ran(process(cpu));
        results
    });
    theirs.measured = SECOND;
    ours.merge(theirs).expect("of one run");
    assert_eq!(ours.processes, [process(SECOND), process(2 * SECOND)]);
    assert_eq!(ours.measured, 10 * SECOND);
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let step = prop::sample::select(vec![Step::Connect, Step::Send, Step::FirstByte, Step::Reply]);
    prop_oneof![
        8 => Just(Outcome::Good),
        1 => (200..600_u16).prop_map(Outcome::Status),
        1 => Just(Outcome::Wrong),
        1 => step.clone().prop_map(Outcome::Impatient),
        1 => step.clone().prop_map(Outcome::Reset),
        1 => step.prop_map(Outcome::Ended),
        1 => prop::sample::select(vec![
            Outcome::TimedOut,
            Outcome::Refused,
            Outcome::Malformed,
            Outcome::Unread,
            Outcome::NoDescriptor,
            Outcome::NoAddress,
            Outcome::NotStarted,
            Outcome::Unreachable,
            Outcome::Other,
        ]),
    ]
}

/// At any time of the run and after it, an hour later at most: then intervals grow.
fn any_record() -> impl Strategy<Value = Record> {
    let place = (0..3_u32, 0..50_u64, 0..3_u32);
    let late = prop_oneof![9 => 0..3_000_u64, 1 => 0..3_600_000_000_u64];
    let steps = (prop::option::of(0..9_000_u64), prop::option::of(0..9_000_u64));
    let parts = (place, 0..12_000_000_u64, 0..2_000_u64, steps, late, 0..1_000_000_u64);
    (parts, any_outcome()).prop_map(|((place, intended, lag, steps, late, bytes), outcome)| {
        let started = intended + lag;
        let connected = steps.0.map(|us| started + us);
        let first_byte = steps.1.map(|us| connected.unwrap_or(started) + us);
        let ended = first_byte.or(connected).unwrap_or(started) + late;
        Record {
            file: FileId(place.0),
            session: place.1,
            place: place.2,
            is_last: place.2 == 0,
            intended: at(intended),
            started: at(started),
            connected: connected.map(at),
            first_byte: first_byte.map(at),
            ended: at(ended),
            bytes,
            outcome,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_merged_are_the_whole(
        records in prop::collection::vec((any_record(), 0..3_usize), 0..80),
    ) {
        let mut plan = plan();
        plan.stop.warm_up = SECOND;
        let all: Vec<Record> = records.iter().map(|&(record, _)| record).collect();
        let whole = collected(&plan, &all);
        let part = |which| {
            let of_it = records.iter().filter(|&&(_, part)| part == which);
            collected(&plan, &of_it.map(|&(record, _)| record).collect::<Vec<_>>())
        };
        // As they come from other processes.
        let written = |results: &Results| serde_json::to_string(results).expect("JSON");
        let handed = |which| -> Results {
            serde_json::from_str(&written(&part(which))).expect("what was written")
        };
        let mut merged = part(2);
        for which in [0, 1] {
            merged.merge(handed(which)).expect("of one run");
        }
        prop_assert_eq!(&merged, &whole);
        prop_assert_eq!(written(&merged), written(&whole));
        let counted = whole.requests.counts.total() + whole.left_out;
        prop_assert_eq!(counted, records.len() as u64);
        let offered: u64 = whole.intervals.iter().map(|(_, interval)| interval.offered).sum();
        prop_assert_eq!(offered, records.len() as u64);
        let of_kinds: u64 = whole.kinds.iter().map(|of| of.detail.counts.total()).sum();
        prop_assert_eq!(of_kinds, whole.requests.counts.total());
        let of_clients: u64 = whole.clients.iter().map(|of| of.detail.counts.total()).sum();
        prop_assert_eq!(of_clients, whole.requests.counts.total());
    }
}
