//! A long wire: packets that go from one host to the other are kept for a while.
//!
//! The kernel's own means for this (netem) is not built into every kernel; TUN is.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use measure::{Duration, Instant};
use os::Wake;
use os::namespace::{Devices, enter, within};
use os::tun::{PACKET_BYTES_MAX, Tun};

use super::wire::DEVICE;

/// So much may be under way in one direction: 100 Mbit/s for 5 s, or 5 Gbit/s for 100 ms. What
/// comes on top is lost, as by a router.
const UNDER_WAY_BYTES_MAX: usize = 64 << 20;

/// What a packet takes besides its bytes.
const ENTRY_BYTES: usize = size_of::<(Instant, Vec<u8>)>() + 16;

/// So many packets are taken from one direction before the other has its turn.
const TAKEN_MAX: usize = 64;

/// What has been carried so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// In both directions; one may be as long as several on a real wire.
    pub packets: u64,
    /// Lost, as more than the bound was under way or the carrier was late.
    pub lost: u64,
    /// What carrying them cost, on the client's processors.
    pub cpu: Duration,
}

impl Carried {
    /// Why a measurement does not count during which packets were carried: it was the wire that
    /// lost them, and no server.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let Self { packets, lost, .. } = self;
        (*lost > 0).then(|| {
            format!("packets were lost on the way between the hosts: {lost}; {packets} arrived")
        })
    }
}

