//! Which host, which rules and which answer a URL has.

use std::fmt::Write as _;

use servers::settings::Settings;
use site::rules::{Effect, Host, Rule};
use site::{Rules, path};

use crate::hosts::covers;
use crate::summary;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course<'r> {
    /// Whose names match first.
    pub host: &'r Host,
    /// Rules that apply and set something, in written order.
    pub sets: Vec<&'r Rule>,
    /// The rule that ends it; none: there is nothing, 404.
    pub answers: Option<&'r Rule>,
}

/// The course of a request for `path`, as [`site::path::translate`] gives it, of a host named in
/// lower case and without a port. None: no host has that name.
#[must_use]
pub fn course<'r>(rules: &'r Rules, name: &str, path: &str) -> Option<Course<'r>> {
    let takes = |host: &&Host| host.names.iter().any(|of| covers(of, name));
    let host = rules.hosts.iter().find(takes)?;
    let mut course = Course { host, sets: Vec::new(), answers: None };
    for rule in &host.rules {
        let Some(rest) = rest(&rule.at, path) else { continue };
        match &rule.effect {
            Effect::UserDirectories(_) if !is_of_user(rest) => {}
            Effect::Root(_)
            | Effect::UserDirectories(_)
            | Effect::Redirect { .. }
            | Effect::Answer(_) => {
                course.answers = Some(rule);
                break;
            }
            _ => course.sets.push(rule),
        }
    }
    Some(course)
}

/// What stands behind a prefix of whole segments.
fn rest<'p>(at: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(at.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn is_of_user(rest: &str) -> bool {
    rest.strip_prefix("/~").is_some_and(|name| !name.is_empty() && !name.starts_with('/'))
}

/// The course of a URL, in lines for the operator.
///
/// # Errors
/// It is no URL that a server could be asked for.
pub fn explained(settings: &Settings, url: &str) -> Result<String, String> {
    let (name, raw) = parts(url)?;
    let mut text = String::new();
    let path = match path::translate(raw.as_bytes()) {
        Ok(path) => String::from_utf8_lossy(&path).into_owned(),
        Err(status) => {
            return Ok(format!("answered with {}: no path that is served\n", status.0));
        }
    };
    if settings.rules.hosts.is_empty() {
        let root = settings.root.display();
        return Ok(format!("every host serves {root}\nanswers   /  root {root}\n"));
    }
    let Some(course) = course(&settings.rules, &name, &path) else {
        return Ok(format!("no host is named {name}; a host named `*` would take it\n"));
    };
    let _ = writeln!(text, "host {}", course.host.names.join(", "));
    for rule in course.sets {
        let _ = writeln!(text, "applies   {}", summary::rule(rule));
    }
    let _ = match course.answers {
        Some(rule) => writeln!(text, "answers   {}", summary::rule(rule)),
        None => writeln!(text, "answers   404: no rule of this host does"),
    };
    Ok(text)
}

/// The name of the host and the raw path.
fn parts(url: &str) -> Result<(String, &str), String> {
    let wrong = || format!("{url:?} is no URL; write http://HOST/PATH");
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    if !matches!(scheme, "http" | "https") {
        return Err(wrong());
    }
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    if host.is_empty() {
        return Err(wrong());
    }
    Ok((host.to_ascii_lowercase(), if path.is_empty() { "/" } else { path }))
}
