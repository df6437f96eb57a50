//! Every process of the machine and what it has used, so that nobody's work is taken for another's.
//! What the server has used its control group tells better, where it has one.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use super::processors::TICK_US;
use super::{Others, Processors, Watch, columns};
use crate::Failure;

/// All processes at one time.
#[derive(Debug, Default)]
pub(super) struct Everybody {
    by_pid: HashMap<u32, Process>,
    /// Those of the server's control groups: they stay so, whatever becomes of their parents.
    in_groups: HashSet<u32>,
}

/// From /proc/PID/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    is_kernel: bool,
    used: Used,
    /// The same without its children.
    own_us: u64,
}

/// Processor time; that of children that have ended and were waited for included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    pub(super) user_us: u64,
    pub(super) system_us: u64,
}

/// By whom processors were used between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) server: Used,
    pub(super) client: Used,
    kernel: Used,
    foreign: Used,
}

/// To whom a process belongs: to those named on a side, and to whoever has started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Server,
    Client,
    Kernel,
    Foreign,
}

impl Everybody {
    /// `groups`: the server's.
    pub(super) fn read(groups: &[PathBuf]) -> Result<Self, Failure> {
        let entries = fs::read_dir("/proc").map_err(|e| Failure::machine("/proc", e))?;
        let mut by_pid = HashMap::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            // It may have ended since it was listed.
            let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
            by_pid.extend(parse(&text).map(|process| (pid, process)));
        }
        let members = groups.iter().filter_map(|group| {
            let text = fs::read_to_string(group.join("cgroup.procs")).ok()?;
            Some(text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>())
        });
        Ok(Self { by_pid, in_groups: members.flatten().collect() })
    }

    /// The processes of `owner`.
    pub(super) fn members(&self, watch: &Watch, owner: Owner) -> Vec<u32> {
        let pids = self.by_pid.keys().copied();
        pids.filter(|pid| self.owner(*pid, watch) == owner).collect()
    }

    /// What was used since. Of a process that has ended, what it had used before is taken off what
    /// its parent shows once it has been waited for: so sums are right though nobody saw it end.
    pub(super) fn since(&self, earlier: &Self, watch: &Watch) -> Usage {
        let mut now = [Used::default(); 4];
        let mut then = [Used::default(); 4];
        for (pid, process) in &self.by_pid {
            now[self.owner(*pid, watch) as usize].add(process.used);
        }
        for (pid, process) in &earlier.by_pid {
            let by = if self.by_pid.contains_key(pid) { self } else { earlier };
            then[by.owner(*pid, watch) as usize].add(process.used);
        }
        let since = |owner: Owner| now[owner as usize].since(then[owner as usize]);
        Usage {
            server: since(Owner::Server),
            client: since(Owner::Client),
            kernel: since(Owner::Kernel),
            foreign: since(Owner::Foreign),
        }
    }

    /// The processor time that each foreign process has used since, in microseconds, the most
    /// first.
    pub(super) fn busiest(&self, earlier: &Self, watch: &Watch) -> Vec<(u32, u64)> {
        let is_foreign = |(pid, _): &(&u32, &Process)| self.owner(**pid, watch) == Owner::Foreign;
        let used = |(pid, process): (&u32, &Process)| {
            let before = earlier.by_pid.get(pid).map_or(0, |before| before.own_us);
            (*pid, process.own_us.saturating_sub(before))
        };
        let mut all: Vec<_> = self.by_pid.iter().filter(is_foreign).map(used).collect();
        all.sort_by_key(|(_, used_us)| Reverse(*used_us));
        all
    }

    fn owner(&self, pid: u32, watch: &Watch) -> Owner {
        let owner = |at: u32| {
            if self.in_groups.contains(&at) || watch.server.pids.contains(&at) {
                return Some(Owner::Server);
            }
            if watch.client.pids.contains(&at) {
                return Some(Owner::Client);
            }
            self.by_pid.get(&at).filter(|process| process.is_kernel).map(|_| Owner::Kernel)
        };
        self.line(pid).find_map(owner).unwrap_or(Owner::Foreign)
    }

    /// A process, its parent, the parent of that, and so on.
    fn line(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |at: &u32| self.by_pid.get(at).map(|process| process.parent);
        // Parents are read at different times, so that a ring of them is not impossible.
        std::iter::successors(Some(pid), parent).take(GENERATIONS_MAX)
    }
}

/// A shell in a shell in a shell; more is nothing that a lab starts.
const GENERATIONS_MAX: usize = 32;

