//! `weir sim list`: what can be simulated, and what everything costs.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::ArgMatches;
use sim::models::MODELS;
use sim::parameters::{Parameter, Parameters, SHIPPED};

use super::named_parameters;
use crate::{shown, usage};

pub(super) fn list(flags: &ArgMatches) -> ExitCode {
    match flags.get_one::<String>("parameters") {
        None => shown(&all()),
        Some(asked) => match named_parameters(asked, asked) {
            Ok(parameters) => shown(&costs(&parameters)),
            Err(what) => usage(&what),
        },
    }
}

/// Without the costs.
pub(super) fn all() -> String {
    let width = MODELS.iter().map(|model| model.name.len()).max().unwrap_or_default();
    let mut text = String::from("Models:\n");
    for model in MODELS {
        let knobs = model.knobs.iter().map(|knob| format!("{}={}", knob.name, knob.default));
        let (name, is, knobs) = (model.name, model.architecture().is, knobs.collect::<Vec<_>>());
        let _ = writeln!(text, "  {name:width$}  {is}");
        let _ = writeln!(text, "  {:width$}  {}", "", knobs.join(", "));
    }
    text.push_str("\nParameters (weir sim list NAME says what everything costs):\n");
    for parameters in SHIPPED.iter().filter_map(|shipped| Parameters::shipped(shipped.name)) {
        let _ = writeln!(text, "  {:width$}  {}", parameters.name, parameters.machine);
    }
    text.push_str("\nSweeps:\n");
    for name in lab::experiments::SIMULATED {
        let question = lab::experiments::experiment(name).map_or("", |of| of.question);
        let _ = writeln!(text, "  {name}  {question}");
    }
    text
}

/// Each parameter with what it is, its range and source, and what it is of single models.
fn costs(parameters: &Parameters) -> String {
    let mut text = format!("{}: {}\n", parameters.name, parameters.machine);
    let own: Vec<_> =
        MODELS.iter().map(|model| (model.name, parameters.of_model(model.name))).collect();
    for (at, (definition, parameter)) in parameters.all().enumerate() {
        let _ = writeln!(text, "\n{}: {}", definition.name, definition.about);
        let mut line = |of: &str, parameter: &Parameter| {
            let range = parameter.range();
            let _ = writeln!(text, "  {of}{parameter} ({range}); {}", parameter.source);
        };
        line("", parameter);
        let own = own.iter().filter_map(|(model, own)| Some((model, own.all().nth(at)?.1)));
        own.filter(|(_, of)| *of != parameter)
            .for_each(|(model, of)| line(&format!("{model} "), of));
    }
    text
}
