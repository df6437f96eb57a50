//! The common log format of NCSA httpd and the combined one of Apache, which has two fields more.
//! A line that is an object of JSON is read as [`json_line`].
//!
//! ```text
//! host ident user [day/month/year:h:m:s zone] "request" status bytes ["referer" "agent"]
//! ```
//!
//! Real logs have lines that no grammar of it allows (those of NASA and ClarkNet of 1995 in the
//! Internet Traffic Archive, at ita.ee.lbl.gov, have all of these): bytes that are not ASCII,
//! requests without a protocol, with spaces and with quotes in them, `-` for bytes, users with
//! spaces. So a line is searched for what must be there: a date in brackets, a quote, and the first
//! quote after that which is followed by a status.
//!
//! Servers of several sites log the site as well, before the client (Apache's `vhost_combined`) or
//! behind it. So the client is the first address before the date. Where there is none, it is the
//! first word, or the second one behind a site with its port.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::BufRead;
use std::net::IpAddr;

use super::choices::Choices;
use super::collect::{Collector, Entry};
use super::fault::Fault;
use super::input::Lines;
use super::json_line;
use super::line::{seconds_at, value};
use super::order::Resolution;
use super::request::{Way, split};

pub use super::line::Line;

/// A longer line is none: a combined one repeats three fields of a head, and heads have 8 KiB at
/// most with nearly every server.
const LINE_BYTES_MAX: usize = 64 << 10;

pub(crate) fn read(from: &mut dyn BufRead, choices: &Choices) -> Result<Collector, Fault> {
    let mut collector = Collector::new(Resolution::Second, choices);
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    while let Some(line) = lines.next()? {
        if line.is_some_and(|line| line.trim_ascii().is_empty()) {
            continue;
        }
        let of_json = line.filter(|line| line.starts_with(b"{")).and_then(json_line::parse);
        let parsed = of_json.as_ref().map(json_line::Logged::line);
        let Some(line) = parsed.or_else(|| line.and_then(parse)) else {
            collector.tally.unreadable += 1;
            continue;
        };
        let mut hasher = DefaultHasher::new();
        hasher.write(line.host);
        collector.take(&Entry {
            at_us: line.at_s * 1_000_000,
            client: hasher.finish(),
            target: line.target,
            way: Way::of(line.method, line.status),
            // What was broken off is logged as 200, too; of several replies the longest counts.
            bytes: line.bytes.filter(|_| line.method == b"GET" && line.status == 200),
        })?;
    }
    Ok(collector)
}

/// Finds what is of use in a line without its end; `None`: something of it is missing.
#[must_use]
pub fn parse(line: &[u8]) -> Option<Line<'_>> {
    let (before, at_s, rest) = dated(line)?;
    let host = client(before)?;
    let quote = rest.iter().position(|&byte| byte == b'"')?;
    let (request, status, bytes) = answered(&rest[quote + 1..])?;
    let (method, target) = split(request)?;
    Some(Line { host, at_s, method, target, status, bytes })
}

/// What stands before the first date in brackets, the date, and what follows it.
fn dated(line: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    let mut brackets = line.iter().enumerate().filter(|(_, byte)| **byte == b'[');
    brackets.find_map(|(at, _)| {
        let (at_s, rest) = date(&line[at + 1..])?;
        Some((&line[..at], at_s, rest))
    })
}

/// The word that names the client.
fn client<'l>(before: &'l [u8]) -> Option<&'l [u8]> {
    let words = || before.split(|&byte| byte == b' ');
    let first = words().next().filter(|word| !word.is_empty())?;
    // A list of those that a request came by has commas.
    let bare = |word: &'l [u8]| word.strip_suffix(b",").unwrap_or(word);
    if let Some(address) = words().map(bare).find(|word| is_address(word)) {
        return Some(address);
    }
    let second = words().nth(1).filter(|word| !matches!(*word, b"" | b"-"));
    Some(second.filter(|_| has_port(first)).unwrap_or(first))
}

fn is_address(word: &[u8]) -> bool {
    str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok())
}

/// `www.example.org:80`
fn has_port(word: &[u8]) -> bool {
    let colon = word.iter().rposition(|&byte| byte == b':');
    colon.is_some_and(|at| word[at + 1..].iter().all(u8::is_ascii_digit) && at + 1 < word.len())
}

