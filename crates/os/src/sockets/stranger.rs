//! A process that need not be a child: its number may be another one's by the time it is killed, a
//! descriptor of it never is (pidfd_open(2)).

use std::io;
use std::os::fd::OwnedFd;

use measure::Duration;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::poller::readable::is_readable;

/// One process, whatever its number is used for later.
#[derive(Debug)]
pub struct Stranger {
    fd: OwnedFd,
}

impl Stranger {
    /// The process that has this number now; `None`: none has.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn of(number: u32) -> io::Result<Option<Self>> {
        let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            // The number of a thread, or it ended.
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Ends it at once (SIGKILL), unless it has ended.
    ///
    /// # Errors
    /// It is somebody else's.
    pub fn kill(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.fd, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether it ends within this time. It has ended also when its parent has not yet asked how.
    ///
    /// # Errors
    /// No memory.
    pub fn has_ended(&self, within: Duration) -> io::Result<bool> {
        is_readable(&self.fd, Some(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_is_killed_once() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stranger = Stranger::of(child.id()).unwrap().unwrap();
        assert!(!stranger.has_ended(Duration::ZERO).unwrap());
        stranger.kill().unwrap();
        assert!(stranger.has_ended(Duration::from_secs(60)).unwrap());
        child.wait().unwrap();
        stranger.kill().unwrap();
        for nobody in [child.id(), 0, u32::MAX] {
            assert!(Stranger::of(nobody).unwrap().is_none(), "{nobody}");
        }
    }
}
