//! A lock in memory that processes share. Its word says who has it, so that whoever buries a
//! process knows whether it has died with the lock.
//!
//! The C library's robust mutex has its owner set free by the kernel, which finds it by the number
//! of the thread. A process that was made by a bare clone(2) has its parent's number noted there,
//! so that its death would never be seen.
//!
//! Who dies, and when, and what becomes of the lock:
//!
//! - before it has the lock: nothing, but that the bit for those who wait may be set without need.
//! - with the lock: nobody gets it until the keeper takes it over ([`Lock::take_from`]), mends what
//!   it guards, and lets it go.
//! - between letting go and waking: the lock is free, and who sleeps is not told. Whoever takes it
//!   meanwhile does not know of him either.
//! - woken, and not yet awake: the one wake-up that there was is lost with it.
//!
//! The last two cannot be told from the first by anybody. So after each death the keeper wakes all
//! ([`Lock::wake_all`]): each looks at the word again, and takes the lock, or sets the bit and goes
//! back to sleep.

use super::sync::{Futex, Ordering};

/// Free where it is zero. Owners are numbers from 1.
#[derive(Default)]
#[repr(transparent)]
pub(super) struct Lock {
    word: Futex,
}

/// Who has it.
const OWNER: u32 = 0xffff;
/// Somebody sleeps, or might.
const WAITERS: u32 = 1 << 31;

impl Lock {
    /// Waits for it.
    pub(super) fn lock(&self, me: u16) {
        let mut waiters = 0;
        while !self.take(me, waiters) {
            self.wait();
            // Who has slept does not know whether others still do.
            waiters = WAITERS;
        }
    }

    /// Takes it if it is free. `waiters`: whether somebody may sleep.
    pub(super) fn take(&self, me: u16, waiters: u32) -> bool {
        let mine = u32::from(me) | waiters;
        self.word.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Sleeps, unless it has become free, until somebody wakes.
    pub(super) fn wait(&self) {
        let seen = self.word.load(Ordering::Relaxed);
        if seen & OWNER == 0 {
            return;
        }
        let waited = seen | WAITERS;
        let (told, not_told) = (Ordering::Relaxed, Ordering::Relaxed);
        if seen == waited || self.word.compare_exchange(seen, waited, told, not_told).is_ok() {
            self.word.wait(waited);
        }
    }

    /// Lets it go.
    pub(super) fn unlock(&self, me: u16) {
        debug_assert!(self.is_held_by(me), "one's own lock");
        if self.release() {
            self.word.wake(1);
        }
    }

    /// Whether somebody is to be woken.
    pub(super) fn release(&self) -> bool {
        self.word.swap(0, Ordering::Release) & WAITERS != 0
    }

    /// Whether it is with this owner.
    pub(super) fn is_held_by(&self, owner: u16) -> bool {
        self.word.load(Ordering::Relaxed) & OWNER == owner.into()
    }

    /// Takes it over from a process that has died with it; `false`: it had not.
    pub(super) fn take_from(&self, dead: u16, me: u16) -> bool {
        let mine = u32::from(me) | WAITERS;
        // Those who come meanwhile set a bit, once.
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            if seen & OWNER != dead.into() {
                return false;
            }
            let (taken, not_taken) = (Ordering::Acquire, Ordering::Relaxed);
            if self.word.compare_exchange(seen, mine, taken, not_taken).is_ok() {
                return true;
            }
        }
    }

    /// Has all who sleep look at it again.
    pub(super) fn wake_all(&self) {
        self.word.wake(i32::MAX);
    }
}
