//! Replies: what is sent for an answer, in as few pieces as possible (RFC 9110 13, 14 and 15).

mod lines;
mod page;

use std::{
    hash::{BuildHasher, Hash, Hasher, RandomState},
    ops::Range,
    sync::LazyLock,
};

use self::lines::{Decimal, Lines};
use self::page::Form;
use crate::{
    Answer, Block, Chunk, Content, Date, FilePart, Head, Limits, Method, Now, Persistence,
    Representation, Shared, Status,
    conditional::{self, Validators, Verdict},
    range::{self, Selection},
};

/// Content in memory up to so many bytes is copied behind its head: copying them costs less than a
/// second `send` would. A reply of 1 KB is a tenth faster for it.
const COPIED_BYTES_MAX: u64 = 16 << 10;

/// The whole 200 reply to a plain HTTP/1.1 GET on a connection that stays: head, and the content
/// where that is in memory. Good for [`Answer::prebuilt`] as long as `date` is the present second.
#[must_use]
pub fn prebuilt<F>(representation: &Representation<F>, date: &Date) -> Vec<u8> {
    let persistence = Persistence::Stays;
    let plain = Reply { representation, query: b"", persistence, date, gathers: true };
    let mut text = plain.head_of_whole();
    if let Content::Bytes(chunk) = &representation.content {
        text.extend_from_slice(chunk.bytes());
    }
    text
}

/// Puts another date into a reply that [`prebuilt`] made for a representation of that status. A
/// file of the future is last modified at the date itself: its reply is to be made anew.
///
/// # Panics
/// It is no such reply, and too short for one.
pub fn redate(prebuilt: &mut [u8], status: Status, date: &Date) {
    prebuilt[Lines::place_of_date(status)].copy_from_slice(date.text());
}

/// What answers a request: the representation, parts of it, or the news that the client's copy is
/// current or is not what the client thinks.
#[must_use]
pub fn answer<F>(
    head: &Head<'_>,
    answer: Answer<F>,
    persistence: Persistence,
    limits: &Limits,
    now: &Now,
) -> Composed<F> {
    let anew;
    let date = if limits.date_cache {
        &now.date
    } else {
        anew = Date::new(now.date.seconds);
        &anew
    };
    let representation = &*answer.representation;
    let (query, gathers) = (head.query(), limits.gather);
    let reply = Reply { representation, query, persistence, date, gathers };
    let has_content = head.method() != Method::Head;
    if representation.is_bare() {
        let fields = representation.words.fields();
        let form = Form::of(representation.status, head);
        return small(representation.status, form, persistence, fields, has_content, date);
    }
    if representation.status != Status::OK || !head.is_conditional() {
        return match answer.prebuilt {
            Some(prebuilt)
                if has_content && persistence == Persistence::Stays && !reply.leads_by_query() =>
            {
                if limits.date_cache {
                    reply.prebuilt(prebuilt)
                } else {
                    reply.redated(prebuilt.bytes())
                }
            }
            _ => reply.whole(has_content),
        };
    }
    let current =
        Validators { etag: representation.words.etag(), modified: representation.modified };
    match conditional::judge(head, current) {
        Verdict::NotModified => return reply.not_modified(),
        Verdict::Failed => {
            let fields = representation.words.fields();
            return reply.refusal(Status::PRECONDITION_FAILED, fields, has_content);
        }
        Verdict::Proceed => {}
    }
    // Ranges are defined for GET only (RFC 9110 section 14.2).
    if head.method() != Method::Get || !conditional::range_holds(head, current, date) {
        return reply.whole(has_content);
    }
    let length = representation.content.length();
    match range::select(head.values("range"), length, limits.ranges_max) {
        Selection::Whole => reply.whole(has_content),
        Selection::Unsatisfiable => {
            let length = Decimal::of(length);
            let fields = [b"Content-Range: bytes */", length.digits(), b"\r\n"];
            let lines = [&fields.concat(), representation.words.fields()].concat();
            reply.refusal(Status::RANGE_NOT_SATISFIABLE, &lines, has_content)
        }
        Selection::Part(part) => reply.part(part),
        Selection::Parts(parts) => reply.parts(&parts),
    }
}

