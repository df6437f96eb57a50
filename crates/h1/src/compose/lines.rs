use std::ops::Range;

use crate::{Date, Persistence, Representation, Status};

/// A head, or the head of a part, while it is written.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: Vec<u8>,
}

impl Lines {
    /// Where in the head that begins so the 29 bytes of the date stand.
    pub(super) const fn place_of_date(status: Status) -> Range<usize> {
        let begin = "HTTP/1.1 200 ".len() + status.phrase().len() + "\r\nDate: ".len();
        begin..begin + 29
    }

    pub(super) fn begin(status: Status, date: &Date) -> Self {
        /// Room for the usual head, so that the text grows once.
        const HEAD_BYTES: usize = 400;
        let mut lines = Self { text: Vec::with_capacity(HEAD_BYTES) };
        let code = Decimal::of(status.0.into());
        lines.add(&[b"HTTP/1.1 ", code.digits(), b" ", status.phrase().as_bytes()]);
        lines.add(&[b"Date: ", date.text()]);
        lines.add(&[b"Server: weir"]);
        lines
    }

    pub(super) fn add(&mut self, pieces: &[&[u8]]) {
        for piece in pieces {
            self.text.extend_from_slice(piece);
        }
        self.text.extend_from_slice(b"\r\n");
    }

    pub(super) fn add_unless_empty(&mut self, name: &str, value: &[u8]) {
        if !value.is_empty() {
            self.add(&[name.as_bytes(), value]);
        }
    }

    pub(super) fn add_content_range(&mut self, part: &Range<u64>, length: u64) {
        let (first, last) = (Decimal::of(part.start), Decimal::of(part.end - 1));
        let length = Decimal::of(length);
        let range = [b"Content-Range: bytes ", first.digits(), b"-", last.digits()];
        self.add(&[range[0], range[1], range[2], range[3], b"/", length.digits()]);
    }

    /// The query of the request is put behind the place's own, before a fragment.
    pub(super) fn add_location(&mut self, place: &[u8], query: &[u8]) {
        let end = memchr::memchr(b'#', place).unwrap_or(place.len());
        let (place, fragment) = place.split_at(end);
        let mark: &[u8] = match memchr::memchr(b'?', place) {
            _ if query.is_empty() => b"",
            Some(_) => b"&",
            None => b"?",
        };
        self.add(&[b"Location: ", place, mark, query, fragment]);
    }

    pub(super) fn add_representation<F>(
        &mut self,
        representation: &Representation<F>,
        date: &Date,
    ) {
        self.add_validators(representation, date);
        if representation.status == Status::OK {
            self.add(&[b"Accept-Ranges: bytes"]);
        }
        if let Some(coding) = representation.coding {
            self.add(&[b"Content-Encoding: ", coding.token().as_bytes()]);
        }
        self.add_variance(representation);
    }

    pub(super) fn add_validators<F>(&mut self, representation: &Representation<F>, date: &Date) {
        if let Some(modified) = representation.modified {
            // A file of the future was last modified now (RFC 9110 section 8.8.2.1).
            let modified = Date::new(modified.min(date.seconds));
            self.add(&[b"Last-Modified: ", modified.text()]);
        }
        self.add_unless_empty("ETag: ", representation.words.etag().unwrap_or_default());
    }

    pub(super) fn add_variance<F>(&mut self, representation: &Representation<F>) {
        if representation.varies {
            self.add(&[b"Vary: Accept-Encoding"]);
        }
        self.text.extend_from_slice(representation.words.fields());
    }

    pub(super) fn end(mut self, persistence: Persistence) -> Vec<u8> {
        match persistence {
            Persistence::Stays => {}
            Persistence::StaysByRequest => self.add(&[b"Connection: keep-alive"]),
            Persistence::Closes => self.add(&[b"Connection: close"]),
        }
        self.add(&[]);
        self.text
    }
}

/// A number as text, without the heap and the formatter: there are several in each head.
pub(super) struct Decimal {
    text: [u8; 20],
    at: usize,
}

impl Decimal {
    pub(super) fn of(mut number: u64) -> Self {
        let mut text = [b'0'; 20];
        let mut at = text.len() - 1;
        text[at] += (number % 10) as u8;
        while number >= 10 {
            number /= 10;
            at -= 1;
            text[at] += (number % 10) as u8;
        }
        Self { text, at }
    }

    pub(super) fn digits(&self) -> &[u8] {
        &self.text[self.at..]
    }
}
