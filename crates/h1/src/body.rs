//! Where bodies end (RFC 9112 sections 6 and 7). Those of requests are read away: this server
//! serves files, so none means anything to it, but where one ends decides where the next request
//! begins. Those of replies are told piece by piece.

use crate::{Framing, Refusal, Status};

/// Bytes of a chunk's size line (extensions are read away) and of the trailer section, in total for
/// one body. The precedent is a head's bound.
const OVERHEAD_BYTES_MAX: u64 = 16 << 10;

/// Finds the end of one body.
#[derive(Debug)]
pub struct Body {
    state: State,
    /// Content that may still come.
    content_left: u64,
    /// Size lines and trailers that may still come.
    overhead_left: u64,
}

/// Where in the body the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In content without chunks.
    Sized { left: u64 },
    /// In a chunk's size; `digits` of it have come.
    Size { value: u64, digits: u8 },
    /// Behind a chunk's size, in its extensions.
    Extension { value: u64, at: Extension },
    /// Before the LF of the size line.
    SizeLf { value: u64 },
    /// In a chunk's content.
    Data { left: u64 },
    /// Before the CR that ends a chunk.
    DataCr,
    /// Before the LF that ends a chunk.
    DataLf,
    /// At the start of a line of the trailer section.
    TrailerStart,
    /// In the name of a field of it.
    TrailerName,
    /// In the value of one, before its CR.
    Trailer,
    /// Before the LF of such a line.
    TrailerLf,
    /// Before the LF of the empty line that ends it all.
    LastLf,
    /// Behind the body.
    Done,
}

/// Where in a chunk's extensions (RFC 9112 section 7.1.1) the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    /// In blanks, of which only a semicolon makes an extension.
    Blank,
    /// Behind the semicolon.
    Begins,
    Name,
    /// In blanks behind the name.
    Named,
    /// Behind the equals sign.
    Equals,
    Token,
    Quoted,
    /// Behind a backslash in quotes.
    Escaped,
    /// Behind the quotes.
    Unquoted,
}

impl Extension {
    /// Behind this byte; nothing if it does not belong there.
    const fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Quoted, b'"') => Self::Unquoted,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, _) if is_text(byte) => Self::Quoted,
            (Self::Quoted | Self::Escaped, _) => return None,
            (Self::Begins | Self::Equals | Self::Named | Self::Blank, b' ' | b'\t') => self,
            (Self::Name, b' ' | b'\t') => Self::Named,
            (Self::Token | Self::Unquoted, b' ' | b'\t') => Self::Blank,
            (Self::Begins | Self::Equals, b';') => return None,
            (_, b';') => Self::Begins,
            (Self::Name | Self::Named, b'=') => Self::Equals,
            (Self::Equals, b'"') => Self::Quoted,
            (Self::Begins | Self::Name, _) if is_token(byte) => Self::Name,
            (Self::Equals | Self::Token, _) if is_token(byte) => Self::Token,
            _ => return None,
        })
    }

    /// Whether the line may end here: not in blanks, which two recipients might not see alike.
    const fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Token | Self::Unquoted)
    }
}

impl State {
    const fn first(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Sized(0) => Self::Done,
            Framing::Sized(left) => Self::Sized { left },
            Framing::Chunked => Self::Size { value: 0, digits: 0 },
        }
    }
}

impl Body {
    /// A body so framed, of at most `content_max` bytes.
    ///
    /// # Errors
    /// 413 for one that says it is longer.
    pub fn new(framing: Framing, content_max: u64) -> Result<Self, Refusal> {
        if matches!(framing, Framing::Sized(bytes) if bytes > content_max) {
            return Err(Refusal(Status::CONTENT_TOO_LARGE));
        }
        let state = State::first(framing);
        Ok(Self { state, content_left: content_max, overhead_left: OVERHEAD_BYTES_MAX })
    }

    /// The body of a reply: as long as it is. What stands around its chunks has no bound either,
    /// because a long reply has many; nothing of it is kept, and the client's patience ends it.
    pub(crate) const fn of_reply(framing: Framing) -> Self {
        let state = State::first(framing);
        Self { state, content_left: u64::MAX, overhead_left: u64::MAX }
    }

    /// Whether its end has come.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes bytes up to the end of the body; returns how many were its own.
    ///
    /// # Errors
    /// 400 for malformed chunks, 413 for more than was agreed, 431 for too much around it.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            at += self.piece(&bytes[at..])?.0;
        }
        Ok(at)
    }

    /// Takes the next bytes as far as all are content, or none is; returns how many, and whether
    /// they are content. 0 behind the end.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        if let State::Sized { left } | State::Data { left } = self.state {
            let n = left.min(bytes.len() as u64);
            self.skip(left - n);
            return Ok((n as usize, true));
        }
        let mut at = 0;
        while at < bytes.len() && !matches!(self.state, State::Done | State::Data { .. }) {
            let left = self.overhead_left.checked_sub(1);
            self.overhead_left = left.ok_or(Refusal(Status::REQUEST_HEADER_FIELDS_TOO_LARGE))?;
            self.state = self.byte(bytes[at])?;
            at += 1;
        }
        Ok((at, false))
    }

    fn skip(&mut self, left: u64) {
        self.state = match (self.state, left) {
            (State::Sized { .. }, 0) => State::Done,
            (State::Sized { .. }, left) => State::Sized { left },
            (_, 0) => State::DataCr,
            (_, left) => State::Data { left },
        };
    }

    /// One byte between the chunks' contents. Only CRLF ends a line: what some recipients take for
    /// an end and others do not is how requests are smuggled.
    fn byte(&mut self, byte: u8) -> Result<State, Refusal> {
        let bad = Err(Refusal(Status::BAD_REQUEST));
        Ok(match (self.state, byte) {
            (State::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                // Sixteen digits are the most that a u64 holds.
                if digits == 16 {
                    return bad;
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                State::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            (State::Size { digits: 0, .. }, _) => return bad,
            (State::Size { value, .. }, b'\r') => State::SizeLf { value },
            (State::Size { value, .. }, b' ' | b'\t') => {
                State::Extension { value, at: Extension::Blank }
            }
            (State::Size { value, .. }, b';') => State::Extension { value, at: Extension::Begins },
            (State::Extension { value, at }, b'\r') if at.may_end() => State::SizeLf { value },
            (State::Extension { value, at }, _) => match at.next(byte) {
                Some(at) => State::Extension { value, at },
                None => return bad,
            },
            (State::Trailer, _) if is_text(byte) => State::Trailer,
            (State::SizeLf { value: 0 }, b'\n') => State::TrailerStart,
            (State::SizeLf { value }, b'\n') => {
                let Some(left) = self.content_left.checked_sub(value) else {
                    return Err(Refusal(Status::CONTENT_TOO_LARGE));
                };
                self.content_left = left;
                State::Data { left: value }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { value: 0, digits: 0 },
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart | State::TrailerName, _) if is_token(byte) => State::TrailerName,
            (State::TrailerName, b':') => State::Trailer,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::LastLf, b'\n') => State::Done,
            _ => return bad,
        })
    }
}

