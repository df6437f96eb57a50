use h1::{
    Answer, Block, Chunk, Codings, Connection, Content, Date, FilePart, Found, Limits, Loaded,
    Lookup, Miss, Now, Reply, Representation, Shared, Status, Want, Wording,
};
use measure::Instant;

/// It is left out where the body has come already, which is a matter of how the bytes were cut.
const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Bytes of the file behind `/large`: some windows and a rest.
const LARGE_BYTES: u64 = 3_500;

/// A seed, then what a client sends: whatever it is, the connection comes to its end within a
/// bounded number of steps, its replies are whole, and they are the same however the bytes were cut
/// on their way in and out. Broken off at any moment it comes to its end too.
///
/// # Panics
/// Where one of these does not hold.
pub fn connection(data: &[u8]) {
    let Some((&seed, stream)) = data.split_first() else { return };
    let whole = Driver::new(stream, None).run();
    let cut = Driver::new(stream, Some(Cuts::new(seed))).run();
    assert!(whole == cut, "{}\nis not\n{}", whole.escape_ascii(), cut.escape_ascii());
    let mut troubled = Driver::new(stream, Some(Cuts::new(seed)));
    troubled.trouble = Some(Cuts::new(!seed));
    troubled.run();
}

struct Driver<'d> {
    connection: Connection<()>,
    now: Now,
    /// Not yet received.
    stream: &'d [u8],
    ended: bool,
    /// Sent, without interim replies, and where the reply in hand began.
    output: Vec<u8>,
    reply_at: usize,
    /// Where to cut what is received and sent.
    cuts: Option<Cuts>,
    /// When to break off, and how.
    trouble: Option<Cuts>,
}

impl<'d> Driver<'d> {
    fn new(stream: &'d [u8], cuts: Option<Cuts>) -> Self {
        let at = Instant::from_ms(1_000);
        let limits = Limits { window_bytes: 1_000, ..Limits::default() };
        Self {
            connection: Connection::new(Shared::new(limits), at),
            now: Now { at, date: Date::new(1_800_000_000) },
            stream,
            ended: false,
            output: Vec::new(),
            reply_at: 0,
            cuts,
            trouble: None,
        }
    }

    fn run(mut self) -> Vec<u8> {
        let steps_max = 10_000 + 20 * self.stream.len();
        for _ in 0..steps_max {
            if !self.step() {
                return self.output;
            }
            self.make_trouble();
        }
        panic!("no end after {steps_max} steps");
    }

    /// Performs what is wanted; false once that is to close.
    fn step(&mut self) -> bool {
        match self.connection.want() {
            Want::Recv => self.receive(),
            Want::Find(..) => {
                let found = find(self.target());
                self.connection.found(found, &self.now);
            }
            Want::Load(_, miss) => {
                let loaded = match miss {
                    Miss::Path(lookup) => load(&lookup),
                    Miss::Pages(_) => Loaded::Pages,
                    Miss::More(part) => Loaded::More(Chunk::whole(pages(&part))),
                };
                self.connection.loaded(loaded, &self.now);
            }
            Want::Send(chunk, part) => {
                let mut bytes = chunk.bytes().to_vec();
                bytes.extend(part.map(pages).unwrap_or_default());
                self.send(&bytes);
            }
            Want::Shut => self.connection.shut(&self.now),
            Want::Wait | Want::Close => return false,
        }
        true
    }

    fn receive(&mut self) {
        assert!(!self.ended, "wants bytes from a peer that has ended");
        if self.stream.is_empty() {
            self.ended = true;
            return self.connection.ended(&self.now);
        }
        let end = cut(&mut self.cuts, self.stream.len());
        let (bytes, rest) = self.stream.split_at(end);
        self.stream = rest;
        self.connection.received(bytes, &self.now);
    }

