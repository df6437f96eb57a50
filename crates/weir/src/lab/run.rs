//! Experiments, from flags to a page.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use lab::Failure;
use lab::bench::Bench;
use lab::experiment::{Experiment, experiment};
use lab::known::Known;
use lab::results::{Line, Log, Results, Run, SCHEMA};
use lab::schedule;
use lab::spec::Spec;

use super::progress::Progress;
use super::setup;

/// What `weir lab` alone asks.
const CANONICAL: &str = "best";

pub(super) fn canonical(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    perform(&[CANONICAL], flags)
}

pub(super) fn named(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let names: Vec<&str> =
        flags.get_many::<String>("name").into_iter().flatten().map(String::as_str).collect();
    perform(&names, flags)
}

pub(super) fn tune(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    perform(&["tune"], flags)
}

fn perform(names: &[&str], flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let experiments = names.iter().map(|name| {
        let unknown = || format!("{name}: there is no such experiment; see weir lab list");
        experiment(name).ok_or_else(|| Failure::Operator(unknown()))
    });
    let experiments: Vec<&Experiment> = experiments.collect::<Result<_, _>>()?;
    let setup = setup(flags)?;
    let path = |name| flags.get_one::<String>(name).map(PathBuf::from);
    let began = lab::now();
    let dir = path("dir").unwrap_or_else(|| PathBuf::from("weir-lab").join(began.replace(':', "")));
    let sites = path("sites").unwrap_or_else(|| PathBuf::from("weir-lab/sites"));
    let failed = |error| Failure::machine(dir.display(), error);
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let before = Results::read(&dir)?;
    if before.runs.iter().any(|run| run.setup != setup || run.experiments != names) {
        return Err(Failure::Operator(format!(
            "{}: its results are of other experiments or other choices; take another --dir",
            dir.display()
        )));
    }
    let mut log = Log::open(&dir)?;
    let run = format!("{}-{}", began.replace([':', '-'], ""), std::process::id());
    log.add(&Line::Run(Box::new(Run {
        schema: SCHEMA,
        run: run.clone(),
        began,
        experiments: names.iter().map(ToString::to_string).collect(),
        setup: setup.clone(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        machine: load::machine::facts(),
        versions: load::machine::versions(),
        missing: Vec::new(),
    })))?;
    let executable =
        std::env::current_exe().map_err(|error| Failure::machine("this program", error))?;
    let mut bench = Bench::new(&executable, &run, &sites, &dir.join("scratch"))?;
    let mut points = before.points;
    let progress = Progress::new();
    let mut measure = |spec: &Spec, attempt| {
        let point = bench.measure(spec, attempt)?;
        log.add(&Line::Point(Box::new(point.clone())))?;
        Ok(point)
    };
    let done = schedule::run(&experiments, &setup, &mut points, &mut measure, &mut |news| {
        progress.tell(&news);
    });
    progress.end();
    done?;
    let known = Known::of(&points);
    for experiment in &experiments {
        for section in (experiment.sections)(&setup, &known) {
            println!("{section:#?}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
