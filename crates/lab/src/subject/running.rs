//! A subject that runs, from its start to its end.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use measure::Duration;
use os::Signal;
use os::process::{self, Pid};

use super::processes::{self, Beside, Process};
use super::said::Said;
use super::{Kind, Launch, Start, Subject, listening, read_back, weir};
use crate::Failure;

/// How long a subject may take until it listens: longer than any of them needs on a busy machine.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// A subject that listens may still start processes, threads or what its language brings along,
/// which would be held against its first clients. So it is waited for until it rests: it uses less
/// than a twentieth of a processor from one look to the next.
const RESTS_LOOK: Duration = Duration::from_millis(20);
const RESTS_SHARE: u32 = 20;
/// One that never rests is measured as it is.
const RESTS_PATIENCE: Duration = Duration::from_secs(1);
/// How long it may take to end once it is asked to, before it is made to: what is to be known of it
/// is known then, and who waits for connections that clients have left open waits for nobody.
const STOP_PATIENCE: Duration = Duration::from_millis(100);
/// How long the last words of one that has ended may be on their way.
const WORDS_PATIENCE: Duration = Duration::from_secs(1);
/// How long the kernel may take to end who was killed: it may have to wait for a disk.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether a process is left: each time all that are found are ended, so
/// that only those are left whose parent was just starting them.
const ROUNDS_MAX: usize = 8;
/// Between two looks at a subject: short beside what it takes to start one.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A subject that listens. Dropped, it is ended at once with all its processes; they end, too, when
/// the lab itself is killed.
#[derive(Debug)]
pub struct Running {
    name: String,
    launch: Launch,
    /// The first of its processes, which leads their group. Nobody waits for it before the end, so
    /// that its number stays its own.
    child: Child,
    leader: Pid,
    leash: Option<Child>,
    /// Who was its when it began to listen: they stay so, wherever they go.
    seen: Vec<Process>,
    said: Said,
    /// All of them are asked to end, not only the first.
    is_shell: bool,
    /// Where it tells what it counts, if it does.
    admin: Option<PathBuf>,
}

/// Why a subject does not listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotStarted {
    /// It ended before it did, or did not in time: with its last words.
    Itself(String),
    /// The lab or the machine could not start it, or its address is somebody else's.
    Prevented(Failure),
}

