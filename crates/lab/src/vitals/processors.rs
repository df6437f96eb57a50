//! Where processors' time went (/proc/stat).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Side;
use crate::Failure;

/// A set of processors between two readings.
///
/// `busy_us` is measured, by way of the time in which nothing ran. User, system, irq and softirq
/// are sampled at the clock's ticks on most kernels (CONFIG_TICK_CPU_ACCOUNTING): they miss what a
/// timer has woken, since that sleeps again when the tick comes. At 5,000 requests a second they
/// showed a quarter of the time, at 10,000 nine tenths. Believe them near saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Processors {
    /// Which.
    pub numbers: Vec<usize>,
    /// In programs.
    pub user_us: u64,
    /// In the kernel, for programs.
    pub system_us: u64,
    /// Handling interrupts.
    pub irq_us: u64,
    /// Work put off from there: packets received, timers.
    pub softirq_us: u64,
    /// With nothing to do.
    pub idle_us: u64,
    /// With nothing to do but to wait for a disk.
    pub iowait_us: u64,
    /// Given to somebody else by the hypervisor.
    pub steal_us: u64,
    /// All of the time but the last three.
    pub busy_us: u64,
}

/// The kernel counts in hundredths of a second towards programs, whatever its clock (USER_HZ).
pub(super) const TICK_US: u64 = 10_000;

/// /proc/stat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stat {
    /// By number: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
    processors: BTreeMap<usize, [u64; CLASSES]>,
    pub(super) context_switches: u64,
}

const CLASSES: usize = 8;

impl Stat {
    pub(super) fn read() -> Result<Self, Failure> {
        let path = "/proc/stat";
        let text = std::fs::read_to_string(path).map_err(|e| Failure::machine(path, e))?;
        Self::parse(&text).ok_or_else(|| Failure::machine(path, "is not as proc(5) says"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut stat = Self { processors: BTreeMap::new(), context_switches: 0 };
        for line in text.lines() {
            let (name, values) = line.split_once(' ').unwrap_or((line, ""));
            let mut values = values.split_ascii_whitespace();
            if name == "ctxt" {
                stat.context_switches = values.next()?.parse().ok()?;
            } else if let Some(number) = name.strip_prefix("cpu")
                && let Ok(number) = number.parse()
            {
                let mut classes = [0; CLASSES];
                for class in &mut classes {
                    *class = values.next()?.parse().ok()?;
                }
                stat.processors.insert(number, classes);
            }
        }
        (!stat.processors.is_empty()).then_some(stat)
    }
}

impl Processors {
    /// `numbers` empty: all of them.
    pub(super) fn between(before: &Stat, after: &Stat, numbers: &[usize], elapsed_us: u64) -> Self {
        let mut classes = [0; CLASSES];
        let mut watched = Vec::new();
        for (number, now) in &after.processors {
            // One that was not there before was off.
            let then = before.processors.get(number).unwrap_or(now);
            if numbers.is_empty() || numbers.contains(number) {
                watched.push(*number);
                for (class, (now, then)) in classes.iter_mut().zip(now.iter().zip(then)) {
                    // Idle time was seen to run backwards by a tick.
                    *class += now.saturating_sub(*then) * TICK_US;
                }
            }
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal] = classes;
        let all = elapsed_us * watched.len() as u64;
        Self {
            user_us: user + nice,
            system_us: system,
            irq_us: irq,
            softirq_us: softirq,
            idle_us: idle,
            iowait_us: iowait,
            steal_us: steal,
            busy_us: all.saturating_sub(idle + iowait + steal),
            numbers: watched,
        }
    }
}

/// Every processor of either; empty stands for all of them.
pub(super) fn union(one: &Side, other: &Side) -> Vec<usize> {
    if one.processors.is_empty() || other.processors.is_empty() {
        return Vec::new();
    }
    one.processors.iter().chain(&other.processors).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  30 2 20 200 4 0 10 6 0 0\n\
        cpu0 10 1 10 100 2 0 5 3 0 0\n\
        cpu1 20 1 10 100 2 0 5 3 0 0\n\
        intr 1 0 0\nctxt 100\nbtime 1795234749\nsoftirq 5 1 1 1 1 1\n";
    const AFTER: &str = "cpu  0 0 0 0 0 0 0 0 0 0\n\
        cpu0 40 2 30 130 3 1 15 4 0 0\n\
        cpu1 20 1 10 199 2 0 5 3 0 0\nctxt 350\n";

    #[test]
    fn time_between_two_readings_is_told_by_class() {
        let (before, after) = (Stat::parse(BEFORE).unwrap(), Stat::parse(AFTER).unwrap());
        assert_eq!(after.context_switches - before.context_switches, 250);
        // Wanted; watched; user, system, irq, softirq, idle, iowait, steal, busy in ticks.
        let rows: [(&[usize], &[usize], [u64; 8]); 4] = [
            (&[0], &[0], [31, 20, 1, 10, 30, 1, 1, 68]),
            (&[1], &[1], [0, 0, 0, 0, 99, 0, 0, 1]),
            (&[], &[0, 1], [31, 20, 1, 10, 129, 1, 1, 69]),
            (&[7], &[], [0; 8]),
        ];
        for (wanted, watched, ticks) in rows {
            let told = Processors::between(&before, &after, wanted, 1_000_000);
            let [user, system, irq, softirq, idle, iowait, steal, busy] =
                ticks.map(|ticks| ticks * TICK_US);
            let expected = Processors {
                numbers: watched.to_vec(),
                user_us: user,
                system_us: system,
                irq_us: irq,
                softirq_us: softirq,
                idle_us: idle,
                iowait_us: iowait,
                steal_us: steal,
                busy_us: busy,
            };
            assert_eq!(told, expected, "{wanted:?}");
        }
    }

    #[test]
    fn what_is_no_stat_is_refused() {
        for text in ["", "ctxt 5\n", "cpu0 1 2 3\n", "cpu0 1 2 3 4 5 6 7 x\n", "ctxt\n"] {
            assert_eq!(Stat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn all_processors_stay_all() {
        let rows: [(&[usize], &[usize], &[usize]); 3] =
            [(&[0], &[1], &[0, 1]), (&[], &[1], &[]), (&[0, 1], &[], &[])];
        for (one, other, both) in rows {
            let side = |numbers: &[usize]| Side { processors: numbers.to_vec(), ..Side::default() };
            assert_eq!(union(&side(one), &side(other)), both);
        }
    }
}
