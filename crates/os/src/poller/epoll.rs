use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use measure::Duration;
use rustix::event::epoll::{self, CreateFlags, Event as Raw, EventData, EventFlags};
use rustix::io::Errno;

use super::{Event, Interest};

/// epoll(7). A connection is registered once, edge-triggered, for everything it may report, which
/// costs one call for its whole life.
pub struct Epoll {
    epoll: OwnedFd,
    raw: Vec<Raw>,
    events: Vec<Event>,
}

const CONNECTION: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl Epoll {
    pub(super) fn new(events_max: usize) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, raw: Vec::with_capacity(events_max.max(1)), events: Vec::new() })
    }

    pub(super) fn add_level(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    pub(super) fn remove_level(&mut self, fd: BorrowedFd<'_>) {
        // Fails only where it is not watched.
        let _ = epoll::delete(&self.epoll, fd);
    }

    pub(super) fn add(&mut self, fd: BorrowedFd<'_>, token: u64, _: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), CONNECTION)?)
    }

    pub(super) fn set(&mut self, _: BorrowedFd<'_>, _: Interest) {}

    /// Closing the descriptor, which no other process shares, takes it out of the set.
    pub(super) fn remove(&mut self, _: BorrowedFd<'_>) {}

    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        self.events.clear();
        self.raw.clear();
        let timeout = timeout.map(crate::wait::timespec);
        let spare = rustix::buffer::spare_capacity(&mut self.raw);
        match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.events.extend(self.raw.iter().map(|raw| {
            // The kernel packs the structure, so its fields are copied out.
            let flags = raw.flags;
            Event {
                token: raw.data.u64(),
                readable: flags.contains(EventFlags::IN),
                writable: flags.contains(EventFlags::OUT),
                ended: flags.intersects(ENDED),
            }
        }));
        Ok(&self.events)
    }
}
