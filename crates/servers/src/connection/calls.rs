//! The calls by which a connection's wants are performed.

use std::borrow::Borrow;
use std::io;

use h1::FilePart;
use os::poller::{self, Interest};
use os::{File, Socket};

use crate::shared::server::piece;
use crate::shared::settings::Sendfile;
use crate::shared::trace::Who;

/// Calls on one connection. They wait, or fail with `WouldBlock`.
pub(crate) trait Calls {
    /// Whether they wait, so that time passes in them.
    const WAIT: bool;

    /// Whether a send of a file part waits for its client.
    fn parts_wait(&self) -> bool {
        Self::WAIT
    }

    /// As [`Socket::recv`].
    fn recv(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// As [`Socket::send`].
    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize>;

    /// Sends up to `most` bytes of a file part; 0: the file has become shorter.
    fn send_part(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64>;

    /// As [`Socket::shutdown_write`].
    fn shut(&mut self) -> io::Result<()>;

    /// As [`Socket::reset_on_close`].
    fn reset_on_close(&mut self);

    /// For a session that hears while it sends or waits: whether it is to receive now. Where calls
    /// wait it does, until it is to receive or can send (`sends`), and the next send does not.
    fn hears(&mut self, sends: bool) -> io::Result<bool>;

    /// Whether there will ever be more to receive.
    fn may_hear(&self) -> bool;

    /// Whether something lies unread, as far as that is known; mostly that costs no call.
    fn lies_unread(&mut self) -> bool;

    /// Who has sent the last part in this one's place, and whether pages were to be waited for; in
    /// a trace.
    fn sender(&mut self) -> Option<(Who, bool)> {
        None
    }

    /// Pages of the next part may have to be waited for.
    fn awaits_pages(&mut self) {}
}

/// Those that do not wait, on a socket of which a poller says when it is ready. Where the socket
/// blocks, sends of file parts wait all the same.
pub(crate) struct Ready<S = Socket> {
    pub(crate) socket: S,
    how: Option<Sendfile>,
    incoming: Incoming,
    /// The socket may take bytes.
    writable: bool,
}

/// What there is to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incoming {
    /// Nothing, as far as is known.
    Nothing,
    /// Bytes, or a FIN.
    Something,
    /// FIN or an error was signalled, perhaps behind bytes: the next receive must see it.
    TheEnd,
    /// FIN was received. A half-closed peer may still be sent to.
    Over,
}

impl<S: Borrow<Socket>> Ready<S> {
    pub(crate) const fn new(socket: S, how: Option<Sendfile>) -> Self {
        Self { socket, how, incoming: Incoming::Nothing, writable: true }
    }

    /// Whether the socket may take bytes.
    pub(crate) const fn is_writable(&self) -> bool {
        self.writable
    }

    /// It takes no more, as far as is known.
    pub(crate) fn is_full(&mut self) {
        self.writable = false;
    }

    /// The poller says so.
    pub(crate) fn is(&mut self, event: &poller::Event) {
        self.writable |= event.writable || event.ended;
        match self.incoming {
            Incoming::Over => {}
            _ if event.ended => self.incoming = Incoming::TheEnd,
            _ if event.readable => self.expect(),
            _ => {}
        }
    }

    /// There may be something, whatever the poller says.
    pub(crate) fn expect(&mut self) {
        if self.incoming == Incoming::Nothing {
            self.incoming = Incoming::Something;
        }
    }
}

impl<S: Borrow<Socket>> Calls for Ready<S> {
    const WAIT: bool = false;

    fn parts_wait(&self) -> bool {
        self.how == Some(Sendfile::Blocking)
    }

    fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Incoming::Nothing | Incoming::Over = self.incoming {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let received = self.socket.borrow().recv_now(into);
        match received {
            Ok(0) => self.incoming = Incoming::Over,
            // A short read has emptied the socket, unless a FIN lies behind the bytes.
            Ok(n) if n == into.len() || self.incoming == Incoming::TheEnd => {}
            _ => self.incoming = Incoming::Nothing,
        }
        received
    }

    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        if !self.writable {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let sent = self.socket.borrow().send_now(bytes, more);
        self.writable = sent.as_ref().is_ok_and(|n| *n >= bytes.len());
        sent
    }

    // Less than `most` may be all that was read, or all that the file still has. Whether the socket
    // is full only the next call tells; a poller of edges never would.
    fn send_part(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64> {
        if !self.writable {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let sent = send_part(self.socket.borrow(), part, most, self.how);
        self.writable = sent.is_ok();
        sent
    }

    fn shut(&mut self) -> io::Result<()> {
        self.socket.borrow().shutdown_write()
    }

    fn reset_on_close(&mut self) {
        self.socket.borrow().reset_on_close();
    }

    fn hears(&mut self, _: bool) -> io::Result<bool> {
        Ok(self.lies_unread())
    }

    fn may_hear(&self) -> bool {
        self.incoming != Incoming::Over
    }

    fn lies_unread(&mut self) -> bool {
        matches!(self.incoming, Incoming::Something | Incoming::TheEnd)
    }
}

/// What a poller has to look for, where a call would have waited.
pub(crate) const fn interest(hears: bool, sends: bool) -> Interest {
    Interest { read: hears, write: sends }
}

/// Sends up to `most` bytes of a file part; 0 if the file has become shorter.
pub(crate) fn send_part(
    socket: &Socket,
    part: &FilePart<File>,
    most: u64,
    how: Option<Sendfile>,
) -> io::Result<u64> {
    match how {
        Some(Sendfile::Off) => {
            let end = part.end.min(part.at + most);
            let piece = piece(&FilePart { end, ..part.clone() })?;
            if piece.bytes().is_empty() {
                return Ok(0);
            }
            let more = part.at + (piece.bytes().len() as u64) < part.end;
            Ok(socket.send(piece.bytes(), more)? as u64)
        }
        _ => socket.send_file(&part.file, part.at, most),
    }
}
