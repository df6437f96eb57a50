//! Other programs: run to their end and waited for, with a bound on each wait.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A command that runs for longer hangs. Some compile the whole workspace on a slow machine. No
/// test measures these bounds.
const RUN_MAX: Duration = Duration::from_secs(3600);

/// A process that was told to end, or does nothing else, and is there for longer hangs.
const END_MAX: Duration = Duration::from_secs(60);

/// The pause between two looks at whether a process has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// A process that is killed at the end of its test, whatever the test's result is.
#[derive(Debug)]
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command to its end, with nothing to read, and returns what it has written.
///
/// # Errors
/// If it does not start.
///
/// # Panics
/// If it does not end within an hour.
#[track_caller]
pub fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(output_of(command.spawn()?))
}

/// Waits for the end of a process, and returns what it has written to its pipes.
///
/// # Panics
/// If it does not end within an hour.
#[track_caller]
pub fn output_of(mut child: Child) -> Output {
    drop(child.stdin.take());
    let started = Instant::now();
    let left = || RUN_MAX.saturating_sub(started.elapsed());
    let pipes = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let all = |pipe: Option<Receiver<Vec<u8>>>| match pipe {
        Some(pipe) => pipe.recv_timeout(left()).ok(),
        None => Some(Vec::new()),
    };
    let (stdout, stderr) = (all(pipes.0), all(pipes.1));
    match (ended(&mut child, left()), stdout, stderr) {
        (Some(status), Some(stdout), Some(stderr)) => Output { status, stdout, stderr },
        (status, stdout, stderr) => {
            let told = [stdout, stderr].map(Option::unwrap_or_default);
            let [output, errors] = told.each_ref().map(|bytes| bytes.escape_ascii());
            panic!("no end within {RUN_MAX:?}, but {status:?}: {output} {errors}");
        }
    }
}

/// Waits until a process ends.
///
/// # Panics
/// If it does not end within a minute.
#[track_caller]
pub fn await_end(child: &mut Child) -> ExitStatus {
    match ended(child, END_MAX) {
        Some(status) => status,
        None => panic!("no end within {END_MAX:?}"),
    }
}

/// How the process ended, if it did within `bound`; otherwise it is killed.
pub(crate) fn ended(child: &mut Child, bound: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        let is_last = started.elapsed() > bound;
        let status = child.try_wait().expect("a child to wait for");
        if status.is_some() {
            return status;
        }
        if is_last {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(PAUSE);
    }
}

/// Sends all that `from` gives, when it has ended. A thread reads it, because a process that is
/// left behind may hold the other end open.
fn read_all(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}
