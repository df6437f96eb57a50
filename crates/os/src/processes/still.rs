use rustix::process::getpid;
use rustix::thread::gettid;

/// The calling process stands still until SIGCONT lets it go on.
pub fn stand_still() {
    // Not by raise(3): the number that the C library has of the thread is not right in all that
    // were cloned. Nor by kill(2), which a process that is confined may not call.
    let (process, thread) = (getpid().as_raw_nonzero().get(), gettid().as_raw_nonzero().get());
    // SAFETY: takes numbers only; what the signal does is not up to this process.
    let _ = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGSTOP) };
}
