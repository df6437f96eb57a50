//! What the calling process and all that descend from it use, as proc_pid_stat(5) tells it.

use std::fs;
use std::io;
use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use measure::Duration;
use rustix::param::{clock_ticks_per_second, page_size};

/// Of all processes together. What several share, such as the program itself, counts in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// For how long they have run, with those that have ended and were waited for.
    pub cpu: Duration,
    /// Memory that they can address.
    pub virtual_bytes: u64,
    /// Memory that is there.
    pub resident_bytes: u64,
    /// Descriptors that are open.
    pub descriptors: u64,
    /// How many processes they are.
    pub processes: u64,
}

/// Bounds the search; a server has fewer processes.
const PROCESSES_MAX: usize = 4096;

/// Of the calling process and all that descend from it, each as it is when it is looked at.
///
/// # Errors
/// /proc is not there.
pub fn of_family() -> io::Result<Usage> {
    let mut family = vec![std::process::id()];
    let mut sum = Usage::default();
    let mut at = 0;
    while let Some(&pid) = family.get(at) {
        match of(pid) {
            Ok(usage) => sum.add(&usage),
            Err(error) if at == 0 => return Err(error),
            // It has ended: the times of its parent include its own.
            Err(_) => {}
        }
        family.extend(children(pid).take(PROCESSES_MAX - family.len().min(PROCESSES_MAX)));
        at += 1;
    }
    Ok(sum)
}

/// When the calling process began, since 1970; `None` without /proc.
#[must_use]
pub fn begun() -> Option<Duration> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = uptime.split(' ').next()?.parse().ok()?;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let began =
        fields(&stat)?.nth(STARTED)?.parse::<u64>().ok()? as f64 / clock_ticks_per_second() as f64;
    let age = StdDuration::try_from_secs_f64(up - began).ok()?;
    let since_1970 = (SystemTime::now() - age).duration_since(UNIX_EPOCH).ok()?;
    Some(Duration::from_millis(u64::try_from(since_1970.as_millis()).ok()?))
}

/// Places in /proc/PID/stat behind the name, from 0 on.
const TIMES: usize = 11;
const STARTED: usize = 19;
const VIRTUAL_BYTES: usize = 20;

fn of(pid: u32) -> io::Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Own and those of children that were waited for, each in the program and in the kernel.
    let numbers: Option<Vec<u64>> =
        fields(&stat).map(|fields| fields.map(|field| field.parse().unwrap_or_default()).collect());
    let Some([.., virtual_bytes, resident_pages]) =
        numbers.as_deref().and_then(|all| all.get(..=VIRTUAL_BYTES + 1))
    else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let ticks: u64 = numbers.iter().flatten().skip(TIMES).take(4).sum();
    Ok(Usage {
        cpu: Duration::from_millis(ticks * 1000 / clock_ticks_per_second()),
        virtual_bytes: *virtual_bytes,
        resident_bytes: resident_pages * page_size() as u64,
        descriptors: descriptors(pid),
        processes: 1,
    })
}

/// The kernel tells the number since Linux 6.2, also of processes that may not be looked into.
fn descriptors(pid: u32) -> u64 {
    let directory = format!("/proc/{pid}/fd");
    let told = fs::metadata(&directory).map_or(0, |meta| meta.len());
    if told > 0 { told } else { fs::read_dir(directory).map_or(0, |all| all.count() as u64) }
}

/// What stands behind the name, which may have any characters.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace())
}

/// Nothing on a kernel without CONFIG_PROC_CHILDREN.
fn children(pid: u32) -> impl Iterator<Item = u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
}

impl Usage {
    fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.virtual_bytes += other.virtual_bytes;
        self.resident_bytes += other.resident_bytes;
        self.descriptors += other.descriptors;
        self.processes += other.processes;
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn family_is_this_process_and_its_children() {
        let alone = of(std::process::id()).unwrap();
        assert!(alone.resident_bytes > 0 && alone.resident_bytes < alone.virtual_bytes);
        assert!(alone.descriptors >= 3, "{alone:?}");
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pids: Vec<u32> = children(std::process::id()).collect();
        assert!(pids.contains(&child.id()), "{pids:?}");
        // Other tests of this process may have children too.
        assert!(of_family().unwrap().processes >= 2);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn this_process_began_a_while_ago() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let begun = begun().unwrap().as_secs_f64();
        assert!(begun > 1.7e9 && begun <= now.as_secs_f64() + 1.0, "{begun}");
    }

    #[test]
    fn names_may_have_any_characters() {
        let found: Vec<&str> = fields("7 (a) b) c) S 1 2").unwrap().collect();
        assert_eq!(found, ["S", "1", "2"]);
        assert!(fields("").is_none());
    }
}
