//! What a run has to come to, so that a script need not read a report: `p99<50ms`.
//!
//! A name, `<`, `<=`, `>` or `>=`, and a number with its unit; nothing else.

use serde::Serialize;

use crate::collector::figures::Figures;
use crate::collector::results::Results;
use crate::gates::Proof;
use crate::units;
use measure::Duration;

/// See the head of this file.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// As it was written, without blanks.
    text: String,
    /// Its place in [`MEASURES`].
    of: usize,
    order: Order,
    /// In seconds, in a second, or as a share from 0.0 to 1.0.
    bound: f64,
}

/// What came of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Met {
    /// What was expected.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Whether that is within the bound.
    pub holds: bool,
    /// Whether the run proves the answer to [`Met::holds`].
    pub is_proven: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The longer one first, where one begins as another does.
const ORDERS: [(&str, Order); 4] =
    [("<=", Order::AtMost), (">=", Order::AtLeast), ("<", Order::Below), (">", Order::Above)];

/// What kind of number something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Share,
}

/// A number of a run; infinity is for ever.
type Measure = fn(&Results) -> f64;

/// All that can be expected. Quantiles and the longest time are those of all requests, of which one
/// without a good reply takes for ever: a server that answers only some is not fast by that.
const MEASURES: [(&str, Kind, Measure); 10] = [
    ("p50", Kind::Time, |results| quantile(results, 0.5)),
    ("p90", Kind::Time, |results| quantile(results, 0.9)),
    ("p95", Kind::Time, |results| quantile(results, 0.95)),
    ("p99", Kind::Time, |results| quantile(results, 0.99)),
    ("p99.9", Kind::Time, |results| quantile(results, 0.999)),
    (MEAN, Kind::Time, mean),
    ("max", Kind::Time, |results| quantile(results, 1.0)),
    ("good", Kind::Rate, |results| Figures::of(results).goodput_per_s),
    ("replies", Kind::Rate, |results| Figures::of(results).replies_per_s),
    ("failed", Kind::Share, |results| Figures::of(results).failed_share),
];

const MEAN: &str = "mean";

fn quantile(results: &Results, share: f64) -> f64 {
    results.requests.whole_of_all(share).map_or(f64::INFINITY, |time| time.as_secs_f64())
}

/// Of good replies: with one request that failed it would be none.
fn mean(results: &Results) -> f64 {
    let whole = &results.requests.whole;
    if whole.count() == 0 { f64::INFINITY } else { whole.mean().as_secs_f64() }
}

impl Expectation {
    /// Reads one.
    ///
    /// # Errors
    /// It is none: what would do, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let text: String = text.chars().filter(|c| *c != ' ').collect();
        let order = ORDERS.iter().find(|(sign, _)| text.contains(sign));
        let split = order.and_then(|(sign, order)| Some((text.split_once(sign)?, *order)));
        let named = split.and_then(|((name, bound), order)| {
            let of = MEASURES.iter().position(|(known, ..)| *known == name)?;
            Some((of, order, bound))
        });
        let Some((of, order, bound)) = named else {
            let names = MEASURES.map(|(name, ..)| name).join(", ");
            return Err(format!(
                "has to be as 'p99<50ms', 'good>5000/s' or 'failed<0.1%', in quotes; there are \
                 {names}"
            ));
        };
        let kind = MEASURES[of].1;
        let bound = kind.read(bound).ok_or_else(|| String::from(kind.wanted()))?;
        Ok(Self { text, of, order, bound })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What came of it, in a run that proves so much. Where nothing was measured nothing holds.
    #[must_use]
    pub fn met(&self, results: &Results, proof: Proof) -> Met {
        let (name, kind, measure) = MEASURES[self.of];
        let total = results.requests.counts.total();
        let is_measured = total > 0 && !results.measured.is_zero();
        let seen = measure(results);
        let holds = is_measured
            && match self.order {
                Order::Below => seen < self.bound,
                Order::AtMost => seen <= self.bound,
                Order::Above => seen > self.bound,
                Order::AtLeast => seen >= self.bound,
            };
        let is_safe_from_lag = match kind {
            // The mean is that of good replies, and a lag may make the slow ones no good ones.
            Kind::Time if name == MEAN && results.requests.whole.count() < total => false,
            Kind::Time => matches!(self.order, Order::Below | Order::AtMost),
            // What was to be asked in the warm-up may be answered after it.
            Kind::Rate if !results.warm_up.is_zero() => false,
            Kind::Rate => matches!(self.order, Order::Above | Order::AtLeast),
            Kind::Share => false,
        };
        Met {
            expected: self.text.clone(),
            seen: if is_measured { kind.shown(seen) } else { String::from("nothing") },
            holds,
            is_proven: match proof {
                Proof::All => true,
                Proof::Bounds => holds && is_safe_from_lag,
                Proof::Misses => !holds,
                Proof::Nothing => false,
            },
        }
    }
}

impl Kind {
    fn read(self, text: &str) -> Option<f64> {
        const TIMES: [(&str, f64); 4] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
        let (number, one) = match self {
            Self::Time => {
                TIMES.iter().find_map(|&(unit, one)| Some((text.strip_suffix(unit)?, one)))?
            }
            Self::Rate => (text.strip_suffix("/s").unwrap_or(text), 1.0),
            Self::Share => (text.strip_suffix('%')?, 0.01),
        };
        let bound = number.parse::<f64>().ok()? * one;
        (bound.is_finite() && bound >= 0.0).then_some(bound)
    }

    const fn wanted(self) -> &'static str {
        match self {
            Self::Time => "has to be a time with its unit, us, ms, s or m, as in 'p99<50ms'",
            Self::Rate => "has to be a number in a second, as in 'good>5000/s'",
            Self::Share => "has to be a share in percent, as in 'failed<0.1%'",
        }
    }

    fn shown(self, number: f64) -> String {
        match self {
            Self::Time if number.is_infinite() => String::from("never"),
            Self::Time => units::time(Duration::from_secs_f64(number)),
            Self::Rate => format!("{}/s", units::rate(number)),
            Self::Share => units::share(number),
        }
    }
}

#[cfg(test)]
mod tests;
