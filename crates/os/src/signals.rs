//! Signals as something to wait for, not as something that interrupts.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use measure::Duration;

/// The signals a server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGCHLD.
    Child,
}

/// Signals that are blocked and waited for; a forked child inherits that they are blocked.
#[derive(Debug)]
pub struct Signals(OwnedFd);

const NUMBERS: [(Signal, libc::c_int); 3] =
    [(Signal::Term, libc::SIGTERM), (Signal::Int, libc::SIGINT), (Signal::Child, libc::SIGCHLD)];

impl Signals {
    /// Blocks `signals` in this thread and those it makes later, to be waited for here.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn take(signals: &[Signal]) -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set; the others get it initialised, and numbers that
        // name signals; a null pointer asks for no old mask.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for (_, number) in NUMBERS.iter().filter(|(signal, _)| signals.contains(signal)) {
                libc::sigaddset(set.as_mut_ptr(), *number);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned it, and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Waits for the next; nothing when the time has passed.
    ///
    /// # Errors
    /// Never, but for a kernel out of its mind.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<Signal>> {
        if let Some(signal) = self.next()? {
            return Ok(Some(signal));
        }
        crate::wait_readable([self.0.as_fd()], timeout)?;
        self.next()
    }

    fn next(&self) -> io::Result<Option<Signal>> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `size` bytes into `info`, which lives through the call.
        let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if n < 0 {
            let error = io::Error::last_os_error();
            let nothing = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
            return if nothing.contains(&error.kind()) { Ok(None) } else { Err(error) };
        }
        // SAFETY: signalfd reads whole records, so `info` has been written.
        let number = unsafe { info.assume_init() }.ssi_signo as libc::c_int;
        Ok(NUMBERS.iter().find(|(_, n)| *n == number).map(|(signal, _)| *signal))
    }
}
