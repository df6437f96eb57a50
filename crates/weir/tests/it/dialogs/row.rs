//! What a dialog is, and the one way in which all of them are held.

use std::fmt::Write;
use std::time::Duration;

use crate::support::fixture::Fixture;
use crate::support::wire::{Head, Wire};

/// One dialog.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The section of the RFC, or of the project's own rules, that it shows.
    pub(crate) cites: &'static str,
    pub(crate) send: &'static [Step],
    pub(crate) expect: &'static [Reply],
    pub(crate) end: End,
}

/// What the client does. In its text, `$ETAG` stands for the last ETag it heard.
pub(crate) enum Step {
    /// Sends these bytes.
    Raw(&'static [u8]),
    /// Sends a GET over HTTP/1.1 for a target, with field lines, each ended by CRLF.
    Get(&'static str, &'static str),
    /// The same with HEAD.
    Head(&'static str, &'static str),
    /// Sends one byte so many times.
    Fill(u8, usize),
    /// Lets what was sent arrive by itself. Whether it did is not relied on: it only makes it
    /// likely that the server receives in more than one piece.
    Gap,
    /// Waits until so many replies have come.
    Heard(usize),
    /// Sends FIN.
    Fin,
}

/// What the client must hear.
pub(crate) struct Reply {
    status: u16,
    /// Field and value; a value that ends with `*` is a prefix.
    has: &'static [(&'static str, &'static str)],
    lacks: &'static [&'static str],
    body: Body,
}

