//! The record of skipped tests: a file for each, in the directory `skipped` of the build.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};

use crate::alone::CHOSEN;

/// With this variable set to `none`, a test that is skipped fails.
const SKIPS: &str = "WEIR_SKIPS";

/// A test that did not run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// Why, such as `needs root`.
    pub why: String,
    /// The test's source file and its name.
    pub test: String,
    /// The Debian packages that would let it run.
    pub packages: Vec<String>,
}

/// Records that the calling test is skipped because of what it found out by itself.
///
/// # Panics
/// If `WEIR_SKIPS=none` forbids skips.
#[track_caller]
pub fn skip(why: impl Display) {
    write(&why.to_string(), &[]);
}

/// Records that there is nothing here for the calling test to show, whatever is installed. No
/// setting forbids that.
#[track_caller]
pub fn does_not_apply(why: impl Display) {
    record(&why.to_string(), &[]);
}

/// All skips that tests of this build have recorded since the last call. The record stays beside
/// itself, with the extension `told`, until the next call.
///
/// # Errors
/// If the record cannot be read or moved.
pub fn recorded() -> io::Result<Vec<Skip>> {
    take(&directory())
}

fn take(directory: &Path) -> io::Result<Vec<Skip>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let text = fs::read_to_string(entry?.path())?;
        let mut lines = text.lines().map(str::to_owned);
        let (why, test) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        all.push(Skip { why, test, packages: lines.collect() });
    }
    let told = directory.with_extension("told");
    if told.exists() {
        fs::remove_dir_all(&told)?;
    }
    fs::rename(directory, told)?;
    all.sort();
    Ok(all)
}

/// Writes the record of the calling test, unless skips are forbidden.
#[track_caller]
pub(crate) fn write(why: &str, packages: &[&str]) {
    let test = record(why, packages);
    assert!(
        std::env::var_os(SKIPS).is_none_or(|skips| skips != "none"),
        "{test} was skipped, which {SKIPS}=none forbids: {why}"
    );
}

/// Returns the test's source file and its name.
#[track_caller]
fn record(why: &str, packages: &[&str]) -> String {
    let file = Location::caller().file();
    let test = format!("{file} {}", name_of_test());
    // `println` would be hidden, because a test that is skipped passes.
    let _ = io::stdout().write_all(format!("skipped: {why}: {test}\n").as_bytes());
    let text = [why, test.as_str()].into_iter().chain(packages.iter().copied()).collect::<Vec<_>>();
    let directory = directory();
    // A test may lack several things, one after the other; each is a record.
    let name: String = format!("{test} {why}").replace(|c: char| !c.is_alphanumeric(), "-");
    let name: String = name.chars().take(200).collect();
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(directory.join(name), text.join("\n")))
        .unwrap_or_else(|error| panic!("no record of a skip in {}: {error}", directory.display()));
    test
}

/// libtest runs each test in a thread of its name; `run_alone` names it in the environment.
fn name_of_test() -> String {
    let thread = std::thread::current();
    std::env::var(CHOSEN).unwrap_or_else(|_| thread.name().unwrap_or_default().to_owned())
}

/// Beside the directory of the test programs, which is `target/debug/deps` by default.
fn directory() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program");
    let profile = program.ancestors().nth(2).expect("a directory of test programs");
    profile.join("skipped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_reads_each_record_once() {
        let directory = std::env::temp_dir().join(format!("weir-skips-{}", std::process::id()));
        assert_eq!(take(&directory).unwrap(), []);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("b"), "needs root\nb.rs b").unwrap();
        fs::write(directory.join("a"), "needs ip (iproute2)\na.rs a\niproute2").unwrap();
        let skip = |why: &str, test: &str, packages: &[&str]| Skip {
            why: why.into(),
            test: test.into(),
            packages: packages.iter().copied().map(str::to_owned).collect(),
        };
        let expected = [
            skip("needs ip (iproute2)", "a.rs a", &["iproute2"]),
            skip("needs root", "b.rs b", &[]),
        ];
        assert_eq!(take(&directory).unwrap(), expected);
        assert_eq!(take(&directory).unwrap(), []);
        fs::remove_dir_all(directory.with_extension("told")).unwrap();
    }
}
