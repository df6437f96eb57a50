//! Rules: a prefix and what is done there.

use std::fs;
use std::path::PathBuf;

use h1::Status;
use site::rules::{Effect, Rule};

use crate::Fault;
use crate::auth;
use crate::item::{Item, Section};
use crate::prefix::prefix;

/// What a redirect without a status has: a browser asks again the next time.
const REDIRECT_STATUS: Status = Status(302);

/// Keys that do not do something themselves.
const ATTRIBUTES: [&str; 2] = ["at", "status"];

/// Reads one rule; several fields are several rules.
pub(crate) fn rule(section: &Section<'_>, rules: &mut Vec<Rule>, faults: &mut Vec<Fault>) {
    let before = faults.len();
    section.tell_unknown(faults);
    let is_known = faults.len() == before;
    let at = section.needed("at", faults).and_then(|item| {
        let written = item.string(faults)?;
        let judged = prefix(written);
        judged.map_err(|told| faults.push(item.fault(told))).ok()
    });
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
    if names.len() > 1 {
        let told = format!("does several things ({}); write a rule for each", names.join(", "));
        faults.push(section.source.fault(&section.at, section.name, told));
    }
    if let Some(status) = section.item("status")
        && !names.contains(&"redirect")
    {
        faults.push(status.fault("belongs to a redirect; here it would do nothing"));
    }
    for item in does {
        for (item, effect) in effects(section, &item, faults) {
            let at = at.clone();
            let origin = item.source.origin(&item.at);
            let rule = Rule { at: at.clone().unwrap_or("/".into()), effect, origin };
            match (site::judge(&rule), at) {
                (Err(told), _) => faults.push(item.fault(told)),
                (Ok(()), Some(_)) => rules.push(rule),
                (Ok(()), None) => {}
            }
        }
    }
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
        "fallback" => page(item, faults).map(Effect::Fallback),
        "error-page" => error_page(item, faults),
        "field" => field(item, faults),
        "fields" => return fields(item, faults),
        "cors" => {
            let origins = item.strings(faults).into_iter().map(|(_, origin)| origin.into());
            Some(Effect::Cors { origins: origins.collect() })
        }
        "auth" => auth::auth(item, faults),
        _ => None,
    };
    effect.map(|effect| (item.clone(), effect)).into_iter().collect()
}

/// A directory that is there.
pub(crate) fn root(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<PathBuf> {
    let written = item.string(faults)?;
    let root = item.source.path(written);
    let told = match fs::metadata(&root) {
        _ if written.is_empty() => "is empty; write `.` for the directory of this file".into(),
        Ok(kind) if kind.is_dir() => return Some(root),
        Ok(_) => format!("not a directory: {}", root.display()),
        Err(e) => format!("no directory to serve: {}: {e}", root.display()),
    };
    faults.push(item.fault(told));
    None
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
