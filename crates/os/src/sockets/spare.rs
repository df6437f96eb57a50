use std::io;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::retry_on_intr;

use crate::sharing::Descriptor;
use crate::{Blocking, Listener};

/// A descriptor kept for the day that none is left.
///
/// A connection that waits while it cannot be accepted keeps its listening socket readable, and
/// the loop busy with nothing. So the spare one is given up, the connection accepted with it and
/// closed, and the spare one taken again.
#[derive(Debug)]
pub struct SpareDescriptor {
    kept: Option<Descriptor>,
}

impl SpareDescriptor {
    /// Sets one aside.
    ///
    /// # Errors
    /// None is left already.
    pub fn new() -> io::Result<Self> {
        Ok(Self { kept: Some(take()?) })
    }

    /// Turns away the connection that has waited longest; `false`: none waited, or another thread
    /// was faster to take the descriptor.
    pub fn refuse(&mut self, listener: &Listener) -> bool {
        self.kept = None;
        let refused = listener.accept(Blocking::No).is_ok();
        // If another thread has just taken it there will be none next time, unless one comes free.
        self.kept = take().ok();
        refused
    }
}

fn take() -> io::Result<Descriptor> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = || retry_on_intr(|| openat(CWD, "/dev/null", flags, Mode::empty()));
    Ok(Descriptor::by(open)?)
}
