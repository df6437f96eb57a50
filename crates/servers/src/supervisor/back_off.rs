//! How long a worker that has died waits to be started again: not at all the first time, because
//! others wait to be served; then ever longer, because one that dies at once would otherwise keep
//! a processor busy with dying.

use measure::Duration;

/// The second time.
const FIRST: Duration = Duration::from_millis(100);
/// A worker that lived so long was well, and its death is again the first: five times as long as
/// any waits.
const HEALTHY: Duration = Duration::from_secs(10);

/// See the head of this file.
#[derive(Clone, Copy, Default)]
pub(super) struct BackOff {
    next: Duration,
}

impl BackOff {
    /// How long one waits that has lived for so long, at most `max`.
    pub(super) fn wait(&mut self, lived: Duration, max: Duration) -> Duration {
        if lived >= HEALTHY {
            self.next = Duration::ZERO;
        }
        let wait = self.next.min(max);
        self.next = (wait * 2).max(FIRST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_dies_again_and_again_waits_ever_longer_and_not_beyond_the_knob() {
        // How long each lived, and how long it then waits; in ms.
        let at_once = [(0, 0), (0, 100), (0, 200), (9_999, 400), (0, 800), (0, 1600), (0, 2000)];
        let rows: &[(u64, &[(u64, u64)])] = &[
            (2000, &at_once),
            (2000, &[(9_999, 0), (9_999, 100), (10_000, 0), (0, 100), (u64::MAX, 0), (0, 100)]),
            (250, &[(0, 0), (0, 100), (0, 200), (0, 250), (0, 250), (10_000, 0), (0, 100)]),
            (1, &[(0, 0), (0, 1), (0, 1), (10_000, 0), (0, 1)]),
        ];
        for (max, deaths) in rows {
            let mut back_off = BackOff::default();
            for (n, (lived, wait)) in deaths.iter().enumerate() {
                let [lived, expected, max] = [*lived, *wait, *max].map(Duration::from_millis);
                assert_eq!(back_off.wait(lived, max), expected, "death {n} of {deaths:?}");
            }
        }
    }

    #[test]
    fn no_wait_is_longer_than_the_knob() {
        let max = Duration::from_millis(2000);
        let mut back_off = BackOff::default();
        let waits = (0..1000).map(|_| back_off.wait(Duration::ZERO, max));
        assert_eq!(waits.max(), Some(max));
    }
}
