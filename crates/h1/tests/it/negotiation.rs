//! `Accept-Encoding` against a table and against a model that looks weights up by name.

use std::collections::HashMap;

use h1::{
    Coding::{self, Brotli, Gzip, Zstd},
    Codings,
};
use proptest::prelude::*;

#[test]
fn what_clients_send() {
    check(&[], &[]);
    check(&["gzip, deflate, br, zstd"], &[Brotli, Zstd, Gzip]);
    check(&["gzip, deflate, br"], &[Brotli, Gzip]);
    check(&["gzip, deflate"], &[Gzip]);
    check(&["gzip"], &[Gzip]);
    check(&["x-gzip"], &[Gzip]);
    check(&["identity"], &[]);
    check(&["deflate, compress"], &[]);
    check(&["deflate, gzip, br, zstd"], &[Brotli, Zstd, Gzip]);
    check(&["gzip", "br"], &[Brotli, Gzip]);
    check(&["GZip , , BR"], &[Brotli, Gzip]);
}

#[test]
fn weights() {
    check(&["*"], &[Brotli, Zstd, Gzip]);
    check(&["gzip;q=1.0, br;q=0.5"], &[Gzip, Brotli]);
    check(&["gzip;q=0, *"], &[Brotli, Zstd]);
    check(&["*;q=0"], &[]);
    check(&["*;q=0, gzip;q=0.001"], &[Gzip]);
    check(&["zstd;q=0.9,*;q=0.1"], &[Zstd, Brotli, Gzip]);
    check(&["identity;q=0"], &[]);
    check(&["identity;q=0, gzip"], &[Gzip]);
    check(&["identity, gzip;q=0.5"], &[]);
    check(&["identity;q=0.5, gzip;q=0.5, br;q=0.4"], &[Gzip]);
    check(&["gzip ; Q=0.25", "br\t;\tq=0.250"], &[Brotli, Gzip]);
    check(&["gzip;q=1, gzip;q=0"], &[]);
}

#[test]
fn malformed_elements_are_passed_over() {
    let malformed = [
        "gzip;q=2",
        "gzip;q=1.001",
        "gzip;q=.5",
        "gzip;q=0.1234",
        "gzip;q=-1",
        "gzip;q",
        "gzip;",
        "gzip;q=1;q=1",
        "gzip;level=9",
        "gzip q=1",
        "\"gzip\"",
        "gzip;q=0.x",
        "gzip; q =1",
        "gz",
    ];
    for value in malformed {
        check(&[value], &[]);
        check(&[value, "br"], &[Brotli]);
    }
}

#[test]
fn names() {
    for (coding, token, suffix) in
        [(Brotli, "br", ".br"), (Zstd, "zstd", ".zst"), (Gzip, "gzip", ".gz")]
    {
        assert_eq!((coding.token(), coding.suffix()), (token, suffix));
    }
}

fn check(values: &[&str], expected: &[Coding]) {
    let codings = Codings::parse(values.iter().map(|value| value.as_bytes()));
    assert_eq!(codings.iter().collect::<Vec<_>>(), expected, "{values:?}");
    assert_eq!(codings.is_empty(), expected.is_empty(), "{values:?}");
}

fn elements() -> impl Strategy<Value = Vec<(&'static str, Option<u16>)>> {
    const NAMES: &[&str] = &["br", "gzip", "zstd", "x-gzip", "deflate", "identity", "*"];
    let element = (prop::sample::select(NAMES), prop::option::of(0..=1000_u16));
    prop::collection::vec(element, 0..8)
}

proptest! {
    #[test]
    fn agrees_with_a_look_up(
        elements in elements(),
        comma in prop::sample::select(&[",", " ,\t"][..]),
    ) {
        let text: Vec<_> = elements
            .iter()
            .map(|(name, weight)| match weight {
                None => (*name).to_owned(),
                Some(weight) => format!("{name}; q={}.{:03}", weight / 1000, weight % 1000),
            })
            .collect();
        let expected = model(&elements);
        let together = text.join(comma);
        prop_assert_eq!(parsed(&[together]), expected.clone());
        prop_assert_eq!(parsed(&text), expected);
    }

    #[test]
    fn any_bytes_are_taken(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4),
    ) {
        let codings = Codings::parse(values.iter().map(Vec::as_slice));
        prop_assert!(codings.iter().count() <= 3);
    }
}

fn parsed(values: &[String]) -> Vec<Coding> {
    Codings::parse(values.iter().map(String::as_bytes)).iter().collect()
}

fn model(elements: &[(&str, Option<u16>)]) -> Vec<Coding> {
    let weights: HashMap<&str, u16> = elements
        .iter()
        .map(|(name, weight)| (name.trim_start_matches("x-"), weight.unwrap_or(1000)))
        .collect();
    let weight = |coding: &Coding| *weights.get(coding.token()).or(weights.get("*")).unwrap_or(&0);
    let plain = *weights.get("identity").unwrap_or(&0);
    let mut codings = vec![Brotli, Zstd, Gzip];
    codings.retain(|coding| weight(coding) > 0 && weight(coding) >= plain);
    codings.sort_by_key(|coding| 1000 - weight(coding));
    codings
}
