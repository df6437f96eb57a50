use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::retry_on_intr;

use crate::sharing::Descriptor;

/// Wakes whoever waits for descriptors: readable from [`Wake::wake`] until [`Wake::clear`]. Shared
/// with processes forked later (eventfd(2)).
#[derive(Debug)]
pub struct Wake {
    fd: Descriptor,
}

impl Wake {
    /// One that is not readable.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { fd: Descriptor::by(|| eventfd(0, flags))? })
    }

    /// One that a parent has handed to this process, by its number.
    ///
    /// # Errors
    /// There is no such descriptor, or it was taken over before.
    pub fn take_over(number: RawFd) -> io::Result<Self> {
        Ok(Self { fd: crate::processes::handed::claim(number)?.into() })
    }

    /// The number of its descriptor, for a child that inherits it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Makes it readable.
    pub fn wake(&self) {
        // Fails only when it is readable 2^64 - 2 times over, and then it is readable.
        let _ = retry_on_intr(|| rustix::io::write(&self.fd, &1_u64.to_ne_bytes()));
    }

    /// Makes it unreadable. Clear first, then look at what the wake-up was for: one that comes in
    /// between is not lost.
    pub fn clear(&self) {
        let mut count = [0; 8];
        // Fails only when it is unreadable already.
        let _ = retry_on_intr(|| rustix::io::read(&self.fd, &mut count));
    }

    /// The descriptor, to wait for.
    #[must_use]
    pub fn as_fd_ref(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
