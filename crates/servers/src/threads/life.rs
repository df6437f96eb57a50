//! The life of one connection over calls that may wait, whoever makes them.

use std::io;
use std::sync::Arc;

use h1::{FilePart, Limits, Timeout, Want};
use measure::{Duration, Instant};
use os::{File, Socket};

pub(crate) use super::holds::Does;
use crate::connection::books::Books;
use crate::connection::calls::{Calls, send_part};
use crate::connection::perform::{Progress, Service, Share, Until};
use crate::connection::{Connection, Dialog};
use crate::session::{Event, View};
use crate::shared::server::piece;
use crate::shared::settings::Sendfile;

/// Bytes received per call: a browser's head. On the stack, of which each thread has its own.
const BUFFER_BYTES: usize = 2 << 10;

/// Bytes of a file sent by one call. While it waits the progress of its peer is not seen: this is
/// as much as a peer at 128 KiB/s takes before it could be evicted as too slow.
const SENT_AT_ONCE_BYTES: u64 = 128 << 10;

/// Calls that wait for no longer than they are told.
pub(crate) trait Patient: Calls {
    /// The session's patience is now this: the calls that follow wait for less, or not much longer.
    fn set_patience(&mut self, view: &View, now: Instant, limits: &Limits);

    /// Lets others run before the next want, if it is their turn; whether they have.
    fn give_way(&mut self) -> bool {
        false
    }
}

/// Whoever shares out threads among connections.
pub(crate) trait Keeper {
    /// Says whether the connection is between two requests, and what its thread does with it. Told
    /// before asking [`Self::is_draining`], so that a drain either is seen or sees. Returns whether
    /// the connection is to go for another.
    fn says(&self, is_idle: bool, does: Does) -> bool;

    /// Whether the reply in hand is the last.
    fn is_draining(&self) -> bool;

    /// What a drain means for the connection. Of who is idle a request may be on its way: it is
    /// still answered, and the pool ends who is idle for long.
    fn ends(&self, is_idle: bool) -> Ends {
        match self.is_draining() {
            false => Ends::GoesOn,
            true if is_idle => Ends::Retires,
            true => Ends::IsTold,
        }
    }

    /// Whether the connection goes for another here and now.
    fn is_cut(&self) -> bool {
        false
    }

    /// Whether somebody waits for a thread, and this one may be had after a reply.
    fn is_wanted(&self) -> bool;
}

/// How a connection goes on.
pub(crate) enum Ends {
    GoesOn,
    /// A reply more is its last.
    Retires,
    /// The order to end has come, as [`Books::tell_end`] says.
    IsTold,
}

/// From accept to close.
pub(crate) fn live<C: Patient>(
    connection: &mut Connection<C>,
    keeper: &impl Keeper,
    service: &mut dyn Service,
    books: &mut Books<'_>,
) {
    let mut buffer = [0; BUFFER_BYTES];
    let (mut retired, mut goes) = (false, false);
    while !keeper.is_cut() {
        if connection.calls.give_way() {
            books.look_at_clock();
        }
        let mut view = connection.dialog.session.view();
        if view.deadline.is_some_and(|due| due.at <= books.now.at) {
            connection.expired(books.now.at, books);
            view = connection.dialog.session.view();
        }
        let dialog = &mut connection.dialog;
        let waits_since = view.deadline.and_then(|due| due.waits_since);
        let does = match (view.deadline.map(|due| due.timeout), waits_since) {
            (Some(Timeout::Idle | Timeout::Head), Some(since)) => Does::Waits(since),
            (Some(Timeout::Rate), Some(since)) => Does::Transfers(since),
            (Some(Timeout::Linger), _) => Does::Ends,
            _ if matches!(dialog.session.want(), Want::Shut | Want::Close) => Does::Ends,
            _ => Does::Serves,
        };
        goes |= keeper.says(view.is_idle, does);
        let leaves = || goes || keeper.is_wanted();
        let is_asked = |dialog: &Dialog| matches!(dialog.session.want(), Want::Find(..));
        let ends = match keeper.ends(view.is_idle) {
            _ if retired => Ends::GoesOn,
            Ends::GoesOn if leaves() && is_asked(dialog) => Ends::Retires,
            ends => ends,
        };
        retired |= !matches!(ends, Ends::GoesOn);
        match ends {
            Ends::GoesOn => {}
            Ends::Retires => dialog.session.tell(Event::Retire, &books.now),
            Ends::IsTold => {
                books.tell_end(dialog);
                // Who is idle may have other patience by that.
                view = dialog.session.view();
            }
        }
        connection.hears = view.hears;
        connection.calls.set_patience(&view, books.now.at, &books.server.limits);
        let bytes = SENT_AT_ONCE_BYTES;
        let mut share = Share { until: Until::Blocked, wants: 1, bytes, buffer: &mut buffer };
        // Blocked: the socket's patience is over; whether the session's is, its deadline says.
        if books.work(0, connection, &mut share, service) == Progress::Over {
            return;
        }
    }
    connection.evicted(books);
}

