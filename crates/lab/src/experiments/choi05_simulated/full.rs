//! A disk that never rests, to be set beside those of models: who is bounded by his disk has one.

use super::{At, DISK, Said, Than, made};
use crate::claim::Side;
use crate::known::{Cell, Known};
use crate::point::{Point, Verdict};

/// One for each replication of whom a claim sets beside it.
pub(super) fn points<'s, 'k: 's>(
    claims: &[Said],
    cell: impl Fn(&str, At) -> Option<&'s Cell<'k>>,
) -> Vec<Point> {
    let claims = claims.iter().filter(|claim| matches!(claim.than, Than::FullDisk));
    let full = claims.filter_map(|claim| {
        let own = cell(claim.chart, claim.of)?.points();
        let own = own.filter(|point| point.verdict == Verdict::Good);
        Some(own.map(|own| made::point(own, &stage(claim), &DISK, 100.0)))
    });
    full.flatten().collect()
}

/// That of a claim, of what [`points`] has made.
pub(super) fn side<'k>(claim: &Said, known: &'k Known<'k>) -> Side<'k> {
    (String::from("a disk that never rests"), made::cell(known, &stage(claim)))
}

/// What it is found by.
fn stage(claim: &Said) -> String {
    format!("a full disk beside {} with {} in {}", claim.of.0, claim.of.1, claim.chart)
}
