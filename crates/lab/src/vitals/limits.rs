//! When a machine was not quiet enough for its figures to count.

use super::Others;

/// How much others may have had of the processors that were watched, as shares of their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Given to somebody else by the hypervisor.
    pub steal_share: f64,
    /// Used by programs that belong to neither side.
    pub foreign_share: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steal_share: STEAL_SHARE_MAX, foreign_share: FOREIGN_SHARE_MAX }
    }
}

/// A quiet guest with two processors showed up to 0.7 % over six seconds, in steps of one tick of
/// 10 ms; a hundredth is already as much as the difference that a knob makes.
pub const STEAL_SHARE_MAX: f64 = 0.01;

/// The same guest showed 0.5 to 1.2 % with nothing but the load on it, at 100 to 10,000 requests a
/// second: what runs on any machine. A compiler on one of two processors is 50 %. Twentieth parts
/// move a reply rate at saturation by as much as the spread that makes a point unstable.
pub const FOREIGN_SHARE_MAX: f64 = 0.05;

/// How a complaint of others begins.
pub(crate) const STEAL: &str = "the hypervisor gave time to others";
pub(crate) const FOREIGN: &str = "other programs ran";

impl Others {
    /// Why figures taken between these readings do not count: a line each; none: they do.
    #[must_use]
    pub fn complaints(&self, limits: &Limits) -> Vec<String> {
        let rows = [
            (self.steal_share, limits.steal_share, STEAL),
            (self.foreign_share, limits.foreign_share, FOREIGN),
        ];
        let over = rows.into_iter().filter(|(share, limit, ..)| share > limit);
        let line = |(share, limit, what): (f64, f64, &str)| {
            let (share, limit) = (share * 100.0, limit * 100.0);
            format!("{what}: {share:.1} % of the processors; more than {limit:.0} % is too much")
        };
        over.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_its_limit_is_complained_of() {
        let steal = "the hypervisor gave time to others: 2.0 % of the processors; more than 1 % is \
                     too much";
        let foreign = "other programs ran: 7.5 % of the processors; more than 5 % is too much";
        let rows: [(f64, f64, &[&str]); 4] = [
            (0.0025, 0.007, &[]),
            (0.02, 0.05, &[steal]),
            (0.01, 0.075, &[foreign]),
            (0.02, 0.075, &[steal, foreign]),
        ];
        for (steal_share, foreign_share, expected) in rows {
            let others = Others { foreign_us: 0, foreign_share, kernel_threads_us: 0, steal_share };
            assert_eq!(others.complaints(&Limits::default()), expected);
        }
    }
}
