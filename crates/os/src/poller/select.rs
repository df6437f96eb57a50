use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use measure::Duration;

use super::{Event, Interest};

/// select(2): three sets of bits. The bound of 1,024 is the C library's; the kernel takes sets of
/// any size, so these grow with the highest descriptor.
pub struct Select {
    read: Vec<u64>,
    write: Vec<u64>,
    /// What the kernel overwrites.
    read_ready: Vec<u64>,
    write_ready: Vec<u64>,
    tokens: Vec<u64>,
    /// One past the highest descriptor ever watched.
    end: usize,
    events: Vec<Event>,
}

const BITS: usize = u64::BITS as usize;

impl Select {
    pub(super) const fn new() -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            read_ready: Vec::new(),
            write_ready: Vec::new(),
            tokens: Vec::new(),
            end: 0,
            events: Vec::new(),
        }
    }

    pub(super) fn add_level(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        self.add(fd, token, Interest::READ)
    }

    pub(super) fn remove_level(&mut self, fd: BorrowedFd<'_>) {
        self.remove(fd);
    }

    pub(super) fn add(
        &mut self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let at = number(fd);
        if self.end <= at {
            self.end = at + 1;
            let words = self.end.div_ceil(BITS);
            self.read.resize(words, 0);
            self.write.resize(words, 0);
            self.tokens.resize(self.end, 0);
        }
        self.tokens[at] = token;
        self.set(fd, interest);
        Ok(())
    }

    pub(super) fn set(&mut self, fd: BorrowedFd<'_>, interest: Interest) {
        let at = number(fd);
        if at < self.end {
            let (word, bit) = (at / BITS, 1 << (at % BITS));
            put(&mut self.read[word], bit, interest.read);
            put(&mut self.write[word], bit, interest.write);
        }
    }

    pub(super) fn remove(&mut self, fd: BorrowedFd<'_>) {
        self.set(fd, Interest::NONE);
    }

    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Event]> {
        self.events.clear();
        self.read_ready.clone_from(&self.read);
        self.write_ready.clone_from(&self.write);
        let mut time = timeout.map(|time| libc::timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = time.as_mut().map_or(core::ptr::null_mut(), core::ptr::from_mut);
        // SAFETY: both sets hold `end` bits in whole words, as the kernel reads and writes them; the
        // time is null or lives through the call; there is no third set and no signal mask.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_pselect6,
                self.end,
                self.read_ready.as_mut_ptr(),
                self.write_ready.as_mut_ptr(),
                core::ptr::null_mut::<u64>(),
                time,
                core::ptr::null::<u8>(),
            )
        };
        if ready < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                return Ok(&self.events);
            }
            return Err(error);
        }
        if ready > 0 {
            self.collect();
        }
        Ok(&self.events)
    }

    fn collect(&mut self) {
        for (n, (&read, &write)) in self.read_ready.iter().zip(&self.write_ready).enumerate() {
            let mut either = read | write;
            while either != 0 {
                let bit = either & either.wrapping_neg();
                either ^= bit;
                let at = n * BITS + bit.trailing_zeros() as usize;
                self.events.push(Event {
                    token: self.tokens[at],
                    readable: read & bit != 0,
                    writable: write & bit != 0,
                    ended: false,
                });
            }
        }
    }
}

fn number(fd: BorrowedFd<'_>) -> usize {
    fd.as_raw_fd().unsigned_abs() as usize
}

fn put(word: &mut u64, bit: u64, on: bool) {
    if on {
        *word |= bit;
    } else {
        *word &= !bit;
    }
}
