//! Processes: fork, wait, kill.

use core::fmt;
use std::io;

use rustix::process::{WaitOptions, WaitStatus};

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pid(rustix::process::Pid);

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Fork {
    /// The parent, with its child.
    Parent(Pid),
    /// The child.
    Child,
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub struct Exit(WaitStatus);

/// Makes a copy of this process.
///
/// # Errors
/// The machine has no room for another; or this process has other threads, of which a copy would
/// have the locks and not the threads.
pub fn fork() -> io::Result<Fork> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    // SAFETY: there is one thread, so no lock is held by another and the child may do whatever the
    // parent may.
    match unsafe { libc::fork() } {
        0 => {
            crate::thread::forget_id();
            Ok(Fork::Child)
        }
        pid => match rustix::process::Pid::from_raw(pid) {
            Some(pid) if !pid.is_init() => Ok(Fork::Parent(Pid(pid))),
            _ => Err(io::Error::last_os_error()),
        },
    }
}

/// Lets the kernel kill this process when its parent dies.
pub fn die_with_parent() {
    let signal = Some(rustix::process::Signal::KILL);
    // A kernel without it leaves the process to be ended by hand.
    let _ = rustix::process::set_parent_process_death_signal(signal);
}

/// A child that has ended, if one has.
///
/// # Errors
/// Never, but for a kernel out of its mind.
pub fn wait_any_exited() -> io::Result<Option<(Pid, Exit)>> {
    match rustix::process::wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => Ok(Some((Pid(pid), Exit(status)))),
        Ok(None) | Err(rustix::io::Errno::CHILD) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Ends a process at once.
///
/// # Errors
/// It is somebody else's.
pub fn kill(pid: Pid) -> io::Result<()> {
    match rustix::process::kill_process(pid.0, rustix::process::Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// This process's number.
#[must_use]
pub fn id() -> u32 {
    std::process::id()
}

/// Ends this process without running what a parent has registered for its own end.
pub fn exit(status: i32) -> ! {
    // SAFETY: _exit takes any number, runs nothing and does not return.
    unsafe { libc::_exit(status) }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_raw_nonzero())
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.exit_status(), self.0.terminating_signal()) {
            (Some(status), _) => write!(f, "ended with status {status}"),
            (_, Some(signal)) => write!(f, "was killed by signal {signal}"),
            _ => write!(f, "ended"),
        }
    }
}
