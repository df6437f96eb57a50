//! What a side's processes used and hold.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

use super::columns;
use super::everybody::Used;
use super::processors::TICK_US;

/// All processes of a side together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// That were there at the end.
    pub count: u64,
    /// Their threads then.
    pub threads: u64,
    /// Processor time in their own code: of the server, as its control group tells it; without one,
    /// in hundredths of a second for each process, and of processes that have ended if somebody
    /// waited for them.
    pub user_us: u64,
    /// In the kernel for them. What the network did while it interrupted them is in it.
    pub system_us: u64,
    /// They waited for something, and others ran. Of threads that have ended, nothing is known.
    pub voluntary_switches: u64,
    /// Others were to run; of the threads that are there still.
    pub involuntary_switches: u64,
    /// Threads waited for disks, all of them together, of those that are there still: to a
    /// hundredth of a second for each. `None`: it was not counted (delay accounting).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_waits_us: Option<u64>,
    /// Memory at the end, without files that are mapped: of the program itself each has a smaller
    /// part the more run it, the lab among them. What several share is counted to each by its part
    /// (PSS). `None`: no right to know it of all.
    pub pss_bytes: Option<u64>,
}

/// Of each thread, by its number: voluntary and involuntary, and ticks for which it waited for
/// disks.
#[derive(Debug, Clone, Default)]
pub(super) struct Switches {
    by_thread: HashMap<u32, [u64; 3]>,
    /// Whether these ticks are counted, of threads that have begun since they are.
    has_waits: bool,
}

/// Whether the kernel counts for how long threads wait for disks.
const COUNTS_WAITS: &str = "/proc/sys/kernel/task_delayacct";

/// Has it count so of all that begin from now on. It stays so: that costs next to nothing, and
/// another lab may rely on it by then.
pub(crate) fn count_waits() {
    // Where nobody may have it do so, it is not counted, and nobody is told a figure.
    let _ = fs::write(COUNTS_WAITS, "1");
}

impl Processes {
    pub(super) fn new(pids: &[u32], used: Used, since: ([u64; 3], bool)) -> Self {
        let threads = pids.iter().map(|pid| threads(*pid).len() as u64).sum();
        let pss = pids.iter().map(|pid| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            Some(columns::line(&text, "Pss_Anon")? + columns::line(&text, "Pss_Shmem")?)
        });
        let ([voluntary_switches, involuntary_switches, ticks], has_waits) = since;
        Self {
            count: pids.len() as u64,
            threads,
            user_us: used.user_us,
            system_us: used.system_us,
            voluntary_switches,
            involuntary_switches,
            disk_waits_us: has_waits.then_some(ticks * TICK_US),
            pss_bytes: pss.sum::<Option<u64>>().map(|kilobytes| kilobytes * 1024),
        }
    }
}

impl Switches {
    pub(super) fn read(pids: &[u32]) -> Self {
        let numbers = pids.iter().flat_map(|&pid| {
            threads(pid).into_iter().filter_map(move |thread| {
                let of = |name| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{name}"));
                // It may have ended since it was listed.
                Some((thread, parse(&of("status").ok()?, &of("stat").ok()?)?))
            })
        });
        let has_waits = fs::read_to_string(COUNTS_WAITS).is_ok_and(|text| text.trim() == "1");
        Self { by_thread: numbers.collect(), has_waits }
    }

    pub(super) fn since(&self, earlier: &Self, elapsed_us: u64) -> ([u64; 3], bool) {
        /// Both counts are rounded.
        const ROUNDED: u64 = 2;
        let (mut sums, mut has_waits) = ([0; 3], self.has_waits && earlier.has_waits);
        for (thread, now) in &self.by_thread {
            let then = earlier.by_thread.get(thread).unwrap_or(&[0; 3]);
            let [voluntary, involuntary, ticks] =
                [0, 1, 2].map(|which: usize| now[which].saturating_sub(then[which]));
            // The kernel now and then takes a wait for as long as the machine is up.
            has_waits &= ticks <= elapsed_us / TICK_US + ROUNDED;
            for (sum, more) in sums.iter_mut().zip([voluntary, involuntary, ticks]) {
                *sum += more;
            }
        }
        (sums, has_waits)
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// /proc/PID/task/TID/status and stat (proc(5): the name, in parentheses, may have anything in it).
fn parse(status: &str, stat: &str) -> Option<[u64; 3]> {
    let voluntary = columns::line(status, "voluntary_ctxt_switches")?;
    let involuntary = columns::line(status, "nonvoluntary_ctxt_switches")?;
    // Number 42 there, and the first one here is number 3.
    let ticks = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(39)?.parse().ok()?;
    Some([voluntary, involuntary, ticks])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_and_waits_are_those_of_threads_that_are_there() {
        let numbers = |voluntary: u64, involuntary: u64, ticks: u64| {
            let status = format!(
                "Name:\tvoluntary_ctxt_switches:\nThreads:\t14\n\
                 voluntary_ctxt_switches:\t{voluntary}\n\
                 nonvoluntary_ctxt_switches:\t{involuntary}\n"
            );
            let stat = format!("7 (a) b) S{} {ticks} 8 9", " 1".repeat(38));
            parse(&status, &stat).unwrap()
        };
        let switches = |rows: &[(u32, [u64; 3])], has_waits| Switches {
            by_thread: rows.iter().copied().collect(),
            has_waits,
        };
        let before = switches(&[(1, numbers(10, 1, 4)), (2, numbers(20, 2, 5))], true);
        let now = [(1, numbers(15, 3, 9)), (3, numbers(7, 4, 2))];
        assert_eq!(switches(&now, true).since(&before, 30_000), ([12, 6, 7], true));
        assert_eq!(switches(&now, false).since(&before, 30_000), ([12, 6, 7], false));
        assert!(!switches(&now, true).since(&before, 29_999).1, "longer than it may have been");
        assert_eq!(parse("Name:\tx\n", "1 (x) S 1"), None);
        let told = |has_waits| Processes::new(&[], Used::default(), ([0, 0, 7], has_waits));
        assert_eq!(told(true).disk_waits_us, Some(70_000));
        assert_eq!(told(false).disk_waits_us, None);
    }

    #[test]
    fn a_process_that_is_not_there_uses_nothing() {
        let told = Processes::new(&[u32::MAX], Used::default(), ([0; 3], false));
        assert_eq!((told.threads, told.pss_bytes), (0, None));
        assert_eq!(Processes::new(&[], Used::default(), ([0; 3], false)).pss_bytes, Some(0));
        let own = [std::process::id()];
        assert!(Processes::new(&own, Used::default(), ([0; 3], false)).threads > 0);
        assert!(!Switches::read(&own).by_thread.is_empty());
    }
}
