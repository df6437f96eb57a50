//! A request's head: split by `httparse`, then judged strictly (RFC 9112 sections 2, 3, 5 and 6).
//!
//! Whatever two recipients could understand differently is refused: it is how requests are
//! smuggled.

mod judgement;
mod scan;

use std::net::IpAddr;

use memchr::memchr;

pub(crate) use self::scan::Scan;
use crate::Status;

/// The methods of RFC 9110 section 9 and RFC 5789, as far as this server tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Served.
    Get,
    /// Served without content.
    Head,
    /// Answered with what is allowed.
    Options,
    /// Allowed for no file: 405. It changes something where somebody has a use for it.
    Post,
    /// Known, and allowed for no file either.
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

/// Fields of a request that are told as they came, for logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// RFC 9110 section 7.2.
    Host,
    /// RFC 9110 section 10.1.3.
    Referer,
    /// RFC 9110 section 10.1.5.
    UserAgent,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Referer => "referer",
            Self::UserAgent => "user-agent",
        }
    }
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

/// Why a request is not answered: a status and nothing else. Where it ends is in doubt, so the
/// connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal(pub Status);

/// What was judged once and is kept while the request is answered.
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
    /// A condition or a range was given.
    conditional: bool,
    path: Span,
    query: Span,
    host: Span,
}

/// Bytes of the head, which is shorter than 64 KiB; empty: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    at: u16,
    end: u16,
}

/// A judged head: the request and the bytes it came in.
#[derive(Debug, Clone, Copy)]
pub struct Head<'c> {
    bytes: &'c [u8],
    request: &'c Request,
    source: Option<IpAddr>,
}

impl<'c> Head<'c> {
    /// A head from its bytes, as far as the empty line, and what [`Request::judge`] made of them.
    #[must_use]
    pub const fn new(bytes: &'c [u8], request: &'c Request) -> Self {
        Self { bytes, request, source: None }
    }

    /// The same, and from which address it is. Only who knows the peer can say that: what the head
    /// says of it by itself anybody may have written.
    #[must_use]
    pub const fn sent_by(self, source: Option<IpAddr>) -> Self {
        Self { source, ..self }
    }

    /// The client's address; `None`: it has none, or nobody has asked for it.
    #[must_use]
    pub const fn source(&self) -> Option<IpAddr> {
        self.source
    }

    /// See [`Method`].
    #[must_use]
    pub const fn method(&self) -> Method {
        self.request.method
    }

    /// See [`Version`].
    #[must_use]
    pub const fn version(&self) -> Version {
        self.request.version
    }

    /// Whether a condition or a range was given (RFC 9110 sections 13.1 and 14.2).
    #[must_use]
    pub const fn is_conditional(&self) -> bool {
        self.request.conditional
    }

    /// The path as it came, still encoded; `/` where an absolute target had none.
    #[must_use]
    pub fn path(&self) -> &'c [u8] {
        match self.span(self.request.path) {
            [] => b"/",
            path => path,
        }
    }

    /// What stood behind `?`; empty if nothing did.
    #[must_use]
    pub fn query(&self) -> &'c [u8] {
        self.span(self.request.query)
    }

    /// The host that is asked, port included, of the target or else of `Host`; perhaps empty.
    #[must_use]
    pub fn host(&self) -> &'c [u8] {
        self.span(self.request.host)
    }

    /// The values of a field, one for each line, in order; `name` in any case.
    pub fn values(&self, name: &'static str) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        values(self.bytes, name)
    }

    fn span(&self, span: Span) -> &'c [u8] {
        &self.bytes[usize::from(span.at)..usize::from(span.end)]
    }
}

/// The values of a field of a head, one for each line, in order; `name` in any case.
pub(crate) fn values<'c>(
    bytes: &'c [u8],
    name: &'static str,
) -> impl Iterator<Item = &'c [u8]> + use<'c> {
    Lines(bytes).skip(1).filter_map(move |line| value(line, name))
}

/// What a line says of a field, if it is of that one.
fn value<'c>(line: &'c [u8], name: &str) -> Option<&'c [u8]> {
    let colon = memchr(b':', line)?;
    let named = line[..colon].eq_ignore_ascii_case(name.as_bytes());
    named.then(|| line[colon + 1..].trim_ascii())
}

/// What was asked, in the client's own words, which need not be a good head.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'c>(pub(crate) &'c [u8]);

impl<'c> Asked<'c> {
    /// The request line, without its CRLF; nothing as long as it has no end.
    #[must_use]
    pub fn line(&self) -> Option<&'c [u8]> {
        Lines(self.0).next()
    }

    /// The first value of a field, as it came.
    #[must_use]
    pub fn field(&self, field: Field) -> Option<&'c [u8]> {
        self.values(field.name()).next()
    }

    /// All values of a field, one for each line, in order; `name` in any case.
    pub(crate) fn values(&self, name: &'static str) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        let fields = Lines(self.0).skip(1).take_while(|line| !line.is_empty());
        fields.filter_map(move |line| value(line, name))
    }
}

/// Lines ended by CRLF.
struct Lines<'c>(&'c [u8]);

impl<'c> Iterator for Lines<'c> {
    type Item = &'c [u8];

    fn next(&mut self) -> Option<&'c [u8]> {
        let lf = memchr(b'\n', self.0)?;
        let line = &self.0[..lf];
        self.0 = &self.0[lf + 1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

impl Span {
    /// Where `part` lies in `whole`, whose part it is.
    fn of(part: &[u8], whole: &[u8]) -> Self {
        let at = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
        // A judged head is shorter than 64 KiB; an empty part may lie anywhere.
        let at = at.min(whole.len());
        Self { at: at as u16, end: (at + part.len()) as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_field_is_told_also_of_a_bad_head() {
        let check = |fields: &str, expected: Option<&str>| {
            let bytes = format!("GET / HTTP/1.1\r\n{fields}");
            let value = Asked(bytes.as_bytes()).field(Field::UserAgent);
            assert_eq!(value, expected.map(str::as_bytes), "{fields:?}");
        };
        check("User-Agent: a\r\n\r\n", Some("a"));
        check("Host: b\r\nUSER-AGENT:\t a b \r\n\r\n", Some("a b"));
        check("user-agent: a\r\nuser-agent: b\r\n\r\n", Some("a"));
        check("user-agent:\r\n\r\n", Some(""));
        check("user-agent : a\r\nuser-agents: b\r\nno colon\r\n\r\n", None);
        check("user-agent: a\nb\r\n", Some("a"));
        check("Host: b\r\n\r\nuser-agent: of the body\r\n", None);
        check("user-agent: cut off", None);
        check("", None);
    }
}
