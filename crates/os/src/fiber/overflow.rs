//! What becomes of a fiber whose stack is too small: its process ends, with a line. The library's
//! own handler knows stacks of threads alone, and would say nothing.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicUsize};

/// Where the arena lies, whose guards these are, and how far they are from each other. There is one
/// in a process that serves.
static BASE: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static STRIDE: AtomicUsize = AtomicUsize::new(1);
/// Where the line goes.
static TELLS: AtomicI32 = AtomicI32::new(2);

const LINE: &[u8] = b"weir: the stack of a fiber has overflowed; the process ends\n";

/// The stacks are there now, each above a guard.
pub(super) fn guards(base: usize, bytes: usize, stride: usize) {
    BASE.store(base, Relaxed);
    BYTES.store(bytes, Relaxed);
    STRIDE.store(stride, Relaxed);
}

/// From now on the overflow of a fiber of the calling thread is told there before the process ends.
/// The handler runs on the alternate stack that the thread has from the standard library.
///
/// # Errors
/// The machine refuses a handler.
pub fn tell_overflows(to: RawFd) -> io::Result<()> {
    TELLS.store(to, Relaxed);
    // SAFETY: all zero is an action: the default one.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler only reads words, writes to a descriptor and ends the process, which a
    // handler may.
    match unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes it to a handler that has asked for it, filled for this signal.
    let at = unsafe { (*info).si_addr() } as usize;
    let from_base = at.wrapping_sub(BASE.load(Relaxed));
    let is_guard = from_base < BYTES.load(Relaxed)
        && from_base % STRIDE.load(Relaxed) < rustix::param::page_size();
    if is_guard {
        // SAFETY: it writes constant bytes; whether it can is nobody's concern any more.
        unsafe { libc::write(TELLS.load(Relaxed), LINE.as_ptr().cast(), LINE.len()) };
    }
    // SAFETY: with the default action the fault, which comes again, ends the process.
    unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
}

/// Ends the process: what has happened must not be gone on from.
pub(super) fn end(why: &str) -> ! {
    eprintln!("weir: {why}");
    std::process::abort()
}
