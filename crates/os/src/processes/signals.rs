//! Signals as something to read, in place of handlers that interrupt.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use measure::Duration;

use crate::poller::readable::is_readable;

/// Signals that are read from a descriptor (signalfd(2)) and otherwise have no effect.
///
/// They stay blocked in children, which this wants: the supervisor decides what a signal to the
/// whole group of processes means. Dropping it does not unblock them, [`Signals::release`] does.
pub struct Signals {
    fd: OwnedFd,
    taken: Mask,
}

/// The signals Weir has a use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: stop.
    Term,
    /// SIGINT: stop, from the keyboard.
    Int,
    /// SIGHUP: read the settings anew, or end with the terminal.
    Hup,
    /// SIGUSR1: open the logs again.
    Usr1,
    /// SIGUSR2: replace the program.
    Usr2,
    /// SIGCHLD: a child has ended; several may be one signal.
    Child,
}

impl Signals {
    /// Takes signals from now on, for the calling thread and those it starts later; threads that
    /// are there already have to block them themselves. SIGPIPE and SIGXFSZ are ignored from now
    /// on, too: a reader that is gone, and a file at the limit of its size, are errors of a write.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn take(signals: &[Signal]) -> io::Result<Self> {
        let taken = Mask::of(signals);
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the mask is read during the call; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const taken.0, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        taken.apply(libc::SIG_BLOCK)?;
        for number in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: ignoring a signal runs no code in its place.
            unsafe { libc::signal(number, libc::SIG_IGN) };
        }
        Ok(Self { fd, taken })
    }

    /// The next signal that has come; `None`: none has.
    ///
    /// # Errors
    /// None that is known.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut info)) {
            // `ssi_signo` is the first field, a u32.
            Ok(_) => {
                Ok(info.first_chunk().and_then(|n| Signal::from_number(u32::from_ne_bytes(*n))))
            }
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits for the next signal; `None`: none has come within the timeout.
    ///
    /// # Errors
    /// None that is known.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<Signal>> {
        if is_readable(&self.fd, timeout)? { self.next() } else { Ok(None) }
    }

    /// Whether who started this program wants it to go on when the signal comes, as nohup(1) does
    /// of SIGHUP: also what is ignored can be taken.
    #[must_use]
    pub fn is_ignored(signal: Signal) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        ignored.is_some_and(|mask| mask & 1 << (signal.raw().as_raw() - 1) != 0)
    }

    /// Lets the signals have their usual effect again, in the calling thread; for a child that
    /// starts another program.
    ///
    /// # Errors
    /// None that is known.
    pub fn release(&self) -> io::Result<()> {
        self.taken.apply(libc::SIG_UNBLOCK)
    }
}

/// The calling thread blocks no signal any more. Allocates nothing and takes no lock, so that a
/// child may call it before it starts another program.
pub(crate) fn block_none() -> io::Result<()> {
    Mask::of(&[]).apply(libc::SIG_SETMASK)
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Signal {
    const ALL: [Self; 6] = [Self::Term, Self::Int, Self::Hup, Self::Usr1, Self::Usr2, Self::Child];

    pub(crate) const fn raw(self) -> rustix::process::Signal {
        match self {
            Self::Term => rustix::process::Signal::TERM,
            Self::Int => rustix::process::Signal::INT,
            Self::Hup => rustix::process::Signal::HUP,
            Self::Usr1 => rustix::process::Signal::USR1,
            Self::Usr2 => rustix::process::Signal::USR2,
            Self::Child => rustix::process::Signal::CHILD,
        }
    }

    fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.raw().as_raw().cast_unsigned() == number)
    }
}

/// A set of signals.
struct Mask(libc::sigset_t);

impl Mask {
    fn of(signals: &[Signal]) -> Self {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the whole set; `sigaddset` refuses numbers that are no
        // signals.
        unsafe {
            libc::sigemptyset(mask.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(mask.as_mut_ptr(), signal.raw().as_raw());
            }
            Self(mask.assume_init())
        }
    }

    fn apply(&self, how: libc::c_int) -> io::Result<()> {
        // SAFETY: the mask is read during the call; the one before is not asked for.
        let error = unsafe { libc::pthread_sigmask(how, &raw const self.0, std::ptr::null_mut()) };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}
