use std::ffi::c_void;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Words that this process and those it forks later have in common, zero at first.
#[derive(Debug)]
pub struct SharedWords {
    words: NonNull<AtomicU64>,
    count: usize,
}

impl SharedWords {
    /// Maps `count` words.
    ///
    /// # Errors
    /// No memory; `InvalidInput` for none, or for more than there are addresses.
    pub fn new(count: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        Self::map(count, |bytes| {
            // SAFETY: a new mapping, at an address of the kernel's choice, touches no memory in
            // use.
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::SHARED) }
        })
    }

    /// Those that lie in a file, which has so many. Without the right to write none is to be
    /// changed.
    pub(super) fn of(file: &OwnedFd, count: usize, access: ProtFlags) -> io::Result<Self> {
        Self::map(count, |bytes| {
            // SAFETY: as above.
            unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }
        })
    }

    fn map(
        count: usize,
        map: impl FnOnce(usize) -> rustix::io::Result<*mut c_void>,
    ) -> io::Result<Self> {
        let bytes = count.checked_mul(size_of::<AtomicU64>());
        let bytes = bytes.ok_or(io::ErrorKind::InvalidInput)?;
        let words = NonNull::new(map(bytes)?.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { words, count })
    }

    /// A process that is forked from now on has no such mapping, and must not use it.
    pub(super) fn keep_from_children(&self) -> io::Result<()> {
        let bytes = self.count * size_of::<AtomicU64>();
        // SAFETY: the mapping is ours, and stays as it is in this process.
        unsafe { madvise(self.words.as_ptr().cast(), bytes, Advice::LinuxDontFork) }?;
        Ok(())
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `count` words, is aligned to a page, zero at first, and there
        // for as long as `self`. Everybody who has it changes words only as atomics.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives `self`. Failure would
        // leave it mapped.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.count * size_of::<AtomicU64>()) };
    }
}

// SAFETY: it owns its mapping, and `munmap` may be called by any thread.
unsafe impl Send for SharedWords {}
// SAFETY: `&SharedWords` gives `&[AtomicU64]` and nothing else.
unsafe impl Sync for SharedWords {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_are_zero_and_apart() {
        let words = SharedWords::new(1000).unwrap();
        assert!(words.iter().all(|word| word.load(Relaxed) == 0));
        for (n, word) in words.iter().enumerate() {
            word.store(n as u64, Relaxed);
        }
        assert!(words.iter().enumerate().all(|(n, word)| word.load(Relaxed) == n as u64));
        assert_eq!(words.len(), 1000);
    }

    #[test]
    fn impossible_numbers_of_words_are_refused() {
        for count in [0, usize::MAX, usize::MAX / 8] {
            SharedWords::new(count).unwrap_err();
        }
    }
}
