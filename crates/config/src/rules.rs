//! Rules: a prefix and what is done there.
//!
//! One that is written may set several things at once, and is several then.

use std::fs;
use std::path::PathBuf;

use h1::Status;
use site::rules::{Effect, Network, Rule};

use crate::Fault;
use crate::auth;
use crate::item::{Item, Section};
use crate::prefix::prefix;

/// What a redirect without a status has: a browser asks again the next time.
const REDIRECT_STATUS: Status = Status(302);

/// Keys that do not do something themselves.
const ATTRIBUTES: [&str; 2] = ["at", "status"];

/// Keys of what answers: it stands alone, so that the order of rules says all there is to say.
const ANSWERS: [&str; 4] = ["root", "user-directories", "redirect", "answer"];

/// Reads one rule, which is as many as it does things.
pub(crate) fn rule(section: &Section<'_>, rules: &mut Vec<Rule>, faults: &mut Vec<Fault>) {
    let before = faults.len();
    section.tell_unknown(faults);
    let is_known = faults.len() == before;
    let places = places(section, faults);
    let items = section.items().into_iter();
    let does = items.filter(|item| {
        let is_attribute = ATTRIBUTES.contains(&item.name);
        !is_attribute && crate::keys::unknown(section.name, item.name).is_none()
    });
    let does: Vec<_> = does.collect();
    let names = does.iter().map(|item| item.name).collect::<Vec<_>>();
    if names.is_empty() && is_known {
        let told = "does nothing; write one of `root`, `redirect`, `answer`, `listing`, ...";
        faults.push(section.source.fault(&section.at, section.name, told.into()));
    }
    if names.len() > 1
        && let Some(answers) = names.iter().find(|name| ANSWERS.contains(name))
    {
        let others = names.iter().filter(|name| *name != answers).copied().collect::<Vec<_>>();
        let told = format!(
            "answers (`{answers}`) and does more ({}); write two rules, the one that answers last",
            others.join(", ")
        );
        faults.push(section.source.fault(&section.at, section.name, told));
    }
    if let Some(status) = section.item("status")
        && !names.contains(&"redirect")
    {
        faults.push(status.fault("belongs to a redirect; here it would do nothing"));
    }
    for item in does {
        for (item, effect) in effects(section, &item, faults) {
            let rule = |at| Rule { at, effect: effect.clone(), origin: item.origin() };
            // What it does is judged also where it is not known for which paths.
            let nowhere = places.is_empty().then(|| "/".into());
            let all: Vec<Rule> = places.iter().cloned().chain(nowhere).map(rule).collect();
            match all.iter().try_for_each(site::judge) {
                Err(told) => faults.push(item.fault(told)),
                Ok(()) if places.is_empty() => {}
                Ok(()) => rules.extend(all),
            }
        }
    }
}

/// Its prefixes, each for a rule of its own.
fn places(section: &Section<'_>, faults: &mut Vec<Fault>) -> Vec<String> {
    let Some(item) = section.needed("at", faults) else { return Vec::new() };
    if item.elements().is_empty() {
        faults.push(item.fault("is empty; write `/` for every path"));
    }
    let mut places = Vec::new();
    for (item, written) in item.strings(faults) {
        match prefix(written) {
            Ok(place) => places.push(place),
            Err(told) => faults.push(item.fault(told)),
        }
    }
    places
}

/// What a key of a rule does, each with what was written for it.
fn effects<'s>(
    section: &Section<'s>,
    item: &Item<'s>,
    faults: &mut Vec<Fault>,
) -> Vec<(Item<'s>, Effect)> {
    let path = |faults: &mut Vec<Fault>| item.string(faults).map(String::from);
    let effect = match item.name {
        "root" => root(item, faults).map(Effect::Root),
        "user-directories" => path(faults).map(Effect::UserDirectories),
        "redirect" => redirect(section, item, faults),
        "answer" => item.number(faults).map(|code| Effect::Answer(Status(code))),
        "listing" => item.switch(faults).map(Effect::Listing),
        "follow-links" => follow_links(item, faults),
        "clean-urls" => item.switch(faults).map(Effect::CleanUrls),
        "fallback" => page(item, faults).map(Effect::Fallback),
        "error-page" => error_page(item, faults),
        "field" => field(item, faults),
        "fields" => return fields(item, faults),
        "types" => types(item, faults),
        "cors" => {
            let origins = item.strings(faults).into_iter().map(|(_, origin)| origin.into());
            Some(Effect::Cors { origins: origins.collect() })
        }
        "auth" => auth::auth(item, faults),
        "allow" => networks(item, faults).map(Effect::Allow),
        "deny" => networks(item, faults).map(Effect::Deny),
        _ => None,
    };
    effect.map(|effect| (item.clone(), effect)).into_iter().collect()
}

