use core::ops::{Add, Sub};
use core::time::Duration;

/// A point on the machine's monotonic clock, in nanoseconds since an origin nobody knows.
///
/// `std::time::Instant` cannot be made by hand; a simulator and a test must be able to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Instant {
    /// Nanoseconds since the origin.
    pub ns: u64,
}

impl Instant {
    /// The origin: no instant lies before it.
    pub const ORIGIN: Self = Self { ns: 0 };

    /// `ms` milliseconds after the origin; for tests and simulations.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms * 1_000_000 }
    }

    /// The time from `earlier` to `self`, zero if `earlier` lies after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: a deadline that cannot be expressed is one that never comes.
    fn add(self, span: Duration) -> Self {
        let ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { ns: self.ns.saturating_add(ns) }
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates: nothing lies before the origin.
    fn sub(self, span: Duration) -> Self {
        let ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { ns: self.ns.saturating_sub(ns) }
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_runs_backwards() {
        let (early, late) = (Instant::from_ms(1), Instant::from_ms(5));
        assert_eq!(late - early, Duration::from_millis(4));
        assert_eq!(early - late, Duration::ZERO);
        assert_eq!((late + Duration::MAX).ns, u64::MAX);
        assert_eq!(late - Duration::from_millis(4), early);
        assert_eq!(late - Duration::MAX, Instant::ORIGIN);
    }
}
