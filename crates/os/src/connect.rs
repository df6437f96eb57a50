//! The client's end of a connection: made without waiting.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt;

use crate::Socket;
use crate::listener::{family, stream_socket};

impl Socket {
    /// Begins to connect over TCP, from an address of this machine if one is given, and does not
    /// wait. `true`: it is connected already; otherwise it becomes writable when it is, or when it
    /// has failed, and [`Self::connected`] tells which.
    ///
    /// # Errors
    /// `AddrNotAvailable` when no port is left, or the address is not this machine's; what the
    /// kernel knows of the way or the peer at once; EMFILE and ENFILE, see
    /// [`crate::is_out_of_descriptors`].
    pub fn connect(to: SocketAddr, from: Option<IpAddr>) -> io::Result<(Self, bool)> {
        let fd = stream_socket(family(&to))?;
        if let Some(from) = from {
            bind_without_port(&fd)?;
            rustix::net::bind(&fd, &SocketAddr::new(from, 0))?;
        }
        match rustix::net::connect(&fd, &to) {
            Ok(()) => Ok((Self::from(fd), true)),
            // Interrupted, it goes on all the same.
            Err(Errno::INPROGRESS | Errno::INTR) => Ok((Self::from(fd), false)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether what [`Self::connect`] began has come to its end.
    ///
    /// # Errors
    /// It has failed: refused, timed out, no way there.
    pub fn connected(&self) -> io::Result<bool> {
        sockopt::socket_error(self.as_fd())??;
        Ok(rustix::net::getpeername(self.as_fd()).is_ok())
    }
}

/// The port is chosen when it connects: until then it would be taken for every peer, so that at
/// most as many connections were possible as there are ports (IP_BIND_ADDRESS_NO_PORT, for both
/// families).
fn bind_without_port(fd: &OwnedFd) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the kernel reads one integer, which outlives the call.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            std::ptr::from_ref(&yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
