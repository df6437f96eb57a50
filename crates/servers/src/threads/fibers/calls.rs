//! Calls of a fiber: they look as if they waited, and park it instead.

use std::io;
use std::sync::Arc;

use h1::{Deadline, FilePart, Limits};
use measure::{Duration, Instant};
use os::poller::Interest;
use os::{File, Socket};

use super::Running;
use crate::connection::Connection;
use crate::connection::calls::{Calls, Ready};
use crate::loops::helpers::Part;
use crate::session::View;
use crate::shared::settings::Sendfile;
use crate::shared::trace::Who;
use crate::threads::life::Patient;

/// Wants of one connection performed before the others' turn, so that a flood of pipelined requests
/// cannot keep the thread to itself.
const WANTS_MAX: u32 = 64;

/// Those of one connection, which is closed when they are dropped.
pub(crate) struct Parks<'f, 's> {
    fiber: &'f Running<'f, 's>,
    ready: Ready<Arc<Socket>>,
    how: Option<Sendfile>,
    deadline: Option<Deadline>,
    /// What is left of its turn.
    wants_left: u32,
    bytes_left: u64,
    /// The session is to hear while it sends.
    hears: bool,
    /// Whoever sends the next part may wait for its pages.
    awaits_pages: bool,
    /// Who has sent the last part, and whether it may have waited so.
    sender: Option<(Who, bool)>,
}

impl<'s> Running<'_, 's> {
    /// The connection that was accepted first, which is this fiber's from now on.
    pub(crate) fn takes(&self) -> Option<Connection<Parks<'_, 's>>> {
        let (socket, dialog) = self.scheduler.takes(self.number)?;
        Some(Connection::new(Parks::new(self, socket), dialog))
    }
}

impl<'f, 's> Parks<'f, 's> {
    /// There may be something to receive: who comes in a flood has waited to be accepted.
    fn new(fiber: &'f Running<'f, 's>, socket: Arc<Socket>) -> Self {
        let how = fiber.scheduler.worker.server.settings.sendfile;
        let mut ready = Ready::new(socket, how);
        ready.expect();
        let mut calls = Self {
            fiber,
            ready,
            how,
            deadline: None,
            wants_left: 0,
            bytes_left: 0,
            hears: false,
            awaits_pages: false,
            sender: None,
        };
        calls.begin_turn();
        calls
    }

    fn begin_turn(&mut self) {
        self.wants_left = WANTS_MAX;
        self.bytes_left = self.fiber.scheduler.worker.server.dials.work_bytes_max();
    }

    /// Until the socket is ready for one of these, or it is time to look what else there is.
    fn park(&mut self, interest: Interest) -> io::Result<()> {
        if let Some(event) = self.fiber.parks(interest, self.deadline)? {
            self.ready.is(&event);
        }
        self.begin_turn();
        Ok(())
    }

    /// Whether it is to be looked once more what there is to receive.
    fn looks(&mut self) -> bool {
        let looks = self.fiber.scheduler.looks(self.fiber.number);
        if looks {
            self.ready.expect();
        }
        looks
    }

    /// Time passes in it: whoever was to send looks first what has come of that.
    fn park_to_send(&mut self) -> io::Error {
        let read = self.hears && self.ready.may_hear();
        let parked = self.park(Interest { read, write: true });
        parked.err().unwrap_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// By a worker, which waits for the disk.
    fn hand_over(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64> {
        let (socket, part) = (Arc::clone(&self.ready.socket), part.clone());
        let (sent, who) = self.fiber.sends(Part { socket, part, most }, self.deadline);
        let pages = std::mem::take(&mut self.awaits_pages);
        self.sender = who.map(|who| (who, pages));
        if sent.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
            self.ready.is_full();
        }
        self.begin_turn();
        sent
    }
}

impl Calls for Parks<'_, '_> {
    const WAIT: bool = true;

    fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.looks() {
            return self.ready.recv(into);
        }
        match self.ready.recv(into) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            received => return received,
        }
        self.park(Interest { read: self.ready.may_hear(), write: false })?;
        self.looks();
        self.ready.recv(into)
    }

    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        if !self.ready.is_writable() {
            return Err(self.park_to_send());
        }
        let sent = self.ready.send(bytes, more);
        self.bytes_left -= self.bytes_left.min(*sent.as_ref().unwrap_or(&0) as u64);
        sent
    }

    fn send_part(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64> {
        if !self.ready.is_writable() {
            return Err(self.park_to_send());
        }
        let most = most.min(self.bytes_left);
        if self.how != Some(Sendfile::Off) && !self.fiber.has_pages.get() {
            return self.hand_over(part, most);
        }
        let sent = self.ready.send_part(part, most);
        self.bytes_left -= self.bytes_left.min(*sent.as_ref().unwrap_or(&0));
        sent
    }

    fn shut(&mut self) -> io::Result<()> {
        self.ready.shut()
    }

    fn reset_on_close(&mut self) {
        self.ready.reset_on_close();
    }

    fn hears(&mut self, _: bool) -> io::Result<bool> {
        self.hears = true;
        Ok(self.lies_unread())
    }

    fn may_hear(&self) -> bool {
        self.ready.may_hear()
    }

    /// Whoever receives what does not lie there parks: where it is not sure it is asked.
    fn lies_unread(&mut self) -> bool {
        let now = Some(Duration::ZERO);
        self.ready.lies_unread() && self.ready.socket.is_readable_first(false, now).unwrap_or(false)
    }

    fn sender(&mut self) -> Option<(Who, bool)> {
        self.sender.take()
    }

    fn awaits_pages(&mut self) {
        self.awaits_pages = true;
    }
}

impl Patient for Parks<'_, '_> {
    fn set_patience(&mut self, view: &View, _: Instant, _: &Limits) {
        self.deadline = view.deadline;
        self.hears = false;
    }

    fn give_way(&mut self) -> bool {
        let is_over = self.wants_left == 0 || self.bytes_left == 0;
        if is_over {
            self.fiber.yields();
            self.begin_turn();
        }
        self.wants_left = self.wants_left.checked_sub(1).expect("a turn has begun");
        is_over
    }
}

impl Drop for Parks<'_, '_> {
    fn drop(&mut self) {
        self.fiber.scheduler.closes(self.fiber.number);
    }
}
