//! The calling thread, and what waits between threads.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;

use measure::Duration;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::pread;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

pub use super::queue::{Queue, Took};
use crate::sharing::Descriptor;

thread_local! {
    static ID: Cell<u32> = const { Cell::new(0) };
}

/// The kernel's number of the calling thread; asked once.
#[must_use]
pub fn id() -> u32 {
    ID.with(|id| {
        if id.get() == 0 {
            id.set(gettid().as_raw_nonzero().get().cast_unsigned());
        }
        id.get()
    })
}

/// In a child: its only thread has the memory of the parent's, but another number.
pub(crate) fn forget_id() {
    ID.with(|id| id.set(0));
}

/// Names the calling thread, and the process if it is its first, for ps(1) and top(1). The kernel
/// keeps 15 bytes.
pub fn set_name(name: &str) {
    let bytes = name.bytes().take_while(|&b| b != 0).take(NAME_BYTES_MAX).collect::<Vec<u8>>();
    if let Ok(name) = std::ffi::CString::new(bytes) {
        // Refused only for memory that cannot be read.
        let _ = rustix::thread::set_name(&name);
    }
}

const NAME_BYTES_MAX: usize = 15;

/// Lets the calling thread's waits end when they are to: by default the kernel adds up to 50 µs, so
/// that several may end together (PR_SET_TIMERSLACK).
pub fn wake_exactly() {
    // Refused for no number.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Has the calling thread, and none else of its process, give way to others: by so much more than
/// it does, and by 10 it has a tenth of what they get (setpriority(2); POSIX would have it of the
/// whole process). Further than 19 there is nothing.
///
/// # Errors
/// Not known for a thread of one's own.
pub fn give_way(by: i32) -> io::Result<()> {
    Ok(setpriority_process(None, getpriority_process(None)?.saturating_add(by).min(19))?)
}

/// How many processors the calling thread may run on; at least 1.
#[must_use]
pub fn cpu_affinity_count() -> usize {
    // Refused on machines with more than 1,024 processors.
    let count = sched_getaffinity(None).map_or(1024, |cpus| cpus.count());
    count.max(1) as usize
}

/// The numbers of the processors that the calling thread may run on, upwards.
///
/// # Errors
/// The machine has more than 1,024.
pub fn processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect())
}

/// Has the calling thread run on these processors alone.
///
/// # Errors
/// None of them is there, or may be used.
pub fn stay_on(processors: &[usize]) -> io::Result<()> {
    let mut allowed = CpuSet::new();
    for &number in processors.iter().filter(|number| **number < CpuSet::MAX_CPU) {
        allowed.set(number);
    }
    Ok(sched_setaffinity(None, &allowed)?)
}

/// For how long the calling thread has run, in its own code and in the kernel's for it.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Both are never negative, and the second is less than a second.
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// What the scheduler knows of the thread that has opened it, for as long as that lives.
#[derive(Debug)]
pub struct Schedule(Option<Descriptor>);

impl Schedule {
    /// Of the calling thread. Where there is no /proc, or may not be, less is known.
    #[must_use]
    pub fn open() -> Self {
        let (path, flags) = ("/proc/thread-self/schedstat", OFlags::RDONLY | OFlags::CLOEXEC);
        Self(Descriptor::by(|| openat(CWD, path, flags, Mode::empty())).ok())
    }

    /// Of nobody.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// For how long the thread, which has to be the calling one, has not slept: it has run, or was
    /// ready to while others ran or a quota was used up. Of the latter nothing is known without
    /// /proc.
    #[must_use]
    pub fn awake(&self) -> Duration {
        // Three numbers; the second is the time in a run queue, in nanoseconds.
        let mut bytes = [0; 64];
        let read = self.0.as_ref().and_then(|file| pread(file, &mut bytes, 0).ok());
        let text = str::from_utf8(&bytes[..read.unwrap_or_default()]).unwrap_or_default();
        let ready = text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok());
        // The first one is only as new as the last tick.
        cpu_time() + Duration::from_nanos(ready.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_and_names() {
        let here = id();
        assert_eq!(here, id());
        let there = std::thread::spawn(|| {
            for (name, kept) in [("short", "short"), ("longer than fifteen", "longer than fif")] {
                set_name(name);
                assert_eq!(rustix::thread::name().unwrap().to_str(), Ok(kept));
            }
            id()
        });
        assert_ne!(here, there.join().unwrap());
        assert!(cpu_affinity_count() >= 1);
    }

    #[test]
    fn a_thread_gives_way_by_itself() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let there = std::thread::spawn(move || {
            give_way(1).unwrap();
            let once = niceness();
            give_way(40).unwrap();
            (once, niceness())
        });
        assert_eq!((there.join().unwrap(), niceness()), (((before + 1).min(19), 19), before));
    }

    #[test]
    fn a_thread_runs_where_it_may() {
        let all = processors().unwrap();
        assert_eq!(all.len(), cpu_affinity_count());
        for number in all {
            let there = std::thread::spawn(move || {
                stay_on(&[number]).unwrap();
                (processors().unwrap(), cpu_time())
            });
            let (there, ran) = there.join().unwrap();
            assert!(there == [number] && ran > Duration::ZERO, "{there:?}, {ran:?}");
        }
        stay_on(&[]).unwrap_err();
    }

    #[test]
    fn who_sleeps_is_not_awake() {
        let schedule = Schedule::open();
        assert!(schedule.0.is_some());
        let begun = std::time::Instant::now();
        let before = schedule.awake();
        let slept = std::time::Duration::from_millis(50);
        std::thread::sleep(slept);
        let awake = schedule.awake() - before;
        let passed = begun.elapsed();
        assert!(awake > Duration::ZERO && awake + slept <= passed, "{awake:?} of {passed:?}");
        assert!(Schedule::none().awake() > Duration::ZERO);
    }
}