/// `10/Oct/2000:13:55:36 -0700]`; without a zone it is taken for UTC.
fn date(text: &[u8]) -> Option<(i64, &[u8])> {
    const MONTHS: [&[u8]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let (day, text) = number(text, 1..=2, b'/')?;
    let name = text.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| **month == name)?;
    let (year, text) = number(text[3..].strip_prefix(b"/")?, 4..=4, b':')?;
    let (hour, text) = number(text, 1..=2, b':')?;
    let (minute, text) = number(text, 1..=2, b':')?;
    let end = text.iter().position(|&byte| byte == b']')?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let second = value(&text[..digits]).filter(|_| (1..=2).contains(&digits))?;
    let zone = text[digits..end].trim_ascii();
    let at_s = seconds_at((year, month, day), (hour, minute, second), zone)?;
    Some((at_s, &text[end + 1..]))
}

/// A number of so many digits with its end after it, and what follows that.
fn number(text: &[u8], digits: std::ops::RangeInclusive<usize>, end: u8) -> Option<(i64, &[u8])> {
    let at = text.iter().position(|&byte| byte == end).filter(|at| digits.contains(at))?;
    Some((value(&text[..at])?, &text[at + 1..]))
}

/// What stands before the first quote that a status follows, the status, and the bytes.
fn answered(text: &[u8]) -> Option<(&[u8], u16, Option<u64>)> {
    let mut quotes = text.iter().enumerate().filter(|(_, byte)| **byte == b'"');
    quotes.find_map(|(at, _)| {
        let (status, bytes) = status(&text[at + 1..])?;
        Some((&text[..at], status, bytes))
    })
}

