//! Seccomp: the system calls that a process may still make, decided by itself and never taken back
//! (seccomp(2)).
//!
//! The table below is all that a worker needs, and what its C library and its threads need. What is
//! in neither table fails with EPERM, which a worker takes for a refusal of the machine. What only
//! somebody else's code in a worker would call ends the process.

use std::io;

use libc::c_long;

use crate::page_cache::SYS_CACHESTAT;

/// Which calls a worker makes beside those that all make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Loops and threads: sockets and files by calls of their own.
    Calls,
    /// Rings: most of that by entries of the ring that was made before, which seccomp does not see.
    Ring,
    /// The same, where files leave by `sendfile`.
    RingAndSendfile,
}

/// Whether the kernel can do it.
///
/// # Errors
/// It cannot, or this program has no table for this kind of processor.
pub fn probe() -> io::Result<()> {
    if ARCHITECTURE == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let action = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the kernel reads one number.
    let done = unsafe {
        let get = libc::SECCOMP_GET_ACTION_AVAIL;
        libc::syscall(libc::SYS_seccomp, get, 0_u32, &raw const action)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// From now on the calling thread, and those that it starts, make no other calls.
///
/// # Errors
/// As [`probe`].
pub fn confine(kind: Kind) -> io::Result<()> {
    probe()?;
    let mut program = program(kind);
    crate::process::gain_nothing()?;
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, of the length given, before the call returns.
    let done = unsafe {
        let set = libc::SECCOMP_SET_MODE_FILTER;
        libc::syscall(libc::SYS_seccomp, set, 0_u32, &raw const filter)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Calls that all workers make.
const ALL: &[c_long] = &[
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Threads, and their end.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_membarrier,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    // Who it is, and what it has used.
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getrusage,
    libc::SYS_getuid,
    // Clocks and draws.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    // Files. Which ones is a matter of rights and of Landlock.
    SYS_CACHESTAT,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_eventfd2,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_mincore,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // Sockets: those that there are. None is made, bound or connected.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_listen,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // Waiting.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
];

/// The same under older names, which other processors never had.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_epoll_wait,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Of a ring it is only what it was asked for.
const SENDFILE: &[c_long] = &[libc::SYS_sendfile];

/// A ring is made before: another one could be told to do what this one cannot
/// ([`crate::ring::Ring`]).
const RING: &[c_long] = &[libc::SYS_io_uring_enter];

/// What no mistake of ours would call: whoever does so has taken the worker over.
const HOSTILE: &[c_long] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_setns,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setuid,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Which argument, what of its lower half, and what that has to be.
type Condition = (u32, u32, u32);

/// Gives the calls whose arguments decide: one is allowed where all conditions of a row of its own
/// hold. `process`: who is confined.
fn judged(process: u32, mut row: impl FnMut(c_long, &[Condition])) {
    const THREAD: u32 = libc::CLONE_THREAD as u32;
    const ITSELF: u32 = 0;
    // Of linux/resource.h; C libraries differ in its type.
    const PRIO_PROCESS: u32 = 0;
    // A thread and not a process, in no name space of its own.
    row(libc::SYS_clone, &[(0, THREAD | NAME_SPACES, THREAD)]);
    // Flags and copies of descriptors, and nothing by which the kernel would send a signal to
    // whoever is named: supervisor and workers are the same user.
    for command in [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC] {
        row(libc::SYS_fcntl, &[(1, u32::MAX, command as u32)]);
    }
    let flags = (1, u32::MAX, libc::F_SETFL as u32);
    row(libc::SYS_fcntl, &[flags, (2, libc::O_ASYNC as u32, 0)]);
    // No memory that can be run: all code is there by now.
    row(libc::SYS_mmap, &[(2, libc::PROT_EXEC as u32, 0)]);
    row(libc::SYS_mprotect, &[(2, libc::PROT_EXEC as u32, 0)]);
    // Its own name.
    row(libc::SYS_prctl, &[(0, u32::MAX, libc::PR_SET_NAME as u32)]);
    // Its own limits and nobody else's.
    row(libc::SYS_prlimit64, &[(0, u32::MAX, ITSELF)]);
    // The priority of its own thread, and of no process, group or user.
    for call in [libc::SYS_getpriority, libc::SYS_setpriority] {
        row(call, &[(0, u32::MAX, PRIO_PROCESS), (1, u32::MAX, ITSELF)]);
    }
    // Its own end, by abort(3), and not that of whoever supervises it as the same user.
    row(libc::SYS_tgkill, &[(0, u32::MAX, process)]);
}

const NAME_SPACES: u32 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS) as u32;

/// AUDIT_ARCH_* of linux/audit.h: a number of a call means something only with it.
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0
};

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
/// A C library then makes its threads by clone(2), whose flags can be judged.
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Where struct seccomp_data of linux/seccomp.h has the number of the call, the architecture, and
/// the lower half of the first argument; both processors of the table are little-endian.
const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
const AT_ARGUMENTS: u32 = 16;

/// The table as a program of the kernel's packet filter.
fn program(kind: Kind) -> Vec<libc::sock_filter> {
    let (load, same, give) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let op = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut all = vec![
        op(load, AT_ARCHITECTURE, 0),
        op(same, ARCHITECTURE, 1),
        op(libc::BPF_JMP | libc::BPF_JA, 1, 0),
        op(give, KILL, 0),
        op(load, AT_NUMBER, 0),
    ];
    let of_kind = match kind {
        Kind::Calls => vec![SENDFILE],
        Kind::Ring => vec![RING],
        Kind::RingAndSendfile => vec![RING, SENDFILE],
    };
    let allowed = [&[ALL, OLDER], &of_kind[..]].concat().concat();
    let rows = allowed.into_iter().map(|call| (call, ALLOW));
    let rows = rows.chain(HOSTILE.iter().map(|&call| (call, KILL)));
    for (call, action) in rows.chain([(libc::SYS_clone3, UNKNOWN)]) {
        all.extend([op(same, call as u32, 1), op(give, action, 0)]);
    }
    judged(std::process::id(), |call, conditions| {
        // What a condition has loaded is not the number any more.
        let skipped = conditions.len() as u8 * 3 + 1;
        all.extend([op(load, AT_NUMBER, 0), op(same, call as u32, skipped)]);
        for (n, &(argument, mask, expected)) in (1..).zip(conditions) {
            all.extend([
                op(load, AT_ARGUMENTS + argument * 8, 0),
                op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask, 0),
                op(same, expected, skipped - n * 3),
            ]);
        }
        all.push(op(give, ALLOW, 0));
    });
    all.push(op(give, REFUSE, 0));
    all
}