impl Running {
    /// Starts a subject and waits until it listens, and has nothing to do. The calling thread has
    /// to live for as long as the subject is to: see [`os::placement::Placement::command`].
    ///
    /// # Errors
    /// As [`Subject::launch`]; the program cannot be started there; it ends, or does not listen in
    /// time; its address is taken.
    pub fn start(subject: &Subject, start: &Start<'_>) -> Result<Self, NotStarted> {
        let name = subject.to_string();
        let kind = subject.kind()?;
        let launch = subject.launch(start)?;
        // Inherited: as many descriptors as this machine allows.
        let _ = os::limits::descriptors();
        let fault = |error: io::Error| {
            Failure::machine(format_args!("{subject} ({})", launch.program.display()), error)
        };
        let (said, into) = Said::new().map_err(fault)?;
        let mut command = start.host.placement.command(&launch.program).map_err(fault)?;
        command.args(&launch.arguments).envs(launch.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(into.try_clone().map_err(fault)?).stderr(into);
        let child = command.spawn().map_err(fault)?;
        // What the command holds of the pipe has to go, or its end would never be heard.
        drop(command);
        let leader = Pid::new(child.id()).ok_or(io::ErrorKind::InvalidData.into());
        let mut running = Self {
            leader: leader.map_err(fault)?,
            leash: leash(child.id()).ok(),
            child,
            seen: Vec::new(),
            said,
            is_shell: matches!(kind, Kind::Command),
            admin: matches!(kind, Kind::Weir(_)).then(|| weir::admin(start.scratch)),
            name,
            launch,
        };
        running.await_listening(start)?;
        running.await_rest();
        running.seen = running.all();
        Ok(running)
    }

    fn await_listening(&self, start: &Start<'_>) -> Result<(), NotStarted> {
        let listens = await_true(START_PATIENCE, || match self.listens(start) {
            Ok(false) => None,
            told => Some(told.map(|_| ())),
        });
        listens.unwrap_or_else(|| {
            let (name, address, words) = (&self.name, start.address, self.last_words());
            let seconds = START_PATIENCE.as_secs();
            Err(NotStarted::Itself(format!(
                "{name} did not listen on {address} within {seconds} s: {words}"
            )))
        })
    }

    /// Whether it listens, and is ready where it can say so; or why it never will.
    fn listens(&self, start: &Start<'_>) -> Result<bool, NotStarted> {
        let (name, address) = (&self.name, start.address);
        let (listens, mut foreign) = self.look(start)?;
        if foreign.is_some() {
            // A socket of its own may have come, or gone, between the parts of one look.
            foreign = self.look(start)?.1.filter(|again| foreign == Some(*again));
        }
        if let Some(foreign) = foreign {
            let by = processes::owner(foreign).unwrap_or_else(|| String::from("another program"));
            return Err(Failure::Machine(format!("{name}: {address} is taken by {by}")).into());
        }
        if !self.is_alive() {
            let words = self.last_words();
            let ended = format!("{name} ended before it listened on {address}: {words}");
            return Err(NotStarted::Itself(ended));
        }
        Ok(listens && self.admin.as_ref().is_none_or(|admin| weir::is_ready(admin)))
    }

    fn await_rest(&self) {
        // Those that are its own and have left its group are not known yet.
        let used = || -> Duration { self.all().iter().map(processes::cpu_time).sum() };
        let mut before = used();
        let begun = os::clock::monotonic();
        while os::clock::monotonic() - begun < RESTS_PATIENCE {
            let looked = os::clock::monotonic();
            thread::sleep(RESTS_LOOK);
            let now = used();
            if now.saturating_sub(before) * RESTS_SHARE < os::clock::monotonic() - looked {
                break;
            }
            before = now;
        }
    }

    /// Whether it has a socket that listens there, and the inode of another process's that does.
    fn look(&self, start: &Start<'_>) -> Result<(bool, Option<u64>), Failure> {
        let sockets = listening::listeners(start.host, start.address).map_err(|error| {
            Failure::machine("the kernel does not tell which sockets listen (tcp_diag)", error)
        })?;
        let inodes = sockets.iter().map(|socket| u64::from(socket.inode));
        let pids: Vec<u32> = self.all().iter().map(|process| process.pid).collect();
        let is_own = |inode: &u64| pids.iter().any(|&pid| processes::has_socket(pid, *inode));
        let (own, foreign): (Vec<u64>, Vec<u64>) = inodes.partition(is_own);
        Ok((!own.is_empty(), foreign.first().copied()))
    }

    /// Of each knob that it has not taken, as far as that can be seen, what it is and what it was
    /// to be.
    #[must_use]
    pub fn ignored(&self, subject: &Subject, start: &Start<'_>) -> Vec<String> {
        let own = self.admin.as_ref().map(|admin| weir::ignored(admin, &subject.knobs));
        let sockets = listening::listeners(start.host, start.address).unwrap_or_default();
        let backlog = read_back::backlog(subject, start.host, &sockets);
        own.into_iter().flatten().chain(backlog).collect()
    }

    /// How it was started.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The numbers of all its processes: those of its group, those that were its when it began to
    /// listen, and all that descend from them.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.family().iter().map(|process| process.pid).collect()
    }

