use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::{pread, retry_on_intr};

use crate::Stat;
use crate::page_cache::PageCache;

/// An open regular file.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
}

/// Bytes read at once while fetching: the kernel reads ahead by itself, and a helper's stack or the
/// allocator's small sizes hold it.
const FETCH_BYTES: usize = 64 << 10;

impl File {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Reads up to `buffer.len()` bytes from byte `at` on; 0 at and beyond the end of the file.
    ///
    /// # Errors
    /// The disk's, among others.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        Ok(retry_on_intr(|| pread(&self.fd, &mut *buffer, at))?)
    }

    /// Whether reading bytes `at..end` would not wait for the disk, as far as the kernel tells; a
    /// kernel or a file system that does not is taken for one that would wait. Two calls, where
    /// the kernel tells which pages there are. Pages that are only on their way are noticed at the
    /// end, which comes last when a file is read in order.
    #[must_use]
    pub fn is_resident(&self, at: u64, end: u64) -> bool {
        PageCache::of(self.as_fd()).holds(at, end)
    }

    /// The same, where somebody else is fetching that file just now and nothing is said of what
    /// comes last: one call more for every 64 KiB.
    #[must_use]
    pub fn is_resident_throughout(&self, at: u64, end: u64) -> bool {
        PageCache::of(self.as_fd()).holds_throughout(at, end)
    }

    /// Waits until bytes `at..end`, or as many as there are, have been read into the page cache.
    ///
    /// # Errors
    /// The disk's, among others.
    pub fn fetch(&self, mut at: u64, end: u64) -> io::Result<()> {
        let mut scratch = Vec::<u8>::with_capacity(FETCH_BYTES);
        while at < end {
            scratch.clear();
            match retry_on_intr(|| pread(&self.fd, spare_capacity(&mut scratch), at))? {
                0 => break,
                n => at += n as u64,
            }
        }
        Ok(())
    }

    /// What the file system says about it now.
    ///
    /// # Errors
    /// The file system's.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(self.fd.as_fd())
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