/// Calls of a socket that blocks, or that are made when it is ready.
pub(crate) struct Waiting {
    socket: Arc<Socket>,
    how: Option<Sendfile>,
    /// How long a receive waits.
    patience: Duration,
    /// The session is to hear while it sends: the next send does not wait.
    hears: bool,
    /// FIN has come: there is nothing more to hear.
    ended: bool,
    /// The last receive filled all of its buffer, so there may be more.
    filled: bool,
}

/// How soon a thread that waits for a first head sees the order to end.
pub(super) const DRAIN_SEEN_WITHIN: Duration = Duration::from_secs(1);

/// What a listening socket hands on to connections that threads serve: as long as a receive waits,
/// if nobody says anything else. A drain is to be seen soon by who has asked nothing yet.
pub(crate) fn first_patience(limits: &Limits) -> Duration {
    limits.head_timeout.min(DRAIN_SEEN_WITHIN)
}

/// The same for who is between two requests, or takes a reply.
pub(crate) fn long_patience(limits: &Limits) -> Duration {
    limits.idle_timeout.min(limits.idle_grace).min(limits.rate_window)
}

impl Waiting {
    /// Of a socket whose timeouts are [`first_patience`].
    pub(crate) fn new(socket: Arc<Socket>, how: Option<Sendfile>, limits: &Limits) -> Self {
        let patience = first_patience(limits);
        Self { socket, how, patience, hears: false, ended: false, filled: false }
    }
}

impl Calls for Waiting {
    const WAIT: bool = true;

    fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let received = self.socket.recv(into);
        self.ended = matches!(received, Ok(0));
        self.filled = received.as_ref().is_ok_and(|n| *n == into.len());
        received
    }

    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        if self.hears { self.socket.send_now(bytes, more) } else { self.socket.send(bytes, more) }
    }

    fn send_part(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64> {
        if !self.hears {
            return send_part(&self.socket, part, most, self.how);
        }
        let piece = piece(&FilePart { end: part.end.min(part.at + most), ..part.clone() })?;
        if piece.bytes().is_empty() {
            return Ok(0);
        }
        Ok(self.socket.send_now(piece.bytes(), false)? as u64)
    }

    fn shut(&mut self) -> io::Result<()> {
        self.socket.shutdown_write()
    }

    fn reset_on_close(&mut self) {
        self.socket.reset_on_close();
    }

    fn hears(&mut self, sends: bool) -> io::Result<bool> {
        self.hears = !self.ended;
        Ok(self.hears && self.socket.is_readable_first(sends, Some(self.patience))?)
    }

    fn may_hear(&self) -> bool {
        !self.ended
    }

    /// Most heads are shorter than a buffer, and cost no call.
    fn lies_unread(&mut self) -> bool {
        let now = Some(Duration::ZERO);
        self.filled = self.filled && self.socket.is_readable_first(false, now).unwrap_or(false);
        self.filled
    }
}

impl Patient for Waiting {
    fn set_patience(&mut self, view: &View, now: Instant, limits: &Limits) {
        let Some(due) = view.deadline else { return };
        let patience = match due.timeout {
            // What the listening socket has handed on will do, so it costs no call.
            Timeout::Head | Timeout::Rate => return,
            Timeout::Idle => long_patience(limits),
            Timeout::Linger => (due.at - now).clamp(Duration::from_millis(1), self.patience),
        };
        // Mostly it has not changed.
        if self.patience != patience && self.socket.set_receive_timeout(patience).is_ok() {
            self.patience = patience;
        }
    }
}
