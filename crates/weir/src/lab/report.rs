//! `weir lab report`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use lab::Failure;
use lab::account::{self, Source};
use lab::point::Point;
use lab::report::terminal;
use lab::results::Results;

use crate::flags::path;
use crate::{named, shown};

/// What a page is drawn of, in short.
const CELLS: &str = "cells.jsonl";

/// What else goes into a page, or beside it.
#[derive(Default)]
pub(super) struct Beside {
    /// Of others, who have asked the same in another way.
    pub(super) points: Vec<Point>,
    /// Where all of it goes for programs.
    pub(super) json: Option<PathBuf>,
}

pub(super) fn command() -> Command {
    let dirs = path("dir", "DIR").num_args(1..).required(true);
    let out = Arg::new("out").long("out").value_name("DIR");
    Command::new("report")
        .about("Writes the page and the figures of results, of several runs together if need be")
        .arg(dirs.help("Where weir lab has put them"))
        .arg(out.help("Where the page goes [default: the first of them]"))
}

pub(super) fn report(flags: &ArgMatches) -> Result<ExitCode, Failure> {
    let dirs: Vec<PathBuf> =
        flags.get_many::<PathBuf>("dir").into_iter().flatten().cloned().collect();
    let mut all = Vec::new();
    for dir in &dirs {
        let results = Results::read(dir)?;
        if results.runs.is_empty() {
            return Err(Failure::Operator(format!("{}: there are no results", dir.display())));
        }
        all.push(results);
    }
    let out = flags.get_one::<String>("out").map_or_else(|| dirs[0].clone(), PathBuf::from);
    let sources: Vec<Source<'_>> = dirs.iter().map(PathBuf::as_path).zip(&all).collect();
    Ok(shown(&write(&sources, &Beside::default(), &out)?))
}

/// The page, its figures, and what they are drawn of. What comes back is for a terminal: the
/// answer, and last where the page is.
pub(super) fn write(
    sources: &[Source<'_>],
    beside: &Beside,
    out: &Path,
) -> Result<String, Failure> {
    let page = account::page_beside(sources, &beside.points);
    lab::report::write(&page, out)?;
    let path = out.join(CELLS);
    std::fs::write(&path, account::cells(sources))
        .map_err(|error| Failure::Machine(format!("{}: {error}", path.display())))?;
    if let Some(path) = &beside.json {
        let text = format!("{:#}\n", account::json(&page, sources));
        named::create(path)
            .and_then(|mut to| to.write_all(text.as_bytes()))
            .map_err(|error| Failure::Machine(format!("--json {}: {error}", path.display())))?;
        if named::is_standard(path) {
            return Ok(String::new());
        }
    }
    Ok(format!("{}\n{}\n", terminal::page(&page), out.join("index.html").display()))
}
