//! `weir lab testbed`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command as Program, ExitCode};

use clap::{Arg, ArgMatches, Command};
use lab::testbed::{Layout, by_hand};
use lab::{Failure, unknown};

use crate::shown;

pub(super) fn command() -> Command {
    let limit = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
    };
    let up = Command::new("up")
        .about("Makes two machines of this one, and says how to run programs on them")
        .arg(limit("quota", "PERCENT", "Of one processor, what the server may use"))
        .arg(limit("memory-mb", "MB", "What the server may use, its page cache included"))
        .arg(limit("disk", "delay-us=US,...", "How late reads are answered of the files of --site"))
        .arg(limit("round-trip-ms", "MS", "How long a packet is under way, there and back"))
        .arg(limit("wire-mbit", "MBIT", "What the wire carries in a second, in each direction"))
        .arg(limit("wire-mtu", "BYTES", "How long a packet is at most"))
        .arg(limit("site", "DIR", "What is on the slow disk: of it an image is made, beside it"));
    Command::new("testbed")
        .about("The two machines of an experiment, for trying something by hand")
        .subcommand_required(true)
        .subcommand(up)
        .subcommand(Command::new("down").about("Removes what the lab has made, and nothing else"))
        .subcommand(Command::new("status").about("What there is, and what this kernel lacks"))
        // One of its own, which is nobody's to type: neither help nor completions are to know it.
        .allow_external_subcommands(true)
}

pub(super) fn testbed(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let lines = match flags.subcommand() {
        Some(("up", flags)) => up(flags)?,
        Some(("down", _)) => by_hand::down()?,
        Some(("status", _)) | None => by_hand::status(),
        Some((word, rest)) => {
            serve(word, rest)?;
            Vec::new()
        }
    };
    Ok(shown(&lines.iter().map(|line| format!("{line}\n")).collect::<String>()))
}

/// What [`by_hand::up`] and slow disks start. Ends when the testbed is taken down.
fn serve(word: &str, rest: &ArgMatches) -> Result<(), Failure> {
    let rest = rest.get_many::<OsString>("").into_iter().flatten();
    let rest = rest.map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(word.into()).chain(rest).collect();
    let unknown = || Err(Failure::Operator(unknown("word", word, ["up", "down", "status"])));
    by_hand::serve(&words).unwrap_or_else(unknown)
}

fn up(flags: &ArgMatches) -> Result<Vec<String>, Failure> {
    let bytes = |megabytes: u32| u64::from(megabytes) * 1_000_000;
    let disk = flags.get_one::<String>("disk").map(|text| text.parse());
    let layout = Layout {
        is_loopback: false,
        quota_percent: number(flags, "quota")?,
        memory_bytes: number(flags, "memory-mb")?.map(bytes),
        disk: disk.transpose().map_err(|why| Failure::Operator(format!("--disk: {why}")))?,
        round_trip_ms: number(flags, "round-trip-ms")?,
        wire_mbit: number(flags, "wire-mbit")?,
        wire_mtu_bytes: number(flags, "wire-mtu")?,
        syns: None,
    };
    let this = std::env::current_exe().map_err(|error| Failure::machine("this program", error))?;
    let own = |words: &[String]| {
        let mut program = Program::new(&this);
        program.args(["lab", "testbed"]).args(words);
        program
    };
    let site = flags.get_one::<String>("site").map(PathBuf::from);
    by_hand::up(&layout, site.as_deref(), &own)
}

fn number(flags: &ArgMatches, name: &str) -> Result<Option<u32>, Failure> {
    let Some(text) = flags.get_one::<String>(name) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number > 0);
    let wrong = || Failure::Operator(format!("--{name} {text}: has to be a number from 1"));
    number.ok_or_else(wrong).map(Some)
}
