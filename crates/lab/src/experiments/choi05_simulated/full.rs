//! A disk that never rests, to be set beside those of models: who is bounded by his disk has one.

use std::collections::BTreeMap;

use super::{At, DISK, Said, Than};
use crate::claim::Side;
use crate::known::{Cell, Known};
use crate::point::{Point, Verdict};
use crate::spec::Spec;

/// One for each replication of whom a claim sets beside it.
pub(super) fn points<'s, 'k: 's>(
    claims: &[Said],
    cell: impl Fn(&str, At) -> Option<&'s Cell<'k>>,
) -> Vec<Point> {
    let claims = claims.iter().filter(|claim| matches!(claim.than, Than::FullDisk));
    let full = claims.filter_map(|claim| {
        let own = cell(claim.chart, claim.of)?;
        let own = own.points().filter(|point| point.verdict == Verdict::Good);
        Some(own.map(|own| {
            let spec = Spec { stage: stage(claim), ..own.spec.clone() };
            let counters = BTreeMap::from([(String::from(DISK.label), 100.0)]);
            Point { spec, counters, load: None, ..own.clone() }
        }))
    });
    full.flatten().collect()
}

/// That of a claim, of what [`points`] has made.
pub(super) fn side<'k>(claim: &Said, known: &'k Known<'k>) -> Side<'k> {
    let is_it = |cell: &&Cell<'_>| cell.spec.stage == stage(claim);
    (String::from("a disk that never rests"), known.all().iter().find(is_it))
}

/// What it is found by.
fn stage(claim: &Said) -> String {
    format!("a full disk beside {} with {} in {}", claim.of.0, claim.of.1, claim.chart)
}
