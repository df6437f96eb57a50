//! The client's side: requests are written, replies are read, without I/O.
//!
//! An [`Ask`] is one request, which writes itself. An [`Exchange`] then reads what comes in return,
//! in pieces of any size, and tells of each call how many bytes it took and what they were. Several
//! requests may be on their way at the same time: their replies come in the same order, so what one
//! exchange leaves is for the next.
//!
//! A reply that two recipients could understand differently is a [`Fault`], and so is one that does
//! not end: who measures a server has to notice.

mod judgement;

use core::fmt;
use std::io::Write as _;

use memchr::memchr;

use self::judgement::{Judged, Length, judge};
use crate::body::{Body, is_token};
use crate::head::values;

/// Bytes of a reply's head: as many as browsers take. Servers send less than 2 KiB; a head that
/// comes in pieces is kept until it is whole.
pub const HEAD_BYTES_MAX: usize = 256 << 10;

/// Interim replies before a final one. RFC 9110 section 15.2 sets no bound; nobody needs more than
/// two.
const INTERIM_MAX: u8 = 8;

/// What every reply begins with. HTTP/2 has no such line, HTTP/0.9 no head.
const BEGINS: &[u8] = b"HTTP/1.";

/// The methods of RFC 9110 section 9 that a client here uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// How.
    pub method: Method,
    /// For what: origin form, or `*`; see [`is_target`].
    pub target: &'a str,
    /// Of whom: a host, and its port unless that is 80.
    pub host: &'a str,
    /// Further fields, each ended by CRLF.
    pub fields: &'a str,
    /// Whether the connection shall stay.
    pub keeps: bool,
    /// What the client has already: asks whether that is still current.
    pub copy: Option<&'a Validators>,
    /// Sent with it; mostly nothing.
    pub content: &'a [u8],
}

/// What names the state of a client's copy, as the server wrote it (RFC 9110 section 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// With its quotes.
    pub etag: Option<Box<[u8]>>,
    /// The date in `Last-Modified`.
    pub modified: Option<Box<[u8]>>,
}

/// The reply to one request, as it comes.
#[derive(Debug)]
pub struct Exchange {
    is_head: bool,
    /// Whether the connection stays behind this exchange, as far as is known.
    keeps: bool,
    interim_left: u8,
    /// What has come of a head that comes in pieces; dropped by the call behind its last.
    pieces: Vec<u8>,
    scan: Scan,
    state: State,
}

#[derive(Debug)]
enum State {
    Head,
    Body(Body),
    UntilEnd,
    Over,
}

/// What bytes of a reply were.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'b> {
    /// Nothing to tell: a part of a head, an interim reply, what stands around chunks. If nothing
    /// was taken, more is needed.
    Part,
    /// The head is whole.
    Head(ReplyHead<'b>),
    /// Some of the content.
    Content(&'b [u8]),
    /// The reply is whole; what was not taken is the next one's.
    Whole,
}

/// The head of a final reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead<'b> {
    /// Three digits, not below 200.
    pub status: u16,
    /// What `Content-Length` says, also where no content comes.
    pub length: Option<u64>,
    bytes: &'b [u8],
}

/// Why a reply is none. The connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not begin as replies of HTTP/1 do.
    NotHttp,
    /// A line of the head that is none of RFC 9112 sections 4 and 5.
    Head,
    /// A head of more than [`HEAD_BYTES_MAX`] bytes or too many fields.
    TooLong,
    /// Lengths that contradict each other, or a coding that was not asked for (section 6).
    Framing,
    /// What stands around a chunk (section 7.1).
    Chunks,
    /// More interim replies than anybody needs.
    Interim,
    /// 101: another protocol, which was not asked for.
    Upgrade,
    /// The connection ended before the reply did.
    Cut,
}

impl Exchange {
    /// Of a request by this method that has been sent, and asked for the connection to stay or not.
    #[must_use]
    pub const fn new(method: Method, keeps: bool) -> Self {
        Self {
            is_head: matches!(method, Method::Head),
            keeps,
            interim_left: INTERIM_MAX,
            pieces: Vec::new(),
            scan: Scan { line: 0, seen: 0 },
            state: State::Head,
        }
    }

