//! Byte ranges: which parts of a representation a `Range` field asks for (RFC 9110 section 14).

use std::ops::Range;

/// Two parts whose gap is smaller than this become one: the head of a part costs about as much, and
/// RFC 9110 section 15.3.7.2 names the same number of bytes.
const GAP_MAX: u64 = 80;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Everything: there is no `Range`, or one that is to be ignored.
    Whole,
    /// Nothing that is there: 416.
    Unsatisfiable,
    /// One part.
    Part(Range<u64>),
    /// Two parts or more in the order asked for, none of them near another.
    Parts(Vec<Range<u64>>),
}

/// Selects parts of a representation of `length` bytes by the request's `Range` lines. A field that
/// is repeated, malformed, of another unit or of more than `ranges_max` ranges is ignored, as RFC
/// 9110 section 14.2 allows.
pub fn select<'v>(
    values: impl IntoIterator<Item = &'v [u8]>,
    length: u64,
    ranges_max: usize,
) -> Selection {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => select_by(value, length, ranges_max).unwrap_or(Selection::Whole),
        _ => Selection::Whole,
    }
}

fn select_by(value: &[u8], length: u64, ranges_max: usize) -> Option<Selection> {
    let (unit, set) = value.split_at_checked("bytes=".len())?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let specs = set.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    let mut count = 0;
    let mut parts = Vec::new();
    for spec in specs.filter(|spec| !spec.is_empty()) {
        count += 1;
        if count > ranges_max {
            return None;
        }
        if let Some(part) = Spec::parse(spec)?.within(length) {
            add(&mut parts, part);
        }
    }
    match parts.as_slice() {
        [] if count == 0 => None,
        [] => Some(Selection::Unsatisfiable),
        // The end of an empty representation: satisfiable, but no Content-Range can express it.
        [part] if part.is_empty() => None,
        [part] => Some(Selection::Part(part.clone())),
        _ => Some(Selection::Parts(parts)),
    }
}

// The parts are never near each other, so whatever the sum of the new part and its neighbours is
// near to is near to the new part itself: one pass is enough.
fn add(parts: &mut Vec<Range<u64>>, new: Range<u64>) {
    let place = parts.iter().position(|part| are_near(part, &new));
    let mut sum = new.clone();
    parts.retain(|part| {
        let is_near = are_near(part, &new);
        if is_near {
            sum = sum.start.min(part.start)..sum.end.max(part.end);
        }
        !is_near
    });
    parts.insert(place.unwrap_or(parts.len()), sum);
}

fn are_near(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.saturating_sub(other.end) < GAP_MAX && other.start.saturating_sub(one.end) < GAP_MAX
}

/// A range as it is written.
enum Spec {
    /// `first-last`, or `first-` with the largest number for `last`.
    Between { first: u64, last: u64 },
    /// `-n`: the last `n` bytes.
    Last(u64),
}

impl Spec {
    fn parse(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|&byte| byte == b'-')?;
        let (first, last) = (&text[..dash], &text[dash + 1..]);
        if first.is_empty() {
            return Some(Self::Last(number(last)?));
        }
        let first = number(first)?;
        let last = if last.is_empty() { u64::MAX } else { number(last)? };
        (first <= last).then_some(Self::Between { first, last })
    }

    /// The bytes that are there; nothing where the range is not satisfiable.
    fn within(self, length: u64) -> Option<Range<u64>> {
        match self {
            Self::Between { first, last } => {
                (first < length).then(|| first..last.saturating_add(1).min(length))
            }
            Self::Last(0) => None,
            Self::Last(n) => Some(length.saturating_sub(n)..length),
        }
    }
}

/// A number beyond 64 bits counts as the largest: no file reaches so far, the meaning is the same.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(sum.saturating_mul(10).saturating_add(digit.into()))
    })
}
