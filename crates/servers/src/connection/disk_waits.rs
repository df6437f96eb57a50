//! How long a thread that performs has waited for disks.
//!
//! Two things are known, and neither alone will do. What may wait for a disk is timed: loads in
//! place, and what a loop sends from files. In that time a thread also computes and is kept from
//! running, by others or by a quota. The scheduler knows how long a loop's thread has slept; beside
//! waiting for events it sleeps for disks, but on some kernels the time of interrupts and what a
//! hypervisor has stolen look like sleep. So each second counts with the smaller of both. It is
//! rather too little: what is computed while events are asked for counts as waiting for them.
//!
//! Of fibers nothing is told: workers wait for the disk in their place, and nobody behind them.
//! What a fiber sends itself the kernel has told to be in memory.
//!
//! A thread that holds one connection sleeps for its client, too, and a send of a file that blocks
//! does not tell for whom. There only loads are timed, less what is computed in them.

use measure::{Duration, Instant};
use os::thread::{Schedule, cpu_time};

/// Those of one thread.
pub(crate) struct DiskWaits<'s> {
    of: Of<'s>,
    /// What may have waited for a disk, since it was last told.
    timed: Duration,
}

/// Whose they are.
enum Of<'s> {
    /// A thread that holds one connection.
    Thread,
    /// A fiber, or the thread they run on.
    Fiber,
    /// A loop, as it was when it was last told.
    Loop {
        schedule: &'s Schedule,
        /// The second of the wall clock.
        second: u64,
        at: Instant,
        awake: Duration,
        /// Since then.
        for_events: Duration,
    },
}

/// Something that may wait for a disk has begun.
pub(crate) struct Begun {
    at: Instant,
    cpu: Duration,
}

impl<'s> DiskWaits<'s> {
    pub(crate) fn of_thread() -> Self {
        Self { of: Of::Thread, timed: Duration::ZERO }
    }

    pub(crate) fn of_fiber() -> Self {
        Self { of: Of::Fiber, timed: Duration::ZERO }
    }

    /// The calling thread's, of which the scheduler is asked.
    pub(crate) fn of_loop(schedule: &'s Schedule) -> Self {
        let (at, awake) = (os::clock::monotonic(), schedule.awake());
        let of = Of::Loop { schedule, second: 0, at, awake, for_events: Duration::ZERO };
        Self { of, timed: Duration::ZERO }
    }

    pub(crate) fn begin(&self) -> Begun {
        Begun { at: os::clock::monotonic(), cpu: self.computed() }
    }

    pub(crate) fn end(&mut self, begun: &Begun) {
        let took = os::clock::monotonic() - begun.at;
        self.timed += took.saturating_sub(self.computed().saturating_sub(begun.cpu));
    }

    /// Events were waited for, or asked for.
    pub(crate) fn asked_for_events(&mut self, took: Duration) {
        if let Of::Loop { for_events, .. } = &mut self.of {
            *for_events += took;
        }
    }

    /// What is to be counted since it was last told: of a loop once a second.
    pub(crate) fn told(&mut self, now_second: u64) -> Duration {
        if matches!(self.of, Of::Fiber) {
            return Duration::ZERO;
        }
        if let Of::Loop { schedule, second, at, awake, for_events } = &mut self.of {
            if *second == now_second {
                return Duration::ZERO;
            }
            let (now, now_awake) = (os::clock::monotonic(), schedule.awake());
            let asleep = (now - *at).saturating_sub(now_awake.saturating_sub(*awake));
            self.timed = self.timed.min(asleep.saturating_sub(*for_events));
            (*second, *at, *awake, *for_events) = (now_second, now, now_awake, Duration::ZERO);
        }
        core::mem::take(&mut self.timed)
    }

    /// A loop asks for that only once a second: it costs a call. A thread pays two for each load,
    /// which makes five calls and more.
    fn computed(&self) -> Duration {
        match self.of {
            Of::Thread => cpu_time(),
            Of::Loop { .. } | Of::Fiber => Duration::ZERO,
        }
    }
}
