//! A run done again: the same servers asked for the same, to see whether the same comes out.
//!
//! What a search finds, and where a capacity is looked for next, depends on what came out before:
//! two runs of the same experiment ask different questions. To tell whether its figures can be
//! had again, the questions have to be the same.

use std::collections::BTreeSet;

use crate::capacity::{TRIES, is_end};
use crate::compare::PAIRS_MIN;
use crate::design::PROBE;
use crate::known::{Cell, Known};
use crate::point::Point;
use crate::results::Results;
use crate::spec::Spec;
use crate::tuning;

/// All that the points of a run tell with a spread, in the order in which it was measured. What
/// only led to other measurements is a hint, and so is what was measured too seldom for a spread.
/// Of the tries of a capacity the two rates between which it lies are asked again.
#[must_use]
pub fn specs(first: &Results) -> Vec<Spec> {
    let known = Known::of(&first.points);
    let is_told = |cell: &&Cell<'_>| {
        let is_hint = cell.spec.stage == PROBE || tuning::is_round(&cell.spec.stage);
        match cell.spec.stage == TRIES {
            true => is_end(&known, cell),
            false => !is_hint && cell.points().count() >= PAIRS_MIN,
        }
    };
    let told = known.all().iter().filter(is_told).flat_map(Cell::points);
    let told: BTreeSet<(String, u32)> = told.map(|of| (of.spec.key(), of.spec.repeat)).collect();
    // Each once, where it was tried first.
    let is_asked = |point: &&Point| {
        point.attempt == 0 && told.contains(&(point.spec.key(), point.spec.repeat))
    };
    first.points.iter().filter(is_asked).map(|point| point.spec.clone()).collect()
}
