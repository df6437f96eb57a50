//! Which hints are written to the error log, over all processes of a server: clients choose the
//! paths that hints are about.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use measure::Instant;
use os::SharedWords;
use site::Hint;

/// Hints that are remembered.
const HINTS_MAX: usize = 256;
/// A hint is written once in so many seconds.
const HINT_EVERY_S: u32 = 60;
/// Hints that are written in a second at most.
const HINTS_PER_S_MAX: u32 = 10;

/// Behind the remembered hints: the current second with the hints written in it, and how many were
/// left out since the last line.
const WINDOW: usize = HINTS_MAX;
const LEFT_OUT: usize = HINTS_MAX + 1;
const COUNT: usize = HINTS_MAX + 2;

/// A word for each remembered hint: its hash, and the second in which it was written, counted from
/// 1. A new hint takes the place of the oldest one.
pub(super) struct HintQuota {
    words: SharedWords,
}

impl HintQuota {
    /// # Errors
    /// The machine has no memory to share.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { words: SharedWords::new(COUNT)? })
    }

    /// If the hint may be written now, how many were left out since the last one that was. A hint
    /// that was written of late is not left out: its line is there.
    pub(super) fn take(&self, hint: &Hint, now: Instant) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        hint.hash(&mut hasher);
        let (hash, _) = parts(hasher.finish());
        let second = (now.ns / 1_000_000_000) as u32 + 1;
        let mut has_room = false;
        // Each round but the last is lost to another process, which has written a hint.
        for _ in 0..HINTS_MAX {
            let (place, known) = self.place_for(hash);
            let (known_hash, known_second) = parts(known);
            let is_written = known_hash == hash && known_second > 0;
            if is_written && second.saturating_sub(known_second) < HINT_EVERY_S {
                return None;
            }
            has_room = has_room || self.has_room_in(second);
            if !has_room {
                break;
            }
            let new = word(hash, second);
            if place.compare_exchange(known, new, Relaxed, Relaxed).is_ok() {
                return Some(self.words[LEFT_OUT].swap(0, Relaxed));
            }
        }
        self.words[LEFT_OUT].fetch_add(1, Relaxed);
        None
    }

    /// The place of a hint, or that of the oldest one if it has none; and what is there.
    fn place_for(&self, hash: u32) -> (&AtomicU64, u64) {
        let known = self.words[..HINTS_MAX].iter().map(|place| (place, place.load(Relaxed)));
        let order = |&(_, word): &(&AtomicU64, u64)| {
            let (known_hash, second) = parts(word);
            (known_hash != hash || second == 0, second)
        };
        known.min_by_key(order).expect("there are some")
    }

    /// Whether one more may be written in this second; if so, it is counted. The clock of another
    /// process may be ahead.
    fn has_room_in(&self, second: u32) -> bool {
        let counted = |known: u64| match parts(known) {
            (in_second, _) if in_second < second => Some(word(second, 1)),
            (_, HINTS_PER_S_MAX..) => None,
            (in_second, count) => Some(word(in_second, count + 1)),
        };
        self.words[WINDOW].fetch_update(Relaxed, Relaxed, counted).is_ok()
    }
}

fn word(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_is_written_once_a_minute_and_ten_a_second() {
        let quota = HintQuota::new().unwrap();
        let take =
            |n: u64, ms| quota.take(&Hint::NoIndex(n.to_string().into()), Instant::from_ms(ms));
        let most = u64::from(HINTS_PER_S_MAX);
        assert!((0..most).all(|n| take(n, n) == Some(0)));
        assert_eq!([take(most, 500), take(most + 1, 999)], [None; 2], "left out");
        assert_eq!(take(0, 1000), None, "its line is there");
        assert_eq!(take(most, 1000), Some(2));
        assert_eq!(take(0, 59_999), None);
        assert_eq!(take(0, 60_000), Some(0), "a minute later");
        // One more than are remembered: the oldest is forgotten.
        let begun_ms = 1_000_000;
        let all = HINTS_MAX as u64 + 1;
        assert!((0..all).all(|n| take(n, begun_ms + n * 100) == Some(0)));
        assert_eq!(take(10, begun_ms + all * 100), None);
        assert_eq!(take(0, begun_ms + all * 100), Some(0));
    }
}
