//! Searches for a capacity, of servers that are noisy by a formula.

use std::collections::BTreeMap;

use lab::capacity::{TRIES, is_answered};
use lab::experiments::experiment;
use lab::point::{Point, Verdict};
use lab::schedule::missing;
use lab::setup::Setup;
use lab::subject::Subject;
use lab::tuned::{Server, Tuned};
use load::bracket::{self, Bracket, Lost, Next, STEP, TRIES_MAX, Tries};
use load::collector::results::Results;
use load::record::Outcome;
use measure::{Duration, Instant};
use proptest::prelude::*;

use super::model::{collected, point, record};

/// What a search finds, and how many tries it takes. `answers` is told the rate.
fn found(start: i32, mut answers: impl FnMut(f64) -> bool) -> (Next, usize) {
    let mut tries = Tries::new();
    loop {
        let Next::Try(rung) = bracket::next(start, &tries) else {
            let count = tries.values().map(Vec::len).sum();
            return (bracket::next(start, &tries), count);
        };
        tries.entry(rung).or_default().push(answers(bracket::rate(rung)));
    }
}

#[test]
fn a_search_goes_step_by_step() {
    let (yes, no) = (&[true][..], &[false][..]);
    let (yeses, noes) = (&[true, true][..], &[false, false][..]);
    type Row<'r> = (&'r [(i32, &'r [bool])], Next);
    let ends = |low, high| Next::Found(Bracket { low, high });
    let rows: [Row<'_>; 18] = [
        (&[], Next::Try(0)),
        (&[(0, yes)], Next::Try(1)),
        (&[(0, yes), (1, yes)], Next::Try(3)),
        (&[(0, yes), (1, yes), (3, no)], Next::Try(2)),
        (&[(0, no)], Next::Try(-1)),
        (&[(0, no), (-1, no), (-3, no)], Next::Try(-7)),
        (&[(0, yes), (1, no)], Next::Try(0)),
        (&[(0, yeses), (1, no)], Next::Try(1)),
        (&[(0, yeses), (1, noes)], ends(0, 1)),
        // Two that do not agree are tried again, and two of three are enough.
        (&[(0, &[true, false]), (1, no)], Next::Try(0)),
        (&[(0, &[true, false, true]), (1, noes)], ends(0, 1)),
        // Where they refute the first, two rungs are near enough...
        (&[(0, &[true, false, false]), (1, no)], Next::Try(-1)),
        (&[(-3, yes), (0, &[true, false, false]), (1, no)], Next::Try(-2)),
        (&[(-2, yeses), (0, &[true, false, false]), (1, no)], ends(-2, 0)),
        // ... and one is not too near.
        (&[(-1, yeses), (0, &[true, false, false]), (1, no)], ends(-1, 0)),
        (&[(0, yes), (1, yes), (3, yes), (7, yes), (15, yes), (31, yes)], Next::Lost(Lost::Above)),
        (&[(0, no), (-1, no), (-3, no), (-7, no), (-15, no), (-31, no)], Next::Lost(Lost::Below)),
        (&[(0, noes), (1, yeses)], Next::Lost(Lost::Uneven)),
    ];
    for (tried, expected) in rows {
        let tries: Tries = tried.iter().map(|(rung, of)| (*rung, of.to_vec())).collect();
        assert_eq!(bracket::next(0, &tries), expected, "{tried:?}");
    }
}

#[test]
fn two_rungs_are_a_tenth_and_rates_have_their_own() {
    assert!((STEP * STEP - 1.1).abs() < 1e-6);
    for rung in 60..300 {
        // As rates are told, to three digits.
        let rate: f64 = format!("{:.2e}", bracket::rate(rung)).parse().expect("a number");
        assert_eq!(bracket::rung(rate), rung);
    }
}

/// Numbers between 0 and 1 (Marsaglia's xorshift), the same for the same seed.
fn chances(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// As a logistic curve: at its capacity a server answers in one of two tries, and `noise` above it
/// in about one of four.
fn noisy(capacity: f64, noise: f64, seed: u64) -> impl FnMut(f64) -> bool {
    let mut chance = chances(seed);
    move |rate| chance() < 1.0 / (1.0 + ((rate / capacity).ln() / noise).exp())
}

proptest! {
    /// However noisy it is, and wherever a search begins.
    #[test]
    fn a_search_ends(
        capacity in 100.0..20_000.0, noise in 0.000_1..2.0, off in -60_i32..60, seed: u64,
    ) {
        let start = bracket::rung(capacity) + off;
        let (end, tries) = found(start, noisy(capacity, noise, seed));
        prop_assert!(tries <= TRIES_MAX);
        if let Next::Found(of) = end {
            prop_assert!((1..=2).contains(&(of.high - of.low)), "{of:?}");
        }
    }

    /// Without noise, near enough to where it begins, in a dozen tries.
    #[test]
    fn a_steady_server_has_a_bracket_of_5_percent(
        capacity in 100.0..20_000.0, off in -30_i32..31,
    ) {
        let start = bracket::rung(capacity) + off;
        let (end, tries) = found(start, |rate| rate <= capacity);
        let Next::Found(of) = end else { return Err(TestCaseError::fail(format!("{end:?}"))) };
        prop_assert_eq!(of.percent(), 5);
        prop_assert!(bracket::rate(of.low) <= capacity && capacity < bracket::rate(of.high));
        prop_assert!(tries <= 13, "{}", tries);
    }
}

/// Of many searches: neither too high nor too low on the average, and near.
#[test]
fn an_estimate_is_neither_raised_nor_lowered_by_chance() {
    const SEARCHES: u64 = 4_000;
    // By noise: how far the average may be off, the spread, and the share that find none.
    let rows = [(0.002, 0.005, 0.02, 0.0), (0.01, 0.005, 0.025, 0.0), (0.03, 0.01, 0.045, 0.01)];
    for (noise, off_max, spread_max, lost_max) in rows {
        let mut place = chances(7);
        let mut offs = Vec::new();
        for seed in 1..=SEARCHES {
            // Anywhere between two rungs, and begun anywhere near.
            let capacity = 1_000.0 * STEP.powf(place());
            let start = bracket::rung(capacity) + (place() * 16.0) as i32 - 8;
            if let (Next::Found(of), _) = found(start, noisy(capacity, noise, seed)) {
                offs.push((of.middle() / capacity).ln());
            }
        }
        let count = offs.len() as f64;
        let mean = offs.iter().sum::<f64>() / count;
        let spread = (offs.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / count).sqrt();
        let lost = 1.0 - count / SEARCHES as f64;
        let told = format!("noise {noise}: {mean:.4}, {spread:.4}, {lost:.4}");
        println!("{told}");
        assert!(mean.abs() <= off_max && spread <= spread_max && lost <= lost_max, "{told}");
    }
}

/// What comes next of a run in which each of the first `of` tries of a rate is invalid, as a
/// machine was disturbed or a client was the limit.
#[test]
fn a_disturbance_ends_no_search_and_a_client_that_is_too_slow_does() {
    const ATTEMPTS: u32 = 3;
    let rows = [("steal: 2 %", 2, true), ("steal: 2 %", 3, false), ("client-cpu: 99 %", 1, false)];
    for (why, disturbed, goes_on) in rows {
        let of = experiment("capacity").expect("it");
        let subject = "sped".parse().expect("a subject");
        let setup = Setup { subjects: vec![subject], ..Setup::default() };
        let mut points = Vec::new();
        let probe = missing(of, &setup, &points).0.remove(0);
        points.push(point(&probe, 0, &|_, _| 1_000.0));
        for place in 0..disturbed {
            let of_try = missing(of, &setup, &points).0.remove(0);
            assert_eq!((&*of_try.stage, of_try.repeat), (TRIES, place), "{why}");
            for attempt in 0..ATTEMPTS {
                let verdict = Verdict::Invalid(vec![why.into()]);
                points.push(Point { verdict, ..point(&of_try, attempt, &|_, _| 1_000.0) });
            }
        }
        let next = missing(of, &setup, &points).0;
        assert_eq!(next.iter().any(|spec| spec.stage == TRIES), goes_on, "{why}, {disturbed}");
    }
}

/// Where a search for the best knobs has found a capacity of the same load, unless the probe says
/// that it is another one by now.
#[test]
fn a_search_begins_where_another_one_ended() {
    let of = experiment("capacity").expect("it");
    let subject: Subject = "sped".parse().expect("a subject");
    let rows = [("one-packet", 1_500.0, 1_500.0), ("one-packet", 9_000.0, 1_000.0)];
    for (workload, rate, begin) in rows.into_iter().chain([("webstone", 1_500.0, 1_000.0)]) {
        let server = Server {
            of: subject.clone(),
            best: subject.clone(),
            knobs: BTreeMap::new(),
            tried: 2,
            capacity: rate,
            rate,
            replies: (None, rate),
            version: String::new(),
        };
        let tuned = Some(Tuned::new(BTreeMap::new(), workload.into(), vec![server]));
        let setup = Setup { subjects: vec![subject.clone()], tuned, ..Setup::default() };
        let probe = missing(of, &setup, &[]).0.remove(0);
        let points = [point(&probe, 0, &|_, _| 1_000.0)];
        let first = missing(of, &setup, &points).0.remove(0);
        let off = first.factors["rate"] / begin;
        assert!((1.0 / STEP..STEP).contains(&off), "{workload} {rate}: {off}");
    }
}

/// A tenth of a second in which so many sessions of ten requests begin, of which so many are
/// served to the end; in all others a request waits behind the end of the measured time.
fn sessions(begun: u64, served: u64) -> Results {
    const REQUESTS: u64 = 10;
    collected(|collector| {
        for number in 0..begun {
            let waits_at = if number < served { REQUESTS } else { number % REQUESTS };
            for place in 0..=waits_at.min(REQUESTS - 1) {
                let at = Instant { ns: 50_000_000 + place * 1_000_000 };
                let took_ms = if place == waits_at { 500 } else { 1 };
                let times = (at, Duration::from_millis(took_ms));
                collector.record(&record(
                    number,
                    place,
                    place + 1 == REQUESTS,
                    times,
                    Outcome::Good,
                ));
            }
        }
    })
}

/// A server that is too slow for its sessions is asked for less: each waits for a reply before it
/// asks for more. So its requests seem to be answered.
#[test]
fn sessions_are_answered_where_they_are_finished() {
    let spec = missing(experiment("capacity").expect("it"), &Setup::default(), &[]).0.remove(0);
    for (begun, served, expected) in [(1_000, 1_000, true), (1_000, 995, true), (1_000, 950, false)]
    {
        let load = Some(sessions(begun, served));
        let point = Point { load, ..point(&spec, 0, &|_, _| 0.0) };
        assert_eq!(is_answered(&point), expected, "{served} of {begun}");
    }
}

/// From a hundred times less or more than the capacity, too, which lies above rung 0.
#[test]
fn far_search_finds_a_capacity_within_its_tries() {
    for start in [-190, -100, -31, 0, 1, 32, 100, 190] {
        let mut tries = Tries::new();
        let end = loop {
            match bracket::next_of(bracket::FAR, start, &tries) {
                Next::Try(rung) => tries.entry(rung).or_default().push(rung <= 0),
                end => break end,
            }
        };
        assert_eq!(end, Next::Found(Bracket { low: 0, high: 1 }), "{start}: {tries:?}");
    }
}
