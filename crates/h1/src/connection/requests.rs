//! From bytes to a head that is whole, and to the end of the body behind it.

use core::mem;

use super::{Connection, State, Upload};
use crate::{
    Answer, Found, Now, Refusal, Request, Status, compose,
    head::Scan,
    reply::{Rate, Sending},
    state::Event,
};

/// Empty lines before a request that are passed over. RFC 9112 section 2.2 asks for one, which
/// clients of old sent behind a body; who sends many more sends no request.
const EMPTY_LINES_MAX: u8 = 8;

impl<F> Connection<F> {
    /// Goes as far as the bytes lead that have come.
    pub(super) fn advance(&mut self, now: &Now) {
        if let State::Idle { .. } | State::Head { .. } = self.state {
            self.advance_head(now);
        }
        if let State::Body { .. } = self.state {
            self.advance_body(now);
        }
        if !self.receives() {
            return;
        }
        if self.ended {
            self.go(Event::Over, State::Closed);
        } else {
            self.inbox.compact();
        }
    }

    fn advance_head(&mut self, now: &Now) {
        let (since, mut scan) = match self.state {
            State::Head { since, scan } => (since, scan),
            _ => (now.at, Scan::default()),
        };
        while self.inbox.bytes().starts_with(b"\r\n") {
            if self.empty_lines == EMPTY_LINES_MAX {
                return self.refused(Refusal(Status::BAD_REQUEST), now);
            }
            self.empty_lines += 1;
            self.inbox.skip(2);
            scan = Scan::default();
        }
        match scan.head(self.inbox.bytes(), &self.limits) {
            Ok(Some((request, head))) => self.begin(request, head),
            Ok(None) if self.inbox.len() == 0 && self.is_idle() => {}
            Ok(None) => self.go(Event::HeadPart, State::Head { since, scan }),
            Err(refusal) => self.refused(refusal, now),
        }
    }

    /// A head is whole.
    fn begin(&mut self, request: Request, head: u16) {
        self.empty_lines = 0;
        self.go(Event::HeadWhole, State::Find { request, head });
    }

    /// A body follows a head that was looked up. The client is told to send it only now, when it is
    /// known that it will not be refused whatever it sends.
    pub(super) fn upload(&mut self, upload: Box<Upload<F>>, now: &Now) {
        if self.is_awaited(&upload) {
            let sending = Sending::of_interim(compose::continue_(), &self.limits, now.at);
            self.go(Event::BodyOffered, State::Continue { upload, sending });
        } else {
            self.go(Event::BodyAhead, State::Body { upload, rate: Rate::new(now.at) });
        }
        self.advance(now);
    }

    /// Whether the client awaits our word: not if it has begun without (RFC 9110 section 10.1.1).
    fn is_awaited(&self, upload: &Upload<F>) -> bool {
        upload.request.expects_continue && self.inbox.len() == usize::from(upload.head)
    }

    fn advance_body(&mut self, now: &Now) {
        let State::Body { upload, .. } = &mut self.state else { return };
        let head = usize::from(upload.head);
        match upload.body.take(&self.inbox.bytes()[head..]) {
            Err(refusal) => self.refused(refusal, now),
            Ok(n) => {
                let is_done = upload.body.is_done();
                self.inbox.skip_behind(head, n);
                if is_done {
                    self.uploaded(now);
                }
            }
        }
    }

    /// The body is whole. What was found may be older than a second by now, and so may the date in
    /// what was prebuilt.
    fn uploaded(&mut self, now: &Now) {
        let State::Body { upload, .. } = &mut self.state else { return };
        let (request, head) = (upload.request, upload.head);
        let found = match mem::replace(&mut upload.found, Found::Status(Status::NO_CONTENT)) {
            Found::Answer(answer) => Found::Answer(Answer { prebuilt: None, ..answer }),
            found => found,
        };
        self.reply(&request, head, found, now);
    }
}
