//! The records of the World Cup of 1998: 1,352,804,107 requests to its site, in files of at most
//! seven million (`wc_dayX_Y.gz` at ita.ee.lbl.gov/html/contrib/WorldCup.html).
//!
//! Each has 20 bytes, big-endian: time, client, object and size of 32 bits, then method, status,
//! type and server of 8. The numbers of methods, statuses and types are those of `definitions.h` of
//! the archive's tools; the targets are replaced by their numbers here, as their names are in
//! another file and no replay needs them.

use std::fmt::Write as _;
use std::io::BufRead;

use super::choices::Choices;
use super::collect::{Collector, Entry};
use super::fault::Fault;
use super::input::fill;
use super::order::Resolution;
use super::request::Way;

/// Of one record.
pub const RECORD_BYTES: usize = 20;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Seconds since 1970, UTC.
    pub at_s: u32,
    /// The client, or a proxy for many.
    pub client: u32,
    /// What was asked for.
    pub object: u32,
    /// Of the reply; `u32::MAX`: not known. See [`Self::known_bytes`].
    pub bytes: u32,
    /// 0 GET, 1 HEAD, 2 POST, 3 PUT, 4 DELETE, 5 TRACE, 6 OPTIONS, 7 CONNECT, 8 others.
    pub method: u8,
    /// Two bits of version (0 HTTP/0.9, 1 HTTP/1.0, 2 HTTP/1.1), six of a status by its place in a
    /// list. See [`Self::status_code`].
    pub status: u8,
    /// 0 HTML, 1 image, 2 audio, 3 video, 4 Java, 5 formatted, 6 dynamic, 7 text, 8 compressed, 9
    /// programs, 10 directory, 11 ICL, 12 others.
    pub kind: u8,
    /// Three bits of region, five of the server in it.
    pub server: u8,
}

/// The statuses in the order of their numbers; 37 is any other.
const STATUSES: [u16; 37] = [
    100, 101, 200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 304, 305, 400, 401, 402, 403,
    404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 500, 501, 502, 503, 504, 505,
];

pub(crate) fn read(from: &mut dyn BufRead, choices: &Choices) -> Result<Collector, Fault> {
    let mut collector = Collector::new(Resolution::Second, choices);
    let mut record = [0; RECORD_BYTES];
    let mut target = String::new();
    loop {
        match fill(from, &mut record)? {
            0 => return Ok(collector),
            RECORD_BYTES => {}
            // The file was cut off.
            _ => {
                collector.tally.unreadable += 1;
                return Ok(collector);
            }
        }
        let record = Record::from_bytes(&record);
        target.clear();
        write!(target, "/wc98/{}", record.object).expect("a string takes all");
        let status = record.status_code().unwrap_or(0);
        collector.take(&Entry {
            at_us: i64::from(record.at_s) * 1_000_000,
            client: record.client.into(),
            target: target.as_bytes(),
            way: Way::of(record.method_name().as_bytes(), status),
            bytes: record.known_bytes().filter(|_| record.method == 0 && status == 200),
        })?;
    }
}

impl Record {
    /// As it stands in a file.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let [.., method, status, kind, server] = *bytes;
        let (at_s, client, object, bytes) = (word(0), word(4), word(8), word(12));
        Self { at_s, client, object, bytes, method, status, kind, server }
    }

    /// As [`Self::from_bytes`] reads it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let words = [self.at_s, self.client, self.object, self.bytes];
        for (four, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *four = word.to_be_bytes();
        }
        bytes[16..].copy_from_slice(&[self.method, self.status, self.kind, self.server]);
        bytes
    }

    /// The size of the reply, where it is known.
    #[must_use]
    pub fn known_bytes(self) -> Option<u64> {
        (self.bytes != u32::MAX).then_some(self.bytes.into())
    }

    /// The status; `None`: one that the list has not.
    #[must_use]
    pub fn status_code(self) -> Option<u16> {
        STATUSES.get(usize::from(self.status & 0x3f)).copied()
    }

    /// The method's name; others have none.
    #[must_use]
    pub fn method_name(self) -> &'static str {
        const NAMES: [&str; 8] =
            ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT"];
        NAMES.get(usize::from(self.method)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::Gaps;
    use crate::source::Workload as _;
    use crate::trace::{Format, Tally};

    /// HTTP/1.0 and 200.
    const OK: u8 = 0x42;

    fn record(at_s: u32, client: u32, object: u32) -> Record {
        let at_s = 894_000_000 + at_s;
        Record { at_s, client, object, bytes: 500, method: 0, status: OK, kind: 1, server: 0x61 }
    }

    #[test]
    fn a_record_is_big_endian() {
        let bytes = [0x35, 0x49, 0x5c, 0x80, 0, 0, 1, 2, 0, 0, 0, 9, 0, 0, 1, 0, 0, OK, 1, 0x61];
        let expected = Record {
            at_s: 0x3549_5c80,
            client: 258,
            object: 9,
            bytes: 256,
            method: 0,
            status: OK,
            kind: 1,
            server: 0x61,
        };
        assert_eq!(Record::from_bytes(&bytes), expected);
        assert_eq!(expected.to_bytes(), bytes);
        assert_eq!((expected.status_code(), expected.method_name()), (Some(200), "GET"));
    }

    #[test]
    fn statuses_and_methods_have_their_numbers() {
        let rows = [(0, Some(100)), (13, Some(304)), (19, Some(404)), (36, Some(505)), (37, None)];
        for (number, expected) in rows {
            let of = Record { status: number | 0x80, ..record(0, 0, 0) };
            assert_eq!(of.status_code(), expected, "{number}");
        }
        for (number, expected) in [(1, "HEAD"), (7, "CONNECT"), (8, ""), (255, "")] {
            assert_eq!(Record { method: number, ..record(0, 0, 0) }.method_name(), expected);
        }
    }

    #[test]
    fn records_become_sessions() {
        let log = [
            record(0, 7, 1),
            record(2, 7, 2),
            Record { bytes: u32::MAX, ..record(2, 8, 3) },
            Record { status: 19, ..record(3, 8, 4) },
            Record { method: 2, ..record(3, 8, 4) },
            record(30, 7, 1),
        ];
        let mut bytes: Vec<u8> = log.into_iter().flat_map(Record::to_bytes).collect();
        bytes.extend([1, 2, 3]);
        let replay =
            crate::trace::read(Format::Wc98, bytes.as_slice(), &Choices::default()).unwrap();
        assert_eq!(
            replay.tally(),
            Tally { kept: 4, clients: 2, left_out: 2, unreadable: 1, ..Tally::default() }
        );
        let files = replay.files().iter().map(|(_, file)| (file.target.as_ref(), file.bytes));
        let expected = [("/wc98/1", Some(500)), ("/wc98/2", Some(500)), ("/wc98/3", None)];
        assert_eq!(files.collect::<Vec<_>>(), expected);
        let Some(Gaps::Times(times)) = replay.times() else { panic!("no times") };
        assert_eq!(times.iter().map(|at| at.as_millis()).collect::<Vec<_>>(), [0, 2500, 30_000]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in any::<[u8; RECORD_BYTES]>()) {
            prop_assert_eq!(Record::from_bytes(&bytes).to_bytes(), bytes);
        }
    }
}
