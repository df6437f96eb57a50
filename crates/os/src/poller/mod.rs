//! Readiness: which descriptors can be read or written without waiting.
//!
//! Three mechanisms with the same methods, each in its file. Epoll reports a connection's edges, set
//! once; select and poll report levels and are told what is of interest.

mod epoll;
mod poll;
mod select;

use core::fmt;
use core::str::FromStr;
use std::io;
use std::os::fd::AsFd;

use measure::Duration;

use epoll::Epoll;
use poll::Poll;
use select::Select;

/// How a loop waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// select(2), without its bound of 1,024 descriptors.
    Select,
    /// poll(2).
    Poll,
    /// epoll(7).
    Epoll,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// Bytes or an end to receive.
    pub read: bool,
    /// Room to send.
    pub write: bool,
}

/// What can be done with a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub token: u64,
    /// There are bytes, or an end, to receive.
    pub readable: bool,
    /// There is room to send.
    pub writable: bool,
    /// FIN or an error has come, perhaps behind bytes. Select does not tell.
    pub ended: bool,
}

/// One of the mechanisms.
pub enum Poller {
    /// See [`Mechanism::Select`].
    Select(Select),
    /// See [`Mechanism::Poll`].
    Poll(Poll),
    /// See [`Mechanism::Epoll`].
    Epoll(Epoll),
}

macro_rules! each {
    ($poller:expr, $inner:ident => $call:expr) => {
        match $poller {
            Poller::Select($inner) => $call,
            Poller::Poll($inner) => $call,
            Poller::Epoll($inner) => $call,
        }
    };
}

impl Poller {
    /// A poller that reports at most `events_max` events at once, where the mechanism can be told.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(mechanism: Mechanism, events_max: usize) -> io::Result<Self> {
        Ok(match mechanism {
            Mechanism::Select => Self::Select(Select::new()),
            Mechanism::Poll => Self::Poll(Poll::new()),
            Mechanism::Epoll => Self::Epoll(Epoll::new(events_max)?),
        })
    }

    /// Watches a listener or a wake-up: readable for as long as something waits there.
    ///
    /// # Errors
    /// The kernel has no memory, or watches no more.
    pub fn add_level(&mut self, fd: &impl AsFd, token: u64) -> io::Result<()> {
        each!(self, poller => poller.add_level(fd.as_fd(), token))
    }

    /// Watches no more what [`Poller::add_level`] watched.
    pub fn remove_level(&mut self, fd: &impl AsFd) {
        each!(self, poller => poller.remove_level(fd.as_fd()));
    }

    /// Watches a connection.
    ///
    /// # Errors
    /// As [`Poller::add_level`].
    pub fn add(&mut self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        each!(self, poller => poller.add(fd.as_fd(), token, interest))
    }

    /// Changes what is of interest; nothing to do where edges are reported.
    pub fn set(&mut self, fd: &impl AsFd, interest: Interest) {
        each!(self, poller => poller.set(fd.as_fd(), interest));
    }

    /// Watches a connection no more; before it is closed.
    pub fn remove(&mut self, fd: &impl AsFd) {
        each!(self, poller => poller.remove(fd.as_fd()));
    }

    /// Waits for events, for ever without a timeout. A signal ends it with none.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        each!(self, poller => poller.wait(timeout))
    }
}

impl Interest {
    /// Nothing: a helper has the connection.
    pub const NONE: Self = Self { read: false, write: false };
    /// To receive.
    pub const READ: Self = Self { read: true, write: false };
    /// To send.
    pub const WRITE: Self = Self { read: false, write: true };
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Select, Self::Poll, Self::Epoll];

    const fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Poll => "poll",
            Self::Epoll => "epoll",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mechanism {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == text).ok_or(())
    }
}
