use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::socket::stream_socket;
use super::socket_file::{SocketFile, group};
use super::syn_filter;
use crate::sharing::Descriptor;
use crate::{Address, Socket};

/// A listening stream socket, TCP or Unix. Itself it never blocks, so that several may share it.
#[derive(Debug)]
pub struct Listener {
    pub(super) fd: Descriptor,
    is_tcp: bool,
    /// It was handed over, and whoever did so goes on listening.
    is_lent: bool,
    /// Whoever did so has set a filter, which stays.
    is_filtered: bool,
    /// The file that a Unix socket was bound to; `None` for TCP, and for a socket that was lent.
    pub(super) file: Option<SocketFile>,
    /// How long receives and sends on blocking connections wait: nanoseconds, 0 for ever.
    timeouts_ns: [AtomicU64; 2],
}

/// In the order of [`Listener::timeouts_ns`].
const DIRECTIONS: [sockopt::Timeout; 2] = [sockopt::Timeout::Recv, sockopt::Timeout::Send];

/// Of asm-generic/socket.h, and which of the two buffers has been given a size: linux/socket.h.
const SO_BUF_LOCK: i32 = 72;
const SOCK_SNDBUF_LOCK: u32 = 1;

/// Whether calls on an accepted socket wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// They fail with `WouldBlock` instead.
    No,
    /// They wait.
    Yes,
}

/// The queue of connections that nobody has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// Connections in it.
    pub length: u32,
    /// Connections that it takes; one more may get in.
    pub max: u32,
    /// Connections, and attempts at one, dropped since it was made.
    pub drops: u32,
}

impl Listener {
    /// One that a parent has handed to this process, by its number, and will not use any more.
    ///
    /// # Errors
    /// As [`Self::bind`] for a descriptor; `InvalidInput`, too, if it was taken over before.
    pub fn take_over(number: RawFd) -> io::Result<Self> {
        Self::listening(crate::processes::handed::claim(number)?.into())
    }

    /// The number of its descriptor, for a child that inherits it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whether connections come over TCP, from an address; else it is a Unix socket.
    #[must_use]
    pub const fn is_tcp(&self) -> bool {
        self.is_tcp
    }

    /// Whether it was handed over, and its owner goes on listening.
    #[must_use]
    pub const fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Takes the connection that has waited longest.
    ///
    /// # Errors
    /// `WouldBlock` when none waits, or it was stopped; EMFILE and ENFILE, see
    /// [`crate::is_out_of_descriptors`]; or what befell the network while it waited.
    pub fn accept(&self, blocking: Blocking) -> io::Result<Socket> {
        let flags = match blocking {
            Blocking::No => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Blocking::Yes => SocketFlags::CLOEXEC,
        };
        loop {
            match Descriptor::by(|| rustix::net::accept_with(&self.fd, flags)) {
                // The second: it left while it waited. There are fewer of them than the queue has.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                // It was stopped.
                Err(Errno::INVAL) => return Err(io::ErrorKind::WouldBlock.into()),
                accepted => {
                    let socket = Socket::from(accepted?);
                    if blocking == Blocking::Yes && !self.hands_on() {
                        self.set_timeouts_of(&socket)?;
                    }
                    return Ok(socket);
                }
            }
        }
    }

    /// From now on admits so many of 65,536 who knock, chosen by a hash of their address and port
    /// and of `salt`; the kernel drops the SYNs of the others, who try again and are refused again.
    /// Whoever has a connection, or has begun one, keeps it. A Unix socket takes no notice. Who
    /// inherits the socket inherits this.
    ///
    /// # Errors
    /// `PermissionDenied`: whoever handed the socket over has set a filter of his own, or has
    /// forbidden it (SO_LOCK_FILTER). No memory.
    pub fn admit(&self, of_65536: u16, salt: u32) -> io::Result<()> {
        if !self.is_tcp {
            return Ok(());
        }
        if self.is_filtered {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        syn_filter::attach(&self.fd, libc::SO_ATTACH_FILTER, &syn_filter::program(of_65536, salt))
    }

    /// From now on answers everybody's SYN, and drops the packets that would end the handshake, as
    /// where they meet a full queue: to measure what that costs. A Unix socket takes no notice.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub fn complete_nobody(&self) -> io::Result<()> {
        if !self.is_tcp {
            return Ok(());
        }
        if self.is_filtered {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        syn_filter::attach(&self.fd, libc::SO_ATTACH_FILTER, &syn_filter::without_ends())
    }

    /// From now on admits all who knock, but for a filter that is not ours.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub fn admit_all(&self) -> io::Result<()> {
        if self.is_filtered {
            return Ok(());
        }
        match self.set_option(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0) {
            // There was no filter.
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done,
        }
    }

