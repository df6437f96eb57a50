//! Experiments, from flags to a page.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::ArgMatches;
use lab::Failure;
use lab::bench::Bench;
use lab::curves::{counted, lasting};
use lab::design::PROBE;
use lab::executable;
use lab::experiment::Experiment;
use lab::experiments::{self, versioned, with_companions};
use lab::knobs::KNOBS;
use lab::known::{Cell, Known};
use lab::point::{Point, SCHEMA, Verdict};
use lab::profile;
use lab::results::{EXECUTABLE, Line, Log, Results, Run};
use lab::schedule::{self, News};
use lab::setup::Setup;
use lab::spec::Spec;
use lab::subject::{self, Kind, PROGRAM, Subject, quoted};
use lab::testbed;
use lab::tuned::{self, Tuned};
use lab::vitals::quiet::{REMEDY, disturbance};

use super::progress::Progress;
use super::report::Beside;
use super::{
    ALL, ANYWAY, BESIDE, DRY_RUN, JSON, MINUTES, MINUTES_MAX, OTHER_BUILD, choose, report, setup,
};
use crate::UNPROVEN;

/// What `weir lab` alone asks.
const CANONICAL: &str = "best";

/// What finds what that reads.
const TUNE: &str = "tune";

pub(super) fn canonical(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    answer(&[CANONICAL], flags)
}

pub(super) fn named(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let names: Vec<&str> =
        flags.get_many::<String>("name").into_iter().flatten().map(String::as_str).collect();
    answer(&names, flags)
}

/// Of [`named`] those that are simulated.
pub(super) fn sweep(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let names: Vec<&str> =
        flags.get_many::<String>("name").into_iter().flatten().map(String::as_str).collect();
    let unknown = names.iter().find(|name| !experiments::SIMULATED.contains(name));
    if let Some(name) = unknown {
        let known = experiments::SIMULATED.iter().copied();
        return Err(Failure::Operator(lab::unknown("sweep", name, known)));
    }
    answer(&names, flags)
}

pub(super) fn tune(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    answer(&[TUNE], flags)
}

pub(super) fn again(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let of = flags.get_one::<String>("of").map(PathBuf::from).unwrap_or_default();
    let first = Results::read(&of)?;
    let refused = |why: &str| Failure::Operator(format!("{}: {why}", of.display()));
    let Some(asked) = first.runs.first() else { return Err(refused("there are no results")) };
    let specs = lab::again::specs(&first);
    if specs.is_empty() {
        return Err(refused("nothing in it has repeats enough for a spread to agree within"));
    }
    let names: Vec<&str> = asked.experiments.iter().map(String::as_str).collect();
    let mut setup = asked.setup.clone();
    choose(&mut setup, KNOBS.iter().filter(|knob| knob.name == ANYWAY), flags)?;
    let run = begun(&names, setup.clone())?;
    // A server that has gone since then cannot be asked again.
    let is_absent = |spec: &Spec| run.setup.absent.contains(&spec.subject.name);
    if specs.iter().any(is_absent) {
        return Err(Failure::Machine(run.missing.join("; ")));
    }
    // What was chosen is what the first one chose.
    let run = Run { setup, again_of: Some(asked.run.clone()), ..run };
    perform(&Asked::Again { of: &of, first: &first, specs }, run, flags)
}

/// What a run asks.
enum Asked<'a> {
    Experiments(Vec<&'static Experiment>),
    /// What the results in a directory tell with a spread.
    Again {
        of: &'a Path,
        first: &'a Results,
        specs: Vec<Spec>,
    },
}

