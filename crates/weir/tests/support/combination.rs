//! What serves in a test, and in which way: an architecture with its choices.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::command::run;
use super::examples::example;
use super::processes::{threads, workers_of};
use super::server::Server;
use super::{PATIENCE, await_true};

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
    /// The flags of a ring that is not as it is by default.
    pub(crate) ring: &'static [&'static str],
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

    /// What holds its connections, what accepts them, and whether workers share their cache.
    pub(crate) fn mechanism(&self) -> String {
        format!("{} {} {}", self.row["holder"], self.row["accept"], self.row["kept"])
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

    /// Whether it takes the flags with these values. `weir` says so: it calls one that it does not
    /// take wrong usage. The examples take the same and do not say.
    pub(crate) fn takes(&self, flags: &[&str]) -> bool {
        let judged = Self { program: Program::Weir, ..self.clone() };
        let mut command = judged.command(Path::new("/no/such/directory"), flags);
        let (_, _, errors) = run(&mut command).expect("the binary runs");
        let named = |name: &&&str| name.starts_with("--") && errors.contains(**name);
        let Some(name) = flags.iter().find(named) else { return true };
        let is_refused = errors.contains(&format!("{name}: {} ", self.architecture));
        assert!(is_refused, "{self}: {flags:?}: not refused by the architecture: {errors}");
        false
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

    /// Waits until all processes serve. While only a few do, an idle connection is evicted for the
    /// next client.
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

/// Whether a sandbox, a limit or the kernel forbids rings. If so, records that the calling test is
/// skipped on the architectures that have one.
#[track_caller]
pub(crate) fn lacks_rings() -> bool {
    let refusal = os::ring::probe().err();
    if let Some(error) = &refusal {
        harness::skip(format!("needs io_uring on the architectures that have a ring: {error}"));
    }
    refusal.is_some()
}

/// Every architecture with every poller. Without rings another architecture would serve in place
/// of those that have one, so these are left out.
pub(crate) fn combinations_of_pollers(program: Program) -> Vec<Combination> {
    let mut list = Command::new(Program::Weir.path());
    list.args(["serve", "--list-architectures", "--json"]);
    let (status, rows, errors) = run(&mut list).expect("the binary runs");
    assert_eq!(status, Some(0), "--list-architectures: {errors}");
    let rows: Vec<Value> = serde_json::from_str(&rows).expect("a list in JSON");
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
    if all.iter().any(|combination| combination.has("ring")) && lacks_rings() {
        all.retain(|combination| !combination.has("ring"));
    }
    all
}

/// Every way to have a ring.
pub(crate) fn combinations_of_rings(program: Program) -> Vec<Combination> {
    let all = combinations(program);
    let rings = all.iter().filter(|combination| combination.has("ring"));
    rings.flat_map(|of| RINGS.iter().map(|ring| Combination { ring, ..of.clone() })).collect()
}
