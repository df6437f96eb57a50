//! Pariag07's table 1: the processor's time by who used it and for what, from samples of where it
//! was (perf, event `cpu-clock`), as the paper took them with OProfile.
//!
//! A guest of a hypervisor has no counters of its own, so the samples are a timer's. It is held
//! back where interrupts are off: what happens there is seen at the place where they are let in
//! again, and is in [`Part::Architecture`]. A guest's processor that sleeps between requests leaves
//! and enters the hypervisor all the time: at half load, 60 % of what was seen was there, at the
//! start of softirq for the most part. Compare servers at the same rate, near what they can do, as
//! the paper did.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};

use super::symbols::{Part, Sample, Whose, part};
use super::tool::{self, Running, Scratch};
use super::{Profile, Seen, Target};
use crate::Failure;
use crate::program::Program;
use crate::{room, vitals};

/// Of the server's processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Shares {
    /// By part, of the time in which something ran; together 100. Every part is there.
    pub percent: BTreeMap<Part, f64>,
    /// The functions that were seen most, of the same time.
    pub top: Vec<Share>,
    /// Samples in which something ran.
    pub samples: u64,
    /// And in which nothing did, in percent of all.
    pub idle_percent: f64,
    /// The page cache of the whole machine, half-way between the ends (the paper: `file system
    /// cache`).
    pub page_cache_bytes: u64,
    /// Of the whole machine, in a second (`ctx-sw/sec`).
    pub context_switches_per_s: f64,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Its name.
    pub symbol: String,
    /// The file that it is in, without its directory.
    pub object: String,
    /// To what it is counted.
    pub part: Part,
    /// Of the time in which something ran.
    pub percent: f64,
}

pub(super) const PERF: Program =
    Program { name: "perf", file: "perf", package: "linux-perf", version: "--version" };

/// perf at work.
#[derive(Debug)]
pub(super) struct Recorder {
    running: Running,
    target: Target,
    data: Scratch,
    pids: Vec<u32>,
    since: measure::Instant,
    context_switches: u64,
    page_cache_bytes: u64,
}

/// Samples of each processor in a second. Ten seconds give 20,000: a share of a tenth is right to
/// 0.2 points. Taking them costs some 5 µs each on a guest, one hundredth. No multiple of what the
/// kernel's own clock ticks by, so that neither hides behind the other.
const FREQUENCY: &str = "1997";

/// Functions in [`Shares::top`]: as many as a reader looks at.
const TOP: usize = 40;

impl Recorder {
    pub(super) fn start(target: &Target) -> Result<Self, Failure> {
        PERF.found()?;
        let pids = vitals::family(&target.pids)?;
        let data = Scratch::new(&target.directory, "shares.data");
        let pipe = || io::pipe().map_err(|e| Failure::machine("perf", e));
        let ((orders, mut order), (mut answer, answers)) = (pipe()?, pipe()?);
        let path = |fd: i32| format!("/proc/{}/fd/{fd}", std::process::id());
        let control = format!("fifo:{},{}", path(orders.as_raw_fd()), path(answers.as_raw_fd()));
        let mut command = tool::command(target, "perf")?;
        command.args(["record", "--quiet", "--event", "cpu-clock", "--freq", FREQUENCY]);
        command.args(["--delay", "-1", "--control", &control, "--output"]).arg(data.path());
        match processors(&target.processors) {
            list if list.is_empty() => command.arg("--all-cpus"),
            list => command.args(["--cpu", &list]),
        };
        let mut running = Running::start("perf", command, &target.directory)?;
        // It is read when perf is ready to, and answered when the timers run.
        order.write_all(b"enable\n").map_err(|e| Failure::machine("perf", e))?;
        running.wait_for("ack", Some(&mut answer))?;
        let (context_switches, page_cache_bytes) = vitals::switches_and_cache()?;
        let since = os::clock::monotonic();
        let target = target.clone();
        Ok(Self { running, target, data, pids, since, context_switches, page_cache_bytes })
    }

