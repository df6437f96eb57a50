//! How long somebody had to wait for the machine (PSI).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// By what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Processors.
    pub cpu: Stalls,
    /// Memory.
    pub memory: Stalls,
    /// Disks.
    pub io: Stalls,
}

/// Between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stalls {
    /// At least one thread waited.
    pub some_us: u64,
    /// All that were not idle waited.
    pub full_us: u64,
    /// The kernel's mean of the last ten seconds before the end, in percent.
    pub some_avg10_percent: f64,
    /// The same of `full_us`.
    pub full_avg10_percent: f64,
}

/// Since the machine started, with the means of now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Totals {
    cpu: Stalls,
    memory: Stalls,
    io: Stalls,
}

impl Totals {
    /// The three files of `directory`, with `suffix` after their names.
    pub(super) fn read(directory: &Path, suffix: &str) -> Option<Self> {
        let file = |name: &str| {
            let text = std::fs::read_to_string(directory.join(format!("{name}{suffix}"))).ok()?;
            parse(&text)
        };
        Some(Self { cpu: file("cpu")?, memory: file("memory")?, io: file("io")? })
    }

    /// Of the first group that has them: those of version 1 do not.
    pub(super) fn of_groups(groups: &[PathBuf]) -> Option<Self> {
        groups.iter().find_map(|group| Self::read(group, ".pressure"))
    }
}

pub(super) fn between(before: Option<Totals>, after: Option<Totals>) -> Option<Pressure> {
    let (before, after) = (before?, after?);
    let stalls = |before: Stalls, after: Stalls| Stalls {
        some_us: after.some_us.saturating_sub(before.some_us),
        full_us: after.full_us.saturating_sub(before.full_us),
        ..after
    };
    Some(Pressure {
        cpu: stalls(before.cpu, after.cpu),
        memory: stalls(before.memory, after.memory),
        io: stalls(before.io, after.io),
    })
}

/// Lines of `some` and `full`; older kernels have no `full` for processors.
fn parse(text: &str) -> Option<Stalls> {
    let values = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let value = |name: &str| {
            line.split_ascii_whitespace()
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        Some((value("total")?.parse().ok()?, value("avg10")?.parse().ok()?))
    };
    let (some_us, some_avg10_percent) = values("some")?;
    let (full_us, full_avg10_percent) = values("full").unwrap_or_default();
    Some(Stalls { some_us, full_us, some_avg10_percent, full_avg10_percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_read() {
        let stalls = |some_us, full_us, some_avg10_percent, full_avg10_percent| {
            Some(Stalls { some_us, full_us, some_avg10_percent, full_avg10_percent })
        };
        let rows = [
            (
                "some avg10=0.95 avg60=0.95 avg300=1.73 total=4341826776\n\
                 full avg10=0.90 avg60=0.91 avg300=1.42 total=2221522490\n",
                stalls(4_341_826_776, 2_221_522_490, 0.95, 0.9),
            ),
            ("some avg10=1.50 avg60=0 avg300=0 total=7\n", stalls(7, 0, 1.5, 0.0)),
            ("some avg10=x avg60=0 avg300=0 total=7\n", None),
            ("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn totals_are_subtracted_and_means_are_not() {
        let home = tempfile::tempdir().unwrap();
        let read = |total: u64| {
            for name in ["cpu", "memory", "io"] {
                let text = format!("some avg10=2.00 avg60=0 avg300=0 total={total}\n");
                std::fs::write(home.path().join(format!("{name}.pressure")), text).unwrap();
            }
            Totals::of_groups(&["/nowhere".into(), home.path().into()])
        };
        let told = between(read(5), read(9)).unwrap();
        let expected = Stalls { some_us: 4, some_avg10_percent: 2.0, ..Stalls::default() };
        assert_eq!(told, Pressure { cpu: expected, memory: expected, io: expected });
        assert_eq!(between(None, read(1)), None);
        assert_eq!(Totals::of_groups(&[]), None);
    }
}
