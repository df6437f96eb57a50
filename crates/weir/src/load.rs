//! `weir load`: flags to a run, and what it came to.

mod about;
mod address;
mod compare;
mod describe;
mod find;
mod flags;
mod outputs;
mod progress;
mod site;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::engine::Failure;
use load::expectation::{Expectation, Met};
use load::gates::{self, Finding, Limits};
use load::report::{About, Report, summary};
use load::run::{self, Done, Order, Sharing};
use load::task::Task;
use load::url::Url;
use load::workload::Workload;

use self::outputs::Outputs;
use self::progress::Progress;
use crate::flags::{Few, in_short};
use crate::{UNPROVEN, machine, usage};

pub(crate) fn load(flags: &ArgMatches) -> ExitCode {
    let done = match flags.subcommand() {
        Some(("make-site", flags)) => site::make_site(flags),
        Some(("describe", flags)) => describe::describe(flags),
        Some(("compare", flags)) => compare::compare(flags),
        _ => perform(flags),
    };
    done.unwrap_or_else(|failure| match failure {
        Failure::Operator(what) => usage(&what),
        Failure::Machine(what) => machine(&what),
    })
}

const FEW: &Few = &[
    ("clients", "How many ask at a time, each again once it has its reply"),
    ("rate", "How many a second begin, whatever the server does"),
    ("duration", "How long: 10s, 2m"),
    ("requests-max", "Ends after so many requests"),
    ("header", "A header field of each request: 'Accept-Encoding: gzip'"),
    ("workload", "Files of many sizes instead of one: weir load describe has them"),
    ("expect", "What has to hold, or the exit status is 1 or 4: 'p99<50ms'"),
    ("json", "Writes everything to a file, for weir load compare"),
];

const EXAMPLES: &str = "\
Examples:
  weir load localhost:8080/                      64 clients for ten seconds
  weir load localhost:8080/ -c 16 -d 30s         16 of them for half a minute
  weir load localhost:8080/ -r 500               500 requests a second
  weir load localhost:8080/ --expect 'p99<50ms'  for a script";

const STATUSES: &str = "\
Exit status: 0 a valid run, or one that proves what is expected, 1 an expectation was missed, \
2 wrong usage, 3 the machine refuses, or nothing listens there, 4 the run is invalid and does not \
prove what is expected";

pub(crate) fn command() -> Command {
    // What takes a URL for its value is told of before a URL that is missing.
    let url = Arg::new("url").value_name("URL").required_unless_present(flags::THREADS);
    let workload =
        "What is asked for, of the server that the URL names; without it, the URL itself";
    Command::new("load")
        .about("Asks a server as many clients would, and reports what happened")
        .arg(url.help("[http://]host[:port][/path]"))
        .arg(flags::workload(workload))
        .args(flags::run())
        .args(flags::of_workloads())
        .subcommand(site::command())
        .subcommand(describe::command())
        .subcommand(compare::command())
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .mut_args(|arg| in_short(arg, FEW))
        .after_help(format!("--help has all flags.\n\n{EXAMPLES}"))
        .after_long_help(format!("{EXAMPLES}\n\n{STATUSES}"))
}

/// A run, from its flags to its report.
fn perform(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    flags::judge_threads(flags)?;
    if text("url") == Some(PART[2]) {
        run::perform_part();
        return Ok(ExitCode::SUCCESS);
    }
    let url: Url = text("url").unwrap_or_default().parse().map_err(Failure::Operator)?;
    let task = flags::task(flags, &url);
    let choices = task.choices().map_err(Failure::Operator)?;
    let begin = find::begin(&choices)?;
    let task = begin.map_or_else(|| task.clone(), |rate| find::at(&task, rate));
    let choices = task.choices().map_err(Failure::Operator)?;
    let workload = asked(&task, &url, flags)?;
    let descriptors = os::limits::descriptors();
    // What makes no sense is told before what costs time: a name server, or a file that is there.
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let plan = choices.plan((nowhere, &url.authority), &*workload, descriptors);
    plan.map_err(Failure::Operator)?;
    let to = address::of(&url, &choices)?;
    let outputs = Outputs::create(&choices)?;
    let asked = Asked { url, to, descriptors, flags };
    match begin {
        None => report(&asked.run(&task, workload)?, outputs),
        Some(rate) => {
            let found = find::highest(&asked, &task, rate, workload)?;
            let status = report(&found.ran, outputs)?;
            Ok(found.status.unwrap_or(status))
        }
    }
}

