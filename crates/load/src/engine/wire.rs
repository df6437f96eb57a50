//! The transport of a connection: the only place that knows which one it is. Another one, as TLS,
//! may be connected later than its socket, and may have to send before it can receive.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use os::Socket;
use os::poller::Event;

use crate::behaviour::GivesUpBy;

/// A stream of bytes to a server, over TCP.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
}

impl Wire {
    /// Begins to connect. `true`: it is connected already.
    pub(super) fn open(
        to: SocketAddr,
        from: Option<IpAddr>,
        ports: Option<&RangeInclusive<u16>>,
    ) -> io::Result<(Self, bool)> {
        let (socket, is_connected) = Socket::connect(to, from, ports)?;
        Ok((Self { socket }, is_connected))
    }

    /// Whether requests can be sent, now that this has come of it. A socket that cannot connect is
    /// told as ended, so that others need not be asked.
    pub(super) fn connected(&mut self, event: Event) -> io::Result<bool> {
        if event.ended { self.socket.connected() } else { Ok(event.writable) }
    }

    /// Receives; 0: the server has ended it. `WouldBlock`: nothing is there.
    pub(super) fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.recv(buffer)
    }

    /// Sends the beginning of these bytes. `WouldBlock`: nothing fits.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send(bytes, false)
    }

    /// Ends it.
    pub(super) fn close(self, by: GivesUpBy) {
        if by == GivesUpBy::Reset {
            self.socket.reset_on_close();
        }
    }
}

/// Why the machine does not connect from these ports, in one line: found out before a run, as the
/// kernel connects from others without a word.
pub(super) fn judge(ports: &RangeInclusive<u16>) -> Result<(), String> {
    let asked = format!("connections from ports {}-{}", ports.start(), ports.end());
    match os::limits::local_ports() {
        Some(all) if !all.contains(ports.start()) || !all.contains(ports.end()) => Err(format!(
            "{asked}: the kernel makes them from {}-{} alone (net.ipv4.ip_local_port_range)",
            all.start(),
            all.end()
        )),
        _ => Socket::takes_ports(ports).map_err(|error| {
            format!("{asked}: the kernel cannot be told so, as it can from Linux 6.3 on: {error}")
        }),
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
