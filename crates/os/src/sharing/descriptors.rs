//! Who has which number of a table of descriptors that processes share.
//!
//! Where processes have one table the kernel closes nothing when one of them dies. So each number
//! has a word that says whose it is, and the keeper closes what a dead one had ([`bury`]). Words
//! of numbers that are nobody's count, too, how often they were noted or cleared.
//!
//! A number is made by a call and noted after it, and its note is cleared before it is closed: in
//! between it is open, and nobody's. So both are done inside of a window: a word of the process
//! that is odd meanwhile. Two things follow, for all who live:
//!
//! - Whose number is open and nobody's, he is inside of a window.
//! - When a window ends in which a number was made, its word has changed; when one ends in which a
//!   number was closed, it is closed.
//!
//! A process that dies there leaves a number that may stay open for ever; [`super::Orphans`] are
//! those, and its file says how they are told from those of the living. Who dies, and when:
//!
//! - before the call that makes a number, or after it was closed: nothing is left.
//! - between the call and the note, or between the clearing and the close: an orphan.
//! - while the number is noted: [`bury`] closes it.
//!
//! In all other processes there is no such table, and [`super::Descriptor`] costs one load.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::owner::{self, Dead, MEMBERS_MAX, Owner};
use super::stops::{self, Stop};
use crate::SharedWords;
use crate::processes::alone::{self, SingleThreaded};

static TABLE: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());

/// Threads of a process that make or close descriptors at the same time without waiting for each
/// other: a loop, and those that write logs.
const WINDOWS: usize = 4;

/// Descriptors that a table has at most: as many as a process by fs.nr_open, unless somebody has
/// changed that. Each takes 8 bytes, and a call when it is looked for.
const NUMBERS_MAX: u64 = 1 << 20;

/// From now on this process is the keeper of its table of descriptors, for as long as it lives:
/// what it starts by [`super::Members::start`] shares it, at most so many processes. What is open
/// is the keeper's. There are as many descriptors as the limit is now, and no more than 1,048,576.
/// They are made by the types of this crate from now on, in all of these processes: others would be
/// taken for what a dead one has left, and closed.
///
/// # Errors
/// No memory; `InvalidInput` for no process at all, or more than numbers are for.
///
/// # Panics
/// It is already.
pub fn share(_alone: &SingleThreaded, members: u16) -> io::Result<()> {
    assert!(!are_shared(), "the table is shared");
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(NUMBERS_MAX);
    let table = Table::new(limit.min(NUMBERS_MAX) as usize, members)?;
    for number in (0..).take(table.words.len()).filter(|number| is_open(*number)) {
        table.note(number, Owner::me());
    }
    alone::shares_from_now_on();
    // It is never taken back: descriptors may be dropped until the process ends.
    TABLE.store(Box::into_raw(Box::new(table)), Release);
    Ok(())
}

/// Whether this process shares its table of descriptors with others.
#[must_use]
pub fn are_shared() -> bool {
    shared().is_some()
}

/// Closes all that a dead process had. What it was making or closing just then is left to
/// [`super::Orphans`], which have to look again.
pub fn bury(dead: &Dead<'_>) {
    let Some(table) = shared() else { return };
    table.end_windows(dead.number());
    for number in (0..).take(table.words.len()) {
        if table.owner(number) == Owner::of(dead.number()) {
            table.note(number, Owner::me());
            table.close(number, Owner::me());
        }
    }
}

/// The table of this process and others; `None`: it has its own.
#[inline]
pub(super) fn shared() -> Option<&'static Table> {
    // Relaxed: it is set while the process has one thread, and threads that start later see it.
    let table = TABLE.load(Relaxed);
    // SAFETY: it is null, or a table that is never freed.
    unsafe { table.as_ref() }
}

/// A word for each number, and windows of each process: in memory of all.
pub(super) struct Table {
    /// Whose it is, and above that how often it has changed.
    words: SharedWords,
    windows: SharedWords,
}

/// Bits of a word that say whose it is.
const OWNER_BITS: u32 = u16::BITS;

/// Being inside of a call that makes or closes a descriptor.
struct Window<'t>(&'t AtomicU64);