    pub(super) fn finish(self, pids: &[u32]) -> Result<Profile, Failure> {
        let window_us = os::clock::monotonic().since(self.since).as_micros() as u64;
        let (switches, page_cache_bytes) = vitals::switches_and_cache()?;
        self.running.interrupt()?;
        room::check(&self.target.directory)?;
        let mut ours: BTreeSet<u32> = self.pids.into_iter().collect();
        ours.extend(vitals::family(pids)?);
        let read = |arguments: &[&str]| -> Result<String, Failure> {
            let mut command = tool::command(&self.target, "perf")?;
            command.args(arguments).arg("--input").arg(self.data.path());
            tool::output("perf", command, &self.target.directory)
        };
        let samples = read(&["script", "--fields", "pid,ip,sym,dso"]);
        let statistics = read(&["report", "--stats"]);
        let (mut shares, mut faults) = parse(&samples?, &ours);
        faults.extend(losses(&statistics?, window_us));
        let switches = switches.saturating_sub(self.context_switches);
        shares.context_switches_per_s = switches as f64 * 1e6 / window_us.max(1) as f64;
        shares.page_cache_bytes = self.page_cache_bytes.midpoint(page_cache_bytes);
        Ok(Profile { window_us, faults, seen: Seen::Shares(shares) })
    }
}

/// As perf takes them.
fn processors(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Why samples are missing, from `perf report --stats`.
fn losses(text: &str, window_us: u64) -> Vec<String> {
    let rows = [
        ("LOST", 0, "perf lost samples: it could not write as fast as they came"),
        ("LOST_SAMPLES", 0, "the kernel lost samples"),
        (
            "THROTTLE",
            window_us / HELD_BACK_US / HELD_BACK_PART,
            "the kernel held samples back: they took too much of a processor",
        ),
    ];
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' '));
        line?.strip_prefix("events:")?.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let found = rows.into_iter().map(|(name, most, what)| (count(name).unwrap_or(0), most, what));
    let found = found.filter(|(count, most, _)| count > most);
    found.map(|(count, _, what)| format!("{what} ({count} times)")).collect()
}

/// Samples are held back until the kernel's clock ticks next: up to 10 ms. It happens to a
/// processor that sleeps, too, because nothing ticks there; nothing of interest is lost then.
const HELD_BACK_US: u64 = 10_000;

/// More than a hundredth of the time is too much: a share is not right any more to what is told.
const HELD_BACK_PART: u64 = 100;

/// `perf script`: a sample in each line, as process, address, function and file.
fn parse(text: &str, ours: &BTreeSet<u32>) -> (Shares, Vec<String>) {
    let mut seen = BTreeMap::<Sample<'_>, u64>::new();
    let mut strange = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match Sample::parse(line, ours) {
            Some(sample) => *seen.entry(sample).or_default() += 1,
            None => strange += 1,
        }
    }
    let (mut samples, mut idle) = (0, 0);
    let mut by_symbol = BTreeMap::<(Part, &str, &str), u64>::new();
    for (sample, count) in seen {
        match part(&sample) {
            Some(part) => {
                samples += count;
                *by_symbol.entry((part, sample.symbol, sample.object)).or_default() += count;
            }
            None => idle += count,
        }
    }
    let percent_of = |count: u64, all: u64| match all {
        0 => 0.0,
        all => count as f64 * 100.0 / all as f64,
    };
    let mut percent: BTreeMap<Part, f64> = Part::ALL.map(|part| (part, 0.0)).into();
    let mut top = Vec::new();
    for ((part, symbol, object), count) in by_symbol {
        let share = percent_of(count, samples);
        *percent.entry(part).or_default() += share;
        top.push(Share { symbol: symbol.into(), object: object.into(), part, percent: share });
    }
    top.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    top.truncate(TOP);
    let idle_percent = percent_of(idle, idle + samples);
    let mut faults = Vec::new();
    if samples + idle == 0 {
        faults.push("perf took no samples".into());
    }
    if strange > 0 {
        faults.push(format!("{strange} lines of perf's are not understood"));
    }
    (Shares { percent, top, samples, idle_percent, ..Shares::default() }, faults)
}

