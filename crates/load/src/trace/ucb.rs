//! The records of UC Berkeley's Home IP service: 18 days of November 1996, 9,244,728 requests of
//! 8,377 clients to all the web (Gribble and Brewer 1997; ita.ee.lbl.gov/html/contrib/
//! UCB.home-IP-HTTP.html).
//!
//! Each has 60 bytes, big-endian, and the request line after them. The layout is that of
//! `logparse.h` of the archive's tools; all bits set mean that a value is not known. Names in the
//! request lines are numbers instead, so they are put beneath the address of the server they were
//! on. Nothing says how a request was answered: one that brought no content is taken for a copy
//! that was current if the client said that it had one, and for one that was given up if not.

use std::io::BufRead;
use std::net::Ipv4Addr;

use super::choices::Choices;
use super::collect::{Collector, Entry};
use super::fault::Fault;
use super::input::fill;
use super::order::Resolution;
use super::request::{Way, split};

/// Of a record without its request line.
pub const RECORD_BYTES: usize = 60;

/// One request; the request line follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When the client asked.
    pub asked: Stamp,
    /// When the first byte of the reply came.
    pub first_byte: Stamp,
    /// When the last one did.
    pub last_byte: Stamp,
    /// Who asked, under a name that was made for the archive.
    pub client: Ipv4Addr,
    /// Its port.
    pub client_port: u16,
    /// Who was asked, likewise.
    pub server: Ipv4Addr,
    /// Its port: 80.
    pub server_port: u16,
    /// Bits: 1 no-cache, 2 keep-alive, 4 cache-control, 8 if-modified-since, 16 unless.
    pub client_fields: u8,
    /// Bits: 1 no-cache, 2 cache-control, 4 expires, 8 last-modified.
    pub server_fields: u8,
    /// The field `If-Modified-Since`, in seconds since 1970.
    pub modified_since: Option<u32>,
    /// The field `Expires`.
    pub expires: Option<u32>,
    /// The field `Last-Modified`.
    pub last_modified: Option<u32>,
    /// Of the reply's head.
    pub head_bytes: Option<u32>,
    /// Of the reply's content.
    pub content_bytes: Option<u32>,
    /// Of the request line that follows.
    pub line_bytes: u16,
}

/// A time as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Since 1970; all bits set: not known.
    pub seconds: u32,
    /// Further microseconds.
    pub micros: u32,
}

pub(crate) fn read(from: &mut dyn BufRead, choices: &Choices) -> Result<Collector, Fault> {
    let mut collector = Collector::new(Resolution::Microsecond, choices);
    let mut fixed = [0; RECORD_BYTES];
    let mut line = Vec::new();
    for number in 1.. {
        let filled = fill(from, &mut fixed)?;
        let record = Record::from_bytes(&fixed);
        if filled == RECORD_BYTES {
            record.judge(number)?;
            line.resize(record.line_bytes.into(), 0);
        }
        // Behind the last record, or within one where the file was cut off.
        if filled < RECORD_BYTES || fill(from, &mut line)? < line.len() {
            collector.tally.unreadable += u64::from(filled > 0);
            break;
        }
        take(&mut collector, &record, &line)?;
    }
    Ok(collector)
}

fn take(collector: &mut Collector, record: &Record, line: &[u8]) -> Result<(), Fault> {
    let (Some(at_us), Some((method, name))) = (record.asked.us(), split(line)) else {
        collector.tally.unreadable += 1;
        return Ok(());
    };
    let slash = if name.starts_with(b"/") { "" } else { "/" };
    let folder = format!("/{}{slash}", record.server);
    let target = [folder.as_bytes(), name].concat();
    let bytes = record.content_bytes.filter(|bytes| *bytes > 0);
    let status = match (bytes, record.modified_since) {
        (Some(_), _) => 200,
        (None, Some(_)) => 304,
        (None, None) => 0,
    };
    collector.take(&Entry {
        at_us,
        client: u32::from(record.client).into(),
        target: &target,
        way: Way::of(method, status),
        bytes: bytes.map(u64::from).filter(|_| method == b"GET"),
    })
}

