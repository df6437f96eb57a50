//! How a completion loop ends connections.

use std::{io, mem};

use h1::{Deadline, Timeout};
use os::ring::How;

use super::{Completions, forget};
use crate::connection::places::place_of;
use crate::rings::connection::{Ending, Receive};
use crate::shared::counters::Counter;

impl Completions<'_> {
    /// By a call where there is a socket for it: the ring leaves it to a thread of the kernel.
    pub(super) fn shut(&mut self, token: u64, how: How) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        if let Some(socket) = self.ring.socket(connection.handle) {
            // One that fails is of a connection that is gone, which its receive tells.
            let _ = match how {
                How::Write => socket.shutdown_write(),
                How::Both => socket.shutdown_both(),
            };
            return Ok(());
        }
        connection.shutdowns += 1;
        self.ring.shutdown(connection.handle, how, token)
    }

    /// Closes once nothing is in flight. An armed receive holds the socket: it ends with the peer's
    /// FIN, which ours mostly brings about, or is made to end.
    pub(super) fn close(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        self.going += usize::from(!mem::replace(&mut connection.goes, true));
        if let Receive::Armed | Receive::Thirsty | Receive::Ends = connection.receive {
            let at = self.books.now.at + self.books.server.limits.linger_timeout;
            return match mem::replace(&mut connection.ending, Ending::Closing) {
                Ending::Closing => Ok(()),
                Ending::FinOut => {
                    let (timeout, waits_since) = (Timeout::Linger, None);
                    let deadline = Deadline { timeout, at, waits_since };
                    self.timers.set(place_of(token), Some(deadline));
                    Ok(())
                }
                Ending::Open => {
                    self.timers.set(place_of(token), None);
                    self.shut(token, How::Both)
                }
            };
        }
        self.timers.set(place_of(token), None);
        if connection.shutdowns > 0 || !connection.reads.is_empty() {
            return Ok(());
        }
        if let Some(mut connection) = self.connections.remove(token) {
            self.going -= 1;
            forget(&mut self.pieces_bytes, connection.let_go());
            self.ring.close(connection.handle)?;
            self.books.tally.add(Counter::Closed, 1);
        }
        self.gate.closed(self.connections.len());
        Ok(())
    }

    /// Makes what is in flight end, and a peer that does not close. If a reply is being sent, what
    /// its peer has not taken is not kept.
    pub(super) fn break_off(&mut self, token: u64, sends: bool) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        connection.ending = Ending::Closing;
        self.going += usize::from(!mem::replace(&mut connection.goes, true));
        self.timers.set(place_of(token), None);
        if sends {
            self.reset_on_close(token)?;
        }
        self.shut(token, How::Both)
    }

    /// What a peer has not taken in time is not kept for it. A slot cannot be told so.
    fn reset_on_close(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        match self.ring.socket(connection.handle) {
            Some(socket) => socket.reset_on_close(),
            None => self.ring.install(connection.handle, token)?,
        }
        Ok(())
    }
}
