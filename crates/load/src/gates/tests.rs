mod losses;
mod proof;
mod rare;

use measure::Instant;

use super::*;
use crate::collector::results::Process;
use crate::collector::{Collector, LATE, Pace, Plan};
use crate::files::{File, FileId, Files, size_class_name};
use crate::record::{Record, Step};
use crate::stop::Stop;

const MS: u64 = 1_000_000;

/// 1,000 requests in 10 s, each of a session of its own, by four clients for two sizes in turn;
/// all is well but for what is changed.
fn results(patience_s: u64, change: impl Fn(u64, &mut Record)) -> Results {
    let stop = Stop {
        after: Duration::from_secs(10),
        sessions_max: None,
        warm_up: Duration::ZERO,
        cool_down: Duration::ZERO,
        interval: Duration::from_secs(1),
    };
    let start = Instant { ns: 500 * MS };
    let patience = Some(Duration::from_secs(patience_s));
    let file = |class, bytes| File { target: "/".into(), bytes: Some(bytes), class };
    let files = Files::new(vec![file(0, 102), file(3, 921_600)], true);
    let mut collector = Collector::new(
        &Plan {
            start,
            stop,
            patience,
            pace: Pace::Open,
            clients: 4,
            verified: Some(1.0),
            lag_max: LATE,
        },
        &files,
        size_class_name,
    );
    for number in 0..1000 {
        let intended = Instant { ns: start.ns + number * 10 * MS };
        let mut record = Record {
            file: FileId((number % 2) as u32),
            session: number,
            place: 0,
            is_last: true,
            intended,
            started: intended,
            connected: Some(intended),
            first_byte: Some(intended),
            ended: Instant { ns: intended.ns + MS },
            bytes: 300,
            outcome: Outcome::Good,
        };
        change(number, &mut record);
        collector.record(&record);
    }
    collector.finish(Instant { ns: start.ns + 11_000 * MS })
}

fn found(results: &Results, gate: &str) -> (Verdict, String) {
    let mut findings = findings(results, &Limits::default()).into_iter();
    let finding = findings.find(|finding| finding.gate == gate).expect("a gate of this name");
    (finding.verdict, finding.words)
}

/// Of a request, by its number.
type Change = fn(u64, &mut Record);
const WELL: Change = |_, _| {};
const LATE_ONES: Change = |number, record| {
    if number % 10 == 0 {
        record.started = record.intended + Duration::from_millis(3);
    }
};
/// A fifth of the larger files, which are half of all.
const UNEVEN: Change = |number, record| {
    if number % 10 == 1 {
        record.outcome = Outcome::Impatient(Step::Reply);
    }
};
/// The same, by resets.
const BROKEN_OFF: Change = |number, record| {
    if number % 10 == 1 {
        record.outcome = Outcome::Reset(Step::Reply);
    }
};
/// The same, by those that get no reply at all.
const DROPPED: Change = |number, record| {
    if number % 10 == 1 {
        record.outcome = Outcome::Ended(Step::FirstByte);
    }
};
/// Three in twenty of each.
const EVEN: Change = |number, record| {
    if number % 40 < 6 {
        record.outcome = Outcome::Impatient(Step::FirstByte);
    }
};

