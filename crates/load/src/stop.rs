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
    /// As what was to begin within this time before the end: who is refused comes again while the
    /// load goes on, and not when it is over and nothing keeps him out any more.
    pub cool_down: Duration,
    /// The results are also reported for each such interval.
    pub interval: Duration,
}

impl Stop {
    /// The end of what is measured, from the start of the run.
    #[must_use]
    pub const fn measured_until(&self) -> Duration {
        self.after.saturating_sub(self.cool_down)
    }
}
