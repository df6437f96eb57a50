use std::io;
use std::os::fd::BorrowedFd;

use measure::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of some descriptors is readable or has ended, for architectures whose calls
/// block; says which. All `false`: the time has passed, or a signal came.
///
/// # Errors
/// The kernel has no memory.
pub fn wait_readable<'f>(
    fds: impl IntoIterator<Item = BorrowedFd<'f>>,
    timeout: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let mut fds: Vec<_> =
        fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let timeout = timeout.map(timespec);
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(e.into()),
    }
    Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
}

/// A timeout as the kernel takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
