//! How a ring accepts.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use io_uring::types::{DestinationSlot, Fd};
use io_uring::{opcode, squeue};

use super::Ring;
use super::in_flight::{Holds, What};
use super::peer::Peer;
use super::settings::{Sockets, Takes};
use crate::Listener;

/// The flag that the kernel's `ioprio` of an accept carries (linux/io_uring.h).
const IORING_ACCEPT_POLL_FIRST: u16 = 1 << 2;

impl Ring {
    /// Accepts so many connections.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn accept(&mut self, from: &Arc<Listener>, token: u64, takes: Takes) -> io::Result<()> {
        self.begin_accept(from, token, takes, false)
    }

    /// The same where nobody waits to be accepted: the first try of each that takes one would make
    /// a socket and a file to find that out, so there is none (IORING_ACCEPT_POLL_FIRST, Linux
    /// 6.10; before, there is).
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn await_accept(
        &mut self,
        from: &Arc<Listener>,
        token: u64,
        takes: Takes,
    ) -> io::Result<()> {
        self.begin_accept(from, token, takes, self.kernel.accepts_wait())
    }

    fn begin_accept(
        &mut self,
        from: &Arc<Listener>,
        token: u64,
        takes: Takes,
        waits: bool,
    ) -> io::Result<()> {
        let fd = Fd(from.as_fd().as_raw_fd());
        let is_direct = self.sockets.kind() == Sockets::Direct;
        // An ordinary one is also used by calls, which must not wait.
        let flags = if is_direct { 0 } else { libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK };
        let holds = match takes {
            Takes::OneAndWho => Holds::Peer(from.clone(), Peer::new()),
            Takes::One | Takes::Many => Holds::Descriptor(from.clone()),
        };
        self.begin(token, What::Accept, holds, |holds| {
            if takes == Takes::Many {
                let many = opcode::AcceptMulti::new(fd).allocate_file_index(is_direct);
                return many.flags(flags).build();
            }
            let (address, length) = match holds {
                Holds::Peer(_, peer) => Peer::pointers(peer),
                _ => (std::ptr::null_mut(), std::ptr::null_mut()),
            };
            let slot = is_direct.then(DestinationSlot::auto_target);
            let one = opcode::Accept::new(fd, address, length).file_index(slot).flags(flags);
            if waits { poll_first(one.build()) } else { one.build() }
        })
    }
}

/// The crate has no name for it.
fn poll_first(mut one: squeue::Entry) -> squeue::Entry {
    const { assert!(size_of::<squeue::Entry>() == 64, "the kernel's struct io_uring_sqe") };
    // SAFETY: an entry is the kernel's struct io_uring_sqe (`repr(C)` of it alone), which has its
    // `ioprio`, a `u16`, at byte 2 behind `opcode` and `flags`, of a byte each.
    unsafe { *(&raw mut one).cast::<u16>().add(1) |= IORING_ACCEPT_POLL_FIRST };
    one
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn the_flag_stands_where_that_of_many_does() {
        let priority = |entry: &squeue::Entry| {
            // SAFETY: as in `poll_first`.
            unsafe { (&raw const *entry).cast::<u16>().add(1).read() }
        };
        let many = opcode::AcceptMulti::new(Fd(0)).build();
        assert_eq!(priority(&many), 1, "IORING_ACCEPT_MULTISHOT");
        let one = opcode::Accept::new(Fd(0), ptr::null_mut(), ptr::null_mut()).build();
        assert_eq!(priority(&one), 0);
        assert_eq!(priority(&poll_first(one)), IORING_ACCEPT_POLL_FIRST);
        assert_eq!(priority(&poll_first(many)), 1 | IORING_ACCEPT_POLL_FIRST);
    }
}
