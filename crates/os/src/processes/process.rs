//! Processes: fork, wait, kill, end.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use measure::Duration;
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{WaitOptions, WaitStatus};

use super::alone;
pub use super::alone::SingleThreaded;
pub use super::still::stand_still;
use crate::Signal;
pub use crate::thread::set_name;

/// The number of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pid(rustix::process::Pid);

/// On which side of a fork the caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The one that was there before, with the number of the other.
    Parent(Pid),
    /// The new one.
    Child,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By a signal of this number.
    Killed(i32),
}

/// In a child: who forked it.
static FORKED_BY: AtomicU32 = AtomicU32::new(0);

/// Forks.
///
/// # Errors
/// No memory, a limit on processes, or no /proc to count threads by.
///
/// # Panics
/// The process has more than one thread ([`SingleThreaded`]), or shares with others what the child
/// would have a copy of ([`crate::sharing`]).
pub fn fork() -> io::Result<Fork> {
    assert!(!alone::shares(), "whoever shares what is his with others does not fork");
    // SAFETY: see there.
    parted(&SingleThreaded::counted()?, || unsafe { libc::fork() }.into())
}

/// As [`fork`], but the child shares the caller's table of descriptors (CLONE_FILES of clone(2)):
/// see [`crate::sharing::Members::start`].
///
/// # Errors
/// No memory, or a limit on processes.
pub(crate) fn clone_sharing_descriptors(alone: &SingleThreaded) -> io::Result<Fork> {
    let flags = libc::c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    let none = 0 as libc::c_long;
    // SAFETY: the child has memory of its own, a copy of this, and goes on with a copy of this
    // stack; else see there.
    parted(alone, || unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) })
}

/// Has the process parted by a call that comes back in both. The only thread calls, so that the
/// child's memory is in a state that this thread has left it in: no lock is held by a thread that
/// is not there.
fn parted(_: &SingleThreaded, part: impl FnOnce() -> libc::c_long) -> io::Result<Fork> {
    // What is buffered would be written by both.
    io::stdout().flush()?;
    let parent = id();
    match part() {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            FORKED_BY.store(parent, Ordering::Relaxed);
            crate::thread::forget_id();
            Ok(Fork::Child)
        }
        child => {
            let child = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw);
            Ok(Fork::Parent(Pid(child.ok_or(io::ErrorKind::InvalidData)?)))
        }
    }
}

