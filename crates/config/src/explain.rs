//! Which host, which rules and which answer a URL has.

use std::fmt::Write as _;

use h1::Now;
use servers::settings::Settings;
use site::rules::{Effect, Rule};
use site::{Applied, Asked, Site};

use crate::summary;

/// The site that settings make, as far as it can be told without serving.
///
/// # Errors
/// What is wrong with it: a line for the operator.
pub fn site(settings: &Settings) -> Result<Site, String> {
    let of = site::Settings { rules: settings.rules.clone(), ..site::Settings::default() };
    Site::new(&settings.root, &of).map_err(|e| settings.refused(&e))
}

/// What becomes of a request for a URL, in lines for the operator. The URL may lack its scheme, and
/// be a path of the first host. Looks on the disk, and may block.
///
/// # Errors
/// It is no URL that a server could be asked for.
pub fn explained(settings: &Settings, site: &Site, url: &str, now: &Now) -> Result<String, String> {
    let (name, path) = parts(settings, url)?;
    let mut text = ruled(settings, site, &name, path);
    if let Some(Asked { status, bytes, hint }) = site.asked(&name, path, now) {
        let asks = |rule: &Rule| matches!(rule.effect, Effect::Allow(_) | Effect::Deny(_));
        let asks = site.explain(&name, path).iter().any(|(rule, _)| asks(rule));
        let whose = if asks { " of those let in" } else { "" };
        let size = bytes.map_or_else(String::new, |bytes| format!(" ({bytes} bytes)"));
        let _ = writeln!(text, "a GET{whose} gets {} {}{size}", status.0, status.phrase());
        if let Some(hint) = hint {
            let _ = writeln!(text, "{hint}");
        }
    }
    Ok(text)
}

/// The host and the rules.
fn ruled(settings: &Settings, site: &Site, name: &str, path: &str) -> String {
    if let Err(status) = site::path::translate(path.as_bytes()) {
        return format!("answered with {}: no path that is served\n", status.0);
    }
    if settings.rules.hosts.is_empty() {
        return format!("every host\nanswers   /  root {}\n", settings.root.display());
    }
    let Some(host) = site.host(name) else {
        return format!(
            "answered with 421: no host is named {name}; one that is named `*` would take it\n"
        );
    };
    let mut text = format!("host {}\n", host.names.join(", "));
    let rules = site.explain(name, path);
    for (rule, applied) in &rules {
        let verb = match applied {
            Applied::Sets => "applies",
            Applied::Answers => "answers",
        };
        let _ = writeln!(text, "{verb}   {}", summary::rule(rule));
    }
    if !rules.iter().any(|(_, applied)| *applied == Applied::Answers) {
        text.push_str("answers   404: no rule of this host does\n");
    }
    text
}

/// The name of the host and the raw path.
fn parts<'u>(settings: &Settings, url: &'u str) -> Result<(String, &'u str), String> {
    let wrong = || format!("{url:?} is no URL; write http://HOST/PATH, HOST/PATH or /PATH");
    let rest = match url.split_once("://") {
        Some(("http" | "https", rest)) => rest,
        Some(_) => return Err(wrong()),
        None => url,
    };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    if host.is_empty() && rest.len() == path.len() && url.starts_with('/') {
        return Ok((first_name(settings), path));
    }
    // No browser sends a user's name to a server in a URL.
    if host.is_empty() || host.contains('@') {
        return Err(wrong());
    }
    Ok((host.to_ascii_lowercase(), if path.is_empty() { "/" } else { path }))
}

/// Of the first host that has one.
fn first_name(settings: &Settings) -> String {
    let names = settings.rules.hosts.iter().flat_map(|host| &host.names);
    names.into_iter().find(|name| !name.contains('*')).map_or("localhost".into(), String::clone)
}