impl Used {
    /// Of the first of these control groups that tells it: of all that ran there, also of what has
    /// ended since, to the microsecond. By ticks, hundreds of processes that work for less than one
    /// each do nothing.
    pub(super) fn of_groups(groups: &[PathBuf]) -> Option<Self> {
        groups.iter().find_map(|group| {
            let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
            let of = |name| columns::line(&text, name);
            Some(Self { user_us: of("user_usec")?, system_us: of("system_usec")? })
        })
    }

    fn add(&mut self, other: Self) {
        self.user_us += other.user_us;
        self.system_us += other.system_us;
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }

    pub(super) fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }
}

impl Usage {
    /// `both`: all processors that were watched.
    ///
    /// Programs may have run on others than these, so more than was used there beside the load is
    /// not believed. What is used there beside the load is no measure itself: it holds what the
    /// kernel does for the load while nobody runs, 9 % at 5,000 requests a second. Nor is it with
    /// softirq taken off: that is sampled, and some of it is in the time of whom it interrupted.
    pub(super) fn others(&self, both: &Processors) -> Others {
        let own_us = self.server.total_us() + self.client.total_us();
        let rest_us = both.busy_us.saturating_sub(own_us);
        let all_us = both.busy_us + both.idle_us + both.iowait_us + both.steal_us;
        let foreign_us = self.foreign.total_us().min(rest_us);
        let share = |us: u64| if all_us == 0 { 0.0 } else { us as f64 / all_us as f64 };
        Others {
            foreign_us,
            foreign_share: share(foreign_us),
            kernel_threads_us: self.kernel.total_us(),
            steal_share: share(both.steal_us),
        }
    }
}

