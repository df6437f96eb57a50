//! What became of one request: all that collectors see.

use measure::Instant;

use crate::files::FileId;

/// One request that has come to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// For what.
    pub file: FileId,
    /// The session, counted from 0 over all processes.
    pub session: u64,
    /// The place of the request in it, from 0.
    pub place: u32,
    /// Whether none of the session comes behind it.
    pub is_last: bool,
    /// When it was to be made by its schedule, which is when patience and response times begin.
    pub intended: Instant,
    /// When its bytes, or the SYN of its connection, were given to the kernel: later, where the
    /// generator was late.
    pub started: Instant,
    /// When its connection was there; `None`: it used one that was there, or got none.
    pub connected: Option<Instant>,
    /// When the first byte of its reply came.
    pub first_byte: Option<Instant>,
    /// When it was over.
    pub ended: Instant,
    /// Received for it, heads included.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a request ended: httperf's classes of errors, and what it does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered whole, as it should be.
    Good,
    /// Answered whole with another status than was expected.
    Status(u16),
    /// Answered whole; the content is of another length or not what was made.
    Wrong,
    /// The client's patience was over (httperf: client-timo).
    Impatient(Step),
    /// The kernel's was (socket-timo).
    TimedOut,
    /// Nobody listened (connrefused).
    Refused,
    /// The connection was reset (connreset).
    Reset(Step),
    /// The connection ended by FIN before the reply was whole.
    Ended(Step),
    /// The reply is none of HTTP.
    Malformed,
    /// The reply is beyond what is read: its head is too long, or too many interim replies come
    /// before it.
    Unread,
    /// No descriptor was left (fd-unavail, ftab-full).
    NoDescriptor,
    /// No address or port was left (addrunavail).
    NoAddress,
    /// As many connections were open as may be.
    NotStarted,
    /// There is no way to that host.
    Unreachable,
    /// Anything else (other).
    Other,
}

/// What a request waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The connection.
    Connect,
    /// To be sent.
    Send,
    /// The first byte of the reply.
    FirstByte,
    /// The rest of the reply.
    Reply,
}
