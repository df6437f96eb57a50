use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// That this process had a single thread. A child has one thread, whatever its parent had: locks
/// that others held would never be let go.
///
/// Threads are counted in /proc, which a process that is confined does not see any more. So this is
/// had before, and whoever keeps it starts no threads after that.
#[derive(Debug)]
pub struct SingleThreaded(());

/// Whether this process shares with others what a fork would copy.
static SHARES: AtomicBool = AtomicBool::new(false);

impl SingleThreaded {
    /// Counts the threads of this process.
    ///
    /// # Errors
    /// There is no /proc.
    ///
    /// # Panics
    /// It has more than one.
    pub fn counted() -> io::Result<Self> {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        assert_eq!(threads, 1, "only a process with a single thread may fork");
        Ok(Self(()))
    }
}

/// From now on this process does not fork: a copy of it would act on what is shared in its name.
pub(crate) fn shares_from_now_on() {
    SHARES.store(true, Relaxed);
}

/// Whether it may not.
pub(crate) fn shares() -> bool {
    SHARES.load(Relaxed)
}
