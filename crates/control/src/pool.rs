//! How many threads a stage has: one more while many wait for it, one less when it has waited.
//!
//! SEDA's thread-pool controller (Welsh01 section 4.2), with the constants of its program.

use measure::{Duration, Instant};

/// So often it looks at the queue.
pub const SAMPLE: Duration = Duration::from_secs(2);
/// With so many in it another thread comes.
const QUEUE: usize = 10;
/// A thread that has waited for so long goes, if it is not the last.
pub const IDLE: Duration = Duration::from_secs(1);

/// The controller of a stage.
#[derive(Debug, Clone)]
pub struct Pool {
    most: u32,
    looked: Instant,
}

impl Pool {
    /// Up to so many threads, from then on.
    #[must_use]
    pub const fn new(most: u32, now: Instant) -> Self {
        Self { most, looked: now }
    }

    /// Whether another thread is to come to so many, while so many wait.
    pub fn observe(&mut self, now: Instant, waiting: usize, threads: u32) -> bool {
        if now - self.looked < SAMPLE {
            return false;
        }
        self.looked = now;
        waiting >= QUEUE && threads < self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_comes_where_many_wait() {
        // When, in ms; how many wait; threads; whether another comes. At most four.
        let rows = [
            (1999, 100, 1, false),
            (2000, 9, 1, false),
            (3999, 100, 1, false),
            (4000, 10, 1, true),
            (5000, 10, 2, false),
            (6000, 10, 2, true),
            (8000, 10, 4, false),
            (10_000, 10, 3, true),
        ];
        let mut pool = Pool::new(4, Instant::ORIGIN);
        for row @ (ms, waiting, threads, expected) in rows {
            let comes = pool.observe(Instant::from_ms(ms), waiting, threads);
            assert_eq!(comes, expected, "{row:?}");
        }
    }
}
