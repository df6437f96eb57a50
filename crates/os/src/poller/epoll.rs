//! epoll(7): the kernel keeps the set, and a wait costs what is ready.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use measure::Duration;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::Event;

pub(super) struct Epoll {
    fd: OwnedFd,
    /// As the kernel reports them; its capacity is the most that one wait takes.
    reported: Vec<epoll::Event>,
}

/// Everything a connection can report, registered once: cheaper by a tenth than changing it.
const CONNECTION: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl Epoll {
    pub(super) fn new(events_max: usize) -> io::Result<Self> {
        let fd = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { fd, reported: Vec::with_capacity(events_max.max(1)) })
    }

    pub(super) fn add_level(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    pub(super) fn add(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), CONNECTION)?)
    }

    pub(super) fn remove_level(&mut self, fd: BorrowedFd<'_>) {
        // Refused only if it is not there.
        let _ = epoll::delete(&self.fd, fd);
    }

    pub(super) fn wait(
        &mut self,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        // Longer than a clock can say is for ever.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        self.reported.clear();
        epoll::wait(&self.fd, spare_capacity(&mut self.reported), timeout.as_ref())?;
        events.extend(self.reported.iter().map(|&epoll::Event { flags, data }| Event {
            token: data.u64(),
            readable: flags.contains(EventFlags::IN),
            writable: flags.contains(EventFlags::OUT),
            ended: flags.intersects(ENDED),
        }));
        Ok(())
    }
}

// SAFETY: what is reported are numbers; that the kernel's structure could also hold a pointer is no
// concern of anybody's here.
unsafe impl Send for Epoll {}
