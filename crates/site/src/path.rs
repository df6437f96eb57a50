//! From the path of a request's target to the name of a file beneath the root.

use std::borrow::Cow;

use h1::Status;

/// The one name with a leading dot that is served, and only right beneath the root (RFC 8615
/// section 3).
const WELL_KNOWN: &[u8] = b".well-known";

/// Translates a raw path (RFC 3986 section 3.3, without query) into the path of a
/// [`h1::Lookup`]: decoded once, absolute, without empty, `.` or `..` segments, ending with a slash
/// where a directory is meant.
///
/// Escapes are decoded first, so `%2e%2e` is a dot segment and `%252e` is not. Empty segments are
/// dropped, as file systems do and as nearly every site expects of `//`; because no path that comes
/// out begins with two slashes, no redirect made of it can lead to another host.
///
/// # Errors
/// - 400 for what no honest client sends, or what two readers might read differently: a path that
///   does not begin with a slash, a broken escape, `%2F`, a backslash that is not escaped (browsers
///   read it as a slash), NUL, climbing above the root. Names are bytes otherwise (RFC 3986 section
///   2.5): `%5C` is a backslash in a name, and a name need not be UTF-8.
/// - 404 for names with a leading dot, which are not published, save `.well-known`.
pub fn translate(raw: &[u8]) -> Result<Cow<'_, [u8]>, Status> {
    if is_plain(raw) {
        return Ok(Cow::Borrowed(raw));
    }
    let path = fold(&decode(raw)?)?;
    if is_hidden(&path) { Err(Status::NOT_FOUND) } else { Ok(Cow::Owned(path)) }
}

/// Writes a translated path as a URI's path: what [`translate`] undoes.
pub(crate) fn escape(path: &[u8]) -> Vec<u8> {
    // The pchar of RFC 3986 section 3.3, and the slash.
    escape_but(path, b"-._~!$&'()*+,;=:@/")
}

/// Writes a translated path as the value of a field in a query: without the marks between fields.
pub(crate) fn escape_as_value(path: &[u8]) -> Vec<u8> {
    escape_but(path, b"-._~/")
}

fn escape_but(path: &[u8], plain: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = Vec::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            escaped.push(byte);
        } else {
            let digit = |nibble: u8| DIGITS[usize::from(nibble)];
            escaped.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    escaped
}

/// Whether the path is its own translation: nearly all are. Both loops look at every byte instead
/// of stopping early, so that the compiler can take sixteen at a time.
fn is_plain(raw: &[u8]) -> bool {
    if raw.first() != Some(&b'/') {
        return false;
    }
    let is_strange = |byte: u8| !byte.is_ascii_graphic() | (byte == b'%') | (byte == b'\\');
    let strange = raw.iter().fold(false, |any, &byte| any | is_strange(byte));
    let pairs = raw.iter().zip(&raw[1..]);
    let folds = pairs.fold(false, |any, (&before, &after)| {
        any | ((before == b'/') & ((after == b'/') | (after == b'.')))
    });
    !strange & !folds
}

/// Undoes the escapes and refuses what has no place in a name.
fn decode(raw: &[u8]) -> Result<Vec<u8>, Status> {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw.iter().copied();
    while let Some(byte) = rest.next() {
        let escaped = byte == b'%';
        let byte = if escaped { escape_value(&mut rest).ok_or(Status::BAD_REQUEST)? } else { byte };
        if matches!((byte, escaped), (b'/', true) | (b'\\', false) | (0, _)) {
            return Err(Status::BAD_REQUEST);
        }
        decoded.push(byte);
    }
    Ok(decoded)
}

fn escape_value(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut digit = || char::from(rest.next()?).to_digit(16);
    u8::try_from(digit()? << 4 | digit()?).ok()
}

/// Resolves empty and dot segments (RFC 3986 section 5.2.4, but strict at the top).
fn fold(decoded: &[u8]) -> Result<Vec<u8>, Status> {
    let relative = decoded.strip_prefix(b"/").ok_or(Status::BAD_REQUEST)?;
    let mut path = Vec::with_capacity(decoded.len());
    let mut is_directory = false;
    for segment in relative.split(|&byte| byte == b'/') {
        is_directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => {
                let parent = path.iter().rposition(|&byte| byte == b'/');
                path.truncate(parent.ok_or(Status::BAD_REQUEST)?);
            }
            name => {
                path.push(b'/');
                path.extend_from_slice(name);
            }
        }
    }
    if is_directory {
        path.push(b'/');
    }
    Ok(path)
}

fn is_hidden(path: &[u8]) -> bool {
    let mut names = path[1..].split(|&byte| byte == b'/').enumerate();
    names.any(|(depth, name)| name.starts_with(b".") && !(depth == 0 && name == WELL_KNOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_is_undone_by_translating() {
        let odd: Vec<u8> = (1..=u8::MAX).collect();
        let paths = ["/", "/a b/", "/100%/ä?#[]", "/a+b;c=d/e:f@g", "/\u{2028}\"<>^`{|}"];
        for path in paths.map(str::as_bytes).into_iter().chain([&[b"/a", &odd[..]].concat()[..]]) {
            let escaped = escape(path);
            assert!(escaped.is_ascii() && !escaped.contains(&b' '), "{}", path.escape_ascii());
            assert_eq!(translate(&escaped).unwrap(), path);
        }
    }
}
