//! A driver without sockets: performs what a connection wants, and keeps what it sends.

use h1::{
    Answer, Block, Chunk, Codings, Connection, Content, Date, Found, Limits, Loaded, Lookup,
    Method, Miss, Now, Reply, Representation, Shared, Status, Want, Wording,
};
use measure::{Duration, Instant};

/// Bytes of the file behind `/large`: three windows and a rest.
pub(crate) const LARGE_BYTES: u64 = 3_500;

/// Bytes in memory behind `/broad`: more than leave at once.
const BROAD_BYTES: usize = 14_280;

/// A connection, the peer that it talks with, and a clock that only the test moves.
pub(crate) struct Driver {
    pub(crate) connection: Connection<()>,
    pub(crate) now: Now,
    /// What the peer has sent and the connection has not received.
    pub(crate) stream: Vec<u8>,
    /// Lengths of the pieces received and sent, used in turn; whole, if there are none.
    cuts: Vec<usize>,
    turn: usize,
    /// What the peer has got since the last reply was complete.
    sent: Vec<u8>,
    replies: Vec<String>,
    /// As the connection has told of them.
    pub(crate) told: Vec<Reply>,
    /// All that it got, interim replies left out.
    pub(crate) output: Vec<u8>,
}

impl Driver {
    pub(crate) fn new() -> Self {
        Self::with(limits())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let at = Instant::from_ms(1_000);
        Self {
            connection: Connection::new(Shared::new(limits), at),
            now: Now { at, date: Date::new(1_800_000_000) },
            stream: Vec::new(),
            cuts: Vec::new(),
            turn: 0,
            sent: Vec::new(),
            replies: Vec::new(),
            told: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Receives and sends in pieces of these lengths.
    pub(crate) fn cut(mut self, cuts: &[usize]) -> Self {
        self.cuts = cuts.to_vec();
        self
    }

    /// The peer sends, and the connection does all that it can do then.
    pub(crate) fn peer_sends(&mut self, bytes: &[u8]) -> &mut Self {
        self.stream.extend_from_slice(bytes);
        self.run()
    }

    /// Performs wants until bytes lack, or FIN is to be sent, or it is over.
    pub(crate) fn run(&mut self) -> &mut Self {
        while self.step() {}
        self
    }

    /// Performs wants until `Find`.
    pub(crate) fn until_find(&mut self) -> &mut Self {
        while !matches!(self.connection.want(), Want::Find(..)) && self.step() {}
        self
    }

    /// The peer sends a request, and the connection comes as far as its `Find`.
    pub(crate) fn asked(mut self, path: &str) -> Self {
        self.stream.extend_from_slice(get(path).as_bytes());
        self.until_find();
        self
    }

    pub(crate) fn pass(&mut self, span: Duration) -> &mut Self {
        self.now.at = self.now.at + span;
        self.connection.expired(&self.now);
        self
    }

    /// Replies, then what is wanted: `200+5 404c, Shut`. A plus precedes the bytes of content of a
    /// success; `h`: the head tells of content that was not sent; `c`: it says `close`; `k`: it
    /// says `keep-alive`.
    pub(crate) fn told(&self) -> String {
        let replies = self.replies.join(" ");
        let gap = if replies.is_empty() { "" } else { ", " };
        format!("{replies}{gap}{}", self.wants())
    }

    pub(crate) fn wants(&self) -> &'static str {
        match self.connection.want() {
            Want::Recv => "Recv",
            Want::Find(..) => "Find",
            Want::Load(..) => "Load",
            Want::Send(..) => "Send",
            Want::Wait => "Wait",
            Want::Shut => "Shut",
            Want::Close => "Close",
        }
    }

    /// Performs what is wanted; false where that is not a driver's to do alone.
    pub(crate) fn step(&mut self) -> bool {
        let want = format!("{:?}", self.connection.want());
        assert_eq!(want, format!("{:?}", self.connection.want()), "asking changed something");
        match self.connection.want() {
            Want::Recv if self.stream.is_empty() => return false,
            Want::Recv => {
                let n = self.piece(self.stream.len());
                let bytes: Vec<u8> = self.stream.drain(..n).collect();
                let goes_on = self.connection.received(&bytes, &self.now);
                assert_eq!(goes_on, matches!(self.connection.want(), Want::Recv));
            }
            Want::Find(_, head) => {
                let found = match head.method() {
                    Method::Get | Method::Head => find(head.path()),
                    Method::Options => Found::Status(Status::NO_CONTENT),
                    Method::Unknown => Found::Status(Status::NOT_IMPLEMENTED),
                    Method::Post | Method::Known => Found::Status(Status::METHOD_NOT_ALLOWED),
                };
                let host = head.path().len() as u8;
                self.connection.count_under(host);
                self.connection.found(found, &self.now);
            }
            Want::Load(_, miss) => self.connection.loaded(load(&miss), &self.now),
            Want::Send(chunk, part) => {
                let mut bytes = chunk.bytes().to_vec();
                bytes.extend(part.into_iter().flat_map(|part| part.at..part.end).map(byte_at));
                let n = self.piece(bytes.len());
                self.send(&bytes[..n]);
            }
            Want::Wait | Want::Shut | Want::Close => return false,
        }
        true
    }

    fn send(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "nothing is to be sent");
        self.sent.extend_from_slice(bytes);
        let told = self.connection.remaining();
        let closes = self.connection.closes();
        self.connection.sent(bytes.len() as u64, &self.now);
        let reply = self.connection.next_reply();
        assert_eq!(self.connection.next_reply(), None, "told twice");
        if self.sent == b"HTTP/1.1 100 Continue\r\n\r\n" {
            self.sent.clear();
            self.replies.push(String::from("100"));
        }
        let Some(reply) = reply else { return };
        self.told.push(reply);
        assert_eq!(told, bytes.len() as u64, "what remained was sent");
        assert!(!closes || matches!(self.wants(), "Shut" | "Close"), "it did not close");
        let sent = core::mem::take(&mut self.sent);
        self.replies.push(summary(&sent, reply));
        self.output.extend(sent);
    }

