use h1::{Head, Limits, Request};

/// What stands behind `Authorization:`. Whatever it is, it is read without a panic; credentials
/// that are found in it hold a colon and no control characters, and are written again as they came,
/// so that nobody is known by two spellings.
///
/// # Panics
/// Where one of these does not hold.
pub fn credentials(data: &[u8]) {
    let bytes = [b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: ", data, b"\r\n\r\n"].concat();
    let Ok(request) = Request::judge(&bytes, &Limits::default()) else { return };
    let head = Head::new(&bytes, &request);
    let Some(found) = site::credentials(&head) else { return };
    assert!(found.0.contains(&b':'), "a name without a password");
    assert!(!found.0.iter().any(u8::is_ascii_control), "a control character");
    let values: Vec<_> = head.values("authorization").collect();
    let [value] = values[..] else { panic!("{} fields", values.len()) };
    let (scheme, encoded) = value.split_at(6);
    assert!(scheme.eq_ignore_ascii_case(b"basic "), "another scheme");
    assert_eq!(encoded.trim_ascii(), encode(&found.0).as_bytes(), "another spelling");
}

/// RFC 4648 section 4.
fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |sum, at| sum << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = char::from(DIGITS[number >> (18 - 6 * at) & 63]);
            text.push(if at <= three.len() { digit } else { '=' });
        }
    }
    text
}
