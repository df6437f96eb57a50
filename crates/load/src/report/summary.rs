//! A run as people read it, and the line that tells how it goes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::Duration;

use super::Report;
use crate::collector::figures::Figures;
use crate::collector::flow::Interval;
use crate::collector::results::{Detail, Results, Share};
use crate::collector::times::Times;
use crate::gates::{self, Finding, Verdict};
use crate::units;

/// More than a screen of them is read by nobody: so many, the worst ones.
const CLIENTS_TOLD: usize = 8;

/// The same: neighbours are told as one.
const INTERVALS_TOLD: usize = 20;

/// The quantiles of most tables.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// The whole, in sections with an empty line between them.
#[must_use]
pub fn text(report: &Report<'_>) -> String {
    let Report { about, results, findings } = report;
    let figures = Figures::of(results);
    let head = format!(
        "{}: {}, {}\nseed {}, {} measured after {} of warm-up",
        about.target,
        about.workload,
        about.load,
        about.seed,
        units::time(results.measured),
        units::time(results.warm_up),
    );
    let sections = [
        head,
        outcomes(results),
        rates(results, &figures),
        times(results),
        papers(results, &figures),
        classes(results),
        clients(results),
        intervals(results),
        verdict(findings),
    ];
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        _ = writeln!(text, "{gap}{}", section.trim_end());
    }
    text
}

fn outcomes(results: &Results) -> String {
    let counts = &results.requests.counts;
    let total = counts.total();
    let mut rows = vec![row("requests", [units::count(total), String::new()])];
    for (class, count) in counts.classes() {
        let share = Share { count, of: total }.ratio();
        rows.push(row(&format!("  {class}"), [units::count(count), units::share(share)]));
        let statuses = counts.statuses().filter(|_| class == "status");
        rows.extend(statuses.map(|(status, count)| {
            row(&format!("    {status}"), [units::count(count), String::new()])
        }));
    }
    table(&rows)
}

fn rates(results: &Results, figures: &Figures) -> String {
    let per_s = |rate: f64| format!("{}/s", units::rate(rate));
    let within = match results.patience {
        Some(patience) => format!("goodput, within {}", units::time(patience)),
        None => String::from("goodput"),
    };
    table(&[
        row("offered", [per_s(figures.offered_per_s)]),
        row("replies", [per_s(figures.replies_per_s)]),
        row(&within, [per_s(figures.goodput_per_s)]),
        row("failures", [per_s(figures.failures_per_s)]),
        row("received", [units::bytes_per_s(figures.server_throughput_mbit_per_s * 1e6 / 8.0)]),
    ])
}

fn times(results: &Results) -> String {
    let requests = &results.requests;
    let rows = [
        ("connected", &requests.connect),
        ("first byte", &requests.first_byte),
        ("whole reply", &requests.whole),
        ("schedule lag", &requests.lag),
    ];
    let heads = ["mean", "p50", "p90", "p99", "p99.9", "longest"];
    let mut told = vec![row("from the intended start", heads.map(String::from))];
    for (name, times) in rows {
        let mut cells = vec![format!("  {name}")];
        cells.push(told_of(times, times.mean()));
        cells.extend(QUANTILES.map(|share| told_of(times, times.quantile(share))));
        cells.push(told_of(times, times.longest()));
        told.push(cells);
    }
    table(&told)
}

/// A time of these, if there are any.
fn told_of(times: &Times, time: Duration) -> String {
    if times.count() == 0 { String::from("-") } else { units::time(time) }
}

fn papers(results: &Results, figures: &Figures) -> String {
    let requests = &results.requests;
    let mean = |times: &Times| told_of(times, times.mean());
    let throughput = units::mbit_per_s(figures.server_throughput_mbit_per_s);
    let of_client = units::mbit_per_s(figures.client_throughput_mbit_per_s);
    table(&[
        row("by the papers' names", [String::new()]),
        row("  server throughput (JAWS97 2.3)", [throughput]),
        row(
            "  connections (JAWS97 2.3)",
            [format!("{}/s", units::rate(figures.connections_per_s))],
        ),
        row("  client throughput (JAWS97 2.3)", [of_client]),
        row("  client latency (JAWS97 2.3)", [mean(&requests.latency)]),
        row("  mean response time (Pariag07 8)", [mean(&requests.response)]),
    ])
}

/// By class, the sizes of each together; nothing where there is but one.
fn classes(results: &Results) -> String {
    let mut classes: BTreeMap<u16, Detail> = BTreeMap::new();
    for of in results.kinds.iter().filter(|of| of.detail.counts.total() > 0) {
        classes.entry(of.kind.class).or_insert_with(Detail::new).add(&of.detail);
    }
    if classes.len() < 2 {
        return String::new();
    }
    let mut rows = vec![detail_head("by class")];
    rows.extend(classes.iter().map(|(class, detail)| detail_row(&format!("  {class}"), detail)));
    table(&rows)
}