/// A small reply of the server's own, all of it: the status is its text, or its page where `head`
/// is of a browser. A 204 or 304 has neither text nor length; without content, for HEAD, only the
/// length that GET would see is left.
#[must_use]
pub fn status<F>(
    status: Status,
    head: Option<&Head<'_>>,
    persistence: Persistence,
    has_content: bool,
    date: &Date,
) -> Composed<F> {
    // Asked by OPTIONS, or to be told with a 405 (RFC 9110 section 15.5.6).
    let line: &[u8] = match status {
        Status::NO_CONTENT | Status::METHOD_NOT_ALLOWED => b"Allow: GET, HEAD, OPTIONS\r\n",
        // RFC 6585 section 4, RFC 9110 section 15.6.4; who may ask again does not wait longer.
        Status::TOO_MANY_REQUESTS | Status::SERVICE_UNAVAILABLE => b"Retry-After: 1\r\n",
        _ => b"",
    };
    let form = head.map_or(Form::Text, |head| Form::of(status, head));
    small(status, form, persistence, line, has_content, date)
}

/// The interim reply to `Expect: 100-continue` (RFC 9110 section 15.2.1).
#[must_use]
pub fn continue_() -> Chunk {
    Chunk::whole(&b"HTTP/1.1 100 Continue\r\n\r\n"[..])
}

/// A reply ready to be sent.
#[derive(Debug)]
pub struct Composed<F> {
    /// Its status.
    pub status: Status,
    /// How many of its bytes are content.
    pub content_bytes: u64,
    /// Its bytes.
    pub pieces: Pieces<F>,
}

/// What one send takes: the chunk, then the part of a file.
pub type Piece<F> = (Chunk, Option<FilePart<F>>);

/// The sends of a reply, in order. One piece, the usual case, needs no list on the heap.
#[derive(Debug)]
pub struct Pieces<F> {
    first: Option<Piece<F>>,
    others: std::vec::IntoIter<Piece<F>>,
    remaining: u64,
}

impl<F> Pieces<F> {
    /// One piece.
    #[must_use]
    pub fn one(chunk: Chunk, part: Option<FilePart<F>>) -> Self {
        let piece = (chunk, part);
        let remaining = bytes_of(&piece);
        Self { first: Some(piece), others: Vec::new().into_iter(), remaining }
    }

    /// Bytes of the pieces that have not been taken yet.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }
}

impl<F> FromIterator<Piece<F>> for Pieces<F> {
    fn from_iter<I: IntoIterator<Item = Piece<F>>>(pieces: I) -> Self {
        let mut pieces = pieces.into_iter();
        let first = pieces.next();
        let others = pieces.collect::<Vec<_>>();
        let remaining = first.iter().chain(&others).map(bytes_of).sum();
        Self { first, others: others.into_iter(), remaining }
    }
}

impl<F> Iterator for Pieces<F> {
    type Item = Piece<F>;

    fn next(&mut self) -> Option<Piece<F>> {
        let piece = self.first.take().or_else(|| self.others.next())?;
        self.remaining -= bytes_of(&piece);
        Some(piece)
    }
}

fn bytes_of<F>((chunk, part): &Piece<F>) -> u64 {
    chunk.bytes().len() as u64 + part.as_ref().map_or(0, FilePart::len)
}

/// What all replies made of a representation depend on.
struct Reply<'r, F> {
    representation: &'r Representation<F>,
    /// Of the request.
    query: &'r [u8],
    persistence: Persistence,
    date: &'r Date,
    /// [`Limits::gather`].
    gathers: bool,
}

