//! Which descriptors are ready: select(2), poll(2) and epoll(7) behind one interface.
//!
//! What differs shows where it matters: select and poll are told before each wait what a
//! connection waits for and report as long as it is so; epoll is told once, edge-triggered, and
//! reports changes (Brecht04 section 4.1 runs the first two; epoll came after).

mod epoll;
mod poll;
pub(crate) mod readable;
mod select;
mod wake;

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::str::FromStr;

use measure::Duration;

use epoll::Epoll;
use poll::Poll;
pub use readable::{wait_readable, wait_ready};
use select::Select;
pub use wake::Wake;

/// A set of descriptors to wait for.
pub struct Poller {
    set: Set,
    /// What the last wait has found; the allocation serves the next.
    events: Vec<Event>,
}

enum Set {
    Select(Select),
    Poll(Poll),
    Epoll(Epoll),
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// select(2), beyond 1,024 descriptors.
    Select,
    /// poll(2).
    Poll,
    /// epoll(7).
    Epoll,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// Bytes, or their end.
    pub read: bool,
    /// Room for bytes.
    pub write: bool,
}

/// A descriptor is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What it was added with.
    pub token: u64,
    /// There are bytes, or their end, or a connection to accept.
    pub readable: bool,
    /// There is room for bytes.
    pub writable: bool,
    /// The peer has sent FIN, maybe behind bytes, or the connection is broken: the next receive or
    /// send tells. select cannot say so and reports a readable descriptor.
    pub ended: bool,
}

