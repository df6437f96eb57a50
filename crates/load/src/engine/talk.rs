//! The protocol of a connection, HTTP/1.1: the only place that knows which one it is. Replies are
//! told by the tag of their request, so that another protocol may mix them. What one has to say
//! beside requests it says before the first of them, or when it hears.

use std::collections::VecDeque;

use h1::client::{self, Ask, Event, Exchange, Fault};

pub(super) use h1::client::{ReplyHead, Validators};

use crate::session::{Method, Request};

/// What is the same in all requests of a run.
#[derive(Debug)]
pub(super) struct Manner {
    /// Whom they ask.
    host: String,
    /// Fields, each with its end.
    fields: String,
}

impl Manner {
    /// A program that says its name, unless it was told to say another one.
    pub(super) fn new(host: &str, headers: &[String]) -> Self {
        let has_name = headers.iter().any(|field| named(field, USER_AGENT));
        let own = (!has_name).then(|| format!("{USER_AGENT}: {AGENT}\r\n"));
        let told = headers.iter().map(|field| format!("{field}\r\n"));
        Self { host: host.into(), fields: own.into_iter().chain(told).collect() }
    }
}

/// The requests of a connection that are not answered yet, in order.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The reply that is being read, or was read last.
    reading: Option<(u32, Exchange)>,
    later: VecDeque<(u32, Exchange)>,
}

/// What a connection has said.
#[derive(Debug)]
pub(super) struct Heard<'b> {
    /// In reply to which request.
    pub(super) tag: u32,
    /// Bytes that this took.
    pub(super) taken: usize,
    pub(super) what: What<'b>,
}

#[derive(Debug)]
pub(super) enum What<'b> {
    /// Nothing that matters by itself.
    Part,
    Head(ReplyHead<'b>),
    Content(&'b [u8]),
    /// The reply is whole.
    Whole,
}

/// Why what came is taken for no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Garbled {
    /// It is none of HTTP, or to nothing.
    Malformed,
    /// It is beyond what is read.
    Unread,
}

impl From<Fault> for Garbled {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::TooLong | Fault::Interim => Self::Unread,
            _ => Self::Malformed,
        }
    }
}

impl Talk {
    /// Writes a request at the end of `out`; its reply will be told by this tag.
    pub(super) fn ask(&mut self, out: &mut Vec<u8>, manner: &Manner, order: &Order<'_>) {
        let method = method(order.request.method);
        let ask = Ask {
            method,
            target: order.target,
            host: &manner.host,
            fields: &manner.fields,
            keeps: order.keeps,
            copy: order.copy,
            content: &order.request.content,
        };
        ask.write(out);
        let exchange = Exchange::new(method, order.keeps);
        if self.is_free() && self.later.is_empty() {
            self.reading = Some((order.tag, exchange));
        } else {
            self.later.push_back((order.tag, exchange));
        }
    }

    /// Takes the beginning of `bytes`, and says what it was; nothing when there is nothing left to
    /// be told. To be asked again until then. What it writes at the end of its second argument is
    /// sent: HTTP/1.1 says nothing but requests, HTTP/2 has to answer SETTINGS and PING, and lets
    /// the server go on by WINDOW_UPDATE (RFC 9113 section 6).
    pub(super) fn hear<'b>(
        &'b mut self,
        bytes: &'b [u8],
        _: &mut Vec<u8>,
    ) -> Result<Option<Heard<'b>>, Garbled> {
        if self.is_free() {
            self.reading = self.later.pop_front();
        }
        let Some((tag, exchange)) = &mut self.reading else {
            return if bytes.is_empty() { Ok(None) } else { Err(Garbled::Malformed) };
        };
        let (taken, event) = exchange.read(bytes)?;
        let what = match event {
            Event::Part if taken == 0 => return Ok(None),
            Event::Part => What::Part,
            Event::Head(head) => What::Head(head),
            Event::Content(piece) => What::Content(piece),
            Event::Whole => What::Whole,
        };
        Ok(Some(Heard { tag: *tag, taken, what }))
    }

    /// The server has ended the connection: the request whose reply is whole by that.
    pub(super) fn ended(&mut self) -> Option<u32> {
        let (tag, exchange) = self.reading.as_mut().filter(|(_, reply)| !reply.is_over())?;
        exchange.ended().is_ok().then_some(*tag)
    }

    /// Whether the connection may be used on, behind the last reply.
    pub(super) fn keeps(&self) -> bool {
        self.reading.as_ref().is_none_or(|(_, exchange)| exchange.keeps())
    }

    /// Whether no reply is being read.
    fn is_free(&self) -> bool {
        self.reading.as_ref().is_none_or(|(_, exchange)| exchange.is_over())
    }

    /// Gives memory back, between two requests.
    pub(super) fn rest(&mut self) {
        *self = Self::default();
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct Order<'o> {
    pub(super) tag: u32,
    pub(super) request: &'o Request,
    pub(super) target: &'o str,
    /// Whether the connection is to stay.
    pub(super) keeps: bool,
    /// What the client has already.
    pub(super) copy: Option<&'o Validators>,
}

