//! What is admitted of those who knock at each listening socket: words that all workers share, so
//! that one of them decides for all, and that the supervisor reads, and takes back what nobody
//! renews.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use control::admission::{ALL, Setting, Share, Told};
use measure::{Duration, Instant};
use os::SharedWords;

use crate::shared::architecture::LOOPS_MAX;

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
    /// When the queue was last looked at, nanoseconds, whose last bits say by whom, counted from 1:
    /// in two words the one who looked before could not be told from who has just taken over.
    Looked = LINE,
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
    /// The salt of the SYN filter, drawn once: all workers refuse the same clients.
    Salt,
}

/// More than there are workers with their loops; of the time so much is not told.
const LOOKER_MASK: u64 = (1 << 11) - 1;
/// Words of a cache line.
const LINE: isize = 8;
const ROW: usize = 3 * LINE as usize;
const _: () = assert!((LOOPS_MAX as u64) < LOOKER_MASK);
const _: () = assert!((Word::Salt as usize) < ROW);

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
        let admissions = Self { words: SharedWords::new(listeners.max(1) * ROW)? };
        let random = RandomState::new();
        for place in 0..listeners {
            admissions.word(place, Word::Salt).store(random.hash_one(place), Relaxed);
        }
        Ok(admissions)
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

    /// Whether that worker is the one to look at the queue now, and whether it was before. It takes
    /// over only where somebody `comes` to it: idle workers that look by the clock would take over
    /// from each other for ever, and none would see enough to conclude anything.
    pub(crate) fn claim(
        &self,
        place: usize,
        worker: usize,
        now: Instant,
        comes: bool,
    ) -> Option<Claim> {
        let (looked, me) = (self.word(place, Word::Looked), worker as u64 + 1);
        let before = looked.load(Acquire);
        let is_free = comes && now - looked_at(before) > LOOKER_FOR;
        let goes_on = before & LOOKER_MASK == me;
        let claims = goes_on || is_free;
        let after = now.ns & !LOOKER_MASK | me;
        if !claims || looked.compare_exchange(before, after, AcqRel, Relaxed).is_err() {
            return None;
        }
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
        self.end_flood(place);
    }

    /// It is no flood any more, and who decides begins anew; as many are refused as before.
    pub(crate) fn end_flood(&self, place: usize) {
        self.word(place, Word::Flood).store(0, Relaxed);
        self.word(place, Word::Lifted).fetch_add(1, Release);
    }

    /// Whether nobody renews what was decided in a flood.
    pub(crate) fn is_stale(&self, place: usize, now: Instant) -> bool {
        let looked = looked_at(self.word(place, Word::Looked).load(Acquire));
        self.is_flood(place) && now - looked > RENEWED_WITHIN
    }

    /// Whether more come there than can be served soon.
    pub(crate) fn is_flood(&self, place: usize) -> bool {
        self.word(place, Word::Flood).load(Relaxed) > 0
    }

    /// Of those who knock there, how many are admitted.
    pub(crate) fn share(&self, place: usize) -> Share {
        ALL.saturating_sub(self.word(place, Word::Refused).load(Relaxed) as Share)
    }

    /// The salt of the SYN filter of the listening socket at that place.
    pub(crate) fn salt(&self, place: usize) -> u32 {
        self.word(place, Word::Salt).load(Relaxed) as u32
    }

    /// What is told of the listening socket at that place.
    #[must_use]
    pub fn of(&self, place: usize) -> Admitted {
        let is_flood = self.word(place, Word::Flood).load(Acquire) > 0;
        let of = |word| self.word(place, word).load(Relaxed);
        Admitted {
            share: f64::from(self.share(place)) / f64::from(ALL),
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

/// Of [`Word::Looked`].
const fn looked_at(word: u64) -> Instant {
    Instant { ns: word & !LOOKER_MASK }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const PLACES: usize = 3;
    const PLACE: usize = 1;
    const HALF: Setting = Setting { backlog: 64, share: ALL / 2 };

    fn told(is_flood: bool) -> Told {
        let wait = Duration::from_millis(30);
        Told { is_flood, capacity: 400.0, offered: 800.0, wait }
    }

    fn admissions() -> Admissions {
        Admissions::new(PLACES).expect("memory")
    }

    #[test]
    fn one_looks_until_it_stops() {
        const ON: Option<Claim> = Some(Claim::GoesOn);
        const OVER: Option<Claim> = Some(Claim::TakesOver);
        // When, in ms; which worker; what it gets.
        type Look = (u64, usize, Option<Claim>);
        let rows: &[(&str, &[Look])] = &[
            ("it goes on, however soon", &[(1000, 0, OVER), (1000, 0, ON), (1002, 0, ON)]),
            ("it goes on, however late", &[(1000, 0, OVER), (9000, 0, ON)]),
            ("nobody else meanwhile", &[(1000, 0, OVER), (1000, 1, None), (1199, 1, None)]),
            ("from then on", &[(1000, 0, OVER), (1201, 1, OVER), (1202, 1, ON), (1203, 0, None)]),
            ("renewed", &[(1000, 0, OVER), (1150, 0, ON), (1201, 1, None), (1351, 1, OVER)]),
            ("it comes back as another", &[(1000, 0, OVER), (1201, 1, OVER), (1402, 0, OVER)]),
            ("two at the same moment", &[(1000, 0, OVER), (1300, 2, OVER), (1300, 1, None)]),
            ("one that is behind", &[(1000, 0, OVER), (999, 1, None)]),
        ];
        for (what, looks) in rows {
            let admissions = admissions();
            for (at, worker, expected) in *looks {
                let claim = admissions.claim(PLACE, *worker, Instant::from_ms(*at), true);
                assert_eq!(claim, *expected, "{what}: worker {worker} at {at}");
            }
        }
    }

    #[test]
    fn who_has_looked_goes_on_and_the_idle_do_not_take_over() {
        let admissions = admissions();
        let claim =
            |at, worker, comes| admissions.claim(PLACE, worker, Instant::from_ms(at), comes);
        assert_eq!(claim(1000, 0, true), Some(Claim::TakesOver));
        // Each looks once a second, half a second apart.
        for second in 1..5 {
            assert_eq!(claim(1000 * second + 500, 1, false), None);
            assert_eq!(claim(1000 * second + 1000, 0, false), Some(Claim::GoesOn));
        }
        assert_eq!(claim(5500, 1, true), Some(Claim::TakesOver));
    }

    /// Whoever they are; among them is the one that has looked before.
    #[test]
    fn of_many_at_the_same_moment_one_looks() {
        const WORKERS: usize = 2;
        const ROUNDS: u64 = 20_000;
        let (admissions, come) = (admissions(), AtomicUsize::new(0));
        let look = |worker| {
            let claims = |round| {
                // No lock: whoever is woken by another comes after it.
                come.fetch_add(1, AcqRel);
                while come.load(Acquire) < WORKERS * round as usize {
                    thread::yield_now();
                }
                admissions.claim(PLACE, worker, Instant::from_ms(1000 * round), true).is_some()
            };
            (1..=ROUNDS).map(claims).collect::<Vec<_>>()
        };
        let claims: Vec<Vec<bool>> = thread::scope(|scope| {
            let look = &look;
            let all: Vec<_> = (0..WORKERS).map(|n| scope.spawn(move || look(n))).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        for round in 0..ROUNDS as usize {
            let looked = claims.iter().filter(|of| of[round]).count();
            assert_eq!(looked, 1, "in round {round}");
        }
    }

    #[test]
    fn what_is_decided_in_a_flood_and_not_renewed_is_stale() {
        // Whether it is a flood; when it was decided and is looked at, in ms; whether it is stale.
        let rows = [
            (false, 1000, 1000, false),
            (false, 1000, 9000, false),
            (true, 1000, 1000, false),
            (true, 1000, 1999, false),
            (true, 1000, 2001, true),
            (true, 1000, 999, false),
        ];
        for row @ (is_flood, decided, now, expected) in rows {
            let admissions = admissions();
            admissions.claim(PLACE, 0, Instant::from_ms(decided), true).expect("the first");
            admissions.decided(PLACE, HALF, &told(is_flood));
            let is_stale = |place| admissions.is_stale(place, Instant::from_ms(now));
            let stale: Vec<bool> = (0..PLACES).map(is_stale).collect();
            assert_eq!(stale, [false, expected, false], "{row:?}");
        }
    }

    #[test]
    fn what_is_lifted_is_so_until_somebody_decides() {
        let admissions = admissions();
        let now = Instant::from_ms(1000);
        let calm = admissions.of(PLACE);
        assert_eq!((calm.share, calm.floods, calm.lifted), (1.0, 0, 0));
        for n in 1..4 {
            admissions.claim(PLACE, 0, now, true).expect("it goes on");
            admissions.decided(PLACE, HALF, &told(true));
            // Once for each flood, however often it is renewed.
            admissions.decided(PLACE, HALF, &told(true));
            let decided = Admitted { share: 0.5, told: told(true), floods: n, lifted: n - 1 };
            assert_eq!(admissions.of(PLACE), decided);
            assert!(admissions.is_flood(PLACE));
            admissions.lift(PLACE);
            let lifted = Admitted { share: 1.0, told: told(false), lifted: n, ..decided };
            assert_eq!(admissions.of(PLACE), lifted);
            assert_eq!(admissions.lifted(PLACE), n);
            let stale = admissions.is_stale(PLACE, now + RENEWED_WITHIN * 2);
            assert!(!stale && !admissions.is_flood(PLACE), "lift {n}");
        }
        assert_eq!([0, 2].map(|place| admissions.of(place)), [calm, calm], "the others");
    }
}
