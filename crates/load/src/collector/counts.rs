//! What became of requests, in httperf's classes and ours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Outcome, Step};

/// Outcomes, each counted once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Counts {
    of: [u64; CLASSES.len()],
    /// Of `Outcome::Status`.
    statuses: BTreeMap<u16, u64>,
}

/// An outcome's name, and the class that it is summed up in: httperf's word where it has one.
const CLASSES: [(&str, &str); 24] = [
    ("good", "good"),
    ("status", "status"),
    ("wrong", "wrong"),
    ("client-timo-connect", "client-timo"),
    ("client-timo-send", "client-timo"),
    ("client-timo-first-byte", "client-timo"),
    ("client-timo-reply", "client-timo"),
    ("socket-timo", "socket-timo"),
    ("connrefused", "connrefused"),
    ("connreset-connect", "connreset"),
    ("connreset-send", "connreset"),
    ("connreset-first-byte", "connreset"),
    ("connreset-reply", "connreset"),
    ("ended-connect", "ended"),
    ("ended-send", "ended"),
    ("ended-first-byte", "ended"),
    ("ended-reply", "ended"),
    ("malformed", "malformed"),
    ("unread", "unread"),
    ("fd-unavail", "fd-unavail"),
    ("addrunavail", "addrunavail"),
    ("not-started", "not-started"),
    ("unreachable", "unreachable"),
    ("other", "other"),
];

const fn place(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Good => 0,
        Outcome::Status(_) => 1,
        Outcome::Wrong => 2,
        Outcome::Impatient(step) => 3 + step as usize,
        Outcome::TimedOut => 7,
        Outcome::Refused => 8,
        Outcome::Reset(step) => 9 + step as usize,
        Outcome::Ended(step) => 13 + step as usize,
        Outcome::Malformed => 17,
        Outcome::Unread => 18,
        Outcome::NoDescriptor => 19,
        Outcome::NoAddress => 20,
        Outcome::NotStarted => 21,
        Outcome::Unreachable => 22,
        Outcome::Other => 23,
    }
}

/// The name of an outcome, as it stands in files.
#[must_use]
pub const fn name(outcome: Outcome) -> &'static str {
    CLASSES[place(outcome)].0
}

/// Whether a reply came whole, whatever it was.
#[must_use]
pub const fn is_reply(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Good | Outcome::Status(_) | Outcome::Wrong)
}

/// Whether somebody's patience was over: the client's or its kernel's.
#[must_use]
pub const fn is_timeout(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Impatient(_) | Outcome::TimedOut)
}

impl Counts {
    /// One more.
    pub fn record(&mut self, outcome: Outcome) {
        self.of[place(outcome)] += 1;
        if let Outcome::Status(status) = outcome {
            *self.statuses.entry(status).or_default() += 1;
        }
    }

    /// All of another's.
    pub fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.of.iter_mut().zip(other.of) {
            *ours = ours.saturating_add(theirs);
        }
        for (&status, &count) in &other.statuses {
            let ours = self.statuses.entry(status).or_default();
            *ours = ours.saturating_add(count);
        }
    }

    /// How many ended so; of `Outcome::Status`, by any status.
    #[must_use]
    pub const fn of(&self, outcome: Outcome) -> u64 {
        self.of[place(outcome)]
    }

    /// All.
    #[must_use]
    pub fn total(&self) -> u64 {
        sum(&self.of)
    }

    /// Whole replies, whatever they were.
    #[must_use]
    pub fn replies(&self) -> u64 {
        sum(&self.of[..3])
    }

    /// See [`is_timeout`].
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        sum(&self.of[3..8])
    }

    /// Those that were sent and whose connection ended, before a reply or within it, by whatever
    /// but the client's patience.
    #[must_use]
    pub fn broken_off(&self) -> u64 {
        let ends = [
            Outcome::Reset(Step::FirstByte),
            Outcome::Ended(Step::FirstByte),
            Outcome::Reset(Step::Reply),
            Outcome::Ended(Step::Reply),
        ];
        ends.into_iter().fold(0, |sum, end| sum.saturating_add(self.of(end)))
    }

    /// Those without a whole reply because their connection was refused, reset or ended, or because
    /// the network led nowhere: all that failed neither by the client's patience nor for want of
    /// something of the client's own.
    #[must_use]
    pub fn losses(&self) -> u64 {
        let of_network = [Outcome::Unreachable, Outcome::Other].map(|outcome| self.of(outcome));
        let first = place(Outcome::TimedOut);
        sum(&self.of[first..=place(Outcome::Ended(Step::Reply))]).saturating_add(sum(&of_network))
    }

    /// Replies with another status than was expected, by status.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        self.statuses.iter().map(|(&status, &count)| (status, count))
    }

    /// Each class that has any, with how many; in one order always.
    #[must_use]
    pub fn classes(&self) -> Vec<(&'static str, u64)> {
        let mut classes: Vec<(&str, u64)> = Vec::new();
        for ((_, class), count) in CLASSES.into_iter().zip(self.of) {
            match classes.last_mut() {
                Some((last, sum)) if *last == class => *sum = sum.saturating_add(count),
                _ => classes.push((class, count)),
            }
        }
        classes.retain(|&(_, count)| count > 0);
        classes
    }
}

