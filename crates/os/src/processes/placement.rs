//! Where a program runs: in which network namespace, on which processors, under which limits.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::io::retry_on_intr;
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};

use crate::process;

/// What a program joins before it starts; by default nothing but what its parent is in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// The file of a network namespace, as in /run/netns.
    pub namespace: Option<PathBuf>,
    /// The numbers of the processors that it may use; none: those of its parent.
    pub processors: Vec<usize>,
    /// The directories of control groups.
    pub groups: Vec<PathBuf>,
    /// Whether it runs before all others (SCHED_FIFO, the lowest of its priorities). A quota of a
    /// control group does not bind it then.
    pub is_urgent: bool,
}

impl Placement {
    /// A command that runs there, in a process group of its own, and is killed when the calling
    /// thread ends; it does not run if the calling process has ended meanwhile. It is for the
    /// calling process to start.
    ///
    /// # Errors
    /// The namespace or a group is not there, or may not be joined. That a processor is not there
    /// is found when the command starts (`InvalidInput`).
    pub fn command(&self, program: impl AsRef<OsStr>) -> io::Result<Command> {
        let namespace = self.namespace.as_ref().map(File::open).transpose()?;
        let open =
            |group: &PathBuf| OpenOptions::new().write(true).open(group.join("cgroup.procs"));
        let groups = self.groups.iter().map(open).collect::<io::Result<Vec<File>>>()?;
        let mut processors = CpuSet::new();
        for &number in self.processors.iter().filter(|number| **number < CpuSet::MAX_CPU) {
            processors.set(number);
        }
        let has_processors = !self.processors.is_empty();
        let is_urgent = self.is_urgent;
        let parent = process::id();
        let join = move || {
            // What its parent reads from a descriptor has its usual effect on it.
            crate::signals::block_none()?;
            for group in &groups {
                // The calling process, in both versions of control groups.
                retry_on_intr(|| rustix::io::write(group, b"0"))?;
            }
            if let Some(namespace) = &namespace {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind)?;
            }
            if has_processors {
                sched_setaffinity(None, &processors)?;
            }
            if is_urgent {
                be_urgent(URGENT)?;
            }
            let with = Some(rustix::process::Signal::KILL);
            rustix::process::set_parent_process_death_signal(with)?;
            if process::parent() != parent {
                // It ended before that, and nobody is there to be told of an error.
                // SAFETY: ends the process; runs no code of it.
                unsafe { libc::_exit(1) }
            }
            Ok(())
        };
        let mut command = Command::new(program);
        command.process_group(0);
        // SAFETY: between fork and exec it only makes system calls on descriptors and memory that
        // were made before: it allocates nothing and takes no lock.
        unsafe { command.pre_exec(join) };
        Ok(command)
    }
}

/// Whether a program may be urgent that runs where this one does: tried by a thread.
///
/// # Errors
/// It may not (CAP_SYS_NICE, or a control group without time for such tasks), or there can be no
/// thread.
pub fn may_be_urgent() -> io::Result<()> {
    let thread = std::thread::Builder::new().spawn(|| be_urgent(URGENT))?;
    thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Has the calling thread, and what it starts from then on, run before all that is urgent too: it
/// stands for something that needs no processor, as a disk.
///
/// # Errors
/// As [`may_be_urgent`].
pub fn go_before_urgent() -> io::Result<()> {
    be_urgent(URGENT + 1)
}

/// The lowest of its priorities.
const URGENT: i32 = 1;

/// The calling thread, and what it starts from then on.
fn be_urgent(sched_priority: i32) -> io::Result<()> {
    let how = libc::sched_param { sched_priority };
    // SAFETY: the kernel reads one structure, which lives during the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_runs_where_it_was_placed() {
        let placement = Placement { processors: vec![0], ..Placement::default() };
        let out = placement.command("cat").unwrap().arg("/proc/self/status").output().unwrap();
        let status = String::from_utf8(out.stdout).unwrap();
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed_list"));
        assert_eq!(allowed, Some("Cpus_allowed_list:\t0"));
    }

    #[test]
    fn who_may_be_urgent_is() {
        let policy = |stat: &str| {
            let fields = stat.rsplit(')').next().unwrap_or_default();
            fields.split_whitespace().nth(38).map(String::from)
        };
        let placement = Placement { is_urgent: true, ..Placement::default() };
        let out = placement.command("cat").unwrap().arg("/proc/self/stat").output();
        match may_be_urgent() {
            Ok(()) => {
                let stat = String::from_utf8(out.unwrap().stdout).unwrap();
                assert_eq!(policy(&stat).as_deref(), Some("1"), "{stat}");
            }
            Err(refused) => assert_eq!(out.unwrap_err().kind(), refused.kind()),
        }
        // It was tried by a thread that is gone.
        let own = fs::read_to_string("/proc/thread-self/stat").unwrap();
        assert_eq!(policy(&own).as_deref(), Some("0"), "{own}");
    }

    #[test]
    fn signals_that_the_parent_takes_have_their_effect_on_it() {
        let taken = crate::Signals::take(&[crate::Signal::Term]).unwrap();
        let mut command = Placement::default().command("sh").unwrap();
        let out = command.args(["-c", "kill -TERM $$; echo alive"]).output().unwrap();
        taken.release().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "");
    }

    #[test]
    fn what_is_not_there_is_told_at_once() {
        let nowhere = PathBuf::from("/nowhere");
        for placement in [
            Placement { namespace: Some(nowhere.clone()), ..Placement::default() },
            Placement { groups: vec![nowhere], ..Placement::default() },
        ] {
            let error = placement.command("true").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{placement:?}");
        }
        let placement = Placement { processors: vec![1023], ..Placement::default() };
        let error = placement.command("true").unwrap().spawn().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
