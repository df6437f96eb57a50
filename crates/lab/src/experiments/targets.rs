//! What is promised of one beside another, as a ratio, and whether it was kept.

use crate::claim::Side;
use crate::compare::{self, PAIRS_MIN, Pair, Ratio};
use crate::curves::{self, counted, number, ratio_text};
use crate::known::Cell;
use crate::metric::Metric;
use crate::page::{NONE, Table};

/// How many times as much one has as the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// What the repeats tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Met,
    Refuted,
    Open,
}

/// One of them, with what was measured.
pub(super) struct Target<'k> {
    /// Under which load.
    pub(super) load: String,
    pub(super) metric: &'k Metric,
    pub(super) bound: Bound,
    pub(super) one: Side<'k>,
    pub(super) other: Side<'k>,
}

/// An interval that reaches no further from its middle is narrow: five points of a hundred.
const NARROW: f64 = 0.05;

const HOW: &str = "\
    Judged is the ratio of the medians, by its 95 % interval. A target is met where the middle is \
     on the right side of the bound and the interval reaches at most 5 points to each side of it, \
     or where all of the interval is on the right side; it is refuted where none of it is. All \
     else is not told, as are fewer than three pairs of repeats.";

impl Bound {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
        }
    }

    pub(super) fn judged(self, ratio: &Ratio, pairs: usize) -> Told {
        let Ratio { middle, low, high } = *ratio;
        let (worse, better) = match self {
            Self::AtLeast(_) => (low, high),
            Self::AtMost(_) => (high, low),
        };
        let is_narrow = middle - low <= NARROW && high - middle <= NARROW;
        if pairs < PAIRS_MIN {
            Told::Open
        } else if !self.holds(better) {
            Told::Refuted
        } else if self.holds(worse) || self.holds(middle) && is_narrow {
            Told::Met
        } else {
            Told::Open
        }
    }

    fn words(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {bound}"),
            Self::AtMost(bound) => format!("at most {bound}"),
        }
    }
}

impl Told {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Refuted => "refuted",
            Self::Open => "not told",
        }
    }
}

impl Target<'_> {
    fn pairs(&self) -> Vec<Pair> {
        let (Some(one), Some(other)) = (self.one.1, self.other.1) else { return Vec::new() };
        one.pairs(other, self.metric)
    }

    fn is_failed(&self) -> bool {
        [&self.one, &self.other].iter().any(|of| of.1.is_some_and(Cell::is_failed))
    }

    fn verdict(&self) -> &'static str {
        let pairs = self.pairs();
        match Ratio::of(&pairs, compare::MISSED_SHARE) {
            _ if self.is_failed() => "failed verification",
            Some(ratio) => self.bound.judged(&ratio, pairs.len()).words(),
            None if pairs.is_empty() => "not measured",
            None => Told::Open.words(),
        }
    }

    fn row(&self) -> Vec<String> {
        let pairs = self.pairs();
        let alone = || match pairs.first() {
            Some((one, other)) if *other > 0.0 => number(one / other),
            _ => NONE.into(),
        };
        let ratio = Ratio::of(&pairs, compare::MISSED_SHARE);
        vec![
            self.load.clone(),
            self.one.0.clone(),
            self.metric.label.into(),
            format!("{} of {}", self.bound.words(), self.other.0),
            ratio.map_or_else(alone, |ratio| ratio_text(&ratio)),
            pairs.len().to_string(),
            curves::marked(self.verdict().into(), self.is_failed()),
        ]
    }
}

/// A row for each; none of no targets.
pub(super) fn table(title: &str, targets: &[Target<'_>]) -> Option<Table> {
    let head = ["load", "who", "what", "promised", "ratio (95 % interval)", "pairs", "verdict"];
    (!targets.is_empty()).then(|| Table {
        title: title.into(),
        head: head.map(String::from).into(),
        rows: targets.iter().map(Target::row).collect(),
        notes: vec![HOW.into()],
    })
}

/// How many came out how; none of no targets.
pub(super) fn answer(targets: &[Target<'_>]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for verdict in targets.iter().map(Target::verdict) {
        match counts.iter_mut().find(|(of, _)| *of == verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((verdict, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let told = counts.join(", ");
    (!targets.is_empty()).then(|| format!("Of {}: {told}.", counted(targets.len(), "target")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_judged_by_both_ends_of_its_interval() {
        use {Bound as B, Told as T};
        // The bound, the middle with its interval, how many pairs, and the verdict.
        let rows = [
            (B::AtLeast(0.9), (0.95, 0.91, 1.2), 3, T::Met),
            (B::AtLeast(0.9), (0.91, 0.87, 0.95), 12, T::Met),
            (B::AtLeast(0.9), (0.91, 0.80, 0.95), 12, T::Open),
            (B::AtLeast(0.9), (0.89, 0.87, 0.91), 12, T::Open),
            (B::AtLeast(0.9), (0.85, 0.80, 0.89), 12, T::Refuted),
            (B::AtMost(1.1), (1.05, 0.80, 1.09), 3, T::Met),
            (B::AtMost(1.1), (1.08, 1.04, 1.12), 12, T::Met),
            (B::AtMost(1.1), (1.08, 1.00, 1.12), 12, T::Open),
            (B::AtMost(1.1), (1.12, 1.09, 1.15), 12, T::Open),
            (B::AtMost(1.1), (1.15, 1.11, 1.19), 12, T::Refuted),
            // Two are equal by chance too often.
            (B::AtMost(1.1), (1.0, 1.0, 1.0), 2, T::Open),
            (B::AtMost(1.1), (2.0, 2.0, 2.0), 2, T::Open),
        ];
        for (bound, (middle, low, high), pairs, expected) in rows {
            let told = bound.judged(&Ratio { middle, low, high }, pairs);
            assert_eq!(told, expected, "{bound:?} {middle} {low} {high} {pairs}");
        }
    }
}
