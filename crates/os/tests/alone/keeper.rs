//! A process that keeps what others share, starts them and buries them.
#![allow(dead_code, reason = "each test takes what it needs")]

pub(crate) mod goods;

use std::panic::{AssertUnwindSafe, catch_unwind};

use os::process::{self, Exit, Fork, Pid, SingleThreaded};
use os::sharing::{Members, Orphans, Shape, Store, descriptors};
use os::{SharedWords, limits};
use rustix::process::{
    Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process, setrlimit, waitid,
};

pub(crate) const SHAPE: Shape = Shape { members: 4, words: 32, blocks: 64, units: 512 };

/// Few enough for orphans to be looked for in one step.
const DESCRIPTORS: u64 = 512;

pub(crate) struct Keeper {
    pub(crate) alone: SingleThreaded,
    pub(crate) members: Members,
    pub(crate) store: Store,
    pub(crate) orphans: Orphans,
    /// What processes tell each other.
    pub(crate) words: SharedWords,
    /// Descriptors that were open before there were others.
    open: u64,
}

/// Does something as a keeper, in a process of its own: a process is one only once.
pub(crate) fn keep(does: fn(Keeper)) {
    let fork = process::fork().unwrap();
    let Fork::Parent(pid) = fork else {
        let done = catch_unwind(|| does(Keeper::new()));
        process::exit(i32::from(done.is_err()));
    };
    assert_eq!(exit_of(pid), Exit::Status(0), "see above");
}

impl Keeper {
    fn new() -> Self {
        process::die_with_parent();
        let limit = Rlimit { current: Some(DESCRIPTORS), ..getrlimit(Resource::Nofile) };
        setrlimit(Resource::Nofile, limit).unwrap();
        let alone = SingleThreaded::counted().unwrap();
        let words = SharedWords::new(8).unwrap();
        descriptors::share(&alone, SHAPE.members).unwrap();
        let store = Store::new(&SHAPE).unwrap();
        let members = Members::new(SHAPE.members);
        let open = limits::open_descriptors().unwrap();
        Self { alone, members, store, orphans: Orphans::default(), words, open }
    }

    /// Starts one that does this and ends, well if it does not panic.
    pub(crate) fn start(&mut self, number: u16, live: impl FnOnce(&Self)) -> Pid {
        match self.members.start(&self.alone, number).unwrap() {
            Fork::Parent(pid) => pid,
            Fork::Child => {
                process::die_with_parent();
                let done = catch_unwind(AssertUnwindSafe(|| live(self)));
                process::exit(i32::from(done.is_err()))
            }
        }
    }

    /// Clears up behind one that has ended; whether it had the store's lock.
    pub(crate) fn bury(&mut self, pid: Pid) -> bool {
        let had_lock = self.begin_to_bury(pid);
        self.find_orphans();
        self.store.lock().blocks().check().unwrap();
        had_lock
    }

    /// The same, and leaves orphans to be found.
    pub(crate) fn begin_to_bury(&mut self, pid: Pid) -> bool {
        let dead = self.members.dead(pid).unwrap().expect("a member that has ended");
        descriptors::bury(&dead);
        let emptied = self.store.bury(&dead).unwrap();
        self.orphans.look();
        emptied.is_some()
    }

    pub(crate) fn find_orphans(&mut self) {
        while !self.orphans.step() {
            std::thread::yield_now();
        }
    }

    /// Kills one that lives, or stands still.
    pub(crate) fn kill(&mut self, pid: Pid) -> bool {
        process::kill(pid).unwrap();
        assert_eq!(exit_of(pid), Exit::Killed(9));
        self.bury(pid)
    }

    /// Waits until one has ended well.
    pub(crate) fn see_off(&mut self, pid: Pid) {
        assert_eq!(exit_of(pid), Exit::Status(0));
        self.bury(pid);
    }

    /// As many descriptors are open as in the beginning.
    pub(crate) fn assert_nothing_is_left(&self, beside: u64) {
        assert_eq!(limits::open_descriptors().unwrap(), self.open + beside);
    }
}

/// Waits until a process has ended.
pub(crate) fn exit_of(pid: Pid) -> Exit {
    let status = waitid(WaitId::Pid(raw(pid)), WaitIdOptions::EXITED).unwrap().expect("a process");
    match status.terminating_signal() {
        Some(signal) => Exit::Killed(signal),
        None => Exit::Status(status.exit_status().unwrap()),
    }
}

/// Waits until a process stands still; it has to, and not to end.
pub(crate) fn wait_for_stop(pid: Pid) {
    let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(raw(pid)), either).unwrap().expect("a process");
    assert!(status.stopped(), "it has not come to its stop: {status:?}");
    // So that the same stop is told once.
    waitid(WaitId::Pid(raw(pid)), WaitIdOptions::STOPPED).unwrap();
}

/// Whether a process stands still.
pub(crate) fn has_stopped(pid: Pid) -> bool {
    state_of(pid) == Some('T')
}

/// Waits until a process sleeps in the kernel: for the lock, if it does nothing else that waits.
pub(crate) fn wait_until_asleep(pid: Pid) {
    while state_of(pid) != Some('S') {
        std::thread::yield_now();
    }
}

/// Of proc_pid_stat(5): behind its name, which may hold anything.
fn state_of(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next()?.chars().next()
}

/// Lets one go on that stands still.
pub(crate) fn resume(pid: Pid) {
    kill_process(raw(pid), Signal::CONT).unwrap();
}

fn raw(pid: Pid) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(pid.to_string().parse().unwrap()).unwrap()
}
