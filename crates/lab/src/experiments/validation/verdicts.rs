//! What was simulated beside what was measured.

use sim::run::CPU;

use super::reference::Reference;
use super::ways::{WAYS, Way};
use super::{JUDGED, Validation};
use crate::compare::{self, MISSED_SHARE, Pair, Ratio};
use crate::curves::{marked, number, spread_text};
use crate::known::{Cell, Known, Spread};
use crate::metric::{self, Metric, metric};
use crate::page::{Agreement, NONE, Table};
use crate::point::Point;
use crate::setup::Setup;
use crate::subject::Subject;

/// How far off is near enough.
const AIM_SHARE: f64 = 0.15;

/// Of a server that is measured, or simulated.
const REPLY_CPU: Metric =
    metric("processor time for a reply", "µs", |point: &Point| match point.spec.is_simulated() {
        true => point.counters.get(CPU.name).copied(),
        false => (metric::CPU.of)(point),
    });

/// One thing that is measured, and simulated in either way.
pub(super) struct Row {
    of: String,
    what: String,
    measured: Option<Spread>,
    /// By [`WAYS`].
    simulated: [Simulated; WAYS.len()],
}

/// In one way.
struct Simulated {
    of: Option<Spread>,
    /// By repeat; those of a capacity, which is no single one's, with either of its ends.
    pairs: Vec<Pair>,
}

