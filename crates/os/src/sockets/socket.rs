use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, sockopt,
};

use super::socket_diag;
use crate::File;
use crate::sharing::Descriptor;

/// A connected stream socket, TCP or Unix; closed when dropped.
#[derive(Debug)]
pub struct Socket {
    fd: Descriptor,
}

/// What one sendfile(2) transfers at most: the kernel cuts there.
const SEND_FILE_MAX: u64 = 0x7fff_f000;

impl Socket {
    /// Receives up to `buffer.len()` bytes; 0: the peer has sent FIN.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing, or nothing came within the receive timeout; or the
    /// connection's own error.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = retry_on_intr(|| {
            rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::empty()).map(|(n, _)| n)
        });
        Ok(received?)
    }

    /// As [`Self::recv`], but does not wait, also where the socket does.
    ///
    /// # Errors
    /// As [`Self::recv`].
    #[inline]
    pub fn recv_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = retry_on_intr(|| {
            rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT).map(|(n, _)| n)
        });
        Ok(received?)
    }

    /// Sends the beginning of `bytes`, as much as fits; `more`: more follows at once, so a packet
    /// that is not full is held back (MSG_MORE).
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits, or nothing went within the send timeout; or the
    /// connection's own error.
    #[inline]
    pub fn send(&self, bytes: &[u8], more: bool) -> io::Result<usize> {
        let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
        Ok(retry_on_intr(|| rustix::net::send(&self.fd, bytes, flags))?)
    }

    /// As [`Self::send`], but does not wait, also where the socket does.
    ///
    /// # Errors
    /// As [`Self::send`].
    #[inline]
    pub fn send_now(&self, bytes: &[u8], more: bool) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let flags = if more { flags | SendFlags::MORE } else { flags };
        Ok(retry_on_intr(|| rustix::net::send(&self.fd, bytes, flags))?)
    }

    /// Waits until there is something to receive, or if `sends` room for bytes; whether there is
    /// something to receive, `false` also after the timeout or a signal.
    ///
    /// # Errors
    /// No memory.
    pub fn is_readable_first(&self, sends: bool, timeout: Option<Duration>) -> io::Result<bool> {
        let flags = if sends { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut watched = [PollFd::new(&self.fd, flags)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) => Ok(!(watched[0].revents() - PollFlags::OUT).is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits until there is room for bytes, or an error to be told; `false` after the timeout or a
    /// signal.
    ///
    /// # Errors
    /// No memory.
    pub fn is_writable(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.fd, PollFlags::OUT)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) => Ok(!watched[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Sends up to `n` bytes of a file, from byte `at` on, without copying them (sendfile(2)); 0:
    /// the file ends at or before `at`. If the peer is gone it raises SIGPIPE, which Rust's library
    /// has ignored before main(), and [`crate::Signals::take`] again.
    ///
    /// # Errors
    /// As [`Self::send`], and the disk's.
    #[inline]
    pub fn send_file(&self, file: &File, at: u64, n: u64) -> io::Result<u64> {
        let n = n.min(SEND_FILE_MAX) as usize;
        let sent = retry_on_intr(|| {
            let mut at = at;
            rustix::fs::sendfile(&self.fd, file, Some(&mut at), n)
        });
        Ok(sent? as u64)
    }

    /// Sends FIN, after what was sent before.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn shutdown_write(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.fd, Shutdown::Write)?)
    }

    /// Makes a receive that waits in another thread end, as if the peer had sent FIN.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn shutdown_read(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.fd, Shutdown::Read)?)
    }

    /// Both of the above.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn shutdown_both(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.fd, Shutdown::Both)?)
    }

    /// How long a receive waits before it fails with `WouldBlock`. Less than a microsecond counts
    /// as one.
    ///
    /// # Errors
    /// None that is known.
    pub fn set_receive_timeout(&self, timeout: Duration) -> io::Result<()> {
        // The kernel takes zero for no timeout at all.
        let timeout = timeout.max(Duration::from_micros(1));
        Ok(sockopt::set_socket_timeout(&self.fd, sockopt::Timeout::Recv, Some(timeout))?)
    }

    /// Makes the close drop what was not sent yet and tell the peer by a reset.
    pub fn reset_on_close(&self) {
        // Refused only for what is no socket.
        let _ = sockopt::set_socket_linger(&self.fd, Some(Duration::ZERO));
    }

    /// Who is at the other end; `None` on a Unix socket and for a connection that is gone.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        let peer = rustix::net::getpeername(&self.fd).ok()??;
        SocketAddr::try_from(peer).ok()
    }

    /// The other end's address; IPv4 as such, also when it came through a socket for both.
    #[must_use]
    pub fn peer_ip(&self) -> Option<IpAddr> {
        self.peer().map(|peer| peer.ip().to_canonical())
    }

    /// The user who made the connection, if it was made on this machine: on a Unix socket, or over
    /// TCP from this network namespace.
    #[must_use]
    pub fn peer_user(&self) -> Option<u32> {
        match self.peer() {
            Some(peer) => {
                let own = rustix::net::getsockname(&self.fd).ok()?;
                socket_diag::user_of(peer, SocketAddr::try_from(own).ok()?).ok()
            }
            None => self.unix_peer_user(),
        }
    }

    fn unix_peer_user(&self) -> Option<u32> {
        // Where the kernel knows of nobody, or of a process that cannot be seen from here, it gives
        // that no number, for which rustix has no form.
        const NOBODY: u32 = u32::MAX;
        let mut peer = libc::ucred { pid: 0, uid: NOBODY, gid: NOBODY };
        let mut bytes = size_of_val(&peer) as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: the kernel writes at most `bytes` to a structure that outlives the call.
        let done = unsafe {
            let (of, into) = (libc::SO_PEERCRED, (&raw mut peer).cast());
            libc::getsockopt(fd, libc::SOL_SOCKET, of, into, &raw mut bytes)
        };
        (done == 0 && peer.uid != NOBODY).then_some(peer.uid)
    }

    /// How long ago the peer's last bytes came, or if none have, the connection was made: of one
    /// just accepted, how long it has waited. In steps of a millisecond or a tick of the kernel;
    /// `None` for a Unix socket, which is not asked.
    #[must_use]
    pub fn since_received(&self) -> Option<Duration> {
        // struct tcp_info of linux/tcp.h: tcpi_last_data_recv, in ms.
        const LAST_DATA_RECV: usize = 13;
        let mut words = [0_u32; LAST_DATA_RECV + 1];
        let mut bytes = size_of_val(&words) as libc::socklen_t;
        // SAFETY: the kernel writes at most `bytes` bytes to `words`; both outlive the call.
        let done = unsafe {
            let words = words.as_mut_ptr().cast();
            let fd = self.fd.as_raw_fd();
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, words, &raw mut bytes)
        };
        let is_whole = done == 0 && bytes as usize == size_of_val(&words);
        is_whole.then(|| Duration::from_millis(words[LAST_DATA_RECV].into()))
    }

    /// The number of the descriptor: small, and unique among all that are open.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.fd.as_raw_fd().cast_unsigned()
    }
}

impl From<Descriptor> for Socket {
    /// Takes a connected stream socket over.
    fn from(fd: Descriptor) -> Self {
        Self { fd }
    }
}

impl From<OwnedFd> for Socket {
    /// As above.
    fn from(fd: OwnedFd) -> Self {
        Self { fd: fd.into() }
    }
}

impl From<Socket> for OwnedFd {
    /// # Panics
    /// Processes share their table of descriptors ([`Descriptor`]).
    fn from(socket: Socket) -> Self {
        socket.fd.into()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// One that is not connected, and never blocks.
pub(crate) fn stream_socket(family: AddressFamily) -> rustix::io::Result<Descriptor> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Descriptor::by(|| rustix::net::socket_with(family, SocketType::STREAM, flags, None))
}
