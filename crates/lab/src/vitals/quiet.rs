//! Whether a machine is quiet enough to measure on it. Asked before a run, because on a busy
//! machine no point counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::everybody::Everybody;
use super::processors::{Processors, Stat};
use super::{Limits, Side, Watch};
use crate::Failure;

/// At most this many programs are named.
const NAMED_MAX: usize = 3;

/// What an operator can do about it.
pub const REMEDY: &str =
    "wait until nothing else runs, or use --anyway, which marks each page as not to be quoted";

/// Looks at the machine for the time `look`. Returns a line if other programs use too much of it
/// for a measurement to count: how much, and the names of the busiest.
///
/// # Errors
/// There is no /proc, or it is not as proc(5) says.
pub fn disturbance(look: Duration) -> Result<Option<String>, Failure> {
    let client = Side { pids: vec![std::process::id()], ..Side::default() };
    let watch = Watch { client, ..Watch::default() };
    let (began, stat, before) = (os::clock::monotonic(), Stat::read()?, Everybody::read(&[])?);
    sleep(look);
    let (ended, stat_now, now) = (os::clock::monotonic(), Stat::read()?, Everybody::read(&[])?);
    let elapsed_us = ended.since(began).as_micros() as u64;
    let processors = Processors::between(&stat, &stat_now, &[], elapsed_us);
    let others = now.since(&before, &watch).others(&processors);
    let complaints = others.complaints(&Limits::default());
    if complaints.is_empty() {
        return Ok(None);
    }
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (pid, used_us) in now.busiest(&before, &watch) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        *by_name.entry(name.trim_end().to_owned()).or_default() += used_us;
    }
    let all_us = elapsed_us * processors.numbers.len() as u64;
    Ok(Some(format!("{}{}", complaints.join("; "), named(by_name, all_us))))
}

/// Those that used most, with their shares of all processors' time, in parentheses.
fn named(by_name: BTreeMap<String, u64>, all_us: u64) -> String {
    let mut all: Vec<(String, u64)> = by_name.into_iter().collect();
    all.sort_by_key(|(_, used_us)| Reverse(*used_us));
    let percent = |used_us: u64| 100.0 * used_us as f64 / all_us.max(1) as f64;
    let seen = all.iter().map(|(name, used_us)| (name, percent(*used_us)));
    let seen = seen.take(NAMED_MAX).filter(|(_, percent)| *percent >= 1.0);
    let told: Vec<_> = seen.map(|(name, percent)| format!("{name} {percent:.0} %")).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busiest_programs_are_named_and_no_more_than_three() {
        let rows = [
            (&[][..], ""),
            (&[("rustc", 41), ("top", 0)], " (rustc 41 %)"),
            (&[("a", 1), ("b", 7), ("c", 3), ("d", 2)], " (b 7 %, c 3 %, d 2 %)"),
        ];
        for (used, expected) in rows {
            let by_name = used.iter().map(|(name, us)| (String::from(*name), *us)).collect();
            assert_eq!(named(by_name, 100), expected);
        }
    }
}