    /// What it counts itself; nothing, unless it is Weir: then every counter of
    /// [`servers::counters::COUNTERS`] by its name, summed over the workers, and beside them
    /// `workers`, `connections_max`, `listen_queue`, `listen_drops`, `kernel_listen_overflows` and
    /// `kernel_listen_drops`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn counters(&self) -> Result<BTreeMap<String, f64>, Failure> {
        let counters = self.admin.as_deref().map(weir::counters);
        counters.unwrap_or_else(|| Ok(BTreeMap::new()))
    }

    /// Whether its first process is there.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        processes::of(self.child.id()).is_some_and(|process| !process.is_over)
    }

    /// What it said last, in one line.
    #[must_use]
    pub fn last_words(&self) -> String {
        if !self.is_alive() {
            // What it has written is on its way.
            await_true(WORDS_PATIENCE, || self.said.is_over().then_some(()));
        }
        self.said.last_words().unwrap_or_else(|| String::from("it said nothing"))
    }

    /// Asks it to end, and makes it end if it does not.
    pub fn stop(self) {
        // It may have ended by itself.
        let _ = match self.is_shell {
            true => process::signal_group(self.leader, Signal::Term),
            false => process::signal(self.leader, Signal::Term),
        };
        await_true(STOP_PATIENCE, || (!self.is_alive()).then_some(()));
    }

    fn family(&self) -> Vec<Process> {
        self.family_with(Beside::Seen(&self.seen))
    }

    /// With those that have left its group and lost their parent, which only who adopts them finds;
    /// to be asked while nobody else is started.
    fn all(&self) -> Vec<Process> {
        match process::adopts_orphans() {
            true => self.family_with(Beside::ChildrenOf(process::id())),
            false => self.family(),
        }
    }

    fn family_with(&self, beside: Beside<'_>) -> Vec<Process> {
        processes::family(self.child.id(), self.leash.as_ref().map(Child::id), beside)
    }

    /// Ends all of it but the first process, as long as somebody is found: those whose parent is
    /// ended become children of this process.
    fn end_strays(&self) {
        for _ in 0..ROUNDS_MAX {
            let mut strays = self.all();
            strays.retain(|stray| stray.pid != self.child.id());
            if strays.is_empty() {
                return;
            }
            let pids = || strays.iter().filter_map(|stray| Some((stray, Pid::new(stray.pid)?)));
            for (_, pid) in pids().filter(|(stray, _)| processes::is_there(stray)) {
                // It may have ended meanwhile.
                let _ = process::kill(pid);
            }
            await_true(KILL_PATIENCE, || (!strays.iter().any(processes::is_there)).then_some(()));
            // Those whose own parent did not look: whoever buries them is told what they have used.
            for (_, pid) in pids() {
                let _ = process::wait_exited(pid);
            }
        }
    }
}

impl From<Failure> for NotStarted {
    fn from(failure: Failure) -> Self {
        Self::Prevented(failure)
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Itself(why) => f.write_str(why),
            Self::Prevented(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for NotStarted {}

impl Drop for Running {
    fn drop(&mut self) {
        // The first process may have ended, but it was not waited for: the group is still its own.
        let _ = process::kill_group(self.leader);
        self.end_strays();
        for child in [Some(&mut self.child), self.leash.as_mut()].into_iter().flatten() {
            await_true(KILL_PATIENCE, || child.try_wait().transpose());
        }
        let _ = process::wait_group_exited(self.leader);
        if process::adopts_orphans() {
            // Who had left the group and has ended by himself.
            while let Ok(Some(_)) = process::wait_any_exited() {}
        }
    }
}

/// Ends a group when this process ends, however it does: the kernel does that for the first process
/// alone, and its workers would go on.
fn leash(group: u32) -> io::Result<Child> {
    // It reads of a pipe whose other end is nobody's but ours.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read gone; kill -KILL 0"]).process_group(group.cast_signed());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Asks again and again until there is an answer, the last time when `patience` is over.
fn await_true<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = os::clock::monotonic();
    loop {
        let is_last = os::clock::monotonic() - begun > patience;
        let answer = ask();
        if answer.is_some() || is_last {
            return answer;
        }
        thread::sleep(LOOK_EVERY);
    }
}
