use std::ops::Range;

use h1::range::{Selection, select};

const RANGES_MAX: usize = 16;

/// Parts nearer than this are sent as one.
const GAP_MAX: u64 = 80;

/// A length in decimal digits, then `Range` lines, each behind a line feed: what is selected lies
/// within the representation, is disjoint, and holds every byte that was asked for.
///
/// # Panics
/// Where one of these does not hold.
pub fn range(data: &[u8]) {
    let mut lines = data.split(|&byte| byte == b'\n');
    let length = lines.next().and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
    let Some(length) = length else { return };
    let values: Vec<&[u8]> = lines.collect();
    let selection = select(values.iter().copied(), length, RANGES_MAX);
    let asked = match values[..] {
        [value] => asked(value, length),
        _ => None,
    };
    let parts = match selection {
        Selection::Whole => {
            let plain = asked.is_none_or(|asked| asked.iter().all(Range::is_empty));
            return assert!(plain || length == 0, "ignored without a reason");
        }
        Selection::Unsatisfiable => return assert_eq!(asked, Some(vec![]), "it is satisfiable"),
        Selection::Part(part) => vec![part],
        Selection::Parts(parts) => {
            assert!(parts.len() > 1, "one part is no list");
            parts
        }
    };
    check(&parts, &asked.expect("it is malformed"), length);
}

fn check(parts: &[Range<u64>], asked: &[Range<u64>], length: u64) {
    assert!(parts.len() <= asked.len(), "more parts than ranges");
    for part in parts {
        assert!(part.start < part.end && part.end <= length, "{part:?} of {length}");
        let within = |range: &&Range<u64>| part.start <= range.start && range.end <= part.end;
        let mut within: Vec<_> = asked.iter().filter(within).cloned().collect();
        within.sort_by_key(|range| range.start);
        assert_eq!(within.first().map(|range| range.start), Some(part.start), "begins too early");
        let end = within.iter().fold(part.start, |end, range| {
            assert!(range.start < end.saturating_add(GAP_MAX), "sends a gap nobody asked for");
            end.max(range.end)
        });
        assert_eq!(end, part.end, "ends too late");
    }
    for range in asked {
        let covers = |part: &&Range<u64>| part.start <= range.start && range.end <= part.end;
        assert_eq!(parts.iter().filter(covers).count(), 1, "{range:?} of {parts:?}");
    }
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|part| part.start);
    for pair in sorted.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:?} overlap");
    }
}

/// The satisfiable ranges of one value; nothing where it is to be ignored.
fn asked(value: &[u8], length: u64) -> Option<Vec<Range<u64>>> {
    let value = str::from_utf8(value).ok()?;
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let elements: Vec<&str> =
        set.split(',').map(str::trim_ascii).filter(|element| !element.is_empty()).collect();
    if elements.is_empty() || elements.len() > RANGES_MAX {
        return None;
    }
    let mut ranges = Vec::new();
    for element in elements {
        let (first, last) = element.split_once('-')?;
        let range = match (first, last) {
            ("", last) => length.saturating_sub(number(last)?)..length,
            (first, "") => number(first)?..length,
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return None;
                }
                first..last.saturating_add(1).min(length)
            }
        };
        if range.start < range.end {
            ranges.push(range);
        }
    }
    Some(ranges)
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Only what is too large can fail now.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}
