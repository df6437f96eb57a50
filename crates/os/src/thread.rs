//! The calling thread.

use std::cell::Cell;

thread_local! {
    static ID: Cell<u32> = const { Cell::new(0) };
}

/// Its number in the kernel, as under `/proc/PID/task`.
#[must_use]
pub fn id() -> u32 {
    ID.with(|id| {
        if id.get() == 0 {
            id.set(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
        }
        id.get()
    })
}

/// Forgets the number: a forked child is another thread.
pub(crate) fn forget_id() {
    ID.with(|id| id.set(0));
}

/// Names it for `ps` and `/proc`; the kernel keeps 15 bytes.
pub fn set_name(name: &str) {
    let mut short = name.as_bytes()[..name.len().min(15)].to_vec();
    short.push(0);
    if let Ok(name) = std::ffi::CStr::from_bytes_with_nul(&short) {
        // A thread without its name works as well.
        let _ = rustix::thread::set_name(name);
    }
}
