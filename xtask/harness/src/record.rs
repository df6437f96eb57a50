//! The record of skipped tests: a file for each, in a directory of its run, in the directory
//! `skipped` of the build.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};

/// With this variable set to `none`, a test that is skipped fails.
const SKIPS: &str = "WEIR_SKIPS";

/// Names the one test that a child process of [`run_alone`](crate::run_alone) runs.
pub(crate) const CHOSEN: &str = "WEIR_TEST_ALONE";

/// Names the run to which a test program belongs. By default that is the process that has started
/// the program, which is Cargo.
pub(crate) const RUN: &str = "WEIR_RUN";

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

/// All skips that the tests of this run have recorded. Their record moves to the directory
/// `skipped.told`, and those of runs that were broken off are removed.
///
/// # Errors
/// If the record cannot be read or moved.
pub fn recorded() -> io::Result<Vec<Skip>> {
    take(&directory(), &run())
}

fn take(directory: &Path, run: &str) -> io::Result<Vec<Skip>> {
    let entries = match fs::read_dir(directory.join(run)) {
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
    fs::rename(directory.join(run), told)?;
    fs::remove_dir_all(directory)?;
    all.sort();
    Ok(all)
}

/// Writes the record of the calling test, unless skips are forbidden.
#[track_caller]
pub(crate) fn write(why: &str, packages: &[&str]) {
    let test = record(why, packages);
    if let Some(skips) = std::env::var_os(SKIPS) {
        assert_eq!(skips, "none", "{SKIPS} is refused: it is none, or not set");
        panic!("{test} was skipped, which {SKIPS}=none forbids: {why}");
    }
}

/// Returns the test's source file and its name.
#[track_caller]
fn record(why: &str, packages: &[&str]) -> String {
    let file = Location::caller().file();
    let test = format!("{file} {}", name_of_test());
    // `println` would be hidden, because a test that is skipped passes.
    let _ = io::stdout().write_all(format!("skipped: {why}: {test}\n").as_bytes());
    let text = [why, test.as_str()].into_iter().chain(packages.iter().copied()).collect::<Vec<_>>();
    let directory = directory().join(run());
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

/// Names this run: see [`RUN`]. The number of a process is soon another's, so its start time is
/// added.
pub(crate) fn run() -> String {
    std::env::var(RUN).unwrap_or_else(|_| {
        let parent = std::os::unix::process::parent_id();
        let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
        // The field 22 of proc_pid_stat(5), behind the name in brackets, which is the second.
        let begun = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
        format!("{parent}-{}", begun.unwrap_or("0"))
    })
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
    fn take_reads_the_records_of_its_run_once() {
        let directory = std::env::temp_dir().join(format!("weir-skips-{}", std::process::id()));
        assert_eq!(take(&directory, "this").unwrap(), []);
        for (name, text) in [
            ("this/b", "needs root\nb.rs b"),
            ("this/a", "needs ip (iproute2)\na.rs a\niproute2"),
            ("one-that-was-broken-off/c", "needs root\nc.rs c"),
        ] {
            let file = directory.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let skip = |why: &str, test: &str, packages: &[&str]| Skip {
            why: why.into(),
            test: test.into(),
            packages: packages.iter().copied().map(str::to_owned).collect(),
        };
        let expected = [
            skip("needs ip (iproute2)", "a.rs a", &["iproute2"]),
            skip("needs root", "b.rs b", &[]),
        ];
        assert_eq!(take(&directory, "this").unwrap(), expected);
        assert_eq!(take(&directory, "this").unwrap(), []);
        assert!(!directory.exists());
        fs::remove_dir_all(directory.with_extension("told")).unwrap();
    }
}
