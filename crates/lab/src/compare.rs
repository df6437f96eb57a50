//! The one statistic: how many times as much one has as another, and within what that is known.
//!
//! Two are measured in turn, and repeats of the same number are a pair: what the machine does to
//! both at that time is no difference between them. Told is the ratio of their medians, with an
//! interval that misses the true ratio in so many cases as it is asked to.
//!
//! Of ten pairs and more it is the bootstrap's (Efron and Tibshirani, An Introduction to the
//! Bootstrap, 1993): pairs are drawn again, and most of the ratios that come out are in it. Of
//! fewer it says too much: no draw is beyond what was seen, and of three pairs all lie on one side
//! of the truth in one of four cases, so often is it missed. Student's t tells of these: it takes
//! the noise to be normal, which nobody can see in three values, and in return it knows how little
//! a spread of three is worth. It reaches 2.5 standard deviations to each side with three pairs,
//! 1.2 with five, and 9 with two. Of noise with outliers it says less than it might,
//! never more than is known, and the bootstrap of many says much more; the tests show all of that.
//!
//! `bench/ratio.sh` has the same rule.

use measure::draw::Stream;
use measure::student::reach;

/// What the two had in one repeat.
pub type Pair = (f64, f64);

/// How many times as much the first has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Of the medians; infinite where the second's is nothing, and 1 where both are.
    pub middle: f64,
    /// It is no less,
    pub low: f64,
    /// and no more.
    pub high: f64,
}

/// Of all cases, in which an interval misses what is true: one in twenty.
pub const MISSED_SHARE: f64 = 0.05;

/// A verdict takes so many pairs. Two of what is counted are equal by chance too often.
pub const PAIRS_MIN: usize = 3;

/// Of the greater of two: what differs by less is told from nothing by nobody, however seldom it
/// varies. Where a server's memory happens to lie makes as much.
pub const NEAR_SHARE: f64 = 0.05;

const DRAWS: usize = 2_000;

/// Of what may be missed, in how many cases all pairs may lie on one side of the truth for the
/// bootstrap to be right: with 0.05 ten pairs do; with six it misses the truth in one case of
/// twelve.
const MANY_SHARE: f64 = 1.0 / 16.0;

impl Ratio {
    /// Of pairs of which none is negative; `None` of one or none: one repeat tells nothing of how
    /// another one would be.
    #[must_use]
    pub fn of(pairs: &[Pair], missed_share: f64) -> Option<Self> {
        let count = pairs.len();
        if count < 2 {
            return None;
        }
        // So seldom all are on one side of the truth.
        let of_one_side = 0.5_f64.powi(count as i32 - 1);
        let is_many =
            of_one_side <= missed_share * MANY_SHARE && missed_share / 2.0 * DRAWS as f64 >= 1.0;
        let (low, high) =
            if is_many { drawn(pairs, missed_share) } else { student(pairs, missed_share) };
        let middle = of_medians(pairs);
        Some(Self { middle, low: low.min(middle), high: high.max(middle) })
    }

    /// One that is worked out, and not measured.
    #[must_use]
    pub fn exact(middle: f64) -> Self {
        Self { middle, low: middle, high: middle }
    }

    /// Whether the first has more, for all that is known, and by enough to speak of.
    #[must_use]
    pub fn is_more(&self) -> bool {
        self.low > 1.0 && self.middle * (1.0 - NEAR_SHARE) > 1.0
    }

    /// The same of less.
    #[must_use]
    pub fn is_less(&self) -> bool {
        self.high < 1.0 && self.middle < 1.0 - NEAR_SHARE
    }

    /// How it is to another ratio.
    #[must_use]
    pub fn beside(&self, other: f64) -> Self {
        Self { middle: self.middle / other, low: self.low / other, high: self.high / other }
    }

    /// Whether the two are within a share of the greater one of each other, for all that is known.
    #[must_use]
    pub fn is_within(&self, share: f64) -> bool {
        self.low >= 1.0 - share && self.high * (1.0 - share) <= 1.0
    }
}

/// Between what the median of repeats of one lies; `None` of one or none.
#[must_use]
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let median = median(&mut values.to_vec());
    let beside: Vec<Pair> = values.iter().map(|value| (*value, median)).collect();
    let Ratio { low, high, .. } = Ratio::of(&beside, MISSED_SHARE)?;
    let scaled = |ratio: f64| if ratio.is_finite() { ratio * median } else { ratio };
    Some((scaled(low), scaled(high)))
}

/// What is told of each of several comparisons that stand together, so that in one of twenty such
/// lists anything is told that is not so (Holm, Scandinavian Journal of Statistics 6, 1979): each
/// has to hold with its share of the error, and what is told leaves its own to the others. `judge`
/// is given the place of one and what is known of it, and says nothing where that does not do.
/// What has fewer than [`PAIRS_MIN`] pairs asks for no part.
pub fn told<T>(all: &[Vec<Pair>], judge: impl Fn(usize, &Ratio) -> Option<T>) -> Vec<Option<T>> {
    let mut told: Vec<Option<T>> = all.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..all.len()).filter(|at| all[*at].len() >= PAIRS_MIN).collect();
    loop {
        let left = open.len();
        let missed_share = MISSED_SHARE / left.max(1) as f64;
        for &at in &open {
            told[at] = Ratio::of(&all[at], missed_share).and_then(|ratio| judge(at, &ratio));
        }
        open.retain(|at| told[*at].is_none());
        if open.len() == left {
            return told;
        }
    }
}

/// Puts values in order; nothing of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

fn of_medians(pairs: &[Pair]) -> f64 {
    let (mut a, mut b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (median(&mut a), median(&mut b));
    if a == b { 1.0 } else { a / b }
}

/// The middle of the ratios of as many pairs as there are, drawn again and again.
fn drawn(pairs: &[Pair], missed_share: f64) -> (f64, f64) {
    // The same draws every time, so that a page is the same when it is drawn again.
    let mut stream = Stream::new(1, 1);
    let mut again = pairs.to_vec();
    let mut ratio = |_| {
        again.fill_with(|| pairs[stream.below(pairs.len() as u32) as usize]);
        of_medians(&again)
    };
    let mut ratios: Vec<f64> = (0..DRAWS).map(&mut ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let beyond = (missed_share / 2.0 * DRAWS as f64) as usize;
    (ratios[beyond], ratios[DRAWS - 1 - beyond])
}

/// By the differences of all pairs as shares of their sums: of near ones half of their ratio's
/// logarithm, which is there too where one of both is zero.
fn student(pairs: &[Pair], missed_share: f64) -> (f64, f64) {
    let share = |(a, b): &Pair| if a == b { 0.0 } else { (a - b) / (a + b) };
    let shares: Vec<f64> = pairs.iter().map(share).collect();
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let variance = shares.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let reach = reach(shares.len() - 1, missed_share) * (variance / count).sqrt();
    let ratio = |share: f64| match share.clamp(-1.0, 1.0) {
        1.0 => f64::INFINITY,
        share => (1.0 + share) / (1.0 - share),
    };
    (ratio(mean - reach), ratio(mean + reach))
}

#[cfg(test)]
mod tests;
