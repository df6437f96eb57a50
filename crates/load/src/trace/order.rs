//! Requests in the order of time, and apart where the log knows only seconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fault::Fault;
use super::request::Way;
use crate::files::FileId;

/// One request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// Microseconds since 1970.
    pub(crate) at_us: i64,
    /// Equal for requests of the same one.
    pub(crate) client: u64,
    pub(crate) file: FileId,
    pub(crate) way: Way,
}

/// How exactly a log knows when a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    Second,
    Microsecond,
}

/// Servers log a request when it is over, with the time at which it came. So many requests may end
/// before one that came earlier: a transfer of ten minutes at a hundred others in a second.
const WAITING_MAX: usize = 64 << 10;

/// Requests within a second that are spread over it; of more, each so many are.
const SECOND_MAX: usize = 1 << 20;

pub(crate) struct Order {
    resolution: Resolution,
    /// By time, and as logged where that is the same.
    waiting: BinaryHeap<Reverse<(i64, u64, Seen)>>,
    /// All of the same second.
    second: Vec<Seen>,
    latest_us: i64,
    count: u64,
    /// Came when later ones had been given already.
    pub(crate) late: u64,
}

/// Whoever takes requests in order.
type Give<'g> = dyn FnMut(Seen) -> Result<(), Fault> + 'g;

impl Order {
    pub(crate) fn new(resolution: Resolution) -> Self {
        let (waiting, second) = (BinaryHeap::new(), Vec::new());
        Self { resolution, waiting, second, latest_us: i64::MIN, count: 0, late: 0 }
    }

    pub(crate) fn put(&mut self, seen: Seen, give: &mut Give<'_>) -> Result<(), Fault> {
        self.waiting.push(Reverse((seen.at_us, self.count, seen)));
        self.count += 1;
        if self.waiting.len() > WAITING_MAX { self.pass_first(give) } else { Ok(()) }
    }

    pub(crate) fn finish(&mut self, give: &mut Give<'_>) -> Result<(), Fault> {
        while !self.waiting.is_empty() {
            self.pass_first(give)?;
        }
        self.spread(give)
    }

    fn pass_first(&mut self, give: &mut Give<'_>) -> Result<(), Fault> {
        let Some(Reverse((_, _, mut seen))) = self.waiting.pop() else { return Ok(()) };
        if seen.at_us < self.latest_us {
            self.late += 1;
            seen.at_us = self.latest_us;
        }
        self.latest_us = seen.at_us;
        if self.resolution == Resolution::Microsecond {
            return give(seen);
        }
        let is_next = self.second.first().is_some_and(|first| first.at_us != seen.at_us);
        if is_next || self.second.len() == SECOND_MAX {
            self.spread(give)?;
        }
        self.second.push(seen);
        Ok(())
    }

    /// Evenly: the first of four comes with the second, the last 0.75 s later.
    fn spread(&mut self, give: &mut Give<'_>) -> Result<(), Fault> {
        let count = self.second.len() as i64;
        for (place, mut seen) in (0..).zip(self.second.drain(..)) {
            seen.at_us += place * 1_000_000 / count;
            give(seen)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    /// Times and, as clients, the places in the log.
    fn ordered(resolution: Resolution, times: &[i64]) -> (Vec<(i64, u64)>, u64) {
        let mut order = Order::new(resolution);
        let mut given = Vec::new();
        let mut give = |seen: Seen| {
            given.push((seen.at_us, seen.client));
            Ok(())
        };
        for (client, &at_us) in (0..).zip(times) {
            let seen = Seen { at_us, client, file: FileId(0), way: Way::Get };
            order.put(seen, &mut give).unwrap();
        }
        order.finish(&mut give).unwrap();
        (given, order.late)
    }

    #[test]
    fn seconds_are_spread_and_microseconds_are_not() {
        type Row<'r> = (Resolution, &'r [i64], &'r [(i64, u64)]);
        let rows: [Row<'_>; 4] = [
            (Resolution::Second, &[], &[]),
            (
                Resolution::Second,
                &[0, 0, S, S, S, S, 5 * S],
                &[
                    (0, 0),
                    (S / 2, 1),
                    (S, 2),
                    (S + S / 4, 3),
                    (S + S / 2, 4),
                    (S + 3 * S / 4, 5),
                    (5 * S, 6),
                ],
            ),
            // One that ended late is put where it began.
            (Resolution::Second, &[S, 2 * S, S], &[(S, 0), (S + S / 2, 2), (2 * S, 1)]),
            (Resolution::Microsecond, &[7, 5, 7], &[(5, 1), (7, 0), (7, 2)]),
        ];
        for (resolution, times, expected) in rows {
            assert_eq!(ordered(resolution, times), (expected.to_vec(), 0), "{times:?}");
        }
    }

    #[test]
    fn what_is_later_than_the_window_never_goes_back_in_time() {
        let mut times: Vec<i64> = (0..2 * WAITING_MAX as i64).collect();
        times.push(3);
        let (given, late) = ordered(Resolution::Microsecond, &times);
        assert_eq!(late, 1);
        assert!(given.is_sorted_by_key(|(at_us, _)| *at_us));
        assert_eq!(given.len(), times.len());
    }
}