/// PF_KTHREAD, from linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// proc(5): the name, in parentheses, may have anything in it.
fn parse(text: &str) -> Option<Process> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first one here is number 3 there.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let us = |own: usize, children: usize| Some((field(own)? + field(children)?) * TICK_US);
    Some(Process {
        parent: u32::try_from(field(4)?).ok()?,
        is_kernel: field(9)? & KERNEL_THREAD != 0,
        used: Used { user_us: us(14, 16)?, system_us: us(15, 17)? },
        own_us: us(14, 15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let weir = "18571 (weir (a) b) R 18546 18546 16518 0 -1 4194304 100 0 0 0 10 20 3 4 20 0 1";
        let kernel = "14 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 7 0 0 20 0 1 0 5 0 0";
        let used =
            |user: u64, system: u64| Used { user_us: user * TICK_US, system_us: system * TICK_US };
        let process = |parent, is_kernel, used, own: u64| {
            Some(Process { parent, is_kernel, used, own_us: own * TICK_US })
        };
        for (text, expected) in [
            (weir, process(18546, false, used(13, 24), 30)),
            (kernel, process(2, true, used(0, 7), 7)),
            ("1 (x) R 1 1", None),
            ("1 (x R 1 1", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    /// Rows of process, parent, ticks.
    fn everybody(rows: &[(u32, u32, u64)]) -> Everybody {
        let process = |&(pid, parent, ticks): &(u32, u32, u64)| {
            let used = Used { user_us: 0, system_us: ticks };
            (pid, Process { parent, is_kernel: pid == 2, used, own_us: ticks })
        };
        let in_groups = HashSet::from([26]);
        Everybody { by_pid: rows.iter().map(process).collect(), in_groups }
    }

    #[test]
    fn time_goes_to_whom_it_belongs() {
        let watch = Watch {
            server: Side { pids: vec![20, 25], ..Side::default() },
            client: Side { pids: vec![10], ..Side::default() },
        };
        // Before; after; server, client, kernel, foreign.
        let lab: &[(u32, u32, u64)] = &[(1, 0, 5), (2, 0, 1), (10, 1, 7), (20, 10, 3)];
        let rows: [(&[_], &[_], [u64; 4]); 8] = [
            (lab, lab, [0; 4]),
            (lab, &[(1, 0, 6), (2, 0, 3), (10, 1, 10), (20, 10, 7)], [4, 3, 2, 1]),
            // Started since: all that they used.
            (
                lab,
                &[
                    (1, 0, 5),
                    (2, 0, 1),
                    (10, 1, 7),
                    (20, 10, 3),
                    (21, 20, 2),
                    (11, 10, 4),
                    (30, 1, 8),
                ],
                [2, 4, 0, 8],
            ),
            // A worker of 9 had used 4 and is waited for with 6.
            (&[(20, 1, 3), (21, 20, 4)], &[(20, 1, 9)], [2, 0, 0, 0]),
            // The parent of one of the server's group has ended, and init has waited for it.
            (&[(1, 0, 0), (20, 1, 3), (26, 20, 4)], &[(1, 0, 3), (26, 1, 9)], [2, 0, 0, 3]),
            // One of the server's group, which the lab has adopted.
            (
                &[(10, 1, 7), (20, 10, 3), (22, 20, 1), (26, 22, 4)],
                &[(10, 1, 8), (20, 10, 4), (26, 10, 9), (23, 26, 2)],
                [7, 1, 0, 0],
            ),
            // What the client starts is not the server's, whoever else is adopted.
            (
                &[(10, 1, 7), (11, 10, 1), (12, 11, 2), (20, 10, 3)],
                &[(10, 1, 8), (12, 10, 6), (13, 10, 5), (20, 10, 3)],
                [0, 9, 0, 0],
            ),
            // Nobody waits for 30: its time is lost, but taken from no one else.
            (&[(1, 0, 5), (20, 1, 3), (30, 1, 4)], &[(1, 0, 6), (20, 1, 4)], [1, 0, 0, 0]),
        ];
        for (before, after, expected) in rows {
            let usage = everybody(after).since(&everybody(before), &watch);
            let told = [usage.server, usage.client, usage.kernel, usage.foreign];
            assert_eq!(told.map(Used::total_us), expected, "{before:?} {after:?}");
        }
        // A process that has ended is left out; of one that has begun since, all counts.
        let before = everybody(&[(1, 0, 5), (10, 1, 0), (30, 1, 4), (31, 1, 2)]);
        let after = everybody(&[(1, 0, 6), (10, 1, 9), (31, 1, 5), (32, 31, 2)]);
        assert_eq!(after.busiest(&before, &watch), [(31, 3), (32, 2), (1, 1)]);
        let all = everybody(&[(1, 0, 0), (10, 1, 0), (20, 10, 0), (21, 20, 0), (11, 10, 0)]);
        let members = |owner| {
            let mut members = all.members(&watch, owner);
            members.sort_unstable();
            members
        };
        assert_eq!(members(Owner::Server), [20, 21]);
        assert_eq!(members(Owner::Client), [10, 11]);
    }

    /// Version 1 has a file of the same name, which tells of throttling alone.
    #[test]
    fn a_group_tells_what_was_used_there() {
        let home = tempfile::tempdir().unwrap();
        let groups = ["one", "two"].map(|name| home.path().join(name));
        let texts =
            ["nr_periods 0\n", "usage_usec 912\nuser_usec 300\nsystem_usec 612\nnr_periods 0\n"];
        for (group, text) in groups.iter().zip(texts) {
            fs::create_dir(group).unwrap();
            fs::write(group.join("cpu.stat"), text).unwrap();
        }
        assert_eq!(Used::of_groups(&groups), Some(Used { user_us: 300, system_us: 612 }));
        assert_eq!(Used::of_groups(&groups[..1]), None);
    }

    #[test]
    fn a_ring_of_parents_ends() {
        let watch = Watch::default();
        assert_eq!(everybody(&[(5, 6, 0), (6, 5, 0)]).owner(5, &watch), Owner::Foreign);
    }

    #[test]
    fn others_are_a_share_of_what_was_watched() {
        let both = Processors {
            numbers: vec![0],
            user_us: 0,
            system_us: 0,
            irq_us: 0,
            softirq_us: 0,
            idle_us: 300,
            iowait_us: 80,
            steal_us: 20,
            busy_us: 600,
        };
        let used = |us| Used { user_us: us, system_us: 0 };
        let usage = |server, client, foreign| Usage {
            server: used(server),
            client: used(client),
            kernel: used(9),
            foreign: used(foreign),
        };
        for (usage, foreign_us, foreign_share) in [
            (usage(300, 200, 50), 50, 0.05),
            // The others ran elsewhere.
            (usage(300, 290, 500), 10, 0.01),
            // The processes' clock is finer than that of the processors.
            (usage(400, 290, 5), 0, 0.0),
        ] {
            let expected =
                Others { foreign_us, foreign_share, kernel_threads_us: 9, steal_share: 0.02 };
            assert_eq!(usage.others(&both), expected);
        }
        let nothing = Processors { idle_us: 0, iowait_us: 0, steal_us: 0, busy_us: 0, ..both };
        assert!(usage(0, 0, 1).others(&nothing).foreign_share.abs() < f64::EPSILON);
    }
}
