//! Whether a server is there, found out by one connection on which nothing is asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use measure::Duration;
use os::clock::monotonic;
use os::poller::{Interest, Mechanism, Poller};

use super::wire::Wire;
use crate::behaviour::{Behaviour, GivesUpBy};

/// Connects as the first client of a run would, and ends the connection.
///
/// # Errors
/// `ConnectionRefused`: nobody listens, or the connection met itself, which the error's text says;
/// `TimedOut`: nobody has answered within that time; else as the kernel says.
pub fn reach(to: SocketAddr, behaviour: &Behaviour, within: Duration) -> io::Result<()> {
    let ports = behaviour.ports.as_ref();
    let wire = connected(to, behaviour.source(0), ports, within)?;
    // Of a few ports each is needed; of many none is missed, and a server sees a client that goes
    // in good order.
    wire.close(if ports.is_some() { GivesUpBy::Reset } else { GivesUpBy::Fin });
    Ok(())
}

fn connected(
    to: SocketAddr,
    from: Option<IpAddr>,
    ports: Option<&RangeInclusive<u16>>,
    within: Duration,
) -> io::Result<Wire> {
    let until = monotonic() + within;
    let (mut wire, is_connected) = Wire::open(to, from, ports, None)?;
    if is_connected {
        return Ok(wire);
    }
    let mut poller = Poller::new(Mechanism::Epoll, 1)?;
    poller.add(&wire, 0, Interest::BOTH)?;
    // Ends: the time that is left only grows less.
    loop {
        let left = until - monotonic();
        if let Some(&event) = poller.wait_exactly(Some(left))?.first() {
            if wire.connected(event)? {
                return Ok(wire);
            }
        } else if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
