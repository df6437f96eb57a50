//! Starting the server as its operator would, and stopping it again.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::command::await_input;
use super::wire::Wire;
use super::{PATIENCE, await_some};

/// A running server; killed when dropped before it was stopped.
pub(crate) struct Server {
    child: Child,
    /// The first of [`Server::addresses`].
    pub(crate) address: SocketAddr,
    /// Where it listens, in the order of its flags.
    pub(crate) addresses: Vec<SocketAddr>,
    /// All that it said by then.
    pub(crate) said: String,
    key: u8,
    /// Kept open, or the server's next line would break a pipe.
    stdout: BufReader<io::PipeReader>,
}

impl Server {
    /// Starts `command` and reads from its output where it listens.
    pub(crate) fn start(mut command: Command, key: u8) -> Self {
        // One pipe: what it says at its start, and its error log.
        let (read, write) = io::pipe().expect("a pipe");
        command.stdin(Stdio::null()).stdout(write.try_clone().expect("it again")).stderr(write);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        // It has the other end, too.
        let command = format!("{:?}", { command });
        let mut stdout = BufReader::new(read);
        match listening(&mut stdout) {
            Ok((said, addresses)) => {
                Self { child, address: addresses[0], addresses, said, key, stdout }
            }
            Err(said) => {
                let _ = child.kill();
                panic!("{command} ended with {:?} before it listened: {said}", child.wait());
            }
        }
    }

    pub(crate) fn connect(&self) -> Wire {
        Wire::connect(self.address, self.key).expect("a connection")
    }

    /// A connection to any of its addresses on which a GET was sent.
    pub(crate) fn asking(&self, to: SocketAddr, target: &str) -> Wire {
        let mut wire = Wire::connect(to, self.key).expect("a connection");
        wire.get(target, "").expect("sent");
        wire
    }

    /// One GET on a connection of its own: the content, or why there is none.
    pub(crate) fn fetch(&self, target: &str) -> Result<Vec<u8>, String> {
        self.fetch_from(self.address, target)
    }

    /// The same from any of its addresses.
    pub(crate) fn fetch_from(&self, from: SocketAddr, target: &str) -> Result<Vec<u8>, String> {
        let mut wire = Wire::connect(from, self.key).map_err(|e| e.to_string())?;
        wire.get(target, "Connection: close\r\n")?;
        let (head, body) = wire.reply(false)?;
        if head.status == 200 { Ok(body) } else { Err(format!("status {}", head.status)) }
    }

    /// The process that was started: the supervisor.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// How it ended, if it did within `bound`.
    pub(crate) fn ended(&mut self, bound: std::time::Duration) -> Option<ExitStatus> {
        await_some(bound, || self.child.try_wait().expect("a child to wait for"))
    }

    /// Waits until it says where its admin listener is.
    pub(crate) fn await_admin(&mut self) -> SocketAddr {
        let line = self.await_line("admin page on http://");
        address(&line).expect("an address")
    }

    /// Waits until it says a line that contains `what`, and returns that.
    pub(crate) fn await_line(&mut self, what: &str) -> String {
        let mut line = String::new();
        let mut before = String::new();
        while !line.contains(what) {
            before += &line;
            line.clear();
            let came = await_input(&self.stdout);
            assert!(came, "it did not say {what:?} within {PATIENCE:?}, but {before:?}");
            let read = self.stdout.read_line(&mut line).expect("its output in UTF-8");
            assert!(read > 0, "it ended and did not say {what:?}, but {before:?}");
        }
        line
    }

    /// Waits until the next program of an upgrade serves. Returns its process.
    pub(crate) fn await_next(&mut self) -> u32 {
        let line = self.await_line(" serves in its place; this one retires");
        let mut words = line.split(' ').skip_while(|word| *word != "process").skip(1);
        words.next().and_then(|pid| pid.parse().ok()).expect("its process")
    }

    /// SIGTERM; it has to end with 0. Returns what it said.
    pub(crate) fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        let Some(status) = self.ended(PATIENCE) else {
            panic!("still there {PATIENCE:?} after SIGTERM");
        };
        let said = self.last_words();
        assert_eq!(status.code(), Some(0), "after SIGTERM: {said}");
        said
    }

    /// What it said and nobody has read, when it has ended.
    pub(crate) fn last_words(&mut self) -> String {
        let mut said = String::new();
        loop {
            // A process that outlives the server holds the other end of the pipe.
            assert!(await_input(&self.stdout), "{PATIENCE:?} after its end some of it is left");
            if self.stdout.read_line(&mut said).expect("its output in UTF-8") == 0 {
                return said;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process number that is not 0");
    kill_process(pid, signal).expect("a process to signal");
}

/// Where it says that it listens, up to the line that says what it serves, or else all it said.
fn listening(output: &mut BufReader<io::PipeReader>) -> Result<(String, Vec<SocketAddr>), String> {
    let mut said = String::new();
    let mut addresses = Vec::new();
    loop {
        if !await_input(output) {
            return Err(format!("{said} (and no more within {PATIENCE:?})"));
        }
        let before = said.len();
        let read = output.read_line(&mut said).expect("its output in UTF-8");
        let line = &said[before..];
        addresses.extend(address(line));
        if line.contains(": serving ") && !addresses.is_empty() {
            return Ok((said, addresses));
        }
        if read == 0 {
            return Err(said);
        }
    }
}

/// The first `http://host:port` of a line.
pub(crate) fn address(line: &str) -> Option<SocketAddr> {
    let (_, after) = line.split_once("http://")?;
    let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
    after[..end].parse().ok()
}
