//! What system calls are for, by the categories of JAWS97 table 2.

use serde::{Deserialize, Serialize};

/// The tasks of the table, in its order, and one more.
///
/// The paper has `poll` among the calls that read requests. Asking for events is a task of its own
/// here: it is a phase of its own in the event-driven servers that came after (Brecht04's
/// getevents-phase), and most of its time is waiting. Whoever compares with the paper adds it to
/// [`Task::Reading`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// `open`, `close`, `stat`, etc.: names, descriptors, and what files hold.
    Files,
    /// `write`, `writev`, `ioctl`, etc.: to a client.
    Writing,
    /// `read`, `getmsg`, etc.: from a client; accepting him, too.
    Reading,
    /// `poll`, `epoll_wait`, etc.
    Events,
    /// `sigaction`, `sigsetmask`, etc.
    Signals,
    /// `lwp_mutex_lock`, etc.: futexes today, which are called only when somebody has to wait.
    Synchronization,
    /// `fork`, `execve`, `waitid`, `exit`, etc.
    Processes,
    /// `time`, `getuid`, etc.: sockets' options and memory, too.
    Miscellaneous,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Files,
        Self::Writing,
        Self::Reading,
        Self::Events,
        Self::Signals,
        Self::Synchronization,
        Self::Processes,
        Self::Miscellaneous,
    ];

    /// As a table says it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Files => "file operations",
            Self::Writing => "writing files",
            Self::Reading => "reading requests",
            Self::Events => "event notification",
            Self::Signals => "signal handling",
            Self::Synchronization => "synchronization",
            Self::Processes => "process control",
            Self::Miscellaneous => "miscellaneous",
        }
    }

    /// Of a call by its name.
    pub(super) fn of(name: &str) -> Self {
        let row =
            TASKS.iter().find(|(_, names)| names.split_ascii_whitespace().any(|one| one == name));
        row.map_or(Self::Miscellaneous, |(task, _)| *task)
    }
}

/// What is not here is miscellaneous. `pread` and its like name a place in a file, so that they
/// never read from a client.
const TASKS: &[(Task, &str)] = &[
    (
        Task::Files,
        "open openat openat2 creat close close_range stat fstat lstat newfstatat statx \
         statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents \
         getdents64 getcwd chdir fchdir name_to_handle_at open_by_handle_at lseek dup \
         dup2 dup3 fcntl flock fadvise64 readahead fsync fdatasync sync_file_range \
         ftruncate truncate fallocate rename renameat renameat2 unlink unlinkat link \
         linkat symlink symlinkat mkdir mkdirat rmdir chmod fchmod fchmodat chown fchown \
         fchownat utimensat umask memfd_create inotify_add_watch inotify_rm_watch \
         getxattr fgetxattr pread64 preadv preadv2 pwrite64 pwritev pwritev2 \
         copy_file_range mincore msync cachestat",
    ),
    (Task::Writing, "write writev ioctl sendfile splice tee vmsplice sendto sendmsg sendmmsg"),
    (Task::Reading, "read readv recvfrom recvmsg recvmmsg accept accept4"),
    (
        // Entering a ring hands in work and does some of it, reading and writing included, before
        // it waits; the kernel does not tell these apart by calls.
        Task::Events,
        "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait \
         epoll_pwait epoll_pwait2 eventfd eventfd2 io_uring_setup io_uring_enter \
         io_uring_register io_getevents io_submit timerfd_create \
         timerfd_settime timerfd_gettime",
    ),
    (
        Task::Signals,
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend \
         rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack signalfd signalfd4 \
         kill tkill tgkill pidfd_send_signal alarm setitimer getitimer pause \
         restart_syscall",
    ),
    (
        Task::Synchronization,
        "futex futex_waitv set_robust_list get_robust_list membarrier semop semtimedop \
         semget semctl sched_yield",
    ),
    (
        Task::Processes,
        "fork vfork clone clone3 execve execveat exit exit_group wait4 waitid prctl \
         arch_prctl setpgid setsid setuid setgid setgroups setpriority sched_setaffinity \
         sched_getaffinity sched_setscheduler set_tid_address rseq prlimit64 setrlimit \
         pidfd_open unshare setns seccomp landlock_create_ruleset landlock_add_rule \
         landlock_restrict_self",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_tasks() {
        for (name, task) in [
            ("openat", Task::Files),
            ("sendfile", Task::Writing),
            ("recvfrom", Task::Reading),
            ("epoll_wait", Task::Events),
            ("rt_sigprocmask", Task::Signals),
            ("futex", Task::Synchronization),
            ("clone3", Task::Processes),
            ("setsockopt", Task::Miscellaneous),
            ("call 9999", Task::Miscellaneous),
        ] {
            assert_eq!(Task::of(name), task, "{name}");
        }
    }

    #[test]
    fn each_call_has_one_task() {
        let mut names: Vec<&str> =
            TASKS.iter().flat_map(|(_, names)| names.split_ascii_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for name in names {
            let numbers = 0..1024;
            let is_known = numbers.into_iter().any(|number| os::calls::name(number) == Some(name));
            assert!(is_known || cfg!(not(target_arch = "x86_64")), "{name}");
        }
        for task in Task::ALL {
            assert!(task == Task::Miscellaneous || TASKS.iter().any(|(of, _)| *of == task));
        }
    }
}