    /// How many connections may wait; the kernel caps it at [`crate::limits::somaxconn`]. One that
    /// was stopped takes no notice.
    ///
    /// # Errors
    /// None that is known.
    pub fn set_backlog(&self, n: u32) -> io::Result<()> {
        if self.listens() { self.listen(n) } else { Ok(()) }
    }

    /// From now on hardly anybody else may wait (one, says [`Queue::max`]), so that accepting those
    /// who do comes to an end. A socket that was handed over stays as it is: it outlives us, and so
    /// do those who wait there.
    ///
    /// # Errors
    /// None that is known.
    pub fn queue_nobody(&self) -> io::Result<()> {
        if self.is_lent { Ok(()) } else { self.set_backlog(0) }
    }

    /// Ends listening: who connects from now on is refused, and who still waits is reset. For all
    /// processes that share it; but a socket that was handed over stays as it is.
    ///
    /// # Errors
    /// It was stopped before.
    pub fn stop(&self) -> io::Result<()> {
        let stop = || rustix::net::shutdown(&self.fd, Shutdown::Read);
        if self.is_lent { Ok(()) } else { Ok(stop()?) }
    }

    /// Gives the file of a Unix socket the mode and group of an address at its path; others take no
    /// notice.
    ///
    /// # Errors
    /// There is no such group, or this process may not give files to it; the file is another's.
    pub fn set_access(&self, address: &Address) -> io::Result<()> {
        let (Address::Unix(asked), Some(file)) = (address, &self.file) else { return Ok(()) };
        file.set_access(asked.mode, asked.group.as_deref().map(group).transpose()?)
    }

    /// Device and inode of the file that a Unix socket was bound to, for a program that takes it
    /// over.
    #[must_use]
    pub fn file_identity(&self) -> Option<(u64, u64)> {
        self.file.as_ref().map(|file| file.identity)
    }

    /// With the file that the program before this one has bound it to.
    #[must_use]
    pub fn with_file(self, path: &Path, identity: (u64, u64)) -> Self {
        Self { file: Some(SocketFile { path: path.to_owned(), identity }), ..self }
    }

    /// Removes the file of a Unix socket, if it is still its own and was not handed over by a
    /// service manager: no client is to connect any more.
    pub fn remove_file(&self) {
        self.file.iter().for_each(SocketFile::remove);
    }

    /// Where it listens: `127.0.0.1:8080`, `[::1]:80` or `unix:/run/weir.sock`.
    ///
    /// # Errors
    /// None that is known.
    pub fn local_address(&self) -> io::Result<String> {
        let name = rustix::net::getsockname(&self.fd)?;
        if let Ok(address) = SocketAddr::try_from(name.clone()) {
            return Ok(address.to_string());
        }
        let unix = SocketAddrUnix::try_from(name)?;
        let path = unix.path_bytes().unwrap_or_default();
        Ok(format!("unix:{}", String::from_utf8_lossy(path)))
    }

    /// What its queue holds and has dropped; zeros for a Unix socket, whose queue drops nothing: a
    /// peer waits.
    ///
    /// # Errors
    /// None that is known.
    pub fn queue(&self) -> io::Result<Queue> {
        if !self.is_tcp {
            return Ok(Queue::default());
        }
        // struct tcp_info of linux/tcp.h: of a listening socket, tcpi_unacked and tcpi_sacked are
        // its queue's length and bound.
        let info: [u32; 8] = self.option(libc::IPPROTO_TCP, libc::TCP_INFO)?;
        // SK_MEMINFO_DROPS of linux/sock_diag.h.
        let memory: [u32; 9] = self.option(libc::SOL_SOCKET, libc::SO_MEMINFO)?;
        Ok(Queue { length: info[6], max: info[7], drops: memory[8] })
    }

    /// Leaves a connection in the kernel until its first bytes have come, for about `seconds`. A
    /// Unix socket has no handshake to wait behind and takes no notice.
    ///
    /// # Errors
    /// None that is known.
    pub fn defer_accept(&self, seconds: u32) -> io::Result<()> {
        if !self.is_tcp {
            return Ok(());
        }
        let seconds = seconds.min(i32::MAX as u32);
        self.set_option(libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, seconds)
    }

