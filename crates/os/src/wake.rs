use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that becomes readable when somebody says so: another thread, or another process
/// that shares it across a fork.
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// Not readable yet.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable.
    pub fn wake(&self) {
        // Fails only when 2^64 - 2 wake-ups are pending: then it is readable anyway.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it unreadable until the next wake-up.
    pub fn clear(&self) {
        // Fails only when there is nothing to clear.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