/// Starts a program that inherits these descriptors, with one variable more in its environment.
///
/// # Errors
/// There is no such program, it is none, no memory, or a limit on processes.
pub fn spawn(
    program: &Path,
    arguments: impl IntoIterator<Item = OsString>,
    (name, value): (&str, &str),
    kept: &[BorrowedFd<'_>],
) -> io::Result<Pid> {
    let numbers: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    let inherit = move || {
        for &number in &numbers {
            // SAFETY: no memory is touched; the descriptor is open, as `kept` is borrowed until the
            // program runs.
            if unsafe { libc::fcntl(number, libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    let mut command = Command::new(program);
    command.args(arguments).env(name, value);
    // SAFETY: between fork and exec it allocates nothing and takes no lock.
    let child = unsafe { command.pre_exec(inherit) }.spawn()?;
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed());
    Ok(Pid(pid.ok_or(io::ErrorKind::InvalidData)?))
}

/// Buries a child that has ended; `None`: none has.
///
/// # Errors
/// None that is known.
pub fn wait_any_exited() -> io::Result<Option<(Pid, Exit)>> {
    match retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG)) {
        Ok(Some((pid, status))) => Ok(Some((Pid(pid), Exit::from(status)))),
        Ok(None) | Err(Errno::CHILD) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Buries a child that has ended; it may be another's, or still there.
///
/// # Errors
/// None that is known.
pub fn wait_exited(pid: Pid) -> io::Result<()> {
    match retry_on_intr(|| rustix::process::waitpid(Some(pid.0), WaitOptions::NOHANG)) {
        Ok(_) | Err(Errno::CHILD) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Whether a child has ended, which is buried then; one that was buried before has, too.
///
/// # Errors
/// None that is known.
pub(crate) fn has_ended(child: Pid) -> io::Result<bool> {
    match retry_on_intr(|| rustix::process::waitpid(Some(child.0), WaitOptions::NOHANG)) {
        Ok(ended) => Ok(ended.is_some()),
        Err(Errno::CHILD) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

/// Buries all children of a group that have ended; the group is named by its first process.
///
/// # Errors
/// None that is known.
pub fn wait_group_exited(leader: Pid) -> io::Result<()> {
    loop {
        match retry_on_intr(|| rustix::process::waitpgid(leader.0, WaitOptions::NOHANG)) {
            Ok(Some(_)) => {}
            Ok(None) | Err(Errno::CHILD) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}

/// From now on this process is the parent of all that descend from it and whose own parent has
/// ended (PR_SET_CHILD_SUBREAPER), and has to bury them.
///
/// # Errors
/// None that is known.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Whether it is ([`adopt_orphans`]).
#[must_use]
pub fn adopts_orphans() -> bool {
    rustix::process::child_subreaper().is_ok_and(|adopter| adopter.is_some())
}

/// Ends a process at once (SIGKILL), unless it has ended.
///
/// # Errors
/// It is somebody else's.
pub fn kill(pid: Pid) -> io::Result<()> {
    match rustix::process::kill_process(pid.0, rustix::process::Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Sends a process a signal.
///
/// # Errors
/// There is no such process, or it is somebody else's.
pub fn signal(pid: Pid, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid.0, signal.raw())?)
}

/// Sends every process of a group a signal; the group is named by its first process.
///
/// # Errors
/// There is no such group, or all of it is somebody else's.
pub fn signal_group(leader: Pid, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process_group(leader.0, signal.raw())?)
}

/// Ends every process of a group at once (SIGKILL), if there is any.
///
/// # Errors
/// All of it is somebody else's.
pub fn kill_group(leader: Pid) -> io::Result<()> {
    match rustix::process::kill_process_group(leader.0, rustix::process::Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Whether a process is stopped by a signal: state T of proc(5). `false` where that cannot be told.
#[must_use]
pub fn is_stopped(id: u32) -> bool {
    // The name, which may have any bytes, stands in brackets before the state.
    let stat = crate::read_file(Path::new(&format!("/proc/{id}/stat")), STAT_BYTES_MAX);
    let stat = stat.unwrap_or_default();
    let behind = stat.iter().rposition(|byte| *byte == b')').map(|end| &stat[end + 1..]);
    matches!(behind, Some([b' ', b'T', ..]))
}

/// More than the numbers of a process take.
const STAT_BYTES_MAX: usize = 4096;

/// In a child: from now on the kernel kills it when its parent ends. Ends it here if that has
/// happened already.
pub fn die_with_parent() {
    let with = Some(rustix::process::Signal::KILL);
    // Refused only for a number that is no signal.
    let _ = rustix::process::set_parent_process_death_signal(with);
    let forked_by = FORKED_BY.load(Ordering::Relaxed);
    if forked_by != 0 && parent() != forked_by {
        exit(1);
    }
}

/// Closes all descriptors but the standard ones and these: what a child of [`fork`] has of its
/// parent's and does not need. Whoever owns one of the others must not use it again, as a child
/// that leaves by [`exit`] and not by returning does not.
///
/// # Errors
/// The kernel is older than Linux 5.9, or forbids it.
pub fn keep_only(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().map(|fd| fd.cast_unsigned()).collect();
    kept.extend(0..3);
    kept.sort_unstable();
    kept.dedup();
    let ends = kept.iter().skip(1).copied().chain([u32::MAX]);
    for (from, end) in kept.iter().map(|fd| fd + 1).zip(ends).filter(|(from, end)| from < end) {
        let last = if end == u32::MAX { end } else { end - 1 };
        // SAFETY: takes numbers only; what becomes of the owners of descriptors is said above.
        if unsafe { libc::syscall(libc::SYS_close_range, from, last, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The calling thread, and what it starts, gains no rights any more by running a program
/// (PR_SET_NO_NEW_PRIVS): the kernel wants this before anybody but root confines himself.
pub(crate) fn gain_nothing() -> io::Result<()> {
    // Asked of the kernel once and remembered: later it might not be asked any more.
    rustix::param::page_size();
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Ends the process without running destructors, which are the parent's in a child. What was
/// printed is written first.
pub fn exit(status: i32) -> ! {
    // Nobody is left to be told of a failure.
    let _ = io::stdout().flush();
    // SAFETY: ends the process; runs no code of it.
    unsafe { libc::_exit(status) }
}

/// Context switches that all threads of the calling process have had, those that have ended too:
/// because they waited, and because others were to run.
#[must_use]
pub fn switches() -> (u64, u64) {
    let usage = usage();
    (usage.ru_nvcsw.cast_unsigned(), usage.ru_nivcsw.cast_unsigned())
}

/// For how long all threads of the calling process have run, those that have ended too: in their
/// own code and in the kernel's for them.
#[must_use]
pub fn cpu_time() -> Duration {
    let usage = usage();
    let spans = [usage.ru_utime, usage.ru_stime];
    // The kernel's are never negative, and a second has a million microseconds.
    let span = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.cast_unsigned())
            + Duration::from_micros(time.tv_usec.cast_unsigned())
    };
    spans.map(span).into_iter().sum()
}

/// For how long all threads of a process have run, those that have ended too; its children count
/// for themselves.
///
/// # Errors
/// There is no such process.
pub fn cpu_time_of(pid: Pid) -> io::Result<Duration> {
    // MAKE_PROCESS_CPUCLOCK of linux/posix-timers_types.h, for the scheduler's own count
    // (CPUCLOCK_SCHED): the number of the process, inverted, above three bits.
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    let clock = (!pid.0.as_raw_nonzero().get() << 3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one structure, which outlives the call.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = Duration::from_secs(time.tv_sec.cast_unsigned());
    Ok(seconds + Duration::from_nanos(time.tv_nsec.cast_unsigned()))
}

/// What the calling process has used.
fn usage() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes at most one structure, to memory that outlives the call; of zeros
    // alone it is a valid one too. Who asks about himself is never refused.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

/// Whether two processes have one table of descriptors (kcmp(2)).
///
/// # Errors
/// One of them is gone, or not this user's to ask about, or the kernel was built without it.
pub fn share_descriptors(one: Pid, other: Pid) -> io::Result<bool> {
    // Of linux/kcmp.h.
    const KCMP_FILES: libc::c_int = 2;
    let (one, other) = (one.0.as_raw_nonzero().get(), other.0.as_raw_nonzero().get());
    // SAFETY: takes numbers only.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0_usize, 0_usize) } {
        -1 => Err(io::Error::last_os_error()),
        order => Ok(order == 0),
    }
}

/// The calling process.
#[must_use]
pub fn id() -> u32 {
    std::process::id()
}

/// The calling process's parent; 0 where that is outside of what this process can see.
#[must_use]
pub fn parent() -> u32 {
    let parent = rustix::process::getppid();
    parent.map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned())
}

impl Pid {
    /// The process of this number; `None` for 0, and for more than there can be.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        let number = i32::try_from(number).ok().filter(|number| *number > 0)?;
        rustix::process::Pid::from_raw(number).map(Self)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_raw_nonzero().fmt(f)
    }
}

impl From<WaitStatus> for Exit {
    fn from(status: WaitStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Killed(signal),
            None => Self::Status(status.exit_status().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "ended with status {status}"),
            Self::Killed(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}
