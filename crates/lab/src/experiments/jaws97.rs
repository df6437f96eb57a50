//! What the experiments of JAWS97 have in common: its load, its numbers of clients, its metrics.

use crate::closed::Closed;
use crate::known::Known;
use crate::metric::{self, Metric};
use crate::page::{Agreement, Comparison, Figure};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;

/// WebStone's files (table 1), one request on each connection (JAWS97 2.2.2), from 1 to 42 at a
/// time (2.3).
pub(super) fn closed(experiment: &'static str, setup: &Setup, subjects: Vec<Subject>) -> Closed {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("webstone")),
        seconds: setup.seconds(2.0),
        // "Server file caches were pre-loaded by running a dummy client" (2.3).
        warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
        flags: Default::default(),
        idle_connections: 0,
    };
    Closed {
        experiment,
        subjects,
        // All lengths are verified; to look at each byte of 62 KB a reply would make the client
        // the limit.
        load: load.with("keeps", "request").with("verified", 0.05),
        layout: super::flood::layout(setup),
        clients: if setup.is_paper { &PAPER_CLIENTS[..] } else { &CLIENTS[..] }.into(),
        profile: None,
        repeats: setup.repeats(3),
    }
}

/// Of its figures, read from their axes.
const PAPER_CLIENTS: [u32; 8] = [1, 6, 12, 18, 24, 30, 36, 42];
const CLIENTS: [u32; 5] = [1, 6, 15, 24, 42];

/// The four figures of its black box (2.3), by their names there.
pub(super) fn black_box(closed: &Closed, known: &Known<'_>) -> Vec<Figure> {
    let rows: [(&str, &Metric); 4] = [
        ("server-throughput", &metric::SERVER_MBIT),
        ("connections", &metric::CONNECTIONS),
        ("client-throughput", &metric::CLIENT_MBIT),
        ("client-latency", &metric::CLIENT_LATENCY),
    ];
    rows.map(|(name, metric)| closed.figure(known, name, metric)).into()
}

/// How much more of a metric one subject has than another with the most clients: 1.0 is as much.
/// Beside it whether their quartiles are apart.
pub(super) fn ratio(
    closed: &Closed,
    known: &Known<'_>,
    (of, to): (&Subject, &Subject),
    metric: &Metric,
) -> Option<(f64, bool)> {
    let spread = |of| closed.at_most(known, of)?.spread(metric);
    let (of, to) = (spread(of)?, spread(to)?);
    let is_apart = of.quartiles.0 > to.quartiles.1 || of.quartiles.1 < to.quartiles.0;
    (to.median > 0.0).then(|| (of.median / to.median, is_apart))
}

/// A comparison that is about which of two is more.
pub(super) fn compared(
    of: &str,
    paper: &str,
    is_more_there: bool,
    measured: Option<(f64, bool)>,
    words: impl Fn(f64) -> String,
) -> Comparison {
    let (here, agrees) = match measured {
        None => (String::from("not measured"), Agreement::Open),
        Some((ratio, false)) => (words(ratio), Agreement::Open),
        Some((ratio, true)) if (ratio > 1.0) == is_more_there => (words(ratio), Agreement::Yes),
        Some((ratio, true)) => (words(ratio), Agreement::No),
    };
    Comparison { of: of.into(), paper: paper.into(), here, agrees }
}