/// What is changed of the requests, and what a gate says then.
const ROWS: [(&str, Change, Verdict, &str); 33] = [
    ("measured", WELL, Verdict::Holds, "1,000 requests in 10.0 s"),
    ("schedule-lag", WELL, Verdict::Holds, "p99 of the schedule lag is 0 us, of 1.00 ms at most"),
    (
        "schedule-lag",
        LATE_ONES,
        Verdict::Fails,
        "p99 of the schedule lag is 3.00 ms, 2.00 ms above the limit of 1.00 ms: the \
         generator cannot keep up; lower the rate, or use more processes or processors",
    ),
    (
        "late-starts",
        WELL,
        Verdict::Holds,
        "the share of sessions begun 1.00 ms late or later is 0 %, of 1.0 % at most",
    ),
    (
        "late-starts",
        LATE_ONES,
        Verdict::Fails,
        "the share of sessions begun 1.00 ms late or later is 10.0 %, 9.00 points above the \
         limit of 1.0 %: the generator cannot keep up; lower the rate, or use more processes \
         or processors",
    ),
    ("client-cpu", WELL, Verdict::Told, "what the generator used of its processor is unknown"),
    ("descriptors", WELL, Verdict::Holds, "enough descriptors and ports"),
    (
        "descriptors",
        |number, record| {
            if number < 3 {
                record.outcome = Outcome::NoDescriptor;
            }
        },
        Verdict::Fails,
        "no descriptor was free for 3 of 1,000 requests: raise RLIMIT_NOFILE, use more \
         processes, or allow fewer connections",
    ),
    (
        "descriptors",
        |number, record| {
            if number < 3 {
                record.outcome = Outcome::NoAddress;
            }
        },
        Verdict::Fails,
        "no port was free for 3 of 1,000 requests: use more source addresses, widen \
         net.ipv4.ip_local_port_range, or keep connections",
    ),
    (
        "not-started",
        |number, record| {
            if number % 20 == 0 {
                record.outcome = Outcome::NotStarted;
            }
        },
        Verdict::Fails,
        "the share of requests not started for want of a connection is 5.0 %, 4.00 points \
         above the limit of 1.0 %: the server sees less load than is told; allow more \
         connections, use more processes, or lower the load or the patience",
    ),
    (
        "correct",
        |_, record| record.outcome = Outcome::Status(503),
        Verdict::Fails,
        "each of 1,000 replies shed load: nothing of the server was measured; lower the load",
    ),
    (
        "correct",
        |number, record| {
            if number < 3 {
                record.outcome = Outcome::Ended(Step::Reply);
            }
        },
        Verdict::Fails,
        "of 1,000 replies 3 ended before they were whole: the server was stopped, or breaks off; \
         its log says why",
    ),
    // Resets come of load, and are judged by whom they hit.
    ("correct", BROKEN_OFF, Verdict::Holds, "each of 900 replies was right in length and content"),
    (
        "even-timeouts",
        BROKEN_OFF,
        Verdict::Fails,
        "files of 921,600 bytes, 500 requests, time out or break off for 20.0 %, 10.0 points \
         above the mean of 10.0 %: more than the 2.00 points that are allowed, and than chance \
         makes; the server is fast at the cost of these files; do not compare it at this load",
    ),
    (
        "even-timeouts",
        DROPPED,
        Verdict::Fails,
        "files of 921,600 bytes, 500 requests, time out or break off for 20.0 %, 10.0 points \
         above the mean of 10.0 %: more than the 2.00 points that are allowed, and than chance \
         makes; the server is fast at the cost of these files; do not compare it at this load",
    ),
    ("even-timeouts", WELL, Verdict::Holds, "no request timed out or was broken off"),
    ("timeouts", WELL, Verdict::Holds, "no request timed out"),
    ("correct", WELL, Verdict::Holds, "each of 1,000 replies was right in length and content"),
    (
        "correct",
        |number, record| {
            if number < 5 {
                record.outcome = Outcome::Status(503);
            }
        },
        Verdict::Holds,
        "5 of 1,000 replies shed load, the others were right in length and content",
    ),
    (
        "correct",
        |number, record| match number {
            0 => record.outcome = Outcome::Wrong,
            1 | 2 => record.outcome = Outcome::Malformed,
            3..6 => record.outcome = Outcome::Status(404),
            6 => record.outcome = Outcome::Status(503),
            _ => {}
        },
        Verdict::Fails,
        "of 1,000 replies 3 had the status 404, 2 were none of HTTP, 1 were of wrong length or \
         content: the server does not serve this workload; compare its files with the workload's",
    ),
    (
        "correct",
        |number, record| {
            if number < 2 {
                record.outcome = Outcome::Unread;
            }
        },
        Verdict::Fails,
        "of 1,000 replies 2 were more than the generator reads, so that none of them is judged",
    ),
    (
        "answered",
        |_, record| record.outcome = Outcome::Refused,
        Verdict::Fails,
        "no reply came whole: each connection was refused, so nothing listens there; start the \
         server, or say another port",
    ),
    (
        "answered",
        |_, record| record.outcome = Outcome::Ended(Step::FirstByte),
        Verdict::Fails,
        "no reply came whole: is the server there, and does it speak HTTP? The outcomes say \
         how it failed",
    ),
    (
        "even-timeouts",
        UNEVEN,
        Verdict::Fails,
        "files of 921,600 bytes, 500 requests, time out or break off for 20.0 %, 10.0 points \
         above the mean of 10.0 %: more than the 2.00 points that are allowed, and than chance \
         makes; the server is fast at the cost of these files; do not compare it at this load",
    ),
    (
        "even-timeouts",
        EVEN,
        Verdict::Holds,
        "15.0 % time out or break off, and no size, alone or with its neighbours, more than chance \
         makes",
    ),
    (
        "timeouts",
        UNEVEN,
        Verdict::Holds,
        "the share of requests that timed out is 10.0 %, of 10.0 % at most",
    ),
    (
        "timeouts",
        EVEN,
        Verdict::Fails,
        "the share of requests that timed out is 15.0 %, 5.00 points above the limit of \
         10.0 %: the server cannot answer at this load; lower it, or flood it with another \
         patience",
    ),
    ("client-timeouts", WELL, Verdict::Holds, "no request timed out"),
    (
        "client-timeouts",
        UNEVEN,
        Verdict::Fails,
        "most time out for client 1 and files of 921,600 bytes: 20.0 %, 15.0 points \
         above the limit of 5.0 %: the server is not fair to all clients and files at this \
         load; lower it, or flood it with another patience",
    ),
    // By chance: 9 of 60, where 5 % of all do.
    (
        "even-timeouts",
        |number, record| {
            record.file = FileId(u32::from(number < 60));
            if number < 7 || number % 23 == 0 {
                record.outcome = Outcome::TimedOut;
            }
        },
        Verdict::Holds,
        "5.0 % time out or break off, and no size, alone or with its neighbours, more than chance \
         makes",
    ),
    // By chance: 4 of 60, where nobody else's do, and two hundredths are allowed.
    (
        "even-timeouts",
        |number, record| {
            record.file = FileId(u32::from(number < 60));
            if number < 4 {
                record.outcome = Outcome::TimedOut;
            }
        },
        Verdict::Holds,
        "0.400 % time out or break off, and no size, alone or with its neighbours, more than \
         chance makes",
    ),
    // Few, and none of them is answered in time.
    (
        "even-timeouts",
        |number, record| {
            record.file = FileId(u32::from(number < 5));
            if number < 5 {
                record.outcome = Outcome::TimedOut;
            }
        },
        Verdict::Fails,
        "files of 921,600 bytes, 5 requests, time out or break off for 100.0 %, 99.5 points \
         above the mean of 0.500 %: more than the 2.00 points that are allowed, and than chance \
         makes; the server is fast at the cost of these files; do not compare it at this load",
    ),
    // Too few to say that files of one size fare worse: 49, of which one.
    (
        "even-timeouts",
        |number, record| {
            record.file = FileId(u32::from(number < 49));
            if number == 0 {
                record.outcome = Outcome::TimedOut;
            }
        },
        Verdict::Holds,
        "0.100 % time out or break off, and no size, alone or with its neighbours, more than \
         chance makes",
    ),
];