/// ` 200 1234`, ` 304 -` or ` 200`, with anything behind a further space.
fn status(text: &[u8]) -> Option<(u16, Option<u64>)> {
    let mut words = text.strip_prefix(b" ")?.split(|&byte| byte == b' ');
    let digits = words.next().filter(|word| word.len() == 3)?;
    let status = value(digits).filter(|status| *status >= 100)? as u16;
    let bytes = match words.next() {
        None | Some(b"-" | b"") => None,
        Some(word) if word.iter().all(u8::is_ascii_digit) => {
            str::from_utf8(word).ok()?.parse().ok()
        }
        Some(_) => return None,
    };
    Some((status, bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Plain<'l> = (&'l str, i64, &'l str, &'l str, u16, Option<u64>);

    fn check(line: &str, expected: Option<Plain<'_>>) {
        let expected = expected.map(|(host, at_s, method, target, status, bytes)| {
            let (host, method) = (host.as_bytes(), method.as_bytes());
            Line { host, at_s, method, target: target.as_bytes(), status, bytes }
        });
        assert_eq!(parse(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn lines_that_can_be_used() {
        let rows = [
            (
                r#"in24.inetnebr.com - - [01/Aug/1995:00:00:01 -0400] "GET /a.gif HTTP/1.0" 200 7"#,
                ("in24.inetnebr.com", 807_249_601, "GET", "/a.gif", 200, Some(7)),
            ),
            (
                r#"1.2.3.4 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 304 -"#,
                ("1.2.3.4", 971_211_336, "GET", "/", 304, None),
            ),
            // Combined, with quotes in its further fields.
            (
                r#"h - - [01/Jan/1970:00:00:00 +0000] "HEAD /a HTTP/1.1" 200 5 "\"r\"" "a \"b" 9""#,
                ("h", 0, "HEAD", "/a", 200, Some(5)),
            ),
            // No protocol, spaces and quotes in the target, a user with a space and a bracket.
            (
                r#"h - a [b c [29/Feb/2000:23:59:60 +0000] "GET /a "b" c" 200 5"#,
                ("h", 951_868_800, "GET", r#"/a "b" c"#, 200, Some(5)),
            ),
            (r#"h [1/jan/1970:0:0:5] "/a" 200"#, ("h", 5, "GET", "/a", 200, None)),
            // The site before the client, or behind it; a time before it.
            (
                r#"a.org:80 1.2.3.4 - - [1/jan/1970:0:0:5 +0000] "/a" 200"#,
                ("1.2.3.4", 5, "GET", "/a", 200, None),
            ),
            (
                r#"a.org:443 client.net - - [1/jan/1970:0:0:5 +0000] "/a" 200"#,
                ("client.net", 5, "GET", "/a", 200, None),
            ),
            (
                r#"a.org 2001:db8::1 - - [1/jan/1970:0:0:5] "/a" 200"#,
                ("2001:db8::1", 5, "GET", "/a", 200, None),
            ),
            (
                r#"1.2.3.4 a.org a.org - [1/jan/1970:0:0:5] "/a" 200"#,
                ("1.2.3.4", 5, "GET", "/a", 200, None),
            ),
            (
                r#"336 1.2.3.4 - - [1/jan/1970:0:0:5] "/a" 200"#,
                ("1.2.3.4", 5, "GET", "/a", 200, None),
            ),
            (
                r#"1.2.3.4, 10.0.0.1 - - [1/jan/1970:0:0:5] "/a" 200"#,
                ("1.2.3.4", 5, "GET", "/a", 200, None),
            ),
            (r#"h:80 - - [1/jan/1970:0:0:5] "/a" 200"#, ("h:80", 5, "GET", "/a", 200, None)),
            (
                r#"h - - [01/Jan/1970:00:00:00 +0000] "GET /a" 20 5" 200 99999999999999999999"#,
                ("h", 0, "GET", r#"/a" 20 5"#, 200, None),
            ),
        ];
        rows.into_iter().for_each(|(line, expected)| check(line, Some(expected)));
    }

    #[test]
    fn lines_that_cannot() {
        let rows = [
            "",
            "h",
            r#" - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000] GET / HTTP/1.0 200 5"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.0 200 5"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.0" 20 5"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.0" 200 five"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000] "" 200 5"#,
            r#"h - - [32/Jan/1970:00:00:00 +0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Foo/1970:00:00:00 +0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Jan/1969:00:00:00 +0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Jan/1970:24:00:00 +0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Jan/1970:00:00:00 0000] "GET / HTTP/1.0" 200 5"#,
            r#"h - - [01/Jan/1970:00:00:00 +0000"#,
        ];
        rows.into_iter().for_each(|line| check(line, None));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            host in "[!-~]{1,20}",
            day in 0_i64..100_000,
            second in 0_i64..86_400,
            zone_minutes in -720_i64..=720,
            method in "[A-Z]{1,7}",
            target in prop::collection::vec(any::<u8>(), 0..40),
            status in 100_u16..1000,
            bytes in prop::option::of(any::<u64>()),
        ) {
            let mut logged = b"/".to_vec();
            logged.extend(target.into_iter().filter(|byte| *byte != b'"'));
            logged.push(b'x');
            let at_s = day * 86_400 + second - zone_minutes * 60;
            let (year, month, date) = calendar(day);
            let (sign, zone) = (if zone_minutes < 0 { '-' } else { '+' }, zone_minutes.abs());
            let (hour, minute) = (second / 3600, second / 60 % 60);
            let day = format!("{date:02}/{month}/{year}");
            let time = format!("{hour:02}:{minute:02}:{:02}", second % 60);
            let zone = format!("{sign}{:02}{:02}", zone / 60, zone % 60);
            let head = format!("{host} - - [{day}:{time} {zone}] \"{method} ");
            let bytes_word = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
            let tail = format!(" HTTP/1.0\" {status} {bytes_word}");
            let line = [head.as_bytes(), &logged, tail.as_bytes()].concat();
            let expected = Line {
                host: host.as_bytes(),
                at_s,
                method: method.as_bytes(),
                target: &logged,
                status,
                bytes,
            };
            prop_assert_eq!(parse(&line), Some(expected));
        }
    }

    /// Year, month and day of a day since 1970, by counting.
    fn calendar(mut day: i64) -> (i64, &'static str, i64) {
        const MONTHS: [(&str, i64); 12] = [
            ("Jan", 31),
            ("Feb", 28),
            ("Mar", 31),
            ("Apr", 30),
            ("May", 31),
            ("Jun", 30),
            ("Jul", 31),
            ("Aug", 31),
            ("Sep", 30),
            ("Oct", 31),
            ("Nov", 30),
            ("Dec", 31),
        ];
        for year in 1970.. {
            let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
            for (name, days) in MONTHS {
                let days = days + i64::from(is_leap && name == "Feb");
                if day < days {
                    return (year, name, day + 1);
                }
                day -= days;
            }
        }
        unreachable!("years go on")
    }
}
