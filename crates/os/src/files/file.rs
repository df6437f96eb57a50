use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{pread, read, retry_on_intr};

use super::stat::has_name;
use crate::Stat;
use crate::page_cache::PageCache;
use crate::sharing::{Descriptor, Lent};

/// An open regular file.
#[derive(Debug)]
pub struct File(Held);

#[derive(Debug)]
enum Held {
    /// Closed with this.
    Owned(Descriptor),
    /// That of a block, which stays open for as long as this is there.
    Lent(Arc<Lent>),
}

/// Bytes read at once while fetching: the kernel reads ahead by itself, and a helper's stack or the
/// allocator's small sizes hold it.
const FETCH_BYTES: usize = 64 << 10;

impl File {
    pub(crate) const fn new(fd: Descriptor) -> Self {
        Self(Held::Owned(fd))
    }

    /// Whether it is somebody else's: to drop it closes nothing.
    #[must_use]
    pub const fn is_lent(&self) -> bool {
        matches!(self.0, Held::Lent(_))
    }

    /// The file that was published with what is lent; `None`: there was none.
    #[must_use]
    pub fn lent(of: &Arc<Lent>) -> Option<Self> {
        of.descriptor().map(|_| Self(Held::Lent(Arc::clone(of))))
    }

    /// Its descriptor, to be published.
    ///
    /// # Errors
    /// It was lent, and is somebody else's: the file.
    pub fn into_descriptor(self) -> Result<Descriptor, Self> {
        match self.0 {
            Held::Owned(fd) => Ok(fd),
            lent @ Held::Lent(_) => Err(Self(lent)),
        }
    }

    /// Reads up to `buffer.len()` bytes from byte `at` on; 0 at and beyond the end of the file.
    ///
    /// # Errors
    /// The disk's, among others.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        Ok(retry_on_intr(|| pread(self, &mut *buffer, at))?)
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
            match retry_on_intr(|| pread(self, spare_capacity(&mut scratch), at))? {
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
        Stat::of(self.as_fd())
    }

    /// The same as the file system knows it without asking another machine.
    ///
    /// # Errors
    /// `WouldBlock`: the file system does not know all of it. The file system's.
    pub fn stat_cached(&self) -> io::Result<Stat> {
        Stat::cached(self.as_fd())
    }

    /// Whether a name leads to it: it has been neither removed nor replaced. Asks no other machine.
    #[must_use]
    pub fn has_name(&self) -> bool {
        has_name(self.as_fd())
    }
}

/// What was to be published, and was not.
impl From<Descriptor> for File {
    fn from(fd: Descriptor) -> Self {
        Self::new(fd)
    }
}

/// What is in a file, or as many of its first bytes.
///
/// # Errors
/// There is no such file, this process may not read it, or the disk's.
pub fn read_file(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let open = || retry_on_intr(|| openat(CWD, path, flags, Mode::empty()));
    let fd = Descriptor::by(open)?;
    let mut bytes = Vec::new();
    while bytes.len() < bytes_max {
        bytes.reserve(FETCH_BYTES.min(bytes_max - bytes.len()));
        if retry_on_intr(|| read(&fd, spare_capacity(&mut bytes)))? == 0 {
            break;
        }
    }
    bytes.truncate(bytes_max);
    Ok(bytes)
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Held::Owned(fd) => fd.as_fd(),
            Held::Lent(of) => of.descriptor().expect("a block with a file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_far_as_asked() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let all = vec![b'x'; 3 * FETCH_BYTES + 5];
        std::fs::write(&path, &all).unwrap();
        for bytes_max in [0, 1, FETCH_BYTES, FETCH_BYTES + 1, all.len(), usize::MAX] {
            let read = read_file(&path, bytes_max).unwrap();
            assert_eq!(read.len(), bytes_max.min(all.len()));
        }
        assert_eq!(read_file("/proc/self/comm".as_ref(), 3).unwrap().len(), 3);
        read_file(home.path(), 1).expect_err("a directory");
        read_file(&home.path().join("none"), 1).expect_err("there is none");
    }
}