#[test]
fn a_gate_says_what_by_how_much_and_what_to_do() {
    for (gate, change, verdict, words) in ROWS {
        assert_eq!(found(&results(15, change), gate), (verdict, words.into()));
    }
}

#[test]
fn a_flood_is_told_its_timeouts_and_not_judged_by_them() {
    let flood = |number: u64, record: &mut Record| {
        if number % 20 < 10 {
            record.outcome = Outcome::Impatient(Step::FirstByte);
        }
    };
    // (patience in s, verdict on all timeouts, whether the run is valid)
    for (patience_s, verdict, valid) in
        [(15, Verdict::Fails, false), (1, Verdict::Told, true), (30, Verdict::Told, true)]
    {
        let results = results(patience_s, flood);
        assert_eq!(found(&results, "timeouts").0, verdict, "{patience_s}");
        assert_eq!(found(&results, "client-timeouts").0, verdict, "{patience_s}");
        assert_eq!(is_valid(&findings(&results, &Limits::default())), valid, "{patience_s}");
    }
    let words = found(&results(1, flood), "timeouts").1;
    let expected = "the share of requests that timed out is 50.0 %; judged with a patience of \
                    15.0 s only";
    assert_eq!(words, expected);
}

#[test]
fn nothing_is_praised_that_nobody_looked_at() {
    // (what was compared, verdict, words)
    let rows = [
        (Some(1.0), Verdict::Holds, "right in length and content"),
        (Some(0.25), Verdict::Holds, "in length, and where it was compared, in content: of 25.0 %"),
        (Some(0.0), Verdict::Told, "right in length; no content was compared"),
        (None, Verdict::Told, "right in status; what they should contain nobody knows"),
    ];
    for (verified, verdict, words) in rows {
        let mut results = results(15, WELL);
        results.verified = verified;
        let (found, told) = found(&results, "correct");
        assert!(found == verdict && told.ends_with(words), "{verified:?}: {told}");
    }
}