impl<'t> Sample<'t> {
    /// A function's name may have spaces and parentheses in it, its file's hardly.
    fn parse(line: &'t str, ours: &BTreeSet<u32>) -> Option<Self> {
        let (pid, rest) = line.trim().split_once(char::is_whitespace)?;
        let (address, rest) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
        // The kernel's half of the addresses.
        let is_kernel = u64::from_str_radix(address, 16).ok()? >> 63 == 1;
        let (symbol, object) = rest.rsplit_once(" (").unwrap_or((rest, "[unknown]"));
        let object = object.trim_end().trim_end_matches(')');
        let object = object.rsplit_once('/').map_or(object, |(_, name)| name);
        let whose = match pid.parse::<i64>().ok()? {
            0 => Whose::Idle,
            // -1: a thread whose process had ended already.
            pid => match u32::try_from(pid).is_ok_and(|pid| ours.contains(&pid)) {
                true => Whose::Server,
                false => Whose::Other,
            },
        };
        Some(Self { whose, is_kernel, symbol, object })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &str = "\
      0 ffffffff821f2c2b pv_native_safe_halt ([kernel.kallsyms])
   17642  ffffffff81308623 tcp_ack ([kernel.kallsyms])
   17642  ffffffff81308623 tcp_ack ([kernel.kallsyms])
   17643      55c8e1b4f0a1 <core::ops (a) as b>::parse (/usr/local/bin/weir)
      -1  ffffffff814006f0 __rcu_read_lock ([kernel.kallsyms])
    9999      7fbf13d08450 [unknown] ([unknown])

";

    #[test]
    fn samples_are_sorted() {
        let (shares, faults) = parse(SAMPLES, &[17642, 17643].into());
        assert_eq!((shares.samples, faults), (5, Vec::new()));
        assert!((shares.idle_percent - 100.0 / 6.0).abs() < 1e-9);
        for (part, percent) in [
            (Part::Networking, 40.0),
            (Part::Application, 20.0),
            (Part::Architecture, 20.0),
            (Part::Other, 20.0),
            (Part::Driver, 0.0),
        ] {
            assert!((shares.percent[&part] - percent).abs() < 1e-9, "{}", part.title());
        }
        let most = Share {
            symbol: "tcp_ack".into(),
            object: "[kernel.kallsyms]".into(),
            part: Part::Networking,
            percent: 40.0,
        };
        assert_eq!(shares.top[0], most);
        assert!(shares.top.iter().any(|one| one.symbol == "<core::ops (a) as b>::parse"));
    }

    #[test]
    fn what_is_lost_is_told() {
        let statistics = |lost: u64, throttled: u64| {
            format!(
                "Aggregated stats:\n           TOTAL events:       8314\n\
                            LOST events:   {lost}  ( 0.0%)\n\
                        THROTTLE events:   {throttled}  ( 0.0%)\n\
                   FINISHED_INIT events:          1  ( 0.0%)\n"
            )
        };
        let lost = "perf lost samples: it could not write as fast as they came (3 times)";
        let held = "the kernel held samples back: they took too much of a processor (3 times)";
        let rows: [(String, &[&str]); 5] = [
            (String::new(), &[]),
            (statistics(0, 0), &[]),
            (statistics(3, 0), &[lost]),
            (statistics(3, 2), &[lost]),
            (statistics(3, 3), &[lost, held]),
        ];
        for (text, expected) in rows {
            assert_eq!(losses(&text, 2_000_000), expected, "{text}");
        }
        for (text, fault) in [
            ("", "perf took no samples"),
            ("17 ffffffff81308623 a (b)\nx\ny z\n", "2 lines of perf's are not understood"),
        ] {
            assert_eq!(parse(text, &BTreeSet::new()).1, [fault], "{text}");
        }
    }
}
