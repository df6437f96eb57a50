//! What of a rule cannot be: said to the operator at the start, not to a client later.

use std::io;
use std::path::{Path, PathBuf};

use h1::Shared;
use os::{Directory, Opened};

use crate::Error;
use crate::guard::Realm;
use crate::redirect::Redirect;
use crate::rules::{Effect, Host, Rule};
use crate::sources::Sources;

/// Fields that the server itself sends, with what it knows and the operator does not: a second one
/// would contradict it.
const OWN_FIELDS: [&str; 18] = [
    "accept-ranges",
    "allow",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "location",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// Statuses of replies that are made where no rule is known: by the connection, which has not
/// understood the request, or for programs, about a file that is there. A 429 may be such a one,
/// but who says too many wrong passwords has met a rule.
const OWN_STATUSES: [u16; 10] = [408, 412, 413, 414, 416, 417, 421, 431, 501, 505];

/// Each makes a variant of every answer that the cache holds.
const ORIGINS_MAX: usize = 64;
/// Each is looked for in the names that are asked for.
const ENDINGS_MAX: usize = 64;
/// An error's content is kept in memory.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// Whether a rule makes sense by itself.
///
/// # Errors
/// What is wrong with it and what to do.
pub fn rule(rule: &Rule) -> Result<(), String> {
    at(&rule.at)?;
    match &rule.effect {
        Effect::Root(_) | Effect::UserDirectories(_) | Effect::Redirect { .. }
            if rule.ending().is_some() =>
        {
            let mend = "write a prefix without a star";
            Err(format!("needs the rest of a path, and {:?} leaves none; {mend}", rule.at))
        }
        Effect::Root(root) => self::root(root).map(drop).map_err(|e| e.to_string()),
        Effect::FollowLinks(places) => places.iter().try_for_each(|place| followed(place)),
        Effect::UserDirectories(name) => {
            let mut segments = name.split('/');
            let is_plain = segments.all(|segment| !matches!(segment, "" | "." | ".."))
                && !name.contains(char::is_control);
            let mend = "name a directory in each user's home, `public_html` for instance";
            if is_plain { Ok(()) } else { Err(format!("{name} cannot be used; {mend}")) }
        }
        Effect::Redirect { to, status } => Redirect::new(0, to, *status).map(drop),
        Effect::Answer(status) => match status.0 {
            401 => Err("nobody could log in after a bare 401; ask for a password".into()),
            code @ (..200 | 205 | 206 | 304 | 600..) => {
                Err(format!("a request cannot be answered with {code} alone"))
            }
            code @ 300..=399 => Err(format!("{code} leads nowhere; write a `redirect`")),
            _ => Ok(()),
        },
        Effect::ErrorPage { status, .. } if !(400..600).contains(&status.0) => {
            Err(format!("{} is no error; choose a status from 400 to 599", status.0))
        }
        Effect::ErrorPage { status, .. } if OWN_STATUSES.contains(&status.0) => Err(format!(
            "a reply with {} is made where no rule is known, and never has a page; leave it out",
            status.0
        )),
        Effect::Field { name, value } => field(name, value),
        Effect::Types(types) if types.is_empty() => {
            Err("names no ending; name some, or `*` for all files".into())
        }
        Effect::Types(types) => types.iter().try_for_each(|(ending, kind)| types_of(ending, kind)),
        Effect::Cors { origins } if origins.is_empty() => {
            Err("no origin is named; name some, or `*` for all".into())
        }
        Effect::Cors { origins } => match origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(format!(
                "{origin} is no origin; write `https://example.org` as browsers do, in lower \
                     case and without the usual port, or `*` for all"
            )),
            None => Ok(()),
        },
        Effect::Auth { realm, users } => Realm::new(realm, users).map(drop),
        Effect::Allow(networks) | Effect::Deny(networks) if networks.is_empty() => {
            Err("no network is named; name some, or leave it out".into())
        }
        effect @ (Effect::Allow(_) | Effect::Deny(_)) => match Sources::of([effect]).someone() {
            Some(_) => Ok(()),
            None => Err(format!("lets nobody in; {INSTEAD_OF_NOBODY}")),
        },
        Effect::Listing(_)
        | Effect::CleanUrls(_)
        | Effect::Fallback(_)
        | Effect::ErrorPage { .. } => Ok(()),
    }
}

/// Whether a rule can be written for these paths.
///
/// # Errors
/// What is wrong with it and what to do.
pub fn at(at: &str) -> Result<(), String> {
    if !at.starts_with('/') {
        return Err(format!("{at} is no prefix of a path; begin it with a slash"));
    }
    let Some((before, ending)) = at.split_once('*') else { return Ok(()) };
    let begins_name = before.ends_with('/');
    let is_ending = matches!(ending.as_bytes(), [b'.', _, ..]) && !ending.contains(['*', '/']);
    match before.trim_end_matches('/') {
        _ if begins_name && is_ending => Ok(()),
        prefix if begins_name && ending.is_empty() => {
            let prefix = if prefix.is_empty() { "/" } else { prefix };
            Err(format!("{at:?} needs no star; write {prefix:?}, which holds for all beneath it"))
        }
        _ => Err(format!(
            "{at:?} has a star where none may stand; it begins the last name, and a dot and the \
             rest of an ending follow it: \"/assets/*.css\""
        )),
    }
}

