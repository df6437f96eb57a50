//! What /proc tells of a running server: its workers, their threads, time and sockets.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;

use os::socket_diag;
use rustix::process::Signal;

use super::server::send;
use super::{PATIENCE, await_true};

/// The processes that `parent` started, in order.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let lists = threads(parent).into_iter().filter_map(|(tid, _)| {
        fs::read_to_string(format!("/proc/{parent}/task/{tid}/children")).ok()
    });
    let lists: Vec<String> = lists.collect();
    let is_told = !lists.is_empty() || !is_there(parent);
    assert!(is_told, "the kernel has no CONFIG_PROC_CHILDREN");
    let pids = lists.iter().flat_map(|list| list.split(' ')).filter_map(|pid| pid.parse().ok());
    let mut all: Vec<u32> = pids.filter(|pid| is_there(*pid)).collect();
    all.sort_unstable();
    all
}

/// The workers of a server, in order: a keeper is none, those that it has started are. Who has no
/// name yet is no worker yet: a keeper that was just started would be taken for one.
pub(crate) fn workers_of(server: u32) -> Vec<u32> {
    let workers = |pid| if name(pid) == "weir-keeper" { children(pid) } else { vec![pid] };
    let mut all: Vec<u32> = children(server).into_iter().flat_map(workers).collect();
    all.retain(|pid| name(*pid).starts_with("weir-"));
    all.sort_unstable();
    all
}

/// The programs that a server has started to follow it: whoever is neither worker nor keeper.
pub(crate) fn followers_of(server: u32) -> Vec<u32> {
    let mut all = children(server);
    all.retain(|pid| !name(*pid).starts_with("weir-"));
    all
}

fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map_or(String::new(), |name| name.trim_end().to_owned())
}

/// The processes that `ancestor` started, and those that they started, in order.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut all = children(ancestor);
    let mut looked_at = 0;
    while let Some(parent) = all.get(looked_at).copied() {
        all.extend(children(parent));
        looked_at += 1;
    }
    all.sort_unstable();
    all
}

/// Whether a process stands still.
pub(crate) fn stands_still(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state == 'T')
}

/// Whether a process runs.
pub(crate) fn is_there(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z')
}

/// Lets a process stand still, and waits until every thread of it does.
pub(crate) fn stop(pid: u32) {
    send(pid, Signal::STOP);
    assert!(await_true(PATIENCE, || are_all(pid, 'T')), "process {pid} does not stop");
}

/// Waits until every thread of a server's workers sleeps, so that what has arrived was processed.
pub(crate) fn await_looked_at(server: u32) {
    let all = || workers_of(server).into_iter().all(|pid| are_all(pid, 'S'));
    assert!(await_true(PATIENCE, all), "the workers of {server} do not come to rest");
}

/// Whether that is the state of every thread of a process.
fn are_all(pid: u32, wanted: char) -> bool {
    let is = |tid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"));
        text.is_ok_and(|text| state(&text) == Some(wanted))
    };
    threads(pid).into_iter().all(|(tid, _)| is(tid))
}

/// Memory of a process that is in RAM.
pub(crate) fn resident_kb(pid: u32) -> u64 {
    status_kb(pid, "VmRSS:")
}

/// Of that what is no file's, and is shared with nobody.
pub(crate) fn anonymous_kb(pid: u32) -> u64 {
    status_kb(pid, "RssAnon:")
}

fn status_kb(pid: u32, what: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix(what));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.parse().ok()).expect("a number of KB")
}

/// Clock ticks that these processes have run, in user and system mode.
pub(crate) fn ticks(pids: &[u32]) -> u64 {
    pids.iter().filter_map(|pid| stat(*pid)).map(|stat| stat.ticks).sum()
}

/// Time that the machine's processors have had since it started, in clock ticks (proc_stat(5)).
pub(crate) struct ProcessorTime {
    idle: u64,
    all: u64,
}

