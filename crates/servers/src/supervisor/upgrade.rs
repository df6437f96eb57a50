//! Upgrade: another program, mostly a newer version of this one, takes over the listening sockets.
//!
//! It is started as a child that inherits them, with a line in its environment that says which is
//! which. When its workers are ready it says so, and only then the program that started it retires;
//! if it ends before that nothing has changed.

use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use measure::Instant;
use os::notify::State;
use os::process::{self, Pid};
use os::{Address, Listener, PidFile, Signal, Wake};

use super::{Program, Supervisor, tell};
use crate::shared::server::Server;

/// The process that hands over, the descriptor that wakes it, then descriptor and address of each
/// socket; a line for each.
const VARIABLE: &str = "WEIR_UPGRADE";

/// Before the address of the socket where the operator is answered.
const ADMIN: &str = "admin ";

/// Before the number of a socket behind the first at an address.
const QUEUE: &str = "queue ";

/// Before device and inode of the file of a Unix socket, which stand before the marks above.
const FILE: &str = "file ";

/// Before the path of the file with this process's number.
const PID_FILE: &str = "pid-file ";

/// Another program on its way.
pub(crate) struct Upgrade {
    pub(crate) pid: Pid,
    pub(crate) started: Instant,
    /// Logs were ordered to be opened again; it may have opened them before.
    pub(crate) misses_logs: bool,
    ready: Wake,
}

/// What this program was handed.
pub(crate) struct Inheritance {
    ready: Wake,
    listeners: Vec<Inherited>,
    /// Where the operator is answered.
    admin: Option<Inherited>,
    pid_file: Option<(PathBuf, RawFd)>,
}

/// A listening socket.
struct Inherited {
    address: Address,
    /// At one address there may be several: how many began to listen before it.
    queue: usize,
    number: RawFd,
    /// Device and inode of a Unix socket's file.
    file: Option<(u64, u64)>,
}

/// Where this program lies, by the name that it was called by: where that is a link, it may lead to
/// another version by the time of an upgrade.
///
/// # Errors
/// There is no /proc.
pub(crate) fn executable() -> io::Result<PathBuf> {
    let executable = std::env::current_exe()?;
    let Some(name) = std::env::args_os().next() else { return Ok(executable) };
    let is_path = Path::new(&name).components().count() > 1;
    let path = std::env::var_os("PATH").filter(|_| !is_path).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(&name));
    let called = found.chain(is_path.then(|| std::path::absolute(&name)).transpose()?);
    let is_this = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == executable);
    Ok({ called }.find(is_this).unwrap_or(executable))
}

impl Upgrade {
    /// Starts `program` with the arguments of this one.
    ///
    /// # Errors
    /// There is no such program, it is none, or the machine refuses.
    pub(crate) fn begin(
        program: &Path,
        server: &Server,
        admin: Option<(Address, &Arc<Listener>)>,
        pid_file: Option<&PidFile>,
    ) -> io::Result<Self> {
        let ready = Wake::new()?;
        let mut text = format!("{}\n{}\n", process::id(), ready.number());
        let mut kept = vec![ready.as_fd_ref()];
        let site = server.settings.listen.iter().enumerate().flat_map(|(at, address)| {
            // One that was stopped could not be taken over.
            let all = server.listeners.at(at).filter(|listener| listener.listens()).enumerate();
            let mark = |n| if n == 0 { String::new() } else { format!("{QUEUE}{n} ") };
            all.map(move |(n, listener)| (mark(n), address.clone(), listener))
        });
        let admin = admin.map(|(address, listener)| (String::from(ADMIN), address, listener));
        for (mark, address, listener) in site.chain(admin) {
            let file = listener.file_identity();
            let file =
                file.map_or_else(String::new, |(device, inode)| format!("{FILE}{device} {inode} "));
            text.push_str(&format!("{} {file}{mark}{address}\n", listener.number()));
            kept.push(listener.as_fd_ref());
        }
        // A line of its own for each: a path with an end of a line in it is not handed on.
        let is_line =
            |file: &&PidFile| file.path().to_str().is_some_and(|path| !path.contains('\n'));
        if let Some(file) = pid_file.filter(is_line) {
            text.push_str(&format!("{} {PID_FILE}{}\n", file.number(), file.path().display()));
            kept.push(file.as_fd_ref());
        }
        let arguments = std::env::args_os().skip(1);
        let pid = process::spawn(program, arguments, (VARIABLE, &text), &kept)?;
        Ok(Self { pid, started: os::clock::monotonic(), misses_logs: false, ready })
    }

    /// It is not to serve, while this program goes on. At once: if it became ready just now it
    /// would, in good order, stop listening on the sockets of both.
    pub(crate) fn give_up(&self) {
        // One that cannot be killed has ended, and is buried like a worker.
        let _ = process::kill(self.pid);
    }

    /// Lets it know of a signal.
    pub(crate) fn pass_on(&self, signal: Signal) {
        // As above.
        let _ = process::signal(self.pid, signal);
    }

    /// It serves: the file with a number is left to it if that is its own.
    pub(crate) fn take_number(&self, file: PidFile) {
        if file.is_of(self.pid) {
            file.hand_on();
        }
    }

    /// Whether it serves.
    pub(crate) fn is_ready(&self) -> bool {
        let now = Some(measure::Duration::ZERO);
        os::wait_readable([self.ready.as_fd_ref()], now).is_ok_and(|ready| ready[0])
    }
}