fn answer(names: &[&str], flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let experiments: Vec<&Experiment> =
        names.iter().map(|name| experiments::named(name)).collect::<Result<_, _>>()?;
    let given = || KNOBS.iter().map(|knob| knob.name).filter(|name| flags.contains_id(name));
    experiments.iter().try_for_each(|experiment| experiment.judge(given()))?;
    let mut setup = setup(flags)?;
    if flags.try_get_one::<bool>(ALL).is_ok_and(|all| all == Some(&true)) {
        setup.minutes = Some(flags.get_one(MINUTES).copied().unwrap_or(MINUTES_MAX));
    }
    let place = Path::new(tuned::PLACE);
    if names.contains(&CANONICAL) && setup.tuned.is_none() && place.exists() {
        let wrong = |why| Failure::Operator(format!("{}: {why}", place.display()));
        setup.tuned = Some(Tuned::read(place).map_err(wrong)?);
    }
    // Where there are no quotas, nothing has to stand beside them.
    let names = if setup.is_loopback { names.to_vec() } else { with_companions(names) };
    let experiments =
        names.iter().map(|name| experiments::named(name)).collect::<Result<Vec<_>, _>>()?;
    let run = begun(&names, setup)?;
    perform(&Asked::Experiments(experiments), run, flags)
}

impl Asked<'_> {
    /// What is left to measure: what it is of, what can be said of it now, and about how long
    /// takes what cannot, in seconds.
    fn left(&self, setup: &Setup, points: &[Point]) -> Vec<(&str, Vec<Spec>, f64)> {
        match self {
            Self::Experiments(all) => {
                let left = |of: &&'static Experiment| {
                    let (specs, later_s) = schedule::missing(of, setup, points);
                    (of.name, specs, later_s)
                };
                all.iter().map(left).collect()
            }
            Self::Again { specs, .. } => {
                let known = Known::of(points).tried(setup.attempts);
                vec![("again", schedule::left(specs, &known), 0.0)]
            }
        }
    }

    fn measure(
        &self,
        setup: &Setup,
        points: &mut Vec<Point>,
        measure: schedule::Measure<'_>,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), Failure> {
        match self {
            Self::Experiments(all) => schedule::run(all, setup, points, measure, tell),
            Self::Again { specs, .. } => {
                schedule::run_again(specs, setup.attempts, points, measure, tell)
            }
        }
    }

    /// The page of what came of it.
    fn write(&self, results: &Results, beside: &Beside, dir: &Path) -> Result<String, Failure> {
        let own = (dir, results);
        match self {
            Self::Experiments(_) => report::write(&[own], beside, dir),
            Self::Again { of, first, .. } => report::write(&[(of, first), own], beside, dir),
        }
    }
}

fn perform(asked: &Asked<'_>, run: Run, flags: &ArgMatches) -> Result<ExitCode, Failure> {
    // A search for all goes on where the last one was stopped, and is found where it is.
    let is_all = run.setup.minutes.is_some();
    let own_dir = match Path::new(tuned::PLACE).parent().filter(|_| is_all) {
        Some(own) => own.into(),
        None => PathBuf::from("weir-lab").join(lab::now().replace(':', "")),
    };
    let dir = directory(flags, "dir", own_dir)?;
    let known = Results::read(&dir)?;
    judge(&dir, &known, &run, flags.get_flag(OTHER_BUILD))?;
    let left = asked.left(&run.setup, &known.points);
    if flags.get_flag(DRY_RUN) {
        if let Err(why) = quiet(&run.setup, &left) {
            crate::complain(&why.to_string());
        }
        return Ok(crate::shown(&lengths(&left)));
    }
    let beside = beside(flags)?;
    // Who says where all goes finds nothing elsewhere.
    let own_sites = match flags.contains_id("dir") {
        true => dir.join("sites"),
        false => PathBuf::from("weir-lab/sites"),
    };
    let sites = directory(flags, "sites", own_sites)?;
    // Before anything is made of what this machine will refuse.
    let begin = asked.left(&run.setup, &[]);
    begin.iter().flat_map(|of| &of.1).try_for_each(|spec| testbed::check(&spec.layout))?;
    quiet(&run.setup, &left)?;
    drop(known);
    std::fs::create_dir_all(&dir).map_err(|error| Failure::machine(dir.display(), error))?;
    // Before anything is written beside what may be somebody's.
    lab::report::check(&dir)?;
    let mut bench = Bench::new(Path::new(executable::OWN), &run.run, &sites, &dir.join("scratch"))?
        .anyway(run.setup.is_anyway);
    bench.adopt_orphans()?;
    let (mut log, mut results) = Log::open(&dir)?;
    judge(&dir, &results, &run, flags.get_flag(OTHER_BUILD))?;
    log.add(&Line::Run(Box::new(run.clone())))?;
    let setup = run.setup.clone();
    results.runs.push(run.clone());
    let progress = Progress::new();
    let mut measure = |specs: &[Spec], attempt| {
        let point = bench.measure(specs, attempt)?;
        log.add(&Line::Point(Box::new(point.clone())))?;
        Ok(point)
    };
    let points = &mut results.points;
    let done = asked.measure(&setup, points, &mut measure, &mut |news| progress.tell(&news));
    progress.end();
    // Of what there is, also if it is not all.
    let mut written = asked.write(&results, &beside, &dir);
    if is_all {
        let tuned = experiments::tuned(&run, &Known::of(&results.points));
        let told = format!("{}\n", dir.join(tuned::FILE).display());
        written = written.and_then(|page| tuned.write(&dir).map(|()| told + &page));
    }
    // What ended the run is why there is no page, if there is none.
    crate::shown(&done.and(written)?);
    Ok(status(&results.points))
}