    /// Whether connections accepted from now on send what they have at once (TCP_NODELAY), as they
    /// do by default, or hold a packet that is not full back while another is on its way (RFC 896).
    ///
    /// # Errors
    /// None that is known.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        // Accepted sockets inherit it, so it costs no call for each.
        if self.is_tcp { Ok(sockopt::set_tcp_nodelay(&self.fd, nodelay)?) } else { Ok(()) }
    }

    /// Bytes that the kernel keeps of what was sent and not acknowledged, for each connection
    /// accepted from now on (SO_SNDBUF); it takes net.core.wmem_max at most, and doubles them to
    /// have room for its own. `None`: it finds out by itself, as it does by default. A Unix socket
    /// takes no notice: there a connection has the buffer that its client's side was made with.
    ///
    /// # Errors
    /// None that is known.
    pub fn set_send_buffer(&self, bytes: Option<u32>) -> io::Result<()> {
        if !self.is_tcp {
            return Ok(());
        }
        match bytes {
            Some(bytes) => Ok(sockopt::set_socket_send_buffer_size(&self.fd, bytes as usize)?),
            None => self.unset_send_buffer(),
        }
    }

    /// How long a receive and a send on blocking connections accepted from now on wait before they
    /// fail with `WouldBlock`; by default for ever. Those that do not block take no notice.
    ///
    /// # Errors
    /// None that is known.
    pub fn set_timeouts(&self, receive: Duration, send: Duration) -> io::Result<()> {
        for (word, timeout) in self.timeouts_ns.iter().zip([receive, send]) {
            // The kernel takes zero for no timeout at all.
            let ns = timeout.max(Duration::from_micros(1)).as_nanos();
            word.store(u64::try_from(ns).unwrap_or(u64::MAX), Relaxed);
        }
        // Accepted sockets inherit it, so it costs no call for each.
        if self.hands_on() { self.set_timeouts_of(&self.fd) } else { Ok(()) }
    }

    /// Unix sockets inherit nothing, and options of a socket that was lent are its owner's.
    const fn hands_on(&self) -> bool {
        self.is_tcp && !self.is_lent
    }

    fn set_timeouts_of(&self, socket: impl AsFd) -> io::Result<()> {
        for (word, direction) in self.timeouts_ns.iter().zip(DIRECTIONS) {
            let ns = word.load(Relaxed);
            if ns > 0 {
                let timeout = Some(Duration::from_nanos(ns));
                sockopt::set_socket_timeout(&socket, direction, timeout)?;
            }
        }
        Ok(())
    }

    /// The descriptor, to wait for.
    #[must_use]
    pub fn as_fd_ref(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn inherit(fd: RawFd) -> io::Result<Self> {
        let duplicate = crate::processes::handed::take_over(fd).map_err(|error| {
            let is_closed = error.raw_os_error() == Some(libc::EBADF);
            if is_closed { io::ErrorKind::InvalidInput.into() } else { error }
        })?;
        let listener = Self::listening(duplicate.into())?;
        // A server that was killed in a flood has left its own, which refuses clients for good.
        let is_filtered = syn_filter::is_others(&listener.fd)?;
        Ok(Self { is_lent: true, is_filtered, ..listener })
    }

    /// One that listens already.
    fn listening(fd: Descriptor) -> io::Result<Self> {
        let no_listener = || io::Error::from(io::ErrorKind::InvalidInput);
        let kind = sockopt::socket_type(&fd).map_err(|_| no_listener())?;
        if kind != SocketType::STREAM || !sockopt::socket_acceptconn(&fd)? {
            return Err(no_listener());
        }
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Self::new(fd)
    }

    pub(super) fn new(fd: Descriptor) -> io::Result<Self> {
        let family = sockopt::socket_domain(&fd)?;
        let is_tcp = matches!(family, AddressFamily::INET | AddressFamily::INET6);
        let listener = Self {
            fd,
            is_tcp,
            is_lent: false,
            is_filtered: false,
            file: None,
            timeouts_ns: Default::default(),
        };
        listener.set_nodelay(true)?;
        Ok(listener)
    }

    /// Undoes what was set before: by us, or by who handed the socket over.
    fn unset_send_buffer(&self) -> io::Result<()> {
        // A kernel that cannot tell (before 5.14) cannot undo it either.
        let locks = self.option::<1>(libc::SOL_SOCKET, SO_BUF_LOCK).map_or(0, |[locks]| locks);
        if locks & SOCK_SNDBUF_LOCK == 0 {
            return Ok(());
        }
        let new = stream_socket(sockopt::socket_domain(&self.fd)?)?;
        let doubled = sockopt::socket_send_buffer_size(&new)?;
        sockopt::set_socket_send_buffer_size(&self.fd, doubled / 2)?;
        self.set_option(libc::SOL_SOCKET, SO_BUF_LOCK, locks & !SOCK_SNDBUF_LOCK)
    }

    pub(super) fn set_option(&self, level: i32, name: i32, value: u32) -> io::Result<()> {
        // SAFETY: the kernel reads one integer, which outlives the call.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(&value).cast(),
                size_of_val(&value) as libc::socklen_t,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The first words of what getsockopt(2) answers.
    fn option<const N: usize>(&self, level: i32, name: i32) -> io::Result<[u32; N]> {
        let mut words = [0; N];
        let mut bytes = size_of_val(&words) as libc::socklen_t;
        // SAFETY: the kernel writes at most `bytes` bytes to `words`; both outlive the call.
        let done = unsafe {
            let words = words.as_mut_ptr().cast();
            libc::getsockopt(self.fd.as_raw_fd(), level, name, words, &raw mut bytes)
        };
        if done == 0 { Ok(words) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