impl Inheritance {
    /// What the environment says, if it was meant for this process.
    pub(crate) fn take() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let mut lines = text.lines();
        if lines.next()?.parse() != Ok(process::parent()) {
            return None;
        }
        let ready = Wake::take_over(lines.next()?.parse().ok()?).ok()?;
        let (mut listeners, mut admin, mut pid_file) = (Vec::new(), None, None);
        for line in lines {
            let (number, said) = line.split_once(' ')?;
            let number = number.parse().ok()?;
            let (file, said) = file_of(said)?;
            if let Some(address) = said.strip_prefix(ADMIN) {
                let (address, queue) = (address.parse().ok()?, 0);
                admin = Some(Inherited { address, queue, number, file });
            } else if let Some(path) = said.strip_prefix(PID_FILE) {
                pid_file = Some((path.into(), number));
            } else {
                let (queue, address) = match said.strip_prefix(QUEUE) {
                    Some(said) => said.split_once(' ')?,
                    None => ("0", said),
                };
                let (queue, address) = (queue.parse().ok()?, address.parse().ok()?);
                listeners.push(Inherited { address, queue, number, file });
            }
        }
        Some(Self { ready, listeners, admin, pid_file })
    }

    /// The sockets that listen there, if they were handed over: of those that are named alike the
    /// ones behind so many others.
    pub(crate) fn listeners(
        &self,
        address: &Address,
        others: usize,
    ) -> io::Result<Vec<Arc<Listener>>> {
        let mut firsts = 0;
        let are_these = |known: &&Inherited| {
            let is_there = known.address.is_same_place(address);
            firsts += usize::from(is_there && known.queue == 0);
            is_there && firsts == others + 1
        };
        let these = self.listeners.iter().filter(are_these);
        these.map(taken_over).collect()
    }

    /// The same of where the operator is answered.
    pub(crate) fn admin(&self, address: &Address) -> Option<io::Result<Arc<Listener>>> {
        let admin = self.admin.iter().find(|known| known.address.is_same_place(address));
        admin.map(taken_over)
    }

    /// All addresses, as the program before this one had them.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().chain(&self.admin).map(|known| known.address.clone()).collect()
    }

    /// The file that has the number of who hands over, if it is that one; else whoever hands over
    /// takes it away.
    pub(crate) fn pid_file(&self, path: &Path) -> Option<io::Result<PidFile>> {
        let path = std::path::absolute(path).ok()?;
        let (known, number) = self.pid_file.as_ref()?;
        (*known == path).then(|| PidFile::take_over(*number, known))
    }

    /// The sockets that a service manager handed to the program before this one.
    pub(crate) fn handed_over(&self) -> Vec<Address> {
        let all = self.listeners.iter().map(|known| &known.address);
        all.filter(|address| matches!(address, Address::Fd(_))).cloned().collect()
    }

    /// Tells whoever handed over that this program serves. Where it does not listen any more
    /// nobody does: the kernel would otherwise go on queueing clients there.
    pub(crate) fn ready(self) {
        let all = self.listeners.iter().chain(&self.admin);
        // What this program uses was taken over before and is not taken over twice.
        for listener in all.filter(|known| !known.is_lent()).filter_map(|own| taken_over(own).ok())
        {
            let _ = listener.stop();
            listener.remove_file();
        }
        self.ready.wake();
    }
}

impl Inherited {
    /// Whether it is a service manager's, and stays so.
    const fn is_lent(&self) -> bool {
        matches!(self.address, Address::Fd(_))
    }
}

fn taken_over(known: &Inherited) -> io::Result<Arc<Listener>> {
    if known.is_lent() {
        return Listener::bind(&Address::Fd(known.number), u32::MAX).map(Arc::new);
    }
    let listener = Listener::take_over(known.number)?;
    Ok(Arc::new(match (&known.address, known.file) {
        (Address::Unix(unix), Some(identity)) => listener.with_file(&unix.path, identity),
        _ => listener,
    }))
}

/// Device and inode at the beginning of what is said of a socket, and the rest.
fn file_of(said: &str) -> Option<(Option<(u64, u64)>, &str)> {
    let Some(said) = said.strip_prefix(FILE) else { return Some((None, said)) };
    let (device, said) = said.split_once(' ')?;
    let (inode, said) = said.split_once(' ')?;
    Some((Some((device.parse().ok()?, inode.parse().ok()?)), said))
}

impl Supervisor<'_> {
    /// Starts the program that lies where this one did.
    pub(super) fn begin_upgrade(&mut self, program: &mut Program<'_>) {
        if process::id() == 1 {
            let why =
                "the first process of a container cannot be replaced; start another container";
            return program.voice.complain(&format!("not upgraded: {why}"));
        }
        let Some(serving) = self.serving() else { return };
        let admin = self.admin.listener(&serving.server.settings);
        match Upgrade::begin(&self.executable, &serving.server, admin, self.pid_file.as_ref()) {
            Ok(upgrade) => self.upgrade = Some(upgrade),
            Err(e) => {
                let what = self.executable.display();
                program.voice.complain(&format!("not upgraded: {what} cannot be started: {e}"));
            }
        }
    }

    /// Another program serves. What was asked for meanwhile is asked of it: it has perhaps read
    /// its settings, or opened its logs, before.
    pub(super) fn hand_on(&mut self, program: &mut Program<'_>) {
        let Some(upgrade) = self.upgrade.take() else { return };
        tell(State::Replaced(upgrade.pid));
        let pid = upgrade.pid;
        program.voice.tell(&format!("process {pid} serves in its place; this one retires"));
        self.admin.hand_on();
        if let Some(file) = self.pid_file.take() {
            upgrade.take_number(file);
        }
        let missed = [
            (self.wants_reload, Signal::Hup),
            (self.wants_upgrade, Signal::Usr2),
            (upgrade.misses_logs, Signal::Usr1),
        ];
        let missed = missed.into_iter().filter(|(is_missed, _)| *is_missed);
        missed.for_each(|(_, signal)| upgrade.pass_on(signal));
    }
}
