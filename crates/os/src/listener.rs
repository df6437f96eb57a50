use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::{Address, Socket};

/// A listening stream socket, non-blocking.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// Whether an accepted socket's calls wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// They say `WouldBlock`.
    No,
    /// They wait.
    Yes,
}

/// The accept queue, as the kernel tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// Connections that wait to be accepted.
    pub length: u32,
    /// How many may.
    pub max: u32,
    /// Packets dropped at this listener since it was made.
    pub drops: u32,
}

impl Listener {
    /// Binds and listens, or takes over an inherited listening socket.
    ///
    /// # Errors
    /// The address is in use, not permitted, not this machine's; `InvalidInput` for a descriptor
    /// that is no listening stream socket.
    pub fn bind(address: &Address, backlog: u32) -> io::Result<Self> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        let fd = match address {
            Address::Inet(to) => bind_inet(*to)?,
            Address::Unix(path) => bind_unix(path)?,
            Address::Fd(fd) => return take_over(*fd),
        };
        rustix::net::listen(&fd, backlog)?;
        Ok(Self(fd))
    }

    /// Takes the next connection that waits.
    ///
    /// # Errors
    /// `WouldBlock` when none waits; see [`is_out_of_descriptors`](crate::is_out_of_descriptors).
    pub fn accept(&self, blocking: Blocking) -> io::Result<Socket> {
        let flags = match blocking {
            Blocking::No => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Blocking::Yes => SocketFlags::CLOEXEC,
        };
        // ECONNABORTED: it left while it waited; the next may still be there.
        loop {
            match retry_on_intr(|| rustix::net::accept_with(&self.0, flags)) {
                Err(Errno::CONNABORTED) => {}
                accepted => return Ok(Socket::from(accepted?)),
            }
        }
    }

    /// Changes how many connections may wait, at once.
    ///
    /// # Errors
    /// The socket is no longer listening.
    pub fn set_backlog(&self, connections: u32) -> io::Result<()> {
        Ok(rustix::net::listen(&self.0, i32::try_from(connections).unwrap_or(i32::MAX))?)
    }

    /// Lets the kernel hold connections back until bytes have come or `seconds` have passed.
    ///
    /// # Errors
    /// Not a TCP socket.
    pub fn defer_accept(&self, seconds: u32) -> io::Result<()> {
        let seconds = seconds as libc::c_int;
        // SAFETY: the option reads an int, which lives through the call.
        let set = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_DEFER_ACCEPT,
                (&raw const seconds).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The address that it was bound to, port 0 replaced by the port it got.
    ///
    /// # Errors
    /// Neither TCP nor Unix.
    pub fn local_address(&self) -> io::Result<String> {
        let address = rustix::net::getsockname(&self.0)?;
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            return Ok(address.to_string());
        }
        let address = SocketAddrUnix::try_from(address)?;
        let path = address.path().map(|path| path.to_string_lossy().into_owned());
        Ok(format!("unix:{}", path.unwrap_or_default()))
    }

    /// The accept queue; all zero on a Unix socket.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn queue(&self) -> io::Result<Queue> {
        if sockopt::socket_domain(&self.0)? == AddressFamily::UNIX {
            return Ok(Queue::default());
        }
        let mut memory = [0_u32; 9];
        option(self.0.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, &mut memory)?;
        let mut info = [0_u32; 26];
        option(self.0.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
        // Of a listening socket tcpi_unacked and tcpi_sacked are the queue's length and bound.
        Ok(Queue { length: info[6], max: info[7], drops: memory[8] })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn option<const N: usize>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    words: &mut [u32; N],
) -> io::Result<()> {
    let mut length = size_of::<[u32; N]>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `words`, which lives through the call.
    let got = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, words.as_mut_ptr().cast(), &raw mut length)
    };
    if got == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

fn bind_inet(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    // Accepted sockets inherit it, which saves a call for each.
    sockopt::set_tcp_nodelay(&fd, true)?;
    rustix::net::bind(&fd, &to)?;
    Ok(fd)
}

/// A socket file that a dead server left behind is replaced; a live server's is not.
fn bind_unix(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = || rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None);
    let fd = socket()?;
    match rustix::net::bind(&fd, &address) {
        Err(Errno::ADDRINUSE)
            if rustix::net::connect(&socket()?, &address) == Err(Errno::CONNREFUSED) =>
        {
            std::fs::remove_file(path)?;
            rustix::net::bind(&fd, &address)?;
        }
        bound => bound?,
    }
    Ok(fd)
}

fn take_over(fd: RawFd) -> io::Result<Listener> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidInput);
    // SAFETY: F_GETFD reads nothing but the number, which names an open descriptor or fails.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(wrong());
    }
    // SAFETY: the descriptor is open, and the operator gave it to this server to own.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let listens = sockopt::socket_acceptconn(&fd).unwrap_or(false);
    if !listens || sockopt::socket_type(&fd)? != SocketType::STREAM {
        // It belongs to somebody else.
        std::mem::forget(fd);
        return Err(wrong());
    }
    rustix::io::ioctl_fionbio(&fd, true)?;
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    let _ = sockopt::set_tcp_nodelay(&fd, true);
    Ok(Listener(fd))
}
