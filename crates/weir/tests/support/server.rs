//! Starting the server as its operator would, and stopping it again.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::SERVERS_AT_ONCE_MAX;

use super::chosen::chosen;
use super::command::{await_input, run};
use super::examples::example;
use super::processes::{threads, workers_of};
use super::wire::Wire;
use super::{PATIENCE, await_some, await_true};

/// What serves: the binary itself, or an example: its transport re-codes every byte, its
/// connections have two requests in hand, a request ends it, or each request costs it much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Weir,
    Recoded,
    Several,
    Mortal,
    Laborious,
}

/// The steps of a request, in the names of the registry and of the trace.
pub(crate) const STEPS: [&str; 5] = ["accept", "receive", "path", "pages", "send"];

/// One way to serve: an architecture and, where it has a choice, a poller.
#[derive(Debug, Clone)]
pub(crate) struct Combination {
    pub(crate) program: Program,
    pub(crate) architecture: String,
    pub(crate) poller: Option<String>,
    /// Of a ring that is not as it is by default.
    ring: &'static [&'static str],
    /// The architecture's row in the registry.
    pub(crate) row: Value,
    /// By one worker, also where it has several by default: what is counted, limited or ordered in
    /// a test is that of one.
    is_alone: bool,
}

/// Each value of the knobs of a ring at least once.
const RINGS: [&[&str]; 5] = [
    &["--ring-sockets", "direct", "--ring-files", "read"],
    &["--ring-sockets", "ordinary", "--ring-files", "read", "--ring-setup", "cooperative"],
    &["--ring-files", "sendfile", "--ring-setup", "deferred"],
    &["--ring-files", "sendfile", "--ring-setup", "polled"],
    &["--ring-sockets", "direct", "--ring-files", "read", "--ring-setup", "polled"],
];

/// Longer than a test lasts on any machine. Timeouts that a test is not about have this length, so
/// that the order of events decides what a test sees, and not the speed of the machine.
const LONG_MS: &str = "3600000";

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

impl Program {
    /// With which every byte on the wire is combined.
    pub(crate) const fn key(self) -> u8 {
        match self {
            Self::Weir | Self::Several | Self::Mortal | Self::Laborious => 0,
            Self::Recoded => 0x5a,
        }
    }

    pub(crate) fn path(self) -> PathBuf {
        match self {
            Self::Weir => PathBuf::from(env!("CARGO_BIN_EXE_weir")),
            Self::Recoded => example("recoded"),
            Self::Several => example("several"),
            Self::Mortal => example("mortal"),
            Self::Laborious => example("laborious"),
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.architecture)?;
        if let Some(poller) = &self.poller {
            write!(f, " with {poller}")?;
        }
        for flag in self.ring {
            write!(f, " {flag}")?;
        }
        match self.program {
            Program::Weir => Ok(()),
            Program::Recoded => write!(f, ", re-coded"),
            Program::Several => write!(f, ", several"),
            Program::Mortal => write!(f, ", mortal"),
            Program::Laborious => write!(f, ", laborious"),
        }
    }
}

/// Those, each by one worker unless a test asks for more.
pub(crate) fn combinations_alone(program: Program) -> Vec<Combination> {
    let all = combinations(program).into_iter();
    all.map(|of| Combination { is_alone: true, ..of }).collect()
}

/// Every architecture that the binary itself says it has, each with epoll if it asks a poller;
/// those whose loops others share, with every poller.
pub(crate) fn combinations(program: Program) -> Vec<Combination> {
    let mut all = combinations_of_pollers(program);
    all.retain(|of| of.has_usual_poller() || matches!(&*of.architecture, "sped" | "knot"));
    all
}

/// Every architecture with every poller.
fn combinations_of_pollers(program: Program) -> Vec<Combination> {
    let said = Command::new(Program::Weir.path())
        .args(["serve", "--list-architectures", "--json"])
        .output()
        .expect("the binary runs");
    assert!(said.status.success(), "--list-architectures: {said:?}");
    let rows: Vec<Value> = serde_json::from_slice(&said.stdout).expect("a list in JSON");
    let mut all = Vec::new();
    for row in rows {
        let architecture = row["name"].as_str().expect("every architecture has a name").to_owned();
        let pollers: Vec<_> = row["pollers"].as_array().into_iter().flatten().collect();
        let chosen = |poller: Option<&Value>| Combination {
            program,
            architecture: architecture.clone(),
            poller: poller.map(|name| name.as_str().expect("a poller's name").to_owned()),
            ring: &[],
            row: row.clone(),
            is_alone: false,
        };
        match pollers.as_slice() {
            [] => all.push(chosen(None)),
            several => all.extend(several.iter().map(|poller| chosen(Some(poller)))),
        }
    }
    assert!(!all.is_empty(), "no architecture at all");
    all
}

