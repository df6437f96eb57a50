//! The processes of a subject, from /proc.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use measure::Duration;
use os::process::{Pid, cpu_time_of};

/// A process as /proc/PID/stat tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    parent: u32,
    pub(super) group: u32,
    /// It has ended, and its parent has not looked.
    pub(super) is_over: bool,
    /// Of children that have ended and were looked at.
    children_ticks: u64,
    /// In ticks since the machine started: with the number it names a process for ever.
    started: u64,
}

/// The kernel counts time for user programs in hundredths of a second, whatever its own clock
/// (USER_HZ).
const TICKS_PER_S: u64 = 100;

/// Who is a subject's beside those of its group and whoever descends from its first process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beside<'p> {
    /// Who was seen to be.
    Seen(&'p [Process]),
    /// Each child of this process that was not started before the subject: it has adopted who left
    /// the group and lost his parent, and has no others now.
    ChildrenOf(u32),
}

/// All processes of a subject but `guard`, and whom they have started. Those that have ended are
/// left out.
pub(super) fn family(leader: u32, guard: Option<u32>, beside: Beside<'_>) -> Vec<Process> {
    let all: Vec<Process> = pids().filter_map(of).collect();
    let first = all.iter().find(|process| process.pid == leader);
    let is_beside = |process: &Process| match beside {
        Beside::Seen(seen) => seen.iter().any(|of| of.is(process)),
        Beside::ChildrenOf(parent) => {
            process.parent == parent && first.is_some_and(|first| first.started <= process.started)
        }
    };
    let is_root = |process: &&Process| process.group == leader || is_beside(process);
    let roots = all.iter().filter(is_root).map(|process| process.pid);
    let mut known: HashSet<u32> = roots.chain([leader]).collect();
    // Each round finds the children of those before; a tree is not deeper than it has members.
    loop {
        let before = known.len();
        let belongs = |process: &&Process| known.contains(&process.parent);
        let found: Vec<u32> = all.iter().filter(belongs).map(|process| process.pid).collect();
        known.extend(found);
        if known.len() == before {
            break;
        }
    }
    let is_meant = |p: &Process| known.contains(&p.pid) && !p.is_over && Some(p.pid) != guard;
    all.into_iter().filter(is_meant).collect()
}

impl Process {
    /// Whether both are one, and not two that had the same number one after the other.
    fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

/// What is known of a process; `None`: there is none.
pub(super) fn of(pid: u32) -> Option<Process> {
    parsed(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether it is there yet: not ended, and not another one with its number.
pub(super) fn is_there(process: &Process) -> bool {
    of(process.pid).is_some_and(|now| now.is(process) && !now.is_over)
}

/// Whether it has a socket open.
pub(super) fn has_socket(pid: u32, inode: u64) -> bool {
    let name = format!("socket:[{inode}]");
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(&name)))
}

/// Who has a socket open, by name and number.
pub(super) fn owner(inode: u64) -> Option<String> {
    let pid = pids().find(|&pid| has_socket(pid, inode))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} (process {pid})", name.trim()))
}

/// For how long it has run, with what its children did that are gone.
pub(super) fn cpu_time(process: &Process) -> Duration {
    let own = Pid::new(process.pid).and_then(|pid| cpu_time_of(pid).ok()).unwrap_or_default();
    own + Duration::from_millis(process.children_ticks * (1000 / TICKS_PER_S))
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// See proc_pid_stat(5). The name stands in parentheses and may have any character in it.
fn parsed(pid: u32, stat: &str) -> Option<Process> {
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.trim_start().split(' ').collect();
    // The first field after the name is the third in the manual.
    let number = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: u32::try_from(number(4)?).ok()?,
        group: u32::try_from(number(5)?).ok()?,
        is_over: matches!(*fields.first()?, "Z" | "X"),
        children_ticks: number(16)? + number(17)?,
        started: number(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) Z) S 3 5 5 0 -1 4194560 1 0 0 0 11 12 13 14 20 0 1 0 99 0 0";
        let expected = Process {
            pid: 7,
            parent: 3,
            group: 5,
            is_over: false,
            children_ticks: 27,
            started: 99,
        };
        assert_eq!(parsed(7, stat), Some(expected));
        for bad in ["", "7 (a", "7 (a) S", "7 (a) S x 5"] {
            assert_eq!(parsed(7, bad), None, "{bad}");
        }
    }

    #[test]
    fn this_process_is_seen() {
        let pid = std::process::id();
        let own = of(pid).unwrap();
        assert!(is_there(&own));
        assert!(!is_there(&Process { started: own.started + 1, ..own }));
        assert!(cpu_time(&own) > Duration::ZERO);
    }
}
