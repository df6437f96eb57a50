//! A request's head: split by `httparse`, then judged strictly (RFC 9112 sections 2, 3, 5 and 6).

use crate::{Limits, Status};

/// The methods of RFC 9110 section 9 and RFC 5789 that this server knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Served.
    Get,
    /// Served without content.
    Head,
    /// Answered with `Allow`.
    Options,
    /// Known, never allowed here: 405.
    Known,
    /// Not known: 501.
    Unknown,
}

/// The protocol version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1, or a higher minor version.
    Http11,
}

/// Whether the connection outlives the reply (RFC 9112 section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// It stays, as HTTP/1.1 has it by default.
    Stays,
    /// It stays because an HTTP/1.0 client asked for it: say `Connection: keep-alive`.
    StaysByRequest,
    /// It closes.
    Closes,
}

/// How a request's body is delimited (RFC 9112 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// So many bytes.
    Sized(u64),
    /// Chunks.
    Chunked,
}

/// Why a head is not answered: a status and nothing else; the framing is in doubt, so the connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal(pub Status);

/// What was judged once and is kept while the request is answered. Spans are into the head's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// See [`Method`].
    pub method: Method,
    /// See [`Version`].
    pub version: Version,
    /// See [`Persistence`].
    pub persistence: Persistence,
    /// See [`Framing`].
    pub framing: Framing,
    /// `Expect: 100-continue` was given.
    pub expects_continue: bool,
}

/// A judged head: the request and the bytes it came in.
#[derive(Debug, Clone, Copy)]
pub struct Head<'c> {
    bytes: &'c [u8],
    request: &'c Request,
}
