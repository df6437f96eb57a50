//! What is known of an answer that processes share, as words beside its block of bytes.

use std::num::NonZeroU16;

use h1::{Bounds, Coding, Codings, Status};
use measure::Instant;
use os::{Kind, Stat};

use crate::disk::Source;
use crate::names::CODINGS;

/// Words of a row.
pub(super) const WORDS: usize = 20;

/// One row. Everything named by places lies in the block: first the head and the content, where
/// they are kept, then the words of the representation, then the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) hash: u64,
    pub(super) root: u32,
    pub(super) block: u32,
    /// The client's codings that it answers; nothing: it answers whatever they are.
    pub(super) codings: Option<Codings>,
    /// When the disk was last asked.
    pub(super) checked: Instant,
    /// Who asks it now: the number of that process.
    pub(super) looker: Option<NonZeroU16>,
    /// Whether an unchanged source proves unchanged content.
    pub(super) settled: bool,
    pub(super) head: Option<Head>,
    pub(super) status: Status,
    pub(super) coding: Option<Coding>,
    pub(super) varies: bool,
    pub(super) modified: Option<u64>,
    pub(super) words: Bounds,
    pub(super) content: Content,
    pub(super) path: (u32, u32),
    /// What the answer was made of; nothing: a listing, which is never the same.
    pub(super) source: Option<Source>,
}

/// The head of a prebuilt reply: the first so many bytes of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) bytes: u32,
    /// The second that it names in `Date`.
    pub(super) second: u64,
}

/// Where the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Bytes { at: u32, end: u32 },
    File { length: u64 },
}

