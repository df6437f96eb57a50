//! What is admitted of those who knock at each listening socket: words that all workers share, so
//! that one of them decides for all, and that the supervisor reads, and takes back what nobody
//! renews.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use control::admission::{ALL, Setting, Told};
use measure::{Duration, Instant};
use os::SharedWords;

/// The worker that has looked last looks again; after so long without one, whoever comes.
const LOOKER_FOR: Duration = Duration::from_millis(200);
/// What nobody has renewed for so long is lifted: a worker that has died or stands still would
/// otherwise go on turning clients away.
pub(crate) const RENEWED_WITHIN: Duration = Duration::from_secs(1);

/// Those of all listening sockets, a row for each.
pub struct Admissions {
    words: SharedWords,
}

#[derive(Clone, Copy)]
enum Word {
    /// Connections accepted by all workers: in a cache line of its own, because all write to it.
    Accepted = 0,
    /// When the queue was last looked at, nanoseconds; and by whom, counted from 1.
    Looked = LINE,
    Looker,
    /// Of [`ALL`], those who are not admitted.
    Refused,
    /// How often the supervisor has admitted all again.
    Lifted,
    /// What is believed: whether it is a flood, and how many there were; rates a second; a wait.
    Flood,
    Floods,
    Capacity,
    Offered,
    WaitNs,
}

/// Words of a cache line.
const LINE: isize = 8;
const ROW: usize = 3 * LINE as usize;
const _: () = assert!((Word::WaitNs as usize) < ROW);

/// Who looks at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Who has looked before.
    GoesOn,
    /// Another, who goes on from what is told.
    TakesOver,
}

/// What is told of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Admitted {
    /// Of those who knock, 1 is all.
    pub share: f64,
    /// What the controller believes.
    pub told: Told,
    /// Floods that have begun.
    pub floods: u64,
    /// How often all were admitted again because no worker decided any more.
    pub lifted: u64,
}

impl Admissions {
    /// Everybody is admitted.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn new(listeners: usize) -> io::Result<Self> {
        Ok(Self { words: SharedWords::new(listeners.max(1) * ROW)? })
    }

    /// So many more were accepted from the listening socket at that place.
    pub(crate) fn took(&self, place: usize, n: u32) {
        if n > 0 {
            self.word(place, Word::Accepted).fetch_add(n.into(), Relaxed);
        }
    }

    /// How many were.
    pub(crate) fn accepted(&self, place: usize) -> u64 {
        self.word(place, Word::Accepted).load(Relaxed)
    }

    /// Whether that worker is the one to look at the queue now, and whether it was before.
    pub(crate) fn claim(&self, place: usize, worker: usize, now: Instant) -> Option<Claim> {
        let (looked, looker) = (self.word(place, Word::Looked), self.word(place, Word::Looker));
        let (at, me) = (looked.load(Acquire), worker as u64 + 1);
        let is_free = now - Instant { ns: at } > LOOKER_FOR;
        let goes_on = looker.load(Acquire) == me;
        let claims = goes_on || is_free;
        if !claims || looked.compare_exchange(at, now.ns, AcqRel, Relaxed).is_err() {
            return None;
        }
        looker.store(me, Release);
        Some(if goes_on { Claim::GoesOn } else { Claim::TakesOver })
    }

    /// What that worker has decided, and why.
    pub(crate) fn decided(&self, place: usize, setting: Setting, told: &Told) {
        let wait_ns = u64::try_from(told.wait.as_nanos()).unwrap_or(u64::MAX);
        for (word, value) in [
            (Word::Refused, ALL.saturating_sub(setting.share).into()),
            (Word::Capacity, told.capacity as u64),
            (Word::Offered, told.offered as u64),
            (Word::WaitNs, wait_ns),
        ] {
            self.word(place, word).store(value, Relaxed);
        }
        // Last: whoever reads of a flood reads of its rates.
        let was_flood = self.word(place, Word::Flood).swap(told.is_flood.into(), AcqRel) > 0;
        if told.is_flood && !was_flood {
            self.word(place, Word::Floods).fetch_add(1, Relaxed);
        }
    }

    /// How often all were admitted again: who has decided before that begins anew.
    pub(crate) fn lifted(&self, place: usize) -> u64 {
        self.word(place, Word::Lifted).load(Acquire)
    }

    /// All are admitted again.
    pub(crate) fn lift(&self, place: usize) {
        self.word(place, Word::Refused).store(0, Relaxed);
        self.word(place, Word::Flood).store(0, Relaxed);
        self.word(place, Word::Lifted).fetch_add(1, Release);
    }

    /// Whether nobody renews what was decided in a flood.
    pub(crate) fn is_stale(&self, place: usize, now: Instant) -> bool {
        let looked = Instant { ns: self.word(place, Word::Looked).load(Acquire) };
        self.is_flood(place) && now - looked > RENEWED_WITHIN
    }

    /// Whether more come there than can be served soon.
    pub(crate) fn is_flood(&self, place: usize) -> bool {
        self.word(place, Word::Flood).load(Relaxed) > 0
    }

    /// What is told of the listening socket at that place.
    #[must_use]
    pub fn of(&self, place: usize) -> Admitted {
        let is_flood = self.word(place, Word::Flood).load(Acquire) > 0;
        let of = |word| self.word(place, word).load(Relaxed);
        Admitted {
            share: 1.0 - of(Word::Refused) as f64 / f64::from(ALL),
            told: Told {
                is_flood,
                capacity: of(Word::Capacity) as f64,
                offered: of(Word::Offered) as f64,
                wait: Duration::from_nanos(of(Word::WaitNs)),
            },
            floods: of(Word::Floods),
            lifted: of(Word::Lifted),
        }
    }

    fn word(&self, place: usize, word: Word) -> &AtomicU64 {
        &self.words[place * ROW + word as usize]
    }
}
