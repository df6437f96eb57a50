use std::fmt;
use std::ops::Deref;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::mapping::Mapping;
use super::owner;

/// The bytes of a block, which stay as they are, and its file, which stays open, for as long as
/// this is there. It is the calling process's: a copy of it in another one is of no use.
pub struct Lent {
    mapping: Arc<Mapping>,
    block: u32,
    /// Whose pin it is.
    by: u16,
    bytes: NonNull<[u8]>,
    descriptor: Option<RawFd>,
}

impl Lent {
    /// Pins a block for the calling process.
    ///
    /// # Safety
    /// The caller has the lock, and these are the bytes of a block that is live, and its
    /// descriptor.
    pub(super) unsafe fn new(
        mapping: &Arc<Mapping>,
        block: u32,
        bytes: NonNull<[u8]>,
        descriptor: Option<RawFd>,
    ) -> Self {
        let by = owner::number();
        // Whoever asks for pins does so with the lock, which orders this before it.
        mapping.pins(by, block).fetch_add(1, Relaxed);
        Self { mapping: Arc::clone(mapping), block, by, bytes, descriptor }
    }

    /// The number of the block.
    #[must_use]
    pub const fn block(&self) -> u32 {
        self.block
    }

    /// Its file's descriptor, if it was published with one.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.assert_own();
        // SAFETY: it is open for as long as the block is pinned, which is as long as `self`.
        self.descriptor.map(|number| unsafe { BorrowedFd::borrow_raw(number) })
    }

    /// A process that was started meanwhile has no pin, though it has a copy of this.
    fn assert_own(&self) {
        assert!(self.is_own(), "what is lent to one process is no other's");
    }

    fn is_own(&self) -> bool {
        self.by == owner::number()
    }
}

impl Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.assert_own();
        // SAFETY: they are bytes of the mapping, written before the block was live, and nobody
        // writes to them while it is pinned.
        unsafe { self.bytes.as_ref() }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.is_own() {
            // Released: who finds no pin, and uses the bytes again, does so after they were read.
            self.mapping.pins(self.by, self.block).fetch_sub(1, Release);
        }
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of block {}", self.bytes.len(), self.block)
    }
}

// SAFETY: it reads bytes that stay as they are, and its pin is an atomic.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}
