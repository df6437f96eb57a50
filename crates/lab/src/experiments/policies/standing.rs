//! Who keeps more of what is asked for than others, and at what cost.

use super::{ACCESSES, BYTES_HIT, EXPERIMENT, REQUESTS_HIT, TOUCH, TRACES};
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::policies::{BELADY, SHARES, names};

/// The first of [`SHARES`] that are judged, 0.1: a cache of less is one that nobody would choose.
pub(super) const JUDGED_FROM: usize = 3;

/// What they are measured beside.
pub(super) const LRU: &str = "lru";

/// A hit of the default may cost so many times one of LRU's.
pub(super) const HIT_MOST: f64 = 1.1;

/// Who has to be told what will be asked for is LRU to who cannot tell.
pub(super) const IS_TOLD: &str = "hinted";

/// How a policy did over all traces.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    pub(super) of: &'static str,
    /// Means over all traces, in percent of requests, at each of the judged shares.
    pub(super) hits: Vec<f64>,
    /// The same of bytes.
    pub(super) bytes: Vec<f64>,
    /// Of all traces at all shares, how many at which no policy had more hits.
    pub(super) best: usize,
}

impl Standing {
    pub(super) fn mean_hits(&self) -> f64 {
        mean(&self.hits)
    }

    pub(super) fn mean_bytes(&self) -> f64 {
        mean(&self.bytes)
    }
}

/// Of all, the best first, and behind them who knows what comes. Nothing, while one is not known of
/// all traces.
pub(super) fn standings(known: &Known<'_>) -> Option<Vec<Standing>> {
    let of = |of| {
        let judged = |metrics: &[Metric]| {
            let means = metrics[JUDGED_FROM..].iter().map(|metric| {
                let values = TRACES.iter().map(|row| value(row.cell(known, of)?, metric));
                values.collect::<Option<Vec<f64>>>().map(|values| mean(&values))
            });
            means.collect::<Option<Vec<f64>>>()
        };
        let (hits, bytes) = (judged(&REQUESTS_HIT)?, judged(&BYTES_HIT)?);
        Some(Standing { of, hits, bytes, best: best_of(known, of) })
    };
    let mut all = names().map(of).collect::<Option<Vec<_>>>()?;
    all.sort_by(|one, other| other.mean_hits().total_cmp(&one.mean_hits()));
    all.push(of(BELADY)?);
    Some(all)
}

/// How many there are of which one can be the best.
pub(super) const PAIRS: usize = TRACES.len() * SHARES.len();

fn best_of(known: &Known<'_>, of: &str) -> usize {
    let pairs = TRACES.iter().flat_map(|row| REQUESTS_HIT.iter().map(move |metric| (row, metric)));
    let is_best = |(row, metric): &(&super::Row, &Metric)| {
        let value = |of| row.cell(known, of).and_then(|cell| value(cell, metric));
        let own = value(of);
        own.is_some() && names().all(|other| value(other) <= own)
    };
    pairs.filter(is_best).count()
}

/// What telling the policy of a hit costs beside telling LRU. What else a hit costs is the same for
/// both, so that beside a whole one of LRU's it is less.
pub(super) fn hit_cost(known: &Known<'_>, of: &str) -> Option<f64> {
    let touch = |of| value(access(known, of)?, &TOUCH);
    let (own, lru) = (touch(of)?, touch(LRU)?);
    Some(own / lru)
}

/// What was timed of a policy.
pub(super) fn access<'s, 'k>(known: &'s Known<'k>, of: &str) -> Option<&'s Cell<'k>> {
    known.cells(EXPERIMENT.name, ACCESSES).find(|cell| cell.subject().name == of)
}

fn value(cell: &Cell<'_>, metric: &Metric) -> Option<f64> {
    cell.judged(metric).map(|spread| spread.median)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
