//! The line on a terminal that tells how a run goes.

use std::io::{self, IsTerminal, Write};

use load::engine::Plan;
use load::report::summary;
use load::run::Standing;
use measure::Duration;

use crate::terminal::{self, CLEARED};

pub(super) struct Progress<'p> {
    plan: &'p Plan,
    /// Whether anybody looks.
    is_seen: bool,
}

impl<'p> Progress<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, is_seen: io::stderr().is_terminal() }
    }

    pub(super) fn tell(&self, standing: &Standing) {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let latest = standing.latest.as_ref();
        let interval = latest
            .map_or(self.plan.stop.interval, |&(_, lasts_ns, _)| Duration::from_nanos(lasts_ns));
        let progress = summary::Progress {
            at: Duration::from_nanos(standing.at_ns),
            of: self.plan.stop.sessions_max.is_none().then_some(self.plan.stop.after),
            warm_up: self.plan.stop.warm_up,
            latest: latest.map(|(_, _, interval)| interval),
            interval,
            open: count(standing.open),
            asking: count(standing.asking),
            over: standing
                .over_ns
                .map(|(since, until)| (Duration::from_nanos(since), Duration::from_nanos(until))),
        };
        self.show(&format!("{CLEARED}{}", summary::progress(&progress, terminal::columns())));
    }

    /// The line is to be somebody else's.
    pub(super) fn end(&self) {
        self.show(CLEARED);
    }

    fn show(&self, text: &str) {
        if self.is_seen {
            // Who does not see it misses nothing else.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}
