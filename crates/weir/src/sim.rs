//! `weir sim`: flags to the simulator.

mod list;
mod watch;

use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use load::choices::{Choices, Pace};
use load::workload;
use load::workload::settings::KNOBS;
use measure::Duration;
use serde_json::{Map, Value, json};
use sim::models::{MODELS, Model};
use sim::parameters::{Parameters, SHIPPED};
use sim::point::{Estimate, Point};
use sim::run::{FIGURES, Run};
use sim::scenario::Scenario;

use crate::flags::flag;
use crate::{STOPPED, complain, machine, named, shown, usage};
use watch::Fault;

pub(crate) fn sim(flags: &ArgMatches) -> ExitCode {
    match flags.subcommand() {
        Some(("run", flags)) => run(flags),
        Some(("sweep", flags)) => crate::lab::sweep(flags),
        Some(("list", flags)) => list::list(flags),
        _ => shown(&list::all()),
    }
}

pub(crate) fn command() -> Command {
    let names = Arg::new("name").value_name("NAME").num_args(1..).required(true);
    Command::new("sim")
        .about("Simulates architectures on machines that nobody has at hand")
        .subcommand(of_list())
        .subcommand(of_run())
        .subcommand(
            Command::new("sweep")
                .about("Simulates what a paper asks, as a page; goes on where it was stopped")
                .arg(names.help("Of weir sim list"))
                .args(crate::lab::of_sweep()),
        )
        .after_help(EXAMPLES)
}

const EXAMPLES: &str = "\
Examples:
  weir sim list                                      what can be simulated
  weir sim list choi05                               what everything costs there
  weir sim run pipelined --processors 16             Choi05's server on 16 processors
  weir sim run mt:threads=128 --set thread-switch=2  another pool, a cheaper switch";

fn of_list() -> Command {
    let parameters = Arg::new("parameters").value_name("NAME|FILE");
    Command::new("list")
        .about("The models, their knobs, and sets of parameters, or what everything costs in one")
        .arg(parameters.help("Such a set"))
}

fn of_run() -> Command {
    let of = default_scenario();
    let model = Arg::new("model").value_name("MODEL[:KNOB=VALUE,...]").required(true);
    let number = |name, what: &str, default: u64| flag(name, "N", by_default(what, default));
    let seconds =
        |name, what: &str, default: Duration| flag(name, "S", by_default(what, default.as_secs()));
    let set = "Another value of a parameter, in its unit, or of the workload";
    let clients = "Each asks as soon as it is answered; with a --rate, at most so many at a time";
    let policy = by_default("Who goes when memory is full", of.policy.name());
    let json = "All of it, with the results of each run as weir load's; - in place of the table";
    Command::new("run")
        .about("Simulates one server, several times with other draws")
        .arg(model.help("Of weir sim list"))
        .arg(number("processors", "Of the machine", of.cores.into()))
        .arg(number("memory-mb", "Memory without the kernel's", of.memory_bytes >> 20))
        .arg(number("clients", clients, of.clients.into()))
        .args(of_load())
        .arg(flag("workload", "NAME", by_default("As weir load takes it", &of.workload)))
        .arg(flag("cache-policy", "NAME", policy))
        .arg(flag("parameters", "NAME|FILE", by_default("What everything costs", PARAMETERS)))
        .arg(flag("set", "NAME=VALUE", set.into()).action(ArgAction::Append))
        .arg(seconds("warm-up", "Simulated seconds before anything counts", of.warm_up))
        .arg(seconds("measured", "Simulated seconds that count", of.measured))
        .arg(number("replications", "Runs with draws of their own", REPLICATIONS))
        .arg(number("seed", "Of all draws", of.seed))
        .arg(flag("json", "FILE", json.into()))
}

/// What is simulated where nothing is said.
const PARAMETERS: &str = "choi05";
const REPLICATIONS: u64 = 5;

/// Of whichever model: it is asked for what flags are by default.
fn default_scenario() -> Scenario {
    let parameters = Parameters::shipped(PARAMETERS).expect("a set that is shipped");
    Scenario::new(&MODELS[0], &parameters)
}

fn by_default(what: &str, default: impl Display) -> String {
    format!("{what} [default: {default}]")
}

/// Flags of `weir load` that a simulation takes.
const OF_LOAD: [&str; 4] = ["rate", "gaps", "keeps", "patience"];

fn of_load() -> impl Iterator<Item = Arg> {
    let knobs = load::knobs::KNOBS.iter().filter(|knob| OF_LOAD.contains(&knob.name));
    knobs.map(|knob| flag(knob.name, knob.value, format!("As of weir load: {}", knob.reason)))
}

/// What is to be simulated, as it was asked.
struct Asked {
    scenario: Scenario,
    choices: Choices,
    replications: u64,
}