    fn piece(&mut self, length: usize) -> usize {
        let Some(&cut) = self.cuts.get(self.turn) else { return length };
        self.turn = (self.turn + 1) % self.cuts.len();
        cut.clamp(1, length)
    }
}

pub(crate) fn limits() -> Limits {
    Limits { window_bytes: 1_000, ..Limits::default() }
}

/// Requests are written with LF, and are sent with CRLF.
pub(crate) fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// What is in memory; everything else is a miss.
pub(crate) fn find(path: &[u8]) -> Found<()> {
    match path {
        b"/small" => Found::Answer(answer(in_memory(b"small"))),
        b"/large" => {
            Found::Answer(answer(Content::File { file: Shared::new(()), length: LARGE_BYTES }))
        }
        b"/broad" => Found::Answer(answer(in_memory(&[b'x'; BROAD_BYTES]))),
        b"/missing" => Found::Status(Status::NOT_FOUND),
        _ => {
            let codings = Codings::default();
            Found::Miss(Lookup { root: 0, path: path.into(), codings, credentials: None })
        }
    }
}

/// What is on the disk.
pub(crate) fn load(miss: &Miss<()>) -> Loaded<()> {
    match miss {
        Miss::Path(lookup) => match &*lookup.path {
            b"/loaded" => Loaded::Answer(answer(in_memory(b"loaded"))),
            _ => Loaded::Status(Status::NOT_FOUND),
        },
        Miss::Pages(_) | Miss::More(_) => Loaded::Pages,
    }
}

fn in_memory(bytes: &[u8]) -> Content<()> {
    Content::Bytes(Chunk::whole(bytes))
}

fn answer(content: Content<()>) -> Answer<()> {
    let wording = Wording { media_type: b"text/plain", etag: b"\"e\"", ..Wording::default() };
    let nothing = Representation::made(Status::OK, wording, Block::default());
    Representation { modified: Some(1_700_000_000), varies: true, content, ..nothing }.into()
}

fn byte_at(at: u64) -> u8 {
    (at % 251) as u8
}

fn summary(sent: &[u8], reply: Reply) -> String {
    let end = sent.windows(4).position(|four| four == b"\r\n\r\n").expect("its head ends") + 4;
    let (head, content) = sent.split_at(end);
    let head = str::from_utf8(head).expect("a head is text");
    assert!(head.starts_with(&format!("HTTP/1.1 {} ", reply.status.0)), "{head}");
    assert!(head.contains("\r\nDate: ") && head.contains("\r\nServer: "), "{head}");
    assert_eq!(content.len() as u64, reply.bytes, "{head}");
    let field = |name| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut summary = reply.status.0.to_string();
    if reply.status.0 < 300 {
        summary += &format!("+{}", content.len());
    }
    let length: usize = field("Content-Length: ").parse().unwrap_or_default();
    if length != content.len() {
        assert_eq!(content, b"", "{head}");
        summary.push('h');
    }
    summary += match field("Connection: ") {
        "close" => "c",
        "keep-alive" => "k",
        _ => "",
    };
    summary
}
