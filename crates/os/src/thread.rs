//! The calling thread.

use std::cell::Cell;
use std::num::NonZeroU64;

use rustix::thread::{gettid, sched_getaffinity};

thread_local! {
    static ID: Cell<u32> = const { Cell::new(0) };
}

/// The kernel's number of the calling thread; asked once.
#[must_use]
pub fn id() -> u32 {
    ID.with(|id| {
        if id.get() == 0 {
            id.set(gettid().as_raw_nonzero().get().cast_unsigned());
        }
        id.get()
    })
}

/// In a child: its only thread has the memory of the parent's, but another number.
pub(crate) fn forget_id() {
    ID.with(|id| id.set(0));
}

/// Names the calling thread, and the process if it is its first, for ps(1) and top(1). The kernel
/// keeps 15 bytes.
pub fn set_name(name: &str) {
    let bytes = name.bytes().take_while(|&b| b != 0).take(NAME_BYTES_MAX).collect::<Vec<u8>>();
    if let Ok(name) = std::ffi::CString::new(bytes) {
        // Refused only for memory that cannot be read.
        let _ = rustix::thread::set_name(&name);
    }
}

const NAME_BYTES_MAX: usize = 15;

/// Lets the calling thread's waits end when they are to: by default the kernel adds up to 50 µs, so
/// that several may end together (PR_SET_TIMERSLACK).
pub fn wake_exactly() {
    // Refused for no number.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// How many processors the calling thread may run on; at least 1.
#[must_use]
pub fn cpu_affinity_count() -> usize {
    // Refused on machines with more than 1,024 processors.
    let count = sched_getaffinity(None).map_or(1024, |cpus| cpus.count());
    count.max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_and_names() {
        let here = id();
        assert_eq!(here, id());
        let there = std::thread::spawn(|| {
            for (name, kept) in [("short", "short"), ("longer than fifteen", "longer than fif")] {
                set_name(name);
                assert_eq!(rustix::thread::name().unwrap().to_str(), Ok(kept));
            }
            id()
        });
        assert_ne!(here, there.join().unwrap());
        assert!(cpu_affinity_count() >= 1);
    }
}
