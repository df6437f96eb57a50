//! `weir lab`: flags to experiments.

mod cost;
mod floor;
mod list;
mod progress;
mod report;
mod run;
mod testbed;

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lab::Failure;
use lab::knobs::KNOBS;
use lab::setup::Setup;
use load::knob::Knob;

use crate::flags::of_table;
use crate::{STOPPED, machine, usage};

pub(crate) fn lab(flags: &ArgMatches) -> ExitCode {
    ended(match flags.subcommand() {
        Some(("again", flags)) => run::again(flags),
        Some(("cost", flags)) => cost::cost(flags),
        Some(("floor", flags)) => floor::floor(flags),
        Some(("list", _)) => list::list(),
        Some(("report", flags)) => report::report(flags),
        Some(("testbed", flags)) => testbed::testbed(flags),
        Some(("run", flags)) => run::named(flags),
        Some(("tune", flags)) => run::tune(flags),
        _ => run::canonical(flags),
    })
}

fn ended(done: Result<ExitCode, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| match failure {
        Failure::Operator(what) => usage(&what),
        Failure::Machine(what) | Failure::Full(what) => machine(&what),
        Failure::Stopped => {
            crate::complain(&failure.to_string());
            ExitCode::from(STOPPED)
        }
    })
}

/// Those that are simulated: `weir sim sweep`.
pub(crate) fn sweep(flags: &ArgMatches) -> ExitCode {
    ended(run::sweep(flags))
}

/// See [`sweep`].
pub(crate) fn of_sweep() -> impl Iterator<Item = Arg> {
    const KEPT: [&str; 6] = ["repeats", "seconds", "warm-up", "attempts", "dir", DRY_RUN];
    let hidden = |arg: Arg| {
        let is_kept = KEPT.contains(&arg.get_id().as_str()) || arg.get_id() == OTHER_BUILD;
        arg.hide(!is_kept)
    };
    let seed = Arg::new(SEED)
        .long(SEED)
        .value_name("N")
        .value_parser(value_parser!(u64).range(..=u64::MAX / 2))
        .help("Of all draws [default: 1]");
    let json = Arg::new(JSON)
        .long(JSON)
        .value_name("FILE")
        .help("All points, and each claim with what became of it, for programs");
    let beside = Arg::new(BESIDE).long(BESIDE).value_name("DIR").help(
        "Results of choi05-architectures, which has asked real servers: they stand beside what is \
         simulated of the same traces",
    );
    of_run().map(hidden).chain([seed, json, beside])
}

/// What only a sweep takes.
const SEED: &str = "seed";
const JSON: &str = "json";
const BESIDE: &str = "beside";

pub(crate) fn command() -> Command {
    let names = Arg::new("name").value_name("NAME").num_args(1..).required(true);
    let of = Arg::new("of").value_name("DIR").required(true);
    Command::new("lab")
        .about("Answers questions about web servers by measuring")
        .args(of_run())
        .subcommand(
            Command::new("again")
                .about("Asks what a run has asked once more, and says whether the same comes out")
                .arg(of.help("Where weir lab has put that run"))
                .args(of_run().filter(|arg| is_of_again(arg.get_id().as_str()))),
        )
        .subcommand(cost::command())
        .subcommand(floor::command())
        .subcommand(Command::new("list").about("What can be asked, and what can be measured"))
        .subcommand(
            Command::new("run")
                .about("Performs experiments")
                .arg(names.help("Of weir lab list"))
                .args(of_run()),
        )
        .subcommand(report::command())
        .subcommand(testbed::command())
        .subcommand(
            Command::new("tune")
                .about("Looks for the best knobs of a server, in some twenty minutes, or of all")
                .args(of_tune())
                .args(of_run()),
        )
        .args_conflicts_with_subcommands(true)
        .after_help(AFTER_HELP)
}

const AFTER_HELP: &str = "\
Without a word it answers which server and which knobs are best on this machine: of knobs that
weir lab tune --all has found, where weir-lab/tuning/tuning.json is there.

