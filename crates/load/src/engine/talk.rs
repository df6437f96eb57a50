//! The protocol of a connection, HTTP/1.1: the only place that knows which one it is. Replies are
//! told by the tag of their request, so that another protocol may mix them. What one has to say
//! beside requests it says before the first of them, or when it hears.

use std::collections::VecDeque;

use h1::client::{self, Ask, Event, Exchange};

pub(super) use h1::client::{ReplyHead, Validators};

use crate::session::{Method, Request};

/// What is the same in all requests of a run.
#[derive(Debug)]
pub(super) struct Manner {
    /// Whom they ask.
    pub(super) host: String,
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

/// What came is no reply, or to nothing.
#[derive(Debug)]
pub(super) struct Malformed;

impl Talk {
    /// Writes a request at the end of `out`; its reply will be told by this tag.
    pub(super) fn ask(&mut self, out: &mut Vec<u8>, manner: &Manner, order: &Order<'_>) {
        let method = method(order.request.method);
        let ask = Ask {
            method,
            target: order.target,
            host: &manner.host,
            fields: FIELDS,
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
    ) -> Result<Option<Heard<'b>>, Malformed> {
        if self.is_free() {
            self.reading = self.later.pop_front();
        }
        let Some((tag, exchange)) = &mut self.reading else {
            return if bytes.is_empty() { Ok(None) } else { Err(Malformed) };
        };
        let (taken, event) = exchange.read(bytes).map_err(|_| Malformed)?;
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

const FIELDS: &str = concat!("User-Agent: weir/", env!("CARGO_PKG_VERSION"), "\r\n");

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