fn run(flags: &ArgMatches) -> ExitCode {
    let asked = match asked(flags) {
        Ok(asked) => asked,
        Err(what) => return usage(&what),
    };
    if let Some(what) = another_machine(&asked.scenario.parameters) {
        complain(&what);
    }
    let point = match watch::replicated(&asked.scenario, asked.replications) {
        Ok(point) => point,
        Err(Fault::Operator(what)) => return usage(&what),
        Err(Fault::Machine(what)) => return machine(&what),
    };
    let (done, all) = (point.runs.len() as u64, asked.replications);
    if done == 0 {
        complain(&format!("stopped before any of {all} replications was done"));
        return ExitCode::from(STOPPED);
    }
    if done < all {
        complain(&format!("stopped: {done} of {all} replications are done"));
    }
    let file = flags.get_one::<String>("json");
    let is_hidden = file.is_some_and(named::is_standard);
    let told = if is_hidden { ExitCode::SUCCESS } else { shown(&told(&point)) };
    if let Some(file) = file {
        let text = match json(&asked, &point) {
            Ok(json) => format!("{json:#}\n"),
            Err(what) => return usage(&what),
        };
        let written = named::create(Path::new(file));
        if let Err(error) = written.and_then(|mut to| to.write_all(text.as_bytes())) {
            return machine(&format!("--json {file}: {error}"));
        }
    }
    match point.judge() {
        Ok(()) if done < all => ExitCode::from(STOPPED),
        Ok(()) => told,
        Err(what) => {
            complain(&what);
            ExitCode::FAILURE
        }
    }
}

fn asked(flags: &ArgMatches) -> Result<Asked, String> {
    let text = |name: &str| flags.get_one::<String>(name).map(String::as_str);
    let model = text("model").unwrap_or_default();
    let (name, knobs) = model.split_once(':').unwrap_or((model, ""));
    let of = Scenario::new(Model::named(name)?, &parameters(flags)?);
    let number = |name, default, range| number(flags, name, default, range);
    let seconds = |name, default: Duration, least: u64| {
        number(name, default.as_secs(), least..=1_000_000).map(Duration::from_secs)
    };
    let mut scenario = Scenario {
        knobs: pairs(knobs.split(',').filter(|knob| !knob.is_empty()))?,
        cores: number("processors", of.cores.into(), 1..=1024)? as u32,
        memory_bytes: number("memory-mb", of.memory_bytes >> 20, 1..=1 << 30)? << 20,
        clients: number("clients", of.clients.into(), 1..=1_000_000)? as u32,
        workload: text("workload").map_or_else(|| of.workload.clone(), String::from),
        policy: text("cache-policy").map_or(Ok(of.policy), cache_policy)?,
        warm_up: seconds("warm-up", of.warm_up, 0)?,
        measured: seconds("measured", of.measured, 2)?,
        seed: number("seed", of.seed, 0..=u64::MAX / 2)?,
        ..of
    };
    let mut choices = Choices::default();
    // Who simulates asks first what a server does, and not what becomes of it in the end.
    choices.behaviour.patience = None;
    for (name, value) in OF_LOAD.iter().filter_map(|name| Some((name, text(name)?))) {
        choices.set(name, value)?;
    }
    scenario.choose(&choices)?;
    let set = flags.get_many::<String>("set").unwrap_or_default();
    for (name, value) in pairs(set.map(String::as_str))? {
        let set = scenario.set(&name, &value);
        set.map_err(|why| format!("--set {}", why.trim_start_matches('-')))?;
    }
    let replications = number("replications", REPLICATIONS, 1..=1000)?;
    Ok(Asked { scenario, choices, replications })
}

/// Parameters that were measured on another machine tell of that one.
fn another_machine(parameters: &Parameters) -> Option<String> {
    let measured = parameters.processor.as_deref()?;
    let own = load::machine::facts().remove("processor");
    let own = own.as_deref().unwrap_or("unknown");
    (measured != own).then(|| {
        format!(
            "parameters {}: they were measured on the processor {measured:?}, and this one is \
             {own:?}: what is simulated is a server there",
            parameters.name
        )
    })
}

fn cache_policy(name: &str) -> Result<sim::PolicyKind, String> {
    let policies = sim::PolicyKind::ALL;
    policies.iter().find(|policy| policy.name() == name).copied().ok_or_else(|| {
        let names: Vec<_> = policies.iter().map(|policy| policy.name()).collect();
        format!("--cache-policy {name}: has to be one of {}", names.join(", "))
    })
}

fn parameters(flags: &ArgMatches) -> Result<Parameters, String> {
    let asked = flags.get_one::<String>("parameters").map_or(PARAMETERS, String::as_str);
    named_parameters(asked, &format!("--parameters {asked}"))
}

