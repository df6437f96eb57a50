//! What is told while a run goes on: a line for each point that is not good, and on a terminal one
//! that says what is measured now and how long all of it will take.

use std::io::{self, IsTerminal, Write};

use lab::curves;
use lab::schedule::News;

/// Back to the beginning of a line that is empty (ECMA-48: CR, EL).
const CLEARED: &str = "\r\x1b[K";

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
                self.show(&format!("{CLEARED}{}", cut(&line, COLUMNS)));
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

/// A line that breaks cannot be written over.
const COLUMNS: usize = 110;

/// Of a line that stays: whatever else there is to say of a point stands on the page.
const LINE_COLUMNS: usize = 200;

/// As one line of so many columns at most.
fn cut(line: &str, columns: usize) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    if line.chars().count() <= columns {
        return line.chars().map(shown).collect();
    }
    line.chars().map(shown).take(columns - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_end() {
        for (line, expected) in
            [("", ""), ("abcd", "abcd"), ("abcde", "abc…"), ("µµµµ", "µµµµ"), ("a\nb\x1b", "a b ")]
        {
            assert_eq!(cut(line, 4), expected, "{line:?}");
        }
    }
}
