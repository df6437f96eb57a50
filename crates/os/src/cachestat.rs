//! What the page cache holds, asked of the kernel and not guessed.

use std::os::fd::{AsRawFd, BorrowedFd};

const PAGE_BYTES: u64 = 4096;
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    at: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

pub(crate) fn is_resident(file: BorrowedFd<'_>, at: u64, end: u64) -> bool {
    if at >= end {
        return true;
    }
    let range = Range { at, length: end - at };
    let mut pages = Pages::default();
    // SAFETY: cachestat(2) reads a range and writes five counts; both live through the call and
    // have its layout.
    let told =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0) };
    let needed = end.div_ceil(PAGE_BYTES) - at / PAGE_BYTES;
    told == 0 && pages.cached >= needed
}