/// What is known of a copy that was made at this time: seconds since 1970.
pub(super) fn copied_at(seconds: u64) -> Validators {
    let date = h1::Date::new(seconds);
    Validators { etag: None, modified: Some(Box::from(date.text().as_slice())) }
}

/// Whether a request for it can be written.
pub(crate) fn is_target(target: &str) -> bool {
    client::is_target(target)
}

/// `NAME: VALUE` as it is sent with each request; or, in one line, why it is not.
pub(crate) fn header(text: &str) -> Result<String, String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err(String::from("has to be NAME: VALUE, as in 'Accept-Encoding: gzip'"));
    };
    let value = value.trim_matches([' ', '\t']);
    if !client::is_field(name, value) {
        return Err(String::from(
            "has to be NAME: VALUE, as in 'Accept-Encoding: gzip': a name of letters, digits and \
             hyphens, and a value on one line, in ASCII",
        ));
    }
    match OWN.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
        Some((_, instead)) => Err(String::from(*instead)),
        None => Ok(format!("{name}: {value}")),
    }
}

/// Fields that each request has anyway, or that would change what its bytes mean; and what to say
/// in their place.
const OWN: [(&str, &str); 6] = [
    ("Host", "each request names its host; say --host NAME"),
    ("Connection", "say --keeps request|session|client, which is how long a connection is kept"),
    ("Keep-Alive", "say --keeps request|session|client, which is how long a connection is kept"),
    ("Content-Length", "the workload, or --body, says what content a request has; leave it out"),
    ("Transfer-Encoding", "the workload, or --body, says what content a request has; leave it out"),
    ("Upgrade", "another protocol is not spoken here; leave it out"),
];

const USER_AGENT: &str = "User-Agent";
const AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// Whether a field is of that name.
fn named(field: &str, name: &str) -> bool {
    field.split_once(':').is_some_and(|(of, _)| of.eq_ignore_ascii_case(name))
}

const fn method(method: Method) -> client::Method {
    match method {
        Method::Get => client::Method::Get,
        Method::Head => client::Method::Head,
        Method::Post => client::Method::Post,
        Method::Put => client::Method::Put,
        Method::Delete => client::Method::Delete,
        Method::Options => client::Method::Options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_judged_before_they_are_sent() {
        const FORM: &str = "has to be NAME: VALUE, as in 'Accept-Encoding: gzip'";
        let rows = [
            ("Accept-Encoding: gzip", Ok("Accept-Encoding: gzip")),
            ("accept:*/*", Ok("accept: */*")),
            ("X:  a, b\t", Ok("X: a, b")),
            ("X:", Ok("X: ")),
            ("X: a:b", Ok("X: a:b")),
            ("", Err(FORM)),
            ("gzip", Err(FORM)),
            (": a", Err(FORM)),
            ("X y: a", Err(FORM)),
            ("X : a", Err(FORM)),
            ("X: a\r\nY: b", Err(FORM)),
            ("X: a\nb", Err(FORM)),
            ("X\r: a", Err(FORM)),
            ("X: \0", Err(FORM)),
            ("X: \u{e9}", Err(FORM)),
            ("Host: a", Err("each request names its host; say --host NAME")),
            ("host:a", Err("each request names its host; say --host NAME")),
            ("Connection: close", Err("say --keeps")),
            ("keep-alive: 5", Err("say --keeps")),
            ("content-length: 5", Err("the workload, or --body, says")),
            ("Transfer-Encoding: chunked", Err("the workload, or --body, says")),
            ("Upgrade: h2c", Err("another protocol is not spoken here")),
        ];
        for (text, expected) in rows {
            match (header(text), expected) {
                (Ok(told), Ok(expected)) => assert_eq!(told, expected, "{text:?}"),
                (Err(told), Err(expected)) => assert!(told.starts_with(expected), "{told}"),
                (told, _) => panic!("{text:?}: {told:?}"),
            }
        }
    }

    #[test]
    fn a_request_says_its_name_once() {
        let fields = |headers: &[&str]| {
            let headers: Vec<String> = headers.iter().map(|&field| field.into()).collect();
            Manner::new("a", &headers).fields
        };
        let own = format!("User-Agent: {AGENT}\r\n");
        assert_eq!(fields(&[]), own);
        assert_eq!(fields(&["A: b", "C: d"]), format!("{own}A: b\r\nC: d\r\n"));
        assert_eq!(fields(&["user-agent: curl"]), "user-agent: curl\r\n");
    }
}