/// What a line may hold: no controls but the tab.
const fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// What a field's name may hold (RFC 9110 section 5.6.2).
pub(crate) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_'
        )
        || matches!(byte, b'`' | b'|' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `bytes` whole and byte by byte; says how many were the body's.
    fn check(framing: Framing, bytes: &[u8], expected: Result<usize, u16>) {
        let whole = Body::new(framing, 64).and_then(|mut body| {
            let n = body.take(bytes)?;
            Ok((n, body.is_done()))
        });
        let bytewise = Body::new(framing, 64).and_then(|mut body| {
            let mut n = 0;
            for byte in bytes {
                n += body.take(core::slice::from_ref(byte))?;
            }
            Ok((n, body.is_done()))
        });
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(whole, bytewise, "{text:?}");
        assert_eq!(whole.map(|(n, _)| n).map_err(|Refusal(status)| status.0), expected, "{text:?}");
    }

    #[test]
    fn sized_bodies_end_where_they_said() {
        check(Framing::None, b"GET /", Ok(0));
        check(Framing::Sized(0), b"GET /", Ok(0));
        check(Framing::Sized(3), b"abcGET /", Ok(3));
        check(Framing::Sized(65), b"", Err(413));
    }

    #[test]
    fn chunked_bodies_end_behind_their_trailers() {
        check(Framing::Chunked, b"3\r\nabc\r\n0\r\n\r\nGET /", Ok(13));
        check(Framing::Chunked, b"0\r\nA: b\r\nC: d\r\n\r\nGET /", Ok(17));
        check(Framing::Chunked, b"003;a=\"b\"\r\nabc\r\n0\r\n\r\n", Ok(21));
    }

    #[test]
    fn extensions_are_read_away() {
        for extension in [
            &b";a"[..],
            b" ;a",
            b"\t ; \ta",
            b";a=b",
            b";a = b",
            b";a \t=\t b;c",
            b";a=b ;c=\"d\" ;e",
            b";a;b",
            b";a ;b",
            b";a=\"\"",
            b";a=\"; = \t\xff\"",
            b";a=\"\\\"\\\\\\\xff\"",
            b";!#$%&'*+-.^_`|~=!",
        ] {
            let body = [b"3", extension, b"\r\nabc\r\n0\r\n\r\n"].concat();
            check(Framing::Chunked, &body, Ok(body.len()));
        }
        for bad in [
            &b" "[..],
            b"\t",
            b";",
            b"; ",
            b";;a",
            b";=x",
            b";a;",
            b";a ",
            b";a=",
            b";a= ",
            b";a=b ",
            b";a=b c",
            b";a b",
            b";a==b",
            b";a=b=c",
            b";a=\"b\" ",
            b";a=\"b\"c",
            b";a=b\"c\"",
            b";a=\"b",
            b";a=\"b\\",
            b";\"a\"",
            b";a\x80",
            b";a=\x80",
            b";a/b",
            b";a=\"\x7f\"",
            b";a=\"\\\x01\"",
        ] {
            let body = [b"3", bad, b"\r\nabc\r\n0\r\n\r\n"].concat();
            check(Framing::Chunked, &body, Err(400));
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for bad in [
            &b"\r\n"[..],
            b"x\r\n",
            b"3\nabc",
            b"3\r\nabcd\r\n",
            b"3\r\nabc\n0\r\n\r\n",
            b"-3\r\n",
            b"0x3\r\n",
            b"3\rabc",
            b"00000000000000003\r\n",
            b"0\r\n: x\r\n",
            b"0\r\n\n",
            b"3;\x00\r\n",
            b"0\r\nA: \x01\r\n",
            b"0\r\nA : b\r\n",
            b"0\r\nA\r\n",
            b"3 abc\r\n",
            b"+3\r\n",
            b" 3\r\n",
            b"ffffffffffffffff0\r\n",
        ] {
            check(Framing::Chunked, bad, Err(400));
        }
        check(Framing::Chunked, b"ffffffffffffffff\r\n", Err(413));
        check(Framing::Chunked, b"20\r\n01234567890123456789012345678901\r\n21\r\n", Err(413));
        let endless = [b"1;".as_slice(), &vec![b'x'; 20_000]].concat();
        check(Framing::Chunked, &endless, Err(431));
    }
}
