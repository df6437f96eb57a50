use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use measure::Duration;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use crate::File;

/// A connected stream socket; closed when dropped.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// The kernel's bound on one sendfile(2).
const SENDFILE_MAX: u64 = 0x7fff_f000;

impl Socket {
    /// Receives what is there; 0 is the peer's FIN.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there, or the socket's timeout has passed; see
    /// [`is_peer_gone`](crate::is_peer_gone) for the others.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (n, _) =
            retry_on_intr(|| rustix::net::recv(&self.0, &mut *buffer, RecvFlags::empty()))?;
        Ok(n)
    }

    /// Sends as much as goes; `more` says that the rest of the answer follows at once.
    ///
    /// # Errors
    /// As [`Socket::recv`].
    pub fn send(&self, bytes: &[u8], more: bool) -> io::Result<usize> {
        let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
        Ok(retry_on_intr(|| rustix::net::send(&self.0, bytes, flags))?)
    }

    /// Sends up to `n` bytes of a file from `at`; 0 means that the file ends there.
    ///
    /// # Errors
    /// As [`Socket::recv`]; also those of the disk.
    pub fn send_file(&self, file: &File, at: u64, n: u64) -> io::Result<u64> {
        let most = n.min(SENDFILE_MAX) as usize;
        let sent = retry_on_intr(|| rustix::fs::sendfile(&self.0, file, Some(&mut { at }), most))?;
        Ok(sent as u64)
    }

    /// Sends FIN.
    ///
    /// # Errors
    /// The peer has already gone.
    pub fn shutdown_write(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, Shutdown::Write)?)
    }

    /// Ends receiving: whoever waits for bytes receives an end.
    ///
    /// # Errors
    /// The peer has already gone.
    pub fn shutdown_read(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, Shutdown::Read)?)
    }

    /// How long a blocking receive or send waits before it says `WouldBlock`.
    ///
    /// # Errors
    /// A time of zero.
    pub fn set_timeouts(&self, recv: Option<Duration>, send: Option<Duration>) -> io::Result<()> {
        sockopt::set_socket_timeout(&self.0, Timeout::Recv, recv)?;
        Ok(sockopt::set_socket_timeout(&self.0, Timeout::Send, send)?)
    }

    /// The peer's address; none on a Unix socket, or when the peer has gone.
    #[must_use]
    pub fn peer_ip(&self) -> Option<IpAddr> {
        let address = rustix::net::getpeername(&self.0).ok()??;
        std::net::SocketAddr::try_from(address).ok().map(|address| address.ip())
    }

    /// The descriptor's number: small, and no other open descriptor has it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.as_raw_fd().unsigned_abs()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Socket {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

/// No descriptor is left, in the process or in the machine.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// No buffer is left for a receive through a ring.
#[must_use]
pub fn is_out_of_buffers(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOBUFS)
}

/// The peer reset the connection, closed it, or cannot be reached any more.
#[must_use]
pub fn is_peer_gone(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::CONNRESET
                | Errno::PIPE
                | Errno::NOTCONN
                | Errno::TIMEDOUT
                | Errno::CONNABORTED
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
        )
    )
}
