//! How a server begins to listen at an address.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;

use rustix::io::Errno;
use rustix::net::{AddressFamily, sockopt};

use super::address::UnixAddress;
use super::socket::stream_socket;
use super::socket_file::{SocketFile, address_of, group, is_stale};
use crate::files::output::can_make;
use crate::{Address, Listener};

impl Listener {
    /// Listens at an address. The file of a Unix socket is replaced if no process listens there any
    /// more. A descriptor is used through a duplicate, and its original is kept from programs
    /// started later.
    ///
    /// # Errors
    /// The address is in use, not this machine's, not permitted, or an unknown name;
    /// `InvalidInput` for a descriptor that is no listening stream socket. As [`Self::set_access`].
    pub fn bind(address: &Address, backlog: u32) -> io::Result<Self> {
        let listener = match address {
            Address::Inet(address) => Self::bind_inet(*address, address.is_ipv6())?,
            Address::Name(name, port) => {
                bind_first((name.as_str(), *port).to_socket_addrs()?, true)?
            }
            Address::Port(port) => bind_first(Address::all(*port), false)?,
            Address::Unix(unix) => Self::bind_unix(unix)?,
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
            Address::Unix(unix) => {
                let UnixAddress { path, group: name, .. } = unix;
                name.as_deref().map(group).transpose()?;
                match std::fs::symlink_metadata(path) {
                    Ok(is) if !is.file_type().is_socket() => Err(Errno::ADDRINUSE.into()),
                    _ => address_of(path).and(can_make(path)),
                }
            }
            Address::Port(_) | Address::Fd(_) => Ok(()),
        }
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

    fn bind_unix(asked: &UnixAddress) -> io::Result<Self> {
        let UnixAddress { path, mode, group: name } = asked;
        // First, as a socket that is bound and does not listen yet looks left over.
        let group = name.as_deref().map(group).transpose()?;
        let (fd, address) = (stream_socket(AddressFamily::UNIX)?, address_of(path)?);
        match rustix::net::bind(&fd, &address) {
            Err(Errno::ADDRINUSE) if is_stale(path, &address)? => {
                std::fs::remove_file(path)?;
                rustix::net::bind(&fd, &address)?;
            }
            bound => bound?,
        }
        let file = SocketFile::bound_to(path).ok_or(Errno::ADDRINUSE)?;
        // Connections are refused before it listens.
        file.set_access(*mode, group).inspect_err(|_| file.remove())?;
        let mut listener = Self::new(fd)?;
        listener.file = Some(file);
        Ok(listener)
    }
}

fn bind_first(
    addresses: impl IntoIterator<Item = SocketAddr>,
    v6_only: bool,
) -> io::Result<Listener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match Listener::bind_inet(address, v6_only) {
            Ok(listener) => return Ok(listener),
            // Another socket has the port: the next address would not be the requested one.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(e),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn is_here(mut address: SocketAddr) -> io::Result<()> {
    address.set_port(0);
    Ok(rustix::net::bind(stream_socket(family(&address))?, &address)?)
}

pub(crate) fn family(address: &SocketAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET }
}
