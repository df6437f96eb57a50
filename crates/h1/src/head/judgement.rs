//! What a head means, or why it means nothing.

use core::mem::MaybeUninit;

use memchr::memchr;

use super::scan::{BAD, HEAD_BYTES_MAX, TOO_LONG, TOO_MANY, within_head, within_line};
use super::{Asked, Framing, Method, Persistence, Refusal, Request, Span, Version};
use crate::{Limits, Status};

/// More fields than anybody may send.
const FIELDS_MAX: usize = 128;
type Fields<'c> = [MaybeUninit<httparse::Header<'c>>; FIELDS_MAX];

const OTHER_VERSION: Refusal = Refusal(Status::HTTP_VERSION_NOT_SUPPORTED);

impl Request {
    /// Judges a whole head, its empty line included, of less than 64 KiB.
    ///
    /// # Errors
    /// The status with which it is refused.
    pub fn judge(bytes: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        match Self::parse(bytes, limits) {
            Ok((request, head)) if usize::from(head) == bytes.len() => Ok(request),
            Ok(_) => Err(BAD),
            Err(OTHER_VERSION) => judge_version(bytes, limits),
            Err(refusal) => Err(refusal),
        }
    }

    /// The head that `bytes` begin with, and its length.
    pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<(Self, u16), Refusal> {
        let bytes = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
        let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut []);
        let end = match parsed.parse_with_uninit_headers(bytes, &mut fields) {
            Ok(httparse::Status::Complete(end)) => end,
            Ok(httparse::Status::Partial) => return Err(BAD),
            Err(httparse::Error::Version) => return Err(OTHER_VERSION),
            Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY),
            Err(_) => return Err(BAD),
        };
        let bytes = &bytes[..end];
        let target = parsed.path.unwrap_or_default().as_bytes();
        check_lines(&parsed, bytes, limits)?;
        let mut judged = Judged::default();
        for field in parsed.headers.iter() {
            judged.field(field, bytes)?;
        }
        let version = if parsed.version == Some(0) { Version::Http10 } else { Version::Http11 };
        let mut request = Self {
            method: method(parsed.method.unwrap_or_default()),
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
        Ok((request, end as u16))
    }

    /// Takes the target apart (RFC 9112 section 3.2).
    fn aim(&mut self, target: &[u8], connects: bool, bytes: &[u8]) -> Result<(), Refusal> {
        let rest = match target {
            // Browsers encode all but some of ASCII, which is let through although RFC 3986 has it
            // encoded too. A part of a document is never asked for.
            _ if !target.is_ascii() || memchr(b'#', target).is_some() => return Err(BAD),
            // Authority form: CONNECT is refused whatever it names.
            _ if connects => return Ok(()),
            b"*" if self.method == Method::Options => return Ok(()),
            [b'/', ..] => target,
            _ => {
                // No TLS is spoken here, so nothing of `https` can be (RFC 9110 section 7.4).
                let (scheme, after) = target.split_at_checked("http://".len()).ok_or(BAD)?;
                if !scheme.eq_ignore_ascii_case(b"http://") {
                    return Err(BAD);
                }
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

/// The bounds, and that each line ends by CRLF: `httparse` takes a bare LF, and lines before the
/// first.
fn check_lines(
    parsed: &httparse::Request<'_, '_>,
    bytes: &[u8],
    limits: &Limits,
) -> Result<(), Refusal> {
    let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    within_line(method.len() + target.len() + "  HTTP/1.1\r\n".len(), limits)?;
    within_head(bytes.len(), limits)?;
    if target.len() > limits.target_bytes_max {
        return Err(TOO_LONG);
    }
    if parsed.headers.len() > limits.fields_max {
        return Err(TOO_MANY);
    }
    // A line's name follows the end of the line before.
    let ends_by_crlf = |field: &httparse::Header<'_>| {
        bytes[..usize::from(Span::of(field.name.as_bytes(), bytes).at)].ends_with(b"\r\n")
    };
    let is_clean = Span::of(method.as_bytes(), bytes).at == 0
        && parsed.headers.iter().all(ends_by_crlf)
        && bytes.ends_with(b"\r\n\r\n");
    if is_clean { Ok(()) } else { Err(BAD) }
}

/// A higher minor version is understood as 1.1 (RFC 9110 section 2.5), another major one is not.
fn judge_version(bytes: &[u8], limits: &Limits) -> Result<Request, Refusal> {
    let line = Asked(bytes).line().unwrap_or_default();
    let mut parts = line.split(|&byte| byte == b' ').skip(2);
    let (Some(version), None) = (parts.next(), parts.next()) else { return Err(BAD) };
    match version {
        b"HTTP/1.0" | b"HTTP/1.1" => Err(BAD),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => {
            let mut lowered = bytes.to_vec();
            lowered[line.len() - 1] = b'1';
            Request::judge(&lowered, limits)
        }
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(OTHER_VERSION),
        _ => Err(BAD),
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "OPTIONS" => Method::Options,
        "POST" => Method::Post,
        "PUT" | "DELETE" | "CONNECT" | "TRACE" | "PATCH" => Method::Known,
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
    /// `chunked` twice, or something behind it, or nothing between commas.
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

    /// An empty member, which lists may have otherwise, is refused: not everybody passes it over.
    fn codings(&mut self, value: &[u8]) {
        for coding in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.codings = match (&self.codings, is_chunked) {
                _ if coding.is_empty() => TransferCodings::Wrong,
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
    let is_named = match host {
        [b'[', address @ .., b']'] => {
            let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
            !address.is_empty() && address.iter().all(is_part)
        }
        _ => host.iter().all(|&byte| is_name(byte)) && has_whole_escapes(host),
    };
    let is_numbered = match port {
        [] => true,
        [b':', digits @ ..] => {
            !host.is_empty() && digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    is_named && is_numbered
}

/// Whether two digits stand behind each `%` (RFC 3986 section 2.1).
fn has_whole_escapes(mut text: &[u8]) -> bool {
    while let Some(at) = memchr(b'%', text) {
        match &text[at + 1..] {
            [one, other, rest @ ..] if one.is_ascii_hexdigit() && other.is_ascii_hexdigit() => {
                text = rest;
            }
            _ => return false,
        }
    }
    true
}

/// What a `reg-name` may hold.
const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'' | b'(')
        || matches!(byte, b')' | b'*' | b'+' | b',' | b';' | b'=')
}