/// Those with the greatest share of timeouts; of equal ones, those that wait longest.
fn clients(results: &Results) -> String {
    if results.clients.len() < 2 {
        return String::new();
    }
    let mut clients: Vec<(usize, &Detail)> =
        results.clients.iter().map(|of| &of.detail).enumerate().collect();
    let badness = |detail: &Detail| {
        (Share::of_timeouts(&detail.counts).ratio(), detail.whole.quantile(0.99).as_secs_f64())
    };
    clients.sort_by(|(_, a), (_, b)| {
        let ((a_share, a_p99), (b_share, b_p99)) = (badness(a), badness(b));
        b_share.total_cmp(&a_share).then(b_p99.total_cmp(&a_p99))
    });
    let (count, told) = (clients.len(), clients.len().min(CLIENTS_TOLD));
    let head = if told < count {
        format!("by client, the worst {told} of {count}")
    } else {
        String::from("by client, the worst first")
    };
    let mut rows = vec![detail_head(&head)];
    let worst = clients.iter().take(CLIENTS_TOLD);
    rows.extend(worst.map(|(client, detail)| detail_row(&format!("  {client}"), detail)));
    table(&rows)
}

fn detail_head(name: &str) -> Vec<String> {
    row(name, ["requests", "timeouts", "mean", "p50", "p99", "longest"].map(String::from))
}

fn detail_row(name: &str, detail: &Detail) -> Vec<String> {
    let (share, whole) = (Share::of_timeouts(&detail.counts), &detail.whole);
    let cells = [
        units::count(share.of),
        units::share(share.ratio()),
        told_of(whole, whole.mean()),
        told_of(whole, whole.quantile(0.5)),
        told_of(whole, whole.quantile(0.99)),
        told_of(whole, whole.longest()),
    ];
    row(name, cells)
}

fn intervals(results: &Results) -> String {
    let all: Vec<(Duration, &Interval)> = results.intervals.iter().collect();
    let together = all.len().div_ceil(INTERVALS_TOLD).max(1);
    let lasts = results.intervals.lasts() * together as u32;
    let heads = ["offered/s", "replies/s", "goodput/s", "failed/s", "p50", "p99", ""];
    let mut rows = vec![row("in the second", heads.map(String::from))];
    for some in all.chunks(together) {
        let (begin, mut interval) = (some[0].0, some[0].1.clone());
        some[1..].iter().for_each(|(_, next)| interval.add(next));
        let per_s = |count: u64| units::rate(count as f64 / lasts.as_secs_f64());
        let counts =
            [interval.offered, interval.flow.replies, interval.flow.goodput, interval.flow.failed];
        let mut cells = vec![format!("  {}", begin.as_secs_f64())];
        cells.extend(counts.map(per_s));
        let whole = &interval.whole;
        cells.extend([0.5, 0.99].map(|share| told_of(whole, whole.quantile(share))));
        cells.push(String::from(part_of_run(results, begin, begin + lasts)));
        rows.push(cells);
    }
    if rows.len() == 1 { String::new() } else { table(&rows) }
}

/// What of a run is not measured, if all of a piece of it is that.
fn part_of_run(results: &Results, begin: Duration, end: Duration) -> &'static str {
    if end <= results.warm_up {
        "warm-up"
    } else if begin >= results.warm_up.saturating_add(results.measured) {
        "after"
    } else {
        ""
    }
}

fn verdict(findings: &[Finding]) -> String {
    let word = if gates::is_valid(findings) { "valid" } else { "INVALID" };
    let mut text = format!("this run is {word}\n");
    for finding in findings {
        let verdict = match finding.verdict {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::Told => "told ",
        };
        _ = writeln!(text, "  {verdict} {}: {}", finding.gate, finding.words);
    }
    text
}

fn row<const N: usize>(name: &str, cells: [String; N]) -> Vec<String> {
    std::iter::once(String::from(name)).chain(cells).collect()
}

/// Rows in columns: the first to the left, the others to the right, two spaces between them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let wide = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (place, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            _ = match place {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// How far a run is, and what came in the last interval that is over.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'p> {
    /// Since the start.
    pub at: Duration,
    /// As long as the run is to last; `None`: until something else ends it.
    pub of: Option<Duration>,
    /// Until then nothing is measured.
    pub warm_up: Duration,
    /// As told by the collector.
    pub latest: Option<&'p Interval>,
    /// How long that interval was.
    pub interval: Duration,
    /// Connections that are open.
    pub open: usize,
}

/// One line, no wider than a terminal's columns, without its end. Its columns stay where they are
/// from one time to the next.
#[must_use]
pub fn progress(progress: &Progress<'_>, columns: usize) -> String {
    let seconds = progress.at.as_secs();
    let mut line = match progress.of {
        Some(of) => format!("{seconds:>4} of {} s", of.as_secs()),
        None => format!("{seconds:>4} s"),
    };
    if let Some(interval) = progress.latest {
        let lasts = progress.interval.as_secs_f64();
        let per_s = |count: u64| units::rate(if lasts > 0.0 { count as f64 / lasts } else { 0.0 });
        let (flow, whole) = (&interval.flow, &interval.whole);
        let p99 = told_of(whole, whole.quantile(0.99));
        let (good, failed) = (per_s(flow.goodput), per_s(flow.failed));
        _ = write!(line, "  good {good:>10}/s  failed {failed:>9}/s  p99 {p99:>7}");
    }
    _ = write!(line, "  open {:>6}", units::count(progress.open as u64));
    if progress.at < progress.warm_up {
        line.push_str("  warm-up");
    }
    line.chars().take(columns).collect()
}
