//! What settings come to, in lines for the operator.

use std::fmt::Write as _;

use servers::architectures;
use servers::knobs;
use servers::settings::Settings;
use site::rules::{Effect, Network, Rule};

/// What would be served.
#[must_use]
pub fn summary(settings: &Settings) -> String {
    let defaults = Settings::default();
    let mut text = String::new();
    let told = ["listen", "architecture"];
    for knob in knobs::all() {
        let shown = (knob.show)(settings);
        if told.contains(&knob.name) || shown != (knob.show)(&defaults) {
            let _ = writeln!(text, "{} {shown}", knob.name);
        }
    }
    if let Some(row) = architectures::architecture(&settings.architecture) {
        let _ = writeln!(text, "({}: {})", row.name, row.is);
    }
    if settings.rules.hosts.is_empty() {
        let _ = writeln!(text, "every host\n  /  root {}", settings.root.display());
    }
    for host in &settings.rules.hosts {
        let _ = writeln!(text, "host {}", host.names.join(", "));
        for rule in &host.rules {
            let _ = writeln!(text, "  {}", self::rule(rule));
        }
    }
    text
}

/// One rule, without its users' hashes.
#[must_use]
pub fn rule(rule: &Rule) -> String {
    let switch = |is: bool| if is { "on" } else { "off" };
    let does = match &rule.effect {
        Effect::Root(root) => format!("root {}", root.display()),
        Effect::UserDirectories(name) => format!("user-directories {name}"),
        Effect::Redirect { to, status } => format!("redirect {to} ({})", status.0),
        Effect::Answer(status) => format!("answer {}", status.0),
        Effect::FollowLinks(places) if places.is_empty() => String::from("follow-links off"),
        Effect::FollowLinks(places) => {
            let places = places.iter().map(|place| place.display().to_string());
            format!("follow-links {}", places.collect::<Vec<_>>().join(", "))
        }
        Effect::Listing(is) => format!("listing {}", switch(*is)),
        Effect::CleanUrls(are) => format!("clean-urls {}", switch(*are)),
        Effect::Fallback(file) => format!("fallback {file}"),
        Effect::ErrorPage { status, file } => format!("error-page {} {file}", status.0),
        Effect::Field { name, value } => format!("field {name}: {value}"),
        Effect::Types(types) => {
            let types = types.iter().map(|(ending, kind)| format!("{ending} {kind}"));
            format!("types {}", types.collect::<Vec<_>>().join(", "))
        }
        Effect::Cors { origins } => format!("cors {}", origins.join(", ")),
        Effect::Auth { realm, users } => {
            let s = if users.len() == 1 { "" } else { "s" };
            format!("auth {realm:?}, {} user{s}", users.len())
        }
        Effect::Allow(networks) => format!("allow {}", listed(networks)),
        Effect::Deny(networks) => format!("deny {}", listed(networks)),
    };
    let Rule { at, origin, .. } = rule;
    format!("{at}  {does}  ({origin})")
}

fn listed(networks: &[Network]) -> String {
    networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
