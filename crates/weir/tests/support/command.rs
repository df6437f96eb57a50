//! Other programs: run to their end, and waited for, with a bound on each wait.

use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{PATIENCE, await_some};

/// A command that runs for longer hangs. No test measures this bound.
const RUN_MAX: Duration = Duration::from_secs(600);

/// Runs a command to its end: its status, output and errors.
pub(crate) fn run(command: &mut Command) -> io::Result<(Option<i32>, String, String)> {
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let Output { status, stdout, stderr } = output_of(child);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status.code(), text(stdout), text(stderr)))
}

/// Waits for the end of a process, and returns what it has written to its pipes.
pub(crate) fn output_of(mut child: Child) -> Output {
    drop(child.stdin.take());
    let started = Instant::now();
    let left = || RUN_MAX.saturating_sub(started.elapsed());
    let pipes = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let all = |pipe: Option<Receiver<Vec<u8>>>| match pipe {
        Some(pipe) => pipe.recv_timeout(left()).ok(),
        None => Some(Vec::new()),
    };
    let (stdout, stderr) = (all(pipes.0), all(pipes.1));
    let status = await_some(left(), || child.try_wait().expect("a child"));
    match (status, stdout, stderr) {
        (Some(status), Some(stdout), Some(stderr)) => Output { status, stdout, stderr },
        (status, stdout, stderr) => {
            let _ = child.kill();
            let _ = child.wait();
            let told = [stdout, stderr].map(Option::unwrap_or_default);
            let [output, errors] = told.each_ref().map(|bytes| bytes.escape_ascii());
            panic!("no end within {RUN_MAX:?}, but {status:?}: {output} {errors}");
        }
    }
}

/// Waits until a process ends.
pub(crate) fn await_end(child: &mut Child) -> ExitStatus {
    let status = await_some(PATIENCE, || child.try_wait().expect("a child"));
    status.unwrap_or_else(|| {
        let _ = child.kill();
        let _ = child.wait();
        panic!("no end within {PATIENCE:?}")
    })
}

/// Sends all that `from` gives, when it has ended. A thread reads it, because a process that is
/// left behind may hold the other end open.
fn read_all(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
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
