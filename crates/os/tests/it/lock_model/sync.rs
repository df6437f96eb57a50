//! What the lock sleeps at, made of loom's.

use loom::sync::atomic::AtomicU32;
pub(crate) use loom::sync::atomic::Ordering;
use loom::sync::{Condvar, Mutex};

/// A word at which threads sleep: as the kernel does it, looking at the word and going to sleep are
/// one step to whoever wakes.
#[derive(Default)]
pub(crate) struct Futex {
    word: AtomicU32,
    sleepers: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    pub(crate) fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    pub(crate) fn swap(&self, new: u32, order: Ordering) -> u32 {
        self.word.swap(new, order)
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.word.compare_exchange(current, new, success, failure)
    }

    pub(crate) fn wait(&self, expected: u32) {
        let asleep = self.sleepers.lock().expect("nobody has panicked");
        // The kernel's load is ordered with those who have woken others before.
        if self.word.load(Ordering::SeqCst) == expected {
            drop(self.woken.wait(asleep).expect("nobody has panicked"));
        }
    }

    pub(crate) fn wake(&self, most: i32) {
        let asleep = self.sleepers.lock().expect("nobody has panicked");
        if most == 1 {
            self.woken.notify_one();
        } else {
            self.woken.notify_all();
        }
        drop(asleep);
    }
}
