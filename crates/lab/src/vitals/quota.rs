//! What a quota of processor time has kept a server from (cpu.stat of its control group).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::columns;

/// Periods of a group's quota between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// In which the group wanted to run.
    pub periods: u64,
    /// Of them, those whose quota was used up before their end.
    pub spent: u64,
    /// For so long it stood still.
    pub throttled_us: u64,
}

impl Quota {
    /// Of the group that has one; all of it, since the group was made.
    pub(super) fn read(groups: &[PathBuf]) -> Option<Self> {
        groups
            .iter()
            .find_map(|group| Self::parse(&std::fs::read_to_string(group.join("cpu.stat")).ok()?))
    }

    /// Version 2 counts in microseconds, version 1 in nanoseconds.
    fn parse(text: &str) -> Option<Self> {
        let us = columns::line(text, "throttled_usec");
        let us = us.or_else(|| Some(columns::line(text, "throttled_time")? / 1_000))?;
        Some(Self {
            periods: columns::line(text, "nr_periods")?,
            spent: columns::line(text, "nr_throttled")?,
            throttled_us: us,
        })
    }

    pub(super) fn between(before: Option<Self>, after: Option<Self>) -> Option<Self> {
        let (before, after) = (before?, after?);
        Some(Self {
            periods: after.periods.saturating_sub(before.periods),
            spent: after.spent.saturating_sub(before.spent),
            throttled_us: after.throttled_us.saturating_sub(before.throttled_us),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let one = "nr_periods 9\nnr_throttled 4\nthrottled_time 5000000\nnr_bursts 0\n";
        let two = "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 5000\n";
        let expected = Some(Quota { periods: 9, spent: 4, throttled_us: 5_000 });
        // A group of version 2 without the controller.
        for (text, expected) in [(one, expected), (two, expected), ("usage_usec 1\n", None)] {
            assert_eq!(Quota::parse(text), expected, "{text}");
        }
    }
}
