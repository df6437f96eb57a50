//! `weir serve` for a session of one's own, with the same flags.

use std::process::ExitCode;

use h1::{Limits, Shared};
use servers::session::Sessions;
use servers::settings::Settings;
use servers::{Failure, Program, knobs};

pub(crate) fn serve(name: &str, sessions: fn(&Shared<Limits>) -> Sessions) -> ExitCode {
    let told = |what: &str| {
        eprintln!("{name}: {what}");
        ExitCode::FAILURE
    };
    let settings = match settings() {
        Ok(settings) => settings,
        Err(what) => return told(&what),
    };
    let mut program = Program {
        settings: &mut || Ok(settings.clone()),
        sessions: &sessions,
        say: &mut |line| println!("{name}: {line}"),
    };
    match servers::serve(&mut program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Operator(what) | Failure::Machine(what)) => told(&what),
        Err(Failure::Cut) => ExitCode::FAILURE,
    }
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
        let knob = knobs::knob(name).ok_or_else(|| format!("no such flag: {word}"))?;
        (knob.set)(&mut settings, &value)
            .map_err(|what| format!("{word} {value}: must be {what}"))?;
    }
    Ok(settings)
}
