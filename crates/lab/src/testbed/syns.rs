//! A source of SYNs beside the load: what a machine gets from people who do not want to be served.
//!
//! It has a device of its own on the server's host (TUN), whose packets are received like those of
//! the clients': by the server's processors, and through the same queue. So it leaves that host
//! neither by its SYNs nor by what they are answered with.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use measure::{Duration, Instant};
use os::Wake;
use os::namespace::{Devices, within};
use os::tun::{PACKET_BYTES_MAX, Tun};
use serde::{Deserialize, Serialize};

use super::network::{ip, share_receive_work};
use super::packets::{ACK, SYN, Segment};
use crate::Failure;

/// What comes beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syns {
    /// In a second; [`SYNS_PER_S_MAX`] at most.
    pub per_s: u32,
    /// Whether nobody is at home where they seem to come from, so that no handshake ends. Else each
    /// ends, and nothing follows.
    pub are_forged: bool,
}

/// More than a processor receives, at some microseconds each.
pub const SYNS_PER_S_MAX: u32 = 200_000;

/// What has been sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sent {
    /// SYNs that were handed to the server's host.
    pub syns: u64,
    /// Packets of the source that the host dropped before it looked at them, as its processor had
    /// too many waiting (net.core.netdev_max_backlog).
    pub lost: u64,
}

impl Sent {
    /// Since an earlier look.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            syns: self.syns.saturating_sub(earlier.syns),
            lost: self.lost.saturating_sub(earlier.lost),
        }
    }
}

/// The name of its device.
const DEVICE: &str = "syns";

/// Where SYNs come from: addresses that are for measuring and nobody's (RFC 2544 C.2.2), 198.18.0.0
/// to 198.19.255.255.
const SOURCES: &str = "198.18.0.0/15";
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const ADDRESSES: u64 = 1 << 17;
/// Of each address, those that a client would use.
const PORT_FIRST: u64 = 1024;
const PORTS: u64 = 65_536 - PORT_FIRST;

/// Between two bursts: short beside what a queue of a thousand packets holds, and long beside what
/// it takes to sleep and wake up.
const EVERY: Duration = Duration::from_micros(200);
/// What is late by more than this is never sent: made up for at once, it would be a burst of its
/// own, and fill the queue of a thousand packets that clients have part in.
const LATE_MAX: u64 = 250;
/// So many answers are looked at before more SYNs are sent.
const ANSWERS_MAX: usize = 64;

/// A device that SYNs can come from, as long as this lives.
#[derive(Debug)]
pub(super) struct Source {
    syns: Syns,
    server: Ipv4Addr,
    /// Where it runs.
    processors: Vec<usize>,
    end: Arc<End>,
}

/// The device, and what came from it.
#[derive(Debug)]
struct End {
    tun: Tun,
    devices: Devices,
    sent: AtomicU64,
}

/// SYNs that are being sent, until this is dropped.
#[derive(Debug)]
pub struct Sending {
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    /// On the server's host; it runs on the client's processors.
    pub(super) fn new(
        syns: Syns,
        (server, namespace): (Ipv4Addr, &Path),
        servers: &[usize],
        processors: &[usize],
    ) -> Result<Self, Failure> {
        let made = within(namespace, || {
            let (tun, devices) = (Tun::attach(DEVICE)?, Devices::here()?);
            share_receive_work(&devices.device(DEVICE), servers)?;
            let lines = format!("link set {DEVICE} up\nroute add {SOURCES} dev {DEVICE}\n");
            Ok(ip(&lines).map(|()| End { tun, devices, sent: AtomicU64::new(0) }))
        });
        let end = made.map_err(|error| Failure::machine("a source of SYNs by TUN", error))??;
        Ok(Self { syns, server, processors: processors.to_vec(), end: Arc::new(end) })
    }

    pub(super) fn sent(&self) -> Sent {
        let file = self.end.devices.device(DEVICE).join("statistics/rx_dropped");
        let lost = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        Sent { syns: self.end.sent.load(Ordering::Relaxed), lost: lost.unwrap_or_default() }
    }

    /// To a port of the server's, for so long at most.
    pub(super) fn send(&self, port: u16, lasts: Duration) -> io::Result<Sending> {
        let stop = Arc::new(Wake::new()?);
        let (syns, end, processors) = (self.syns, Arc::clone(&self.end), self.processors.clone());
        let to = SocketAddrV4::new(self.server, port);
        let stopped = Arc::clone(&stop);
        let send = move || {
            // Refused for none that the hosts have.
            let _ = os::thread::stay_on(&processors);
            os::thread::wake_exactly();
            send(syns, to, &end, lasts, &stopped);
        };
        let thread = thread::Builder::new().name(THREAD.into()).spawn(send)?;
        Ok(Sending { stop, thread: Some(thread) })
    }
}

const THREAD: &str = "lab-syns";

