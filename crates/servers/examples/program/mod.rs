//! `weir serve` for a session of one's own, with the same flags, and `--auth "NAME=HASH ..."`.

use std::process::ExitCode;

use h1::{Limits, Shared};
use servers::session::Sessions;
use servers::settings::Settings;
use servers::{Failure, Hangup, Program, Voice, knobs};
use site::rules::{Effect, Host, Origin, Rule, Rules};

pub(crate) fn serve(name: &str, sessions: fn(&Shared<Limits>) -> Sessions) -> ExitCode {
    let told = |what: &str| {
        eprintln!("{name}: {what}");
        ExitCode::FAILURE
    };
    let settings = match settings() {
        Ok(settings) => settings,
        Err(what) => return told(&what),
    };
    let mut said = |line: &str| println!("{name}: {line}");
    let mut program = Program {
        settings: &mut || Ok(settings.clone()),
        sessions: &sessions,
        hangup: Hangup::Reloads,
        voice: Voice::new(&mut said),
    };
    match servers::serve(&mut program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Operator(what) | Failure::Machine(what)) => told(&what),
        Err(Failure::Cut) => ExitCode::FAILURE,
    }
}

/// What lies beneath `/dir` is for the users whose `NAME=HASH` these are, behind the root.
fn asking(settings: &Settings, users: &str) -> Rules {
    let users = users.split_whitespace().filter_map(|user| user.split_once('='));
    let users = users.map(|(name, hash)| (name.into(), hash.into())).collect();
    let origin = Origin::flag("--auth");
    let rule = |at: &str, effect| Rule { at: at.into(), effect, origin: origin.clone() };
    let auth = rule("/dir", Effect::Auth { realm: "dir".into(), users });
    let rules = vec![auth, rule("/", Effect::Root(settings.root.clone()))];
    Rules { hosts: vec![Host { names: vec!["*".into()], rules }] }
}

fn settings() -> Result<Settings, String> {
    let mut settings = Settings::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else {
            settings.root = word.into();
            continue;
        };
        let value = words.next().unwrap_or_default();
        if name == "auth" {
            settings.rules = asking(&settings, &value);
            continue;
        }
        let knob = knobs::knob(name).ok_or_else(|| format!("no such flag: {word}"))?;
        (knob.set)(&mut settings, &value)
            .map_err(|what| format!("{word} {value}: must be {what}"))?;
    }
    Ok(settings)
}