/// Saturates: a file may say anything.
fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
}

/// As it stands in a file: what there was, by name.
#[derive(Serialize, Deserialize)]
struct Written {
    by: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
}

impl From<Counts> for Written {
    fn from(counts: Counts) -> Self {
        let named = CLASSES.iter().zip(counts.of).filter(|&(_, count)| count > 0);
        let by = named.map(|((name, _), count)| (String::from(*name), count)).collect();
        Self { by, statuses: counts.statuses }
    }
}

impl TryFrom<Written> for Counts {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let mut counts = Self { statuses: written.statuses, ..Self::default() };
        for (name, count) in written.by {
            let Some(place) = CLASSES.iter().position(|&(known, _)| known == name) else {
                return Err(format!("no outcome is called {name:?}"));
            };
            counts.of[place] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_its_class() {
        // (outcome, name, class)
        let rows = [
            (Outcome::Good, "good", "good"),
            (Outcome::Status(503), "status", "status"),
            (Outcome::Wrong, "wrong", "wrong"),
            (Outcome::Impatient(Step::Connect), "client-timo-connect", "client-timo"),
            (Outcome::Impatient(Step::Send), "client-timo-send", "client-timo"),
            (Outcome::Impatient(Step::FirstByte), "client-timo-first-byte", "client-timo"),
            (Outcome::Impatient(Step::Reply), "client-timo-reply", "client-timo"),
            (Outcome::TimedOut, "socket-timo", "socket-timo"),
            (Outcome::Refused, "connrefused", "connrefused"),
            (Outcome::Reset(Step::Connect), "connreset-connect", "connreset"),
            (Outcome::Reset(Step::Reply), "connreset-reply", "connreset"),
            (Outcome::Ended(Step::Connect), "ended-connect", "ended"),
            (Outcome::Ended(Step::Reply), "ended-reply", "ended"),
            (Outcome::Malformed, "malformed", "malformed"),
            (Outcome::Unread, "unread", "unread"),
            (Outcome::NoDescriptor, "fd-unavail", "fd-unavail"),
            (Outcome::NoAddress, "addrunavail", "addrunavail"),
            (Outcome::NotStarted, "not-started", "not-started"),
            (Outcome::Unreachable, "unreachable", "unreachable"),
            (Outcome::Other, "other", "other"),
        ];
        for (outcome, expected, class) in rows {
            let mut counts = Counts::default();
            counts.record(outcome);
            assert_eq!(name(outcome), expected);
            assert_eq!(counts.classes(), [(class, 1)], "{outcome:?}");
            assert_eq!(counts.replies(), u64::from(is_reply(outcome)), "{outcome:?}");
            assert_eq!(counts.timeouts(), u64::from(is_timeout(outcome)), "{outcome:?}");
            assert_eq!((counts.total(), counts.of(outcome)), (1, 1), "{outcome:?}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_not_read() {
        let text = r#"{"by":{"good":1,"splendid":2},"statuses":{}}"#;
        let error = serde_json::from_str::<Counts>(text).unwrap_err().to_string();
        assert!(error.contains("splendid"), "{error}");
    }
}
