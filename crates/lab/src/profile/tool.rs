//! Programs of others that look at the machine.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use measure::Duration;
use os::placement::Placement;

use super::Target;
use crate::Failure;
use crate::hearing::hear;

/// One that runs; it is ended with this.
#[derive(Debug)]
pub(super) struct Running {
    name: &'static str,
    child: Child,
    out: ChildStdout,
    complaints: Scratch,
}

/// How long a tool may take to begin, to write down what it has seen, or to read what another tool
/// has written. A tool takes 0.6 s for the first two, and more than a minute on a machine with a
/// hundred runnable threads. perf reads 170,000 samples in a second, so that this is enough for
/// fifty million, which forty processors give in ten minutes. Only a tool that hangs is ended.
const PATIENCE: Duration = Duration::from_secs(300);

/// Of what a tool complains of, to quote.
const QUOTED_LINES: usize = 2;

/// bpftrace complains that it may not raise this limit; kernels since 5.11 do not apply it to it.
const HARMLESS: &str = "RLIMIT_MEMLOCK";

/// A command that is ended with the calling thread.
pub(super) fn command(target: &Target, program: &str) -> Result<Command, Failure> {
    let processors = target.own_processors.clone();
    let placement = Placement { processors, ..Placement::default() };
    placement.command(program).map_err(|e| Failure::machine(program, e))
}

/// What a command says that succeeds. One that takes too long is ended.
pub(super) fn output(
    name: &'static str,
    command: Command,
    directory: &Path,
) -> Result<String, Failure> {
    output_within(PATIENCE, name, command, directory)
}

fn output_within(
    patience: Duration,
    name: &'static str,
    command: Command,
    directory: &Path,
) -> Result<String, Failure> {
    let mut running = Running::start(name, command, directory)?;
    match running.rest(patience)? {
        (text, status) if status.success() => Ok(text),
        _ => Err(running.failure("failed")),
    }
}

impl Running {
    /// Starts it; what it complains of is kept in a file.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let complaints = Scratch::new(directory, &format!("{name}.err"));
        let file = File::create(complaints.path())
            .map_err(|e| Failure::machine(complaints.path().display(), e))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(|e| Failure::machine(name, e))?;
        let out = child.stdout.take().ok_or_else(|| Failure::machine(name, "has no output"))?;
        Ok(Self { name, child, out, complaints })
    }

    /// Waits until its output, or that of `from`, has `word` in it. Gives what there was of it.
    pub(super) fn wait_for(
        &mut self,
        word: &str,
        mut from: Option<&mut (impl Read + AsFd)>,
    ) -> Result<String, Failure> {
        let deadline = os::clock::monotonic() + PATIENCE;
        let mut text = Vec::new();
        loop {
            let is_there = text.windows(word.len()).any(|part| part == word.as_bytes());
            if is_there {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            let left = deadline.since(os::clock::monotonic());
            let mut piece = [0; 4096];
            let watched = std::iter::once(self.out.as_fd());
            let watched = watched.chain(from.as_ref().map(|from| from.as_fd()));
            let ready = os::wait_readable(watched, Some(left));
            let ready = ready.map_err(|e| Failure::machine(self.name, e))?;
            let read = match (ready.as_slice(), &mut from) {
                ([_, true], Some(from)) => from.read(&mut piece),
                ([true, ..], _) => self.out.read(&mut piece),
                _ if left.is_zero() => return Err(self.failure("does not begin")),
                _ => continue,
            };
            match read {
                Ok(0) => return Err(self.failure("ended at once")),
                Ok(length) => text.extend_from_slice(piece.get(..length).unwrap_or_default()),
                Err(e) => return Err(Failure::machine(self.name, e)),
            }
        }
    }

    /// The number of the process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to end, as from a keyboard, and gives what it says then.
    pub(super) fn interrupt(mut self) -> Result<String, Failure> {
        if let Some(pid) = os::process::Pid::new(self.child.id()) {
            os::process::signal(pid, os::Signal::Int)
                .map_err(|e| Failure::machine(self.name, e))?;
        }
        Ok(self.rest(PATIENCE)?.0)
    }

    /// What it says until it ends, which is within this time.
    fn rest(&mut self, patience: Duration) -> Result<(String, ExitStatus), Failure> {
        let text = hear(&mut self.out, os::clock::monotonic() + patience, |_| false);
        let text = text.map_err(|e| match e.kind() {
            ErrorKind::TimedOut => self.failure("does not end"),
            _ => Failure::machine(self.name, e),
        })?;
        // It has closed its output, so that it is at its end.
        let status = self.child.wait().map_err(|e| Failure::machine(self.name, e))?;
        Ok((String::from_utf8_lossy(&text).into_owned(), status))
    }

    /// With what the tool itself says of it.
    pub(super) fn failure(&self, what: &str) -> Failure {
        let said = fs::read_to_string(self.complaints.path()).unwrap_or_default();
        let is_told = |line: &&str| !line.trim().is_empty() && !line.contains(HARMLESS);
        let said: Vec<&str> = said.lines().filter(is_told).collect();
        let last = said.get(said.len().saturating_sub(QUOTED_LINES)..).unwrap_or_default();
        let last = last.iter().map(|line| line.trim()).collect::<Vec<_>>().join("; ");
        let name = self.name;
        Failure::Machine(match last.is_empty() {
            true => format!("{name} {what}"),
            false => format!("{name} {what}: {last}"),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Each fails only when it has ended before, or was never there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that is gone with this.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self(directory.join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_succeeds_fails_or_is_ended() {
        let home = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3_600);
        let rows = [
            ("echo a; echo b >&2", hour, Ok("a\n")),
            ("echo a; echo b >&2; exit 1", hour, Err("sh failed: b")),
            ("echo b >&2; exec sleep 3600", Duration::ZERO, Err("sh does not end")),
        ];
        for (script, patience, expected) in rows {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let told = output_within(patience, "sh", command, home.path());
            let told = told.map_err(|failure| failure.to_string());
            match (&told, expected) {
                (Ok(told), Ok(expected)) => assert_eq!(told, expected, "{script}"),
                // What it complained of may have come by then.
                (Err(told), Err(expected)) => assert!(told.starts_with(expected), "{told}"),
                _ => panic!("{script}: {told:?}"),
            }
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "nothing stays");
        }
    }
}