impl Table {
    fn new(numbers: usize, members: u16) -> io::Result<Self> {
        if members == 0 || members > MEMBERS_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let windows = SharedWords::new((usize::from(members) + 1) * WINDOWS)?;
        Ok(Self { words: SharedWords::new(numbers)?, windows })
    }

    /// Makes a descriptor, which is the calling process's from then on.
    pub(super) fn make<E: From<Errno>>(
        &self,
        make: impl FnOnce() -> Result<OwnedFd, E>,
    ) -> Result<OwnedFd, E> {
        let _window = self.window();
        let fd = make()?;
        stops::here(Stop::Made);
        // Somebody has raised the limit since, and there is no word for it.
        let is_known = self.note(fd.as_raw_fd(), Owner::me());
        if is_known { Ok(fd) } else { Err(Errno::MFILE.into()) }
    }

    /// Closes a number, if it is this owner's, who gives it up.
    pub(super) fn close(&self, number: RawFd, owner: Owner) {
        if self.owner(number) != owner {
            return;
        }
        let _window = self.window();
        self.note(number, Owner::NOBODY);
        stops::here(Stop::Cleared);
        // SAFETY: its owner has it open and does not use it any more.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
        stops::here(Stop::Closed);
    }

    /// Says whose an open number is; `false`: there is no word for it. Only its owner does so, or
    /// who has made it: so nobody else changes the word meanwhile.
    pub(super) fn note(&self, number: RawFd, owner: Owner) -> bool {
        let Some(word) = self.word(number) else { return false };
        let changes = (word.load(Relaxed) >> OWNER_BITS) + 1;
        word.store(changes << OWNER_BITS | u64::from(owner.bits()), Release);
        true
    }

    /// Whose it is; nobody's, too, where there is no word for it.
    pub(super) fn owner(&self, number: RawFd) -> Owner {
        let word = self.word(number).map_or(0, |word| word.load(Acquire));
        Owner::from_bits(word as u16)
    }

    /// The word of a number that is open and nobody's.
    pub(super) fn unowned(&self, number: RawFd) -> Option<u64> {
        // First the word: had it been noted since, it would differ from what is told here.
        let word = self.word(number)?.load(Acquire);
        let is_unowned = Owner::from_bits(word as u16) == Owner::NOBODY;
        (is_unowned && is_open(number)).then_some(word)
    }

    /// All that are of this owner.
    pub(super) fn all_of(&self, owner: Owner) -> impl Iterator<Item = RawFd> {
        (0..).take(self.words.len()).filter(move |number| self.owner(*number) == owner)
    }

    pub(super) fn numbers(&self) -> usize {
        self.words.len()
    }

    /// Windows that somebody is in, each with what tells it from a later one.
    pub(super) fn open_windows(&self) -> Vec<(usize, u64)> {
        let all = self.windows.iter().map(|word| word.load(Acquire)).enumerate();
        all.filter(|(_, word)| word % 2 == 1).collect()
    }

    /// Whether somebody still is in such a window.
    pub(super) fn is_open_window(&self, (at, word): (usize, u64)) -> bool {
        self.windows[at].load(Acquire) == word
    }

    fn word(&self, number: RawFd) -> Option<&AtomicU64> {
        self.words.get(usize::try_from(number).ok()?)
    }

    fn window(&self) -> Window<'_> {
        let all = self.windows_of(owner::number());
        loop {
            for word in all {
                let seen = word.load(Relaxed);
                let is_free = seen % 2 == 0;
                // Released, so that nobody sees what is done inside of it before it is open.
                if is_free && word.compare_exchange(seen, seen + 1, AcqRel, Relaxed).is_ok() {
                    return Window(word);
                }
            }
            // More threads than usual are at it, each for the length of a call.
            std::thread::yield_now();
        }
    }

    fn windows_of(&self, number: u16) -> &[AtomicU64] {
        let first = usize::from(number) * WINDOWS;
        &self.windows[first..first + WINDOWS]
    }

    /// Nobody is in those of a dead process any more.
    fn end_windows(&self, dead: u16) {
        for word in self.windows_of(dead) {
            let seen = word.load(Relaxed);
            word.store(seen.next_multiple_of(2), Release);
        }
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }
}

fn is_open(number: RawFd) -> bool {
    // SAFETY: no memory is touched; the kernel judges whether the number stands for anything.
    unsafe { libc::fcntl(number, libc::F_GETFD) >= 0 }
}
