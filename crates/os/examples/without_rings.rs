//! Runs a program in a sandbox that forbids io_uring, as that of many containers does:
//! `without_rings PROGRAM [ARGUMENT]...`. For tests.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

fn main() {
    forbid_rings();
    let mut words = env::args_os().skip(1);
    let program = words.next().expect("a program to run");
    let error = Command::new(&program).args(words).exec();
    panic!("{}: {error}", program.display());
}

/// A filter of system calls (seccomp(2)): io_uring_setup fails with EPERM, all others are allowed.
fn forbid_rings() {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    // The number of the call is the first word of what a filter looks at.
    let mut filter = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, refusal),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls take numbers and a program that outlives them; the kernel copies it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(done, "seccomp: {}", std::io::Error::last_os_error());
}