/// Every way to have a ring.
pub(crate) fn combinations_of_rings(program: Program) -> Vec<Combination> {
    let all = combinations(program);
    let rings = all.iter().filter(|combination| combination.has("ring"));
    rings.flat_map(|of| RINGS.iter().map(|ring| Combination { ring, ..of.clone() })).collect()
}

/// Runs `test` for each way to have a ring, by every architecture that has one.
pub(crate) fn on_every_ring(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_of_rings(program), test)
}

/// Runs `test` for each way to have a ring, by one architecture and by some that are drawn.
pub(crate) fn on_rings(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    let all = combinations_of_rings(program);
    on_all(&chosen(all, |combination| combination.ring.join(" ")), test)
}

/// Runs `test` on one architecture for each mechanism, and on some that are drawn.
pub(crate) fn on_mechanisms(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&chosen(combinations(program), Combination::mechanism), test)
}

/// The same among those that the test is about.
pub(crate) fn on_mechanisms_where(
    program: Program,
    is_meant: impl Fn(&Combination) -> bool,
    test: impl Fn(&Combination) + Sync,
) -> usize {
    let mut all = combinations(program);
    all.retain(is_meant);
    on_all(&chosen(all, Combination::mechanism), test)
}

/// The same by one worker each, unless a test asks for more.
pub(crate) fn on_mechanisms_alone(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&chosen(combinations_alone(program), Combination::mechanism), test)
}

/// Runs `test` for each combination, several at the same time, and tells every failure.
pub(crate) fn on_every(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations(program), test)
}

/// The same where how a loop waits makes no difference.
pub(crate) fn on_every_architecture(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    let mut all = combinations(program);
    all.retain(Combination::has_usual_poller);
    on_all(&all, test)
}

/// The same with every poller.
pub(crate) fn on_every_poller(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_of_pollers(program), test)
}

/// The same by one worker each, unless a test asks for more.
pub(crate) fn on_every_alone(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_alone(program), test)
}

/// So many may begin yet, of all tests of a program that run at the same time.
static FREE: (Mutex<usize>, Condvar) = (Mutex::new(SERVERS_AT_ONCE_MAX), Condvar::new());

fn on_all(all: &[Combination], test: impl Fn(&Combination) + Sync) -> usize {
    // Many systems let a process begin with 1,024 descriptors, and permit more.
    let _ = os::limits::descriptors();
    let left = Mutex::new(all.iter());
    let next = || left.lock().expect("nobody panics here").next();
    let failed = Mutex::new(Vec::new());
    // The threads have the test's name, by which a skip is recorded.
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        for _ in 0..SERVERS_AT_ONCE_MAX.min(all.len()) {
            let thread = std::thread::Builder::new().name(name.clone());
            let spawned = thread.spawn_scoped(scope, || {
                while let Some(combination) = next() {
                    let (free, ended) = &FREE;
                    let places = free.lock().expect("a number");
                    *ended.wait_while(places, |free| *free == 0).expect("a number") -= 1;
                    let run = AssertUnwindSafe(|| test(combination));
                    if catch_unwind(run).is_err() {
                        failed.lock().expect("a list").push(combination.to_string());
                    }
                    *free.lock().expect("a number") += 1;
                    ended.notify_one();
                }
            });
            spawned.expect("a thread");
        }
    });
    let failed = failed.into_inner().expect("a list");
    assert!(failed.is_empty(), "failed on: {}", failed.join("; "));
    all.len()
}

impl Combination {
    /// The command that serves `root` in this way on a port of the kernel's choice.
    pub(crate) fn command(&self, root: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(self.program.path());
        command.args(self.arguments(root, flags));
        command
    }

