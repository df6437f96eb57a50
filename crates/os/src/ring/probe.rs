//! Whether rings can be used here.

use std::io;
use std::time::Duration;

use super::buffers::Buffers;
use super::kernel::Kernel;
use super::settings::{RingSettings, SetUp, Sockets};

/// The smallest that shows all.
const SETTINGS: RingSettings = RingSettings {
    entries: 8,
    completions: 16,
    buffers: 8,
    buffer_bytes: 64,
    handles: 8,
    sockets: Sockets::Direct,
    set_up: SetUp::Deferred,
};

/// Whether a ring can be made here and has all that [`super::Ring`] needs. Takes a fraction of a
/// millisecond.
///
/// # Errors
/// Says in words what is in the way: the kernel, its configuration, a sandbox or a limit.
pub fn probe() -> io::Result<()> {
    let kernel = Kernel::open(&SETTINGS).map_err(explain)?;
    if let Some(missing) = kernel.missing().map_err(explain)? {
        let text = format!("io_uring of this kernel lacks {missing}; Linux 6.8 has all");
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    Buffers::new(&kernel, SETTINGS.buffers, SETTINGS.buffer_bytes).map_err(explain)?;
    kernel.enable().map_err(explain)
}

/// Whether the kernel polls rings here. Its thread, which counts as one of the process, has ended
/// when this returns: that takes a few milliseconds.
///
/// # Errors
/// As [`probe`].
pub fn probe_polled() -> io::Result<()> {
    let before = threads()?;
    let settings = RingSettings { set_up: SetUp::Polled, ..SETTINGS };
    Kernel::open(&settings).and_then(|kernel| kernel.enable()).map_err(explain)?;
    for _ in 0..ENDS_WITHIN_MS {
        if threads()? <= before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// A ring that is closed is taken down later, by a worker of the kernel.
const ENDS_WITHIN_MS: u32 = 2000;

fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// The error of a system call, with what it means for io_uring.
pub(super) fn explain(error: io::Error) -> io::Error {
    let meaning = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has no io_uring, or a sandbox hides it",
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here: see kernel.io_uring_disabled and seccomp filters"
        }
        Some(libc::EINVAL) => "io_uring of this kernel is too old; Linux 6.8 has all",
        Some(libc::ENOMEM) => "io_uring finds no memory: RLIMIT_MEMLOCK may be too small",
        Some(libc::EMFILE | libc::ENFILE) => "io_uring finds no descriptor: raise RLIMIT_NOFILE",
        _ => "io_uring cannot be used",
    };
    io::Error::new(error.kind(), format!("{meaning} ({error})"))
}
