//! The clocks. Both are read without entering the kernel (vdso(7)).

use measure::Instant;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC: for deadlines and durations.
#[must_use]
pub fn monotonic() -> Instant {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Instant { ns: tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec.cast_unsigned() }
}

/// CLOCK_REALTIME_COARSE: seconds since 1970 by the machine's calendar, at most one tick (10 ms)
/// late; for dates.
#[must_use]
pub fn wall_seconds() -> u64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec.max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let (earlier, later) = (monotonic(), monotonic());
        assert!(earlier <= later && earlier > Instant::ORIGIN);
        let year_2020 = 1_577_836_800;
        assert!(wall_seconds() > year_2020);
    }
}
