//! Who may: users in the file itself, or in a file of their own as htpasswd writes it.

use site::rules::{Effect, Origin, Rule};

use crate::Fault;
use crate::item::Item;
use crate::source::Source;

pub(crate) fn auth(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Effect> {
    let section = item.section("host.rule.auth", faults)?;
    section.tell_unknown(faults);
    let realm = section.needed("realm", faults).and_then(|item| item.string(faults));
    let users = match (section.item("users"), section.item("users-file")) {
        (Some(users), None) => of_table(&users, faults),
        (None, Some(file)) => of_file(&file, faults),
        _ => {
            faults.push(item.fault("needs one of the keys `users` and `users-file`"));
            None
        }
    }?;
    if users.is_empty() {
        faults.push(item.fault("lets nobody in; name users, or answer 403"));
        return None;
    }
    Some(Effect::Auth { realm: realm?.into(), users })
}

fn of_table(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Vec<(String, String)>> {
    let before = faults.len();
    let mut users = Vec::new();
    for item in item.section("host.rule.auth.users", faults)?.items() {
        let Some(hash) = item.string(faults) else { continue };
        match judge(item.name, hash) {
            Ok(()) => users.push((item.name.into(), hash.into())),
            Err(told) => faults.push(item.fault(told)),
        }
    }
    (faults.len() == before).then_some(users)
}

fn of_file(item: &Item<'_>, faults: &mut Vec<Fault>) -> Option<Vec<(String, String)>> {
    let before = faults.len();
    let source = match Source::read(&item.source.path(item.string(faults)?)) {
        Ok(source) => source,
        Err(fault) => {
            faults.push(match fault.place {
                Some(_) => fault,
                None => item.fault(format!("{}: {}", fault.file, fault.told)),
            });
            return None;
        }
    };
    let mut users = Vec::new();
    let mut at = 0;
    for line in source.text.split_inclusive('\n') {
        let written = line.trim();
        let place = at..at + line.len();
        at = place.end;
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let judged = match written.split_once(':') {
            Some((name, hash)) => judge(name, hash).map(|()| (name.into(), hash.into())),
            None => Err("must be `name:hash`, as `htpasswd -B` writes it".into()),
        };
        match judged {
            Ok(user) => users.push(user),
            Err(told) => faults.push(source.fault(&place, "", told)),
        }
    }
    (faults.len() == before).then_some(users)
}

fn judge(name: &str, hash: &str) -> Result<(), String> {
    let users = vec![(name.into(), hash.into())];
    let effect = Effect::Auth { realm: "it".into(), users };
    site::judge(&Rule { at: "/".into(), effect, origin: Origin::flag("") })
}
