//! Virtual hosts and their names.

use std::net::Ipv6Addr;

use site::rules::{Effect, Host, Rule};

use crate::Fault;
use crate::item::Section;
use crate::rules;

/// Reads one host and adds it to those before.
pub(crate) fn host(section: &Section<'_>, hosts: &mut Vec<Host>, faults: &mut Vec<Fault>) {
    section.tell_unknown(faults);
    let mut host = Host { names: Vec::new(), rules: Vec::new() };
    if let Some(item) = section.needed("names", faults) {
        let names = item.strings(faults);
        if names.is_empty() && item.elements().is_empty() {
            faults.push(item.fault("is empty; write `*` for every name"));
        }
        for (item, written) in names {
            match judged(written, hosts.iter().chain([&host])) {
                Ok(name) => host.names.push(name),
                Err(told) => faults.push(item.fault(told)),
            }
        }
    }
    if let Some(item) = section.item("rule") {
        for section in item.sections("host.rule", faults) {
            rules::rule(&section, &mut host.rules, faults);
        }
    }
    if let Some(item) = section.item("root")
        && let Some(root) = rules::root(&item, faults)
    {
        let origin = item.origin();
        host.rules.push(Rule { at: "/".into(), effect: Effect::Root(root), origin });
    }
    hosts.push(host);
}

/// A name that no host before this one has taken.
fn judged<'h>(written: &str, before: impl Iterator<Item = &'h Host>) -> Result<String, String> {
    let name = written.to_ascii_lowercase();
    let domain = name.strip_prefix("*.").unwrap_or(&name);
    if let Some(v6) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // As browsers write it.
        let v6 = v6.parse::<Ipv6Addr>().map_err(|_| format!("{written} is no address"))?;
        return untaken(format!("[{v6}]"), before);
    }
    if name != "*" {
        if let Some((host, port)) = domain.rsplit_once(':')
            && port.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(format!("names have no port; write {host:?}"));
        }
        if !domain.is_ascii() {
            return Err("must be in ASCII; write what browsers send, `xn--...`".into());
        }
        let is_label = |label: &str| {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !label.is_empty() && label.bytes().all(is_of_name)
        };
        if !domain.split('.').all(is_label) {
            let mend = "`example.org`, `*.example.org` or `*`";
            return Err(format!("must be a host's name ({mend}), not {written:?}"));
        }
    }
    untaken(name, before)
}

fn untaken<'h>(name: String, before: impl Iterator<Item = &'h Host>) -> Result<String, String> {
    match before.flat_map(|host| &host.names).find(|taken| covers(taken, &name)) {
        Some(taken) => Err(format!("would never be asked: {taken:?} takes it before")),
        None => Ok(name),
    }
}

/// Whether a host by the name `of` answers for `name`, too.
fn covers(of: &str, name: &str) -> bool {
    let is_below = |domain: &str| name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    of == "*" || of == name || of.strip_prefix("*.").is_some_and(is_below)
}
