use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use measure::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Interest;

/// Waits until one of a few descriptors is readable, for threads that otherwise block (poll(2)).
/// The answer has one entry for each, all `false` after the timeout or a signal.
///
/// # Errors
/// No memory.
pub fn wait_readable<'f>(
    fds: impl IntoIterator<Item = BorrowedFd<'f>>,
    timeout: Option<Duration>,
) -> io::Result<Vec<bool>> {
    wait_ready(fds.into_iter().map(|fd| (fd, Interest::READ)), timeout)
}

/// As [`wait_readable`], but each descriptor may be waited for to be writable.
///
/// # Errors
/// No memory.
pub fn wait_ready<'f>(
    fds: impl IntoIterator<Item = (BorrowedFd<'f>, Interest)>,
    timeout: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let watched = |(fd, Interest { read, write })| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, read);
        flags.set(PollFlags::OUT, write);
        PollFd::from_borrowed_fd(fd, flags)
    };
    let mut fds: Vec<PollFd<'f>> = fds.into_iter().map(watched).collect();
    // Longer than a clock can say is for ever.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(e) => Err(e.into()),
    }
}

/// Whether one descriptor becomes readable within the timeout.
pub(crate) fn is_readable(fd: impl AsFd, timeout: Option<Duration>) -> io::Result<bool> {
    Ok(wait_readable([fd.as_fd()], timeout)?[0])
}

/// Whether nothing will come from one descriptor after what it holds now.
pub(crate) fn is_shut_down(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::RDHUP)];
    poll(&mut fds, Some(&Timespec::default())).is_ok() && !fds[0].revents().is_empty()
}
