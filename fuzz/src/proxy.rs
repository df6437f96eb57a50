use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use h1::proxy::{HEADER_BYTES_MAX, Header, parse};

/// What precedes a client's bytes: judged without a panic, the same however it is cut into pieces
/// and whatever follows it, and where it is accepted, as a naive reader sees it too.
///
/// # Panics
/// Where one of these does not hold.
pub fn proxy(data: &[u8]) {
    let judged = parse(data);
    match judged {
        Header::Part => assert!(data.len() < HEADER_BYTES_MAX, "no end of it"),
        Header::Whole { bytes, source } => {
            assert!(bytes <= data.len() && bytes <= HEADER_BYTES_MAX, "longer than it can be");
            assert_eq!(source, read(&data[..bytes]), "another source");
        }
        Header::Wrong => {}
    }
    let mut before = Header::Part;
    for end in 0..data.len().min(HEADER_BYTES_MAX) {
        let piece = parse(&data[..end]);
        // Once it is known what it is, no byte more changes that.
        assert!(before == Header::Part || before == piece, "{before:?}, then {piece:?} at {end}");
        before = piece;
    }
    assert!(before == Header::Part || before == judged, "{before:?}, then {judged:?}");
    if let Header::Whole { bytes, .. } = judged {
        assert_eq!(parse(&data[..bytes]), judged, "what follows matters");
        assert!(bytes == 0 || parse(&data[..bytes - 1]) == Header::Part, "a byte less is enough");
    }
}

/// Whom a header that was accepted names, by the tables of sections 2.1 and 2.2.
fn read(header: &[u8]) -> Option<IpAddr> {
    match header.strip_prefix(b"\r\n\r\n\0\r\nQUIT\n") {
        Some(rest) => binary(rest),
        None => text(header),
    }
}

fn text(line: &[u8]) -> Option<IpAddr> {
    assert!(line.len() <= 107, "the worst case has 107 bytes");
    let line = line.strip_suffix(b"\r\n").expect("it ends by CRLF");
    assert!(!line.windows(2).any(|two| two == b"\r\n"), "it ends at the first CRLF");
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    assert_eq!(words[0], b"PROXY");
    if words[1] == b"UNKNOWN" {
        return None;
    }
    let [_, family, source, destination, from, to] = words[..] else { panic!("six words") };
    for port in [from, to] {
        let port = str::from_utf8(port).expect("ASCII");
        let number: u16 = port.parse().expect("a port");
        assert_eq!(number.to_string(), port, "written in one way only");
    }
    for address in [source, destination] {
        let address = str::from_utf8(address).expect("ASCII");
        match family {
            b"TCP4" => {
                let ip: Ipv4Addr = address.parse().expect("an address of IPv4");
                assert_eq!(ip.to_string(), address, "written in one way only");
            }
            b"TCP6" => drop(address.parse::<Ipv6Addr>().expect("an address of IPv6")),
            _ => panic!("another family"),
        }
    }
    let source: IpAddr = str::from_utf8(source).ok()?.parse().ok()?;
    Some(source.to_canonical())
}

fn binary(rest: &[u8]) -> Option<IpAddr> {
    let [command, family, high, low, body @ ..] = rest else { panic!("16 bytes at least") };
    assert_eq!(usize::from(*high) << 8 | usize::from(*low), body.len(), "as long as it says");
    assert!(matches!(command, 0x20 | 0x21), "version 2, LOCAL or PROXY");
    if *command == 0x20 {
        return None;
    }
    match (family, body.len()) {
        (0x11, 12..) => Some(Ipv4Addr::new(body[0], body[1], body[2], body[3]).into()),
        (0x21, 36..) => {
            let octets: [u8; 16] = body[..16].try_into().expect("16 bytes");
            Some(IpAddr::from(octets).to_canonical())
        }
        (0x00, _) | (0x31, 216..) => None,
        _ => panic!("family {family:#x} with {} bytes", body.len()),
    }
}
