//! `weir load`: flags to a run, and what it came to.

mod about;
mod address;
mod describe;
mod flags;
mod outputs;
mod progress;
mod site;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::engine::Failure;
use load::gates::{self, Limits};
use load::report::{Report, summary};
use load::run::{self, Order};
use load::url::Url;
use load::workload::Workload;
use load::workload::one_url::OneUrl;

use self::outputs::Outputs;
use self::progress::Progress;
use crate::{machine, usage};

pub(crate) fn load(flags: &ArgMatches) -> ExitCode {
    let done = match flags.subcommand() {
        Some(("make-site", flags)) => site::make_site(flags),
        Some(("describe", flags)) => describe::describe(flags),
        _ => perform(flags),
    };
    done.unwrap_or_else(|failure| match failure {
        Failure::Operator(what) => usage(&what),
        Failure::Machine(what) => machine(&what),
    })
}

pub(crate) fn command() -> Command {
    let url = Arg::new("url").value_name("URL").required(true);
    let workload =
        "What is asked for, of the server that the URL names; without it, the URL itself";
    Command::new("load")
        .about("Asks a server as many clients would, and tells what happened")
        .arg(url.help("http://host[:port][/path]"))
        .arg(flags::workload(workload))
        .args(flags::run())
        .args(flags::of_workloads())
        .subcommand(site::command())
        .subcommand(describe::command())
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .after_help(
            "Exit status: 0 a valid run, 1 an invalid one, 2 wrong usage, 3 the machine refuses",
        )
}

/// A run, from its flags to its report.
fn perform(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let url: Url = text("url").unwrap_or_default().parse().map_err(Failure::Operator)?;
    let choices = flags::choices(flags)?;
    let mut workload = asked(text("workload"), &url, flags)?;
    let descriptors = os::limits::descriptors();
    // What makes no sense is told before what costs time: a name server, or a file that is there.
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let plan = choices.plan((nowhere, &url.authority), &*workload, descriptors);
    let mut plan = plan.map_err(Failure::Operator)?;
    plan.to = address::of(&url, &choices.behaviour.sources)?;
    let mut outputs = Outputs::create(&choices)?;
    let about = about::about((&url, text("workload"), &*workload), &choices, &plan, flags);
    let order = Order {
        plan: &plan,
        processes: choices.processes,
        clients: choices.clients(),
        records: choices.records.as_deref(),
    };
    let mut progress = Progress::new(&plan);
    let done = run::run(&order, &mut *workload, &mut |news| progress.tell(&news));
    progress.end();
    let done = done?;
    let findings = gates::findings(&done.results, &Limits::default());
    let report = Report { about: &about, results: &done.results, findings: &findings };
    let summary = (!outputs.shows_json()).then(|| summary::text(&report));
    let unseen = summary.and_then(|summary| crate::print(&summary));
    let complaints: Vec<String> =
        unseen.into_iter().chain(outputs.write(&report)).chain(done.complaints).collect();
    if !complaints.is_empty() {
        return Err(Failure::Machine(complaints.join("\n")));
    }
    let is_valid = gates::is_valid(&findings);
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The workload, or the URL alone.
fn asked(
    workload: Option<&str>,
    url: &Url,
    flags: &ArgMatches,
) -> Result<Box<dyn Workload + Send>, Failure> {
    let settings = flags::settings(flags)?;
    match workload {
        None => match flags::first_of_workloads(flags) {
            None => Ok(Box::new(OneUrl::new(&url.target))),
            Some(name) => Err(Failure::Operator(format!("--{name}: there is no --workload"))),
        },
        Some(_) if url.target != "/" => Err(Failure::Operator(format!(
            "{url}: the workload says what is asked for; of the URL only http://{} counts",
            url.authority
        ))),
        Some(name) => {
            flags::judge_workload(flags, name)?;
            load::workload::make(name, &settings).map_err(Failure::Operator)
        }
    }
}
