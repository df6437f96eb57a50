//! A run as people read it, and the line that tells how it goes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::Duration;

use super::{About, Report};
use crate::collector::figures::Figures;
use crate::collector::flow::{Flow, Interval};
use crate::collector::results::{Detail, OfKind, Requests, Results, Share};
use crate::collector::times::Times;
use crate::collector::{LATE, Pace};
use crate::expectation::Met;
use crate::gates::{self, Finding, Verdict};
use crate::record::Outcome;
use crate::units;

/// More than a screen of them is read by nobody: so many, the worst ones.
const CLIENTS_TOLD: usize = 8;

/// The same: neighbours are told as one. A run of ten seconds then fits on a screen of 40 lines.
const INTERVALS_TOLD: usize = 12;

/// The same: more sizes are told by their classes.
const SIZES_TOLD: usize = 9;

/// Columns of what is not a table.
const WIDTH: usize = 80;

/// Rows of times.
const WHOLE: &str = "whole reply";
const LAG: &str = "schedule lag";

/// The quantiles of most tables, of a thousand.
const QUANTILES: [u16; 4] = [500, 900, 990, 999];

/// The whole, in sections with an empty line between them; those that would tell nothing are left
/// out. The verdict and what was expected stand last, where a terminal shows them.
#[must_use]
pub fn text(report: &Report<'_>) -> String {
    let Report { results, findings, expected, .. } = report;
    let figures = Figures::of(results);
    let mut sections = vec![head(report)];
    if results.requests.counts.total() > 0 || results.flow != Flow::default() {
        sections.extend([
            rates(results, &figures),
            outcomes(results),
            times(results),
            details(results),
            clients(results),
        ]);
    }
    sections.extend([intervals(results), verdict(findings), expectations(findings, expected)]);
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        _ = writeln!(text, "{gap}{}", section.trim_end());
    }
    text
}

fn head(report: &Report<'_>) -> String {
    let Report { about, results, .. } = report;
    let mut measured = units::time(results.measured);
    if results.measured < results.planned {
        measured = format!("{measured} of {}", units::time(results.planned));
    }
    let warm_up = match results.warm_up {
        Duration::ZERO => String::from(", no warm-up"),
        warm_up => format!(" after {} of warm-up", units::time(warm_up)),
    };
    let busy = results.busiest();
    let busy = busy.map(|(_, share)| format!(", generator {} busy", units::share(share)));
    let About { target, workload, load, seed, notes, .. } = about;
    let notes = notes.as_ref().map_or_else(String::new, |notes| format!("\n{notes}"));
    format!(
        "{target}: {workload}, {load}\n{measured} measured{warm_up}, seed {seed}{}{notes}",
        busy.unwrap_or_default()
    )
}

/// By the second; replies stand first, as other generators have it.
fn rates(results: &Results, figures: &Figures) -> String {
    let within = match results.patience {
        Some(patience) => format!("good/s, within {}", units::time(patience)),
        None => String::from("good/s"),
    };
    let received = units::bytes_per_s(figures.server_throughput_mbit_per_s * 1e6 / 8.0);
    table(&[
        row("replies/s", [units::rate(figures.replies_per_s)]),
        row(&within, [units::rate(figures.goodput_per_s)]),
        row("asked for/s", [units::rate(figures.offered_per_s)]),
        row("received", [received]),
    ])
}