impl Record {
    /// As it stands in a file.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let stamp = |at: usize| Stamp { seconds: word(at), micros: word(at + 4) };
        let known = |at: usize| Some(word(at)).filter(|value| *value != UNKNOWN);
        Self {
            asked: stamp(0),
            first_byte: stamp(8),
            last_byte: stamp(16),
            client: word(24).into(),
            client_port: half(28),
            server: word(30).into(),
            server_port: half(34),
            client_fields: bytes[36],
            server_fields: bytes[37],
            modified_since: known(38),
            expires: known(42),
            last_modified: known(46),
            head_bytes: known(50),
            content_bytes: known(54),
            line_bytes: half(58),
        }
    }

    /// As [`Self::from_bytes`] reads it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        for (at, stamp) in [(0, self.asked), (8, self.first_byte), (16, self.last_byte)] {
            put(at, &stamp.seconds.to_be_bytes());
            put(at + 4, &stamp.micros.to_be_bytes());
        }
        put(24, &self.client.octets());
        put(28, &self.client_port.to_be_bytes());
        put(30, &self.server.octets());
        put(34, &self.server_port.to_be_bytes());
        put(36, &[self.client_fields, self.server_fields]);
        let dates = [(38, self.modified_since), (42, self.expires), (46, self.last_modified)];
        let lengths = [(50, self.head_bytes), (54, self.content_bytes)];
        for (at, value) in dates.into_iter().chain(lengths) {
            put(at, &value.unwrap_or(UNKNOWN).to_be_bytes());
        }
        put(58, &self.line_bytes.to_be_bytes());
        bytes
    }

    /// Nothing marks where a record begins, so that after one wrong length all is noise: it is
    /// better refused where it can be seen.
    fn judge(&self, number: u64) -> Result<(), Fault> {
        let is_one = [self.asked, self.first_byte, self.last_byte].iter().all(Stamp::is_one);
        if is_one {
            return Ok(());
        }
        let what = "no record of UC Berkeley's has a million microseconds: the file is another, or \
                    damaged before this record";
        Err(Fault::Line { number, what: what.to_owned() })
    }
}

impl Stamp {
    fn us(&self) -> Option<i64> {
        let is_known = self.seconds != UNKNOWN && self.micros != UNKNOWN;
        is_known.then(|| i64::from(self.seconds) * 1_000_000 + i64::from(self.micros))
    }

    const fn is_one(&self) -> bool {
        self.micros < 1_000_000 || self.micros == UNKNOWN
    }
}

/// What stands for a value that nobody knew.
const UNKNOWN: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::Gaps;
    use crate::source::Workload as _;
    use crate::trace::{Format, Tally};

    const LINE: &str = "GET 9168504434183313441..gif HTTP/1.0";

    /// The one that the archive shows as the example of its tool `showtrace`.
    fn example() -> Record {
        Record {
            asked: Stamp { seconds: 848_278_028, micros: 829_593 },
            first_byte: Stamp { seconds: 848_278_028, micros: 893_670 },
            last_byte: Stamp { seconds: 848_278_028, micros: 895_350 },
            client: Ipv4Addr::new(23, 240, 8, 98),
            client_port: 1462,
            server: Ipv4Addr::new(207, 36, 205, 194),
            server_port: 80,
            client_fields: 2,
            server_fields: 8,
            modified_since: None,
            expires: None,
            last_modified: Some(835_418_853),
            head_bytes: Some(170),
            content_bytes: Some(844),
            line_bytes: LINE.len() as u16,
        }
    }

    fn log(records: &[(Record, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (record, line) in records {
            let record = Record { line_bytes: line.len() as u16, ..*record };
            bytes.extend(record.to_bytes());
            bytes.extend(line.as_bytes());
        }
        bytes
    }

    #[test]
    fn records_become_sessions() {
        let later = |seconds: u32| {
            let asked = Stamp { seconds: 848_278_028 + seconds, micros: 0 };
            Record { asked, ..example() }
        };
        let copy = Record { modified_since: Some(1), content_bytes: Some(0), ..later(3) };
        let given_up = Record { content_bytes: None, ..later(4) };
        let unknown = Stamp { seconds: UNKNOWN, micros: UNKNOWN };
        let mut bytes = log(&[
            // Logged when it was over, after one that came later.
            (later(2), "GET /a HTTP/1.0"),
            (example(), LINE),
            (copy, LINE),
            (given_up, LINE),
            (Record { asked: unknown, ..example() }, LINE),
            (later(5), "nonsense"),
        ]);
        bytes.extend(&example().to_bytes()[..59]);
        let replay =
            crate::trace::read(Format::Ucb, bytes.as_slice(), &Choices::default()).unwrap();
        assert_eq!(
            replay.tally(),
            Tally { kept: 3, clients: 1, left_out: 1, unreadable: 3, ..Tally::default() }
        );
        let files = replay.files().iter().map(|(_, file)| (file.target.as_ref(), file.bytes));
        let expected = [
            ("/207.36.205.194/a", Some(844)),
            ("/207.36.205.194/9168504434183313441..gif", Some(844)),
        ];
        assert_eq!(files.collect::<Vec<_>>(), expected);
        let Some(Gaps::Times(times)) = replay.times() else { panic!("no times") };
        assert_eq!(times, [measure::Duration::ZERO]);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let asked = Stamp { seconds: 1, micros: 1_000_000 };
        let bytes = log(&[(example(), LINE), (Record { asked, ..example() }, LINE)]);
        let fault =
            crate::trace::read(Format::Ucb, bytes.as_slice(), &Choices::default()).unwrap_err();
        assert!(fault.to_string().starts_with("line or record 2: no record"), "{fault}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), RECORD_BYTES)) {
            let bytes: [u8; RECORD_BYTES] = bytes.try_into().expect("so many");
            prop_assert_eq!(Record::from_bytes(&bytes).to_bytes(), bytes);
        }
    }
}
