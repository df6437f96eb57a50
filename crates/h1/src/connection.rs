//! One connection: what is done to it from outside, in each of its states.

mod patience;
mod replies;
mod requests;
#[cfg(test)]
mod tests;

use core::mem;

use measure::Instant;

pub use self::patience::{Deadline, Timeout};
use crate::body::Body;
use crate::head::Scan;
use crate::inbox::Inbox;
use crate::reply::{After, Rate, Sending};
use crate::state::{self, Event};
use crate::{
    Asked, Field, Found, Head, Limits, Loaded, Lookup, Miss, Now, Refusal, Reply, Request, Shared,
    Status, Tag, Want,
};

/// One HTTP/1.1 connection.
pub struct Connection<F> {
    limits: Shared<Limits>,
    state: State<F>,
    inbox: Inbox,
    ending: Ending,
    /// The peer sent FIN.
    ended: bool,
    /// Passed over since the last request.
    empty_lines: u8,
    /// Of the request in hand, or of the next: what it is counted under, and when it began.
    host: u8,
    begun: Instant,
    /// It is out, and nobody has asked for it yet.
    replied: Option<Reply>,
}

/// Whether the reply in hand is the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// And who asks nothing has the linger timeout to do so.
    Drains,
    /// And who asks nothing has the idle grace to do so.
    Retires,
}

/// The states of [`crate::state`], with what each needs.
enum State<F> {
    Idle { since: Instant },
    Head { since: Instant, scan: Scan },
    Find { request: Request, head: u16 },
    Continue { upload: Box<Upload<F>>, sending: Sending<F> },
    Body { upload: Box<Upload<F>>, rate: Rate },
    Load { request: Request, head: u16, lookup: Lookup },
    Pages { head: u16, sending: Sending<F> },
    Wait { head: u16, load: Load<F> },
    Send { head: u16, sending: Sending<F> },
    Shut,
    Linger { begun: Instant, since: Instant },
    Closed,
}

/// A request whose body is still to be read away, and what its reply will be. Rare, and so on the
/// heap: every connection would be larger for it.
struct Upload<F> {
    request: Request,
    head: u16,
    body: Body,
    found: Found<F>,
}

/// What was handed over.
enum Load<F> {
    /// A path, for this request.
    Path(Request),
    /// Pages, for this reply.
    Pages(Sending<F>),
}

/// Bytes that may wait behind the request in hand, so that a driver need not stop to receive at
/// once: a ring that is told to stop has 128 KiB on the way. Who sends more without waiting for
/// replies gets the one in hand and no other.
pub const LEFTOVER_BYTES_MAX: usize = 256 << 10;

impl<F> Connection<F> {
    /// A connection just accepted.
    #[must_use]
    pub fn new(limits: Shared<Limits>, now: Instant) -> Self {
        let state = State::Head { since: now, scan: Scan::default() };
        let inbox = Inbox::default();
        let ending = Ending::No;
        let (ended, empty_lines, host, begun, replied) = (false, 0, 0, now, None);
        Self { limits, state, inbox, ending, ended, empty_lines, host, begun, replied }
    }

