use h1::{Framing, Refusal, body::Body};

/// Bytes of content that are read away.
const CONTENT_MAX: u64 = 1_000;

/// How it is framed, the size of the pieces, then a request's body and what follows: its end, or
/// its refusal, is the same however it is cut, and where a naive reader sees it.
///
/// The first byte is even for chunks, odd for a sized body of half as many bytes.
///
/// # Panics
/// Where one of these does not hold.
pub fn body(data: &[u8]) {
    let [framing, piece, bytes @ ..] = data else { return };
    let framing = match framing {
        even if even % 2 == 0 => Framing::Chunked,
        odd => Framing::Sized(u64::from(odd / 2)),
    };
    let whole = take(framing, bytes, bytes.len().max(1));
    let cut = take(framing, bytes, 1 + usize::from(*piece));
    assert_eq!(whole, cut, "cut into pieces of {}", 1 + piece);
    if let Ok(Some(end)) = whole {
        assert_eq!(Some(end), naive(framing, bytes), "another end");
    }
}

/// Where the body ends; nothing if it goes on behind `bytes`.
fn take(framing: Framing, bytes: &[u8], piece: usize) -> Result<Option<usize>, Refusal> {
    let mut body = Body::new(framing, CONTENT_MAX)?;
    let mut taken = 0;
    for piece in bytes.chunks(piece) {
        let n = body.take(piece)?;
        assert!(n == piece.len() || body.is_done(), "stops before the end");
        taken += n;
        if body.is_done() {
            break;
        }
    }
    Ok(body.is_done().then_some(taken))
}

/// The end by RFC 9112 section 7.1, for a body that was accepted.
fn naive(framing: Framing, bytes: &[u8]) -> Option<usize> {
    if let Framing::Sized(n) = framing {
        return usize::try_from(n).ok();
    }
    let mut at = 0;
    let mut content = 0;
    loop {
        let line = line(bytes, at)?;
        at += line.len() + 2;
        let digits = line.split(|&byte| b"; \t".contains(&byte)).next()?;
        let extensions = line[digits.len()..].trim_ascii_start();
        assert!(line == digits || extensions.starts_with(b";"), "blanks and no extension");
        assert!(!line.ends_with(b" ") && !line.ends_with(b"\t"), "blanks at the line's end");
        assert!(!line.ends_with(b";"), "an extension without a name");
        let size = usize::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        content += size as u64;
        assert!(content <= CONTENT_MAX, "more content than was agreed");
        if size == 0 {
            break;
        }
        assert_eq!(bytes.get(at + size..at + size + 2), Some(&b"\r\n"[..]), "a chunk ends by CRLF");
        at += size + 2;
    }
    loop {
        let trailer = line(bytes, at)?;
        at += trailer.len() + 2;
        if trailer.is_empty() {
            return Some(at);
        }
        assert!(trailer.contains(&b':'), "a trailer has a colon");
    }
}

fn line(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = &bytes[at..];
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    Some(&rest[..end])
}
