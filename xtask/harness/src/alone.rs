//! A test program without libtest's harness: each test runs in a process of its own that has a
//! single thread, because it forks, takes signals, lowers limits or confines itself.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::command;
use crate::record::{self, CHOSEN};

/// A test's name, with its module as libtest would write it, and its body.
pub type Test = (&'static str, fn());

/// A test that takes longer hangs, and is killed. No test measures this bound.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs the tests that the command line picks, each in a child process, and prints what libtest
/// prints. As with libtest, an argument picks the tests whose names contain it, and `--list` only
/// lists them. Other flags of libtest are of no use here and are left out with their values.
pub fn run_alone(tests: &[Test]) -> ExitCode {
    if let Some(chosen) = std::env::var_os(CHOSEN) {
        let (_, test) = tests.iter().find(|(name, _)| *name == chosen).expect("a test's name");
        test();
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let wanted = filters(&arguments);
    let is_picked = |name: &&str| wanted.is_empty() || wanted.iter().any(|of| name.contains(of));
    let (picked, left): (Vec<_>, Vec<_>) = tests.iter().map(|(name, _)| *name).partition(is_picked);
    println!("\nrunning {} tests", picked.len());
    let started = Instant::now();
    let failures = run_all(&picked);
    for (name, output) in &failures {
        println!("\n---- {name} ----\n{output}");
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; \
         finished in {:.2}s\n",
        if failures.is_empty() { "ok" } else { "FAILED" },
        picked.len() - failures.len(),
        failures.len(),
        left.len(),
        started.elapsed().as_secs_f64()
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// The arguments that are neither flags nor values of flags.
fn filters(arguments: &[String]) -> Vec<&str> {
    const WITH_VALUE: [&str; 5] = ["--test-threads", "--skip", "--color", "--format", "--logfile"];
    let is_value = |at: usize| at > 0 && WITH_VALUE.contains(&arguments[at - 1].as_str());
    let is_filter = |at: &usize| !arguments[*at].starts_with('-') && !is_value(*at);
    (0..arguments.len()).filter(is_filter).map(|at| arguments[at].as_str()).collect()
}

/// The tests that failed, with what each has printed.
fn run_all(names: &[&'static str]) -> Vec<(&'static str, String)> {
    let left = Mutex::new(names.iter());
    let failures = Mutex::new(Vec::new());
    let next = || left.lock().expect("no thread panics").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(name) = next() {
                    match run_one(name) {
                        Ok(()) => println!("test {name} ... ok"),
                        Err(output) => {
                            println!("test {name} ... FAILED");
                            failures.lock().expect("no thread panics").push((*name, output));
                        }
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no thread panics")
}

fn run_one(name: &str) -> Result<(), String> {
    let (status, output) = run_child(name).map_err(|error| error.to_string())?;
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{output}\n{status}")),
        None => Err(format!("{output}\nkilled, because it ran for more than {TIMEOUT:?}")),
    }
}

/// How the process of a test ended, if it did in time, and what it has printed. It prints to a file
/// and not to a pipe, because a process that the test leaves behind would keep the pipe open.
fn run_child(name: &str) -> io::Result<(Option<ExitStatus>, String)> {
    let file_name = format!("weir-test-{}-{}", std::process::id(), name.replace("::", "-"));
    let path = std::env::temp_dir().join(file_name);
    let mut printed = File::options().read(true).append(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    let mut child = Command::new(std::env::current_exe()?)
        .env(CHOSEN, name)
        .env(record::RUN, record::run())
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .spawn()?;
    let status = command::ended(&mut child, TIMEOUT);
    let mut output = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut output)?;
    Ok((status, String::from_utf8_lossy(&output).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_no_flags_and_no_values_of_flags() {
        let rows: [(&[&str], &[&str]); 5] = [
            (&[], &[]),
            (&["--test-threads", "1"], &[]),
            (&["--test-threads=1", "send"], &["send"]),
            (&["--skip", "send", "--nocapture"], &[]),
            (&["send", "accept"], &["send", "accept"]),
        ];
        for (arguments, expected) in rows {
            let arguments: Vec<String> = arguments.iter().map(|&text| text.into()).collect();
            assert_eq!(filters(&arguments), expected, "{arguments:?}");
        }
    }
}
