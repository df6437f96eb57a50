use h1::Field;
use measure::{Duration, Instant};

use crate::session::Asked;
use crate::shared::settings::LogFormat;

/// What logs tell of a request: its own words, to be escaped by whoever writes them down.
#[derive(Default)]
pub(crate) struct Words {
    /// All parts, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: [usize; PARTS],
    /// When its head was whole, where that is told.
    since: Option<Instant>,
}

const PARTS: usize = 4;
/// The parts behind the request line.
const FIELDS: [Field; PARTS - 1] = [Field::Referer, Field::UserAgent, Field::Host];

impl Words {
    /// Keeps what the format tells; without a format the request line.
    pub(crate) fn keep(&mut self, asked: &Asked<'_>, format: Option<LogFormat>) {
        let Some(line) = asked.line() else { return };
        let told = match format {
            None | Some(LogFormat::Common) => &FIELDS[..0],
            Some(LogFormat::Combined) => &FIELDS[..2],
            Some(LogFormat::Json) => &FIELDS[..],
        };
        self.bytes.extend_from_slice(line);
        self.ends = [line.len(); PARTS];
        for (n, &field) in told.iter().enumerate() {
            self.bytes.extend_from_slice(asked.field(field).unwrap_or_default());
            self.ends[n + 1..].fill(self.bytes.len());
        }
        self.since = (format == Some(LogFormat::Json)).then(os::clock::monotonic);
    }

    /// Its first line.
    pub(crate) fn line(&self) -> &[u8] {
        &self.bytes[..self.ends[0]]
    }

    pub(super) fn referer(&self) -> &[u8] {
        self.part(1)
    }

    pub(super) fn user_agent(&self) -> &[u8] {
        self.part(2)
    }

    pub(super) fn host(&self) -> &[u8] {
        self.part(3)
    }

    /// How long ago its head was whole, where that is told.
    pub(super) fn took(&self) -> Option<Duration> {
        self.since.map(|since| os::clock::monotonic() - since)
    }

    fn part(&self, n: usize) -> &[u8] {
        &self.bytes[self.ends[n - 1]..self.ends[n]]
    }

    /// As a request would have left it.
    #[cfg(test)]
    pub(super) fn of(parts: [&[u8]; PARTS]) -> Self {
        let mut asked = Self::default();
        for (part, end) in parts.iter().zip(&mut asked.ends) {
            asked.bytes.extend_from_slice(part);
            *end = asked.bytes.len();
        }
        asked
    }
}
