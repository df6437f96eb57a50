//! Ranges against the table of RFC 9110 section 14 and against a model that marks single bytes.

use std::ops::Range;

use h1::range::{
    Selection::{self, Part, Parts, Unsatisfiable, Whole},
    select,
};
use proptest::prelude::*;

const RANGES_MAX: usize = 16;

#[test]
fn one_range() {
    check("bytes=0-499", 10_000, Part(0..500));
    check("bytes=500-999", 10_000, Part(500..1000));
    check("bytes=-500", 10_000, Part(9500..10_000));
    check("bytes=9500-", 10_000, Part(9500..10_000));
    check("bytes=0-", 10_000, Part(0..10_000));
    check("bytes=9999-9999", 10_000, Part(9999..10_000));
    check("bytes=-1", 10_000, Part(9999..10_000));
    check("BYTES=0-0", 10_000, Part(0..1));
    check("bytes=0-10000", 10_000, Part(0..10_000));
    check("bytes=-10001", 10_000, Part(0..10_000));
    check("bytes=\t, 0-4 ,,", 10_000, Part(0..5));
}

#[test]
fn several_ranges() {
    check("bytes=0-0,-1", 10_000, Parts(vec![0..1, 9999..10_000]));
    check("bytes=-1, 0-0", 10_000, Parts(vec![9999..10_000, 0..1]));
    check("bytes=500-600,601-999", 10_000, Part(500..1000));
    check("bytes=500-700,601-999", 10_000, Part(500..1000));
    check("bytes=0-9,89-99", 10_000, Part(0..100));
    check("bytes=0-9,90-99", 10_000, Parts(vec![0..10, 90..100]));
    check("bytes=500-509,0-9,100-400", 10_000, Parts(vec![500..510, 0..10, 100..401]));
    check("bytes=0-9,200-209,3000-,5-205", 10_000, Parts(vec![0..210, 3000..10_000]));
    check("bytes=0-0,10000-", 10_000, Part(0..1));
}

#[test]
fn unsatisfiable() {
    check("bytes=10000-", 10_000, Unsatisfiable);
    check("bytes=10000-10000,20000-", 10_000, Unsatisfiable);
    check("bytes=-0", 10_000, Unsatisfiable);
    check("bytes=0-", 0, Unsatisfiable);
    check("bytes=-0", 0, Unsatisfiable);
    check("bytes=18446744073709551616-", u64::MAX, Unsatisfiable);
}

#[test]
fn ignored() {
    check("bytes=-1", 0, Whole);
    check("bytes=0-0,-1", 0, Whole);
    let malformed = [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes= ",
        "bytes =0-1",
        "bytes=-",
        "bytes=a-",
        "bytes=1",
        "bytes=5-4",
        "bytes=0-1,5-4",
        "bytes=0-1,x",
        "bytes=--1",
        "bytes=1-2-3",
        "bytes=+1-2",
        "bytes=0 - 1",
        "bytes=0x1-2",
        "bytes=0-1;",
        "items=0-1",
        " bytes=0-1",
        "byte=0-1",
    ];
    for value in malformed {
        check(value, 10_000, Whole);
    }
    assert_eq!(select([], 10_000, RANGES_MAX), Whole);
    assert_eq!(select([&b"bytes=0-1"[..]; 2], 10_000, RANGES_MAX), Whole);
}

#[test]
fn numbers_beyond_64_bits() {
    check("bytes=0-18446744073709551615", u64::MAX, Part(0..u64::MAX));
    check("bytes=1-99999999999999999999999", u64::MAX, Part(1..u64::MAX));
    check("bytes=-99999999999999999999999", 7, Part(0..7));
    check("bytes=18446744073709551614-", u64::MAX, Part(u64::MAX - 1..u64::MAX));
}

#[test]
fn more_than_the_limit() {
    let set = |n: usize| format!("bytes={}", vec!["0-0"; n].join(","));
    check(&set(RANGES_MAX), 10_000, Part(0..1));
    check(&set(RANGES_MAX + 1), 10_000, Whole);
}

fn check(value: &str, length: u64, expected: Selection) {
    assert_eq!(select([value.as_bytes()], length, RANGES_MAX), expected, "{value} of {length}");
}

/// First and last position, either of them left out.
type Spec = (Option<u64>, Option<u64>);

fn specs() -> impl Strategy<Value = Vec<Spec>> {
    let position = || prop::option::weighted(0.8, prop_oneof![0..700_u64, 0..20_u64]);
    prop::collection::vec((position(), position()), 0..8)
}

proptest! {
    #[test]
    fn agrees_with_marked_bytes(specs in specs(), length in 0..600_u64, ranges_max in 0..9_usize) {
        let text = |position: Option<u64>| position.map(|n| n.to_string()).unwrap_or_default();
        let set: Vec<_> = specs.iter().map(|(a, b)| format!("{}-{}", text(*a), text(*b))).collect();
        let value = format!("bytes={}", set.join(", "));
        let selected = select([value.as_bytes()], length, ranges_max);
        prop_assert_eq!(selected, model(&specs, length, ranges_max), "{} of {}", value, length);
    }

    #[test]
    fn any_bytes_are_taken(
        value in prop_oneof!["bytes=[-0-9, ]{0,60}", "\\PC{0,40}"],
        length in any::<u64>(),
    ) {
        let parts = match select([value.as_bytes()], length, RANGES_MAX) {
            Whole | Unsatisfiable => vec![],
            Part(part) => vec![part],
            Parts(parts) => parts,
        };
        prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= length));
    }
}

fn model(specs: &[Spec], length: u64, ranges_max: usize) -> Selection {
    let malformed = |(a, b): &Spec| match (a, b) {
        (Some(a), Some(b)) => b < a,
        (None, None) => true,
        _ => false,
    };
    let suffix = |(a, b): &Spec| a.is_none() && b.is_some_and(|n| n > 0);
    if specs.is_empty() || specs.len() > ranges_max || specs.iter().any(malformed) {
        return Whole;
    }
    if length == 0 && specs.iter().any(suffix) {
        return Whole;
    }
    // Which spec was the first to ask for each byte.
    let mut askers = vec![None; length as usize];
    for (place, (a, b)) in specs.iter().enumerate() {
        for (at, asker) in askers.iter_mut().enumerate() {
            let at = at as u64;
            let is_asked = match (a, b) {
                (Some(a), b) => *a <= at && b.is_none_or(|b| at <= b),
                (None, b) => at >= length.saturating_sub(b.unwrap_or(0)),
            };
            if is_asked && asker.is_none() {
                *asker = Some(place);
            }
        }
    }
    let mut runs: Vec<(Option<usize>, Range<u64>)> = Vec::new();
    for (at, asker) in askers.iter().enumerate().filter(|(_, asker)| asker.is_some()) {
        let at = at as u64;
        match runs.last_mut() {
            Some((first, run)) if at - run.end < 80 => {
                run.end = at + 1;
                *first = *asker.min(first);
            }
            _ => runs.push((*asker, at..at + 1)),
        }
    }
    runs.sort_by_key(|(asker, _)| *asker);
    let mut parts: Vec<_> = runs.into_iter().map(|(_, run)| run).collect();
    match parts.len() {
        0 => Unsatisfiable,
        1 => Part(parts.remove(0)),
        _ => Parts(parts),
    }
}
