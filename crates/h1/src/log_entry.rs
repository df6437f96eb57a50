//! An entry of an access log: what is told of a reply, and what its line looks like. A client's
//! words are escaped so that they neither end a line or a field of it nor reach a terminal as
//! anything but plain ASCII.

use std::io::Write;
use std::net::IpAddr;

use measure::{Duration, Instant};

use crate::{Asked, Date, Field, Reply};

/// What a line tells.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'e> {
    /// Who asked; nothing if that is not known.
    pub peer: Option<IpAddr>,
    /// When the reply was out: see [`LogFormat::stamp`].
    pub stamp: &'e str,
    /// What was asked.
    pub words: &'e Words,
    /// From when the request was whole until the kernel had its reply.
    pub took: Option<Duration>,
    /// What was answered.
    pub reply: Reply,
}

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// As NCSA's server wrote it, and Apache's format of that name.
    Common,
    /// That, the page that led here, and the client's name for itself.
    Combined,
    /// An object.
    Json,
}

impl LogFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Common, Self::Combined, Self::Json];

    /// As in `--log-format NAME`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Combined => "combined",
            Self::Json => "json",
        }
    }

    /// A second as this format writes it.
    #[must_use]
    pub fn stamp(self, date: &Date) -> String {
        match self {
            Self::Common | Self::Combined => date.common_log(),
            Self::Json => date.rfc3339(),
        }
    }
}

impl Entry<'_> {
    /// Adds its line, the end included.
    ///
    /// - `common`: `10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET / HTTP/1.1" 200 1024`, as
    ///   Apache's format of that name; `-` for what is not known or was not given.
    /// - `combined`: that and ` "referer" "user agent"`.
    /// - `json`: an object. Text that was not given is empty. `duration_us` is what it took, and
    ///   `null` where there was no request.
    pub fn write(&self, format: LogFormat, line: &mut Vec<u8>) {
        match format {
            LogFormat::Common => text(line, self),
            LogFormat::Combined => {
                text(line, self);
                for part in [self.words.referer(), self.words.user_agent()] {
                    line.push(b' ');
                    quoted(line, part);
                }
            }
            LogFormat::Json => json(line, self),
        }
        line.push(b'\n');
    }
}

// Writing to a Vec cannot fail: here and below.
fn text(line: &mut Vec<u8>, entry: &Entry<'_>) {
    let _ = match entry.peer {
        Some(ip) => write!(line, "{ip}"),
        None => write!(line, "-"),
    };
    let _ = write!(line, " - - [{}] ", entry.stamp);
    quoted(line, entry.words.line());
    let _ = write!(line, " {} {}", entry.reply.status.0, entry.reply.bytes);
}

/// In quotes, `-` for nothing. Other bytes than printable ASCII are `\xhh`, as Apache has it.
fn quoted(line: &mut Vec<u8>, text: &[u8]) {
    line.push(b'"');
    if text.is_empty() {
        line.push(b'-');
    }
    escape(line, text, "\\x");
    line.push(b'"');
}

fn json(line: &mut Vec<u8>, entry: &Entry<'_>) {
    let Entry { peer, stamp, words, took, reply } = entry;
    let (method, target, protocol) = parts(words.line());
    let _ = write!(line, "{{\"time\":\"{stamp}\",\"peer\":\"");
    let _ = peer.map(|ip| write!(line, "{ip}"));
    line.push(b'"');
    for (name, text) in [("method", method), ("target", target), ("protocol", protocol)] {
        member(line, name, text);
    }
    let _ = write!(line, ",\"status\":{},\"bytes\":{}", reply.status.0, reply.bytes);
    let _ = match took {
        Some(took) => write!(line, ",\"duration_us\":{}", took.as_micros()),
        None => write!(line, ",\"duration_us\":null"),
    };
    member(line, "referer", words.referer());
    member(line, "user_agent", words.user_agent());
    member(line, "host", words.host());
    line.push(b'}');
}

/// See [`json_text`].
fn member(line: &mut Vec<u8>, name: &str, text: &[u8]) {
    let _ = write!(line, ",\"{name}\":\"");
    escape(line, text, "\\u00");
    line.push(b'"');
}

