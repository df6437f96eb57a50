use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::{Blocking, Listener};

/// A descriptor kept for the moment when there is no other, so that whoever waits to be accepted
/// can be turned away instead of making the loop spin.
#[derive(Debug)]
pub struct SpareDescriptor(Option<OwnedFd>);

impl SpareDescriptor {
    /// Takes one.
    ///
    /// # Errors
    /// None is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Some(null()?)))
    }

    /// Gives it up for one connection, which is accepted and closed, and takes it back; whether
    /// there was such a connection.
    pub fn refuse(&mut self, listener: &Listener) -> bool {
        self.0 = None;
        let refused = listener.accept(Blocking::No).is_ok();
        self.0 = null().ok();
        refused
    }
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}
