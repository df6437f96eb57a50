//! The sockets of a ring: slots that only the kernel knows, or descriptors that the ring owns.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use io_uring::squeue;
use io_uring::types::Fd;

use super::settings::Sockets;
use crate::Socket;

/// A socket of a ring. It stays open until [`super::Ring::close`]; used after that it names no
/// socket, or another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub(super) u32);

impl Handle {
    /// Its place in the ring's table, below [`super::RingSettings::handles`], or the number of its
    /// descriptor; used again.
    #[must_use]
    pub fn slot(self) -> u32 {
        self.0
    }
}

/// Those that are open.
pub(super) enum Table {
    /// The kernel has them, and closes them with the ring.
    Direct,
    /// Each at the place of its number.
    Ordinary(Vec<Option<Socket>>),
}

/// Refused by every operation, as a slot that is free.
const CLOSED: RawFd = -1;

impl Table {
    pub(super) fn new(kind: Sockets) -> Self {
        match kind {
            Sockets::Direct => Self::Direct,
            Sockets::Ordinary => Self::Ordinary(Vec::new()),
        }
    }

    pub(super) fn kind(&self) -> Sockets {
        match self {
            Self::Direct => Sockets::Direct,
            Self::Ordinary(_) => Sockets::Ordinary,
        }
    }

    /// Takes a socket that was accepted.
    ///
    /// # Safety
    /// An ordinary one is open, and nobody else's.
    pub(super) unsafe fn take_in(&mut self, number: u32) -> Handle {
        if let Self::Ordinary(all) = self {
            let at = number as usize;
            if at >= all.len() {
                all.resize_with(at + 1, || None);
            }
            // SAFETY: the caller promises it.
            let fd = unsafe { OwnedFd::from_raw_fd(number.cast_signed()) };
            let before = all[at].replace(Socket::from(fd));
            assert!(before.is_none(), "a descriptor that was open was accepted");
        }
        Handle(number)
    }

    /// An ordinary one.
    pub(super) fn get(&self, handle: Handle) -> Option<&Socket> {
        match self {
            Self::Direct => None,
            Self::Ordinary(all) => all.get(handle.0 as usize)?.as_ref(),
        }
    }

    /// An ordinary one, to be closed.
    pub(super) fn take_out(&mut self, handle: Handle) -> Option<Socket> {
        match self {
            Self::Direct => None,
            Self::Ordinary(all) => all.get_mut(handle.0 as usize)?.take(),
        }
    }

    /// An operation on a socket of the ring, and on nothing else of the process: one that is closed
    /// is none.
    pub(super) fn on(
        &self,
        handle: Handle,
        build: impl FnOnce(Fd) -> squeue::Entry,
    ) -> squeue::Entry {
        match self {
            Self::Direct => build(Fd(handle.0.cast_signed())).flags(squeue::Flags::FIXED_FILE),
            Self::Ordinary(_) => {
                let socket = self.get(handle);
                build(Fd(socket.map_or(CLOSED, |socket| socket.as_fd().as_raw_fd())))
            }
        }
    }
}
