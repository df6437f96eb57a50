//! select(2): the set is a bit for each descriptor, handed to the kernel whole, each time.
//!
//! The library's `fd_set` ends at 1,024; the kernel's does not, so the call is made without the
//! library, with as many bits as there are descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use measure::Duration;

use super::{Event, Interest, timespec};

#[derive(Default)]
pub(super) struct Select {
    /// What is asked.
    asked: Bits,
    /// The kernel's answer, over a copy of the question.
    ready: Bits,
    /// By descriptor.
    tokens: Vec<Option<u64>>,
}

/// One bit for each descriptor, in words of the kernel's size; both of one length.
#[derive(Default)]
struct Bits {
    read: Vec<libc::c_ulong>,
    write: Vec<libc::c_ulong>,
}

const WORD_BITS: usize = libc::c_ulong::BITS as usize;

impl Select {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn add(&mut self, fd: BorrowedFd<'_>, token: u64, interest: Interest) {
        let at = fd.as_raw_fd() as usize;
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, None);
            let words = (at + 1).div_ceil(WORD_BITS);
            self.asked.resize(words);
            self.ready.resize(words);
        }
        self.tokens[at] = Some(token);
        self.asked.set(at, interest);
    }

    /// `false`: it is not there.
    pub(super) fn set(&mut self, fd: BorrowedFd<'_>, interest: Interest) -> bool {
        let at = fd.as_raw_fd() as usize;
        let known = self.tokens.get(at).is_some_and(Option::is_some);
        if known {
            self.asked.set(at, interest);
        }
        known
    }

    pub(super) fn remove(&mut self, fd: BorrowedFd<'_>) {
        if self.set(fd, Interest::NONE) {
            self.tokens[fd.as_raw_fd() as usize] = None;
        }
    }

    pub(super) fn wait(
        &mut self,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let words = self.asked.words();
        self.ready.copy(&self.asked, words);
        let mut bits = self.ready.select(words, timeout)?;
        // The kernel says how many bits are set, so the search may end with the last.
        for (n, (&read, &write)) in self.ready.read.iter().zip(&self.ready.write).enumerate() {
            if bits == 0 {
                break;
            }
            bits -= (read.count_ones() + write.count_ones()) as usize;
            let mut both = read | write;
            while both != 0 {
                let bit = both.trailing_zeros() as usize;
                both &= both - 1;
                let is_set = |word: libc::c_ulong| word >> bit & 1 != 0;
                let Some(token) = self.tokens[n * WORD_BITS + bit] else { continue };
                let (readable, writable) = (is_set(read), is_set(write));
                events.push(Event { token, readable, writable, ended: false });
            }
        }
        Ok(())
    }
}

impl Bits {
    fn resize(&mut self, words: usize) {
        self.read.resize(words, 0);
        self.write.resize(words, 0);
    }

    fn set(&mut self, at: usize, interest: Interest) {
        let (word, bit) = (at / WORD_BITS, 1 << (at % WORD_BITS));
        let put =
            |word: &mut libc::c_ulong, on| *word = if on { *word | bit } else { *word & !bit };
        put(&mut self.read[word], interest.read);
        put(&mut self.write[word], interest.write);
    }

    /// How many words there are up to the last bit that is set.
    fn words(&self) -> usize {
        let words = self.read.iter().zip(&self.write);
        words.rev().position(|(read, write)| read | write != 0).map_or(0, |n| self.read.len() - n)
    }

    fn copy(&mut self, from: &Self, words: usize) {
        self.read[..words].copy_from_slice(&from.read[..words]);
        self.write[..words].copy_from_slice(&from.write[..words]);
        // Answers of an earlier, longer question.
        self.read[words..].fill(0);
        self.write[words..].fill(0);
    }

    /// Leaves the bits of what is ready, and says how many there are.
    fn select(&mut self, words: usize, timeout: Option<Duration>) -> io::Result<usize> {
        assert!(words <= self.read.len() && words <= self.write.len(), "words beyond the sets");
        let mut timeout = timespec(timeout);
        let timeout = timeout.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let none = std::ptr::null_mut::<libc::c_ulong>();
        // SAFETY: the kernel reads and writes `words` words of each set, which both have, and the
        // timeout; all outlive the call. The sets of exceptions and of signals are left out.
        let found = unsafe {
            libc::syscall(
                libc::SYS_pselect6,
                words * WORD_BITS,
                self.read.as_mut_ptr(),
                self.write.as_mut_ptr(),
                none,
                timeout,
                none,
            )
        };
        if found < 0 { Err(io::Error::last_os_error()) } else { Ok(found as usize) }
    }
}
