//! Prefixes as rules have them.

use site::path;

/// A prefix as rules have it: without a slash at its end. `*.css` is short for `/*.css`.
///
/// # Errors
/// What it has to be.
pub(crate) fn prefix(written: &str) -> Result<String, String> {
    let whole = if written.starts_with('*') { format!("/{written}") } else { written.into() };
    let written = &*whole;
    let told = |mend: &str| Err(format!("must be {mend}, not {written:?}"));
    if written.contains(['{', '}']) {
        return told("without braces; for several write a list: [\"*.css\", \"*.js\"]");
    }
    if !written.starts_with('/') {
        return told("a path that begins with a slash");
    }
    let is_escape = |(at, _): (usize, &str)| {
        let digits = written.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if written.match_indices('%').any(is_escape) {
        return told("a path without escapes: the characters themselves");
    }
    if written.contains(['?', '#']) {
        return told("a path without `?` and `#`: rules see nothing else of a URL");
    }
    site::judge_at(written)?;
    // Escaped, so that it comes back as it is written if it is in order.
    let escaped = written.replace('%', "%25");
    match path::translate(escaped.as_bytes()) {
        Ok(path) if *path == *written.as_bytes() => {}
        Err(h1::Status::NOT_FOUND) => {
            return told("a path without a name that begins with a dot: that is 404 by itself");
        }
        _ => return told("a plain path, without empty, `.` or `..` segments"),
    }
    let bare = written.trim_end_matches('/');
    Ok(if bare.is_empty() { "/".into() } else { bare.into() })
}
