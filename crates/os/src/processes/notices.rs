use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::ProtFlags;

use super::shared_words::SharedWords;

/// Words that this process writes and those that it forks later only read, zero at first: one of
/// these that was taken over can tell the others nothing by them.
#[derive(Debug)]
pub struct Notices {
    /// Read-only, in all processes and for good.
    read: SharedWords,
    /// The same words once more, in the process that made them and in no other.
    written: ManuallyDrop<SharedWords>,
    maker: u32,
}

impl Notices {
    /// Maps `count` words.
    ///
    /// # Errors
    /// No memory or no descriptor; `InvalidInput` for none, for more than there are addresses, and
    /// where the kernel cannot keep others from writing.
    pub fn new(count: usize) -> io::Result<Self> {
        let file = memfd_create(c"notices", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (count as u64).saturating_mul(size_of::<AtomicU64>() as u64))?;
        let written = SharedWords::of(&file, count, ProtFlags::READ | ProtFlags::WRITE)?;
        written.keep_from_children()?;
        // Without it a process could make its own mapping writable again. Kernels older than Linux
        // 5.1 have it not; files are opened by a call that is younger (openat2, 5.6).
        fcntl_add_seals(&file, SealFlags::FUTURE_WRITE)?;
        let read = SharedWords::of(&file, count, ProtFlags::READ)?;
        Ok(Self { read, written: ManuallyDrop::new(written), maker: crate::process::id() })
    }

    /// What stands in one of them.
    ///
    /// # Panics
    /// There is no such word.
    #[must_use]
    pub fn load(&self, word: usize, order: Ordering) -> u64 {
        self.read[word].load(order)
    }

    /// All of them, to be written.
    ///
    /// # Panics
    /// Another process has made them.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        assert!(self.is_maker(), "only who has made these words writes them");
        &self.written
    }

    fn is_maker(&self) -> bool {
        self.maker == crate::process::id()
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        if self.is_maker() {
            // SAFETY: nobody uses it after this; where it is not mapped, something else may be.
            unsafe { ManuallyDrop::drop(&mut self.written) };
        }
    }
}