    /// What is to be done next.
    #[must_use]
    pub fn want(&self) -> Want<'_, F> {
        match &self.state {
            State::Idle { .. } | State::Head { .. } | State::Body { .. } | State::Linger { .. } => {
                Want::Recv
            }
            State::Find { request, head } => {
                let head = Head::new(&self.inbox.bytes()[..usize::from(*head)], request);
                Want::Find(Tag::default(), head)
            }
            State::Load { lookup, .. } => Want::Load(Tag::default(), Miss::Path(lookup.clone())),
            State::Pages { sending, .. } => match &sending.part {
                Some(part) => Want::Load(Tag::default(), Miss::Pages(part.clone())),
                None => Want::Close,
            },
            State::Wait { .. } => Want::Wait,
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
            State::Linger { since, .. } => {
                *since = now.at;
                return self.receives();
            }
            State::Body { rate, .. } => rate.moved(bytes.len() as u64, &self.limits, now.at),
            // Behind the last request: nobody will read it, but it must not meet a closed socket.
            State::Pages { sending, .. }
            | State::Send { sending, .. }
            | State::Wait { load: Load::Pages(sending), .. }
                if sending.after != After::Stays =>
            {
                sending.after = After::Shuts;
                return false;
            }
            _ => {}
        }
        if self.receives() {
            let is_head = matches!(self.state, State::Idle { .. } | State::Head { .. });
            if is_head && self.inbox.len() == 0 {
                self.begun = now.at;
            }
            self.inbox.add(bytes);
            self.advance(now);
        } else if self.inbox.len() + bytes.len() <= self.limits.head_bytes_max + LEFTOVER_BYTES_MAX
        {
            self.inbox.add(bytes);
        } else {
            self.flooded();
        }
        self.receives()
    }

    /// The peer sent FIN: a reply in hand is still sent.
    pub fn ended(&mut self, _: &Now) {
        self.ended = true;
        if self.receives() {
            self.go(Event::Over, State::Closed);
        }
    }

    /// Of which host the request in hand is, by a number that the driver has for it, so that
    /// [`Self::next_reply`] tells it. Without this it is 0.
    pub fn count_under(&mut self, host: u8) {
        self.host = host;
    }

    /// Answers `Find`. A body is read away before the reply, unless that is a refusal and the
    /// client awaits our word.
    pub fn found(&mut self, found: Found<F>, now: &Now) {
        let State::Find { request, head } = self.state else { return };
        match Body::new(request.framing, self.limits.body_bytes_max) {
            Err(refusal) => self.refused(refusal, now),
            Ok(body) if body.is_done() => self.reply(&request, head, found, now),
            Ok(_) if request.expects_continue && found.is_refusal() => {
                self.decline(&request, head, found, now);
            }
            Ok(body) => self.upload(Box::new(Upload { request, head, body, found }), now),
        }
    }

    /// Somebody else does what `Load` wants: [`Self::loaded`] will be told in its time.
    pub fn handed_over(&mut self) {
        if let State::Load { .. } | State::Pages { .. } = self.state {
            self.turn(Event::HandedOver, |state| match state {
                State::Load { request, head, .. } => {
                    State::Wait { head, load: Load::Path(request) }
                }
                State::Pages { head, sending } => State::Wait { head, load: Load::Pages(sending) },
                other => other,
            });
        }
    }

    /// Answers `Load`. A status where pages were wanted is the reply if none has begun.
    pub fn loaded(&mut self, loaded: Loaded<F>, now: &Now) {
        match (&self.state, loaded) {
            (
                &State::Load { request, head, .. }
                | &State::Wait { head, load: Load::Path(request) },
                loaded,
            ) => match loaded {
                Loaded::Answer(answer) => self.answer(&request, head, answer, now),
                Loaded::Status(status) => self.status(&request, head, status, now),
                Loaded::Pages | Loaded::More(_) => self.go(Event::Over, State::Closed),
            },
            (State::Pages { .. } | State::Wait { .. }, Loaded::Pages) => {
                self.turn(Event::PagesCame, |state| match state {
                    State::Pages { head, mut sending }
                    | State::Wait { head, load: Load::Pages(mut sending) } => {
                        sending.rate = sending.rate.resumed(now.at);
                        State::Send { head, sending }
                    }
                    other => other,
                });
            }
            (
                State::Pages { sending, .. } | State::Wait { load: Load::Pages(sending), .. },
                Loaded::Status(status),
            ) if !sending.has_begun => self.refused(Refusal(status), now),
            // What has begun must not look complete.
            (State::Pages { .. } | State::Wait { .. }, _) => self.go(Event::Over, State::Closed),
            // It comes too late: the connection was refused meanwhile, or broke off.
            _ => {}
        }
    }

    /// `n` more bytes of what `Send` wants are out: first the chunk's, then the file part's.
    pub fn sent(&mut self, n: u64, now: &Now) {
        let (State::Send { sending, .. } | State::Continue { sending, .. }) = &mut self.state
        else {
            return;
        };
        if !sending.sent(n, &self.limits, now.at) {
            return;
        }
        match &self.state {
            State::Send { head, sending } if sending.part.is_none() => {
                self.replied = Some(sending.reply(self.host, self.begun));
                self.finish(*head, sending.after, now);
            }
            State::Send { .. } => self.turn(Event::PagesWanted, |state| match state {
                State::Send { head, sending } => State::Pages { head, sending },
                other => other,
            }),
            _ => {
                self.turn(Event::Continued, |state| match state {
                    State::Continue { upload, .. } => {
                        State::Body { upload, rate: Rate::new(now.at) }
                    }
                    other => other,
                });
                self.advance(now);
            }
        }
    }

    /// The reply that has become complete by what was sent; told once, and to be asked for after
    /// each [`Self::sent`].
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replied.take()
    }

    /// FIN is out.
    pub fn shut(&mut self, now: &Now) {
        if matches!(self.state, State::Shut) {
            self.go(Event::FinSent, State::Linger { begun: now.at, since: now.at });
            if self.ended {
                self.go(Event::Over, State::Closed);
            }
        }
    }

    /// It broke off: the peer is gone, or what was announced cannot be sent. Wants `Close`.
    pub fn failed(&mut self) {
        if !matches!(self.state, State::Closed) {
            self.go(Event::Over, State::Closed);
        }
    }

    /// Answers with `status` and closes, unless a reply has begun.
    pub fn refuse(&mut self, status: Status, now: &Now) {
        let may_be = match &self.state {
            State::Idle { .. } | State::Head { .. } | State::Body { .. } => true,
            State::Find { .. } | State::Load { .. } => true,
            State::Wait { load: Load::Path(_), .. } => true,
            State::Pages { sending, .. } | State::Wait { load: Load::Pages(sending), .. } => {
                !sending.has_begun
            }
            _ => false,
        };
        if may_be {
            self.refused(Refusal(status), now);
        }
    }

    /// Closes after the reply in hand, or at once when idle. A connection that was accepted and has
    /// sent nothing yet may have a request on the way, and has the linger timeout to show it.
    pub fn drain(&mut self) {
        self.ending = Ending::Drains;
        if self.is_idle() {
            self.go(Event::Over, State::Closed);
        }
    }

    /// As [`Self::drain`], but who is idle has a grace to ask once more: others serve on, so there
    /// is time, and a request already on its way meets no end.
    pub fn retire(&mut self, now: &Now) {
        self.ending = Ending::Retires;
        if let State::Idle { since } = &mut self.state {
            *since = now.at;
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

    /// Whether it then wants `Close` at once. Bytes that lie unread are better received before: who
    /// closes over them resets the peer, which may not have read the reply.
    #[must_use]
    pub fn drops(&self) -> bool {
        match &self.state {
            State::Send { sending, .. } => sending.is_last() && sending.after == After::Closes,
            _ => false,
        }
    }

    /// Bytes of the reply in hand that are still to be sent; 0 if there is none or it is not known.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        match &self.state {
            State::Send { sending, .. }
            | State::Pages { sending, .. }
            | State::Wait { load: Load::Pages(sending), .. } => sending.remaining(),
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
        self.asked()?.line()
    }

    /// The first value of a field of the request being answered, as it came, for as long as there
    /// is a request line.
    #[must_use]
    pub fn request_field(&self, field: Field) -> Option<&[u8]> {
        self.asked()?.field(field)
    }

    /// The request being answered, for as long as there is a request line.
    #[must_use]
    pub fn asked(&self) -> Option<Asked<'_>> {
        match &self.state {
            State::Idle { .. }
            | State::Head { .. }
            | State::Shut
            | State::Linger { .. }
            | State::Closed => None,
            _ => Some(Asked(self.inbox.bytes())),
        }
    }

    const fn receives(&self) -> bool {
        use State::{Body, Head, Idle, Linger};
        matches!(self.state, Idle { .. } | Head { .. } | Body { .. } | Linger { .. })
    }

    /// More came than may wait and is thrown away: nothing behind it can be understood.
    fn flooded(&mut self) {
        self.ending = Ending::Drains;
        match &mut self.state {
            State::Pages { sending, .. }
            | State::Send { sending, .. }
            | State::Wait { load: Load::Pages(sending), .. } => sending.after = After::Shuts,
            State::Find { .. } | State::Load { .. } | State::Wait { .. } => {}
            _ => self.go(Event::Over, State::Closed),
        }
    }

    /// The only way from one state to another.
    fn go(&mut self, event: Event, state: State<F>) {
        self.turn(event, |_| state);
    }

    /// As [`Self::go`], with what the old state had.
    fn turn(&mut self, event: Event, into: impl FnOnce(State<F>) -> State<F>) {
        let from = self.state.name();
        self.state = into(mem::replace(&mut self.state, State::Closed));
        let to = self.state.name();
        assert_eq!(state::next(from, event), Some(to), "{event:?} in {from:?}");
        if let State::Shut | State::Closed = self.state {
            // Nothing that came is needed any more.
            self.inbox = Inbox::default();
        }
    }
}

impl<F> State<F> {
    const fn name(&self) -> state::State {
        match self {
            Self::Idle { .. } => state::State::Idle,
            Self::Head { .. } => state::State::Head,
            Self::Find { .. } => state::State::Find,
            Self::Continue { .. } => state::State::Continue,
            Self::Body { .. } => state::State::Body,
            Self::Load { .. } => state::State::Load,
            Self::Pages { .. } => state::State::Pages,
            Self::Wait { .. } => state::State::Wait,
            Self::Send { .. } => state::State::Send,
            Self::Shut => state::State::Shut,
            Self::Linger { .. } => state::State::Linger,
            Self::Closed => state::State::Closed,
        }
    }
}
