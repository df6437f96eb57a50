//! A descriptor of this crate's types.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::{DupFlags, Errno, dup3};

use super::descriptors::{are_shared, shared};
use super::owner::Owner;

/// A descriptor, closed when it is dropped. Where processes share their table of descriptors it is
/// noted whose it is, and a copy of it in another process than that closes nothing.
#[derive(Debug)]
pub struct Descriptor(ManuallyDrop<OwnedFd>);

impl Descriptor {
    /// By a call that makes one.
    #[inline]
    pub(crate) fn by<E: From<Errno>>(make: impl FnOnce() -> Result<OwnedFd, E>) -> Result<Self, E> {
        let fd = match shared() {
            None => make()?,
            Some(table) => table.make(make)?,
        };
        Ok(Self(ManuallyDrop::new(fd)))
    }

    /// From now on its number is what `other` is, for all who have it.
    pub(crate) fn becomes(&mut self, other: &Self) -> Result<(), Errno> {
        dup3(other, &mut self.0, DupFlags::CLOEXEC)
    }

    /// Leaves it to all together, who have it in their store: its number.
    ///
    /// # Panics
    /// Processes do not share their table, or it is another's.
    pub(super) fn into_cache(self) -> RawFd {
        let number = self.as_raw_fd();
        let table = shared().expect("a table that is shared");
        assert!(table.owner(number) == Owner::me(), "one's own descriptor");
        table.note(number, Owner::CACHE);
        // What closes it is somebody else's from now on.
        std::mem::forget(self);
        number
    }

    /// Has what is the cache's; `None`: it is not. The caller has the lock of the store, which no
    /// longer names it.
    pub(super) fn from_cache(number: RawFd) -> Option<Self> {
        let table = shared().filter(|_| is_in_cache(number))?;
        table.note(number, Owner::me());
        // SAFETY: it is open, as its word says, and from now on nobody else's: who has the lock
        // gives it to nobody else.
        Some(Self(ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) })))
    }

    /// As [`Self::from_cache`], all of them but these, which are in order.
    pub(super) fn all_from_cache(kept: &[RawFd]) -> Vec<Self> {
        let all = shared().into_iter().flat_map(|table| table.all_of(Owner::CACHE));
        let left = all.filter(|number| kept.binary_search(number).is_err());
        left.filter_map(Self::from_cache).collect()
    }
}

/// Whether a number is open, and all processes' together.
pub(super) fn is_in_cache(number: RawFd) -> bool {
    shared().is_some_and(|table| table.owner(number) == Owner::CACHE)
}

impl Drop for Descriptor {
    #[inline]
    fn drop(&mut self) {
        match shared() {
            // SAFETY: it is dropped once, and not used after this.
            None => unsafe { ManuallyDrop::drop(&mut self.0) },
            Some(table) => table.close(self.as_raw_fd(), Owner::me()),
        }
    }
}

impl From<OwnedFd> for Descriptor {
    /// Where processes share their table it was made without being noted, and is so only now.
    ///
    /// # Panics
    /// It is beyond the limit that there was when they began to share it.
    fn from(fd: OwnedFd) -> Self {
        if let Some(table) = shared() {
            assert!(table.note(fd.as_raw_fd(), Owner::me()), "a descriptor within the limit");
        }
        Self(ManuallyDrop::new(fd))
    }
}

impl From<Descriptor> for OwnedFd {
    /// # Panics
    /// Processes share their table: whoever closed it then would not clear the note, and the
    /// keeper might take the number's next owner for this one.
    fn from(descriptor: Descriptor) -> Self {
        assert!(!are_shared(), "a descriptor that is noted stays what it is");
        let mut descriptor = ManuallyDrop::new(descriptor);
        // SAFETY: what it was taken from is neither used nor dropped after this.
        unsafe { ManuallyDrop::take(&mut descriptor.0) }
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
