//! Which host, which rules and which answer a URL has.

use std::fmt::Write as _;

use servers::settings::Settings;
use site::{Applied, Site};

use crate::summary;

/// The site that settings make, as far as it can be told without serving.
///
/// # Errors
/// What is wrong with it: a line for the operator.
pub fn site(settings: &Settings) -> Result<Site, String> {
    let of = site::Settings { rules: settings.rules.clone(), ..site::Settings::default() };
    Site::new(&settings.root, &of).map_err(|e| e.to_string())
}

/// What becomes of a request for a URL, in lines for the operator.
///
/// # Errors
/// It is no URL that a server could be asked for.
pub fn explained(settings: &Settings, site: &Site, url: &str) -> Result<String, String> {
    let (name, path) = parts(url)?;
    if let Err(status) = site::path::translate(path.as_bytes()) {
        return Ok(format!("answered with {}: no path that is served\n", status.0));
    }
    if settings.rules.hosts.is_empty() {
        return Ok(format!("every host\nanswers   /  root {}\n", settings.root.display()));
    }
    let Some(host) = site.host(&name) else {
        return Ok(format!(
            "answered with 421: no host is named {name}; one that is named `*` would take it\n"
        ));
    };
    let mut text = format!("host {}\n", host.names.join(", "));
    let rules = site.explain(&name, path);
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
    // No browser sends a user's name to a server in a URL.
    if host.is_empty() || host.contains('@') {
        return Err(wrong());
    }
    Ok((host.to_ascii_lowercase(), if path.is_empty() { "/" } else { path }))
}
