//! Other programs: run to their end as their user would, and heard, with a bound on each wait.

use std::fs::{self, Permissions};
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PATIENCE;

/// Runs a command to its end: its status, output and errors.
pub(crate) fn run(command: &mut Command) -> io::Result<(Option<i32>, String, String)> {
    let Output { status, stdout, stderr } = harness::output(command)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status.code(), text(stdout), text(stderr)))
}

/// Copies a program, and by another one: a file that is open for writing cannot be run, and what
/// this process starts meanwhile would hold it open.
#[track_caller]
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let copied = run(Command::new("cp").arg("-p").args([from, to])).expect("cp");
    assert_eq!(copied.0, Some(0), "{copied:?}");
}

/// Makes a program of these bytes, or a script, in the same way.
#[track_caller]
pub(crate) fn write_program(to: &Path, content: impl AsRef<[u8]>) {
    let written = to.with_extension("written");
    fs::write(&written, content).expect("a file");
    fs::set_permissions(&written, Permissions::from_mode(0o755)).expect("its mode");
    copy_program(&written, to);
    fs::remove_file(&written).expect("it is copied");
}

/// Waits until there is something to read, or the end. False if neither comes within `PATIENCE`.
pub(crate) fn await_input(from: &BufReader<impl AsFd>) -> bool {
    if !from.buffer().is_empty() {
        return true;
    }
    let mut fds = [PollFd::new(from.get_ref(), PollFlags::IN)];
    let patience = Timespec::try_from(PATIENCE).expect("a minute");
    poll(&mut fds, Some(&patience)).expect("a pipe") > 0
}
