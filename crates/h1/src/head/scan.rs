//! Where a head ends, and whether it is too long to wait for its end.

use memchr::memchr;

use crate::body::is_token;
use crate::{Limits, Refusal, Request, Status};

/// Looks for the end of a head in bytes that come piece by piece; each byte is looked at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    line: usize,
    seen: usize,
}

/// Bytes of a request line besides its target: method, version, spaces.
const LINE_EXTRA_BYTES: usize = 64;

impl Scan {
    /// The head that `bytes` begin with and its length, once it is whole.
    pub(crate) fn head(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Option<(Request, u16)>, Refusal> {
        // Most heads come whole and in order. Any other is looked at line by line, so that it gets
        // the same refusal however it was cut on its way.
        if self.seen == 0
            && let Ok(head) = Request::parse(bytes, limits)
        {
            return Ok(Some(head));
        }
        let Some(end) = self.end(bytes, limits)? else { return Ok(None) };
        // Bounded by the scan: parsing refuses what is longer than a `u16` says.
        Request::judge(&bytes[..end], limits).map(|request| Some((request, end as u16)))
    }

    /// How long the head is, once its empty line is in `bytes`.
    fn end(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Refusal> {
        while let Some(found) = memchr(b'\n', &bytes[self.seen..]) {
            let lf = self.seen + found;
            self.within(lf + 1, limits)?;
            if lf == 0 || bytes[lf - 1] != b'\r' {
                return Err(BAD);
            }
            let is_empty = lf == self.line + 1;
            if self.line == 0 && !is_empty {
                judge_line(&bytes[..=lf], limits)?;
            }
            self.seen = lf + 1;
            self.line = self.seen;
            if is_empty {
                return Ok(Some(self.seen));
            }
        }
        self.seen = bytes.len();
        if self.line == 0 && !begins_with_method(bytes) {
            return Err(BAD);
        }
        // At least one byte is still to come.
        self.within(bytes.len() + 1, limits)?;
        Ok(None)
    }

    fn within(&self, bytes: usize, limits: &Limits) -> Result<(), Refusal> {
        if self.line == 0 { within_line(bytes, limits) } else { within_head(bytes, limits) }
    }
}

/// Judges a request line before its fields have come: what speaks another protocol may wait for an
/// answer to its first line.
fn judge_line(line: &[u8], limits: &Limits) -> Result<(), Refusal> {
    let head = [line, b"Host: a\r\n\r\n"].concat();
    match Request::judge(&head, limits) {
        // That is said of the field, not of the line.
        Ok(_) | Err(TOO_MANY) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

/// Whether bytes without a line's end may be the beginning of a request. A CR alone may be that of
/// an empty line before it.
fn begins_with_method(bytes: &[u8]) -> bool {
    let begin = &bytes[..bytes.len().min(LINE_EXTRA_BYTES)];
    let method = begin.split(|byte| *byte == b' ').next().unwrap_or_default();
    bytes == b"\r" || method.iter().all(|byte| is_token(*byte))
}

/// Judges the length of a request line, its CRLF included.
pub(super) fn within_line(bytes: usize, limits: &Limits) -> Result<(), Refusal> {
    let max = limits.target_bytes_max.saturating_add(LINE_EXTRA_BYTES);
    if bytes > max.min(limits.head_bytes_max) { Err(TOO_LONG) } else { Ok(()) }
}

pub(super) fn within_head(bytes: usize, limits: &Limits) -> Result<(), Refusal> {
    if bytes > limits.head_bytes_max.min(HEAD_BYTES_MAX) { Err(TOO_MANY) } else { Ok(()) }
}

/// What positions of two bytes can tell of.
pub(super) const HEAD_BYTES_MAX: usize = u16::MAX as usize;

pub(super) const BAD: Refusal = Refusal(Status::BAD_REQUEST);
pub(super) const TOO_LONG: Refusal = Refusal(Status::URI_TOO_LONG);
pub(super) const TOO_MANY: Refusal = Refusal(Status::REQUEST_HEADER_FIELDS_TOO_LARGE);
