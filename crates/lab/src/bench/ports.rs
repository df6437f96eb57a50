//! The port of a server that listens on the machine's own loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, iter};

use crate::Failure;

/// The first port that is tried.
const FIRST: u16 = 16_384;

/// How many ports a lab has before it comes to those of the next one.
const OF_EACH_LAB: u32 = 64;

/// Returns a free TCP port, if possible below those that the kernel connects from, so that no
/// client takes it before the server listens.
pub(super) fn free() -> Result<u16, Failure> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let end = os::limits::local_ports().map_or(FIRST, |ports| *ports.start());
    let count = end.saturating_sub(FIRST);
    // Each lab begins elsewhere, as several may run at the same time.
    let begin = os::process::id().wrapping_mul(OF_EACH_LAB);
    let next = |_| begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % u32::from(count);
    let below = (0..count).map(next).map(|place| FIRST + place as u16);
    for port in below.chain(iter::once(ANY)) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        match listener.and_then(|listener| listener.local_addr()) {
            Ok(address) => return Ok(address.port()),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port != ANY => {}
            Err(error) => return Err(Failure::machine("a free port", error)),
        }
    }
    unreachable!("the last port is any")
}

/// The kernel chooses.
const ANY: u16 = 0;
