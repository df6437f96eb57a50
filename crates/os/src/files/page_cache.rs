//! Whether pages of a file are in memory: asked, not guessed.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// The page cache's part that belongs to one file.
pub(crate) struct PageCache<'f> {
    file: BorrowedFd<'f>,
}

/// Bytes between two probes. Pages come from the disk in runs: cachestat(2) finds the holes, and
/// one page of each run tells whether the run has arrived.
const PROBE_BYTES: u64 = 64 << 10;

impl<'f> PageCache<'f> {
    pub(crate) const fn of(file: BorrowedFd<'f>) -> Self {
        Self { file }
    }

    /// Whether all pages of bytes `at..end` are there, and the last one filled.
    ///
    /// cachestat(2) alone would not do: it counts a page from the moment it is asked for, while
    /// the disk has yet to fill it, so that a second reader of a file that is just being fetched
    /// would wait with the first. Nor would the last page alone: it says nothing of holes.
    pub(crate) fn holds(&self, at: u64, end: u64) -> bool {
        at >= end
            || match self.has_all_pages(at, end) {
                Some(all) => all && self.has_byte(end - 1),
                None => self.is_filled(at, end),
            }
    }

    /// Whether all pages of bytes `at..end` are there, and one of each run filled.
    pub(crate) fn holds_throughout(&self, at: u64, end: u64) -> bool {
        at >= end || (self.has_all_pages(at, end).unwrap_or(true) && self.is_filled(at, end))
    }

    /// Nothing: the kernel does not tell.
    fn has_all_pages(&self, at: u64, end: u64) -> Option<bool> {
        let page = rustix::param::page_size() as u64;
        match counts(self.file, &Range { at, bytes: end - at }) {
            Ok(counts) => Some(counts.cached == (end - 1) / page - at / page + 1),
            Err(error) if is_untold(&error) => None,
            Err(_) => Some(false),
        }
    }

    fn is_filled(&self, at: u64, end: u64) -> bool {
        (at..end).step_by(PROBE_BYTES as usize).all(|at| self.has_byte(at))
            && self.has_byte(end - 1)
    }

    /// Whether a byte can be read without waiting.
    fn has_byte(&self, at: u64) -> bool {
        let mut byte = [0];
        loop {
            let mut slices = [IoSliceMut::new(&mut byte)];
            match preadv2(self.file, &mut slices, at, ReadWriteFlags::NOWAIT) {
                Ok(n) => return n == 1,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

/// How many bytes of a file's pages are in the page cache, or on their way there.
///
/// # Errors
/// `Unsupported`: the kernel is older than Linux 6.5. `PermissionDenied`: the file is somebody
/// else's (since Linux 6.14).
pub fn cached_bytes(file: &std::fs::File) -> io::Result<u64> {
    let whole = Range { at: 0, bytes: 0 };
    Ok(counts(file.as_fd(), &whole)?.cached * rustix::param::page_size() as u64)
}

/// Drops a file's pages from the page cache, after what was written has gone to the disk. Pages
/// that somebody has mapped or is using stay.
///
/// # Errors
/// The disk's.
pub fn drop_pages(file: &std::fs::File) -> io::Result<()> {
    file.sync_all()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// cachestat(2), Linux 6.5.
fn counts(file: BorrowedFd<'_>, range: &Range) -> io::Result<Counts> {
    let mut counts = Counts::default();
    // SAFETY: both structures have the kernel's layout, live during the call, and only the second
    // is written to.
    let done = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            std::ptr::from_ref(range),
            std::ptr::from_mut(&mut counts),
            0,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(counts) }
}

/// A kernel without cachestat, a sandbox, or a file that this process neither owns nor may write to
/// (EPERM since Linux 6.14): the probes have to do.
fn is_untold(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP))
}

/// The same number on every architecture that Rust's standard library knows (linux/unistd.h).
pub(crate) const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of linux/mman.h; no bytes: all there are.
#[repr(C)]
struct Range {
    at: u64,
    bytes: u64,
}

/// `struct cachestat` of linux/mman.h: numbers of pages.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}
