//! What all comparisons have in common, whatever is asked.

use crate::claim::{self, Says};
use crate::known::Cell;
use crate::metric::Metric;
use crate::page::Comparison;

/// One of two that are compared: what it is called, and what was measured.
pub(super) type Side<'s, 'k> = (&'s str, Option<&'s Cell<'k>>);

/// The comparison of a metric of two, at some load. Who failed verification is said to have, and
/// supports nothing.
pub(super) fn beside(
    of: (&str, &str),
    says: Says,
    (metric, at): (&Metric, &str),
    (a, b): (Side<'_, '_>, Side<'_, '_>),
) -> Comparison {
    let judged = |cell: Option<&Cell<'_>>| cell.and_then(|cell| cell.judged(metric));
    let sides = ((a.0, judged(a.1)), (b.0, judged(b.1)));
    let comparison = claim::compared(of, says, (metric, at), sides);
    let is_failed = |side: &Side<'_, '_>| side.1.is_some_and(Cell::is_failed);
    let failed: Vec<&str> = [a, b].into_iter().filter(is_failed).map(|side| side.0).collect();
    if failed.is_empty() {
        return comparison;
    }
    let here = format!("{} failed verification: it tells nothing", failed.join(", and "));
    Comparison { here, ..comparison }
}