impl Poller {
    /// An empty set. One wait reports at most `events_max` descriptors with epoll, all that are
    /// ready with the others.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(mechanism: Mechanism, events_max: usize) -> io::Result<Self> {
        let set = match mechanism {
            Mechanism::Select => Set::Select(Select::new()),
            Mechanism::Poll => Set::Poll(Poll::new()),
            Mechanism::Epoll => Set::Epoll(Epoll::new(events_max)?),
        };
        Ok(Self { set, events: Vec::new() })
    }

    /// Whether only changes are reported, so that a connection must be worked on until it would
    /// block.
    #[must_use]
    pub const fn is_edge_triggered(&self) -> bool {
        matches!(self.set, Set::Epoll(_))
    }

    /// Adds a listening socket or a wake-up descriptor: reported for as long as it is readable.
    ///
    /// # Errors
    /// No memory, or a limit of epoll.
    pub fn add_level(&mut self, fd: impl AsFd, token: u64) -> io::Result<()> {
        match &mut self.set {
            Set::Select(select) => select.add(fd.as_fd(), token, Interest::READ),
            Set::Poll(poll) => poll.add(fd.as_fd(), token, Interest::READ),
            Set::Epoll(epoll) => return epoll.add_level(fd.as_fd(), token),
        }
        Ok(())
    }

    /// As [`Self::add_level`], of what several processes wait for: with epoll the kernel wakes one
    /// of those that wait just then (EPOLLEXCLUSIVE), and not all; where none does, each is told
    /// when he does next. Whoever was woken and does nothing has kept others from being told.
    ///
    /// # Errors
    /// As [`Self::add_level`].
    pub fn add_exclusive(&mut self, fd: impl AsFd, token: u64) -> io::Result<()> {
        match &mut self.set {
            Set::Epoll(epoll) => epoll.add_exclusive(fd.as_fd(), token),
            Set::Select(_) | Set::Poll(_) => self.add_level(fd, token),
        }
    }

    /// Adds a connection. epoll takes no notice of `interest` and reports every change.
    ///
    /// # Errors
    /// No memory, or a limit of epoll.
    pub fn add(&mut self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        match &mut self.set {
            Set::Select(select) => select.add(fd.as_fd(), token, interest),
            Set::Poll(poll) => poll.add(fd.as_fd(), token, interest),
            Set::Epoll(epoll) => return epoll.add(fd.as_fd(), token),
        }
        Ok(())
    }

    /// Waits for a connection that others have in turn: what is reported of it is told once by
    /// epoll, and then not until it is armed again; by the others until it is removed. `was`: it
    /// was armed here before.
    ///
    /// # Errors
    /// No memory, or a limit of epoll.
    pub fn arm(
        &mut self,
        fd: impl AsFd,
        token: u64,
        interest: Interest,
        was: bool,
    ) -> io::Result<()> {
        match &mut self.set {
            Set::Epoll(epoll) => epoll.arm(fd.as_fd(), token, interest, was),
            Set::Select(_) | Set::Poll(_) => self.add(fd, token, interest),
        }
    }

    /// Says what a connection waits for from now on; nothing to do for epoll.
    ///
    /// # Errors
    /// `NotFound`: it was not added.
    pub fn set(&mut self, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        let known = match &mut self.set {
            Set::Select(select) => select.set(fd.as_fd(), interest),
            Set::Poll(poll) => poll.set(fd.as_fd(), interest),
            Set::Epoll(_) => true,
        };
        if known { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Takes a listening socket or wake-up descriptor out; none that was not added is harmed.
    pub fn pause_level(&mut self, fd: impl AsFd) {
        match &mut self.set {
            Set::Select(select) => select.remove(fd.as_fd()),
            Set::Poll(poll) => poll.remove(fd.as_fd()),
            Set::Epoll(epoll) => epoll.remove_level(fd.as_fd()),
        }
    }

    /// Takes a connection out, which has to happen before it is closed; epoll sees the close.
    pub fn remove(&mut self, fd: impl AsFd) {
        match &mut self.set {
            Set::Select(select) => select.remove(fd.as_fd()),
            Set::Poll(poll) => poll.remove(fd.as_fd()),
            Set::Epoll(_) => {}
        }
    }

    /// Waits until something is ready, the time is over (`None`: never) or a signal comes, and says
    /// what is ready. A descriptor is reported once.
    ///
    /// # Errors
    /// No memory; for select, a descriptor that was closed before it was removed.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        self.events.clear();
        let waited = match &mut self.set {
            Set::Select(select) => select.wait(timeout, &mut self.events),
            Set::Poll(poll) => poll.wait(timeout, &mut self.events),
            Set::Epoll(epoll) => epoll.wait(timeout, &mut self.events),
        };
        self.found(waited)
    }

    /// As [`Self::wait`], but with epoll too the time is kept to the nanosecond instead of being
    /// rounded up to a millisecond; how late a wake-up then is depends on
    /// [`crate::thread::wake_exactly`].
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn wait_exactly(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        let Set::Epoll(epoll) = &mut self.set else { return self.wait(timeout) };
        self.events.clear();
        let waited = epoll.wait_exactly(timeout, &mut self.events);
        self.found(waited)
    }

    fn found(&self, waited: io::Result<()>) -> io::Result<&[Event]> {
        match waited {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            _ => Ok(&self.events),
        }
    }

    /// What the last wait has found.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Mechanism {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Select, Self::Poll, Self::Epoll];

    /// `select`, `poll` or `epoll`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Poll => "poll",
            Self::Epoll => "epoll",
        }
    }
}

impl FromStr for Mechanism {
    type Err = String;

    /// The error says which names there are.
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mechanism| mechanism.name() == name);
        found.ok_or_else(|| "select, poll or epoll".to_owned())
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Interest {
    /// Nothing: a helper has the connection.
    pub const NONE: Self = Self { read: false, write: false };
    /// Bytes, or their end.
    pub const READ: Self = Self { read: true, write: false };
    /// Room for bytes.
    pub const WRITE: Self = Self { read: false, write: true };
    /// Either.
    pub const BOTH: Self = Self { read: true, write: true };
}

/// A timeout as select and poll take it. Longer than a clock can say is for ever.
fn timespec(timeout: Option<Duration>) -> Option<libc::timespec> {
    let timeout = timeout?;
    let tv_sec = libc::time_t::try_from(timeout.as_secs()).ok()?;
    Some(libc::timespec { tv_sec, tv_nsec: timeout.subsec_nanos().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_have_names() {
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.to_string().parse::<Mechanism>().unwrap(), mechanism);
        }
        for name in ["", "Epoll", "kqueue"] {
            assert!(name.parse::<Mechanism>().is_err(), "{name}");
        }
    }
}