/// More processors are no help to a generator that has time left.
#[test]
fn who_is_late_is_told_why() {
    for (busy_ms, words) in [(900, "use more processes"), (100, "something else holds it up")] {
        let mut results = results(15, LATE_ONES);
        let lasted = Duration::from_secs(1);
        results.ran(Process { cpu: Duration::from_millis(busy_ms), lasted, ..Process::default() });
        let told = found(&results, "late-starts").1;
        assert!(told.contains(words), "{busy_ms}: {told}");
    }
}

#[test]
fn who_waits_for_the_server_has_no_schedule() {
    let told = "closed loop: its clients wait for the server, so while it stalls nobody else \
                comes, and these times are too good; ask at a rate to see what users would";
    let mut results = results(15, WELL);
    results.pace = Pace::Closed;
    assert_eq!(found(&results, "schedule-lag"), (Verdict::Told, told.into()));
    let mut results = self::results(15, LATE_ONES);
    results.pace = Pace::Closed;
    for gate in ["schedule-lag", "late-starts"] {
        let (verdict, words) = found(&results, gate);
        assert_eq!(verdict, Verdict::Fails, "{gate}: it rests too long");
        let advice = "let there be fewer clients, or more --processes or processors";
        assert!(words.ends_with(advice), "{gate}: {words}");
    }
}

#[test]
fn sessions_that_never_began_are_late_ones() {
    let process = |missed| Process {
        cpu: Duration::ZERO,
        lasted: Duration::ZERO,
        descriptors: 0,
        descriptors_max: 0,
        missed,
    };
    let mut results = results(15, WELL);
    results.ran(process(10));
    assert_eq!(found(&results, "late-starts").0, Verdict::Holds);
    results.ran(process(990));
    let words = "the share of sessions begun 1.00 ms late or later (of 1,000 that were never \
                 begun) is 50.0 %, 49.0 points above the limit of 1.0 %: the generator cannot \
                 keep up; lower the rate, or use more processes or processors";
    assert_eq!(found(&results, "late-starts"), (Verdict::Fails, words.into()));
}

#[test]
fn each_process_has_a_processor_and_descriptors() {
    let process = |cpu_s, lasted_s, descriptors| Process {
        cpu: Duration::from_secs(cpu_s),
        lasted: Duration::from_secs(lasted_s),
        descriptors,
        descriptors_max: 20_000,
        missed: 0,
    };
    let rows = [
        (
            "client-cpu",
            [process(4, 10, 0), process(5, 10, 0)],
            Verdict::Holds,
            "of a processor, the generator's process 2 used 50.0 %, of 90.0 % at most",
        ),
        (
            "client-cpu",
            [process(97, 100, 0), process(5, 10, 0)],
            Verdict::Fails,
            "of a processor, the generator's process 1 used 97.0 %, 7.00 points above the limit \
             of 90.0 %: its clients wait for it and not for the server; use more processes, or \
             processors that the server has no part in",
        ),
        (
            "client-cpu",
            [process(4, 0, 0), process(0, 0, 0)],
            Verdict::Told,
            "what the generator used of its processor is unknown",
        ),
        (
            "descriptors",
            [process(1, 10, 12), process(1, 10, 15_000)],
            Verdict::Holds,
            "at most 15,000 of 20,000 descriptors of a process were open",
        ),
    ];
    for (gate, processes, verdict, words) in rows {
        let mut results = results(15, |_, _| {});
        processes.into_iter().for_each(|process| results.ran(process));
        assert_eq!(found(&results, gate), (verdict, words.into()));
    }
}

#[test]
fn a_run_of_nothing_is_invalid_and_says_so() {
    let mut results = results(15, |_, record| record.intended = Instant::ORIGIN + Duration::MAX);
    results.warm_up = Duration::from_secs(5);
    let expected = "no request was to be made between the end of the warm-up (5.00 s) and that \
                    of the run: let it last longer, or say a shorter warm-up";
    let words = String::from(expected);
    let only = Finding { gate: "measured", verdict: Verdict::Fails, words };
    assert_eq!(findings(&results, &Limits::default()), [only]);
}
