//! Packets of handshakes, written by hand: IPv4 (RFC 791) and TCP (RFC 9293) without data.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Flags of a TCP header (RFC 9293 3.1).
pub(super) const SYN: u8 = 0x02;
pub(super) const ACK: u8 = 0x10;

/// A TCP segment without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
}

/// What a TUN device takes before a packet (`virtio_net_hdr`): zeros say that the packet is whole,
/// its checksums included.
const DEVICE_BYTES: usize = 10;
/// Without options (RFC 791 3.1).
const IP_BYTES: usize = 20;
/// With one of four bytes.
const TCP_BYTES: usize = 24;

/// As a TUN device takes it.
pub(super) type Packet = [u8; DEVICE_BYTES + IP_BYTES + TCP_BYTES];

const TCP: u8 = 6;
/// As Linux has it.
const HOPS_MAX: u8 = 64;
const WINDOW: u16 = 64_240;
/// Of a SYN: the longest segment is 1,460 bytes (RFC 9293 3.7.1). Of all others: nothing, four
/// times, so that all are of one length.
const LONGEST: [u8; 4] = [2, 4, 5, 180];
const NOTHING: [u8; 4] = [1; 4];

impl Segment {
    pub(super) fn packet(&self) -> Packet {
        let tcp = self.tcp();
        let mut packet = [0; DEVICE_BYTES + IP_BYTES + TCP_BYTES];
        packet[DEVICE_BYTES..][..IP_BYTES].copy_from_slice(&self.ip());
        packet[DEVICE_BYTES + IP_BYTES..].copy_from_slice(&tcp);
        packet
    }

    /// What a packet says that came from a TUN device; none if it is no TCP over IPv4.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let ip = packet.get(DEVICE_BYTES..)?;
        let header_bytes = usize::from(ip.first()? & 0xf) * 4;
        if ip[0] >> 4 != 4 || *ip.get(9)? != TCP {
            return None;
        }
        let tcp = ip.get(header_bytes..)?;
        let address = |at| Some(Ipv4Addr::from(u32::from_be_bytes(four(ip, at)?)));
        let ports = four(tcp, 0)?;
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        Some(Self {
            from: SocketAddrV4::new(address(12)?, port(0)),
            to: SocketAddrV4::new(address(16)?, port(2)),
            sequence: u32::from_be_bytes(four(tcp, 4)?),
            acknowledged: u32::from_be_bytes(four(tcp, 8)?),
            flags: *tcp.get(13)?,
        })
    }

    /// RFC 791 3.1.
    fn ip(&self) -> [u8; IP_BYTES] {
        /// Version 4, and five words of header.
        const BEGINS: u8 = 0x45;
        /// Not to be cut up.
        const WHOLE: u8 = 0x40;
        let mut header = [0; IP_BYTES];
        header[0] = BEGINS;
        header[2..4].copy_from_slice(&((IP_BYTES + TCP_BYTES) as u16).to_be_bytes());
        header[6] = WHOLE;
        header[8] = HOPS_MAX;
        header[9] = TCP;
        header[12..16].copy_from_slice(&self.from.ip().octets());
        header[16..20].copy_from_slice(&self.to.ip().octets());
        let checksum = checksum(&[&header]);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header
    }

    /// RFC 9293 3.1. Its checksum is of the addresses, too.
    fn tcp(&self) -> [u8; TCP_BYTES] {
        let mut header = [0; TCP_BYTES];
        header[0..2].copy_from_slice(&self.from.port().to_be_bytes());
        header[2..4].copy_from_slice(&self.to.port().to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledged.to_be_bytes());
        header[12] = (TCP_BYTES as u8 / 4) << 4;
        header[13] = self.flags;
        header[14..16].copy_from_slice(&WINDOW.to_be_bytes());
        let option = if self.flags & SYN != 0 { LONGEST } else { NOTHING };
        header[20..24].copy_from_slice(&option);
        let (from, to) = (self.from.ip().octets(), self.to.ip().octets());
        let rest = [0, TCP, 0, TCP_BYTES as u8];
        let checksum = checksum(&[&from, &to, &rest, &header]);
        header[16..18].copy_from_slice(&checksum.to_be_bytes());
        header
    }
}

fn four(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.try_into().ok()
}

/// Of parts of even length, as if they were one: the complement of the sum of all words, where what
/// is carried out at the top comes in at the bottom (RFC 1071).
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The remainder of the whole as one long number: 2 to the 16th is 1 modulo 65,535.
    fn remainder(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |rest, byte| (rest * 256 + u64::from(*byte)) % 65_535)
    }

    proptest! {
        #[test]
        fn packets_are_read_as_they_were_meant_and_their_checksums_hold(
            from: (u32, u16), to: (u32, u16), sequence: u32, acknowledged: u32, flags: u8,
        ) {
            let place = |(address, port): (u32, u16)| SocketAddrV4::new(address.into(), port);
            let segment =
                Segment { from: place(from), to: place(to), sequence, acknowledged, flags };
            let packet = segment.packet();
            prop_assert_eq!(Segment::read(&packet), Some(segment));
            let (ip, tcp) = packet[DEVICE_BYTES..].split_at(IP_BYTES);
            prop_assert_eq!(remainder(ip), 0, "{:?}", ip);
            let of_tcp = [&ip[12..20], &[0, TCP, 0, TCP_BYTES as u8], tcp].concat();
            prop_assert_eq!(remainder(&of_tcp), 0, "{:?}", tcp);
            prop_assert_eq!(&packet[..DEVICE_BYTES], &[0; DEVICE_BYTES]);
        }

        #[test]
        fn whatever_comes_is_read_without_a_panic(bytes: Vec<u8>) {
            let _ = Segment::read(&bytes);
        }
    }

    /// The example of RFC 1071 3.
    #[test]
    fn a_checksum_is_that_of_the_rfc() {
        let sum = !checksum(&[&[0x00, 0x01, 0xf2, 0x03], &[0xf4, 0xf5, 0xf6, 0xf7]]);
        assert_eq!(sum, 0xddf2);
    }
}
