//! How many times as much one model has as another: by itself a number of each replication, which a
//! claim may set beside that of another place ("the advantage grows").

use std::collections::BTreeMap;

use super::{At, Chart, Said, Than, chart_named, made};
use crate::claim::Side;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric, metric};
use crate::point::{Point, Verdict};

/// Of whom a claim is, over another model, beside the same at another place.
pub(super) struct Advantage {
    /// By the paper's name.
    pub(super) over: &'static str,
    /// A chart, and where over that which varies.
    pub(super) there: (&'static str, u32),
}

/// Replies of the one by those of the other, in the same replication.
pub(super) const ADVANTAGE: Metric =
    metric(NAME, "times", |point| point.counters.get(NAME).copied());

const NAME: &str = "advantage";

impl Advantage {
    /// The four that it is made of: here, and there; each beside the one that it is over.
    pub(super) fn cells(&self, claim: &Said) -> [(&'static str, At); 4] {
        let (model, x) = claim.of;
        let (there, there_x) = self.there;
        [
            (claim.chart, (model, x)),
            (claim.chart, (self.over, x)),
            (there, (model, there_x)),
            (there, (self.over, there_x)),
        ]
    }

    /// Here and there, of what [`points`] has made.
    pub(super) fn sides<'k>(&self, claim: &Said, known: &'k Known<'k>) -> [Side<'k>; 2] {
        let [here, _, there, _] = self.cells(claim);
        [here, there].map(|(chart, at)| {
            let Chart { title, over, .. } = chart_named(chart);
            let name = format!("{} over {} with {} ({title})", at.0, self.over, over.named(at.1));
            (name, made::cell(known, &self.stage(chart, at)))
        })
    }

    /// What it is found by.
    fn stage(&self, chart: &str, at: At) -> String {
        format!("{} over {} with {} in {chart}", at.0, self.over, at.1)
    }
}

/// The advantages that are spoken of, one for each replication that both have.
pub(super) fn points<'s, 'k: 's>(
    claims: &[Said],
    cell: impl Fn(&str, At) -> Option<&'s Cell<'k>>,
) -> Vec<Point> {
    let mut points = BTreeMap::new();
    for claim in claims {
        let Than::Advantage(advantage) = &claim.than else { continue };
        let [one, other, one_there, other_there] = advantage.cells(claim);
        for (one, other) in [(one, other), (one_there, other_there)] {
            let both = [one, other].map(|(chart, at)| cell(chart, at));
            let [Some(of), Some(by)] = both else { continue };
            let stage = advantage.stage(one.0, one.1);
            for (own, times) in ratios(of, by) {
                let point = made::point(own, &stage, &ADVANTAGE, times);
                points.insert((stage.clone(), own.spec.repeat), point);
            }
        }
    }
    points.into_values().collect()
}

fn ratios<'k>(of: &Cell<'k>, by: &Cell<'k>) -> Vec<(&'k Point, f64)> {
    let replies = |point: &Point| (metric::REPLIES.of)(point);
    let is_good = |point: &&Point| point.verdict == Verdict::Good;
    let ratio = |own: &'k Point| {
        let other = by.points().filter(is_good).find(|by| by.spec.repeat == own.spec.repeat)?;
        Some((own, replies(own)? / replies(other)?))
    };
    of.points().filter(is_good).filter_map(ratio).collect()
}
