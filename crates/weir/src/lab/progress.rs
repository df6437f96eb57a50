//! What is told while a run goes on: a line for each point that is not good, and on a terminal one
//! that says what is measured now and how long all of it will take.

use std::io::{self, IsTerminal, Write};

use lab::curves;
use lab::schedule::News;

use crate::terminal::{self, CLEARED, cut};

pub(super) struct Progress {
    is_seen: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { is_seen: io::stderr().is_terminal() }
    }

    pub(super) fn tell(&self, news: &News<'_>) {
        match news {
            News::Begins { spec, done, left, left_s } if self.is_seen => {
                let left_s = left_s.ceil() as u64;
                let (minutes, seconds) = (left_s / 60, left_s % 60);
                let line = format!(
                    "{done} done, {left} or more to go, {minutes}:{seconds:02} left: {} {}",
                    spec.experiment,
                    curves::name(spec)
                );
                self.show(&format!("{CLEARED}{}", cut(&line, terminal::columns())));
            }
            News::Ended(point) if !point.verdict.is_good() => {
                let cleared = if self.is_seen { CLEARED } else { "" };
                let line = format!("weir: {}: {}", curves::name(&point.spec), point.verdict);
                self.show(&format!("{cleared}{}\n", cut(&line, LINE_COLUMNS)));
            }
            News::Begins { .. } | News::Ended(_) => {}
        }
    }

    /// The line is to be somebody else's.
    pub(super) fn end(&self) {
        if self.is_seen {
            self.show(CLEARED);
        }
    }

    fn show(&self, text: &str) {
        // Who does not see it misses nothing else.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Of a line that stays: whatever else there is to say of a point stands on the page.
const LINE_COLUMNS: usize = 200;
