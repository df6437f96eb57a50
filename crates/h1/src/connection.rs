use core::mem;

use measure::{Duration, Instant};

use crate::body::Body;
use crate::compose::{self, Composed};
use crate::head::{Scan, first_line};
use crate::reply::{After, Rate, Sending};
use crate::state::{self, Event};
use crate::{
    Answer, Found, Framing, Head, Limits, Loaded, Lookup, Method, Miss, Now, Persistence, Refusal,
    Request, Shared, Status, Want,
};

/// Which patience of ours a deadline belongs to. All deadlines of one kind lie equally far ahead
/// when they are set, so a driver can keep one first-in-first-out list for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// [`Limits::head_timeout`]
    Head,
    /// [`Limits::idle_timeout`]
    Idle,
    /// [`Limits::rate_window`], in which a body or an answer must get on.
    Rate,
    /// [`Limits::linger_timeout`]
    Linger,
}

/// When [`Connection::expired`] is due, and by which patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The patience.
    pub timeout: Timeout,
    /// The moment.
    pub at: Instant,
}

/// Why a driver gives a connection up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The peer reset it or went away.
    Peer,
    /// A file ended before the length that was announced.
    Shrank,
    /// The machine failed: a read error, no memory.
    Machine,
}

/// A reply that has been sent whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: Status,
    /// Bytes of content sent, the head left out.
    pub bytes: u64,
}

/// One HTTP/1.1 connection.
pub struct Connection<F> {
    limits: Shared<Limits>,
    state: State<F>,
    /// The head in hand, and what came behind it. Empty and without memory between requests.
    buffer: Vec<u8>,
    /// The reply in hand is the last.
    draining: bool,
    /// The peer sent FIN.
    ended: bool,
}

/// The states of [`crate::state`], with what each needs.
enum State<F> {
    Idle { since: Instant },
    Head { since: Instant, scan: Scan },
    Continue { request: Request, head: u16, sending: Sending<F> },
    Body { request: Request, head: u16, body: Body, rate: Rate },
    Find { request: Request, head: u16 },
    Load { request: Request, head: u16, lookup: Lookup },
    Pages { head: u16, sending: Sending<F> },
    Send { head: u16, sending: Sending<F> },
    Shut,
    Linger { since: Instant, left: u64 },
    Closed,
}

/// Bytes that may wait behind the request in hand; what comes then is the client's own fault, and
/// the connection closes after the reply.
const LEFTOVER_BYTES_MAX: usize = 64 << 10;

impl<F> Connection<F> {
    /// A connection just accepted.
    #[must_use]
    pub fn new(limits: Shared<Limits>, now: Instant) -> Self {
        let state = State::Head { since: now, scan: Scan::default() };
        Self { limits, state, buffer: Vec::new(), draining: false, ended: false }
    }

