//! What a paper says of two measurements or more, and whether it is so here.

use crate::compare::{self, Ratio};
use crate::curves::{number, ratio_text};
use crate::known::Cell;
use crate::metric::Metric;
use crate::page::{Agreement, Comparison};

/// How one is to another, as the paper says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// It has more.
    More,
    /// It has less.
    Less,
    /// It has no more: as much, or less.
    NoMore,
    /// It has no less: as much, or more.
    NoLess,
    /// About as much.
    Alike,
    /// About so many percent of what the other has.
    About(u32),
}

/// Beyond it, two are not alike: less than any difference that the papers speak of as one.
const ALIKE_SHARE: f64 = 0.10;

/// What a verdict takes, for readers of a page.
pub const HOW_SURE: &str = "\
    A ratio is that of the medians, and its 95 % interval stands in brackets. Repeats of the same \
    number are a pair; one repeat says nothing. A yes or a no takes three pairs, medians that are \
    more than 5 % apart, and an interval on one side of 1; to be alike takes an interval within \
    10 %, and to be so many times as much one within 10 % of that. The more rows there are, the \
    more of them would be wrong by chance: so the intervals that decide are wider than those shown \
    (Holm's correction), and in 19 of 20 tables no verdict is one of chance. All else is open.";

/// One of those that are compared: what it is called, and what was measured.
pub type Side<'k> = (String, Option<&'k Cell<'k>>);

/// Beside how many of several others something has to be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Beside each of them.
    Every,
    /// Beside one of them.
    Any,
}

/// Something that a paper says, with what was measured of it.
#[derive(Debug, Clone)]
pub struct Claim<'k> {
    /// `Brecht04 figure 8`.
    pub figure: &'k str,
    /// In words.
    pub paper: &'k str,
    /// How the one is to the others,
    pub says: Says,
    /// by this,
    pub metric: &'k Metric,
    /// at some load, in words behind the metric's name.
    pub at: String,
    /// Of whom it is said.
    pub one: Side<'k>,
    /// Beside how many of the others.
    pub beside: Beside,
    /// There is one at least.
    pub others: Vec<Side<'k>>,
}

