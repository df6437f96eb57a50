//! The PROXY protocol, versions 1 and 2: what a balancer says before a client's first byte, so that
//! its address is not lost (HAProxy's proxy-protocol.txt, sections 2.1 and 2.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes that a header has at most. Version 1 ends at 107; version 2 may bring along what the
/// balancer knows of TLS, a certificate among it, which is not ours to know but has to pass. The
/// precedent is 4,096 (nginx).
pub const HEADER_BYTES_MAX: usize = 4096;
const LINE_BYTES_MAX: usize = 107;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Perhaps the beginning of one: more bytes will tell.
    Part,
    /// A whole one.
    Whole {
        /// How many bytes it has; what follows is the client's.
        bytes: usize,
        /// Whose connection it is; `None`: the balancer's own, which looks whether we live, or one
        /// that has no address.
        source: Option<IpAddr>,
    },
    /// No header, or a wrong one.
    Wrong,
}

/// Reads what has come of a header.
#[must_use]
pub fn parse(bytes: &[u8]) -> Header {
    if starts_like(bytes, SIGNATURE) {
        return binary(bytes);
    }
    if starts_like(bytes, b"PROXY ") { text(bytes) } else { Header::Wrong }
}

/// Whether the bytes begin with all of `with`, or are a beginning of it.
fn starts_like(bytes: &[u8], with: &[u8]) -> bool {
    let n = bytes.len().min(with.len());
    bytes[..n] == with[..n]
}

/// `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n` (section 2.1).
fn text(bytes: &[u8]) -> Header {
    let line = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
        return if bytes.len() < LINE_BYTES_MAX { Header::Part } else { Header::Wrong };
    };
    let whole = |source| Header::Whole { bytes: end + 2, source };
    let Some(line) = line[..end].strip_prefix(b"PROXY ") else { return Header::Wrong };
    // Whatever it says then is to be ignored.
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return whole(None);
    }
    let words: Vec<_> = line.split(|&byte| byte == b' ').map(str::from_utf8).collect();
    let [Ok(family), Ok(source), Ok(destination), Ok(from), Ok(to)] = words[..] else {
        return Header::Wrong;
    };
    let pair: Option<(IpAddr, IpAddr)> = source.parse().ok().zip(destination.parse().ok());
    match (family, pair) {
        _ if !is_port(from) || !is_port(to) => Header::Wrong,
        ("TCP4", Some((source @ IpAddr::V4(_), IpAddr::V4(_)))) => whole(Some(source)),
        ("TCP6", Some((source @ IpAddr::V6(_), IpAddr::V6(_)))) => {
            whole(Some(source.to_canonical()))
        }
        _ => Header::Wrong,
    }
}

/// Zeros before a number might mean that it is octal, and are not permitted.
fn is_port(text: &str) -> bool {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    is_plain && text.parse::<u16>().is_ok()
}

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family and transport, length of what follows.
const FIXED_BYTES: usize = 16;
/// Version 2 and its two commands.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Section 2.2.
fn binary(bytes: &[u8]) -> Header {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_BYTES>() else { return Header::Part };
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if !matches!(fixed[12], LOCAL | PROXY) || FIXED_BYTES + length > HEADER_BYTES_MAX {
        return Header::Wrong;
    }
    let Some(body) = rest.get(..length) else { return Header::Part };
    let whole = |source| Header::Whole { bytes: FIXED_BYTES + length, source };
    if fixed[12] == LOCAL {
        return whole(None);
    }
    // Source, destination, and two ports; more may follow, which is not ours to know.
    match (fixed[13], body) {
        (0x11, &[a, b, c, d, ..]) if length >= 12 => whole(Some(Ipv4Addr::new(a, b, c, d).into())),
        (0x21, body) if length >= 36 => {
            let source = body.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
            whole(source.map(|source| IpAddr::V6(source).to_canonical()))
        }
        // No family, or the names of two Unix sockets.
        (0x00, _) => whole(None),
        (0x31, _) if length >= 216 => whole(None),
        _ => Header::Wrong,
    }
}

/// Addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let differs = ours.to_bits() ^ other.to_bits();
                differs.leading_zeros() >= self.bits
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let differs = ours.to_bits() ^ other.to_bits();
                differs.leading_zeros() >= self.bits
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for Network {
    type Err = String;

    /// `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`; the error says what would be one.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let parse = || {
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let number = |bits: &str| bits.parse().ok().filter(|_| !bits.starts_with('+'));
            let bits = bits.map_or(Some(most), number)?;
            (bits <= most).then_some(Self { address, bits })
        };
        parse().ok_or_else(|| String::from("addresses or networks as 10.0.0.0/8, with commas"))
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: usize, source: &str) -> Header {
        Header::Whole { bytes, source: source.parse().ok() }
    }

    fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u16).to_be_bytes();
        [SIGNATURE, &[command, family], &length, body].concat()
    }

    fn check(bytes: &[u8], expected: Header) {
        let told = String::from_utf8_lossy(bytes);
        assert_eq!(parse(bytes), expected, "{told}");
        if let Header::Whole { bytes: n, .. } = expected {
            assert_eq!(parse(&[bytes, b"GET / HTTP/1.1"].concat()), expected, "{told} and more");
            for end in 0..n {
                assert_eq!(parse(&bytes[..end]), Header::Part, "{end} bytes of {told}");
            }
        }
    }

    #[test]
    fn version_1_is_a_line() {
        let rows: [(&[u8], &str); 7] = [
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n", "192.0.2.7"),
            (b"PROXY TCP6 2001:db8::7 2001:db8::1 0 65535\r\n", "2001:db8::7"),
            (b"PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n", "192.0.2.7"),
            (b"PROXY UNKNOWN\r\n", ""),
            (b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", ""),
            (b"PROXY UNKNOWN whatever it says here\r\n", ""),
            (b"PROXY UNKNOWN \xff\0\r\n", ""),
        ];
        for (line, source) in rows {
            check(line, whole(line.len(), source));
        }
        for wrong in [
            "GET / HTTP/1.1\r\n",
            "PROXY\r\n",
            "PROXY \r\n",
            "PROXY TCP4\r\n",
            "PROXY UNKNOWNS\r\n",
            "PROXY  UNKNOWN\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443 1\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 +1 443\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 1 65536\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 1 080\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 00 80\r\n",
            "PROXY TCP4 192.0.2.07 198.51.100.1 1 80\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 1 \r\n",
            "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
            "PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n",
            "PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n",
            "PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
            "proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
        ] {
            check(wrong.as_bytes(), Header::Wrong);
        }
        check(format!("PROXY UNKNOWN {}", "x".repeat(92)).as_bytes(), Header::Part);
        check(format!("PROXY UNKNOWN {}", "x".repeat(93)).as_bytes(), Header::Wrong);
    }

    #[test]
    fn version_2_is_binary() {
        let v4 = [192, 0, 2, 7, 198, 51, 100, 1, 220, 4, 1, 187];
        let mut v6 = [0; 36];
        v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        v6[15] = 7;
        let with_more = [&v4[..], &[4, 0, 1, 0]].concat();
        for (bytes, source) in [
            (v2(0x21, 0x11, &v4), "192.0.2.7"),
            (v2(0x21, 0x11, &with_more), "192.0.2.7"),
            (v2(0x21, 0x21, &v6), "2001:db8::7"),
            (v2(0x20, 0x00, &[]), ""),
            (v2(0x20, 0x11, &v4), ""),
            (v2(0x21, 0x00, &[1, 2, 3]), ""),
            (v2(0x21, 0x31, &[b'/'; 216]), ""),
            (v2(0x20, 0x00, &[0; 4080]), ""),
        ] {
            check(&bytes, whole(bytes.len(), source));
        }
        for wrong in [
            v2(0x21, 0x11, &v4[..11]),
            v2(0x21, 0x21, &v6[..35]),
            v2(0x21, 0x12, &v4),
            v2(0x11, 0x11, &v4),
            v2(0x22, 0x11, &v4),
            v2(0x21, 0x31, &[b'/'; 215]),
            v2(0x20, 0x00, &[0; 4081]),
        ] {
            check(&wrong, Header::Wrong);
        }
    }

    #[test]
    fn a_network_contains_what_begins_like_it() {
        let rows = [
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("0.0.0.0/0", "255.1.2.3", true),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "::1", true),
        ];
        for (network, address, expected) in rows {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.0/", "10.0.0.0/+1"] {
            wrong.parse::<Network>().expect_err(wrong);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_within_the_bound(
            bytes in prop::collection::vec(any::<u8>(), 0..5000)
        ) {
            for begin in [&b""[..], b"PROXY ", b"PROXY TCP4 ", SIGNATURE] {
                let bytes = [begin, &bytes].concat();
                match parse(&bytes) {
                    Header::Part => prop_assert!(bytes.len() < HEADER_BYTES_MAX),
                    Header::Whole { bytes: n, .. } => {
                        prop_assert!(n <= bytes.len() && n <= HEADER_BYTES_MAX);
                    }
                    Header::Wrong => {}
                }
            }
        }
    }
}
