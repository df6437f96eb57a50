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
    /// The kernel may have made it from the very port that it goes to.
    may_meet_itself: bool,
}

impl Wire {
    /// Begins to connect. `true`: it is connected already. Who meets himself is refused: the kernel
    /// has tried the one port from which it could connect though nobody listens.
    pub(super) fn open(
        to: SocketAddr,
        from: Option<IpAddr>,
        ports: Option<&RangeInclusive<u16>>,
        receive_buffer: Option<u32>,
    ) -> io::Result<(Self, bool)> {
        let (socket, is_connected) = Socket::connect(to, from, ports, receive_buffer)?;
        let ports = ports.or(os::limits::local_ports());
        let may_meet_itself = ports.is_none_or(|ports| ports.contains(&to.port()));
        let wire = Self { socket, may_meet_itself };
        if is_connected {
            wire.judge_peer()?;
        }
        Ok((wire, is_connected))
    }

    /// Whether requests can be sent, now that this has come of it. A socket that cannot connect is
    /// told as ended, so that others need not be asked.
    pub(super) fn connected(&mut self, event: Event) -> io::Result<bool> {
        let is_connected = if event.ended { self.socket.connected()? } else { event.writable };
        if is_connected {
            self.judge_peer()?;
        }
        Ok(is_connected)
    }

    fn judge_peer(&self) -> io::Result<()> {
        if self.may_meet_itself && self.socket.is_its_own_peer() {
            // As if it had never been: the port is not kept for a minute.
            self.socket.reset_on_close();
            let what = "nobody listens, and the connection met itself";
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, what));
        }
        Ok(())
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
