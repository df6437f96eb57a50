//! What a server had no more of while it was measured, and whether a flood was one.

use crate::design::OF_CAPACITY;
use crate::known::Cell;
use crate::page::NONE;
use crate::point::Point;
use crate::vitals::Quota;

/// See [`Limit::of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Its processors had nearly no idle time.
    Processor,
    /// It used up its quota in nearly every period.
    Quota,
    /// Nothing of that: something else was the limit, such as its knobs or its disk.
    Neither,
}

/// Of the time of its processors, more than this is left over.
const IDLE_SHARE: f64 = 0.05;

/// Of its periods, a server that could do more with a larger quota has spent at least so many.
const SPENT_SHARE: f64 = 0.9;

impl Limit {
    /// Of a point; `None`: it was not looked at, or it shared its processors with its clients.
    #[must_use]
    pub fn of(point: &Point) -> Option<Self> {
        let vitals = point.vitals.as_ref().filter(|_| !point.spec.layout.is_loopback)?;
        let of = &vitals.server.processors;
        let all_us = vitals.elapsed_us * of.numbers.len() as u64;
        let spent = |of: Quota| of.spent as f64 / of.periods.max(1) as f64;
        let idle = (of.idle_us + of.iowait_us) as f64 / all_us.max(1) as f64;
        Some(Self::by(idle, vitals.quota.map_or(0.0, spent)))
    }

    /// By the idle share of its processors' time, and the share of its periods that it spent.
    fn by(idle: f64, spent: f64) -> Self {
        match (idle <= IDLE_SHARE, spent >= SPENT_SHARE) {
            (true, _) => Self::Processor,
            (false, true) => Self::Quota,
            (false, false) => Self::Neither,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Quota => "quota",
            Self::Neither => "neither",
        }
    }
}

/// Over the column of [`told`].
pub const HEADING: &str = "was out of";

/// Beside what a server answered to a flood that was none.
pub const NO_OVERLOAD: &str = "no overload: it was out of neither its processor nor its quota";

/// Of all points of a cell, each limit once.
#[must_use]
pub fn told(cell: &Cell<'_>) -> String {
    let mut limits: Vec<Limit> = cell.points().filter_map(Limit::of).collect();
    limits.sort_unstable();
    limits.dedup();
    let words: Vec<&str> = limits.into_iter().map(Limit::word).collect();
    match words.as_slice() {
        [] => NONE.into(),
        words if is_no_overload(cell) => format!("{}: no overload", words.join(", ")),
        words => words.join(", "),
    }
}

/// Whether more than a server's capacity was asked for, and half of the repeats or more left it
/// with processor and quota to spare. Beside a disk it waits for that.
#[must_use]
pub fn is_no_overload(cell: &Cell<'_>) -> bool {
    let is_flood = cell.factor(OF_CAPACITY).is_some_and(|of| of > 1.0);
    let has_disk = cell.spec.layout.disk.is_some();
    let limits: Vec<Limit> = cell.points().filter_map(Limit::of).collect();
    let neither = limits.iter().filter(|limit| **limit == Limit::Neither).count();
    is_flood && !has_disk && neither > 0 && 2 * neither >= limits.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_out_of_what_it_has_used_up() {
        let rows = [
            ((0.0, 0.0), Limit::Processor),
            ((0.05, 1.0), Limit::Processor),
            ((0.06, 0.9), Limit::Quota),
            ((0.8, 1.0), Limit::Quota),
            ((0.06, 0.89), Limit::Neither),
            ((1.0, 0.0), Limit::Neither),
        ];
        for ((idle, spent), expected) in rows {
            assert_eq!(Limit::by(idle, spent), expected, "{idle} {spent}");
        }
    }
}