impl<F> Reply<'_, F> {
    /// Whether the query makes it another reply.
    fn leads_by_query(&self) -> bool {
        self.representation.words.location().is_some() && !self.query.is_empty()
    }

    fn prebuilt(&self, prebuilt: Chunk) -> Composed<F> {
        let content_bytes = self.representation.content.length();
        let part = match &self.representation.content {
            Content::File { file, length } if *length > 0 => {
                Some(FilePart { file: Shared::clone(file), at: 0, end: *length })
            }
            Content::Bytes(_) if !self.gathers => return self.apart(prebuilt, content_bytes),
            _ => None,
        };
        let pieces = Pieces::one(prebuilt, part);
        Composed { status: self.representation.status, content_bytes, pieces }
    }

    /// What was prebuilt, with the date of this reply.
    #[cold]
    fn redated(&self, prebuilt: &[u8]) -> Composed<F> {
        let mut copy = prebuilt.to_vec();
        redate(&mut copy, self.representation.status, self.date);
        self.prebuilt(Chunk::whole(copy))
    }

    /// What was prebuilt, in two sends: so many bytes of it are content.
    #[cold]
    fn apart(&self, prebuilt: Chunk, content_bytes: u64) -> Composed<F> {
        let Chunk { of, at, end } = prebuilt;
        let cut = end - content_bytes as usize;
        let head = Chunk { of: of.clone(), at, end: cut };
        let content = (content_bytes > 0).then_some((Chunk { of, at: cut, end }, None));
        let pieces = [(head, None)].into_iter().chain(content).collect();
        Composed { status: self.representation.status, content_bytes, pieces }
    }

    fn whole(&self, has_content: bool) -> Composed<F> {
        let text = self.head_of_whole();
        let length = if has_content { self.representation.content.length() } else { 0 };
        self.composed(self.representation.status, length, Row::of_one(text, 0..length))
    }

    fn head_of_whole(&self) -> Vec<u8> {
        let Self { representation, query, persistence, date, .. } = self;
        let mut lines = Lines::begin(representation.status, date);
        lines.add_unless_empty("Content-Type: ", representation.words.media_type());
        // RFC 9110 section 8.6.
        if representation.status != Status::NO_CONTENT {
            let length = Decimal::of(representation.content.length());
            lines.add(&[b"Content-Length: ", length.digits()]);
        }
        if let Some(location) = representation.words.location() {
            lines.add_location(location, query);
        }
        lines.add_representation(representation, date);
        lines.end(*persistence)
    }

    fn part(&self, part: Range<u64>) -> Composed<F> {
        let status = Status::PARTIAL_CONTENT;
        let mut lines = Lines::begin(status, self.date);
        lines.add_unless_empty("Content-Type: ", self.representation.words.media_type());
        let length = part.end - part.start;
        lines.add(&[b"Content-Length: ", Decimal::of(length).digits()]);
        lines.add_content_range(&part, self.representation.content.length());
        lines.add_representation(self.representation, self.date);
        self.composed(status, length, Row::of_one(lines.end(self.persistence), part))
    }

    /// A multipart/byteranges reply (RFC 9110 section 14.6); everything, where that is shorter, and
    /// where the parts would be parts of something encoded, whose encoding no field could tell.
    fn parts(&self, parts: &[Range<u64>]) -> Composed<F> {
        let boundary = self.boundary(parts);
        let body = self.body_of_parts(parts, &boundary);
        let length = body.bytes();
        if self.representation.coding.is_some() || length > self.representation.content.length() {
            return self.whole(true);
        }
        let status = Status::PARTIAL_CONTENT;
        let mut lines = Lines::begin(status, self.date);
        lines.add(&[b"Content-Type: multipart/byteranges; boundary=", boundary.as_bytes()]);
        lines.add(&[b"Content-Length: ", Decimal::of(length).digits()]);
        lines.add_representation(self.representation, self.date);
        self.composed(status, length, body.behind(lines.end(self.persistence)))
    }

    fn body_of_parts(&self, parts: &[Range<u64>], boundary: &str) -> Row {
        let length = self.representation.content.length();
        let mut lines = Lines::default();
        let mut cuts = Vec::with_capacity(parts.len());
        for part in parts {
            lines.add(&[b"\r\n--", boundary.as_bytes()]);
            lines.add_unless_empty("Content-Type: ", self.representation.words.media_type());
            lines.add_content_range(part, length);
            lines.add(&[]);
            cuts.push((lines.text.len(), part.clone()));
        }
        lines.add(&[b"\r\n--", boundary.as_bytes(), b"--"]);
        Row { text: lines.text, cuts }
    }

    // The same request for the same state gets the same bytes, and no counter has to be kept. Who
    // writes the file may know its state, not the seed, and cannot foresee the boundary. He can
    // write one that he was sent into the file and set the time back, which harms his own file.
    fn boundary(&self, parts: &[Range<u64>]) -> String {
        static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let mut hasher = SEED.build_hasher();
        self.representation.words.etag().hash(&mut hasher);
        self.representation.modified.hash(&mut hasher);
        parts.hash(&mut hasher);
        format!("weir-{:016x}", hasher.finish())
    }

    /// RFC 9110 section 15.4.5: what a cache needs to go on using what it has.
    fn not_modified(&self) -> Composed<F> {
        let status = Status::NOT_MODIFIED;
        let mut lines = Lines::begin(status, self.date);
        lines.add_validators(self.representation, self.date);
        lines.add_variance(self.representation);
        self.composed(status, 0, Row::of_one(lines.end(self.persistence), 0..0))
    }

    fn refusal(&self, status: Status, lines: &[u8], has_content: bool) -> Composed<F> {
        small(status, Form::Text, self.persistence, lines, has_content, self.date)
    }

    fn composed(&self, status: Status, content_bytes: u64, row: Row) -> Composed<F> {
        let pieces = row.pieces(&self.representation.content, self.gathers);
        Composed { status, content_bytes, pieces }
    }
}