    pub(crate) fn arguments(&self, root: &Path, flags: &[&str]) -> Vec<String> {
        let root = root.to_str().expect("a root in UTF-8");
        let mut all = vec!["serve", root, "--architecture", &self.architecture];
        if let Some(poller) = &self.poller {
            all.extend(["--poller", poller]);
        }
        all.extend(self.ring);
        all.extend(["--listen", "127.0.0.1:0"]);
        all.extend(flags);
        if self.is_reduced() && !flags.contains(&"--processes") {
            all.extend(["--processes", "1"]);
        }
        if !flags.contains(&"--drain-timeout-ms") {
            all.extend(["--drain-timeout-ms", LONG_MS]);
        }
        if self.has_load_delay() && !flags.contains(&"--load-delay-ms") {
            all.extend(["--load-delay-ms", LONG_MS]);
        }
        if !flags.contains(&"--admin") {
            // Many serve at the same time, and there is one default port.
            all.extend(["--admin", "off"]);
        }
        all.into_iter().map(str::to_owned).collect()
    }

    /// Whether loads may be refused because the disk is slow. Where a ring is forbidden another
    /// architecture serves, which may not take the knob.
    fn has_load_delay(&self) -> bool {
        let knobs = self.row["knobs"].as_array().into_iter().flatten();
        !self.has("ring") && knobs.into_iter().any(|knob| knob == "load-delay-ms")
    }

    /// What holds its connections, and what accepts them.
    pub(crate) fn mechanism(&self) -> String {
        format!("{} {}", self.row["holder"], self.row["accept"])
    }

    /// Whether it has epoll, if it asks a poller.
    pub(crate) fn has_usual_poller(&self) -> bool {
        self.poller.as_ref().is_none_or(|poller| poller == "epoll")
    }

    /// Whether it has several workers by default, and is to have one. Where each has one connection
    /// a pool of them is what others do alone.
    pub(crate) fn is_reduced(&self) -> bool {
        self.is_alone && self.row["workers"] != 1 && self.row["holder"] != "process"
    }

    /// Whether it takes a flag: `weir` says so, by not calling it wrong usage. No example does.
    pub(crate) fn takes(&self, flags: &[&str]) -> bool {
        let judged = Self { program: Program::Weir, ..self.clone() };
        let mut command = judged.command(Path::new("/no/such/directory"), flags);
        let (_, _, errors) = run(&mut command).expect("the binary runs");
        flags.iter().filter(|flag| flag.starts_with("--")).all(|name| !errors.contains(name))
    }

    /// Whether its ring is told so.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.ring.contains(&word)
    }

    /// Whether any step of a request is performed by such a one.
    pub(crate) fn has(&self, performer: &str) -> bool {
        STEPS.iter().any(|step| self.row[step] == performer)
    }

    pub(crate) fn start(&self, root: &Path, flags: &[&str]) -> Server {
        self.serve(self.command(root, flags), flags)
    }

    /// The same by a command of the caller's that has these flags.
    pub(crate) fn serve(&self, command: Command, flags: &[&str]) -> Server {
        let server = Server::start(command, self.program.key());
        if self.row["holder"] == "process" {
            self.await_all(&server, flags);
        }
        server
    }

    /// While few serve that have one connection each, whoever is idle goes for the next who comes.
    fn await_all(&self, server: &Server, flags: &[&str]) {
        let said = |knob: &str| {
            let at = flags.iter().position(|flag| *flag == knob)?;
            flags.get(at + 1)?.parse::<u64>().ok().filter(|number| *number > 0)
        };
        let most = said("--connections-max").unwrap_or(u64::MAX);
        let by_itself = self.row["workers"].as_u64().expect("a number of workers").min(most);
        let count = said("--processes").unwrap_or(by_itself) as usize;
        let serves = |pid: &u32| threads(*pid).iter().any(|(_, name)| name == "weir-process");
        let are_all = || workers_of(server.pid()).iter().filter(|pid| serves(pid)).count() == count;
        assert!(await_true(PATIENCE, are_all), "{self}: not {count} processes");
    }
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
        self.stdout.read_to_string(&mut said).expect("its output in UTF-8");
        said
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
fn address(line: &str) -> Option<SocketAddr> {
    let (_, after) = line.split_once("http://")?;
    let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
    after[..end].parse().ok()
}
