//! What processes wait for each other with. A test that explores every order of them has its own
//! in this place.

use std::sync::atomic::AtomicU32;
pub(super) use std::sync::atomic::Ordering;

use super::stops::{self, Stop};

/// A word in memory that processes share, at which they can sleep (futex(2)). The kernel knows it
/// by where it lies in that memory, and not by its address in one of them.
#[derive(Default)]
#[repr(transparent)]
pub(super) struct Futex(AtomicU32);

impl Futex {
    pub(super) fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    pub(super) fn swap(&self, new: u32, order: Ordering) -> u32 {
        self.0.swap(new, order)
    }

    pub(super) fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.0.compare_exchange(current, new, success, failure)
    }

    /// Sleeps if the word is `expected`, until it is woken or a signal comes.
    pub(super) fn wait(&self, expected: u32) {
        let for_ever = std::ptr::null::<libc::timespec>();
        // SAFETY: the kernel reads the word, which outlives the call. That it has changed, or that
        // a signal came, is seen by who looks at it again.
        unsafe {
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAIT, expected, for_ever);
        }
        stops::here(Stop::Woken);
    }

    /// Wakes at most so many who sleep.
    pub(super) fn wake(&self, most: i32) {
        stops::here(Stop::Unlocked);
        // SAFETY: the kernel takes the address for a name, and touches nothing.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, most) };
    }
}
