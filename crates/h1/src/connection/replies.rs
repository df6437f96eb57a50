//! From what was found to a reply that is out, and what follows it.

use super::{Connection, Ending, State};
use crate::{
    Answer, Date, Found, Head, Method, Now, Persistence, Refusal, Request, Status,
    compose::{self, Composed},
    reply::{After, Sending},
    state::Event,
};

/// What a new connection sends without awaiting a word from the other side: ten segments (RFC
/// 6928), of 1,428 bytes where IPv6 and timestamps share an Ethernet frame with it. A reply that is
/// no longer is out, and FIN with it, before the client can answer any of it. Of a longer one much
/// may wait in the socket when its last byte is handed over, and a client that then sends anything
/// would have it thrown away (RFC 9112 section 9.6).
const AT_ONCE_BYTES_MAX: u64 = 10 * 1428;

impl<F> Connection<F> {
    /// The request is whole, and this is what its lookup came to.
    pub(super) fn reply(&mut self, request: &Request, head: u16, found: Found<F>, now: &Now) {
        match found {
            Found::Answer(answer) => self.answer(request, head, answer, now),
            Found::Miss(lookup) => {
                self.go(Event::Missed, State::Load { request: *request, head, lookup });
            }
            Found::Status(status) => self.status(request, head, status, now),
        }
    }

    /// Answers and closes, because whether the body comes that nobody wants is the client's choice.
    pub(super) fn decline(&mut self, request: &Request, head: u16, found: Found<F>, now: &Now) {
        self.ending = Ending::Drains;
        let mut request = *request;
        request.persistence = Persistence::Stays;
        self.reply(&request, head, found, now);
    }

    pub(super) fn answer(&mut self, request: &Request, head: u16, answer: Answer<F>, now: &Now) {
        let (persistence, after) = self.end_of(request, head);
        let view = Head::new(&self.inbox.bytes()[..usize::from(head)], request);
        let composed = compose::answer(&view, answer, persistence, &self.limits, now);
        self.send(head, composed, after, now);
    }

    pub(super) fn status(&mut self, request: &Request, head: u16, status: Status, now: &Now) {
        let (persistence, after) = self.end_of(request, head);
        let has_content = request.method != Method::Head;
        let date = self.date(now);
        let view = Head::new(&self.inbox.bytes()[..usize::from(head)], request);
        let composed = compose::status(status, Some(&view), persistence, has_content, &date);
        self.send(head, composed, after, now);
    }

    /// Answers by ourselves and closes: more may come that nobody will understand.
    pub(super) fn refused(&mut self, Refusal(status): Refusal, now: &Now) {
        // Also a head that was not understood may have been meant so.
        let has_content = !self.inbox.bytes().starts_with(b"HEAD ");
        let date = self.date(now);
        let composed = compose::status(status, None, Persistence::Closes, has_content, &date);
        self.send(0, composed, After::Shuts, now);
    }

    /// The present's, or one that is formatted for this reply.
    fn date(&self, now: &Now) -> Date {
        if self.limits.date_cache { now.date } else { Date::new(now.date.seconds) }
    }

    /// What becomes of the connection after this reply.
    fn end_of(&self, request: &Request, head: u16) -> (Persistence, After) {
        let has_more = self.inbox.len() > usize::from(head);
        match request.persistence {
            // The client said so itself and sends no more, or can send no more. To hear it out
            // would cost three calls for each connection.
            Persistence::Closes if !has_more || self.ended => (Persistence::Closes, After::Closes),
            Persistence::Closes => (Persistence::Closes, After::Shuts),
            _ if self.ended && !has_more => (Persistence::Closes, After::Closes),
            _ if self.ending != Ending::No => (Persistence::Closes, After::Shuts),
            stays => (stays, After::Stays),
        }
    }

    fn send(&mut self, head: u16, composed: Composed<F>, after: After, now: &Now) {
        let leaves_at_once = composed.pieces.remaining() <= AT_ONCE_BYTES_MAX;
        let after = match after {
            After::Closes if !leaves_at_once && !self.ended => After::Shuts,
            after => after,
        };
        let sending = Sending::new(composed, after, &self.limits, now.at);
        if sending.part.is_some() {
            self.go(Event::ReplyOfPages, State::Pages { head, sending });
        } else {
            self.go(Event::Reply, State::Send { head, sending });
        }
    }

    /// The reply is out: the next request, or the end.
    pub(super) fn finish(&mut self, head: u16, after: After, now: &Now) {
        match after {
            After::Closes => self.go(Event::Closes, State::Closed),
            After::Shuts => self.go(Event::Shuts, State::Shut),
            After::Stays => {
                self.inbox.skip(head.into());
                (self.host, self.begun) = (0, now.at);
                self.go(Event::Stays, State::Idle { since: now.at });
                self.advance(now);
            }
        }
    }
}
