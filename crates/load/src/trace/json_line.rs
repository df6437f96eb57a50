//! Lines of JSON: Weir's own (`--log-format json`) and Caddy's, which have the same under other
//! names. What else such a line has is passed over.

use serde::Deserialize;

use super::line::{Line, seconds_at};

/// A line's words, which JSON may have escaped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Logged {
    host: String,
    at_s: i64,
    method: String,
    target: String,
    status: u16,
    bytes: Option<u64>,
}

impl Logged {
    pub(super) fn line(&self) -> Line<'_> {
        let Self { host, at_s, method, target, status, bytes } = self;
        let (host, method, target) = (host.as_bytes(), method.as_bytes(), target.as_bytes());
        Line { host, at_s: *at_s, method, target, status: *status, bytes: *bytes }
    }
}

#[derive(Deserialize)]
struct Written {
    #[serde(alias = "ts")]
    time: Time,
    #[serde(default)]
    peer: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    target: String,
    status: u16,
    #[serde(alias = "size")]
    bytes: Option<u64>,
    /// Caddy's, which has the three above.
    request: Option<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    /// The client that a trusted proxy names, since Caddy 2.7.
    client_ip: Option<String>,
    remote_ip: String,
    method: String,
    uri: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    /// Since 1970.
    Seconds(f64),
    /// RFC 3339.
    Date(String),
}

/// Reads a line; `None`: something of it is missing.
pub(super) fn parse(line: &[u8]) -> Option<Logged> {
    let Written { time, peer, method, target, status, bytes, request } =
        serde_json::from_slice(line).ok()?;
    let at_s = match time {
        Time::Seconds(seconds) => (0.0..1e12).contains(&seconds).then_some(seconds as i64)?,
        Time::Date(text) => date(&text)?,
    };
    let (host, method, target) = match request {
        Some(asked) => (asked.client_ip.unwrap_or(asked.remote_ip), asked.method, asked.uri),
        None => (peer, method, target),
    };
    let is_whole = !method.is_empty() && !target.is_empty() && (100..1000).contains(&status);
    is_whole.then_some(Logged { host, at_s, method, target, status, bytes })
}

/// `1994-11-06T08:49:37Z`, `1994-11-06T08:49:37.5+01:00`; without fractions of a second.
fn date(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u16>().ok().map(i64::from);
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if !marks.iter().all(|&(at, mark)| text.as_bytes().get(at) == Some(&mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?;
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let zone = if zone == "Z" { String::new() } else { zone.replace(':', "") };
    let month = usize::try_from(month).ok()?.checked_sub(1)?;
    seconds_at((year, month, day), (hour, minute, second), zone.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_servers_say_the_same() {
        let ours = r#"{"time":"1994-11-06T08:49:37Z","peer":"10.0.0.1","method":"GET",
            "target":"/a\u0020b?c","protocol":"HTTP/1.1","status":200,"bytes":1024,
            "duration_us":7,"referer":"","user_agent":"x","host":"a.test"}"#;
        let theirs = r#"{"level":"info","ts":784111777.25,"msg":"handled request","request":{
            "remote_ip":"10.0.0.9","client_ip":"10.0.0.1","remote_port":"1","method":"GET",
            "host":"a.test","uri":"/a b?c","headers":{"A":["b"]}},"duration":0.1,"size":1024,
            "status":200,"resp_headers":{}}"#;
        let logged = parse(ours.as_bytes()).expect("a line");
        let expected = Line {
            host: b"10.0.0.1",
            at_s: 784_111_777,
            method: b"GET",
            target: b"/a b?c",
            status: 200,
            bytes: Some(1024),
        };
        assert_eq!(logged.line(), expected);
        assert_eq!(parse(theirs.as_bytes()), Some(logged));
    }

    #[test]
    fn dates_have_zones_and_fractions() {
        let rows = [
            ("1970-01-01T00:00:05Z", Some(5)),
            ("2000-02-29T23:59:60.123Z", Some(951_868_800)),
            ("1970-01-01T01:00:00+01:00", Some(0)),
            ("1970-01-01T00:00:00.5-0100", Some(3_600)),
            ("1970-01-01 00:00:05Z", Some(5)),
            ("1970-13-01T00:00:05Z", None),
            ("1970-00-01T00:00:05Z", None),
            ("1970-01-01T24:00:05Z", None),
            ("1969-01-01T00:00:05Z", None),
            ("1970-01-01T00:00:05 MEZ", None),
            ("1970-01-01", None),
            ("", None),
            ("ä", None),
        ];
        for (text, expected) in rows {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_that_lack_something_are_none() {
        let rows = [
            "{}",
            "{",
            r#"{"time":"1970-01-01T00:00:05Z","status":200,"bytes":1}"#,
            r#"{"time":"then","method":"GET","target":"/","status":200}"#,
            r#"{"time":-1,"method":"GET","target":"/","status":200}"#,
            r#"{"time":1,"method":"GET","target":"/","status":20}"#,
            r#"{"time":1,"method":"GET","target":"","status":200}"#,
        ];
        for line in rows {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