    /// What is to be done next.
    #[must_use]
    pub fn want(&self) -> Want<'_, F> {
        match &self.state {
            State::Idle { .. } | State::Head { .. } | State::Body { .. } | State::Linger { .. } => {
                Want::Recv
            }
            State::Find { request, head } => {
                Want::Find(Head::new(&self.buffer[..usize::from(*head)], request))
            }
            State::Load { lookup, .. } => Want::Load(Miss::Path(lookup.clone())),
            State::Pages { sending, .. } => match &sending.part {
                Some(part) => Want::Load(Miss::Pages(part.clone())),
                None => Want::Close,
            },
            State::Continue { sending, .. } | State::Send { sending, .. } => {
                Want::Send(&sending.chunk, sending.part.as_ref())
            }
            State::Shut => Want::Shut,
            State::Closed => Want::Close,
        }
    }

    /// Takes all bytes, in any state; what is not due yet is kept. `false`: enough for now, deliver
    /// nothing more until the next `Recv`.
    pub fn received(&mut self, bytes: &[u8], now: &Now) -> bool {
        match &mut self.state {
            State::Closed | State::Shut => return false,
            State::Linger { left, .. } => {
                *left = left.saturating_sub(bytes.len() as u64);
                if *left == 0 {
                    self.go(Event::Over, State::Closed);
                }
                return true;
            }
            State::Body { rate, .. } => rate.moved(bytes.len() as u64, now.at),
            _ => {}
        }
        if self.buffer.len() + bytes.len() > self.limits.head_bytes_max + LEFTOVER_BYTES_MAX {
            self.draining = true;
            return false;
        }
        self.buffer.extend_from_slice(bytes);
        self.advance(now);
        matches!(self.want(), Want::Recv)
    }

    /// The peer sent FIN: a reply in hand is still sent.
    pub fn ended(&mut self, _: &Now) {
        self.ended = true;
        if matches!(self.want(), Want::Recv) {
            self.go(Event::Over, State::Closed);
        }
    }

    /// Answers `Find`.
    pub fn found(&mut self, found: Found<F>, now: &Now) {
        let State::Find { request, head } = self.state else { return };
        match found {
            Found::Answer(answer) => self.answer(&request, head, &answer, now),
            Found::Miss(lookup) => self.go(Event::Missed, State::Load { request, head, lookup }),
            Found::Status(status) => self.status(&request, head, status, now),
        }
    }

    /// Answers `Load`.
    pub fn loaded(&mut self, loaded: Loaded<F>, now: &Now) {
        match (mem::replace(&mut self.state, State::Closed), loaded) {
            (State::Load { request, head, lookup }, loaded) => {
                self.state = State::Load { request, head, lookup };
                match loaded {
                    Loaded::Answer(answer) => self.answer(&request, head, &answer, now),
                    Loaded::Status(status) => self.status(&request, head, status, now),
                    Loaded::Pages | Loaded::More(_) => debug_assert!(false, "a path was wanted"),
                }
            }
            (State::Pages { head, mut sending }, Loaded::Pages) => {
                sending.rate = Rate::new(now.at);
                self.state = State::Send { head, sending };
            }
            // The pages of a reply that has begun cannot be had: it must not look complete.
            (State::Pages { .. }, _) => {}
            (state, _) => {
                debug_assert!(false, "nothing was to be loaded");
                self.state = state;
            }
        }
    }

    /// `n` more bytes of what `Send` wants are out: first the chunk's, then the file part's.
    /// Returns the reply that became complete by it.
    pub fn sent(&mut self, n: u64, now: &Now) -> Option<Reply> {
        let (State::Send { sending, .. } | State::Continue { sending, .. }) = &mut self.state
        else {
            return None;
        };
        if !sending.sent(n, &self.limits, now.at) {
            return None;
        }
        match mem::replace(&mut self.state, State::Closed) {
            State::Continue { request, head, .. } => {
                let rate = Rate::new(now.at);
                // The bound was judged before the word to go on was given.
                match Body::new(request.framing, self.limits.body_bytes_max) {
                    Ok(body) => self.state = State::Body { request, head, body, rate },
                    Err(refusal) => self.refused(refusal, now),
                }
                self.advance(now);
                None
            }
            State::Send { head, sending } if sending.part.is_some() => {
                self.state = State::Pages { head, sending };
                None
            }
            State::Send { head, sending } => {
                let reply = sending.reply();
                self.state = State::Send { head, sending };
                self.finish(now);
                Some(reply)
            }
            state => {
                self.state = state;
                None
            }
        }
    }

    /// FIN is out.
    pub fn shut(&mut self, now: &Now) {
        if matches!(self.state, State::Shut) {
            let left = self.limits.linger_bytes_max;
            self.go(Event::FinSent, State::Linger { since: now.at, left });
            if self.ended {
                self.go(Event::Over, State::Closed);
            }
        }
    }

    /// It broke off: the next want is `Close`.
    pub fn failed(&mut self, _: Fault) {
        self.state = State::Closed;
    }

    /// Answers with `status` and closes, unless a reply has begun.
    pub fn refuse(&mut self, status: Status, now: &Now) {
        if let State::Idle { .. }
        | State::Head { .. }
        | State::Body { .. }
        | State::Find { .. }
        | State::Load { .. } = self.state
        {
            self.refused(Refusal(status), now);
        }
    }

    /// Closes after the reply in hand, or at once when idle. A connection that was accepted and has
    /// sent nothing yet may have a request on the way: it is still answered.
    pub fn drain(&mut self) {
        self.draining = true;
        if self.is_idle() {
            self.go(Event::Over, State::Closed);
        }
    }

    /// The deadline has passed: refuses (408), closes, or goes on where the rate was good enough.
    pub fn expired(&mut self, now: &Now) {
        if self.deadline().is_none_or(|due| due.at > now.at) {
            return;
        }
        let goes_on = match &mut self.state {
            State::Body { rate, .. } => rate.goes_on(&self.limits, now.at),
            State::Send { sending, .. } | State::Continue { sending, .. } => {
                sending.rate.goes_on(&self.limits, now.at)
            }
            _ => false,
        };
        match self.state {
            _ if goes_on => {}
            State::Head { .. } if !self.buffer.is_empty() => self.late(now),
            State::Body { .. } => self.late(now),
            _ => self.go(Event::Over, State::Closed),
        }
    }

    /// When and by which patience `expired` is due; nothing while the disk is waited for.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let due = |timeout, since: Instant, patience: Duration| {
            Some(Deadline { timeout, at: since + patience })
        };
        match &self.state {
            State::Idle { since } => due(Timeout::Idle, *since, self.limits.idle_timeout),
            State::Head { since, .. } => due(Timeout::Head, *since, self.limits.head_timeout),
            State::Body { rate, .. } => due(Timeout::Rate, rate.since, self.limits.rate_window),
            State::Send { sending, .. } | State::Continue { sending, .. } => {
                due(Timeout::Rate, sending.rate.since, self.limits.rate_window)
            }
            State::Linger { since, .. } => due(Timeout::Linger, *since, self.limits.linger_timeout),
            _ => None,
        }
    }

    /// Whether the connection closes, or shuts, once all that `Send` wants is out.
    #[must_use]
    pub fn closes(&self) -> bool {
        match &self.state {
            State::Send { sending, .. } => sending.is_last() && sending.after != After::Stays,
            _ => false,
        }
    }

    /// Bytes of the reply in hand that are still to be sent; 0 if there is none or it is not known.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        match &self.state {
            State::Send { sending, .. } | State::Pages { sending, .. } => sending.remaining(),
            _ => 0,
        }
    }

    /// Between two requests, with nothing received of the next.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle { .. })
    }

    /// The request line being answered (without CRLF), from the end of its head until its reply is
    /// complete.
    #[must_use]
    pub fn request_line(&self) -> Option<&[u8]> {
        match &self.state {
            State::Idle { .. } | State::Head { .. } | State::Shut | State::Linger { .. } => None,
            _ => first_line(&self.buffer),
        }
    }

    /// Goes as far as the buffered bytes lead.
    fn advance(&mut self, now: &Now) {
        if let State::Idle { .. } | State::Head { .. } = self.state {
            self.advance_head(now);
        }
        if let State::Body { .. } = self.state {
            self.advance_body(now);
        }
    }

    fn advance_head(&mut self, now: &Now) {
        let (since, mut scan) = match self.state {
            State::Head { since, scan } => (since, scan),
            _ => (now.at, Scan::default()),
        };
        loop {
            match scan.end(&self.buffer, &self.limits) {
                // An empty line before a request is passed over (RFC 9112 section 2.2).
                Ok(Some(2)) => {
                    self.buffer.drain(..2);
                    scan = Scan::default();
                }
                Ok(Some(end)) => return self.judge(end, now),
                Ok(None) if self.buffer.is_empty() => return,
                Ok(None) => return self.go(Event::HeadPart, State::Head { since, scan }),
                Err(refusal) => return self.refused(refusal, now),
            }
        }
    }

    /// A head is whole.
    fn judge(&mut self, end: usize, now: &Now) {
        let judged = u16::try_from(end)
            .map_err(|_| Refusal(Status::REQUEST_HEADER_FIELDS_TOO_LARGE))
            .and_then(|head| Ok((Request::judge(&self.buffer[..end], &self.limits)?, head)));
        let (request, head) = match judged {
            Ok(judged) => judged,
            Err(refusal) => return self.refused(refusal, now),
        };
        let refused = match request.method {
            Method::Get | Method::Head | Method::Options => None,
            Method::Known => Some(Status::METHOD_NOT_ALLOWED),
            Method::Unknown => Some(Status::NOT_IMPLEMENTED),
        };
        let offers = request.expects_continue && self.buffer.len() == end;
        if request.framing == Framing::None {
            self.go(Event::HeadWhole, State::Find { request, head });
            return self.whole(now);
        }
        if let (Some(status), true) = (refused, request.expects_continue) {
            // The body is not wanted, and whether it comes is the client's choice.
            return self.own(status, Persistence::Closes, After::Shuts, head, now);
        }
        match Body::new(request.framing, self.limits.body_bytes_max) {
            Err(refusal) => self.refused(refusal, now),
            Ok(_) if offers => {
                let sending = Sending::of_chunk(compose::continue_(), &self.limits, now.at);
                self.go(Event::BodyOffered, State::Continue { request, head, sending });
            }
            Ok(body) => {
                let rate = Rate::new(now.at);
                self.go(Event::BodyAhead, State::Body { request, head, body, rate });
            }
        }
    }

    fn advance_body(&mut self, now: &Now) {
        let State::Body { request, head, body, .. } = &mut self.state else { return };
        let (request, head) = (*request, *head);
        let at = usize::from(head);
        match body.take(&self.buffer[at..]) {
            Err(refusal) => self.refused(refusal, now),
            Ok(n) => {
                let done = body.is_done();
                self.buffer.drain(at..at + n);
                if done {
                    self.go(Event::BodyWhole, State::Find { request, head });
                    self.whole(now);
                }
            }
        }
    }

    /// The request is whole: some are answered without looking.
    fn whole(&mut self, now: &Now) {
        let State::Find { request, head } = self.state else { return };
        let status = match request.method {
            Method::Get | Method::Head => return,
            Method::Options => Status::NO_CONTENT,
            Method::Known => Status::METHOD_NOT_ALLOWED,
            Method::Unknown => Status::NOT_IMPLEMENTED,
        };
        self.status(&request, head, status, now);
    }

    fn answer(&mut self, request: &Request, head: u16, answer: &Answer<F>, now: &Now) {
        let (persistence, after) = self.end_of(request, head);
        let view = Head::new(&self.buffer[..usize::from(head)], request);
        let composed = compose::answer(&view, answer, persistence, &self.limits, now);
        self.send(head, composed, after, now);
    }

    fn status(&mut self, request: &Request, head: u16, status: Status, now: &Now) {
        let (persistence, after) = self.end_of(request, head);
        let allow = matches!(status, Status::METHOD_NOT_ALLOWED | Status::NO_CONTENT);
        let content = request.method != Method::Head;
        let chunk = compose::status(status, persistence, allow, content, &now.date);
        self.send(head, Composed::of_chunk(status, chunk), after, now);
    }

    /// What becomes of the connection after this reply.
    fn end_of(&self, request: &Request, head: u16) -> (Persistence, After) {
        let leftover = self.buffer.len() > usize::from(head);
        match request.persistence {
            // The client said so itself, and sends no more.
            Persistence::Closes if !leftover || self.ended => (Persistence::Closes, After::Closes),
            Persistence::Closes => (Persistence::Closes, After::Shuts),
            _ if self.ended && !leftover => (Persistence::Closes, After::Closes),
            _ if self.draining => (Persistence::Closes, After::Shuts),
            stays => (stays, After::Stays),
        }
    }

    /// Answers by ourselves and closes: more may come that nobody will understand.
    fn refused(&mut self, Refusal(status): Refusal, now: &Now) {
        self.own(status, Persistence::Closes, After::Shuts, 0, now);
    }

    fn late(&mut self, now: &Now) {
        self.refused(Refusal(Status::REQUEST_TIMEOUT), now);
    }

    fn own(
        &mut self,
        status: Status,
        persistence: Persistence,
        after: After,
        head: u16,
        now: &Now,
    ) {
        let allow = status == Status::METHOD_NOT_ALLOWED;
        let chunk = compose::status(status, persistence, allow, true, &now.date);
        self.send(head, Composed::of_chunk(status, chunk), after, now);
    }

    fn send(&mut self, head: u16, composed: Composed<F>, after: After, now: &Now) {
        let sending = Sending::new(composed, after, &self.limits, now.at);
        if sending.part.is_some() {
            self.go(Event::ReplyOfPages, State::Pages { head, sending });
        } else {
            self.go(Event::Reply, State::Send { head, sending });
        }
    }

    /// The reply is out: the next request, or the end.
    fn finish(&mut self, now: &Now) {
        let State::Send { head, sending } = &self.state else { return };
        let head = usize::from(*head);
        match sending.after {
            After::Closes => self.go(Event::Closes, State::Closed),
            After::Shuts => self.go(Event::Shuts, State::Shut),
            After::Stays => {
                self.go(Event::Stays, State::Idle { since: now.at });
                if self.buffer.len() > head {
                    self.buffer.drain(..head);
                    self.advance(now);
                } else {
                    self.buffer = Vec::new();
                }
                let idle = matches!(self.want(), Want::Recv);
                if idle && (self.ended || self.draining && self.is_idle()) {
                    self.go(Event::Over, State::Closed);
                }
            }
        }
    }

    /// The only way from one state to another.
    fn go(&mut self, event: Event, state: State<F>) {
        debug_assert_eq!(
            state::next(self.state.name(), event),
            Some(state.name()),
            "{:?} does not lead from {:?}",
            event,
            self.state.name()
        );
        self.state = state;
    }
}

impl<F> State<F> {
    const fn name(&self) -> state::State {
        match self {
            Self::Idle { .. } => state::State::Idle,
            Self::Head { .. } => state::State::Head,
            Self::Continue { .. } => state::State::Continue,
            Self::Body { .. } => state::State::Body,
            Self::Find { .. } => state::State::Find,
            Self::Load { .. } => state::State::Load,
            Self::Pages { .. } => state::State::Pages,
            Self::Send { .. } => state::State::Send,
            Self::Shut => state::State::Shut,
            Self::Linger { .. } => state::State::Linger,
            Self::Closed => state::State::Closed,
        }
    }
}