/// What is asked for.
type Work = dyn Workload + Send;

/// What stays the same of all runs of a command.
struct Asked<'a> {
    url: Url,
    to: SocketAddr,
    descriptors: u64,
    flags: &'a ArgMatches,
}

/// A run that is over.
struct Ran {
    about: About,
    done: Done,
    findings: Vec<Finding>,
    expected: Vec<Met>,
    /// So many of them, the last ones, are what is looked for.
    sought: usize,
}

impl Ran {
    fn sought(&self) -> &[Met] {
        &self.expected[self.expected.len() - self.sought..]
    }

    fn has_asked(&self) -> bool {
        self.done.results.requests.counts.total() > 0
    }
}

impl Asked<'_> {
    fn workload(&self, task: &Task) -> Result<Box<Work>, Failure> {
        asked(task, &self.url, self.flags)
    }

    fn run(&self, task: &Task, mut workload: Box<Work>) -> Result<Ran, Failure> {
        let Self { url, to, flags, .. } = self;
        let choices = task.choices().map_err(Failure::Operator)?;
        let plan = choices.plan((*to, &url.authority), &*workload, self.descriptors);
        let plan = plan.map_err(Failure::Operator)?;
        let name = task.workload.as_deref();
        let about = about::about((url, name, &*workload), &choices, &plan, flags);
        let order = Order {
            plan: &plan,
            clients: choices.clients(),
            lag_max: choices.lag_max,
            records: choices.records.as_deref(),
            begins: choices.begins.as_deref(),
        };
        let sharing = Sharing { processes: choices.processes, task, command: &PART };
        let progress = Progress::new(&plan);
        let tell = &mut |standing| progress.tell(&standing);
        let done = run::run(&order, &sharing, &mut *workload, tell);
        progress.end();
        let done = done?;
        let limits = Limits { lag_p99: choices.lag_max, ..Limits::default() };
        let findings = gates::findings(&done.results, &limits);
        let proof = gates::proof(&findings, &done.results);
        let met = |expectation: &Expectation| expectation.met(&done.results, proof);
        let expected = choices.expectations.iter().chain(&choices.sought).map(met).collect();
        Ok(Ran { about, done, findings, expected, sought: choices.sought.len() })
    }
}

/// Writes the report of a run wherever it was asked for.
fn report(ran: &Ran, mut outputs: Outputs) -> Result<ExitCode, Failure> {
    let Ran { about, done, findings, expected, .. } = ran;
    let report = Report { about, results: &done.results, findings, expected };
    let summary = (!outputs.shows_json()).then(|| summary::text(&report));
    let unseen = summary.and_then(|summary| crate::print(&summary));
    let of_run = done.complaints.iter().cloned();
    let complaints: Vec<String> =
        unseen.into_iter().chain(outputs.write(&report)).chain(of_run).collect();
    if !complaints.is_empty() {
        return Err(Failure::Machine(complaints.join("\n")));
    }
    Ok(status(gates::is_valid(findings), expected))
}

/// A bound that was missed comes before one that the run does not prove.
fn status(is_valid: bool, expected: &[Met]) -> ExitCode {
    if expected.iter().any(|met| met.is_proven && !met.holds) {
        return ExitCode::FAILURE;
    }
    let is_proven =
        if expected.is_empty() { is_valid } else { expected.iter().all(|met| met.is_proven) };
    if is_proven { ExitCode::SUCCESS } else { ExitCode::from(UNPROVEN) }
}

/// How this program is called, whatever has become of its file, by one that shares a run with it.
/// In place of a URL stands that all is on its standard input.
const PART: [&str; 3] = ["/proc/self/exe", "load", "-"];

/// The workload, or the URL alone.
fn asked(task: &Task, url: &Url, flags: &ArgMatches) -> Result<Box<Work>, Failure> {
    task.settings().map_err(Failure::Operator)?;
    match &task.workload {
        None => {
            if let Some(name) = flags::first_of_workloads(flags) {
                return Err(Failure::Operator(format!("--{name}: there is no --workload")));
            }
        }
        Some(_) if url.target != "/" => {
            return Err(Failure::Operator(format!(
                "{url}: the workload says what is asked for; of the URL only http://{} counts",
                url.authority
            )));
        }
        Some(name) => flags::judge_workload(flags, name)?,
    }
    task.workload().map_err(Failure::Operator)
}
