//! The client's end of a connection: made without waiting.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, sockopt};

use crate::sharing::Descriptor;
use crate::sockets::bind::family;
use crate::sockets::socket::stream_socket;
use crate::{Socket, limits};

impl Socket {
    /// Begins to connect over TCP, from an address of this machine and from one of some ports if
    /// they are given, and does not wait. Of what the peer sends the kernel holds about so many
    /// bytes for who has not received them (SO_RCVBUF), at most net.core.rmem_max; `None`: it finds
    /// out by itself how many. `true`: it is connected already; otherwise it becomes
    /// writable when it is, or when it has failed, and [`Self::connected`] tells which. An end of a
    /// range of ports that is beyond [`limits::local_ports`] does not count.
    ///
    /// # Errors
    /// `AddrNotAvailable` when no port is left, or the address is not this machine's; what the
    /// kernel knows of the way or the peer at once; as [`Self::takes_ports`] where there are ports;
    /// EMFILE and ENFILE, see [`crate::is_out_of_descriptors`].
    pub fn connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        ports: Option<&RangeInclusive<u16>>,
        receive_buffer: Option<u32>,
    ) -> io::Result<(Self, bool)> {
        let fd = stream_socket(family(&to))?;
        if let Some(bytes) = receive_buffer {
            // Before the handshake, which tells the peer how much there is room for.
            sockopt::set_socket_recv_buffer_size(&fd, bytes as usize)?;
        }
        match (ports, limits::local_ports()) {
            (Some(ports), _) => choose_from(&fd, ports)?,
            // It is the kernel's own range, but it is searched faster once it is given: port by
            // port. Otherwise those of one parity come first, and where these are in use, which
            // takes but 14,000 connections, each connect looks at all of them and takes a
            // millisecond (`__inet_hash_connect`). A kernel that cannot be told is as slow as that.
            (None, Some(all)) => _ = choose_from(&fd, all),
            (None, None) => {}
        }
        if let Some(from) = from {
            // Its port is chosen when it connects: until then it would be taken for every peer, so
            // that at most as many connections were possible as there are ports.
            set(&fd, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
            rustix::net::bind(&fd, &SocketAddr::new(from, 0))?;
        }
        match rustix::net::connect(&fd, &to) {
            Ok(()) => Ok((Self::from(fd), true)),
            // Interrupted, it goes on all the same.
            Err(Errno::INPROGRESS | Errno::INTR) => Ok((Self::from(fd), false)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether [`Self::connect`] can be told to choose among these ports.
    ///
    /// # Errors
    /// The kernel knows nothing of it (before Linux 6.3); the range ends before it begins.
    pub fn takes_ports(ports: &RangeInclusive<u16>) -> io::Result<()> {
        choose_from(&stream_socket(AddressFamily::INET)?, ports)
    }

    /// Whether what [`Self::connect`] began has come to its end.
    ///
    /// # Errors
    /// It has failed: refused, timed out, no way there.
    pub fn connected(&self) -> io::Result<bool> {
        sockopt::socket_error(self.as_fd())??;
        Ok(rustix::net::getpeername(self.as_fd()).is_ok())
    }

    /// Whether it is connected with itself. The kernel may choose, for a connection to a port where
    /// nobody listens, that very port; both ends are then open at once, and are the same (RFC 9293
    /// 3.5).
    #[must_use]
    pub fn is_its_own_peer(&self) -> bool {
        let local = rustix::net::getsockname(self.as_fd()).ok();
        let local = local.and_then(|local| SocketAddr::try_from(local).ok());
        local.is_some() && local == self.peer()
    }
}

/// IP_LOCAL_PORT_RANGE of linux/in.h: the first port in the lower half of a word, the last one in
/// the upper.
const IP_LOCAL_PORT_RANGE: libc::c_int = 51;

fn choose_from(fd: &Descriptor, ports: &RangeInclusive<u16>) -> io::Result<()> {
    set(fd, IP_LOCAL_PORT_RANGE, u32::from(*ports.end()) << 16 | u32::from(*ports.start()))
}

/// Sets an option of IP. Sockets of IPv6 take those of IPv4, too.
fn set(fd: &Descriptor, option: libc::c_int, value: u32) -> io::Result<()> {
    // SAFETY: the kernel reads one integer, which outlives the call.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            option,
            std::ptr::from_ref(&value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
