//! The scoreboard of the processes that have one connection each, as in Apache's prefork: a word
//! for each process, which all of them and the supervisor share. A process says what it does. When
//! none is free the supervisor evicts the connections that have waited for longest.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use measure::Instant;
use os::SharedWords;

/// A word for each worker, and behind them that of [`Scoreboard::press`].
pub(crate) struct Scoreboard {
    words: SharedWords,
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for a connection.
    Free,
    /// Serves one that does not wait, or may not be evicted.
    Serves,
    /// Has one that waits, and may be evicted from then on.
    Waits { evictable_at: Instant },
    /// Has one in a transfer, in which its peer has been too slow since then. It may be evicted if
    /// none that waits can be.
    Transfers { since: Instant },
    /// Lets go of its connection.
    Ends,
}

const FREE: u64 = 1;
const SERVES: u64 = 2;
/// The connection is to be closed, and has not been yet.
const EVICTED: u64 = 3;
/// Nanoseconds of the clock are more than these.
const WAITS: u64 = 4;
/// Set in the nanoseconds of a transfer, so that all of these come after all that wait.
const TRANSFERS: u64 = 1 << 63;

impl Scoreboard {
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new(workers: usize) -> io::Result<Self> {
        Ok(Self { words: SharedWords::new(workers.max(1) + 1)? })
    }

    /// Says what a worker does from now on. Returns whether its connection was evicted meanwhile: a
    /// request that was faster is its last.
    pub(crate) fn set(&self, worker: usize, state: State) -> bool {
        let word = &self.words[worker];
        let new = match state {
            State::Free => FREE,
            State::Serves | State::Ends => SERVES,
            State::Waits { evictable_at } => evictable_at.ns.max(WAITS),
            State::Transfers { since } => since.ns.max(WAITS) | TRANSFERS,
        };
        let known = word.load(Relaxed);
        let changes = || word.compare_exchange(known, new, AcqRel, Relaxed);
        if known != EVICTED && (known == new || changes().is_ok()) {
            return false;
        }
        // While it still waits, or ends, it will be free. A reply may take long: another connection
        // has to be evicted.
        if !matches!(state, State::Waits { .. } | State::Ends) {
            word.store(new, Release);
        }
        true
    }

    /// Whether the connection of a worker was evicted.
    pub(crate) fn is_evicted(&self, worker: usize) -> bool {
        self.words[worker].load(Acquire) == EVICTED
    }

    /// How many of the workers that are there are free, or will be, because their connections were
    /// evicted.
    pub(crate) fn free_soon(&self, is_there: impl Fn(usize) -> bool) -> usize {
        let is_free = |word: u64| word == FREE || word == EVICTED;
        self.all().filter(|&(n, word)| is_free(word) && is_there(n)).count()
    }

    /// Evicts up to `most` connections and wakes their workers: those that have waited for longest,
    /// and then the transfers that have been too slow for longest, `slow_since` at least. Returns
    /// how many.
    pub(crate) fn evict(
        &self,
        most: usize,
        (now, slow_since): (Instant, Instant),
        is_there: impl Fn(usize) -> bool,
        mut wake: impl FnMut(usize),
    ) -> usize {
        let may_go = |&(n, word): &(usize, u64)| {
            let until = if word & TRANSFERS == 0 { now } else { slow_since };
            word >= WAITS && word & !TRANSFERS <= until.ns && is_there(n)
        };
        let mut longest: Vec<_> = self.all().filter(may_go).collect();
        longest.sort_unstable_by_key(|&(n, word)| (word, n));
        let evicts = |&(n, word): &(usize, u64)| {
            self.words[n].compare_exchange(word, EVICTED, AcqRel, Relaxed).is_ok()
        };
        longest.into_iter().filter(evicts).take(most).map(|(n, _)| wake(n)).count()
    }

    /// Whether any connection may be evicted, now or later.
    pub(crate) fn has_evictable(&self, is_there: impl Fn(usize) -> bool) -> bool {
        self.all().any(|(n, word)| word >= WAITS && is_there(n))
    }

