use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Words in memory that processes forked later share with this one, zero at first.
#[derive(Debug)]
pub struct SharedWords {
    words: NonNull<AtomicU64>,
    n: usize,
}

impl SharedWords {
    /// Maps `n` words, at least one.
    ///
    /// # Errors
    /// No memory is left.
    pub fn new(n: usize) -> io::Result<Self> {
        let n = n.max(1);
        let bytes = n * size_of::<AtomicU64>();
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory in use.
        let at = unsafe { mmap_anonymous(core::ptr::null_mut(), bytes, rights, MapFlags::SHARED)? };
        let words = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { words, n })
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `n` words, page aligned, zeroed, and lives as long as `self`;
        // atomics may be shared with anybody.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr(), self.n) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this size, and no borrow of it outlives `self`.
        // Unmapping what is mapped does not fail.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.n * size_of::<AtomicU64>()) };
    }
}

// SAFETY: the words are atomics and the mapping is not tied to a thread.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}
