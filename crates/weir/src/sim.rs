//! `weir sim`: flags to the simulator.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::thread;

use clap::{Arg, ArgAction, ArgMatches, Command};
use load::workload::settings::Settings;
use measure::Duration;
use serde_json::{Map, Value, json};
use sim::models::{MODELS, Model};
use sim::parameters::{Parameters, SHIPPED};
use sim::point::{Estimate, Point};
use sim::run::{FIGURES, Run};
use sim::scenario::Scenario;

use crate::flags::flag;
use crate::{complain, machine, shown, usage};

pub(crate) fn sim(flags: &ArgMatches) -> ExitCode {
    match flags.subcommand() {
        Some(("run", flags)) => run(flags),
        Some(("sweep", flags)) => crate::lab::sweep(flags),
        _ => list(),
    }
}

pub(crate) fn command() -> Command {
    let names = Arg::new("name").value_name("NAME").num_args(1..).required(true);
    Command::new("sim")
        .about("Simulates architectures on machines that nobody has at hand")
        .subcommand(Command::new("list").about("The models, their knobs, and sets of parameters"))
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
  weir sim run pipelined --processors 16             Choi05's server on 16 processors
  weir sim run mt:threads=128 --set thread-switch=2  another pool, a cheaper switch";

fn of_run() -> Command {
    let model = Arg::new("model").value_name("MODEL[:KNOB=VALUE,...]").required(true);
    let set = flag(
        "set",
        "NAME=VALUE",
        "Another value of a parameter, in its unit, or of the workload".into(),
    );
    Command::new("run")
        .about("Simulates one server, several times with other draws")
        .arg(model.help("Of weir sim list"))
        .arg(flag("processors", "N", "Of the machine [default: 1]".into()))
        .arg(flag("memory-mb", "N", "Memory without the kernel's [default: 4096]".into()))
        .arg(flag("clients", "N", "Each asks as soon as it is answered [default: 1000]".into()))
        .arg(flag("workload", "NAME", format!("As weir load takes it [default: {WORKLOAD}]")))
        .arg(flag("cache-policy", "NAME", "Who goes when memory is full [default: lru]".into()))
        .arg(flag("parameters", "NAME|FILE", "What everything costs [default: choi05]".into()))
        .arg(set.action(ArgAction::Append))
        .arg(flag("warm-up", "S", "Simulated seconds before anything counts [default: 20]".into()))
        .arg(flag("measured", "S", "Simulated seconds that count [default: 60]".into()))
        .arg(flag("replications", "N", "Runs with draws of their own [default: 5]".into()))
        .arg(flag("seed", "N", "Of all draws [default: 1]".into()))
        .arg(flag("json", "FILE", "All of it, with the results of each run as weir load's".into()))
}

const WORKLOAD: &str = "choi-penn-state-cse";

fn list() -> ExitCode {
    let width = MODELS.iter().map(|model| model.name.len()).max().unwrap_or_default();
    let mut text = String::from("Models:\n");
    for model in MODELS {
        let knobs = model.knobs.iter().map(|knob| format!("{}={}", knob.name, knob.default));
        let (name, is, knobs) = (model.name, model.architecture().is, knobs.collect::<Vec<_>>());
        let _ = writeln!(text, "  {name:width$}  {is}");
        let _ = writeln!(text, "  {:width$}  {}", "", knobs.join(", "));
    }
    text.push_str("\nParameters:\n");
    for parameters in SHIPPED.iter().filter_map(|shipped| Parameters::shipped(shipped.name)) {
        let _ = writeln!(text, "  {:width$}  {}", parameters.name, parameters.machine);
    }
    text.push_str("\nSweeps:\n");
    for name in lab::experiments::SIMULATED {
        let question = lab::experiments::experiment(name).map_or("", |of| of.question);
        let _ = writeln!(text, "  {name}  {question}");
    }
    shown(&text)
}

fn run(flags: &ArgMatches) -> ExitCode {
    let asked = scenario(flags).and_then(|scenario| {
        let replications = number(flags, "replications", 5, 1..=1000)?;
        Ok((scenario, replications))
    });
    let (scenario, replications) = match asked {
        Ok(asked) => asked,
        Err(what) => return usage(&what),
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let point = match Point::new(&scenario, replications, threads) {
        Ok(point) => point,
        Err(what) => return usage(&what),
    };
    let told = shown(&told(&point));
    if let Some(file) = flags.get_one::<String>("json") {
        let text = format!("{:#}\n", json(&point));
        if let Err(error) = fs::write(file, text) {
            return machine(&format!("--json {file}: {error}"));
        }
    }
    match point.judge() {
        Ok(()) => told,
        Err(what) => {
            complain(&what);
            ExitCode::FAILURE
        }
    }
}

fn scenario(flags: &ArgMatches) -> Result<Scenario, String> {
    let text = |name: &str| flags.get_one::<String>(name).map(String::as_str);
    let model = text("model").unwrap_or_default();
    let (name, knobs) = model.split_once(':').unwrap_or((model, ""));
    let policy = text("cache-policy").unwrap_or("lru");
    let policy = cache_policy(policy)?;
    let mut scenario = Scenario {
        model: Model::named(name)?,
        knobs: pairs(knobs.split(',').filter(|knob| !knob.is_empty()))?,
        parameters: parameters(flags)?,
        cores: number(flags, "processors", 1, 1..=1024)? as u32,
        memory_bytes: number(flags, "memory-mb", 4096, 1..=1 << 30)? << 20,
        clients: number(flags, "clients", 1000, 1..=1_000_000)? as u32,
        workload: text("workload").unwrap_or(WORKLOAD).into(),
        settings: Settings::default(),
        policy,
        warm_up: Duration::from_secs(number(flags, "warm-up", 20, 0..=1_000_000)?),
        measured: Duration::from_secs(number(flags, "measured", 60, 2..=1_000_000)?),
        seed: number(flags, "seed", 1, 0..=u64::MAX / 2)?,
    };
    let set = flags.get_many::<String>("set").unwrap_or_default();
    for (name, value) in pairs(set.map(String::as_str))? {
        scenario.set(&name, &value).map_err(|why| format!("--set {why}"))?;
    }
    Ok(scenario)
}

fn cache_policy(name: &str) -> Result<sim::PolicyKind, String> {
    let policies = sim::PolicyKind::ALL;
    policies.iter().find(|policy| policy.name() == name).copied().ok_or_else(|| {
        let names: Vec<_> = policies.iter().map(|policy| policy.name()).collect();
        format!("--cache-policy {name}: has to be one of {}", names.join(", "))
    })
}

fn parameters(flags: &ArgMatches) -> Result<Parameters, String> {
    let asked = flags.get_one::<String>("parameters").map_or("choi05", String::as_str);
    if let Some(shipped) = Parameters::shipped(asked) {
        return Ok(shipped);
    }
    match fs::read_to_string(asked) {
        Ok(text) => Parameters::read(&text, asked),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
            let names = names.join(", ");
            Err(format!("--parameters {asked}: is no file, and none of {names}"))
        }
        Err(error) => Err(format!("--parameters {asked}: {error}")),
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
    let figures = FIGURES.iter().map(|figure| {
        let unit = if figure.unit.is_empty() { "" } else { ", " };
        (format!("{}{unit}{}", figure.name, figure.unit), point.figure(figure))
    });
    first.into_iter().chain(figures).collect()
}

fn told(point: &Point) -> String {
    let Scenario { model, cores, memory_bytes, clients, workload, .. } = &point.scenario;
    let mut text = format!(
        "Simulated: {} on {cores} {} with {} MiB of memory, {clients} clients, {workload}, \
         parameters {}.\n\n",
        model.name,
        if *cores == 1 { "processor" } else { "processors" },
        memory_bytes >> 20,
        point.scenario.parameters.name
    );
    for (name, of) in rows(point) {
        let _ = writeln!(text, "{name:36} {:10.2} ± {:.2}", of.mean, of.half);
    }
    text
}

fn json(point: &Point) -> Value {
    let Scenario { model, knobs, cores, memory_bytes, clients, workload, seed, .. } =
        &point.scenario;
    let estimate = |of: Estimate| json!({"mean": of.mean, "half_of_95_percent": of.half});
    let told = rows(point).into_iter().map(|(name, of)| (name, estimate(of)));
    let parameters = point.scenario.parameters.all().map(|(definition, of)| {
        let value = match &of.value {
            sim::parameters::Value::Number(number) => json!(number),
            sim::parameters::Value::Word(word) => json!(word),
        };
        (String::from(definition.name), json!({"value": value, "source": of.source}))
    });
    json!({
        "schema": 1,
        "simulated": true,
        "model": model.name,
        "knobs": knobs,
        "processors": cores,
        "memory_bytes": memory_bytes,
        "clients": clients,
        "workload": workload,
        "seed": seed,
        "parameters": parameters.collect::<Map<_, _>>(),
        "told": Map::from_iter(told),
        "runs": point.runs.iter().map(|run| json!(run.results)).collect::<Vec<_>>(),
    })
}