/// Method, target and protocol, as far as a request line has them.
fn parts(line: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let is_space = |byte: &u8| *byte == b' ';
    let Some(first) = line.iter().position(is_space) else { return (line, b"", b"") };
    let (method, rest) = (&line[..first], &line[first + 1..]);
    match rest.iter().rposition(is_space) {
        Some(last) => (method, &rest[..last], &rest[last + 1..]),
        None => (method, rest, b""),
    }
}

/// A client's words as a JSON string has them between its quotes. Other bytes than printable ASCII
/// are the characters of the same numbers.
#[must_use]
pub fn json_text(text: &[u8]) -> String {
    let mut line = Vec::with_capacity(text.len());
    escape(&mut line, text, "\\u00");
    // Only ASCII was added.
    String::from_utf8(line).unwrap_or_default()
}

/// Adds a client's words; `hex` stands before the two digits of what is not printable ASCII.
fn escape(line: &mut Vec<u8>, text: &[u8], hex: &str) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => line.push(byte),
            _ => {
                let _ = write!(line, "{hex}{byte:02x}");
            }
        }
    }
}

/// What logs tell of a request: its own words, to be escaped by whoever writes them down.
#[derive(Debug, Default)]
pub struct Words {
    /// All parts, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: [usize; PARTS],
    /// When its head was whole, where that is told.
    since: Option<Instant>,
}

const PARTS: usize = 4;
/// The parts behind the request line.
const FIELDS: [Field; PARTS - 1] = [Field::Referer, Field::UserAgent, Field::Host];

impl Words {
    /// Keeps what the format tells; without a format the request line. The clock is asked only
    /// where the format tells how long a reply took.
    pub fn keep(
        &mut self,
        asked: Asked<'_>,
        format: Option<LogFormat>,
        clock: impl FnOnce() -> Instant,
    ) {
        let Some(line) = asked.line() else { return };
        let told = match format {
            None | Some(LogFormat::Common) => &FIELDS[..0],
            Some(LogFormat::Combined) => &FIELDS[..2],
            Some(LogFormat::Json) => &FIELDS[..],
        };
        self.bytes.extend_from_slice(line);
        self.ends = [line.len(); PARTS];
        for (n, &field) in told.iter().enumerate() {
            self.bytes.extend_from_slice(asked.field(field).unwrap_or_default());
            self.ends[n + 1..].fill(self.bytes.len());
        }
        self.since = (format == Some(LogFormat::Json)).then(clock);
    }

    /// Its first line; empty if nothing was kept.
    #[must_use]
    pub fn line(&self) -> &[u8] {
        &self.bytes[..self.ends[0]]
    }

    fn referer(&self) -> &[u8] {
        self.part(1)
    }

    fn user_agent(&self) -> &[u8] {
        self.part(2)
    }

    fn host(&self) -> &[u8] {
        self.part(3)
    }

    /// When its head was whole, where that is told.
    #[must_use]
    pub const fn since(&self) -> Option<Instant> {
        self.since
    }

    fn part(&self, n: usize) -> &[u8] {
        &self.bytes[self.ends[n - 1]..self.ends[n]]
    }