Examples:
  weir lab                                             which server, and what a flood does
  weir lab tune --all                                  an hour before: the best knobs of each
  weir lab list                                        what else can be asked
  weir lab run capacity --subject sped --subject nginx two servers
  weir lab run flood --dir flood                       goes on there where it was stopped

Exit status: 0 done, 1 points are missing or invalid, 2 wrong usage, 3 the machine refuses, 4 no
point counts, 130 stopped";

/// What every run takes: the table of knobs, and where it keeps what.
fn of_run() -> impl Iterator<Item = Arg> {
    let knobs = of_table(KNOBS, Setup::default(), |_| String::new());
    let knobs = knobs.zip(KNOBS).map(|(arg, knob)| {
        let arg = arg.action(ArgAction::Append);
        if knob.value != "on|off" {
            return arg;
        }
        arg.allow_hyphen_values(false).num_args(0..=1).default_missing_value("on")
    });
    knobs.chain(of_places())
}

/// All other choices are those of the run that is asked again.
fn is_of_again(name: &str) -> bool {
    name == ANYWAY || KNOBS.iter().all(|knob| knob.name != name)
}

/// The knob that measures on a busy machine.
const ANYWAY: &str = "anyway";

/// What only a search takes.
fn of_tune() -> [Arg; 2] {
    let all = Arg::new(ALL).long(ALL).action(ArgAction::SetTrue).help(
        "Every server that is here, or each --subject, with as many settings and as much time \
         for each; what is found goes to tuning.json in DIR, which --tuning reads [default of \
         --dir: weir-lab/tuning, where weir lab looks for it, and a stopped search goes on]",
    );
    let minutes = Arg::new(MINUTES)
        .long(MINUTES)
        .value_name("N")
        .requires(ALL)
        .value_parser(value_parser!(u32).range(1..=MINUTES_MAX.into()))
        .help("How long all of it takes at most [default: 60]");
    [all, minutes]
}

/// Whether all are tuned.
const ALL: &str = "all";

/// How long that may take, and the most.
const MINUTES: &str = "minutes";
const MINUTES_MAX: u32 = 60;

/// Where a run keeps what.
fn of_places() -> [Arg; 4] {
    let dir = Arg::new("dir").long("dir").value_name("DIR").help(
        "Where results and the page go; what is there already is not measured again \
         [default: weir-lab/ and the time]",
    );
    let sites = Arg::new("sites").long("sites").value_name("DIR").help(
        "Where the files that are served are made, and kept for the next run \
         [default: weir-lab/sites; sites in the DIR of --dir, where that is given]",
    );
    let dry_run = Arg::new(DRY_RUN)
        .long(DRY_RUN)
        .action(ArgAction::SetTrue)
        .help("Says how long it would take, and measures nothing");
    let other_build = Arg::new(OTHER_BUILD).long(OTHER_BUILD).action(ArgAction::SetTrue).help(
        "Go on with results that another build of this program has measured; without it that is \
         refused, as they may be of another server",
    );
    [dir, sites, dry_run, other_build]
}

/// Whether nothing is to be measured.
const DRY_RUN: &str = "dry-run";

/// Whether results may be of several builds.
const OTHER_BUILD: &str = "other-build";

/// What was chosen.
fn setup(flags: &ArgMatches) -> Result<Setup, Failure> {
    let mut setup = Setup::default();
    choose(&mut setup, KNOBS.iter(), flags)?;
    setup.seed = flags.try_get_one(SEED).ok().flatten().copied();
    Ok(setup)
}

/// Sets what the flags say of these knobs.
fn choose<'k>(
    setup: &mut Setup,
    knobs: impl Iterator<Item = &'k Knob<Setup>>,
    flags: &ArgMatches,
) -> Result<(), Failure> {
    for knob in knobs {
        for value in flags.get_many::<String>(knob.name).into_iter().flatten() {
            let wrong = |wanted| Failure::Operator(format!("--{} {value}: {wanted}", knob.name));
            (knob.set)(setup, value).map_err(wrong)?;
        }
    }
    Ok(())
}
