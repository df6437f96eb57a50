//! epoll(7): the kernel keeps the set, and a wait costs what is ready.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use measure::Duration;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::{Event, Interest};
use crate::sharing::Descriptor;

pub(super) struct Epoll {
    fd: Descriptor,
    /// As the kernel reports them; its capacity is the most that one wait takes.
    reported: Vec<epoll::Event>,
}

/// Everything a connection can report, registered once: cheaper by a tenth than changing it.
const CONNECTION: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl Epoll {
    pub(super) fn new(events_max: usize) -> io::Result<Self> {
        let fd = Descriptor::by(|| epoll::create(CreateFlags::CLOEXEC))?;
        Ok(Self { fd, reported: Vec::with_capacity(events_max.max(1)) })
    }

    pub(super) fn add_level(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    pub(super) fn add_exclusive(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), flags)?)
    }

    pub(super) fn add(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), CONNECTION)?)
    }

    /// Level-triggered and told once: what is there already is told, too.
    pub(super) fn arm(
        &mut self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
        was: bool,
    ) -> io::Result<()> {
        let of = |is_wanted: bool, flags: EventFlags| {
            if is_wanted { flags } else { EventFlags::empty() }
        };
        let flags = of(interest.read, EventFlags::IN | EventFlags::RDHUP)
            | of(interest.write, EventFlags::OUT)
            | EventFlags::ONESHOT;
        let token = EventData::new_u64(token);
        match was {
            true => Ok(epoll::modify(&self.fd, fd, token, flags)?),
            false => Ok(epoll::add(&self.fd, fd, token, flags)?),
        }
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
        self.tell(events);
        Ok(())
    }

    /// As [`Self::wait`], whose timeout is rounded up to a millisecond, but to the nanosecond.
    pub(super) fn wait_exactly(
        &mut self,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let of = |timeout: Duration| {
            Some(Moment {
                seconds: i64::try_from(timeout.as_secs()).ok()?,
                nanoseconds: timeout.subsec_nanos().into(),
            })
        };
        // Longer than a clock can say is for ever.
        let moment = timeout.and_then(of);
        self.reported.clear();
        let room = self.reported.spare_capacity_mut();
        // SAFETY: the kernel reads a timeout, if there is one, and writes at most as many events as
        // there is room for, all of which outlive the call; its structure is what rustix's is.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                room.as_mut_ptr(),
                room.len() as libc::c_int,
                moment.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        if found < 0 {
            let error = io::Error::last_os_error();
            // A kernel before 5.11, or a filter that does not know the call.
            let is_unknown = matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
            return if is_unknown { self.wait(timeout, events) } else { Err(error) };
        }
        // SAFETY: the kernel has written so many, which is at most what there was room for.
        unsafe { self.reported.set_len(found as usize) };
        self.tell(events);
        Ok(())
    }

    fn tell(&self, events: &mut Vec<Event>) {
        events.extend(self.reported.iter().map(|&epoll::Event { flags, data }| Event {
            token: data.u64(),
            readable: flags.contains(EventFlags::IN),
            writable: flags.contains(EventFlags::OUT),
            ended: flags.intersects(ENDED),
        }));
    }
}

/// struct __kernel_timespec of linux/time_types.h, on every machine the same.
#[repr(C)]
struct Moment {
    seconds: i64,
    nanoseconds: i64,
}

// SAFETY: what is reported are numbers; that the kernel's structure could also hold a pointer is no
// concern of anybody's here.
unsafe impl Send for Epoll {}