fn outcomes(results: &Results) -> String {
    let counts = &results.requests.counts;
    let total = counts.total();
    if total > 0 && counts.of(Outcome::Good) == total {
        return format!("requests  {}, all good", units::count(total));
    }
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

fn times(results: &Results) -> String {
    let requests = &results.requests;
    let rows = [
        ("connected", &requests.connect),
        ("first byte", &requests.first_byte),
        (WHOLE, &requests.whole),
        (LAG, &requests.lag),
    ];
    let since = match results.pace {
        Pace::Open => "from the intended start",
        Pace::Closed => "since a client was ready",
    };
    let heads = ["mean", "p50", "p90", "p99", "p99.9", "longest"];
    let mut told = vec![row(since, heads.map(String::from))];
    let is_late = requests.lag.quantile(0.99) > LATE;
    for (name, times) in rows {
        let has_schedule = results.pace == Pace::Open || is_late;
        if times.count() == 0 || (name == LAG && !has_schedule) {
            continue;
        }
        let mut cells = vec![format!("  {name}")];
        cells.push(told_of(times, times.mean()));
        cells.extend(QUANTILES.map(|share| quantile(times, share)));
        cells.push(told_of(times, times.longest()));
        told.push(cells);
        if name == WHOLE && times.count() < requests.counts.total() {
            told.push(of_all(requests));
        }
    }
    table(&told)
}

/// Beside the times of good replies: those of all requests, where one that got none waits for ever.
fn of_all(requests: &Requests) -> Vec<String> {
    let mut cells = vec![String::from("    of all requests"), String::from("never")];
    cells.extend(QUANTILES.map(|share| {
        if !is_told(requests.counts.total(), share) {
            return String::from("-");
        }
        let time = requests.whole_of_all(f64::from(share) / 1000.0);
        time.map_or(String::from("never"), units::time)
    }));
    cells.push(String::from("never"));
    cells
}

/// A time of these, if there are any.
fn told_of(times: &Times, time: Duration) -> String {
    if times.count() == 0 { String::from("-") } else { units::time(time) }
}

/// What so many of a thousand do not exceed; nothing where that is but the longest.
fn quantile(times: &Times, share: u16) -> String {
    if is_told(times.count(), share) {
        units::time(times.quantile(f64::from(share) / 1000.0))
    } else {
        String::from("-")
    }
}

/// Whether at least one of so many is beyond a quantile.
const fn is_told(count: u64, share: u16) -> bool {
    count.saturating_mul(1000 - share as u64) >= 1000
}

/// By size, or by class where there are many sizes; nothing where there is but one.
fn details(results: &Results) -> String {
    let kinds = || results.kinds.iter().filter(|of| of.detail.counts.total() > 0);
    let have_sizes = kinds().all(|of| of.kind.bytes.is_some());
    let rows: Vec<Vec<String>> = if have_sizes && kinds().count() <= SIZES_TOLD {
        let named = |of: &OfKind| format!("  {}", units::count(of.kind.bytes.unwrap_or_default()));
        kinds().map(|of| detail_row(&named(of), &of.detail)).collect()
    } else {
        let mut classes: BTreeMap<u16, Detail> = BTreeMap::new();
        for of in kinds() {
            classes.entry(of.kind.class).or_insert_with(Detail::new).add(&of.detail);
        }
        let row =
            |(&class, detail)| detail_row(&format!("  {}", results.class_name(class)), detail);
        classes.iter().map(row).collect()
    };
    if rows.len() < 2 {
        return String::new();
    }
    let mut told = vec![detail_head(if have_sizes && rows.len() == kinds().count() {
        "by bytes of the file"
    } else {
        "by class of files"
    })];
    told.extend(rows);
    table(&told)
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
        quantile(whole, 500),
        quantile(whole, 990),
        told_of(whole, whole.longest()),
    ];
    row(name, cells)
}

fn intervals(results: &Results) -> String {
    let all: Vec<(Duration, &Interval)> = results.intervals.iter().collect();
    let together = all.len().div_ceil(INTERVALS_TOLD).max(1);
    let lasts = results.intervals.lasts() * together as u32;
    let heads = ["asked/s", "replies/s", "good/s", "failed/s", "p50", "p99", "longest", ""];
    let mut rows = vec![row("from second", heads.map(String::from))];
    for some in all.chunks(together) {
        let (begin, mut interval) = (some[0].0, some[0].1.clone());
        some[1..].iter().for_each(|(_, next)| interval.add(next));
        let (of, note) = piece(results, begin, lasts);
        let per_s = |count: u64| units::rate(count as f64 / of.as_secs_f64());
        let flow = &interval.flow;
        let counts = [interval.offered, flow.replies, flow.goodput, flow.not_good()];
        let mut cells = vec![format!("  {}", seconds(begin))];
        cells.extend(counts.map(per_s));
        let whole = &interval.whole;
        let times = [whole.quantile(0.5), whole.quantile(0.99), whole.longest()];
        cells.extend(times.map(|time| told_of(whole, time)));
        cells.push(note);
        rows.push(cells);
    }
    // Of a single one all has been said.
    if rows.len() <= 2 { String::new() } else { table(&rows) }
}

/// Of a piece of a run, how much of it is told as rates, and what is to be known of it.
fn piece(results: &Results, begin: Duration, lasts: Duration) -> (Duration, String) {
    let end = results.warm_up.saturating_add(results.measured);
    let to = begin.saturating_add(lasts);
    if begin >= end {
        (lasts, String::from("after"))
    } else if to > end {
        (end - begin, format!("until {}", seconds(end)))
    } else if to <= results.warm_up {
        (lasts, String::from("warm-up"))
    } else {
        (lasts, String::new())
    }
}

/// Without what nobody reads: milliseconds at most.
fn seconds(since: Duration) -> f64 {
    (since.as_secs_f64() * 1e3).round() / 1e3
}

