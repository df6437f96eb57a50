//! The wire between the hosts: what it is made of, how much it carries in a second, and how long
//! its packets are.

use super::Layout;

/// The name of either end, within its namespace.
pub(super) const DEVICE: &str = "wire";

/// See the head of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) joint: Joint,
    /// In each direction; `None`: as much as the processors can.
    mbit_per_s: Option<u32>,
    /// `None`: as the devices have it.
    mtu_bytes: Option<u32>,
}

/// What the hosts are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// Two devices of the kernel, each handing the other its packets at once.
    Veth,
    /// Two devices whose packets somebody has to carry from one to the other.
    Tun,
}

/// What a wire can have, in Mbit/s: more than a processor here carries.
pub const MBIT_MAX: u32 = 10_000;
/// What each host has to take in one packet (RFC 791 3.1).
pub const MTU_BYTES_MIN: u32 = 576;
/// A TUN device takes somewhat less than 64 KiB.
pub const MTU_BYTES_MAX: u32 = 65_000;

/// Of Ethernet.
const MTU_BYTES: u32 = 1_500;

/// What the kernel counts of a packet beside the bytes that the MTU is about: the head of Ethernet.
const HEAD_BYTES: u32 = 14;

/// So many packets wait for the wire, as for any device of Linux (txqueuelen); what comes on top is
/// dropped, and TCP knows of that at once.
const QUEUE_PACKETS: u32 = 1_000;

/// How long TUN's queue is, in packets: whoever carries them may be late by as long as it takes
/// another to run, and nothing is to be lost by that.
const TUN_QUEUE_PACKETS: u32 = 10_000;

impl Wire {
    pub(super) fn of(layout: &Layout) -> Self {
        Self {
            joint: if layout.round_trip_ms.is_some() { Joint::Tun } else { Joint::Veth },
            mbit_per_s: layout.wire_mbit,
            mtu_bytes: layout.wire_mtu_bytes,
        }
    }

    /// What ip(8) has to do for one end of it, within its namespace.
    pub(super) fn device(self) -> String {
        let made = match self.joint {
            Joint::Veth => String::new(),
            Joint::Tun => format!(
                "tuntap add dev {DEVICE} mode tun vnet_hdr\n\
                 link set {DEVICE} txqueuelen {TUN_QUEUE_PACKETS}\n"
            ),
        };
        let mtu = self.mtu_bytes.map(|bytes| format!("link set {DEVICE} mtu {bytes}\n"));
        made + &mtu.unwrap_or_default()
    }

    /// What tc(8) has to do there; `None`: nothing, as the wire has no rate. TCP makes packets that
    /// are longer than what may go at once, for devices that cut them up: TBF does that itself.
    pub(super) fn rate(self) -> Option<String> {
        let mbit_per_s = self.mbit_per_s?;
        let packet_bytes = self.mtu_bytes.unwrap_or(MTU_BYTES) + HEAD_BYTES;
        // A millisecond's worth: timers of a virtual machine are not much more exact.
        let burst_bytes = (mbit_per_s * 125).max(2 * packet_bytes);
        let queue_bytes = QUEUE_PACKETS * packet_bytes + burst_bytes;
        Some(format!(
            "qdisc replace dev {DEVICE} root tbf rate {mbit_per_s}mbit burst {burst_bytes} limit \
             {queue_bytes}\n"
        ))
    }

    /// For the reader of a page; `None`: there is nothing to say.
    pub(super) fn fact(self) -> Option<String> {
        let rate = self.mbit_per_s.map(|mbit_per_s| {
            format!(
                "{mbit_per_s} Mbit/s in each direction (TBF), heads of Ethernet included, and room \
                 for {QUEUE_PACKETS} of the longest packets in front of it"
            )
        });
        let mtu = self.mtu_bytes.map(|bytes| format!("MTU {bytes} bytes"));
        let said: Vec<String> = [rate, mtu].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_is_told_to_the_kernel() {
        let rows = [
            ((None, None), "", None),
            ((Some(10), None), "", Some("rate 10mbit burst 3028 limit 1517028")),
            (
                (Some(155), Some(9_180)),
                "link set wire mtu 9180\n",
                Some("rate 155mbit burst 19375 limit 9213375"),
            ),
            ((Some(10_000), None), "", Some("rate 10000mbit burst 1250000 limit 2764000")),
            ((None, Some(9_000)), "link set wire mtu 9000\n", None),
        ];
        for ((wire_mbit, wire_mtu_bytes), device, rate) in rows {
            let wire = Wire::of(&Layout { wire_mbit, wire_mtu_bytes, ..Layout::default() });
            let rate = rate.map(|rate| format!("qdisc replace dev wire root tbf {rate}\n"));
            assert_eq!((wire.joint, wire.rate()), (Joint::Veth, rate));
            assert_eq!(wire.device(), device);
        }
    }

    #[test]
    fn a_page_says_what_a_wire_has() {
        let rate = "155 Mbit/s in each direction (TBF), heads of Ethernet included, and room for \
                    1000 of the longest packets in front of it";
        let rows = [
            (None, None, None),
            (None, Some(9_180), Some(String::from("MTU 9180 bytes"))),
            (Some(155), None, Some(String::from(rate))),
            (Some(155), Some(9_180), Some(format!("{rate}; MTU 9180 bytes"))),
        ];
        for (wire_mbit, wire_mtu_bytes, expected) in rows {
            let wire = Wire::of(&Layout { wire_mbit, wire_mtu_bytes, ..Layout::default() });
            assert_eq!(wire.fact(), expected);
        }
    }
}
