//! Two runs beside each other: how their numbers compare, and why they may not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use measure::Duration;

use super::About;
use super::json::Whole;
use super::summary::{row, table, wrapped};
use crate::collector::figures::Figures;
use crate::collector::flow::Interval;
use crate::collector::results::Results;
use crate::collector::times::Times;
use crate::knob::printable;
use crate::units;
use crate::url::Url;

/// A run that was written, and under which name.
#[derive(Debug, Clone, Copy)]
pub struct Run<'r> {
    /// Of its file.
    pub name: &'r str,
    /// What it says.
    pub whole: &'r Whole,
}

/// Flags that change nothing of a load.
const NO_LOAD: [&str; 6] = ["json", "hgrm", "records", "expect", "find", "probe"];

/// Facts of a machine that are others each time.
const MOMENTARY: [&str; 1] = ["load_average"];

/// A row of the table.
struct Row {
    name: &'static str,
    /// Of a run; `None`: it has none.
    of_run: fn(&Results) -> Option<f64>,
    /// Of an interval that lasts so long.
    of_interval: fn(&Interval, Duration) -> Option<f64>,
    shown: fn(f64) -> String,
    /// Whether two of them are compared by their ratio, and not by their difference.
    is_ratio: bool,
}

const ROWS: [Row; 4] = [
    Row {
        name: "replies/s",
        of_run: |results| Some(Figures::of(results).replies_per_s),
        of_interval: |interval, lasts| Some(interval.flow.replies as f64 / lasts.as_secs_f64()),
        shown: units::rate,
        is_ratio: true,
    },
    Row {
        name: "p50",
        of_run: |results| quantile(&results.requests.whole, 0.5),
        of_interval: |interval, _| quantile(&interval.whole, 0.5),
        shown: time,
        is_ratio: true,
    },
    Row {
        name: "p99",
        of_run: |results| quantile(&results.requests.whole, 0.99),
        of_interval: |interval, _| quantile(&interval.whole, 0.99),
        shown: time,
        is_ratio: true,
    },
    Row {
        name: "failed",
        of_run: failed,
        of_interval: failed_of,
        shown: units::share,
        is_ratio: false,
    },
];

/// What is told of them: first which runs they are, last what is to be known of the numbers. Their
/// files may be anybody's: what they say is shown, and a terminal obeys none of it.
#[must_use]
pub fn text(a: &Run<'_>, b: &Run<'_>) -> String {
    let mut text = String::new();
    for (letter, Run { name, whole }) in [("A", a), ("B", b)] {
        let About { target, workload, load, began, .. } = &whole.about;
        let measured = units::time(whole.results.measured);
        let words = format!("{name}: {target}, {workload}, {load}, {measured}, {began}");
        text.push_str(&wrapped(&format!("{letter}  "), &printable(&words)));
    }
    let (of_a, of_b) = (&a.whole.results, &b.whole.results);
    let mut rows =
        vec![row("", ["A", "in its pieces", "B", "in its pieces", "B to A"].map(String::from))];
    rows.extend(ROWS.iter().map(|of| of.cells(of_a, of_b)));
    _ = write!(text, "\n{}", table(&rows));
    let (piece_a, piece_b) = (of_a.intervals.lasts(), of_b.intervals.lasts());
    let pieces = if piece_a == piece_b {
        units::time(piece_a)
    } else {
        format!("{} and {}", units::time(piece_a), units::time(piece_b))
    };
    text.push('\n');
    let note = format!(
        "the pieces of a run are {pieces} long, warm-up left out; how far they are apart does not \
         tell how far repeats would be. Repeat both, in turn, before you believe a small difference"
    );
    text.push_str(&wrapped("note  ", &note));
    let differences = differences(a, b);
    if !differences.is_empty() {
        text.push_str("\nnot comparable, or only by what differs here\n");
        differences.iter().for_each(|words| text.push_str(&wrapped("  ", &printable(words))));
    }
    text
}

