use std::collections::HashMap;

use h1::Codings;
use h1::negotiation::{Coding, weight, weight_of};

const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

/// The lines of a field, each ended by LF: taken as `Accept-Encoding`, as `Accept` and as weights
/// without a panic, and understood as a naive reader does. No weight is more than one.
///
/// # Panics
/// Where one of these does not hold.
pub fn accept(data: &[u8]) {
    let lines: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    let codings = Codings::parse(lines.iter().copied());
    let found: Vec<_> = codings.iter().collect();
    assert_eq!(found, best_first(&lines), "of codings");
    assert_eq!(found.is_empty(), codings.is_empty());
    for media_type in ["text/html", "application/json"] {
        let found = weight_of(lines.iter().copied(), media_type);
        assert_eq!(found, weight_by_name(&lines, media_type), "of {media_type}");
    }
    for text in lines {
        let found = weight(text);
        assert_eq!(found, thousandths(text), "of {}", text.escape_ascii());
        if let Some(found) = found {
            assert!(found <= 1000, "{found}");
            let written = format!("q={}.{:03}", found / 1000, found % 1000);
            assert_eq!(weight(written.as_bytes()), Some(found), "{written}");
        }
    }
}

/// The codings that are wanted, and no less than the plain bytes.
fn best_first(lines: &[&[u8]]) -> Vec<Coding> {
    let mut weights = HashMap::new();
    for element in elements(lines) {
        let (name, weight) = match element.iter().position(|&byte| byte == b';') {
            Some(at) => (&element[..at], thousandths(element[at + 1..].trim_ascii())),
            None => (element, Some(1000)),
        };
        let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
        let name = if name == "x-gzip" { String::from("gzip") } else { name };
        weights.extend(weight.map(|weight| (name, weight)));
    }
    let weight = |coding: &Coding| *weights.get(coding.token()).or(weights.get("*")).unwrap_or(&0);
    let plain = *weights.get("identity").unwrap_or(&0);
    let mut codings = CODINGS.to_vec();
    codings.retain(|coding| weight(coding) > 0 && weight(coding) >= plain);
    codings.sort_by_key(|coding| 1000 - weight(coding));
    codings
}

fn weight_by_name(lines: &[&[u8]], media_type: &str) -> u16 {
    let mut found = 0;
    for element in elements(lines) {
        let mut parts = element.split(|&byte| byte == b';');
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default().trim_ascii());
        if name.to_ascii_lowercase() == media_type {
            let weights: Vec<_> = parts.filter_map(|part| thousandths(part.trim_ascii())).collect();
            found = *weights.first().unwrap_or(&1000);
        }
    }
    found
}

fn elements<'l>(lines: &[&'l [u8]]) -> impl Iterator<Item = &'l [u8]> {
    lines.iter().flat_map(|line| line.split(|&byte| byte == b','))
}

/// `q=0`, `q=1` and up to three places behind the point, of which those of one are noughts.
fn thousandths(text: &[u8]) -> Option<u16> {
    let text = str::from_utf8(text).ok()?;
    let number = text.strip_prefix(['q', 'Q'])?.strip_prefix('=')?;
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let is_one = whole == "1" && places.bytes().all(|digit| digit == b'0');
    let is_less = whole == "0" && places.bytes().all(|digit| digit.is_ascii_digit());
    if places.len() > 3 || !(is_one || is_less) {
        return None;
    }
    format!("{whole}{places:0<3}").parse().ok()
}
