//! Whether what a rule says can be done.

use site::path;
use site::rules::Effect;

/// A prefix as rules have it: without a slash at its end.
///
/// # Errors
/// What it has to be.
pub(crate) fn prefix(written: &str) -> Result<String, String> {
    let told = |mend: &str| Err(format!("must be {mend}, not {written:?}"));
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
    // Escaped, so that it comes back as it is written if it is in order.
    let escaped = written.replace('%', "%25");
    match path::translate(escaped.as_bytes()) {
        Ok(path) if *path == *written.as_bytes() => {}
        // Names that are not served are redirected and refused like others.
        Err(h1::Status::NOT_FOUND) => {}
        _ => return told("a plain path, without empty, `.` or `..` segments"),
    }
    let bare = written.trim_end_matches('/');
    Ok(if bare.is_empty() { "/".into() } else { bare.into() })
}

/// Whether an effect can be had.
///
/// # Errors
/// What it has to be.
pub(crate) fn effect(effect: &Effect) -> Result<(), String> {
    match effect {
        Effect::Root(_) | Effect::Listing(_) | Effect::Auth { .. } => Ok(()),
        Effect::UserDirectories(name) => {
            let is_plain = name.split('/').all(|name| !matches!(name, "" | "." | ".."));
            wanted(is_plain, "a directory in each user's home, `public_html` for instance", name)
        }
        Effect::Redirect { to, .. } => {
            let is_whole = to.split_once("://").is_some_and(|(scheme, rest)| {
                let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
                !scheme.is_empty() && scheme.bytes().all(is_scheme) && !rest.is_empty()
            });
            let is_place = to.starts_with('/') || is_whole;
            let is_uri = is_place && to.bytes().all(|byte| byte.is_ascii_graphic());
            wanted(is_uri, "a path that begins with a slash, or a whole URI", to)
        }
        Effect::Answer(status) => match status.0 {
            401 => Err("nobody could log in after a bare 401; use `auth`".into()),
            300..=399 => Err("leads nowhere; use `redirect`".into()),
            206 | ..200 | 600.. => {
                Err(format!("must be a whole answer's status, not {}", status.0))
            }
            _ => Ok(()),
        },
        Effect::Fallback(file) => page(file),
        Effect::ErrorPage { status, .. } if !(400..600).contains(&status.0) => {
            Err(format!("{} is no error; choose a status from 400 to 599", status.0))
        }
        Effect::ErrorPage { file, .. } => page(file),
        Effect::Field { name, value } => field(name, value),
        Effect::Cors { origins } if origins.is_empty() => {
            Err("names no origin; write some, or `*` for all".into())
        }
        Effect::Cors { origins } => match origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => wanted(false, "`https://example.org` without a path, or `*`", origin),
            None => Ok(()),
        },
    }
}

fn wanted(is: bool, what: &str, written: &str) -> Result<(), String> {
    if is { Ok(()) } else { Err(format!("must be {what}, not {written:?}")) }
}

fn page(file: &str) -> Result<(), String> {
    wanted(file.starts_with('/'), "a path of this host that begins with a slash", file)
}

/// RFC 9110 section 5: a token, and a value of visible characters, spaces and tabs.
fn field(name: &str, value: &str) -> Result<(), String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    wanted(!name.is_empty() && name.bytes().all(is_token), "a field's name", name)?;
    let is_value = value.trim() == value && !value.contains(|c: char| c.is_control() && c != '\t');
    wanted(is_value, "a field's value: one line, without spaces at its ends", value)
}

fn is_origin(origin: &str) -> bool {
    let is_host = |host: &str| {
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_graphic() && !b"/?#@,".contains(&b))
    };
    let named = origin.split_once("://");
    origin == "*" || named.is_some_and(|(scheme, host)| !scheme.is_empty() && is_host(host))
}