/// Whether so many endings of one host can be told apart.
///
/// # Errors
/// They are too many.
pub(crate) fn endings(count: usize) -> Result<(), String> {
    if count <= ENDINGS_MAX {
        return Ok(());
    }
    Err(format!("{count} endings in one host are more than {ENDINGS_MAX}; write prefixes instead"))
}

/// The root's own path, once it has been looked into. A kernel that cannot resolve beneath a
/// directory shows it here, not with each request.
pub(crate) fn root(root: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::Root { root: root.to_path_buf(), source };
    let absolute = std::path::absolute(root).map_err(failed)?;
    Directory::open(&absolute).and_then(|root| root.stat_beneath(b".")).map_err(failed)?;
    Ok(absolute)
}

/// A place that links may lead to: what is found at the start is said then, and not with each
/// request.
fn followed(place: &Path) -> Result<(), String> {
    root(place).map_err(|e| e.to_string())?;
    let path = Directory::open(place).and_then(|place| place.path());
    let path = path.map_err(|e| format!("following links needs /proc: {e}; mount it"))?;
    if path.parent().is_none() {
        return Err("/ is the whole machine; name the directories that links lead to".into());
    }
    Ok(())
}

/// Refuses a redirect to `$host` in the host `*`, because there a client chooses the name.
///
/// # Errors
/// The rule is such a redirect.
pub(crate) fn host_of(rule: &Rule, host: &Host) -> Result<(), String> {
    let Effect::Redirect { to, status } = &rule.effect else { return Ok(()) };
    let names_host = Redirect::new(0, to, *status)?.names_host();
    if names_host && host.names.iter().any(|name| name == "*") {
        let mend = "write a name, or give the rule to a host with names";
        return Err(format!("in the host `*` a client would choose `$host`; {mend}"));
    }
    Ok(())
}

/// What to write where no address is let in.
pub(crate) const INSTEAD_OF_NOBODY: &str = "write `answer = 403` if that is meant";

/// Whether so many origins can be told apart.
///
/// # Errors
/// They are too many.
pub(crate) fn origins(count: usize) -> Result<(), String> {
    if count <= ORIGINS_MAX {
        return Ok(());
    }
    Err(format!("{count} origins for one path are more than {ORIGINS_MAX}; allow `*` instead"))
}

/// The content of an error.
///
/// # Errors
/// It cannot be read, or is too much.
pub(crate) fn page(opened: io::Result<Opened>, file: &str) -> Result<Shared<[u8]>, String> {
    let read = opened.and_then(|opened| match opened {
        Opened::File(file, stat) if stat.size <= PAGE_BYTES_MAX => {
            let content = crate::disk::read(&file, stat.size)?;
            content.ok_or_else(|| io::Error::other("it changes while it is read"))
        }
        Opened::File(..) => {
            Err(io::Error::other(format!("it is larger than {PAGE_BYTES_MAX} bytes")))
        }
        _ => Err(io::Error::other("it is no regular file")),
    });
    read.map_err(|e| format!("cannot read {file}: {e}; name a file that can be read"))
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_in_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_in_token)
}

/// An ending of names, and the media type of the files that have it (RFC 9110 section 8.3.1).
fn types_of(ending: &str, kind: &str) -> Result<(), String> {
    if ending != "*"
        && (ending.is_empty() || ending.starts_with('.') || ending.contains(['/', '*']))
    {
        return Err(format!("{ending:?} is no ending; write it without its dot, or `*` for all"));
    }
    let mut parts = kind.split(';').map(str::trim);
    let is_type =
        |part: &str| part.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    let is_visible = |value: &str| value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_parameter = |part: &str| {
        part.split_once('=')
            .is_some_and(|(name, value)| is_token(name) && !value.is_empty() && is_visible(value))
    };
    if parts.next().is_some_and(is_type) && parts.all(is_parameter) {
        return Ok(());
    }
    Err(format!("{kind:?} is no media type; write one such as \"application/json\""))
}

/// RFC 9110 section 5: a token, and a value of visible characters, spaces and tabs.
fn field(name: &str, value: &str) -> Result<(), String> {
    if !is_token(name) {
        return Err(format!("{name:?} is no name of a field"));
    }
    let lower = name.to_ascii_lowercase();
    if lower == "access-control-allow-origin" {
        return Err("the server sends it where a rule has `cors`; write such a rule".into());
    }
    if lower == "content-type" {
        return Err("the server sends it by the ending of a name; write `types`".into());
    }
    if OWN_FIELDS.contains(&&*lower) {
        return Err(format!("the server itself sends {name}; leave the field out"));
    }
    if value.trim() != value || value.chars().any(|c| c.is_control() && c != '\t') {
        let mend = "leave out control characters, and spaces at its ends";
        return Err(format!("{value:?} is no value of a field; {mend}"));
    }
    Ok(())
}

/// As browsers write it (RFC 6454 section 6.2): any other spelling would never be met.
fn is_origin(origin: &str) -> bool {
    let named = |(scheme, host): (&str, &str)| {
        let is_host = |byte: u8| byte.is_ascii_graphic() && !b"/?#@,".contains(&byte);
        let port = [("http", ":80"), ("https", ":443")].into_iter().find(|(of, _)| *of == scheme);
        if origin.contains(|c: char| c.is_ascii_uppercase())
            || port.is_some_and(|(_, port)| host.ends_with(port))
        {
            return false;
        }
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !host.is_empty()
            && host.bytes().all(is_host)
    };
    matches!(origin, "*" | "null") || origin.split_once("://").is_some_and(named)
}