/// What became of claims that stand together. Who failed verification is said to have, and supports
/// nothing.
#[must_use]
pub fn judged(claims: &[Claim<'_>]) -> Vec<Comparison> {
    let (mut says, mut pairs) = (Vec::new(), Vec::new());
    for claim in claims {
        for other in &claim.others {
            says.push(claim.says);
            pairs.push(claim.pairs(other));
        }
    }
    let told = compare::told(&pairs, |at, ratio| says[at].of(ratio));
    let mut told = told.into_iter().map(|told| told.unwrap_or(Agreement::Open));
    let each =
        |claim: &Claim<'_>| -> Vec<Agreement> { told.by_ref().take(claim.others.len()).collect() };
    let verdicts: Vec<Vec<Agreement>> = claims.iter().map(each).collect();
    claims.iter().zip(verdicts).map(|(claim, verdicts)| claim.compared(&verdicts)).collect()
}

impl Says {
    /// Whether a ratio settles it.
    pub(crate) fn of(self, ratio: &Ratio) -> Option<Agreement> {
        let settled = |is_so, is_not| match (is_so, is_not) {
            (true, _) => Some(Agreement::Yes),
            (_, true) => Some(Agreement::No),
            _ => None,
        };
        let apart =
            |ratio: &Ratio| ratio.high < 1.0 - ALIKE_SHARE || ratio.low * (1.0 - ALIKE_SHARE) > 1.0;
        match self {
            Self::More => settled(ratio.is_more(), ratio.is_less()),
            Self::Less => settled(ratio.is_less(), ratio.is_more()),
            Self::NoMore => {
                let is_more = ratio.is_more();
                settled(!is_more && ratio.high * (1.0 - ALIKE_SHARE) <= 1.0, is_more)
            }
            Self::NoLess => {
                let is_less = ratio.is_less();
                settled(!is_less && ratio.low >= 1.0 - ALIKE_SHARE, is_less)
            }
            Self::Alike => settled(ratio.is_within(ALIKE_SHARE), apart(ratio)),
            Self::About(percent) => {
                let ratio = ratio.beside(f64::from(percent) / 100.0);
                settled(ratio.is_within(ALIKE_SHARE), apart(&ratio))
            }
        }
    }
}

impl Claim<'_> {
    fn pairs(&self, other: &Side<'_>) -> Vec<compare::Pair> {
        let (Some(one), Some(other)) = (self.one.1, other.1) else { return Vec::new() };
        one.pairs(other, self.metric)
    }

    /// The median; `None`: no figure of it counts.
    fn median(&self, side: &Side<'_>) -> Option<f64> {
        Some(side.1?.judged(self.metric)?.median)
    }

    /// Shown is the hardest of the others: where something is more than every one, that which has
    /// most.
    fn compared(&self, verdicts: &[Agreement]) -> Comparison {
        let has_more = matches!(self.says, Says::More | Says::NoLess);
        let is_most = has_more == (self.beside == Beside::Every);
        let extreme = if is_most { "most" } else { "least" };
        let known = || self.others.iter().filter(|other| self.median(other).is_some());
        let by = |of: &&Side<'_>| self.median(of).unwrap_or_default();
        let (most, least) = (
            known().rev().max_by(|a, b| by(a).total_cmp(&by(b))),
            known().min_by(|a, b| by(a).total_cmp(&by(b))),
        );
        let mut here = match (known().count(), if is_most { most } else { least }) {
            (many @ 2.., Some(shown)) => {
                let name = format!("{}, the {extreme} of {many} others", shown.0);
                self.words(&(name, shown.1))
            }
            (_, shown) => {
                shown.or(self.others.first()).map_or_else(String::new, |of| self.words(of))
            }
        };
        let names = |is_it: &dyn Fn(&Side<'_>, Agreement) -> bool| -> Vec<&str> {
            let others = self.others.iter().zip(verdicts).filter(|(of, told)| is_it(of, **told));
            others.map(|(other, _)| &*other.0).collect()
        };
        let is_known = |of: &Side<'_>| self.median(of).is_some();
        let open = names(&|of, told| is_known(of) && told == Agreement::Open);
        let silent = names(&|of, _| !is_known(of));
        for (what, names) in [("too close to call", open), ("without figures that count", silent)] {
            let is_good = self.one.1.is_some_and(Cell::is_good);
            if self.others.len() > 1 && is_good && !names.is_empty() {
                here += &format!("; {what}: {}", names.join("; "));
            }
        }
        let agrees = together(self.beside, verdicts);
        Comparison { of: self.figure.into(), paper: self.paper.into(), here, agrees }
    }

    /// What was measured of the one beside another.
    fn words(&self, other: &Side<'_>) -> String {
        let both = [&self.one, other];
        let failed: Vec<&str> = both
            .iter()
            .filter(|of| of.1.is_some_and(Cell::is_failed))
            .map(|of| of.0.as_str())
            .collect();
        if !failed.is_empty() {
            let failed = failed.join(", and ");
            return format!("{failed} failed verification: its figures do not count");
        }
        match both.map(|of| self.median(of)) {
            [Some(a), Some(b)] => self.figures(other, (a, b)),
            [None, None] => String::from("not measured"),
            [None, _] => format!("{} was not measured", both[0].0),
            [_, None] => format!("{} was not measured", both[1].0),
        }
    }

    /// Both medians, and how many times as much the one is.
    fn figures(&self, other: &Side<'_>, (a, b): (f64, f64)) -> String {
        let Metric { label, unit, .. } = self.metric;
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let (what, one, other_name) = (format!("{label}{}", self.at), &self.one.0, &other.0);
        let (a_text, b_text) = (number(a), number(b));
        if a <= 0.0 || b <= 0.0 {
            return format!("{what}: {a_text}{unit} with {one}, {b_text}{unit} with {other_name}");
        }
        let ratio = Ratio::of(&self.pairs(other), compare::MISSED_SHARE);
        let times = ratio.map_or_else(|| number(a / b), |ratio| ratio_text(&ratio));
        let nothing = if ratio.is_none() { "; one repeat says nothing" } else { "" };
        format!("{what}: {one} is {times} times {other_name}: {a_text} and {b_text}{unit}{nothing}")
    }
}

