//! Request lines as logs have them, made fit to be sent again.

use std::fmt::Write as _;

use crate::files::FileId;
use crate::session::{Method, Request};

/// How a file was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Get,
    /// The client had a copy, which was current.
    Conditional,
    Head,
    /// A GET or a HEAD whose answer was well and no file, as 204 is that beacons get.
    Fileless {
        is_head: bool,
    },
}

impl Way {
    /// Of a request that was answered so; `None` for one that says nothing of a file.
    pub(crate) fn of(method: &[u8], status: u16) -> Option<Self> {
        match (method, status) {
            (b"GET", 200 | 206) => Some(Self::Get),
            (b"GET", 304) => Some(Self::Conditional),
            (b"HEAD", 200 | 206 | 304) => Some(Self::Head),
            (b"GET" | b"HEAD", 200..=299) => Some(Self::Fileless { is_head: method == b"HEAD" }),
            _ => None,
        }
    }

    pub(crate) fn request(self, file: FileId) -> Request {
        let plain = Request::get(file);
        match self {
            Self::Get | Self::Fileless { is_head: false } => plain,
            Self::Conditional => Request { is_conditional: true, ..plain },
            Self::Head | Self::Fileless { is_head: true } => {
                Request { method: Method::Head, ..plain }
            }
        }
    }

    /// Whether a file was the answer, or its head.
    pub(crate) const fn is_of_file(self) -> bool {
        !matches!(self, Self::Fileless { .. })
    }
}

/// Longer ones no server of ours would take in a head of 8 KiB.
const TARGET_BYTES_MAX: usize = 7 << 10;

/// Method and target of a request line: without a protocol (HTTP/0.9) or a method (it was GET),
/// with spaces and quotes within, as people typed them. `None`: it is none.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii();
    let first = line.iter().position(|&byte| byte == b' ');
    let (method, rest) = match first {
        Some(end) if is_method(&line[..end]) => line.split_at(end),
        _ if line.starts_with(b"/") => (&b"GET"[..], line),
        _ => return None,
    };
    let target = without_protocol(rest).trim_ascii();
    if target.is_empty() { None } else { Some((method, target)) }
}

fn is_method(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_uppercase)
}

fn without_protocol(rest: &[u8]) -> &[u8] {
    let Some(space) = rest.iter().rposition(|&byte| byte == b' ') else { return rest };
    let is_protocol =
        rest[space + 1..].get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"HTTP/"));
    if is_protocol { &rest[..space] } else { rest }
}

/// Writes a logged target to `fresh` in origin form (RFC 9112 section 3.2.1). Whether it has one:
/// one that begins with neither a slash nor `http://`, or is too long, has none.
pub(crate) fn origin(logged: &[u8], fresh: &mut String) -> bool {
    const SCHEME: &[u8] = b"http://";
    fresh.clear();
    let is_absolute =
        logged.get(..SCHEME.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(SCHEME));
    let path = if is_absolute {
        let host = &logged[SCHEME.len()..];
        host.iter().position(|&byte| byte == b'/').map_or(&b"/"[..], |at| &host[at..])
    } else {
        logged
    };
    path.starts_with(b"/") && escape(&unlogged(path), fresh)
}

/// Undoes what servers write for bytes that would break a line of the log: `\"`, `\\` and `\xhh`.
fn unlogged(mut path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    loop {
        let hex = |at: usize| path.get(at).and_then(|&digit| char::from(digit).to_digit(16));
        let (byte, length) = match *path {
            [] => return plain,
            [b'\\', escaped @ (b'"' | b'\\'), ..] => (escaped, 2),
            [b'\\', b'x', ..] => match (hex(2), hex(3)) {
                (Some(high), Some(low)) => ((high * 16 + low) as u8, 4),
                _ => (b'\\', 1),
            },
            [byte, ..] => (byte, 1),
        };
        plain.push(byte);
        path = &path[length..];
    }
}

/// Appends a target with all escaped that may not stand in a request line, a `#` too. What is not
/// UTF-8 is read as Latin-1 first, so that it is a name on every file system. Whether it is short
/// enough.
pub(crate) fn escape(target: &[u8], fresh: &mut String) -> bool {
    let mut push = |byte: u8| {
        if is_plain(byte) {
            fresh.push(char::from(byte));
        } else {
            write!(fresh, "%{byte:02X}").expect("a string takes all");
        }
    };
    if str::from_utf8(target).is_ok() {
        target.iter().for_each(|&byte| push(byte));
    } else {
        let mut bytes = [0; 4];
        for &byte in target {
            char::from(byte).encode_utf8(&mut bytes).bytes().for_each(&mut push);
        }
    }
    fresh.len() <= TARGET_BYTES_MAX
}

/// All of RFC 3986 but `#`; brackets too, which no server minds.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'!' | b'$'..=b';' | b'=' | b'?'..=b'[' | b']' | b'_' | b'a'..=b'z' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_are_split_as_they_were_typed() {
        let rows = [
            ("GET / HTTP/1.0", Some(("GET", "/"))),
            ("GET /", Some(("GET", "/"))),
            ("/a b", Some(("GET", "/a b"))),
            ("HEAD  /a  http/1.1 ", Some(("HEAD", "/a"))),
            ("GET /a b HTTP/1.0", Some(("GET", "/a b"))),
            ("GET /a\"b\" HTTP/V1.0", Some(("GET", "/a\"b\""))),
            ("GET HTTP/1.0", None),
            ("GET", None),
            ("-", None),
            ("", None),
            ("get /a HTTP/1.0", None),
            ("PRI * HTTP/2.0", Some(("PRI", "*"))),
        ];
        for (line, expected) in rows {
            let expected = expected
                .map(|(method, target): (&str, &str)| (method.as_bytes(), target.as_bytes()));
            assert_eq!(split(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn targets_are_made_fit_to_be_sent() {
        let rows: [(&[u8], Option<&str>); 14] = [
            (b"/a/b.html?c=d&e", Some("/a/b.html?c=d&e")),
            (b"/%7Ea%2", Some("/%7Ea%2")),
            (b"/a b\"c\"#d", Some("/a%20b%22c%22%23d")),
            (b"/a\0\r\n\x7f<>", Some("/a%00%0D%0A%7F%3C%3E")),
            (b"/caf\xe9", Some("/caf%C3%A9")),
            ("/café".as_bytes(), Some("/caf%C3%A9")),
            (br#"/a\"b\\c\x41\xe9"#, Some("/a%22b%5CcA%C3%A9")),
            (br"/a\x4\xzz\", Some("/a%5Cx4%5Cxzz%5C")),
            (b"http://host:80/a", Some("/a")),
            (b"HTTP://host", Some("/")),
            (b"http:/a", None),
            (b"*", None),
            (b"a.html", None),
            (b"", None),
        ];
        for (logged, expected) in rows {
            let mut fresh = "before".to_owned();
            let has = origin(logged, &mut fresh);
            assert_eq!(has.then_some(fresh.as_str()), expected, "{}", logged.escape_ascii());
        }
        let mut fresh = String::new();
        let long = |bytes: usize| [b"/".repeat(bytes - 1), b"a".to_vec()].concat();
        assert!(origin(&long(TARGET_BYTES_MAX), &mut fresh));
        assert!(!origin(&long(TARGET_BYTES_MAX + 1), &mut fresh));
    }
}
