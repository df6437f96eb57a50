//! Points that nobody has simulated: made of those that were, to be judged as they are.

use std::collections::BTreeMap;

use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::point::Point;
use crate::spec::Spec;

/// One with this number alone, of the same replication, in a stage of its own.
pub(super) fn point(own: &Point, stage: &str, metric: &Metric, number: f64) -> Point {
    let spec = Spec { stage: String::from(stage), ..own.spec.clone() };
    let counters = BTreeMap::from([(String::from(metric.label), number)]);
    Point { spec, counters, load: None, ..own.clone() }
}

/// Those of a stage.
pub(super) fn cell<'k>(known: &'k Known<'k>, stage: &str) -> Option<&'k Cell<'k>> {
    known.all().iter().find(|cell| cell.spec.stage == stage)
}