pub(crate) fn root(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<PathBuf> {
    directory(item, "to serve", faults)
}

/// A directory that is there.
fn directory(item: &Item<'_>, purpose: &str, faults: &mut Vec<Fault>) -> Option<PathBuf> {
    let written = item.string(faults)?;
    let path = item.source.path(written);
    let told = match fs::metadata(&path) {
        _ if written.is_empty() => "is empty; write `.` for the directory of this file".into(),
        Ok(kind) if kind.is_dir() => return Some(path),
        Ok(_) => format!("not a directory: {}", path.display()),
        Err(e) => format!("no directory {purpose}: {}: {e}", path.display()),
    };
    faults.push(item.fault(told));
    None
}

fn follow_links(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let before = faults.len();
    let elements = item.elements();
    let places = elements.iter().filter_map(|item| directory(item, "to follow links to", faults));
    let places = places.collect();
    (faults.len() == before).then_some(Effect::FollowLinks(places))
}

fn redirect(section: &Section<'_>, item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let to = item.string(faults).map(String::from);
    let status = match section.item("status") {
        Some(item) => item.number(faults).map(Status),
        None => Some(REDIRECT_STATUS),
    };
    if let (Some(item), Some(code)) = (section.item("status"), status)
        && !matches!(code.0, 301 | 302 | 303 | 307 | 308)
    {
        faults.push(item.not("301, 302, 303, 307 or 308"));
        return None;
    }
    Some(Effect::Redirect { to: to?, status: status? })
}

fn error_page(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let section = item.section("host.rule.error-page", faults)?;
    section.tell_unknown(faults);
    let status = section.needed("status", faults).and_then(|item| item.number(faults));
    let file = section.needed("file", faults).and_then(|item| page(&item, faults));
    Some(Effect::ErrorPage { status: Status(status?), file: file? })
}

fn page(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<String> {
    let file = item.string(faults)?;
    if !file.starts_with('/') {
        faults.push(item.not("a path of this host that begins with a slash"));
        return None;
    }
    Some(file.into())
}

fn field(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let section = item.section("host.rule.field", faults)?;
    section.tell_unknown(faults);
    let name = section.needed("name", faults).and_then(|item| item.string(faults));
    let value = section.needed("value", faults).and_then(|item| item.string(faults));
    Some(Effect::Field { name: name?.into(), value: value?.into() })
}

fn networks(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Vec<Network>> {
    let before = faults.len();
    let mut networks = Vec::new();
    for (item, written) in item.strings(faults) {
        match written.parse() {
            Ok(network) => networks.push(network),
            Err(_) => faults.push(item.not("an address, or a network such as \"10.0.0.0/8\"")),
        }
    }
    // With some of them it would say something else.
    (faults.len() == before).then_some(networks)
}

fn types(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let before = faults.len();
    let section = item.section("host.rule.types", faults)?;
    let mut types = Vec::new();
    for item in section.items() {
        types.extend(item.string(faults).map(|kind| (item.name.into(), kind.into())));
    }
    (faults.len() == before).then_some(Effect::Types(types))
}

fn fields<'s>(item: &Item<'s>, faults: &mut Vec<Fault>) -> Vec<(Item<'s>, Effect)> {
    let Some(section) = item.section("host.rule.fields", faults) else { return Vec::new() };
    if section.items().is_empty() {
        faults.push(item.fault("is empty; name some fields, or leave it out"));
    }
    let items = section.items().into_iter().filter_map(|item| {
        let value = item.string(faults)?.into();
        let name = item.name.into();
        Some((item, Effect::Field { name, value }))
    });
    items.collect()
}
