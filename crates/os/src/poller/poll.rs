//! poll(2): the set is handed to the kernel whole, each time.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP};
use measure::Duration;

use super::{Event, Interest, timespec};

#[derive(Default)]
pub(super) struct Poll {
    /// What the kernel is asked, without gaps.
    asked: Vec<libc::pollfd>,
    /// The token of each.
    tokens: Vec<u64>,
    /// The place of a descriptor in both, or [`ABSENT`].
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const ENDED: i16 = POLLRDHUP | POLLHUP | POLLERR | POLLNVAL;

impl Poll {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn add(&mut self, fd: BorrowedFd<'_>, token: u64, interest: Interest) {
        self.remove(fd);
        let fd = fd.as_raw_fd();
        if self.places.len() <= fd as usize {
            self.places.resize(fd as usize + 1, ABSENT);
        }
        self.places[fd as usize] = self.asked.len() as u32;
        self.asked.push(question(fd, interest));
        self.tokens.push(token);
    }

    /// `false`: it is not there.
    pub(super) fn set(&mut self, fd: BorrowedFd<'_>, interest: Interest) -> bool {
        let Some(place) = self.place(fd.as_raw_fd()) else { return false };
        self.asked[place] = question(fd.as_raw_fd(), interest);
        true
    }

    pub(super) fn remove(&mut self, fd: BorrowedFd<'_>) {
        let Some(place) = self.place(fd.as_raw_fd()) else { return };
        self.places[fd.as_raw_fd() as usize] = ABSENT;
        self.asked.swap_remove(place);
        self.tokens.swap_remove(place);
        if let Some(moved) = self.asked.get(place) {
            self.places[descriptor(moved) as usize] = place as u32;
        }
    }

    pub(super) fn wait(
        &mut self,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let timeout = timespec(timeout);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (asked, count) = (self.asked.as_mut_ptr(), self.asked.len() as libc::nfds_t);
        // SAFETY: `asked` has `count` entries, of which the kernel writes the answers; it and the
        // timeout outlive the call.
        let found = unsafe { libc::ppoll(asked, count, timeout, std::ptr::null()) };
        if found < 0 {
            return Err(io::Error::last_os_error());
        }
        let answers = self.asked.iter().zip(&self.tokens);
        let ready = answers.filter(|(answer, _)| answer.revents != 0);
        events.extend(ready.take(found as usize).map(|(answer, &token)| Event {
            token,
            readable: answer.revents & POLLIN != 0,
            writable: answer.revents & POLLOUT != 0,
            ended: answer.revents & ENDED != 0,
        }));
        Ok(())
    }

    fn place(&self, fd: RawFd) -> Option<usize> {
        let place = *self.places.get(fd as usize)?;
        (place != ABSENT).then_some(place as usize)
    }
}

/// POLLRDHUP only beside POLLIN: who waits to write after the peer's FIN would be told of it
/// without end. Who waits for nothing is passed over by a descriptor below zero, because broken
/// connections are reported unasked.
fn question(fd: RawFd, interest: Interest) -> libc::pollfd {
    let read = if interest.read { POLLIN | POLLRDHUP } else { 0 };
    let write = if interest.write { POLLOUT } else { 0 };
    let fd = if interest == Interest::NONE { !fd } else { fd };
    libc::pollfd { fd, events: read | write, revents: 0 }
}

/// Undoes what [`question`] did to the descriptor.
fn descriptor(asked: &libc::pollfd) -> RawFd {
    if asked.fd < 0 { !asked.fd } else { asked.fd }
}
