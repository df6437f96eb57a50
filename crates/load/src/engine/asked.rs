//! A request on its way, from its schedule to its record.

use measure::Instant;
use measure::draw::Stream;

use super::visit::Due;
use crate::files::{Comparison, File, FileId, Files};
use crate::record::{Outcome, Record};
use crate::session::{Method, Request};

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Asked {
    /// What its connection knows it by.
    pub(super) tag: u32,
    pub(super) due: Due,
    /// Whether it was to be made at a time; else it counts from when it leaves.
    has_time: bool,
    pub(super) file: FileId,
    method: Method,
    pub(super) is_conditional: bool,
    /// When it left; see [`Self::leaves`].
    started: Option<Instant>,
    pub(super) connected: Option<Instant>,
    pub(super) first_byte: Option<Instant>,
    pub(super) retries_left: u16,
    bytes: u64,
    /// Of the reply, as its head said.
    pub(super) status: u16,
    pub(super) length: Option<u64>,
    /// Of its content, so far.
    content: u64,
    comparison: Option<Box<Comparison>>,
}

impl Asked {
    /// One that has not left yet. A share of those whose content was made is compared with it.
    pub(super) fn new(due: Due, request: &Request, has_time: bool) -> Self {
        Self {
            tag: 0,
            due,
            has_time,
            file: request.file,
            method: request.method,
            is_conditional: request.is_conditional,
            started: None,
            connected: None,
            first_byte: None,
            retries_left: 0,
            bytes: 0,
            status: 0,
            length: None,
            content: 0,
            comparison: None,
        }
    }

    /// Whether it asks for what has changed alone is drawn for every GET that a workload does not
    /// make conditional itself.
    pub(super) fn make_conditional(&mut self, share: f64, from: &mut Stream) {
        if share > 0.0 && self.method == Method::Get {
            self.is_conditional |= from.unit() < share;
        }
    }

    /// Whether its content is to be compared is drawn for every request, so that one does not
    /// depend on what another was.
    pub(super) fn verify(&mut self, share: f64, files: &Files, from: &mut Stream) {
        let File { target, bytes, .. } = files.file(self.file);
        let is_drawn = from.unit() < share;
        if let (true, Method::Get, Some(bytes)) = (is_drawn && files.is_made, self.method, bytes) {
            self.comparison = Some(Box::new(Comparison::new(target, *bytes)));
        }
    }

    /// The kernel is given its bytes, or the SYN that they wait for: from the first time on, it
    /// waits for the server, and no more for the generator.
    pub(super) fn leaves(&mut self, now: Instant) {
        let started = *self.started.get_or_insert(now);
        if !self.has_time {
            self.due.intended = started;
        }
    }

    /// Bytes came for it.
    pub(super) fn received(&mut self, bytes: usize, now: Instant) {
        if bytes > 0 {
            self.bytes += bytes as u64;
            self.first_byte.get_or_insert(now);
        }
    }

    /// Some of its content came.
    pub(super) fn content(&mut self, piece: &[u8]) {
        self.content += piece.len() as u64;
        if let Some(comparison) = &mut self.comparison {
            comparison.take(piece);
        }
    }

    /// How it ended, if its reply is whole and `is_alone`: nothing came behind it that nobody asked
    /// for.
    pub(super) fn outcome(&self, files: &Files, is_alone: bool) -> Outcome {
        let is_current = self.status == NOT_MODIFIED && self.is_conditional;
        if !is_current && !matches!(self.status, 200..=299) {
            return Outcome::Status(self.status);
        }
        let told = match self.method {
            _ if is_current => None,
            Method::Get => Some(self.content),
            Method::Head => self.length,
            _ => None,
        };
        let expected = files.made_bytes(self.file);
        let has_length = told.zip(expected).is_none_or(|(came, bytes)| came == bytes);
        let is_same = is_current || self.comparison.as_ref().is_none_or(|made| made.is_same());
        if has_length && is_same && is_alone { Outcome::Good } else { Outcome::Wrong }
    }

    /// What is told of it, by the session's number and whether it is the last one of it.
    pub(super) fn record(
        &self,
        (session, is_last): (u64, bool),
        outcome: Outcome,
        now: Instant,
    ) -> Record {
        Record {
            file: self.file,
            session,
            place: self.due.place,
            is_last,
            intended: self.due.intended,
            started: self.started.unwrap_or(now),
            connected: self.connected,
            first_byte: self.first_byte,
            ended: now,
            bytes: self.bytes,
            outcome,
        }
    }
}

/// The client's copy is still current (RFC 9110 section 15.4.5).
const NOT_MODIFIED: u16 = 304;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    #[test]
    fn replies_are_judged_by_status_length_and_content() {
        let file = File { target: "/a".into(), bytes: Some(5), class: 0 };
        let mut right = Vec::new();
        files::content("/a", 5, |piece| right.extend_from_slice(piece));
        let files = Files::new(vec![file.clone()], true);
        let check = |method, is_conditional, status, length, content: &[u8], expected| {
            let asked = answered(&files, (method, is_conditional), (status, length), content);
            let row = format!("{method:?} {is_conditional} {status} {length:?} {content:?}");
            assert_eq!(asked.outcome(&files, true), expected, "{row}");
            let alone = if expected == Outcome::Good { Outcome::Wrong } else { expected };
            assert_eq!(asked.outcome(&files, false), alone, "{row}, and more");
        };
        use Method::{Get, Head, Post};
        use Outcome::{Good, Status, Wrong};
        check(Get, false, 200, Some(5), &right, Good);
        check(Get, false, 200, None, &right, Good);
        check(Get, false, 200, Some(4), &right[..4], Wrong);
        check(Get, false, 200, Some(5), b"abcde", Wrong);
        check(Get, false, 404, Some(5), &right, Status(404));
        check(Get, false, 304, None, b"", Status(304));
        check(Get, true, 304, None, b"", Good);
        check(Get, true, 200, Some(5), &right, Good);
        check(Get, true, 200, Some(5), b"abcde", Wrong);
        check(Head, false, 200, Some(5), b"", Good);
        check(Head, false, 200, None, b"", Good);
        check(Head, false, 200, Some(6), b"", Wrong);
        check(Post, false, 200, Some(2), b"ok", Good);
        check(Post, false, 500, Some(2), b"no", Status(500));
        // Of files that were not made nobody knows what they are now.
        let own = Files::new(vec![file], false);
        for (method, content) in [(Get, &b"other"[..]), (Get, b"longer than"), (Head, b"")] {
            let asked = answered(&own, (method, false), (200, Some(9)), content);
            assert_eq!(asked.outcome(&own, true), Good, "{method:?} {content:?}");
        }
    }

    fn answered(
        files: &Files,
        (method, is_conditional): (Method, bool),
        (status, length): (u16, Option<u64>),
        content: &[u8],
    ) -> Asked {
        let request = Request { method, is_conditional, ..Request::get(FileId(0)) };
        let due = Due { burst: 0, index: 0, place: 0, intended: Instant::ORIGIN };
        let mut asked = Asked::new(due, &request, true);
        asked.verify(1.0, files, &mut Stream::new(1, 1));
        (asked.status, asked.length) = (status, length);
        content.chunks(2).for_each(|piece| asked.content(piece));
        asked
    }
}
