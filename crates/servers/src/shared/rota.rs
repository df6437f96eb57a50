//! What each of the processes does that have one connection each: words that all of them share, so
//! that the one that has waited for longest goes for a newcomer when none is free.

use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

use measure::Instant;
use os::SharedWords;

/// A word for each worker.
pub(crate) struct Rota {
    words: SharedWords,
}

/// What one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Waits for a connection.
    Free,
    /// Serves one that does not wait, or may not go.
    Serves,
    /// Has one that waits, and from then on may go for another.
    Waits { goes_at: Instant },
}

const FREE: u64 = 1;
const SERVES: u64 = 2;
/// Nanoseconds of the clock are more than these.
const WAITS: u64 = 3;

impl Rota {
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new(workers: usize) -> io::Result<Self> {
        Ok(Self { words: SharedWords::new(workers.max(1))? })
    }

    /// A worker says what it does from now on.
    pub(crate) fn says(&self, worker: usize, does: Does) {
        let says = match does {
            Does::Free => FREE,
            Does::Serves => SERVES,
            Does::Waits { goes_at } => goes_at.ns.max(WAITS),
        };
        self.words[worker].store(says, Release);
    }

    /// How many of those that are there are free.
    pub(crate) fn free(&self, is_there: impl Fn(usize) -> bool) -> usize {
        let all = self.words.iter().enumerate();
        all.filter(|(n, word)| word.load(Acquire) == FREE && is_there(*n)).count()
    }

    /// How many of those that are there have waited for longer than a worker that may go then.
    pub(crate) fn before(
        &self,
        worker: usize,
        goes_at: Instant,
        is_there: impl Fn(usize) -> bool,
    ) -> usize {
        let own = (goes_at.ns.max(WAITS), worker);
        let is_before = |(n, word): (usize, u64)| word >= WAITS && (word, n) < own && is_there(n);
        let all = self.words.iter().map(|word| word.load(Acquire)).enumerate();
        all.filter(|one| is_before(*one)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_waited_for_longest_is_the_first() {
        let rota = Rota::new(5).unwrap();
        let goes_at = |ms| Instant::from_ms(ms);
        let waits = |ms| Does::Waits { goes_at: goes_at(ms) };
        for (worker, does) in [(0, waits(30)), (1, waits(20)), (2, Does::Serves), (3, waits(20))] {
            rota.says(worker, does);
        }
        let before = |worker, ms| rota.before(worker, goes_at(ms), |_| true);
        assert_eq!([before(0, 30), before(1, 20), before(3, 20)], [2, 0, 1]);
        // The second has died.
        assert_eq!(rota.before(3, goes_at(20), |n| n != 1), 0);
        assert_eq!(rota.free(|_| true), 0, "nobody has said so");
        rota.says(3, Does::Free);
        assert_eq!((rota.free(|_| true), rota.free(|n| n != 3)), (1, 0));
        assert_eq!(before(0, 30), 1);
    }
}