impl ProcessorTime {
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").expect("/proc");
        let line = text.lines().next().expect("the line of all processors");
        // user, nice, system, idle, iowait, irq, softirq and steal; guests are part of user.
        let ticks = line.split_whitespace().skip(1).take(8).map(|word| word.parse::<u64>());
        let ticks: Vec<u64> = ticks.map(|ticks| ticks.expect("a number")).collect();
        Self { idle: ticks[3] + ticks[4], all: ticks.iter().sum() }
    }

    /// The share of the processors that was idle since then, from 0.0 to 1.0.
    pub(crate) fn idle_share_since(&self, then: &Self) -> f64 {
        // The kernel may take back time that it had counted as waiting for a disk.
        let [idle, all] = [(self.idle, then.idle), (self.all, then.all)]
            .map(|(now, then)| now.saturating_sub(then));
        idle as f64 / all.max(1) as f64
    }
}

/// The threads of a process, as (number, name).
pub(crate) fn threads(pid: u32) -> Vec<(u32, String)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|tid: u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
            Some((tid, name.trim_end().to_owned()))
        })
        .collect()
}

/// How far a thread stands back for others, from -20 to 19; none: it is gone.
pub(crate) fn niceness(pid: u32, tid: u32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    text[text.rfind(')')? + 1..].split_whitespace().nth(16)?.parse().ok()
}

const LOOKS: u32 = 20;

/// The inode numbers of the sockets that a process holds open, those of its rings among them.
pub(crate) fn sockets(pid: u32) -> HashSet<u32> {
    let entries = |of: &str| {
        let entries = fs::read_dir(format!("/proc/{pid}/{of}")).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let inode = |text: &str| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    let descriptors = entries("fd").filter_map(|path| inode(fs::read_link(path).ok()?.to_str()?));
    // Of a ring the kernel lists the slots that are taken, each as "SLOT: NAME", if it is not
    // entered just then: one look may see none.
    let looks = (0..LOOKS).flat_map(|_| entries("fdinfo"));
    let slots = looks.filter_map(|path| fs::read_to_string(path).ok()).flat_map(|info| {
        let names = info.lines().filter_map(|line| inode(line.rsplit_once(' ')?.1));
        names.collect::<Vec<_>>()
    });
    descriptors.chain(slots).collect()
}

/// What each descriptor of a process stands for, by number.
pub(crate) fn descriptors(pid: u32) -> BTreeMap<u32, String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let told = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let number = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, fs::read_link(path).ok()?.to_string_lossy().into_owned()))
    });
    told.collect()
}

/// The kernel's numbers of the eventfds that a process holds open.
pub(crate) fn eventfds(pid: u32) -> HashSet<u64> {
    let info = |fd: u32| fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok();
    let id = |info: String| {
        let line = info.lines().find_map(|line| line.strip_prefix("eventfd-id:"));
        line?.trim().parse().ok()
    };
    descriptors(pid).into_keys().filter_map(|fd| id(info(fd)?)).collect()
}

/// The inode number of the server's end of a connection, while it exists: 0 once the server has
/// closed it.
pub(crate) fn server_end(server: SocketAddr, client: SocketAddr) -> Option<u32> {
    match socket_diag::end_of(server, client) {
        Ok(end) => Some(end.inode),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("the kernel does not tell of {client}: {error}"),
    }
}

/// The inode numbers of the sockets that listen on a port.
pub(crate) fn listeners(at: SocketAddr) -> HashSet<u32> {
    let all = socket_diag::listening().expect("the kernel tells who listens");
    all.iter().filter(|socket| socket.at.port() == at.port()).map(|socket| socket.inode).collect()
}

struct Stat {
    state: char,
    ticks: u64,
}

/// See proc_pid_stat(5); the name in parentheses may hold anything.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let columns: Vec<&str> = text[text.rfind(')')? + 1..].trim_start().split(' ').collect();
    let number = |at: usize| columns.get(at)?.parse::<u64>().ok();
    Some(Stat { state: state(&text)?, ticks: number(11)? + number(12)? })
}

fn state(stat: &str) -> Option<char> {
    stat[stat.rfind(')')? + 1..].trim_start().chars().next()
}