/// Whether the machine is quiet enough for what is left, unless it is measured anyway.
fn quiet(setup: &Setup, left: &[(&str, Vec<Spec>, f64)]) -> Result<(), Failure> {
    let is_served =
        |spec: &Spec| experiments::asks_servers(&spec.experiment) && !spec.is_simulated();
    if setup.is_anyway || !left.iter().flat_map(|of| &of.1).any(is_served) {
        return Ok(());
    }
    match disturbance(LOOK)? {
        None => Ok(()),
        Some(why) => Err(Failure::Machine(format!("nothing is measured: {why}; {REMEDY}"))),
    }
}

/// How long a machine is looked at before a run: ticks of 10 ms tell a share of one in a hundred.
const LOOK: Duration = Duration::from_secs(1);

fn status(points: &[Point]) -> ExitCode {
    let is_invalid = |point: &Point| matches!(point.verdict, Verdict::Invalid(_));
    match points {
        _ if is_sound(points) => ExitCode::SUCCESS,
        [_, ..] if points.iter().all(is_invalid) => ExitCode::from(UNPROVEN),
        _ => ExitCode::FAILURE,
    }
}

/// What a sweep is to write beside its page, and to put into it.
fn beside(flags: &ArgMatches) -> Result<Beside, Failure> {
    let path = |name: &str| {
        let given = flags.try_get_one::<String>(name).ok().flatten();
        given.map(PathBuf::from)
    };
    let points = match path(BESIDE) {
        None => Vec::new(),
        Some(dir) => Results::published(&dir)?.points,
    };
    Ok(Beside { points, json: path(JSON) })
}

/// How long each will take.
fn lengths(left: &[(&str, Vec<Spec>, f64)]) -> String {
    let line = |(name, specs, later_s): &(&str, Vec<Spec>, f64)| {
        let later = if *later_s > 0.0 { ", then others that depend on these" } else { "" };
        let points = counted(specs.len(), "point");
        let takes = lasting(schedule::costs(specs) + later_s);
        format!("{name} takes about {takes}: {points}{later}\n")
    };
    left.iter().map(line).collect()
}

/// Whether a run may go on where others were.
fn judge(dir: &Path, results: &Results, run: &Run, may_differ: bool) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::Operator(format!("{}: {why}", dir.display())));
    if results.runs.iter().any(|before| !before.asks_as(run)) {
        return refused(
            "its results are of other experiments or other choices; take another --dir",
        );
    }
    let is_known = results.runs.iter().any(|before| before.executable() == run.executable());
    if results.runs.is_empty() || is_known || may_differ {
        return Ok(());
    }
    refused(
        "its results were measured by another build of this program; take another --dir, or say \
         --other-build if both are the same server",
    )
}

