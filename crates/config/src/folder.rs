//! What flags say of one directory that is served to everybody, in the place of a file with hosts.

use std::path::Path;

use h1::Status;
use servers::settings::Settings;
use site::Rules;
use site::rules::{Effect, Host, Origin, Rule};

/// A flag that is no knob, and no key of a file: there it is a rule of a host.
pub struct Flag {
    /// As in `--name`.
    pub name: &'static str,
    /// What a value looks like; empty: it has none.
    pub value: &'static str,
    /// What it does.
    pub reason: &'static str,
}

/// All of them.
pub const FLAGS: [Flag; 4] = [
    Flag {
        name: "listing",
        value: "",
        reason: "lists directories that have no index file; of a file with hosts it is a rule",
    },
    Flag {
        name: "clean-urls",
        value: "",
        reason: "/about shows about.html where there is no file about; of a file with hosts it is \
                 a rule",
    },
    Flag {
        name: "fallback",
        value: "PATH",
        reason: "what is served where there is no file, /index.html for an application that is \
                 one page",
    },
    Flag {
        name: "error-page",
        value: "CODE=PATH",
        reason: "what replies with that status contain, 404=/missing.html; once for each status",
    },
];

/// Those flags, as they were written.
#[derive(Debug, Default)]
pub struct Folder<'f> {
    /// `--listing`: directories without an index file are listed.
    pub listing: bool,
    /// `--clean-urls`: pages are shown without the ending of their names, too.
    pub clean_urls: bool,
    /// `--fallback PATH`: what is served where there is no file.
    pub fallback: Option<&'f str>,
    /// `--error-page CODE=PATH`: what replies with a status contain.
    pub error_pages: Vec<&'f str>,
}

impl Folder<'_> {
    /// Makes these the rules of the root; without any, the settings stay as they are. `file`: that
    /// the settings come from.
    ///
    /// # Errors
    /// A line for the operator.
    pub fn settle(&self, settings: &mut Settings, file: Option<&Path>) -> Result<(), String> {
        let mut rules = self.rules()?;
        let Some(first) = rules.first() else { return Ok(()) };
        if let (false, Some(file)) = (settings.rules.hosts.is_empty(), file) {
            return Err(format!(
                "{}: {} has hosts; write a rule with it there, for the host that is meant",
                first.origin,
                file.display()
            ));
        }
        let origin = Origin::flag("DIR");
        let root = Effect::Root(settings.root.clone());
        rules.push(Rule { at: "/".into(), effect: root, origin });
        settings.rules = Rules { hosts: vec![Host { names: vec!["*".into()], rules }] };
        Ok(())
    }

    fn rules(&self) -> Result<Vec<Rule>, String> {
        let mut rules = Vec::new();
        if self.listing {
            rules.push(rule(String::from("--listing"), Effect::Listing(true))?);
        }
        if self.clean_urls {
            rules.push(rule(String::from("--clean-urls"), Effect::CleanUrls(true))?);
        }
        if let Some(path) = self.fallback {
            let flag = format!("--fallback {path}");
            rules.push(rule(flag.clone(), Effect::Fallback(page(&flag, path)?))?);
        }
        for written in &self.error_pages {
            let flag = format!("--error-page {written}");
            let pair = written.split_once('=');
            let pair = pair.and_then(|(code, path)| Some((Status(code.parse().ok()?), path)));
            let Some((status, path)) = pair else {
                return Err(format!("{flag}: must be CODE=PATH, 404=/missing.html for instance"));
            };
            if let Some(before) = rules.iter().find(|rule| status_of(rule) == Some(status)) {
                let (code, before) = (status.0, &before.origin);
                return Err(format!("{flag}: {before} is there for {code}; leave one out"));
            }
            let file = page(&flag, path)?;
            rules.push(rule(flag, Effect::ErrorPage { status, file })?);
        }
        Ok(rules)
    }
}

/// Of an error page.
fn status_of(rule: &Rule) -> Option<Status> {
    match rule.effect {
        Effect::ErrorPage { status, .. } => Some(status),
        _ => None,
    }
}

fn page(flag: &str, path: &str) -> Result<String, String> {
    if path.starts_with('/') {
        return Ok(path.into());
    }
    Err(format!("{flag}: must be a path of the site that begins with a slash, not {path:?}"))
}

fn rule(flag: String, effect: Effect) -> Result<Rule, String> {
    let origin = Origin::flag(&flag);
    let rule = Rule { at: "/".into(), effect, origin };
    site::judge(&rule).map_err(|told| format!("{}: {told}", rule.origin))?;
    Ok(rule)
}