/// Those of that name, or in that file; `said` is how it was asked for.
fn named_parameters(asked: &str, said: &str) -> Result<Parameters, String> {
    if let Some(shipped) = Parameters::shipped(asked) {
        return Ok(shipped);
    }
    match named::read(asked) {
        Ok(text) => Parameters::read(&text, asked),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
            let names = names.join(", ");
            Err(format!("{said}: is no file, and none of {names}"))
        }
        Err(error) => Err(format!("{said}: {error}")),
    }
}

fn pairs<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Vec<(String, String)>, String> {
    texts
        .map(|text| match text.split_once('=') {
            Some((name, value)) => Ok((name.into(), value.into())),
            None => Err(format!("{text}: has to be NAME=VALUE")),
        })
        .collect()
}

fn number(
    flags: &ArgMatches,
    name: &str,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, String> {
    let Some(text) = flags.get_one::<String>(name) else { return Ok(default) };
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (least, most) = range.into_inner();
        format!("--{name} {text}: has to be from {least} to {most}")
    })
}

/// What is told of a point, each with its unit in the name.
fn rows(point: &Point) -> Vec<(String, Estimate)> {
    let response_ms = |run: &Run| run.results.requests.whole.mean().as_secs_f64() * 1e3;
    let first = [
        (String::from("replies/s"), point.replies_per_s()),
        (String::from("response (mean), ms"), point.estimate(response_ms)),
    ];
    let figures = FIGURES.iter().filter_map(|figure| {
        let told = point.figure(figure);
        (told.mean > 0.0 || !figure.is_rare).then(|| (figure.heading(), told))
    });
    first.into_iter().chain(figures).collect()
}

fn told(point: &Point) -> String {
    let Scenario { model, cores, memory_bytes, clients, gaps, workload, .. } = &point.scenario;
    let clients = match gaps {
        None => format!("{clients} clients"),
        Some(_) => format!("an open loop of at most {clients} clients at a time"),
    };
    let mut text = format!(
        "Simulated: {} on {cores} {} with {} MiB of memory, {clients}, {workload}, parameters \
         {}.\n\n",
        model.name,
        if *cores == 1 { "processor" } else { "processors" },
        memory_bytes >> 20,
        point.scenario.parameters.name
    );
    for (name, of) in rows(point) {
        let _ = write!(text, "{name:36} {:10.2}", of.mean);
        // One run tells nothing of how far off it may be.
        let half = (point.runs.len() > 1).then(|| format!(" ± {:.2}", of.half));
        let _ = writeln!(text, "{}", half.unwrap_or_default());
    }
    text
}

fn json(asked: &Asked, point: &Point) -> Result<Value, String> {
    let Scenario { model, knobs, parameters, cores, memory_bytes, clients, .. } = &asked.scenario;
    let Scenario { workload, settings, policy, warm_up, measured, seed, .. } = &asked.scenario;
    let estimate = |of: Estimate| json!({"mean": of.mean, "half_of_95_percent": of.half});
    let told = rows(point).into_iter().map(|(name, of)| (name, estimate(of)));
    let values = parameters.all().map(|(definition, of)| {
        let value = match &of.value {
            sim::parameters::Value::Number(number) => json!(number),
            sim::parameters::Value::Word(word) => json!(word),
        };
        (String::from(definition.name), json!({"value": value, "source": of.source}))
    });
    let of_workload = workload::named(workload).map_or(&[][..], |of| of.knobs);
    let own = KNOBS.iter().filter(|knob| of_workload.contains(&knob.name));
    let own = own.map(|knob| (String::from(knob.name), json!((knob.show)(settings))));
    // As it comes to under this workload, whether it was said or not.
    let keeps = asked.scenario.keeps(&*asked.scenario.workload()?);
    let choices = Choices { keeps: Some(keeps), ..asked.choices.clone() };
    let chosen = |name: &str| {
        let knob = load::knobs::KNOBS.iter().find(|knob| knob.name == name);
        knob.map(|knob| (knob.show)(&choices))
    };
    let rate = match choices.pace {
        Some(Pace::Rate(rate)) => Some(rate),
        _ => None,
    };
    Ok(json!({
        "schema": 1,
        "simulated": true,
        "model": model.name,
        "knobs": knobs,
        "processors": cores,
        "memory_bytes": memory_bytes,
        "clients": clients,
        "rate": rate,
        "gaps": rate.and_then(|_| chosen("gaps")),
        "keeps": chosen("keeps"),
        "patience": chosen("patience"),
        "workload": workload,
        "settings": own.collect::<Map<_, _>>(),
        "cache_policy": policy.name(),
        "warm_up_s": warm_up.as_secs_f64(),
        "measured_s": measured.as_secs_f64(),
        "replications": asked.replications,
        "seed": seed,
        "parameters_name": parameters.name,
        "parameters": values.collect::<Map<_, _>>(),
        "told": Map::from_iter(told),
        "runs": point.runs.iter().map(|run| json!(run.results)).collect::<Vec<_>>(),
    }))
}
