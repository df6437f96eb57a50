//! Several listening sockets at one address, each with a queue of its own (SO_REUSEPORT,
//! socket(7)). The kernel shares out who comes by a hash of addresses and ports, so that a client
//! that tries again comes to the same one.
//!
//! It numbers those that listen in the order in which they began, and puts the last in the place of
//! one that ends: so that numbers stay, only the last may end while others go on.

use std::io;
use std::net::SocketAddr;

use libc::sock_filter;
use rustix::io::Errno;
use rustix::net::sockopt;

use super::bind::family;
use super::listener::Listener;
use super::socket::stream_socket;
use super::syn_filter::{attach, jump};
use crate::poller::readable::is_shut_down;

/// Of asm-generic/socket.h.
const SO_ATTACH_REUSEPORT_CBPF: i32 = 51;
const SO_DETACH_REUSEPORT_BPF: i32 = 68;

impl Listener {
    /// Another that listens at the same address from now on, behind those that do.
    ///
    /// # Errors
    /// `InvalidInput`: a Unix socket has one queue, and of a socket that was handed over its owner
    /// decides. `AddrInUse`, too, where this one was made by another user. No descriptor is left.
    pub fn another(&self, backlog: u32) -> io::Result<Self> {
        if !self.has_room_beside() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let name = rustix::net::getsockname(&self.fd)?;
        let address = SocketAddr::try_from(name).map_err(io::Error::from)?;
        let fd = stream_socket(family(&address))?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        if address.is_ipv6() {
            sockopt::set_ipv6_v6only(&fd, sockopt::ipv6_v6only(&self.fd)?)?;
        }
        // Of this one only now: when it was bound, another program's at that address was an error.
        sockopt::set_socket_reuseport(&self.fd, true)?;
        sockopt::set_socket_reuseport(&fd, true)?;
        rustix::net::bind(&fd, &address)?;
        let listener = Self::new(fd)?;
        listener.listen(backlog)?;
        Ok(listener)
    }

    /// Whether another may listen at its address.
    #[must_use]
    pub const fn has_room_beside(&self) -> bool {
        self.is_tcp() && !self.is_lent()
    }

    /// Whether it listens: it was not stopped, or was told to listen again.
    #[must_use]
    pub fn listens(&self) -> bool {
        // A Unix socket that was shut down still counts as a listening one (SO_ACCEPTCONN).
        let is_stopped = !self.is_tcp() && is_shut_down(&self.fd);
        !is_stopped && sockopt::socket_acceptconn(&self.fd).unwrap_or(false)
    }

    /// Listens, also after it was stopped: then behind the others at its address.
    ///
    /// # Errors
    /// None that is known.
    pub fn listen(&self, backlog: u32) -> io::Result<()> {
        Ok(rustix::net::listen(&self.fd, i32::try_from(backlog).unwrap_or(i32::MAX))?)
    }

    /// Of those at its address only the first so many get newcomers, each as many as the others;
    /// at least one does. Whoever waits at another one, or has begun a handshake there, stays.
    ///
    /// # Errors
    /// `InvalidInput`: there are no others. No memory.
    pub fn leave_out_from(&self, n: u32) -> io::Result<()> {
        attach(&self.fd, SO_ATTACH_REUSEPORT_CBPF, &one_of(n.max(1)))
    }

    /// All at its address get newcomers again.
    ///
    /// # Errors
    /// The kernel cannot (before 5.3).
    pub fn leave_out_none(&self) -> io::Result<()> {
        match self.set_option(libc::SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, 0) {
            // None was left out, or there are no others.
            Err(e) if is_any(&e, &[Errno::NOENT, Errno::INVAL]) => Ok(()),
            done => done,
        }
    }
}

/// One of the first so many, drawn for each who comes: that is for a short time, and a packet's
/// data is not asked for.
fn one_of(n: u32) -> [sock_filter; 3] {
    use libc::{BPF_A, BPF_ABS, BPF_ALU, BPF_K, BPF_LD, BPF_MOD, BPF_RET, BPF_W};
    const RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;
    [
        jump(BPF_LD | BPF_W | BPF_ABS, RANDOM, 0, 0),
        jump(BPF_ALU | BPF_MOD | BPF_K, n, 0, 0),
        jump(BPF_RET | BPF_A, 0, 0, 0),
    ]
}

fn is_any(error: &io::Error, all: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|error| all.contains(&error))
}
