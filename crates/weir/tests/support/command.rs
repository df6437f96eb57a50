//! Other programs: run to their end as their user would, and heard, with a bound on each wait.

use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::process::{Command, Output};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PATIENCE;

/// Runs a command to its end: its status, output and errors.
pub(crate) fn run(command: &mut Command) -> io::Result<(Option<i32>, String, String)> {
    let Output { status, stdout, stderr } = harness::output(command)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status.code(), text(stdout), text(stderr)))
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
