//! When a run is over, and what of it counts.

use measure::Duration;

/// See the head of this file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// No session begins after that, and no request of one; replies are waited for.
    pub after: Duration,
    /// Sessions that begin at most; `None`: as many as come.
    pub sessions_max: Option<u64>,
    /// What was to begin within this time is left out of the results.
    pub warm_up: Duration,
    /// The results are also told for each such interval.
    pub interval: Duration,
}