/// Text with parts of the content in between.
struct Row {
    text: Vec<u8>,
    /// Before which byte of the text which part belongs.
    cuts: Vec<(usize, Range<u64>)>,
}

impl Row {
    fn of_one(text: Vec<u8>, part: Range<u64>) -> Self {
        let cuts = if part.is_empty() { Vec::new() } else { vec![(text.len(), part)] };
        Self { text, cuts }
    }

    fn behind(self, mut head: Vec<u8>) -> Self {
        let shift = head.len();
        head.extend_from_slice(&self.text);
        let cuts = self.cuts.into_iter().map(|(at, part)| (at + shift, part)).collect();
        Self { text: head, cuts }
    }

    fn bytes(&self) -> u64 {
        self.text.len() as u64 + self.bytes_of_parts()
    }

    fn bytes_of_parts(&self) -> u64 {
        self.cuts.iter().map(|(_, part)| part.end - part.start).sum()
    }

    fn pieces<F>(self, content: &Content<F>, gathers: bool) -> Pieces<F> {
        if let Content::Bytes(chunk) = content
            && gathers
            && self.bytes_of_parts() <= COPIED_BYTES_MAX
        {
            return Pieces::one(Chunk::whole(self.copied(chunk.bytes())), None);
        }
        let of = Block::from(self.text);
        let mut pieces = Vec::new();
        let mut from = 0;
        for (end, part) in self.cuts {
            let text = Chunk { of: of.clone(), at: from, end };
            match content {
                Content::Bytes(Chunk { of, at: first, .. }) => {
                    let (at, end) = (first + part.start as usize, first + part.end as usize);
                    let bytes = Chunk { of: of.clone(), at, end };
                    pieces.extend([(text, None), (bytes, None)]);
                }
                Content::File { file, .. } => {
                    let (at, end) = (part.start, part.end);
                    pieces.push((text, Some(FilePart { file: Shared::clone(file), at, end })));
                }
            }
            from = end;
        }
        if from < of.len() {
            let end = of.len();
            pieces.push((Chunk { of, at: from, end }, None));
        }
        pieces.into_iter().collect()
    }

    fn copied(self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.bytes() as usize);
        let mut from = 0;
        for (at, part) in self.cuts {
            copy.extend_from_slice(&self.text[from..at]);
            copy.extend_from_slice(&bytes[part.start as usize..part.end as usize]);
            from = at;
        }
        copy.extend_from_slice(&self.text[from..]);
        copy
    }
}

fn small<F>(
    status: Status,
    form: Form,
    persistence: Persistence,
    line: &[u8],
    has_content: bool,
    date: &Date,
) -> Composed<F> {
    let has_length = !matches!(status, Status::NO_CONTENT | Status::NOT_MODIFIED);
    let code = Decimal::of(status.0.into());
    let content = form.content(code.digits(), status.phrase().as_bytes());
    let length = content.iter().map(|piece| piece.len()).sum::<usize>();
    let mut lines = Lines::begin(status, date);
    if has_length {
        lines.add(&[b"Content-Type: ", form.media_type()]);
        lines.add(&[b"Content-Length: ", Decimal::of(length as u64).digits()]);
    }
    lines.text.extend_from_slice(form.lines());
    lines.text.extend_from_slice(line);
    let mut text = lines.end(persistence);
    let is_sent = has_length && has_content;
    if is_sent {
        content.iter().for_each(|piece| text.extend_from_slice(piece));
    }
    let pieces = Pieces::one(Chunk::whole(text), None);
    Composed { status, content_bytes: if is_sent { length as u64 } else { 0 }, pieces }
}