impl Row {
    /// As it stands in memory.
    pub(super) fn to_words(self) -> [u64; WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let (head_bytes, second) = self.head.map_or((0, 0), |head| (head.bytes, head.second));
        let (is_file, content) = match self.content {
            Content::Bytes { at, end } => (false, pair(at, end)),
            Content::File { length } => (true, length),
        };
        let mut source = [0; 8];
        let made = match self.source {
            None | Some(Source::Listing(_)) => NOTHING,
            Some(Source::Directory) => DIRECTORY,
            Some(Source::File { stat, candidate, .. }) => {
                let times = [stat.mtime_ns, stat.ctime_ns].map(halves);
                let [[m0, m1], [c0, c1]] = times;
                source = [stat.dev, stat.ino, stat.size, m0, m1, c0, c1, candidate.into()];
                FILE
            }
        };
        let flags = [
            (self.codings.is_some(), HAS_CODINGS),
            (self.settled, SETTLED),
            (self.head.is_some(), HAS_HEAD),
            (self.varies, VARIES),
            (is_file, IN_FILE),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum::<u64>();
        let coding = self.coding.map_or(0, |coding| 1 + coding as u64);
        let codings = self.codings.map_or(0, |codings| u64::from(codings.to_bits()));
        let kinds = flags
            | u64::from(made) << MADE_AT
            | codings << CODINGS_AT
            | coding << CODING_AT
            | u64::from(self.status.0) << STATUS_AT
            | u64::from(self.looker.map_or(0, NonZeroU16::get)) << LOOKER_AT;
        let [w0, w1, w2, w3, w4] = self.words;
        let known = [
            self.hash,
            pair(self.root, self.block),
            kinds,
            self.checked.ns,
            second,
            self.modified.map_or(0, |modified| modified.saturating_add(1)),
            pair(w0, w1),
            pair(w2, w3),
            pair(w4, head_bytes),
            content,
            pair(self.path.0, self.path.1),
        ];
        let mut words = [0; WORDS];
        words[..known.len()].copy_from_slice(&known);
        words[known.len()..known.len() + source.len()].copy_from_slice(&source);
        words
    }

    /// Nothing where no row can look so.
    pub(super) fn of(words: &[u64]) -> Option<Self> {
        let low = |at: usize| words[at] as u32;
        let high = |at: usize| (words[at] >> 32) as u32;
        let kinds = words[2];
        let byte = |at: u32| (kinds >> at) as u8;
        let is = |bit: u64| kinds & bit != 0;
        let coding = match byte(CODING_AT) {
            0 => None,
            n => Some(*CODINGS.iter().find(|coding| **coding as u8 + 1 == n)?),
        };
        let varies = is(VARIES);
        let source = match byte(MADE_AT) {
            NOTHING => None,
            DIRECTORY => Some(Source::Directory),
            FILE => {
                let stat = Stat {
                    dev: words[11],
                    ino: words[12],
                    size: words[13],
                    mtime_ns: whole([words[14], words[15]]),
                    ctime_ns: whole([words[16], words[17]]),
                    kind: Kind::File,
                };
                let candidate = u8::try_from(words[18]).ok()?;
                Some(Source::File { stat, coding, varies, candidate })
            }
            _ => return None,
        };
        let content = match is(IN_FILE) {
            true => Content::File { length: words[9] },
            false => Content::Bytes { at: low(9), end: high(9) },
        };
        Some(Self {
            hash: words[0],
            root: low(1),
            block: high(1),
            codings: is(HAS_CODINGS).then(|| Codings::from_bits(byte(CODINGS_AT))),
            checked: Instant { ns: words[3] },
            looker: NonZeroU16::new((kinds >> LOOKER_AT) as u16),
            settled: is(SETTLED),
            head: is(HAS_HEAD).then(|| Head { bytes: high(8), second: words[4] }),
            status: Status((kinds >> STATUS_AT) as u16),
            coding,
            varies,
            modified: words[5].checked_sub(1),
            words: [low(6), high(6), low(7), high(7), low(8)],
            content,
            path: (low(10), high(10)),
            source,
        })
    }

    /// Whether everything that it names lies within a block of so many bytes.
    pub(super) fn is_within(&self, bytes: usize) -> bool {
        let content = match self.content {
            Content::Bytes { at, end } => [at, end],
            Content::File { .. } => [0, 0],
        };
        let head = self.head.map_or(0, |head| head.bytes);
        self.words.is_sorted()
            && content.is_sorted()
            && self.path.0 <= self.path.1
            && [self.words[4], content[1], head, self.path.1]
                .iter()
                .all(|&end| end as usize <= bytes)
    }
}

const HAS_CODINGS: u64 = 1;
const SETTLED: u64 = 1 << 1;
const HAS_HEAD: u64 = 1 << 2;
const VARIES: u64 = 1 << 3;
const IN_FILE: u64 = 1 << 4;

const MADE_AT: u32 = 8;
const CODINGS_AT: u32 = 16;
const CODING_AT: u32 = 24;
const STATUS_AT: u32 = 32;
const LOOKER_AT: u32 = 48;

const NOTHING: u8 = 0;
const DIRECTORY: u8 = 1;
const FILE: u8 = 2;

const fn halves(time_ns: i128) -> [u64; 2] {
    [time_ns as u64, (time_ns >> 64) as u64]
}

const fn whole([low, high]: [u64; 2]) -> i128 {
    (high as i128) << 64 | low as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let stat = Stat {
            dev: 1,
            ino: 2,
            size: u64::MAX,
            mtime_ns: -5,
            ctime_ns: i128::MAX,
            kind: Kind::File,
        };
        let (coding, varies) = (Some(Coding::Gzip), true);
        let file = Source::File { stat, coding, varies, candidate: u8::MAX };
        let full = Row {
            hash: u64::MAX,
            root: 7,
            block: u32::MAX,
            codings: Some(Codings::parse([&b"br, gzip"[..]])),
            checked: Instant { ns: 9 },
            looker: NonZeroU16::new(u16::MAX),
            settled: true,
            head: Some(Head { bytes: 300, second: 1_700_000_000 }),
            status: Status::OK,
            coding,
            varies,
            modified: Some(0),
            words: [1, 2, 3, 4, 5],
            content: Content::Bytes { at: 300, end: 400 },
            path: (5, u32::MAX),
            source: Some(file),
        };
        let bare = Row {
            codings: None,
            looker: None,
            settled: false,
            head: None,
            status: Status::MOVED_PERMANENTLY,
            coding: None,
            varies: false,
            modified: None,
            content: Content::File { length: u64::MAX },
            source: Some(Source::Directory),
            ..full
        };
        vec![full, bare, Row { source: None, ..bare }]
    }

    #[test]
    fn a_row_is_what_it_was_written_as() {
        for row in rows() {
            assert_eq!(Row::of(&row.to_words()), Some(row));
        }
    }

    #[test]
    fn what_no_row_looks_like_is_none() {
        let good = rows()[0].to_words();
        for (at, change) in [(2, 3 << MADE_AT), (2, 9 << CODING_AT), (18, 1 << 40)] {
            let mut words = good;
            words[at] |= change;
            assert_eq!(Row::of(&words), None, "{at} with {change:#x}");
        }
    }

    #[test]
    fn what_a_row_names_lies_in_its_block() {
        let row = Row { path: (5, 20), ..rows()[0] };
        assert!(row.is_within(400) && !row.is_within(399));
        assert!(!Row { path: (5, 401), ..row }.is_within(400));
        assert!(!Row { words: [1, 2, 9, 4, 5], ..row }.is_within(400));
        assert!(!Row { content: Content::Bytes { at: 30, end: 20 }, ..row }.is_within(400));
    }
}
