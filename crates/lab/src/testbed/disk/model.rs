//! How long a read takes on a disk.

use std::fmt;
use std::str::FromStr;

use measure::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// A disk that makes one wait. As text: `delay-us=3000`, or with an arm
/// `delay-us=0,seek-us=9000,turn-us=6000,mb-per-s=75`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Disk {
    /// Of each read, whatever others there are: several are in flight, and no number of bytes in a
    /// second is too many.
    pub delay_us: u32,
    /// What comes on top where reads share one arm; none: they share nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
}

/// One arm over one platter: a read after the other, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// From the first byte to the last; less far it takes the root of the share, as an arm first
    /// gains speed. A read that begins where the last one ended needs none, and no turn.
    pub seek_us: u32,
    /// Of the platter: half of one is waited for, on the average.
    pub turn_us: u32,
    /// From the platter.
    pub mb_per_s: u32,
}

/// Where the arm is, and until when it is at work.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    at: u64,
    until: Option<Instant>,
}

impl Disk {
    /// When a read is over that comes now, on a disk of so many bytes.
    pub(super) fn due(
        &self,
        place: &mut Place,
        now: Instant,
        (at, bytes): (u64, u32),
        disk_bytes: u64,
    ) -> Instant {
        let delay = Duration::from_micros(self.delay_us.into());
        let Some(arm) = self.arm else { return now + delay };
        let begins = place.until.map_or(now, |until| until.max(now));
        let distance = at.abs_diff(place.at) as f64 / disk_bytes.max(1) as f64;
        let moves_us = match distance {
            0.0 => 0.0,
            share => f64::from(arm.seek_us) * share.sqrt() + f64::from(arm.turn_us) / 2.0,
        };
        // Bytes by millions of bytes in a second are millionths of a second.
        let reads_us = f64::from(bytes) / f64::from(arm.mb_per_s);
        let ends = begins + Duration::from_nanos(((moves_us + reads_us) * 1e3) as u64);
        *place = Place { at: at + u64::from(bytes), until: Some(ends) };
        ends + delay
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delay-us={}", self.delay_us)?;
        let Some(Arm { seek_us, turn_us, mb_per_s }) = self.arm else { return Ok(()) };
        write!(f, ",seek-us={seek_us},turn-us={turn_us},mb-per-s={mb_per_s}")
    }
}

impl FromStr for Disk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WRONG: &str = "has to be delay-us=US, or with an arm \
            delay-us=US,seek-us=US,turn-us=US,mb-per-s=N";
        let mut values = [None; 4];
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or(WRONG)?;
            let place = ["delay-us", "seek-us", "turn-us", "mb-per-s"];
            let place = place.iter().position(|known| *known == name).ok_or(WRONG)?;
            values[place] = Some(value.parse().ok().filter(|of| *of <= MOST_US).ok_or(WRONG)?);
        }
        let delay_us = values[0].ok_or(WRONG)?;
        let arm = match (values[1], values[2], values[3]) {
            (None, None, None) => None,
            (Some(seek_us), Some(turn_us), Some(mb_per_s)) if mb_per_s > 0 => {
                Some(Arm { seek_us, turn_us, mb_per_s })
            }
            _ => return Err(WRONG.into()),
        };
        Ok(Self { delay_us, arm })
    }
}

/// Clients give up before.
const MOST_US: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const ARM: Arm = Arm { seek_us: 8_000, turn_us: 6_000, mb_per_s: 100 };

    fn dues(disk: Disk, reads: &[(u64, u64, u32)]) -> Vec<u64> {
        let mut place = Place::default();
        let due = |(now_us, at, bytes): &(u64, u64, u32)| {
            let now = Instant { ns: now_us * 1_000 };
            disk.due(&mut place, now, (*at, *bytes), 100_000_000).ns / 1_000
        };
        reads.iter().map(due).collect()
    }

    #[test]
    fn reads_wait_beside_each_other_unless_they_share_an_arm() {
        let free = Disk { delay_us: 5_000, arm: None };
        let one_arm = Disk { delay_us: 100, arm: Some(ARM) };
        // When they come, where, and how many bytes; and when they are over.
        let rows: [(Disk, &[(u64, u64, u32)], &[u64]); 4] = [
            (free, &[(0, 0, 1), (0, 9, 1_000_000), (7, 0, 1)], &[5_000, 5_000, 5_007]),
            // At the begin the arm is where it is wanted; then it goes on from there.
            (one_arm, &[(0, 0, 100_000), (0, 100_000, 100_000)], &[1_100, 2_100]),
            // A quarter of the way takes half of the seek; half of a turn comes on top.
            (one_arm, &[(0, 25_000_000, 100_000)], &[4_000 + 3_000 + 1_000 + 100]),
            // Who comes when it is idle waits for nobody.
            (one_arm, &[(0, 0, 100_000), (90_000, 100_000, 100_000)], &[1_100, 91_100]),
        ];
        for (disk, reads, expected) in rows {
            assert_eq!(dues(disk, reads), expected, "{disk} {reads:?}");
        }
    }

    #[test]
    fn a_disk_is_written_as_it_is_read() {
        for text in ["delay-us=3000", "delay-us=0,seek-us=8000,turn-us=6000,mb-per-s=100"] {
            assert_eq!(text.parse::<Disk>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "3000",
            "delay-us=x",
            "delay-us=1000001",
            "seek-us=1",
            "delay-us=1,seek-us=1",
            "delay-us=1,seek-us=1,turn-us=1,mb-per-s=0",
            "delay-us=1,speed=2",
        ] {
            assert!(text.parse::<Disk>().is_err(), "{text}");
        }
    }
}
