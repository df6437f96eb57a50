//! The line on a terminal that tells how a run goes.

use std::io::{self, IsTerminal, Write};

use load::engine::Plan;
use load::report::summary;
use load::run::{News, Standing};
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

    pub(super) fn tell(&mut self, news: &News) {
        match news {
            News::Standing(standing) => self.stand(standing),
            News::Stopping => {
                self.show(&format!(
                    "{CLEARED}weir: waits for replies; once more, and it ends without results\n"
                ));
                // Whoever ends it now has an empty line to go on with.
                self.is_seen = false;
            }
        }
    }

    fn stand(&self, standing: &Standing) {
        let latest = standing.latest.as_ref();
        let interval = latest
            .map_or(self.plan.stop.interval, |&(_, lasts_ns, _)| Duration::from_nanos(lasts_ns));
        let progress = summary::Progress {
            at: Duration::from_nanos(standing.at_ns),
            of: self.plan.stop.sessions_max.is_none().then_some(self.plan.stop.after),
            warm_up: self.plan.stop.warm_up,
            latest: latest.map(|(_, _, interval)| interval),
            interval,
            open: usize::try_from(standing.open).unwrap_or(usize::MAX),
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
