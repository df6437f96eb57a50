//! Conditional requests (RFC 9110 section 13): whether the client's copy is still the current one.

use crate::{Date, Head, Method};

/// What identifies the current state of a representation.
#[derive(Debug, Clone, Copy)]
pub struct Validators<'r> {
    /// With its quotes; always strong.
    pub etag: Option<&'r [u8]>,
    /// Seconds since 1970.
    pub modified: Option<u64>,
}

/// What becomes of a conditional request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is answered as if it had no condition.
    Proceed,
    /// 304: the client has what it asks for.
    NotModified,
    /// 412: the client has something else than it thinks.
    Failed,
}

/// Judges a request for a representation that would be answered by 200, in the order of RFC 9110
/// section 13.2.2. `If-Range` is not among the conditions: see [`range_holds`].
#[must_use]
pub fn judge(head: &Head<'_>, current: Validators<'_>) -> Verdict {
    let reads = matches!(head.method(), Method::Get | Method::Head);
    if is_present(head, "if-match") {
        if !any_matches(head.values("if-match"), current.etag, Comparison::Strong) {
            return Verdict::Failed;
        }
    } else if let Some(seen) = single_date(head.values("if-unmodified-since"))
        && current.modified.is_some_and(|modified| modified > seen)
    {
        return Verdict::Failed;
    }
    if is_present(head, "if-none-match") {
        return match any_matches(head.values("if-none-match"), current.etag, Comparison::Weak) {
            false => Verdict::Proceed,
            true if reads => Verdict::NotModified,
            true => Verdict::Failed,
        };
    }
    if reads
        && let Some(seen) = single_date(head.values("if-modified-since"))
        && current.modified.is_some_and(|modified| modified <= seen)
    {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// Whether `Range` is to be honoured: there is no `If-Range`, or it names the current state by a
/// strong validator (RFC 9110 section 13.1.5). A date is one once the file has been left alone for
/// a whole second (section 8.8.2.2): before that it may have changed twice within its second.
#[must_use]
pub fn range_holds(head: &Head<'_>, current: Validators<'_>, date: &Date) -> bool {
    let mut values = head.values("if-range");
    let value = match (values.next(), values.next()) {
        (None, _) => return true,
        (Some(value), None) => value.trim_ascii(),
        (Some(_), Some(_)) => return false,
    };
    if value.ends_with(b"\"") {
        return current.etag.is_some_and(|etag| etag == value);
    }
    current.modified.is_some_and(|modified| {
        modified < date.seconds && Date::parse(value).is_some_and(|seen| seen == modified)
    })
}

fn is_present(head: &Head<'_>, name: &'static str) -> bool {
    head.values(name).next().is_some()
}

/// How entity tags are compared (RFC 9110 section 8.8.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// Weak tags equal nothing.
    Strong,
    /// Weak or not makes no difference.
    Weak,
}

/// Whether the list names the current state. A field that is no list, or a star beside anything
/// else, matches nothing, whatever tags stand in it: nobody can know what was meant.
fn any_matches<'v>(
    mut values: impl Iterator<Item = &'v [u8]>,
    current: Option<&[u8]>,
    comparison: Comparison,
) -> bool {
    let Some(first) = values.next() else { return false };
    if first.trim_ascii() == b"*" {
        return values.next().is_none();
    }
    let mut any = false;
    for value in std::iter::once(first).chain(values) {
        for tag in (Tags { rest: value }) {
            let Some(tag) = tag else { return false };
            let is_current = current.is_some_and(|current| tag.text == current);
            any |= is_current && (!tag.is_weak || comparison == Comparison::Weak);
        }
    }
    any
}

struct Tag<'v> {
    is_weak: bool,
    /// With its quotes.
    text: &'v [u8],
}

/// The entity tags of a list (RFC 9110 sections 5.6.1 and 8.8.3), nothing in the place of what is
/// none. A comma may stand inside a tag, so the list cannot just be split.
struct Tags<'v> {
    rest: &'v [u8],
}

impl<'v> Iterator for Tags<'v> {
    type Item = Option<Tag<'v>>;

    fn next(&mut self) -> Option<Self::Item> {
        while let [b' ' | b'\t' | b',', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return None;
        }
        let (tag, rest) = match Tag::first_of(self.rest) {
            Some((tag, rest)) => (Some(tag), rest),
            None => (None, &b""[..]),
        };
        self.rest = rest;
        Some(tag)
    }
}

impl<'v> Tag<'v> {
    /// A list's first member and what follows it, which is the list's end or a comma.
    fn first_of(list: &'v [u8]) -> Option<(Self, &'v [u8])> {
        let (is_weak, quoted) = match list {
            [b'W', b'/', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let inside = quoted.strip_prefix(b"\"")?;
        let end = inside.iter().position(|&byte| !is_etagc(byte))?;
        if inside[end] != b'"' {
            return None;
        }
        let (text, rest) = quoted.split_at(end + 2);
        let is_last = matches!(rest.trim_ascii_start(), [] | [b',', ..]);
        is_last.then_some((Self { is_weak, text }, rest))
    }
}

/// What a tag may hold between its quotes.
const fn is_etagc(byte: u8) -> bool {
    byte > b' ' && byte != b'"' && byte != 0x7f
}

/// A date that is malformed or one of several is no condition (RFC 9110 sections 13.1.3, 13.1.4).
fn single_date<'v>(mut values: impl Iterator<Item = &'v [u8]>) -> Option<u64> {
    match (values.next(), values.next()) {
        (Some(value), None) => Date::parse(value.trim_ascii()),
        _ => None,
    }
}
