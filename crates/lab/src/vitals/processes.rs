//! What a side's processes used and hold.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

use super::columns;
use super::everybody::Used;

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
    /// Memory at the end; what several share is counted to each by its part (PSS). `None`: no right
    /// to know it of all.
    pub pss_bytes: Option<u64>,
}

/// Of each thread, by its number: voluntary and involuntary.
#[derive(Debug, Clone, Default)]
pub(super) struct Switches {
    by_thread: HashMap<u32, [u64; 2]>,
}

impl Processes {
    pub(super) fn new(pids: &[u32], used: Used, switches: [u64; 2]) -> Self {
        let threads = pids.iter().map(|pid| threads(*pid).len() as u64).sum();
        let pss = pids.iter().map(|pid| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            columns::line(&text, "Pss")
        });
        let [voluntary_switches, involuntary_switches] = switches;
        Self {
            count: pids.len() as u64,
            threads,
            user_us: used.user_us,
            system_us: used.system_us,
            voluntary_switches,
            involuntary_switches,
            pss_bytes: pss.sum::<Option<u64>>().map(|kilobytes| kilobytes * 1024),
        }
    }
}

impl Switches {
    pub(super) fn read(pids: &[u32]) -> Self {
        let numbers = pids.iter().flat_map(|&pid| {
            threads(pid).into_iter().filter_map(move |thread| {
                let path = format!("/proc/{pid}/task/{thread}/status");
                // It may have ended since it was listed.
                Some((thread, parse(&fs::read_to_string(path).ok()?)?))
            })
        });
        Self { by_thread: numbers.collect() }
    }

    pub(super) fn since(&self, earlier: &Self) -> [u64; 2] {
        let mut sums = [0; 2];
        for (thread, now) in &self.by_thread {
            let then = earlier.by_thread.get(thread).unwrap_or(&[0; 2]);
            for (sum, (now, then)) in sums.iter_mut().zip(now.iter().zip(then)) {
                *sum += now.saturating_sub(*then);
            }
        }
        sums
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// /proc/PID/task/TID/status.
fn parse(text: &str) -> Option<[u64; 2]> {
    let voluntary = columns::line(text, "voluntary_ctxt_switches")?;
    Some([voluntary, columns::line(text, "nonvoluntary_ctxt_switches")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_those_of_threads_that_are_there() {
        let status = |voluntary: u64, involuntary: u64| {
            let text = format!(
                "Name:\tvoluntary_ctxt_switches:\nThreads:\t14\n\
                 voluntary_ctxt_switches:\t{voluntary}\n\
                 nonvoluntary_ctxt_switches:\t{involuntary}\n"
            );
            parse(&text).unwrap()
        };
        let switches =
            |rows: &[(u32, [u64; 2])]| Switches { by_thread: rows.iter().copied().collect() };
        let before = switches(&[(1, status(10, 1)), (2, status(20, 2))]);
        let after = switches(&[(1, status(15, 3)), (3, status(7, 4))]);
        assert_eq!(after.since(&before), [12, 6]);
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[test]
    fn a_process_that_is_not_there_uses_nothing() {
        let told = Processes::new(&[u32::MAX], Used::default(), [0, 0]);
        assert_eq!((told.threads, told.pss_bytes), (0, None));
        assert_eq!(Processes::new(&[], Used::default(), [0, 0]).pss_bytes, Some(0));
        let own = [std::process::id()];
        assert!(Processes::new(&own, Used::default(), [0, 0]).threads > 0);
        assert!(!Switches::read(&own).by_thread.is_empty());
    }
}
