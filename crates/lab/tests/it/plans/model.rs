//! A server that is a formula: so many good replies for so many sessions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use lab::point::{Cost, Point};
use lab::policies::{
    HIT_BYTES, HITS, INSERT_NS, JUDGED, JUDGED_BYTES, SHARES, TOUCH_NS, at_share, is_asked,
};
use lab::spec::Spec;
use load::collector::results::Results;
use load::collector::{Collector, LATE, Pace, Plan};
use load::files::{File, FileId, Files, size_class_name};
use load::record::{Outcome, Record, Step};
use load::stop::Stop;
use measure::{Duration, Instant};

/// Good replies in a second, of so many sessions in a second; `None` for those of a closed loop.
pub(crate) type Server<'s> = &'s dyn Fn(&Spec, Option<f64>) -> f64;

/// A measurement of it.
pub(crate) fn point(spec: &Spec, attempt: u32, server: Server<'_>) -> Point {
    let rate = spec.load.flags.get("rate").map(|rate| rate.parse().expect("a number"));
    let good = server(spec, rate);
    // Eight milliseconds of work to each read.
    let delay_us = spec.layout.disk.map_or(0.0, |disk| f64::from(disk.delay_us));
    let blocked_ns = 1e9 * delay_us / (delay_us + 8_000.0);
    let blocked = BTreeMap::from([(String::from("blocked_ns"), blocked_ns)]);
    Point {
        counters: if is_asked(spec) { of_policy() } else { blocked },
        counted_s: 1.0,
        cost: Cost { whole_s: spec.costs_s(), ..Cost::default() },
        load: Some(results(rate.unwrap_or(good), good)),
        began: String::new(),
        ..Point::begun("of a test", spec, attempt)
    }
}

/// A policy by itself that has what fits.
fn of_policy() -> BTreeMap<String, f64> {
    let counts = [(JUDGED, 1_000.0), (JUDGED_BYTES, 1e6), (TOUCH_NS, 10.0), (INSERT_NS, 100.0)];
    let hits = SHARES.iter().enumerate().flat_map(|(at, share)| {
        [(at_share(HITS, at), 1_000.0 * share), (at_share(HIT_BYTES, at), 1e6 * share)]
    });
    counts.map(|(name, count)| (name.into(), count)).into_iter().chain(hits).collect()
}

/// The results of [`collect`]. Plans ask thousands of times for a few pairs of numbers.
fn results(rate: f64, good: f64) -> Results {
    static KNOWN: Mutex<BTreeMap<[u64; 2], Results>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry([rate.to_bits(), good.to_bits()]).or_insert_with(|| collect(rate, good)).clone()
}

/// A tenth of a second in which sessions come at a rate, and the first ones are answered.
fn collect(rate: f64, good: f64) -> Results {
    const PART: f64 = 0.1;
    let (all, answered) = ((rate * PART).round() as u64, (good * PART).round() as u64);
    collected(|collector| {
        for number in 0..all {
            let at = Instant { ns: number * 100_000_000 / all.max(1) };
            let outcome =
                if number < answered { Outcome::Good } else { Outcome::Impatient(Step::Connect) };
            collector.record(&record(number, 0, true, (at, Duration::from_micros(2)), outcome));
        }
    })
}

/// A request that was made in time.
pub(crate) fn record(
    session: u64,
    place: u64,
    is_last: bool,
    (at, took): (Instant, Duration),
    outcome: Outcome,
) -> Record {
    let then = at + Duration::from_micros(1);
    Record {
        file: FileId(0),
        session,
        place: place as u32,
        is_last,
        intended: at,
        started: then,
        connected: Some(then),
        first_byte: Some(then),
        ended: at + took,
        bytes: 100,
        outcome,
    }
}

/// A tenth of a second of records.
pub(crate) fn collected(fill: impl FnOnce(&mut Collector)) -> Results {
    let after = Duration::from_millis(100);
    let stop = Stop {
        after,
        sessions_max: None,
        warm_up: Duration::ZERO,
        cool_down: Duration::ZERO,
        interval: after,
    };
    let start = Instant { ns: 0 };
    let plan = Plan {
        start,
        stop,
        patience: Some(Duration::from_secs(1)),
        pace: Pace::Open,
        clients: 1,
        verified: None,
        lag_max: LATE,
    };
    let files = Files::new(vec![File { target: "/".into(), bytes: Some(100), class: 0 }], true);
    let mut collector = Collector::new(&plan, &files, size_class_name);
    fill(&mut collector);
    collector.finish(start + after)
}
