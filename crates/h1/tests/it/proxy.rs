//! PROXY headers against the document's own words.

use h1::proxy::{HEADER_BYTES_MAX, Header, parse};
use proptest::prelude::*;

/// How version 2 begins (section 2.2).
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

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