/// What verdicts beside several others come to.
fn together(beside: Beside, verdicts: &[Agreement]) -> Agreement {
    let (settles, all) = match beside {
        Beside::Every => (Agreement::No, Agreement::Yes),
        Beside::Any => (Agreement::Yes, Agreement::No),
    };
    match verdicts {
        [] => Agreement::Open,
        verdicts if verdicts.contains(&settles) => settles,
        verdicts if verdicts.iter().all(|verdict| *verdict == all) => all,
        _ => Agreement::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Pair;

    #[test]
    fn a_claim_is_judged_by_what_pairs_tell() {
        use {Agreement as A, Says as S};
        type Row<'r> = (S, &'r [f64], &'r [f64], A);
        let rows: [Row<'_>; 36] = [
            (S::More, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::Yes),
            (S::More, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::No),
            (S::Less, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::Yes),
            (S::Less, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::No),
            // Each within the spread of the other, and what is behind it did not meet both.
            (S::More, &[90.0, 110.0, 130.0], &[100.0, 80.0, 120.0], A::Open),
            // It did.
            (S::More, &[90.0, 110.0, 130.0], &[80.0, 100.0, 120.0], A::Yes),
            // Medians are apart, repeats are not.
            (S::More, &[106.0, 120.0, 122.0], &[98.0, 100.0, 108.0], A::Open),
            // Each is above each: that is so by chance in one of ten.
            (S::More, &[110.0, 130.0, 150.0], &[105.0, 90.0, 100.0], A::Open),
            // Every time, but by less than is told from nothing.
            (S::More, &[102.0, 102.0, 102.0], &[100.0, 100.0, 100.0], A::Open),
            (S::Less, &[102.0, 102.0, 102.0], &[100.0, 100.0, 100.0], A::Open),
            // Seen once or twice, however great.
            (S::More, &[200.0], &[100.0], A::Open),
            (S::Less, &[200.0], &[100.0], A::Open),
            (S::Alike, &[100.0], &[100.0], A::Open),
            (S::More, &[200.0, 201.0], &[100.0, 101.0], A::Open),
            (S::More, &[200.0, 201.0, 202.0], &[100.0, 101.0], A::Open),
            // Nothing is dropped by either.
            (S::More, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], A::Open),
            (S::Alike, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], A::Yes),
            (S::More, &[5.0, 5.0, 5.0], &[0.0, 0.0, 0.0], A::Yes),
            (S::Alike, &[100.0, 101.0, 102.0], &[107.0, 108.0, 109.0], A::Yes),
            (S::Alike, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::No),
            (S::Alike, &[80.0, 100.0, 130.0], &[90.0, 120.0, 140.0], A::Open),
            // Their medians are near, and they themselves anywhere.
            (S::Alike, &[60.0, 100.0, 140.0], &[140.0, 101.0, 60.0], A::Open),
            (S::Alike, &[60.0, 100.0, 140.0], &[60.0, 101.0, 140.0], A::Yes),
            // Near each other, and wholly apart.
            (S::Alike, &[96.0, 100.0, 100.0], &[104.0, 109.0, 112.0], A::Open),
            (S::NoMore, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::Yes),
            (S::NoMore, &[107.0, 108.0, 109.0], &[100.0, 101.0, 102.0], A::No),
            (S::NoMore, &[103.0, 104.0, 105.0], &[100.0, 101.0, 102.0], A::Yes),
            (S::NoMore, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::No),
            (S::NoLess, &[96.0, 97.0, 98.0], &[100.0, 100.0, 100.0], A::Yes),
            (S::NoLess, &[92.0, 92.0, 93.0], &[100.0, 100.0, 100.0], A::No),
            (S::NoLess, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::Yes),
            (S::NoLess, &[85.0, 98.0, 99.0], &[100.0, 100.0, 100.0], A::Open),
            (S::About(140), &[141.0, 142.0, 143.0], &[100.0, 101.0, 102.0], A::Yes),
            (S::About(140), &[100.0, 101.0, 102.0], &[100.0, 101.0, 102.0], A::No),
            (S::About(140), &[180.0, 182.0, 184.0], &[100.0, 101.0, 102.0], A::No),
            (S::About(140), &[110.0, 142.0, 160.0], &[100.0, 101.0, 102.0], A::Open),
        ];
        for (says, a, b, expected) in rows {
            let pairs: Vec<Pair> = a.iter().copied().zip(b.iter().copied()).collect();
            let told = compare::told(&[pairs], |_, ratio| says.of(ratio)).remove(0);
            assert_eq!(told.unwrap_or(A::Open), expected, "{says:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn verdicts_beside_several_come_to_one() {
        use Agreement::{No, Open, Yes};
        let rows: [(&[Agreement], Agreement, Agreement); 6] = [
            (&[], Open, Open),
            (&[Yes, Yes], Yes, Yes),
            (&[No, No], No, No),
            (&[Yes, No], No, Yes),
            (&[Yes, Open], Open, Yes),
            (&[No, Open], No, Open),
        ];
        for (verdicts, every, any) in rows {
            assert_eq!(together(Beside::Every, verdicts), every, "{verdicts:?}");
            assert_eq!(together(Beside::Any, verdicts), any, "{verdicts:?}");
        }
    }
}
