use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use measure::Duration;

use super::{Event, Interest};

/// poll(2): one dense array, handed to the kernel whole at each call.
pub struct Poll {
    polled: Vec<libc::pollfd>,
    tokens: Vec<u64>,
    /// Place in the array, by descriptor.
    places: Vec<u32>,
    events: Vec<Event>,
}

const NOWHERE: u32 = u32::MAX;
const ENDED: libc::c_short = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

impl Poll {
    pub(super) const fn new() -> Self {
        Self { polled: Vec::new(), tokens: Vec::new(), places: Vec::new(), events: Vec::new() }
    }

    pub(super) fn add_level(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        self.add(fd, token, Interest::READ)
    }

    pub(super) fn remove_level(&mut self, fd: BorrowedFd<'_>) {
        self.remove(fd);
    }

    pub(super) fn add(
        &mut self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let at = fd.unsigned_abs() as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, NOWHERE);
        }
        if self.places[at] != NOWHERE {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.places[at] = u32::try_from(self.polled.len()).map_err(io::Error::other)?;
        self.polled.push(libc::pollfd { fd, events: flags(interest), revents: 0 });
        self.tokens.push(token);
        Ok(())
    }

    pub(super) fn set(&mut self, fd: BorrowedFd<'_>, interest: Interest) {
        if let Some(place) = self.place(fd) {
            // A hang-up is reported whatever is of interest, but not of a negative number.
            let fd = fd.as_raw_fd();
            self.polled[place].fd = if interest == Interest::NONE { !fd } else { fd };
            self.polled[place].events = flags(interest);
        }
    }

    pub(super) fn remove(&mut self, fd: BorrowedFd<'_>) {
        let Some(place) = self.place(fd) else { return };
        self.places[fd.as_raw_fd().unsigned_abs() as usize] = NOWHERE;
        self.polled.swap_remove(place);
        self.tokens.swap_remove(place);
        if let Some(moved) = self.polled.get(place) {
            let fd = moved.fd.max(!moved.fd);
            self.places[fd.unsigned_abs() as usize] = place as u32;
        }
    }

    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        self.events.clear();
        let timeout = timeout.map(|time| libc::timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = timeout.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        let (polled, n) = (self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t);
        // SAFETY: the array and its length belong together, the time is null or lives through the
        // call, and no signal mask is given.
        let mut left = unsafe { libc::ppoll(polled, n, time, core::ptr::null()) };
        if left < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                return Ok(&self.events);
            }
            return Err(error);
        }
        for (polled, &token) in self.polled.iter().zip(&self.tokens) {
            if left == 0 {
                break;
            }
            if polled.revents != 0 {
                left -= 1;
                self.events.push(Event {
                    token,
                    readable: polled.revents & libc::POLLIN != 0,
                    writable: polled.revents & libc::POLLOUT != 0,
                    ended: polled.revents & ENDED != 0,
                });
            }
        }
        Ok(&self.events)
    }

    fn place(&self, fd: BorrowedFd<'_>) -> Option<usize> {
        let place = *self.places.get(fd.as_raw_fd().unsigned_abs() as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }
}

fn flags(interest: Interest) -> libc::c_short {
    let read = if interest.read { libc::POLLIN | libc::POLLRDHUP } else { 0 };
    read | if interest.write { libc::POLLOUT } else { 0 }
}
