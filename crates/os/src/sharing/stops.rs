//! Places at which a process stands still until it is killed or told to go on (SIGSTOP): for tests
//! of what a death leaves behind. Only builds with debug assertions stop.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::processes::still::stand_still;

/// A place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stop {
    /// A descriptor is made, and not noted.
    Made,
    /// A descriptor's note is cleared, and it is open.
    Cleared,
    /// A descriptor is closed, and the call has not come back.
    Closed,
    /// The lock was let go, and nobody is woken.
    Unlocked,
    /// Woken for the lock, and has not got it.
    Woken,
    /// The lock is taken.
    Locked,
    /// A block has its bytes, and its descriptor is the process's.
    Copied,
    /// Its descriptor is the cache's, and nothing says which block has it.
    Given,
    /// A block is live, and the lock is held.
    Published,
    /// A block is pinned, and the lock is held.
    Lent,
    /// A block is in limbo, and in no queue.
    Retired,
    /// A block is free, its descriptor not yet the sweeper's.
    Swept,
}

/// A bit for each place that is yet to be come to.
static AHEAD: AtomicU32 = AtomicU32::new(0);

/// The calling process stops when it comes to this place next.
pub fn stop_at(stop: Stop) {
    AHEAD.fetch_or(1 << stop as u32, Relaxed);
}

pub(super) fn here(stop: Stop) {
    let bit = 1 << stop as u32;
    if cfg!(debug_assertions) && AHEAD.load(Relaxed) & bit != 0 {
        AHEAD.fetch_and(!bit, Relaxed);
        stand_still();
    }
}
