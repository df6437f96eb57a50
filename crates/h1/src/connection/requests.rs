//! From bytes to a request that is whole.

use super::{Connection, State};
use crate::{
    Framing, Method, Now, Refusal, Request, Status,
    body::Body,
    compose,
    head::Scan,
    reply::{Rate, Sending},
    state::Event,
};

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
        // Empty lines before a request are passed over (RFC 9112 section 2.2).
        while self.inbox.bytes().starts_with(b"\r\n") {
            self.inbox.skip(2);
            scan = Scan::default();
        }
        match scan.head(self.inbox.bytes(), &self.limits) {
            Ok(Some((request, head))) => self.begin(request, head, now),
            Ok(None) if self.inbox.len() == 0 && self.is_idle() => {}
            Ok(None) => self.go(Event::HeadPart, State::Head { since, scan }),
            Err(refusal) => self.refused(refusal, now),
        }
    }

    /// A head is whole and may be answered, once its body has come.
    fn begin(&mut self, request: Request, head: u16, now: &Now) {
        if request.framing == Framing::None {
            self.go(Event::HeadWhole, State::Find { request, head });
            return self.whole(now);
        }
        let may_be_served = matches!(request.method, Method::Get | Method::Head | Method::Options);
        if request.expects_continue && !may_be_served {
            // The body is not wanted, and whether it comes is the client's choice.
            return self.refused(Refusal(refusal_of(request.method)), now);
        }
        match Body::new(request.framing, self.limits.body_bytes_max) {
            Err(refusal) => self.refused(refusal, now),
            Ok(body) if self.is_awaited(&request, head) && !body.is_done() => {
                let sending = Sending::of_interim(compose::continue_(), &self.limits, now.at);
                self.go(Event::BodyOffered, State::Continue { request, head, body, sending });
            }
            Ok(body) => {
                let rate = Rate::new(now.at);
                self.go(Event::BodyAhead, State::Body { request, head, body, rate });
            }
        }
    }

    /// Whether the client awaits our word: not if it has begun without (RFC 9110 section 10.1.1).
    fn is_awaited(&self, request: &Request, head: u16) -> bool {
        request.expects_continue && self.inbox.len() == usize::from(head)
    }

    fn advance_body(&mut self, now: &Now) {
        let State::Body { request, head, body, .. } = &mut self.state else { return };
        let (request, head) = (*request, *head);
        match body.take(&self.inbox.bytes()[usize::from(head)..]) {
            Err(refusal) => self.refused(refusal, now),
            Ok(n) => {
                let is_done = body.is_done();
                self.inbox.skip_behind(head.into(), n);
                if is_done {
                    self.go(Event::BodyWhole, State::Find { request, head });
                    self.whole(now);
                }
            }
        }
    }

    /// The request is whole, and is looked up unless its method means nothing.
    fn whole(&mut self, now: &Now) {
        let State::Find { request, head } = self.state else { return };
        if request.method == Method::Unknown {
            self.status(&request, head, refusal_of(request.method), now);
        }
    }
}

const fn refusal_of(method: Method) -> Status {
    match method {
        Method::Unknown => Status::NOT_IMPLEMENTED,
        _ => Status::METHOD_NOT_ALLOWED,
    }
}
