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
