//! A request's head: split by `httparse`, then judged strictly (RFC 9112 sections 2, 3, 5 and 6).
//!
//! Whatever two recipients could understand differently is refused: it is how requests are smuggled.

use core::mem::MaybeUninit;

use memchr::memchr;

use crate::{Limits, Status};

/// The methods of RFC 9110 section 9 and RFC 5789, as far as this server tells them apart.
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
}

impl<'c> Head<'c> {
    /// A head from its bytes, as far as the empty line, and what [`Request::judge`] made of them.
    #[must_use]
    pub const fn new(bytes: &'c [u8], request: &'c Request) -> Self {
        Self { bytes, request }
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
        Lines(self.bytes).skip(1).filter_map(move |line| {
            let colon = memchr(b':', line)?;
            let named = line[..colon].eq_ignore_ascii_case(name.as_bytes());
            named.then(|| line[colon + 1..].trim_ascii())
        })
    }

    fn span(&self, span: Span) -> &'c [u8] {
        &self.bytes[usize::from(span.at)..usize::from(span.end)]
    }
}

/// The first line of a head, without its CRLF.
pub(crate) fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    Lines(bytes).next()
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

/// Looks for the end of a head in bytes that come piece by piece; each byte is looked at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    line: usize,
    seen: usize,
}

/// Bytes of a request line besides its target: method, version, spaces.
const LINE_EXTRA_BYTES: usize = 64;

impl Scan {
    /// How long the head is, once its empty line is in `bytes`.
    pub(crate) fn end(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Refusal> {
        while let Some(found) = memchr(b'\n', &bytes[self.seen..]) {
            let lf = self.seen + found;
            if lf == 0 || bytes[lf - 1] != b'\r' {
                return Err(Refusal(Status::BAD_REQUEST));
            }
            self.within(lf, limits)?;
            let is_empty = lf == self.line + 1;
            self.seen = lf + 1;
            self.line = self.seen;
            if is_empty {
                return Ok(Some(self.seen));
            }
        }
        self.seen = bytes.len();
        self.within(bytes.len(), limits)?;
        Ok(None)
    }

    fn within(&self, n: usize, limits: &Limits) -> Result<(), Refusal> {
        if self.line == 0 && n > limits.target_bytes_max + LINE_EXTRA_BYTES {
            return Err(Refusal(Status::URI_TOO_LONG));
        }
        if n > limits.head_bytes_max {
            return Err(Refusal(Status::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        Ok(())
    }
}

/// More fields than anybody may send.
const FIELDS_MAX: usize = 128;
type Fields<'c> = [MaybeUninit<httparse::Header<'c>>; FIELDS_MAX];

impl Request {
    /// Judges a whole head, its empty line included, of less than 64 KiB.
    ///
    /// # Errors
    /// The status with which it is refused.
    pub fn judge(bytes: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        if bytes.len() > usize::from(u16::MAX) {
            return Err(TOO_MANY);
        }
        let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut []);
        match parsed.parse_with_uninit_headers(bytes, &mut fields) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err(BAD),
            Err(httparse::Error::Version) => return judge_version(bytes, limits),
            Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY),
            Err(_) => return Err(BAD),
        }
        if parsed.headers.len() > limits.fields_max {
            return Err(TOO_MANY);
        }
        let method = method(parsed.method.unwrap_or_default());
        let version = if parsed.version == Some(0) { Version::Http10 } else { Version::Http11 };
        let target = parsed.path.unwrap_or_default().as_bytes();
        if target.len() > limits.target_bytes_max {
            return Err(Refusal(Status::URI_TOO_LONG));
        }
        let mut judged = Judged::default();
        for field in parsed.headers.iter() {
            judged.field(field, bytes)?;
        }
        let mut request = Self {
            method,
            version,
            persistence: judged.persistence(version),
            framing: judged.framing(version)?,
            expects_continue: judged.expects_continue && version == Version::Http11,
            conditional: judged.conditional,
            path: Span::default(),
            query: Span::default(),
            host: judged.host(version)?,
        };
        request.aim(target, parsed.method == Some("CONNECT"), bytes)?;
        Ok(request)
    }

    /// Takes the target apart (RFC 9112 section 3.2).
    fn aim(&mut self, target: &[u8], connects: bool, bytes: &[u8]) -> Result<(), Refusal> {
        let rest = match target {
            _ if memchr(b'#', target).is_some() => return Err(BAD),
            // Authority form: CONNECT is refused whatever it names.
            _ if connects => return Ok(()),
            b"*" if self.method == Method::Options => return Ok(()),
            [b'/', ..] => target,
            _ => {
                let scheme = [&b"http://"[..], b"https://"].into_iter().find(|scheme| {
                    target.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme))
                });
                let after = &target[scheme.ok_or(BAD)?.len()..];
                let end = after.iter().position(|&byte| byte == b'/' || byte == b'?');
                let (authority, rest) = after.split_at(end.unwrap_or(after.len()));
                if authority.is_empty() || !is_host(authority) {
                    return Err(BAD);
                }
                // The target's host wins over the field's (RFC 9112 section 3.2.2).
                self.host = Span::of(authority, bytes);
                rest
            }
        };
        let (path, query) = match memchr(b'?', rest) {
            Some(mark) => (&rest[..mark], &rest[mark + 1..]),
            None => (rest, &rest[rest.len()..]),
        };
        self.path = Span::of(path, bytes);
        self.query = Span::of(query, bytes);
        Ok(())
    }
}