/// Where something goes.
fn directory(flags: &ArgMatches, name: &str, own: PathBuf) -> Result<PathBuf, Failure> {
    match flags.get_one::<String>(name).map(String::as_str) {
        None => Ok(own),
        Some("") => Err(Failure::Operator(format!("--{name}: has to be the name of a directory"))),
        Some(given) => match std::fs::metadata(given) {
            Err(error) if error.kind() != ErrorKind::NotADirectory => Ok(PathBuf::from(given)),
            Ok(there) if there.is_dir() => Ok(PathBuf::from(given)),
            _ => Err(Failure::Operator(format!(
                "--{name} {given}: there is a file; take the name of a directory"
            ))),
        },
    }
}

/// What is said of a run before its first point.
fn begun(names: &[&str], mut setup: Setup) -> Result<Run, Failure> {
    let mut versions = load::machine::versions();
    versions.extend(profile::versions());
    versions.insert(EXECUTABLE.into(), executable::build()?);
    let mut missing = Vec::new();
    let asks_servers = names.iter().any(|name| experiments::asks_servers(name));
    for (name, kind) in subject::all().filter(|_| asks_servers) {
        let Kind::Peer(_) = kind else { continue };
        let of = setup.with_program(Subject { name: name.into(), knobs: BTreeMap::new() });
        match of.version() {
            Ok(version) => {
                versions.insert(of.to_string(), version);
            }
            Err(why) if setup.subjects.iter().any(|of| of.name == name) => return Err(why),
            Err(why) => {
                setup.absent.push(name.into());
                missing.push(why.to_string());
            }
        }
    }
    for of in setup.subjects.iter().filter(|of| of.knobs.contains_key(PROGRAM)) {
        versions.insert(of.to_string(), of.version()?);
    }
    missing.extend(other_versions(&setup, &versions));
    let began = lab::now();
    let words: Vec<String> = std::env::args().skip(1).map(|word| quoted(&word)).collect();
    Ok(Run {
        schema: SCHEMA,
        run: format!("{}-{}", began.replace([':', '-'], ""), std::process::id()),
        began,
        experiments: names.iter().map(ToString::to_string).collect(),
        setup,
        again_of: None,
        command: format!("weir {}", words.join(" ")),
        machine: load::machine::facts(),
        versions: BTreeMap::from_iter(versions),
        missing,
    })
}

/// Who was tuned as another version than is here.
fn other_versions(setup: &Setup, here: &BTreeMap<String, String>) -> Vec<String> {
    let servers = setup.tuned.iter().flat_map(|tuned| &tuned.servers);
    let is_other = |of: &tuned::Server| {
        let version = here.get(&versioned(&of.of)).filter(|here| **here != of.version)?;
        let (name, then) = (&of.of, &of.version);
        Some(format!("{name} {then}, which was tuned: here it is {version} (weir lab tune --all)"))
    };
    servers.filter_map(is_other).collect()
}

/// Whether everything could be measured and looked into, and no server failed verification.
fn is_sound(points: &[Point]) -> bool {
    let known = Known::of(points);
    let all = known.all();
    // A probe is but a hint, unless it led to nothing.
    let is_hint = |cell: &&Cell<'_>| {
        let led_to = |other: &Cell<'_>| {
            other.spec.stage != PROBE
                && other.spec.experiment == cell.spec.experiment
                && other.subject() == cell.subject()
        };
        cell.spec.stage == PROBE && all.iter().any(led_to)
    };
    let is_whole = |cell: &Cell<'_>| cell.is_good() && cell.in_vain().is_empty();
    let is_seen = points.iter().all(|point| point.why_unseen().is_none());
    is_seen && all.iter().filter(|cell| !is_hint(cell)).all(is_whole)
}