    /// Says whether a connection waits while no worker is free and none will be. Then a worker that
    /// is busy closes its connection after the reply.
    pub(crate) fn press(&self, is_wanted: bool) {
        self.pressed().store(is_wanted.into(), Release);
    }

    /// See [`Self::press`].
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed().load(Acquire) != 0
    }

    fn all(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.words.iter().take(self.words.len() - 1);
        words.map(|word| word.load(Acquire)).enumerate()
    }

    fn pressed(&self) -> &AtomicU64 {
        &self.words[self.words.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(ms: u64) -> State {
        State::Waits { evictable_at: Instant::from_ms(ms) }
    }

    /// The workers whose connections are evicted.
    fn evict(board: &Scoreboard, most: usize, ms: u64, dead: usize) -> Vec<usize> {
        let mut woken = Vec::new();
        let until = (Instant::from_ms(ms), Instant::from_ms(ms.saturating_sub(SLOW_MS)));
        let evicted = board.evict(most, until, |n| n != dead, |n| woken.push(n));
        assert_eq!(evicted, woken.len());
        woken
    }

    const NONE: usize = 99;
    /// For so long a transfer is to be too slow.
    const SLOW_MS: u64 = 100;

    #[test]
    fn connections_that_have_waited_for_longest_are_evicted() {
        let board = Scoreboard::new(5).unwrap();
        let states = [waits(30), waits(20), State::Serves, waits(20), State::Free];
        states.into_iter().enumerate().for_each(|(n, state)| assert!(!board.set(n, state)));
        assert_eq!(board.free_soon(|_| true), 1);
        assert!(evict(&board, 5, 19, NONE).is_empty(), "none has waited for long enough");
        assert_eq!(evict(&board, 1, 40, 1), [3], "the second worker has died");
        assert_eq!(evict(&board, 5, 25, NONE), [1]);
        assert_eq!((board.free_soon(|_| true), board.free_soon(|n| n != 4)), (3, 2));
        assert_eq!(evict(&board, 5, 40, NONE), [0]);
        assert!(evict(&board, 5, 40, NONE).is_empty(), "each once");
    }

    #[test]
    fn transfers_are_evicted_after_all_that_wait() {
        let board = Scoreboard::new(3).unwrap();
        let transfers = State::Transfers { since: Instant::from_ms(5) };
        let states = [transfers, waits(20), State::Serves];
        states.into_iter().enumerate().for_each(|(n, state)| assert!(!board.set(n, state)));
        assert!(evict(&board, 5, 19, NONE).is_empty(), "the first is not slow for long enough");
        assert_eq!(evict(&board, 1, 5 + SLOW_MS, NONE), [1]);
        assert_eq!(evict(&board, 5, 5 + SLOW_MS, NONE), [0]);
        assert!(board.set(0, transfers), "it went on before it heard of that");
        assert_eq!(evict(&board, 5, 5 + SLOW_MS, NONE), [0]);
    }

    #[test]
    fn eviction_is_told_until_the_worker_is_free() {
        let board = Scoreboard::new(1).unwrap();
        let all = |_| true;
        board.set(0, waits(1));
        assert_eq!(evict(&board, 1, 1, NONE), [0]);
        assert!(board.is_evicted(0) && board.set(0, waits(5)) && board.set(0, State::Ends));
        assert_eq!(board.free_soon(all), 1, "it is still on its way");
        assert!(board.set(0, State::Serves), "a request was faster");
        assert_eq!((board.free_soon(all), board.is_evicted(0)), (0, false));
        assert!(!board.set(0, State::Free));
        assert_eq!(board.free_soon(all), 1);
    }

    #[test]
    fn pressure_is_no_worker() {
        let board = Scoreboard::new(1).unwrap();
        board.press(true);
        assert!(board.is_pressed());
        assert_eq!(board.free_soon(|_| true), 0);
        assert!(evict(&board, 9, 9, NONE).is_empty());
        board.press(false);
        assert!(!board.is_pressed());
    }
}
