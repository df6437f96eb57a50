//! Packets that had arrived at a machine, and were dropped before its programs could have them.

use std::fs;

use os::NetCounts;
use serde::{Deserialize, Serialize};

use super::Side;
use super::queues::{count, look};
use crate::Failure;

/// Between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Losses {
    /// A processor of the machine had too many packets waiting for it
    /// (net.core.netdev_max_backlog), whosever they were.
    pub backlog: u64,
    /// A socket of the machine had no room left (TcpExt TCPBacklogDrop, TCPRcvQDrop).
    pub sockets: u64,
    /// A processor of the machine had to leave packets for later, as it had done enough of this
    /// work: none is lost by that.
    pub squeezed: u64,
}

impl Losses {
    /// Why a measurement does not count during which clients lost these: to them it looks as if the
    /// server had not answered.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let Self { backlog, sockets, .. } = self;
        (backlog + sockets > 0).then(|| {
            format!(
                "packets were lost on the client's machine: {backlog} as its processors had too \
                 many (net.core.netdev_max_backlog), {sockets} as its sockets had no room"
            )
        })
    }

    /// Since the machine started.
    pub(super) fn read(side: &Side) -> Result<Self, Failure> {
        let path = "/proc/net/softnet_stat";
        let text = fs::read_to_string(path).map_err(|error| Failure::machine(path, error))?;
        let wrong = || Failure::machine(path, "is not as the kernel writes it");
        let of_processors = of_processors(&text, &side.processors).ok_or_else(wrong)?;
        let counts = look(side, NetCounts::read)?;
        let sockets = ["TCPBacklogDrop", "TCPRcvQDrop"].map(|name| count(&counts, "TcpExt", name));
        Ok(Self { sockets: sockets.iter().sum(), ..of_processors })
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            backlog: self.backlog.saturating_sub(earlier.backlog),
            sockets: self.sockets.saturating_sub(earlier.sockets),
            squeezed: self.squeezed.saturating_sub(earlier.squeezed),
        }
    }
}

/// A line for each processor, in hexadecimal numbers: the second one is what was dropped, the third
/// how often work was left. The 13th says which processor it is; before Linux 5.10 it is the line
/// that does. No numbers: all processors.
fn of_processors(text: &str, numbers: &[usize]) -> Option<Losses> {
    let mut all = Losses::default();
    for (place, line) in text.lines().enumerate() {
        let column = |at| {
            let word = line.split_ascii_whitespace().nth(at)?;
            u32::from_str_radix(word, 16).ok()
        };
        let number = column(12).map_or(place, |number| number as usize);
        let (dropped, squeezed) = (column(1)?, column(2)?);
        if numbers.is_empty() || numbers.contains(&number) {
            all.backlog += u64::from(dropped);
            all.squeezed += u64::from(squeezed);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_processor_dropped_is_its_machines() {
        let line = |dropped, squeezed, number: &str| {
            format!("00298dc4 {dropped:08x} {squeezed:08x} 0 0 0 0 0 0 0 0 0 {number}\n")
        };
        let today = line(17, 2, "00000001 0 0") + &line(4, 1, "00000003 0 0");
        let before = line(17, 2, "") + &line(4, 1, "");
        let rows = [
            (&*today, &[1][..], Some((17, 2))),
            (&today, &[3], Some((4, 1))),
            (&today, &[0, 2], Some((0, 0))),
            (&today, &[], Some((21, 3))),
            (&before, &[1], Some((4, 1))),
            ("", &[], Some((0, 0))),
            ("12 x 0", &[], None),
            ("12", &[], None),
        ];
        for (text, numbers, expected) in rows {
            let told = of_processors(text, numbers).map(|of| (of.backlog, of.squeezed));
            assert_eq!(told, expected, "{text} {numbers:?}");
        }
    }

    #[test]
    fn packets_that_a_client_lost_are_complained_of() {
        let words = "packets were lost on the client's machine: 3 as its processors had too many \
                     (net.core.netdev_max_backlog), 4 as its sockets had no room";
        for ((backlog, sockets), expected) in [((0, 0), None), ((3, 4), Some(words))] {
            let losses = Losses { backlog, sockets, squeezed: 9 };
            assert_eq!(losses.complaint().as_deref(), expected);
        }
    }
}