impl Row {
    fn cells(&self, a: &Results, b: &Results) -> Vec<String> {
        let number = |number: Option<f64>| number.map_or(String::from("-"), self.shown);
        let spread = |results| {
            let spread: Option<RangeInclusive<f64>> = self.spread(results);
            let told = spread.map(|of| [*of.start(), *of.end()].map(self.shown).join(" to "));
            told.unwrap_or_else(|| String::from("-"))
        };
        let (of_a, of_b) = ((self.of_run)(a), (self.of_run)(b));
        let change = self.change(of_a, of_b);
        row(self.name, [number(of_a), spread(a), number(of_b), spread(b), change])
    }

    /// From the first to the second.
    fn change(&self, a: Option<f64>, b: Option<f64>) -> String {
        match (a, b) {
            (Some(a), Some(b)) if self.is_ratio && a > 0.0 => format!("{:.3} x", b / a),
            (Some(a), Some(b)) if !self.is_ratio => {
                let sign = if b < a { '-' } else { '+' };
                format!("{sign}{}", units::points((b - a).abs()))
            }
            _ => String::from("-"),
        }
    }

    /// The least and the most of the whole intervals that were measured, if there are several.
    fn spread(&self, results: &Results) -> Option<RangeInclusive<f64>> {
        let (lasts, end) = (results.intervals.lasts(), results.warm_up + results.measured);
        let measured = results
            .intervals
            .iter()
            .filter(|(begin, _)| *begin >= results.warm_up && begin.saturating_add(lasts) <= end);
        let numbers: Vec<f64> =
            measured.filter_map(|(_, interval)| (self.of_interval)(interval, lasts)).collect();
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(0.0, f64::max);
        (numbers.len() >= 2).then_some(least..=most)
    }
}

fn quantile(times: &Times, share: f64) -> Option<f64> {
    (times.count() > 0).then(|| times.quantile(share).as_secs_f64())
}

fn failed(results: &Results) -> Option<f64> {
    (results.requests.counts.total() > 0).then(|| Figures::of(results).failed_share)
}

fn failed_of(interval: &Interval, _: Duration) -> Option<f64> {
    let flow = &interval.flow;
    let all = flow.replies.saturating_add(flow.failed);
    (all > 0).then(|| flow.not_good() as f64 / all as f64)
}

fn time(seconds: f64) -> String {
    units::time(Duration::from_secs_f64(seconds))
}

/// In what the runs differ beside the server, in a line each.
fn differences(a: &Run<'_>, b: &Run<'_>) -> Vec<String> {
    let (of_a, of_b) = (&a.whole.about, &b.whole.about);
    let mut all = Vec::new();
    let paths = [of_a, of_b].map(|about| path(&about.target));
    if paths[0] != paths[1] {
        all.push(format!("path: {} in A, {} in B", paths[0], paths[1]));
    }
    all.extend(differing("--", (&of_a.knobs, &of_b.knobs), &NO_LOAD));
    all.extend(differing("machine, ", (&of_a.machine, &of_b.machine), &MOMENTARY));
    all.extend(differing("version of ", (&of_a.versions, &of_b.versions), &[]));
    for (letter, Run { whole, .. }) in [("A", a), ("B", b)] {
        let Whole { is_valid, results, .. } = whole;
        if !is_valid {
            all.push(format!("{letter} is invalid: its report says why"));
        }
        if results.measured < results.planned {
            let [measured, planned] = [results.measured, results.planned].map(units::time);
            all.push(format!("{letter} was ended early: {measured} of {planned} measured"));
        }
    }
    all
}

/// Words by name.
type Words = BTreeMap<String, String>;

fn differing(label: &str, (a, b): (&Words, &Words), ignored: &[&str]) -> Vec<String> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let judged = names.into_iter().filter(|name| !ignored.contains(&name.as_str()));
    let told = judged.filter(|name| a.get(*name) != b.get(*name)).map(|name| {
        let of =
            |words: &Words| words.get(name).map_or("none".into(), |word| word.replace('\n', ", "));
        format!("{label}{name}: {} in A, {} in B", of(a), of(b))
    });
    told.collect()
}

/// Of a URL; of none, all of it.
fn path(target: &str) -> String {
    target.parse::<Url>().map_or_else(|_| target.into(), |url| url.target)
}
