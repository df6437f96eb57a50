//! What was simulated beside what was measured.

use sim::run::CPU;

use super::reference::Reference;
use super::specs::made;
use super::{JUDGED, OFTEN, SELDOM, Validation};
use crate::capacity;
use crate::compare::{self, MISSED_SHARE, Pair, Ratio};
use crate::curves::{marked, number, spread_text};
use crate::known::{Known, Spread};
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

/// One thing that is simulated and measured.
pub(super) struct Row {
    of: String,
    what: String,
    measured: Option<Spread>,
    simulated: Option<Spread>,
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
            let simulated = self.simulation(setup, known, of, Some(share));
            let simulated = simulated.and_then(|spec| known.cell(&spec));
            for metric in [&metric::GOODPUT, &REPLY_CPU, &metric::P50] {
                let both = simulated.zip(real);
                rows.push(Row {
                    of: self.shown(known, of),
                    what: format!("{} at {share} of {shares_of}", metric.heading()),
                    measured: real.and_then(|cell| cell.judged(metric)),
                    simulated: simulated.and_then(|cell| cell.judged(metric)),
                    pairs: both.map_or_else(Vec::new, |(cell, real)| cell.pairs(real, metric)),
                });
            }
        }
        rows
    }

    fn capacity_row(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Row {
        let capacity = capacity::capacity(known, self.name, of);
        let simulated = self.simulation(setup, known, of, None);
        let simulated = simulated.and_then(|spec| known.cell(&spec));
        let rates: Vec<f64> = simulated
            .iter()
            .flat_map(|cell| cell.points().filter_map(metric::GOODPUT.of))
            .collect();
        let ends = capacity.map(|of| [of.range.0, of.range.1, of.replies_per_s]);
        let ends = ends.into_iter().flatten();
        Row {
            of: self.shown(known, of),
            what: match self.reference(setup, known, of) {
                Some(Reference::Asked(_)) => {
                    String::from("capacity, replies/s (its clients are the limit)")
                }
                _ => String::from("capacity, replies/s"),
            },
            measured: capacity.map(|of| of.spread()),
            simulated: Spread::of(rates.clone()),
            pairs: rates.iter().copied().zip(ends).collect(),
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
        let verdicts = judged(rows);
        let count = |is: Agreement| verdicts.iter().filter(|of| **of == is).count();
        let all = format!(
            "Of {} figures {} are simulated within {} % of what was measured and {} are not; {} \
             are open.",
            rows.len(),
            count(Agreement::Yes),
            100.0 * AIM_SHARE,
            count(Agreement::No),
            count(Agreement::Open)
        );
        let told = rows.iter().any(|row| row.simulated.is_some()).then_some(all);
        let lost = subjects.iter().filter_map(|of| {
            if self.is_failed(known, of) {
                return Some(format!("{of} failed verification, and is not simulated."));
            }
            let fit = self.fit(setup, known, of)?;
            let why = known.cell(&fit)?.in_vain().first()?.verdict.to_string();
            Some(format!("{of}: {why}. So nothing is simulated of it."))
        });
        let limited = subjects.iter().filter_map(|of| self.limited(setup, known, of));
        told.into_iter().chain(limited).chain(lost).collect()
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
    fn shown(&self, known: &Known<'_>, of: &Subject) -> String {
        marked(of.to_string(), self.is_failed(known, of))
    }

    /// What the simulations had to know, and what it is made of.
    pub(super) fn parameters(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
    ) -> Table {
        let row = |of: &Subject| {
            let cpu = |share| {
                let spec = self.rate(setup, known, of, share)?;
                known.cell(&spec)?.judged(&metric::CPU)
            };
            let told = |of: Option<Spread>| of.map_or(NONE.into(), |of| spread_text(&of));
            let fit = self.fit(setup, known, of);
            let made = fit.as_ref().and_then(|fit| made(known, fit));
            let us = |of: Option<f64>| of.map_or(NONE.into(), number);
            let flag = |name: &str| fit.as_ref()?.load.flags.get(name)?.parse().ok();
            vec![
                self.shown(known, of),
                told(cpu(SELDOM)),
                told(cpu(OFTEN)),
                us(made.as_ref().map(|of| of.receive_us)),
                us(made.as_ref().map(|of| of.wake_us)),
                us(flag("round-trip")),
                us(flag("thread-switch")),
                us(flag("hand-over")),
            ]
        };
        let head = [
            "server",
            "a reply at 0.2, µs",
            "at 0.7, µs",
            "receive, µs",
            "wake, µs",
            "round trip, µs",
            "switch, µs",
            "hand-over, µs",
        ];
        Table {
            title: String::from("What the simulations were told, and what it is made of"),
            head: head.map(String::from).into(),
            rows: subjects.iter().map(row).collect(),
            notes: vec![String::from(
                "receive stands for all that a request takes, its connection and its file \
                 included, but the switches, the hand-overs and the wake.",
            )],
        }
    }
}

/// What is shown of them.
pub(super) fn table(rows: &[Row]) -> Table {
    let told = |of: &Option<Spread>| of.as_ref().map_or(NONE.into(), spread_text);
    let row = |(row, verdict): (&Row, Agreement)| {
        let error = Ratio::of(&row.pairs, MISSED_SHARE).map_or(NONE.into(), |ratio| {
            let percent = |of: f64| format!("{:+.1}", 100.0 * (of - 1.0));
            let Ratio { middle, low, high } = ratio;
            format!("{} [{} to {}]", percent(middle), percent(low), percent(high))
        });
        let verdict = match verdict {
            Agreement::Yes => "yes",
            Agreement::No => "no",
            Agreement::Open => "open",
        };
        let (measured, simulated) = (told(&row.measured), told(&row.simulated));
        vec![row.of.clone(), row.what.clone(), measured, simulated, error, verdict.into()]
    };
    let head = ["server", "what", "measured", "simulated", "error, %", "within 15 %"];
    Table {
        title: String::from("Measured and simulated"),
        head: head.map(String::from).into(),
        rows: rows.iter().zip(judged(rows)).map(row).collect(),
        notes: vec![String::from(
            "An error is that of the medians, with its 95 % interval by pairs of repeats; of a \
             capacity pairs are of simulations with the ends and the middle of what it lies \
             between. A verdict takes three pairs, and intervals that are wider the more figures \
             there are (Holm's correction), which lie within 15 %, or beyond.",
        )],
    }
}

fn judged(rows: &[Row]) -> Vec<Agreement> {
    let pairs: Vec<Vec<Pair>> = rows.iter().map(|row| row.pairs.clone()).collect();
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