impl Drop for Sending {
    fn drop(&mut self) {
        self.stop.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        debug_assert!(!matches!(ended, Some(Err(_))), "the source of SYNs panicked");
    }
}

/// Until all are sent, or it is told to stop.
fn send(syns: Syns, to: SocketAddrV4, end: &End, lasts: Duration, stop: &Wake) {
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    let begun = os::clock::monotonic();
    let mut next = 0;
    loop {
        let now = os::clock::monotonic();
        let due = due(syns.per_s, begun, now);
        next = due.saturating_sub(LATE_MAX).max(next);
        for number in next..due {
            let is_sent = end.tun.send(&syn(number, to).packet()).is_ok();
            end.sent.fetch_add(u64::from(is_sent), Ordering::Relaxed);
        }
        next = due;
        // What answers forged ones stays where it is, and the device drops what no longer fits.
        let is_more = !syns.are_forged && end_handshakes(&end.tun, &mut buffer);
        if now - begun >= lasts {
            return;
        }
        let wait = if is_more { Duration::ZERO } else { EVERY };
        match os::wait_readable([stop.as_fd_ref()], Some(wait)) {
            Ok(ready) if !ready[0] => {}
            _ => return,
        }
    }
}

/// How many are to have been sent.
fn due(per_s: u32, begun: Instant, now: Instant) -> u64 {
    let elapsed_us = u64::try_from((now - begun).as_micros()).unwrap_or(u64::MAX);
    u64::from(per_s).saturating_mul(elapsed_us) / 1_000_000
}

/// Each from another address or port than all before it, the addresses in turn.
fn syn(number: u64, to: SocketAddrV4) -> Segment {
    /// So that no two that follow each other are alike; from the golden ratio.
    const SPREAD: u32 = 0x9e37_79b1;
    let address = Ipv4Addr::from(FIRST + (number % ADDRESSES) as u32);
    let port = PORT_FIRST + number / ADDRESSES % PORTS;
    Segment {
        from: SocketAddrV4::new(address, port as u16),
        to,
        sequence: (number as u32).wrapping_mul(SPREAD),
        acknowledged: 0,
        flags: SYN,
    }
}

/// Ends the handshakes of those who were answered; whether there may be more.
fn end_handshakes(tun: &Tun, buffer: &mut [u8]) -> bool {
    for _ in 0..ANSWERS_MAX {
        // A device that is gone has nothing to say.
        let Ok(Some(bytes)) = tun.receive(buffer) else { return false };
        let answer = Segment::read(&buffer[..bytes]).and_then(end_of_handshake);
        if let Some(answer) = answer {
            // Lost ones are counted by the device.
            let _ = tun.send(&answer.packet());
        }
    }
    true
}

/// What follows a SYN that was answered (RFC 9293 3.5); nothing follows anything else.
fn end_of_handshake(answer: Segment) -> Option<Segment> {
    (answer.flags == SYN | ACK).then_some(Segment {
        from: answer.to,
        to: answer.from,
        sequence: answer.acknowledged,
        acknowledged: answer.sequence.wrapping_add(1),
        flags: ACK,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 80);

    #[test]
    fn nobody_knocks_twice_and_all_are_of_the_range() {
        let numbers = (0..1000).chain(ADDRESSES - 500..ADDRESSES + 500).chain(5 * ADDRESSES..);
        let all: Vec<Segment> = numbers.take(3000).map(|number| syn(number, SERVER)).collect();
        let from: BTreeSet<SocketAddrV4> = all.iter().map(|of| of.from).collect();
        assert_eq!(from.len(), all.len());
        for of in all {
            let [a, b, ..] = of.from.ip().octets();
            assert!(a == 198 && (18..=19).contains(&b), "{of:?}");
            assert!(u64::from(of.from.port()) >= PORT_FIRST && of.flags == SYN, "{of:?}");
        }
    }

    #[test]
    fn only_a_syn_that_was_answered_has_something_follow() {
        let came = |flags| Segment {
            from: SERVER,
            to: syn(7, SERVER).from,
            sequence: u32::MAX,
            acknowledged: 5,
            flags,
        };
        let ack = Segment {
            from: syn(7, SERVER).from,
            to: SERVER,
            sequence: 5,
            acknowledged: 0,
            flags: ACK,
        };
        for (flags, expected) in [(SYN | ACK, Some(ack)), (ACK, None), (ACK | 1, None), (4, None)] {
            assert_eq!(end_of_handshake(came(flags)), expected, "{flags:#x}");
        }
    }

    #[test]
    fn they_come_at_a_steady_rate() {
        let at = |ns| Instant { ns };
        for (per_s, ns, expected) in [
            (0, 1_000_000_000, 0),
            (10, 99_999_999, 0),
            (10, 100_000_000, 1),
            (200_000, 3_600_000_000_000, 720_000_000),
        ] {
            assert_eq!(due(per_s, at(5), at(5 + ns)), expected, "{per_s} {ns}");
        }
    }
}