impl Validation {
    /// What is judged of a subject.
    pub(super) fn rows(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Vec<Row> {
        let mut rows = vec![self.capacity_row(setup, known, of)];
        let shares_of = self.reference(setup, known, of).map_or("its capacity", |of| of.is());
        for share in JUDGED {
            let real = self.rate(setup, known, of, share);
            let real = real.and_then(|spec| known.cell(&spec));
            let cells = WAYS.map(|way| {
                let spec = self.simulation(setup, known, of, (way, Some(share)))?;
                known.cell(&spec)
            });
            for metric in [&metric::GOODPUT, &REPLY_CPU, &metric::P50] {
                rows.push(Row {
                    of: self.shown(known, of),
                    what: format!("{} at {share} of {shares_of}", metric.heading()),
                    measured: real.and_then(|cell| cell.judged(metric)),
                    simulated: cells.map(|cell| Simulated {
                        of: cell.and_then(|cell| cell.judged(metric)),
                        pairs: cell
                            .zip(real)
                            .map_or_else(Vec::new, |(cell, real)| cell.pairs(real, metric)),
                    }),
                });
            }
        }
        rows
    }

    fn capacity_row(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Row {
        let (capacity, why) = match self.reference(setup, known, of) {
            Some(Reference::Capacity(capacity)) => (Some(capacity), ""),
            Some(Reference::Asked(_)) => (None, " (its clients are the limit)"),
            None => (None, ""),
        };
        let ends = capacity.map(|of| [of.range.0, of.range.1, of.replies_per_s]);
        let simulated = WAYS.map(|way| {
            let spec = self.simulation(setup, known, of, (way, None));
            let cell = spec.and_then(|spec| known.cell(&spec));
            let points = cell.into_iter().flat_map(Cell::points);
            let rates: Vec<f64> = points.filter_map(metric::GOODPUT.of).collect();
            let pairs = rates.iter().copied().zip(ends.into_iter().flatten()).collect();
            Simulated { of: Spread::of(rates), pairs }
        });
        Row {
            of: self.shown(known, of),
            what: format!("capacity, replies/s{why}"),
            measured: capacity.map(|of| of.spread()),
            simulated,
        }
    }

    /// In a line for each subject, and for all.
    pub(super) fn answer(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
        rows: &[Row],
    ) -> Vec<String> {
        let is_told = |at: usize| rows.iter().any(|row| row.simulated[at].of.is_some());
        let told = WAYS.into_iter().enumerate().filter(|(at, _)| is_told(*at));
        let told = told.map(|(at, way)| summary(rows, at, way));
        let lost = subjects.iter().filter_map(|of| {
            if self.is_failed(known, of) {
                return Some(format!("{of} failed verification, and is not simulated."));
            }
            let fit = self.fit(setup, known, of)?;
            let why = known.cell(&fit)?.in_vain().first()?.verdict.to_string();
            Some(format!("{of}: {why}. So nothing is simulated of it by fitted parameters."))
        });
        let is_stepless = |of: &&Subject| {
            let is_known = self.told(setup, known, of, Way::Steps).is_some();
            !is_known && !self.is_failed(known, of)
        };
        let stepless = subjects.iter().filter(is_stepless);
        let stepless = stepless.map(|of| {
            format!(
                "{of}: its steps were not all measured, so that nothing is simulated of it by \
                 these. weir lab run {} with the same --dir measures them.",
                self.name
            )
        });
        let limited = subjects.iter().filter_map(|of| self.limited(setup, known, of));
        told.chain(limited).chain(lost).chain(stepless).collect()
    }

    /// Why there is no capacity of it.
    fn limited(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<String> {
        let Reference::Asked(rate) = self.reference(setup, known, of)? else { return None };
        Some(format!(
            "{of} has no capacity here, as its clients are at their limit before it is. Its shares \
             are of what they could ask for: {} requests/s, which it answered.",
            number(rate)
        ))
    }

    /// Whether it has answered wrongly anywhere.
    fn is_failed(&self, known: &Known<'_>, of: &Subject) -> bool {
        let mut of_it = known.all().iter().filter(|cell| cell.subject() == of);
        of_it.any(|cell| cell.spec.experiment == self.name && cell.is_failed())
    }

    /// As it stands in tables.
    pub(super) fn shown(&self, known: &Known<'_>, of: &Subject) -> String {
        marked(of.to_string(), self.is_failed(known, of))
    }
}

/// How near those are that are simulated in one way.
fn summary(rows: &[Row], at: usize, way: Way) -> String {
    let verdicts = judged(rows, at);
    let count = |is: Agreement| verdicts.iter().filter(|of| **of == is).count();
    format!(
        "{}: of {} figures {} are simulated within {} % of what was measured and {} are not; {} \
         are open.",
        way.is(),
        rows.len(),
        count(Agreement::Yes),
        100.0 * AIM_SHARE,
        count(Agreement::No),
        count(Agreement::Open)
    )
}

/// What is shown of them.
pub(super) fn table(rows: &[Row]) -> Table {
    let told = |of: &Option<Spread>| of.as_ref().map_or(NONE.into(), spread_text);
    let verdicts: Vec<Vec<Agreement>> = (0..WAYS.len()).map(|at| judged(rows, at)).collect();
    let row = |(place, row): (usize, &Row)| {
        let own = [row.of.clone(), row.what.clone(), told(&row.measured)];
        let simulated = row.simulated.iter().zip(&verdicts).flat_map(|(of, verdicts)| {
            let error = Ratio::of(&of.pairs, MISSED_SHARE).map_or(NONE.into(), |ratio| {
                let percent = |of: f64| format!("{:+.1}", 100.0 * (of - 1.0));
                let Ratio { middle, low, high } = ratio;
                format!("{} [{} to {}]", percent(middle), percent(low), percent(high))
            });
            let verdict = match verdicts[place] {
                Agreement::Yes => "yes",
                Agreement::No => "no",
                Agreement::Open => "open",
            };
            [told(&of.of), error, verdict.into()]
        });
        own.into_iter().chain(simulated).collect()
    };
    let head = [
        "server",
        "what",
        "measured",
        "simulated (fitted)",
        "error, %",
        "within 15 %",
        "simulated (by steps)",
        "error, %",
        "within 15 %",
    ];
    Table {
        title: String::from("Measured and simulated"),
        head: head.map(String::from).into(),
        rows: rows.iter().enumerate().map(row).collect(),
        notes: vec![String::from(
            "An error is that of the medians, with its 95 % interval by pairs of repeats; of a \
             capacity pairs are of simulations with the ends and the middle of what it lies \
             between. A verdict takes three pairs, and intervals that are wider the more figures \
             there are (Holm's correction, for each way by itself), which lie within 15 %, or \
             beyond.",
        )],
    }
}

/// Those that are simulated in one way.
fn judged(rows: &[Row], at: usize) -> Vec<Agreement> {
    let pairs: Vec<Vec<Pair>> = rows.iter().map(|row| row.simulated[at].pairs.clone()).collect();
    let told = compare::told(&pairs, |_, ratio| {
        let is_beyond = ratio.high < 1.0 - AIM_SHARE || ratio.low * (1.0 - AIM_SHARE) > 1.0;
        match (ratio.is_within(AIM_SHARE), is_beyond) {
            (true, _) => Some(Agreement::Yes),
            (_, true) => Some(Agreement::No),
            _ => None,
        }
    });
    told.into_iter().map(|told| told.unwrap_or(Agreement::Open)).collect()
}