/// Carries packets between two hosts until it is dropped.
#[derive(Debug)]
pub(super) struct Carrier {
    stop: Arc<Wake>,
    counts: Arc<Counts>,
    devices: [Devices; 2],
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    packets: AtomicU64,
    lost: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Carrier {
    /// Both hosts have a device already.
    pub(super) fn start(
        server: &Path,
        client: &Path,
        processors: &[usize],
        round_trip: Duration,
    ) -> io::Result<Self> {
        let end =
            |namespace: &Path| within(namespace, || Ok((Tun::attach(DEVICE)?, Devices::here()?)));
        let ((server_end, server_devices), (client_end, client_devices)) =
            (end(server)?, end(client)?);
        let stop = Arc::new(Wake::new()?);
        let counts = Arc::new(Counts::default());
        let carry = {
            let (stop, counts) = (Arc::clone(&stop), Arc::clone(&counts));
            let processors = processors.to_vec();
            move || {
                // Refused for none that the hosts have.
                let _ = os::thread::stay_on(&processors);
                carry([&server_end, &client_end], round_trip, &stop, &counts);
            }
        };
        let thread = thread::Builder::new().name(THREAD.into()).spawn(carry)?;
        Ok(Self { stop, counts, devices: [server_devices, client_devices], thread: Some(thread) })
    }

    pub(super) fn carried(&self) -> Carried {
        // What came while the carrier was late the devices have dropped themselves.
        let dropped = |devices: &Devices| {
            let file = devices.device(DEVICE).join("statistics/tx_dropped");
            fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
        };
        let dropped: u64 = self.devices.iter().filter_map(dropped).sum();
        Carried {
            packets: self.counts.packets.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed) + dropped,
            cpu: Duration::from_nanos(self.counts.cpu_ns.load(Ordering::Relaxed)),
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.stop.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        debug_assert!(!matches!(ended, Some(Err(_))), "the carrier panicked");
    }
}

const THREAD: &str = "lab-carrier";

/// The same by the calling thread, which is the process's first and moves to the client's side, so
/// that it is found there, until it is killed or the devices are gone. `begun` is called when
/// packets are carried.
pub(super) fn carry_here(
    server: &Path,
    client: &Path,
    processors: &[usize],
    round_trip: Duration,
    begun: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let end = |namespace: &Path| within(namespace, || Tun::attach(DEVICE));
    let (server, client_end) = (end(server)?, end(client)?);
    enter(client)?;
    os::thread::stay_on(processors)?;
    begun()?;
    carry([&server, &client_end], round_trip, &Wake::new()?, &Counts::default());
    Ok(())
}

/// Until it is told to stop, or a device is gone.
fn carry(ends: [&Tun; 2], round_trip: Duration, stop: &Wake, counts: &Counts) {
    os::thread::wake_exactly();
    let one_way = round_trip / 2;
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    let [one, other] = ends;
    let mut ways = [(one, other, Line::default()), (other, one, Line::default())];
    loop {
        let mut is_more = false;
        for (from, to, line) in &mut ways {
            let Ok(all) = take(from, line, one_way, &mut buffer, counts) else { return };
            is_more |= !all;
            let now = os::clock::monotonic();
            while let Some(packet) = line.due(now) {
                // A device that is down receives nothing.
                let is_lost = to.send(&packet).is_err();
                counts.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
                counts.packets.fetch_add(u64::from(!is_lost), Ordering::Relaxed);
            }
        }
        let cpu_ns = u64::try_from(os::thread::cpu_time().as_nanos()).unwrap_or(u64::MAX);
        counts.cpu_ns.store(cpu_ns, Ordering::Relaxed);
        let now = os::clock::monotonic();
        let next = ways.iter().filter_map(|(_, _, line)| line.next()).min();
        let wait = if is_more { Some(Duration::ZERO) } else { next.map(|due| due.since(now)) };
        let watched = [one.as_fd(), other.as_fd(), stop.as_fd_ref()];
        // It fails for want of memory: there is nothing to be had by going on.
        match os::wait_readable(watched, wait) {
            Ok(ready) if !ready[2] => {}
            _ => return,
        }
    }
}

/// Takes what has been sent; whether that was all.
fn take(
    from: &Tun,
    line: &mut Line,
    one_way: Duration,
    buffer: &mut [u8],
    counts: &Counts,
) -> io::Result<bool> {
    for _ in 0..TAKEN_MAX {
        let Some(bytes) = from.receive(buffer)? else { return Ok(true) };
        let due = os::clock::monotonic() + one_way;
        if !line.enter(due, &buffer[..bytes]) {
            counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(false)
}

/// What is under way in one direction, in the order in which it arrives.
#[derive(Debug, Default)]
struct Line {
    packets: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
}

impl Line {
    /// Whether there was room. Due times never go back.
    fn enter(&mut self, due: Instant, packet: &[u8]) -> bool {
        let bytes = packet.len() + ENTRY_BYTES;
        let has_room = self.bytes + bytes <= UNDER_WAY_BYTES_MAX;
        if has_room {
            self.bytes += bytes;
            self.packets.push_back((due, packet.to_vec()));
        }
        has_room
    }

    /// The next packet that has arrived.
    fn due(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (_, packet) = self.packets.pop_front_if(|(due, _)| *due <= now)?;
        self.bytes -= packet.len() + ENTRY_BYTES;
        Some(packet)
    }

    /// When the next one arrives.
    fn next(&self) -> Option<Instant> {
        self.packets.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant { ns }
    }

    #[test]
    fn packets_arrive_in_order_and_not_before_their_time() {
        let mut line = Line::default();
        assert_eq!((line.next(), line.due(at(u64::MAX))), (None, None));
        for (due, packet) in [(10, "a"), (10, "b"), (20, "c")] {
            assert!(line.enter(at(due), packet.as_bytes()));
        }
        let rows = [
            (9, None, Some(10)),
            (10, Some("a"), Some(10)),
            (10, Some("b"), Some(20)),
            (19, None, Some(20)),
            (99, Some("c"), None),
            (99, None, None),
        ];
        for (now, expected, next) in rows {
            assert_eq!(line.due(at(now)), expected.map(|packet| packet.as_bytes().to_vec()));
            assert_eq!(line.next(), next.map(at));
        }
        assert_eq!(line.bytes, 0);
    }

    #[test]
    fn a_wire_that_loses_packets_is_complained_of() {
        let words = "packets were lost on the way between the hosts: 2; 9 arrived";
        for (lost, expected) in [(0, None), (2, Some(words))] {
            let carried = Carried { packets: 9, lost, cpu: Duration::ZERO };
            assert_eq!(carried.complaint().as_deref(), expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_lost() {
        let mut line = Line::default();
        let packet = [0; 65_000];
        let fit = UNDER_WAY_BYTES_MAX / (packet.len() + ENTRY_BYTES);
        let taken = (0..fit + 9).filter(|_| line.enter(at(1), &packet)).count();
        assert_eq!(taken, fit);
        assert!(line.due(at(1)).is_some());
        assert!(line.enter(at(2), &packet), "there is room again");
        assert!(!line.enter(at(2), &packet));
    }
}