/// What fails and what is to be known, in words; of what holds, its name.
fn verdict(findings: &[Finding]) -> String {
    let word = if gates::is_valid(findings) { "valid" } else { "INVALID" };
    let mut text = format!("this run is {word}\n");
    let of = |verdict| findings.iter().filter(move |finding| finding.verdict == verdict);
    for (verdict, name) in [(Verdict::Fails, "FAILS"), (Verdict::Told, "note ")] {
        for Finding { gate, words, .. } in of(verdict) {
            text.push_str(&wrapped(&format!("  {name} "), &format!("{gate}: {words}")));
        }
    }
    let holds: Vec<&str> = of(Verdict::Holds).map(|finding| finding.gate).collect();
    if !holds.is_empty() {
        text.push_str(&wrapped("  holds ", &holds.join(", ")));
    }
    text
}

/// What was expected, and what came of it.
fn expectations(findings: &[Finding], expected: &[Met]) -> String {
    if expected.is_empty() {
        return String::new();
    }
    let mut rows = vec![row("expected", [String::from("seen"), String::new()])];
    rows.extend(expected.iter().map(|met| {
        let word = match (met.is_proven, met.holds) {
            (true, true) => "holds",
            (true, false) => "FAILS",
            (false, true) => "holds, not proven",
            (false, false) => "FAILS, not proven",
        };
        row(&format!("  {}", met.expected), [met.seen.clone(), String::from(word)])
    }));
    let text = table(&rows);
    let is_proven_by_lag =
        !gates::is_valid(findings) && expected.iter().all(|met| met.is_proven && met.holds);
    if !is_proven_by_lag {
        return text;
    }
    text + &wrapped(
        "  ",
        "The generator was late, and started every request all the same. That makes times longer \
         and rates lower than they are, so what is expected is proven although the run is invalid.",
    )
}

/// Words in lines; the first begins with `head`, the others where it ends.
pub(super) fn wrapped(head: &str, words: &str) -> String {
    let mut text = String::new();
    let mut line = String::from(head);
    let mut words = words.split(' ').peekable();
    while let Some(word) = words.next() {
        let has_words = line.len() > head.len();
        // A unit stays with its number.
        let unit = words.peek().filter(|next| next.len() <= 2);
        let length = word.len() + unit.map_or(0, |unit| 1 + unit.len());
        if has_words && line.len() + 1 + length > WIDTH {
            _ = writeln!(text, "{line}");
            line = " ".repeat(head.len());
        } else if has_words {
            line.push(' ');
        }
        line.push_str(word);
    }
    _ = writeln!(text, "{line}");
    text
}

pub(super) fn row<const N: usize>(name: &str, cells: [String; N]) -> Vec<String> {
    std::iter::once(String::from(name)).chain(cells).collect()
}

/// Rows in columns: the first to the left, the others to the right, two spaces between them.
pub(super) fn table(rows: &[Vec<String>]) -> String {
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
    /// Sessions that have begun and are not over.
    pub asking: usize,
    /// Where replies are all that is left to come: since when, and until when at most.
    pub over: Option<(Duration, Duration)>,
}

/// Whoever waits for longer has no patience that it could be over with.
const WAIT_TOLD_MAX: Duration = Duration::from_secs(24 * 3600);

/// What is left to do of a run in which nothing begins any more.
fn waiting(progress: &Progress<'_>, (since, until): (Duration, Duration)) -> String {
    let left = until.saturating_sub(progress.at);
    let replies = match progress.asking {
        1 => String::from("1 reply"),
        count => format!("{} replies", units::count(count as u64)),
    };
    let most = if left <= WAIT_TOLD_MAX {
        format!(", for {} s at most", left.as_secs() + 1)
    } else {
        String::new()
    };
    format!("{:>4} s over, waits for {replies}{most}; ^C ends that", since.as_secs())
}

/// One line, no wider than a terminal's columns, without its end. Its columns stay where they are
/// from one time to the next.
#[must_use]
pub fn progress(progress: &Progress<'_>, columns: usize) -> String {
    let seconds = |span: Duration| span.as_secs();
    let at = progress.at;
    if let Some(over) = progress.over {
        return waiting(progress, over).chars().take(columns).collect();
    }
    let head = match progress.of {
        _ if at < progress.warm_up => format!("{:>4} s warm-up", seconds(at)),
        Some(of) => format!("{:>4} of {} s", seconds(at), seconds(of)),
        None => format!("{:>4} s", seconds(at)),
    };
    let mut line = format!("{head:<14}");
    if let Some(interval) = progress.latest {
        let lasts = progress.interval.as_secs_f64();
        let per_s = |count: u64| units::rate(if lasts > 0.0 { count as f64 / lasts } else { 0.0 });
        let (flow, whole) = (&interval.flow, &interval.whole);
        let p99 = told_of(whole, whole.quantile(0.99));
        let (good, failed) = (per_s(flow.goodput), per_s(flow.not_good()));
        _ = write!(line, "  good {good:>9}/s  failed {failed:>8}/s  p99 {p99:>7}");
    }
    _ = write!(line, "  open {:>6}", units::count(progress.open as u64));
    line.chars().take(columns).collect()
}
