use measure::{Duration, Instant};

use crate::{Found, Limits, Loaded, Now, Shared, Status, Want};

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
    file: core::marker::PhantomData<F>,
}

impl<F> Connection<F> {
    /// A connection just accepted.
    pub fn new(limits: Shared<Limits>, now: Instant) -> Self { todo!() }
    /// What is to be done next.
    pub fn want(&self) -> Want<'_, F> { todo!() }
    /// Takes all bytes, in any state; what is not due yet is kept. `false`: enough for now, deliver
    /// nothing more until the next `Recv`.
    pub fn received(&mut self, bytes: &[u8], now: &Now) -> bool { todo!() }
    /// The peer sent FIN: a reply in hand is still sent.
    pub fn ended(&mut self, now: &Now) { todo!() }
    /// Answers `Find`.
    pub fn found(&mut self, found: Found<F>, now: &Now) { todo!() }
    /// Answers `Load`.
    pub fn loaded(&mut self, loaded: Loaded<F>, now: &Now) { todo!() }
    /// `n` more bytes of what `Send` wants are out: first the chunk's, then the file part's.
    /// Returns the reply that became complete by it.
    pub fn sent(&mut self, n: u64, now: &Now) -> Option<Reply> { todo!() }
    /// FIN is out.
    pub fn shut(&mut self, now: &Now) { todo!() }
    /// It broke off: the next want is `Close`.
    pub fn failed(&mut self, fault: Fault) { todo!() }
    /// Answers with `status` and closes, in place of whatever has not begun to be sent.
    pub fn refuse(&mut self, status: Status, now: &Now) { todo!() }
    /// Closes after the reply in hand, or at once when idle.
    pub fn drain(&mut self) { todo!() }
    /// The deadline has passed: refuses (408), closes, or goes on where the rate was good enough.
    pub fn expired(&mut self, now: &Now) { todo!() }
    /// When and by which patience `expired` is due; nothing while the disk is waited for.
    pub fn deadline(&self) -> Option<Deadline> { todo!() }
    /// Whether the connection closes (or shuts) once what `Send` wants is out.
    pub fn closes(&self) -> bool { todo!() }
    /// Bytes of the reply in hand that are still to be sent; 0 if there is none or it is not known.
    pub fn remaining(&self) -> u64 { todo!() }
    /// Between two requests, with nothing received of the next.
    pub fn is_idle(&self) -> bool { todo!() }
    /// The request line being answered (without CRLF), from the end of its head until its reply is
    /// complete.
    pub fn request_line(&self) -> Option<&[u8]> { todo!() }
}
