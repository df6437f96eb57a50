use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::syn_filter;
use crate::files::output::can_make;
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
    /// Listens. A Unix socket's file that nobody listens on any more is replaced. A descriptor is
    /// used through a duplicate, and its original kept from programs started later.
    ///
    /// # Errors
    /// The address is in use, not this machine's, not permitted, or a name nobody knows;
    /// `InvalidInput` for a descriptor that is no listening stream socket.
    pub fn bind(address: &Address, backlog: u32) -> io::Result<Self> {
        let listener = match address {
            Address::Inet(address) => Self::bind_inet(*address, address.is_ipv6())?,
            Address::Name(name, port) => {
                bind_first((name.as_str(), *port).to_socket_addrs()?, true)?
            }
            Address::Port(port) => bind_first(Address::all(*port), false)?,
            Address::Unix(path) => Self::bind_unix(path)?,
            Address::Fd(fd) => Self::inherit(*fd)?,
        };
        listener.listen(backlog)?;
        listener.admit_all()?;
        Ok(listener)
    }

    /// Whether one could listen there, as far as that can be told without doing so: this machine
    /// has the address, or a Unix socket could be made there. Who has a port, and who may have it,
    /// is not asked.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn probe(address: &Address) -> io::Result<()> {
        match address {
            Address::Inet(address) => is_here(*address),
            Address::Name(name, port) => {
                let mut last = Err(io::ErrorKind::AddrNotAvailable.into());
                (name.as_str(), *port).to_socket_addrs()?.any(|address| {
                    last = is_here(address);
                    last.is_ok()
                });
                last
            }
            Address::Unix(path) => match std::fs::symlink_metadata(path) {
                Ok(is) if !is.file_type().is_socket() => Err(Errno::ADDRINUSE.into()),
                _ => SocketAddrUnix::new(path).map_err(io::Error::from).and(can_make(path)),
            },
            Address::Port(_) | Address::Fd(_) => Ok(()),
        }
    }

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

    fn bind_inet(address: SocketAddr, v6_only: bool) -> io::Result<Self> {
        let fd = stream_socket(family(&address))?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        if address.is_ipv6() {
            // So that 0.0.0.0:80 and [::]:80 can be given side by side.
            sockopt::set_ipv6_v6only(&fd, v6_only)?;
        }
        rustix::net::bind(&fd, &address)?;
        Self::new(fd)
    }

    fn bind_unix(path: &Path) -> io::Result<Self> {
        let fd = stream_socket(AddressFamily::UNIX)?;
        let address = SocketAddrUnix::new(path)?;
        match rustix::net::bind(&fd, &address) {
            Err(Errno::ADDRINUSE) if is_stale(path, &address)? => {
                std::fs::remove_file(path)?;
                rustix::net::bind(&fd, &address)?;
            }
            bound => bound?,
        }
        Self::new(fd)
    }

    fn inherit(fd: RawFd) -> io::Result<Self> {
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

pub(crate) fn stream_socket(family: AddressFamily) -> rustix::io::Result<Descriptor> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Descriptor::by(|| rustix::net::socket_with(family, SocketType::STREAM, flags, None))
}

fn bind_first(
    addresses: impl IntoIterator<Item = SocketAddr>,
    v6_only: bool,
) -> io::Result<Listener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match Listener::bind_inet(address, v6_only) {
            Ok(listener) => return Ok(listener),
            // Somebody else has it: the next address would not be what was asked for.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(e),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Whether a socket's file is left over from a process that is gone: nobody answers there. Another
/// that listens there between this question and the removal loses its name, and whoever may write
/// to the directory may exchange the file meanwhile; he could remove it as well, and of what lies
/// elsewhere nothing is removed.
fn is_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return Ok(false);
    }
    let fd = stream_socket(AddressFamily::UNIX)?;
    Ok(rustix::net::connect(&fd, address) == Err(Errno::CONNREFUSED))
}

fn is_here(mut address: SocketAddr) -> io::Result<()> {
    address.set_port(0);
    Ok(rustix::net::bind(stream_socket(family(&address))?, &address)?)
}

pub(crate) fn family(address: &SocketAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET }
}
