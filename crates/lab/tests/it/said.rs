//! What another process says, line by line.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lab::testbed::Host;

/// No test measures it: it turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lines that a process says. A thread reads them, because the process may say none.
pub(crate) struct Lines(Receiver<String>);

impl Lines {
    pub(crate) fn new(output: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Self(receiver)
    }

    /// The next line; `None` after the last one.
    ///
    /// # Panics
    /// If none comes in time.
    pub(crate) fn next(&self) -> Option<String> {
        use std::sync::mpsc::RecvTimeoutError::Timeout;
        let line = self.0.recv_timeout(PATIENCE);
        assert!(line != Err(Timeout), "no line within {PATIENCE:?}");
        line.ok()
    }
}

/// What a program has said that ran on a host, and has to succeed.
pub(crate) fn output(host: &Host, words: &[&str]) -> String {
    let mut command = host.placement.command(words[0]).unwrap();
    let output = harness::output(command.args(&words[1..])).unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
