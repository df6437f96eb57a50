//! What is promised of replies and their cost.

use std::cmp::Ordering;

use super::super::targets::Bound::{self, AtLeast, AtMost};
use super::super::targets::Target;
use super::{CASES, Case};
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::subject::{Kind, Subject};

/// One promise, under each load with files of this size and connections of this kind.
struct Promise {
    bytes: u32,
    keeps: &'static str,
    /// Of these,
    of: &'static [&'static str],
    metric: &'static Metric,
    bound: Bound,
    beside: Beside,
}

/// Beside whom.
enum Beside {
    /// By its own name.
    One(&'static str),
    /// The other server that spends least.
    BestPeer,
}

use Beside::{BestPeer, One};

const RINGS: &[&str] = &["tux", "proactor"];
const SMALL: u32 = 1024;
const LARGE: u32 = 102_400;

const PROMISED: [Promise; 14] = [
    row((SMALL, "client"), RINGS, &metric::GOODPUT, AtLeast(0.9), One("floor-completion")),
    row((SMALL, "client"), RINGS, &metric::CPU, AtMost(1.1), One("floor-completion")),
    row((SMALL, "client"), RINGS, &metric::CPU, AtMost(0.65), BestPeer),
    row((SMALL, "request"), RINGS, &metric::GOODPUT, AtLeast(0.9), One("floor-completion")),
    row((SMALL, "request"), RINGS, &metric::CPU, AtMost(1.1), One("floor-completion")),
    row((SMALL, "request"), RINGS, &metric::CPU, AtMost(0.9), BestPeer),
    row((LARGE, "client"), RINGS, &metric::CPU, AtMost(1.1), One("sped")),
    row((SMALL, "client"), TWO, &metric::CPU, AtMost(1.05), One(SINGLE)),
    row((SMALL, "client"), SIXTEEN, &metric::CPU, AtMost(1.15), One(SINGLE)),
    row((SMALL, "request"), TWO, &metric::CPU, AtMost(1.05), One(SINGLE)),
    row((SMALL, "request"), SIXTEEN, &metric::CPU, AtMost(1.15), One(SINGLE)),
    row((LARGE, "client"), TWO, &metric::CPU, AtMost(1.05), One(SINGLE)),
    row((SMALL, "client"), SHARED_TWO, &metric::CPU, AtMost(1.1), One(TWO[0])),
    row((SMALL, "client"), SHARED_SIXTEEN, &metric::CPU, AtMost(1.1), One(SIXTEEN[0])),
];

const SINGLE: &str = "symped:processes=1";
const TWO: &[&str] = &["symped:processes=2"];
const SIXTEEN: &[&str] = &["symped:processes=16"];
const SHARED_TWO: &[&str] = &["shared-symped:processes=2"];
const SHARED_SIXTEEN: &[&str] = &["shared-symped:processes=16"];

const fn row(
    (bytes, keeps): (u32, &'static str),
    of: &'static [&'static str],
    metric: &'static Metric,
    bound: Bound,
    beside: Beside,
) -> Promise {
    Promise { bytes, keeps, of, metric, bound, beside }
}

/// Those whose subjects were asked for. How many replies there are tells something only where
/// nobody rests.
pub(super) fn targets<'s>(known: &'s Known<'_>, subjects: &'s [Subject]) -> Vec<Target<'s>> {
    let mut targets = Vec::new();
    for case in &CASES {
        let is_busy = case.rest_s.is_none();
        let of_it = PROMISED.iter().filter(|promise| {
            let is_it = promise.bytes == case.bytes && promise.keeps == case.keeps;
            is_it && (is_busy || promise.metric.label != metric::GOODPUT.label)
        });
        for promise in of_it {
            let named = |name: &str| subjects.iter().find(|of| of.to_string() == name);
            let other = match promise.beside {
                One(name) => named(name),
                BestPeer => best_peer(case, known, subjects),
            };
            let Some(other) = other else { continue };
            let side = |of: &Subject| (of.to_string(), case.cell(known, of));
            targets.extend(promise.of.iter().filter_map(|name| named(name)).map(|one| Target {
                load: case.stage.into(),
                metric: promise.metric,
                bound: promise.bound,
                one: side(one),
                other: side(other),
            }));
        }
    }
    targets
}

/// Of the peers that passed, the one whose replies cost least.
fn best_peer<'s>(case: &Case, known: &Known<'_>, subjects: &'s [Subject]) -> Option<&'s Subject> {
    let costs = |of: &&Subject| {
        let cell: Option<&Cell<'_>> = case.cell(known, of);
        cell.and_then(|cell| cell.judged(&metric::CPU)).map_or(f64::INFINITY, |of| of.median)
    };
    let peers = subjects.iter().filter(|of| matches!(of.kind(), Ok(Kind::Peer(_))));
    peers.min_by(|a, b| costs(a).partial_cmp(&costs(b)).unwrap_or(Ordering::Equal))
}