    fn send(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "wants nothing sent");
        // An interim reply is not counted: 0.
        let remaining = self.connection.remaining();
        assert!(remaining == 0 || remaining >= bytes.len() as u64, "more to send than remains");
        let end = cut(&mut self.cuts, bytes.len());
        self.output.extend_from_slice(&bytes[..end]);
        self.connection.sent(end as u64, &self.now);
        let reply = self.connection.next_reply();
        if self.output[self.reply_at..] == *INTERIM {
            self.output.truncate(self.reply_at);
        }
        if let Some(reply) = reply {
            check(&self.output[self.reply_at..], reply);
            self.reply_at = self.output.len();
        }
    }

    fn target(&self) -> &[u8] {
        let line = self.connection.request_line().expect("a request is in hand");
        line.split(|&byte| byte == b' ').nth(1).expect("its line has a target")
    }

    fn make_trouble(&mut self) {
        let Some(trouble) = &mut self.trouble else { return };
        match trouble.below(40) {
            0 => self.expire(),
            1 => self.connection.drain(),
            2 => self.connection.refuse(Status::SERVICE_UNAVAILABLE, &self.now),
            3 => self.connection.failed(),
            4 if !self.ended => {
                self.ended = true;
                self.connection.ended(&self.now);
            }
            _ => {}
        }
    }

    fn expire(&mut self) {
        if let Some(deadline) = self.connection.deadline() {
            self.now.at = deadline.at;
            self.connection.expired(&self.now);
        }
    }
}

/// The reply that became complete: its bytes are a head and so many bytes of content.
fn check(sent: &[u8], reply: Reply) {
    let line = format!("HTTP/1.1 {} ", reply.status.0);
    assert!(sent.starts_with(line.as_bytes()), "{} for {reply:?}", sent.escape_ascii());
    let end = sent.windows(4).position(|four| four == b"\r\n\r\n").expect("its head ends") + 4;
    assert_eq!((sent.len() - end) as u64, reply.bytes, "{}", sent.escape_ascii());
}

fn find(target: &[u8]) -> Found<()> {
    match target {
        b"/small" => Found::Answer(answer(Status::OK, in_memory(b"small"))),
        b"/large" => Found::Answer(answer(
            Status::OK,
            Content::File { file: Shared::new(()), length: LARGE_BYTES },
        )),
        b"/moved" => Found::Answer(answer(Status::MOVED_PERMANENTLY, in_memory(b"moved"))),
        b"/missing" => Found::Status(Status::NOT_FOUND),
        _ => {
            let codings = Codings::default();
            Found::Miss(Lookup { root: 0, path: target.into(), codings, credentials: None })
        }
    }
}

fn load(lookup: &Lookup) -> Loaded<()> {
    match &*lookup.path {
        b"/loaded" => Loaded::Answer(answer(Status::OK, in_memory(b"loaded"))),
        _ => Loaded::Status(Status::NOT_FOUND),
    }
}

fn in_memory(bytes: &[u8]) -> Content<()> {
    Content::Bytes(Chunk::whole(bytes))
}

fn answer(status: Status, content: Content<()>) -> Answer<()> {
    let location: &[u8] = if status == Status::OK { b"" } else { b"/to?a#b" };
    let wording = Wording { media_type: b"text/plain", etag: b"\"e\"", location, fields: b"" };
    let nothing = Representation::made(status, wording, Block::default());
    let modified = Some(1_700_000_000);
    Representation { modified, varies: true, content, ..nothing }.into()
}

fn pages(part: &FilePart<()>) -> Vec<u8> {
    (part.at..part.end).map(|at| (at % 251) as u8).collect()
}

fn cut(cuts: &mut Option<Cuts>, length: usize) -> usize {
    cuts.as_mut().map_or(length, |cuts| length.min(1 + cuts.below(cuts.piece_max)))
}

/// Draws that follow from one byte.
struct Cuts {
    state: u32,
    /// Bytes of a piece.
    piece_max: usize,
}

impl Cuts {
    fn new(seed: u8) -> Self {
        // From single bytes to more than a head.
        let piece_max = 1 << (seed % 12);
        Self { state: 0x9e37_79b9 ^ u32::from(seed), piece_max }
    }

    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.state as usize % end
    }
}