    /// Takes the beginning of `bytes`; says how many it took, and what they were. Called again
    /// until it says `Part` without having anything left to take, or `Whole`.
    ///
    /// # Errors
    /// Of the peer: see [`Fault`].
    pub fn read<'b>(&'b mut self, bytes: &'b [u8]) -> Result<(usize, Event<'b>), Fault> {
        if matches!(self.state, State::Head) {
            return self.head(bytes);
        }
        if self.pieces.capacity() > 0 {
            self.pieces = Vec::new();
        }
        match &mut self.state {
            State::Body(body) if body.is_done() => {
                self.state = State::Over;
                Ok((0, Event::Whole))
            }
            State::Over => Ok((0, Event::Whole)),
            _ if bytes.is_empty() => Ok((0, Event::Part)),
            State::Body(body) => {
                let (n, is_content) = body.piece(bytes).map_err(|_| Fault::Chunks)?;
                let content = &bytes[..n];
                Ok((n, if is_content { Event::Content(content) } else { Event::Part }))
            }
            State::Head | State::UntilEnd => Ok((bytes.len(), Event::Content(bytes))),
        }
    }

    /// The peer has ended the connection: the end of a reply that says no length.
    ///
    /// # Errors
    /// `Cut` for any other that is not whole.
    pub fn ended(&mut self) -> Result<(), Fault> {
        match self.state {
            State::UntilEnd | State::Over => {
                self.state = State::Over;
                Ok(())
            }
            State::Head | State::Body(_) => Err(Fault::Cut),
        }
    }

    /// Whether the whole reply was told.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Whether the connection may be used again, once the reply is whole (RFC 9112 section 9.3).
    #[must_use]
    pub const fn keeps(&self) -> bool {
        self.keeps
    }

    fn head<'b>(&'b mut self, bytes: &'b [u8]) -> Result<(usize, Event<'b>), Fault> {
        // Most heads come whole, and are read where they lie.
        let before = self.pieces.len();
        let end = if before == 0 {
            self.scan.end(bytes)?
        } else {
            let room = HEAD_BYTES_MAX - before;
            self.pieces.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.scan.end(&self.pieces)?
        };
        let Some(end) = end else {
            if before == 0 {
                self.pieces.extend_from_slice(bytes);
            }
            return Ok((bytes.len(), Event::Part));
        };
        let whole = if before == 0 { &bytes[..end] } else { &self.pieces[..end] };
        let Judged { status, length, content, keeps } = judge(whole, self.is_head)?;
        if status < 200 {
            self.interim(status)?;
            return Ok((end - before, Event::Part));
        }
        self.keeps &= keeps;
        self.state = match content {
            Length::Framed(framing) => State::Body(Body::of_reply(framing)),
            Length::UntilEnd => State::UntilEnd,
        };
        let bytes = if before == 0 { &bytes[..end] } else { &self.pieces[..end] };
        Ok((end - before, Event::Head(ReplyHead { status, length, bytes })))
    }

    /// Makes ready for the reply behind this one (RFC 9110 section 15.2).
    fn interim(&mut self, status: u16) -> Result<(), Fault> {
        if status == SWITCHING_PROTOCOLS {
            return Err(Fault::Upgrade);
        }
        self.interim_left = self.interim_left.checked_sub(1).ok_or(Fault::Interim)?;
        self.pieces.clear();
        self.scan = Scan::default();
        Ok(())
    }
}

const SWITCHING_PROTOCOLS: u16 = 101;

/// Looks for the end of a head in bytes that come piece by piece; each is looked at once, so that
/// a head is the same however it was cut.
#[derive(Debug, Clone, Copy, Default)]
struct Scan {
    line: usize,
    seen: usize,
}

impl Scan {
    /// How long the head is that `bytes` begin with, once its empty line has come.
    fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let bytes = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
        if self.seen < BEGINS.len() {
            let begins = bytes.len().min(BEGINS.len());
            if bytes[..begins] != BEGINS[..begins] {
                return Err(Fault::NotHttp);
            }
        }
        while let Some(found) = memchr(b'\n', &bytes[self.seen..]) {
            let lf = self.seen + found;
            if lf == 0 || bytes[lf - 1] != b'\r' {
                return Err(Fault::Head);
            }
            let is_empty = lf == self.line + 1;
            self.seen = lf + 1;
            self.line = self.seen;
            if is_empty {
                return Ok(Some(self.seen));
            }
        }
        self.seen = bytes.len();
        if bytes.len() == HEAD_BYTES_MAX { Err(Fault::TooLong) } else { Ok(None) }
    }
}

impl ReplyHead<'_> {
    /// What a copy of this reply would be known by; nothing for a reply that says nothing of it.
    #[must_use]
    pub fn validators(&self) -> Option<Validators> {
        let first = |name| values(self.bytes, name).find(|value| !value.is_empty());
        let (etag, modified) = (first("etag"), first("last-modified"));
        let is_known = etag.is_some() || modified.is_some();
        is_known
            .then(|| Validators { etag: etag.map(Box::from), modified: modified.map(Box::from) })
    }
}

impl Ask<'_> {
    /// Writes it at the end of `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        put(&[self.method.name().as_bytes(), b" ", self.target.as_bytes(), b" HTTP/1.1\r\nHost: "]);
        put(&[self.host.as_bytes(), b"\r\n", self.fields.as_bytes()]);
        if let Some(Validators { etag, modified }) = self.copy {
            if let Some(etag) = etag {
                put(&[b"If-None-Match: ", etag, b"\r\n"]);
            }
            if let Some(modified) = modified {
                put(&[b"If-Modified-Since: ", modified, b"\r\n"]);
            }
        }
        if !self.keeps {
            put(&[b"Connection: close\r\n"]);
        }
        let is_sent = matches!(self.method, Method::Post | Method::Put);
        if is_sent || !self.content.is_empty() {
            // A vector takes whatever is written.
            let _ = write!(out, "Content-Length: {}\r\n", self.content.len());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.content);
    }
}

/// Whether a target can be written into a request line: printable ASCII without a blank, beginning
/// with a slash, or `*`.
#[must_use]
pub fn is_target(target: &str) -> bool {
    let is_form = target.starts_with('/') || target == "*";
    is_form && target.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a field can be written into a head: its name is a token, and its value printable ASCII
/// with blanks and tabs within (RFC 9110 section 5.5, whose further bytes mean nothing by now).
#[must_use]
pub fn is_field(name: &str, value: &str) -> bool {
    let is_value = |byte: u8| byte == b' ' || byte == b'\t' || byte.is_ascii_graphic();
    !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_value)
}

impl Method {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHttp => "it does not begin with HTTP/1",
            Self::Head => "a line of its head is malformed",
            Self::TooLong => "its head is too long",
            Self::Framing => "its length is in doubt",
            Self::Chunks => "its chunks are malformed",
            Self::Interim => "too many interim replies",
            Self::Upgrade => "it switches to another protocol",
            Self::Cut => "the connection ended before it did",
        })
    }
}
