use measure::Instant;

use super::*;
use crate::collector::{Collector, LATE, Pace, Plan};
use crate::files::{File, FileId, Files, size_class_name};
use crate::record::{Outcome, Record};
use crate::stop::Stop;

/// 100 requests in a second, of which the first ones fail; the others take 1 to 100 ms.
fn results(failed: u64) -> Results {
    let ms = Duration::from_millis;
    let (after, interval) = (ms(1_000), ms(1_000));
    let stop = Stop {
        after,
        sessions_max: None,
        warm_up: Duration::ZERO,
        cool_down: Duration::ZERO,
        interval,
    };
    let start = Instant { ns: 5_000_000_000 };
    let files = Files::new(vec![File::unknown("/")], false);
    let plan = Plan {
        start,
        stop,
        patience: None,
        pace: Pace::Open,
        clients: 1,
        verified: None,
        lag_max: LATE,
    };
    let mut collector = Collector::new(&plan, &files, size_class_name);
    for number in 0..100 {
        let intended = start + ms(number);
        let outcome = if number < failed { Outcome::Refused } else { Outcome::Good };
        collector.record(&Record {
            file: FileId(0),
            session: number,
            place: 0,
            is_last: true,
            intended,
            started: intended,
            connected: Some(intended),
            first_byte: Some(intended),
            ended: intended + ms(number + 1),
            bytes: 100,
            outcome,
        });
    }
    collector.finish(start + after)
}

#[test]
fn expectations_hold_or_say_what_was_seen() {
    // (how many fail, what is expected, what is seen, whether it holds)
    let rows = [
        (0, "p50<51ms", "50.0 ms", true),
        (0, "p50<49ms", "50.0 ms", false),
        (0, "p90<91ms", "90.0 ms", true),
        (0, "p95<96ms", "95.0 ms", true),
        (0, "p99<0.1s", "99.0 ms", true),
        (0, "p99.9<1m", "100 ms", true),
        (0, "max<=100ms", "100 ms", true),
        (0, "max<100ms", "100 ms", false),
        (0, "max<99999us", "100 ms", false),
        (0, "mean<51ms", "50.5 ms", true),
        (0, "mean > 51 ms", "50.5 ms", false),
        (0, "good>=100", "100.0/s", true),
        (0, "good>100/s", "100.0/s", false),
        (0, "replies>99.5/s", "100.0/s", true),
        (0, "failed<0.1%", "0 %", true),
        (0, "failed<=0%", "0 %", true),
        // Who fails waits for ever; the mean is that of the others.
        (2, "p90<95ms", "92.0 ms", true),
        (2, "p99<1m", "never", false),
        (2, "p99>1m", "never", true),
        (2, "max<1m", "never", false),
        (2, "mean<52ms", "51.5 ms", true),
        (2, "failed<1%", "2.0 %", false),
        (2, "failed<2.1%", "2.0 %", true),
        (2, "good>98", "98.00/s", false),
        (100, "mean<1m", "never", false),
        (100, "p50<1m", "never", false),
        (100, "failed<=100%", "100.0 %", true),
    ];
    for (failed, text, seen, holds) in rows {
        let met = Expectation::read(text).expect(text).met(&results(failed), Proof::All);
        assert_eq!((met.seen.as_str(), met.holds), (seen, holds), "{failed}: {text}");
        assert_eq!(met.expected, text.replace(' ', ""));
    }
}

#[test]
fn of_nothing_nothing_holds() {
    let mut results = results(0);
    results.measured = Duration::ZERO;
    for text in ["p99<1s", "good>=0/s", "failed<1%"] {
        let met = Expectation::read(text).expect(text).met(&results, Proof::Nothing);
        assert_eq!((met.seen.as_str(), met.holds), ("nothing", false), "{text}");
    }
}

#[test]
fn bound_is_proven_by_what_the_run_proves() {
    use Proof::{All, Bounds, Misses, Nothing};
    // (what is expected, whether it holds, the proofs of which each is enough for it)
    let rows: [(&str, bool, &[Proof]); 10] = [
        ("p99<0.1s", true, &[All, Bounds]),
        ("max<=100ms", true, &[All, Bounds]),
        ("max<100ms", false, &[All, Misses]),
        // A generator in time would have seen shorter times.
        ("p99>98ms", true, &[All]),
        ("good>=100/s", true, &[All, Bounds]),
        ("replies>101/s", false, &[All, Misses]),
        // It would have seen higher rates.
        ("replies<101/s", true, &[All]),
        // Requests that come late come together, and more of them may fail by that.
        ("failed<0.1%", true, &[All]),
        ("failed>0.1%", false, &[All, Misses]),
        ("mean<51ms", true, &[All, Bounds]),
    ];
    for (text, holds, enough) in rows {
        for proof in [All, Bounds, Misses, Nothing] {
            let met = Expectation::read(text).expect(text).met(&results(0), proof);
            let expected = (holds, enough.contains(&proof));
            assert_eq!((met.holds, met.is_proven), expected, "{text}, {proof:?}");
        }
    }
}

#[test]
fn lag_proves_no_rate_after_a_warm_up_and_no_mean_without_all_replies() {
    let warm = Results { warm_up: Duration::from_millis(1), ..results(0) };
    let rows = [(&warm, "good>=1/s", false), (&warm, "p99<1m", true)];
    let failed = results(1);
    let rows = rows.into_iter().chain([(&failed, "mean<1m", false), (&failed, "p50<1m", true)]);
    for (results, text, is_proven) in rows {
        let met = Expectation::read(text).expect(text).met(results, Proof::Bounds);
        assert_eq!((met.holds, met.is_proven), (true, is_proven), "{text}");
    }
}

#[test]
fn what_is_no_expectation_says_what_would_do() {
    const FORM: &str = "has to be as 'p99<50ms', 'good>5000/s' or 'failed<0.1%', in quotes; there";
    const TIME: &str = "has to be a time with its unit, us, ms, s or m, as in 'p99<50ms'";
    const RATE: &str = "has to be a number in a second, as in 'good>5000/s'";
    const SHARE: &str = "has to be a share in percent, as in 'failed<0.1%'";
    let rows = [
        ("", FORM),
        ("p99", FORM),
        ("<50ms", FORM),
        ("p98<50ms", FORM),
        ("P99<50ms", FORM),
        ("p99=50ms", FORM),
        ("p99<", TIME),
        ("p99<50", TIME),
        ("p99<ms", TIME),
        ("p99<-1ms", TIME),
        ("p99<NaNs", TIME),
        ("p99<<50ms", TIME),
        ("p99<50ms,max<1s", TIME),
        ("mean<5%", TIME),
        ("good>", RATE),
        ("good>5k", RATE),
        ("good>5%", RATE),
        ("replies>1e400", RATE),
        ("failed<0.1", SHARE),
        ("failed<%", SHARE),
        ("failed<-1%", SHARE),
    ];
    for (text, expected) in rows {
        let told = Expectation::read(text).expect_err(text);
        assert!(told.starts_with(expected) && !told.contains('\n'), "{text}: {told}");
    }
    let told = Expectation::read("").expect_err("none");
    assert!(
        told.ends_with("p50, p90, p95, p99, p99.9, mean, max, good, replies, failed"),
        "{told}"
    );
}
