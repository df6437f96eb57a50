//! Descriptors that whoever started this process has handed to it, by their numbers.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// A descriptor that this process has inherited and that is to be its own, kept from programs
/// started later.
///
/// # Errors
/// `InvalidInput`: it was claimed before, this process has opened it, or there is none.
pub(crate) fn claim(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is touched; the kernel judges whether the number stands for anything.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    if fd <= libc::STDERR_FILENO || flags < 0 || flags & libc::FD_CLOEXEC != 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open. All that this process opens is closed on exec, and so is what
    // was claimed; this was not, so it was inherited and nobody else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A duplicate of a descriptor that was handed over; the original, too, is kept from programs
/// started later.
pub(crate) fn take_over(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a number goes in and a number comes out; the kernel judges whether it stands for
    // anything.
    let duplicate = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if duplicate < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else has it.
    let duplicate = unsafe { OwnedFd::from_raw_fd(duplicate) };
    // SAFETY: no memory is touched, and only a program started later can tell the difference.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(duplicate)
}
