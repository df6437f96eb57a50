//! The only place where a clock is read.

use measure::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock.
#[must_use]
pub fn monotonic() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant { ns: now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 }
}

/// Seconds since 1970, as of the last tick of the kernel (at most 10 ms ago).
#[must_use]
pub fn wall_seconds() -> u64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec.unsigned_abs()
}