pub(crate) enum Body {
    /// As Content-Length says, whatever it is.
    Any,
    /// No byte follows the head, also where Content-Length is not 0.
    Absent,
    /// Exactly these bytes.
    Bytes(&'static [u8]),
    /// The file at this path.
    File(&'static str),
    /// Bytes `first..=last` of the file at this path.
    Part(&'static str, usize, usize),
    /// Several such parts as multipart/byteranges, of a file without a known media type.
    Parts(&'static str, &'static [(usize, usize)]),
}

/// How the connection ends.
pub(crate) enum End {
    /// It does not: another request on it is answered.
    Open,
    /// By FIN after the last reply, which announced it.
    Closes,
    /// By FIN; whether the last reply announced it is left open.
    Ends,
}

pub(crate) const fn status(status: u16) -> Reply {
    Reply { status, has: &[], lacks: &[], body: Body::Any }
}

/// The whole file at this path.
pub(crate) const fn ok(path: &'static str) -> Reply {
    status(200).with(Body::File(path))
}

/// A head that is not followed by content.
pub(crate) const fn bare(code: u16) -> Reply {
    status(code).with(Body::Absent)
}

/// Refused, with an announcement that the connection closes.
pub(crate) const fn refused(code: u16) -> Reply {
    status(code).has(&[("connection", "close")])
}

pub(crate) const fn part(path: &'static str, first: usize, last: usize) -> Reply {
    status(206).with(Body::Part(path, first, last))
}

impl Reply {
    pub(crate) const fn has(mut self, has: &'static [(&'static str, &'static str)]) -> Self {
        self.has = has;
        self
    }

    pub(crate) const fn lacks(mut self, lacks: &'static [&'static str]) -> Self {
        self.lacks = lacks;
        self
    }

    pub(crate) const fn with(mut self, body: Body) -> Self {
        self.body = body;
        self
    }
}

impl Row {
    /// Whether the row waits for the server's head timeout to pass.
    pub(crate) fn is_about_head_timeout(&self) -> bool {
        self.expect.iter().any(|reply| reply.status == 408)
    }
}

/// Holds one dialog.
pub(crate) fn check(row: &Row, wire: &mut Wire, site: &Fixture) -> Result<(), String> {
    let mut client = Client { wire, site, expect: row.expect, heard: 0, last: None };
    for step in row.send {
        client.perform(step)?;
    }
    client.hear(row.expect.len())?;
    let announced = client.last.as_ref().is_some_and(Head::closes);
    match row.end {
        End::Open if announced => Err("the last reply announces the end".into()),
        End::Open => client.probe(),
        End::Closes if !announced => Err("the last reply does not announce the end".into()),
        End::Closes | End::Ends => client.wire.end(),
    }
}

struct Client<'w> {
    wire: &'w mut Wire,
    site: &'w Fixture,
    expect: &'static [Reply],
    heard: usize,
    last: Option<Head>,
}

impl Client<'_> {
    fn perform(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Raw(bytes) => self.wire.send(bytes),
            Step::Get(target, fields) => self.ask("GET", target, fields),
            Step::Head(target, fields) => self.ask("HEAD", target, fields),
            Step::Fill(byte, count) => self.wire.send(&vec![byte; count]),
            Step::Gap => {
                std::thread::sleep(Duration::from_millis(5));
                Ok(())
            }
            Step::Heard(count) => self.hear(count),
            Step::Fin => self.wire.fin(),
        }
    }

    fn ask(&mut self, method: &str, target: &str, fields: &str) -> Result<(), String> {
        let fields = self.filled(fields)?;
        let head = format!("{method} {target} HTTP/1.1\r\nHost: weir.test\r\n{fields}\r\n");
        self.wire.send(head.as_bytes())
    }

    /// `text` with the last ETag in the place of its name.
    fn filled(&self, text: &str) -> Result<String, String> {
        if !text.contains("$ETAG") {
            return Ok(text.to_owned());
        }
        let etag = self.last.as_ref().and_then(|head| head.field("etag")).ok_or("no ETag heard")?;
        Ok(text.replace("$ETAG", etag))
    }

    fn hear(&mut self, count: usize) -> Result<(), String> {
        while self.heard < count {
            let at = self.heard + 1;
            self.hear_one(&self.expect[self.heard]).map_err(|e| format!("reply {at}: {e}"))?;
            self.heard = at;
        }
        Ok(())
    }

    fn hear_one(&mut self, expect: &Reply) -> Result<(), String> {
        if self.last.as_ref().is_some_and(Head::closes) {
            return Err("the reply before it announced the end".into());
        }
        let (head, body) = self.wire.reply(matches!(expect.body, Body::Absent))?;
        if head.status != expect.status {
            return Err(format!("status {} in place of {}", head.status, expect.status));
        }
        for (name, value) in expect.has {
            let value = self.filled(value)?;
            let found = head.field(name).ok_or_else(|| format!("no {name}"))?;
            let is_right = match value.strip_suffix('*') {
                Some(prefix) => found.starts_with(prefix),
                None => found == value,
            };
            if !is_right {
                return Err(format!("{name}: {found:?} in place of {value:?}"));
            }
        }
        if let Some(name) = expect.lacks.iter().find(|name| head.field(name).is_some()) {
            return Err(format!("{name} does not belong here"));
        }
        self.judge_body(&expect.body, &head, &body)?;
        self.last = Some(head);
        Ok(())
    }

    fn judge_body(&self, expect: &Body, head: &Head, body: &[u8]) -> Result<(), String> {
        match *expect {
            Body::Any => Ok(()),
            Body::Absent => same(body, b""),
            Body::Bytes(bytes) => same(body, bytes),
            Body::File(path) => same(body, &self.site.content(path)),
            Body::Part(path, first, last) => {
                let content = self.site.content(path);
                let range = format!("bytes {first}-{last}/{}", content.len());
                if head.field("content-range") != Some(&range) {
                    return Err(format!("no Content-Range: {range}"));
                }
                same(body, &content[first..=last])
            }
            Body::Parts(path, parts) => judge_parts(head, body, &self.site.content(path), parts),
        }
    }

    /// Whether the two sides still agree on where a message ends: a further request is answered,
    /// and nothing comes before or after that answer.
    fn probe(&mut self) -> Result<(), String> {
        let check = |client: &mut Self| {
            client.wire.get("/probe.txt", "Connection: close\r\n")?;
            let (head, body) = client.wire.reply(false)?;
            same(&body, &client.site.content("/probe.txt"))?;
            if head.status == 200 { client.wire.end() } else { Err("not answered".into()) }
        };
        check(self).map_err(|fault| format!("a further request: {fault}"))
    }
}

/// The one form in which RFC 9110 section 14.6 and RFC 2046 section 5.1.1 let these parts be sent,
/// with the boundary that the head announces. The CRLF before the first boundary is left open.
fn judge_parts(
    head: &Head,
    body: &[u8],
    content: &[u8],
    parts: &[(usize, usize)],
) -> Result<(), String> {
    let media = head.field("content-type").unwrap_or_default();
    let boundary = media.strip_prefix("multipart/byteranges; boundary=").ok_or("no boundary")?;
    let mut whole = Vec::new();
    for (first, last) in parts {
        let mut part = format!("\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\n");
        let _ = write!(part, "Content-Range: bytes {first}-{last}/{}\r\n\r\n", content.len());
        whole.extend_from_slice(part.as_bytes());
        whole.extend_from_slice(&content[*first..=*last]);
    }
    whole.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    same(body.strip_prefix(b"\r\n").unwrap_or(body), &whole[2..])
}

fn same(found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let differ = found.iter().zip(expected).position(|(a, b)| a != b);
    let shown = found[..found.len().min(200)].escape_ascii();
    Err(format!(
        "content of {} bytes in place of {}, first difference at {differ:?}: {shown}",
        found.len(),
        expected.len()
    ))
}