const BAD: Refusal = Refusal(Status::BAD_REQUEST);
const TOO_MANY: Refusal = Refusal(Status::REQUEST_HEADER_FIELDS_TOO_LARGE);

/// A higher minor version is understood as 1.1 (RFC 9110 section 2.5), another major one is not.
fn judge_version(bytes: &[u8], limits: &Limits) -> Result<Request, Refusal> {
    let line = first_line(bytes).unwrap_or_default();
    match line.len().checked_sub(9).map(|at| (at, &line[at..])) {
        Some((at, [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'])) => {
            let mut lowered = bytes.to_vec();
            lowered[at + 8] = b'1';
            Request::judge(&lowered, limits)
        }
        Some((_, [b' ', b'H', b'T', b'T', b'P', b'/', major, b'.', minor]))
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Refusal(Status::HTTP_VERSION_NOT_SUPPORTED))
        }
        _ => Err(BAD),
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "OPTIONS" => Method::Options,
        "POST" | "PUT" | "DELETE" | "CONNECT" | "TRACE" | "PATCH" => Method::Known,
        _ => Method::Unknown,
    }
}

/// What the fields say, before it is judged as a whole.
#[derive(Default)]
struct Judged {
    length: Option<u64>,
    codings: TransferCodings,
    hosts: u32,
    host: Span,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    conditional: bool,
}

/// The transfer codings seen so far.
#[derive(Default, PartialEq, Eq)]
enum TransferCodings {
    #[default]
    None,
    /// `chunked`, once, last.
    Chunked,
    /// Others, and `chunked` last.
    OthersThenChunked,
    /// `chunked` is not last.
    Others,
    /// `chunked` twice, or something behind it.
    Wrong,
}

impl Judged {
    fn field(&mut self, field: &httparse::Header<'_>, bytes: &[u8]) -> Result<(), Refusal> {
        let (name, value) = (field.name, field.value);
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is("host") => {
                self.hosts += 1;
                self.host = Span::of(value, bytes);
                if !is_host(value) {
                    return Err(BAD);
                }
            }
            5 if is("range") => self.conditional = true,
            6 if is("expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(Refusal(Status::EXPECTATION_FAILED));
                }
                self.expects_continue = true;
            }
            8 if is("if-match") || is("if-range") => self.conditional = true,
            10 if is("connection") => {
                for token in list(value) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            13 if is("if-none-match") => self.conditional = true,
            14 if is("content-length") => {
                if self.length.is_some() {
                    return Err(BAD);
                }
                self.length = Some(decimal(value)?);
            }
            17 if is("if-modified-since") => self.conditional = true,
            17 if is("transfer-encoding") => self.codings(value),
            19 if is("if-unmodified-since") => self.conditional = true,
            _ => {}
        }
        Ok(())
    }

    fn codings(&mut self, value: &[u8]) {
        if list(value).next().is_none() {
            self.codings = TransferCodings::Wrong;
        }
        for coding in list(value) {
            let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.codings = match (&self.codings, is_chunked) {
                (TransferCodings::None, true) => TransferCodings::Chunked,
                (TransferCodings::None | TransferCodings::Others, false) => TransferCodings::Others,
                (TransferCodings::Others, true) => TransferCodings::OthersThenChunked,
                _ => TransferCodings::Wrong,
            };
        }
    }

    /// Both ways at once, or one that 1.0 does not have, is refused (RFC 9112 section 6.1).
    fn framing(&self, version: Version) -> Result<Framing, Refusal> {
        match (&self.codings, self.length) {
            (TransferCodings::None, None) => Ok(Framing::None),
            (TransferCodings::None, Some(length)) => Ok(Framing::Sized(length)),
            (_, Some(_)) => Err(BAD),
            _ if version == Version::Http10 => Err(BAD),
            (TransferCodings::Chunked, None) => Ok(Framing::Chunked),
            (TransferCodings::OthersThenChunked, None) => Err(Refusal(Status::NOT_IMPLEMENTED)),
            _ => Err(BAD),
        }
    }

    fn persistence(&self, version: Version) -> Persistence {
        match version {
            _ if self.close => Persistence::Closes,
            Version::Http11 => Persistence::Stays,
            Version::Http10 if self.keep_alive => Persistence::StaysByRequest,
            Version::Http10 => Persistence::Closes,
        }
    }

    /// Exactly one in 1.1, at most one in 1.0 (RFC 9112 section 3.2).
    fn host(&self, version: Version) -> Result<Span, Refusal> {
        match (self.hosts, version) {
            (1, _) | (0, Version::Http10) => Ok(self.host),
            _ => Err(BAD),
        }
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

/// The members of a comma-separated list, empty ones left out (RFC 9110 section 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

fn decimal(value: &[u8]) -> Result<u64, Refusal> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(BAD);
    }
    let digits = str::from_utf8(value).map_err(|_| BAD)?;
    // Longer than any body that would be read: too large, not malformed.
    Ok(digits.parse().unwrap_or(u64::MAX))
}

/// `uri-host [":" port]` (RFC 3986 section 3.2.2), as to its bytes; without user information.
fn is_host(value: &[u8]) -> bool {
    let (host, port) = match value {
        [b'[', ..] => match memchr(b']', value) {
            Some(end) => value.split_at(end + 1),
            None => return false,
        },
        _ => value.split_at(memchr(b':', value).unwrap_or(value.len())),
    };
    let named = match host {
        [b'[', address @ .., b']'] => {
            let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
            !address.is_empty() && address.iter().all(is_part)
        }
        _ => host
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte)),
    };
    let numbered = match port {
        [] => true,
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    named && numbered
}