    /// As a request would have left it.
    #[cfg(test)]
    fn of(parts: [&[u8]; PARTS]) -> Self {
        let mut asked = Self::default();
        for (part, end) in parts.iter().zip(&mut asked.ends) {
            asked.bytes.extend_from_slice(part);
            *end = asked.bytes.len();
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] ";
    const JSON: &str = "{\"time\":\"1994-11-06T08:49:37Z\",\"peer\":\"10.0.0.1\"";

    fn written(format: LogFormat, peer: Option<IpAddr>, parts: [&[u8]; 4]) -> String {
        let mut line = Vec::new();
        let stamp = &format.stamp(&Date::new(784_111_777));
        let reply =
            Reply { status: crate::Status::OK, bytes: 1024, host: 0, begun: Instant::ORIGIN };
        let words = &Words::of(parts);
        Entry { peer, stamp, words, took: None, reply }.write(format, &mut line);
        String::from_utf8(line).unwrap()
    }

    fn check(format: LogFormat, parts: [&[u8]; 4], expected: &[&str]) {
        let line = written(format, Some([10, 0, 0, 1].into()), parts);
        assert_eq!(line, format!("{}\n", expected.concat()));
    }

    #[test]
    fn each_format_has_its_line() {
        let get = b"GET /1k.bin?a=b HTTP/1.1";
        let words: [&[u8]; 4] = [get, b"http://a.test/", b"Agent/1.0 (x; y)", b"weir.test:80"];
        let common = "\"GET /1k.bin?a=b HTTP/1.1\" 200 1024";
        check(LogFormat::Common, words, &[COMMON, common]);
        let combined = [COMMON, common, " \"http://a.test/\" \"Agent/1.0 (x; y)\""];
        check(LogFormat::Combined, words, &combined);
        let json = "\"method\":\"GET\",\"target\":\"/1k.bin?a=b\",\"protocol\":\"HTTP/1.1\",\
                    \"status\":200,\"bytes\":1024,\"duration_us\":null,\
                    \"referer\":\"http://a.test/\",\"user_agent\":\"Agent/1.0 (x; y)\",\
                    \"host\":\"weir.test:80\"}";
        check(LogFormat::Json, words, &[JSON, ",", json]);
    }

    #[test]
    fn what_was_not_given_has_its_place() {
        let nothing: [&[u8]; 4] = [b""; 4];
        let line = |format| written(format, None, nothing);
        let common = "- - - [06/Nov/1994:08:49:37 +0000] \"-\" 200 1024";
        assert_eq!(line(LogFormat::Common), format!("{common}\n"));
        assert_eq!(line(LogFormat::Combined), format!("{common} \"-\" \"-\"\n"));
        let json = "{\"time\":\"1994-11-06T08:49:37Z\",\"peer\":\"\",\
                    \"method\":\"\",\"target\":\"\",\"protocol\":\"\",\
                    \"status\":200,\"bytes\":1024,\"duration_us\":null,\
                    \"referer\":\"\",\"user_agent\":\"\",\"host\":\"\"}\n";
        assert_eq!(line(LogFormat::Json), json);
    }

    #[test]
    fn no_client_forges_a_line_or_speaks_to_a_terminal() {
        let get = b"GET /\" 200 1\n10.0.0.2 - - HTTP/1.1";
        let words: [&[u8]; 4] =
            [get, b"\\\" \"x\"", b"\x1b[2J\x9b\x07\r\x00\x7f", b"\",\"status\":1,\"x\":\"\xc3\xa4"];
        let common = "\"GET /\\\" 200 1\\x0a10.0.0.2 - - HTTP/1.1\" 200 1024";
        check(LogFormat::Common, words, &[COMMON, common]);
        let more = " \"\\\\\\\" \\\"x\\\"\" \"\\x1b[2J\\x9b\\x07\\x0d\\x00\\x7f\"";
        check(LogFormat::Combined, words, &[COMMON, common, more]);
        let json = ",\"method\":\"GET\",\"target\":\"/\\\" 200 1\\u000a10.0.0.2 - -\",\
                    \"protocol\":\"HTTP/1.1\",\"status\":200,\"bytes\":1024,\"duration_us\":null,\
                    \"referer\":\"\\\\\\\" \\\"x\\\"\",\
                    \"user_agent\":\"\\u001b[2J\\u009b\\u0007\\u000d\\u0000\\u007f\",\
                    \"host\":\"\\\",\\\"status\\\":1,\\\"x\\\":\\\"\\u00c3\\u00a4\"}";
        check(LogFormat::Json, words, &[JSON, json]);
    }

    #[test]
    fn every_byte_comes_out_as_printable_ascii() {
        let bytes: Vec<u8> = (0..=255).collect();
        for format in LogFormat::ALL {
            let line = written(format, None, [&bytes; 4]);
            let line = line.strip_suffix('\n').unwrap();
            assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
        }
    }

    #[test]
    fn a_request_line_has_up_to_three_parts() {
        let check = |line: &str, method: &str, target: &str, protocol: &str| {
            let expected = (method.as_bytes(), target.as_bytes(), protocol.as_bytes());
            assert_eq!(parts(line.as_bytes()), expected, "{line:?}");
        };
        check("GET / HTTP/1.1", "GET", "/", "HTTP/1.1");
        check("GET /a b HTTP/1.1", "GET", "/a b", "HTTP/1.1");
        check("GET /", "GET", "/", "");
        check("\u{16}\u{3}", "\u{16}\u{3}", "", "");
        check(" ", "", "", "");
        check("", "", "", "");
    }
}
