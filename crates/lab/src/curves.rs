//! Figures and tables that most sections have, made of cells.

use std::collections::BTreeSet;

use load::units::grouped;

use crate::capacity::{Capacity, RATE, TRIES, WhyNot};
use crate::compare::Ratio;
use crate::design::{Design, EQUAL, OF_CAPACITY, PROBE};
use crate::known::{Cell, Known, Spread};
use crate::limit;
use crate::metric::{self, Metric, NEVER};
use crate::page::{Axis, Figure, Mark, NONE, Series, Shape, Table};
use crate::spec::Spec;
use crate::subject::Subject;

/// A curve for each subject of a design, over the rates that it was asked at.
#[must_use]
pub fn over_rates(design: &Design, known: &Known<'_>, name: &str, metric: &Metric) -> Figure {
    let x = Axis {
        label: String::from("sessions begun"),
        unit: String::from("sessions/s"),
        ..Axis::default()
    };
    over(design, known, name, metric, (x, RATE))
}

/// The same over the rates as shares of each subject's own capacity.
#[must_use]
pub fn over_capacity(design: &Design, known: &Known<'_>, name: &str, metric: &Metric) -> Figure {
    let x = Axis { label: String::from("load, as a multiple of the capacity"), ..Axis::default() };
    over(design, known, name, metric, (x, OF_CAPACITY))
}

fn over(
    design: &Design,
    known: &Known<'_>,
    name: &str,
    metric: &Metric,
    (x, factor): (Axis, &str),
) -> Figure {
    let series = design.subjects.iter().zip(labels(&design.subjects)).map(|(of, label)| {
        let cells = design.curve(known, of);
        let is_unstable = is_unstable(&cells);
        series(label, &cells, metric, |cell| cell.factor(factor), is_unstable)
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    figure(name, metric, x, series)
}

/// For legends: each subject without the knobs in which all of its name are alike.
#[must_use]
pub fn labels(subjects: &[Subject]) -> Vec<String> {
    let label = |of: &Subject| {
        let is_one = |knob: &str, value: &str| {
            let has = |other: &Subject| other.knobs.get(knob).is_some_and(|its| its == value);
            let mut others = subjects.iter().filter(|other| other.name == of.name && *other != of);
            others.clone().next().is_some() && others.all(has)
        };
        let mut short = of.clone();
        short.knobs.retain(|knob, value| !is_one(knob, value));
        short.label()
    };
    subjects.iter().map(label).collect()
}

/// A figure of curves whose y is a metric.
#[must_use]
pub fn figure(name: &str, metric: &Metric, x: Axis, series: Vec<Series>) -> Figure {
    let y = Axis {
        label: metric.label.into(),
        unit: metric.unit.into(),
        is_logarithmic: metric.is_logarithmic,
        ..Axis::default()
    };
    let title = format!("{} over {}", capital(metric.label), x.label);
    Figure { name: name.into(), title, x, y, series, shape: Shape::Curves }
}

/// One curve of cells.
#[must_use]
pub fn series(
    label: String,
    cells: &[&Cell<'_>],
    metric: &Metric,
    x: impl Fn(&Cell<'_>) -> Option<f64>,
    is_unstable: bool,
) -> Series {
    let dots = cells.iter().filter_map(|cell| {
        let mut dot = cell.dot(x(cell)?, metric)?;
        // Of a curve over something else than the load, each cell may be at 0.9 of the capacity.
        let is_unstable = is_unstable || self::is_unstable(&[cell]);
        if is_unstable && dot.mark == Mark::Plain {
            dot.mark = Mark::Unstable;
        }
        Some(dot)
    });
    Series { label, points: dots.collect(), is_reference: false }
}

/// Whether the repeats of a curve at 0.9 of the capacity differ too much to tell it from others.
#[must_use]
pub fn is_unstable(cells: &[&Cell<'_>]) -> bool {
    let at_most = |cell: &&&Cell<'_>| cell.factor(OF_CAPACITY) == Some(0.9);
    cells.iter().find(at_most).is_some_and(|cell| cell.is_unstable() == Some(true))
}

/// A group of bars for each subject of a design: a metric at each multiple of its capacity.
#[must_use]
pub fn bars(design: &Design, known: &Known<'_>, name: &str, metric: &Metric) -> Figure {
    let series = design.multiples.iter().map(|&multiple| {
        let dots = design.subjects.iter().enumerate().filter_map(|(at, of)| {
            at_multiple(design, known, of, multiple)?.dot(at as f64, metric)
        });
        let label = format!("at {multiple} of its capacity");
        Series { label, points: dots.collect(), is_reference: false }
    });
    let series = series.collect();
    let names = labels(&design.subjects);
    let x = Axis { label: String::from("servers"), names, ..Axis::default() };
    Figure { title: capital(metric.label), shape: Shape::Bars, ..figure(name, metric, x, series) }
}

/// The cell of a subject at a multiple of its capacity.
#[must_use]
pub fn at_multiple<'s, 'k>(
    design: &Design,
    known: &'s Known<'k>,
    of: &Subject,
    multiple: f64,
) -> Option<&'s Cell<'k>> {
    let cells = design.curve(known, of);
    cells.into_iter().find(|cell| cell.factor(OF_CAPACITY) == Some(multiple))
}

/// A row for each subject of a design and multiple of its capacity.
#[must_use]
pub fn table(design: &Design, known: &Known<'_>, metrics: &[&Metric]) -> Table {
    let mut head: Vec<String> =
        ["subject", "capacity, replies/s", "load, of it"].map(String::from).into();
    head.extend(metrics.iter().map(|metric| metric.heading()));
    head.push(limit::HEADING.into());
    let mut rows = Vec::new();
    for of in &design.subjects {
        let capacity = design.capacity(known, of);
        let capacity = capacity.map_or_else(none, |capacity| between(&capacity));
        for &multiple in design.multiples {
            let cell = at_multiple(design, known, of, multiple);
            let Some(cell) = cell.filter(|cell| is_known(cell)) else { continue };
            let mut row = vec![of.to_string(), capacity.clone(), multiple.to_string()];
            row.extend(metrics.iter().map(|metric| told(cell, metric)));
            row.push(limit::told(cell));
            rows.push(row);
        }
    }
    let notes = vec![MARKS.into(), LIMITS.into()];
    Table { title: String::from("Capacity and load"), head, rows, notes }
}

/// Between what a capacity lies, and how far that is apart.
#[must_use]
pub fn between(capacity: &Capacity) -> String {
    let (low, high) = capacity.range;
    format!("{} to {} ({} %)", number(low), number(high), capacity.percent)
}

/// What each subject does at the same rates as all others; one without a capacity, too.
#[must_use]
pub fn at_equal_rates(design: &Design, known: &Known<'_>) -> Table {
    let metrics = [&metric::ANSWERED, &metric::CPU, &metric::P50, &metric::P99];
    let mut cells: Vec<&Cell<'_>> = known.cells(design.experiment, EQUAL).collect();
    cells.retain(|cell| is_known(cell));
    let rate = |cell: &Cell<'_>| cell.factor(RATE).unwrap_or_default();
    cells.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let row = |cell: &&Cell<'_>| {
        let told = metrics.iter().map(|metric| told(cell, metric));
        [number(rate(cell)), cell.subject().to_string()].into_iter().chain(told).collect()
    };
    let head = ["rate, sessions/s", "subject"].map(String::from);
    Table {
        title: String::from("All at the same rates"),
        head: head.into_iter().chain(metrics.map(Metric::heading)).collect(),
        rows: cells.iter().map(row).collect(),
        notes: vec![MARKS.into()],
    }
}

/// Whether anything is known of it: a point that counts, or that the server failed.
#[must_use]
pub fn is_known(cell: &Cell<'_>) -> bool {
    cell.points().next().is_some()
}

/// What stands beside a table of [`told`] cells.
pub const MARKS: &str = "\
    Medians, with the lowest and the highest repeat in brackets. A cross: failed verification. \
     ~: unstable, as at 0.9 of the capacity it is not known within 5 % how much of what is asked \
     for it answers (the 95 % interval of its median is wider). ?: one repeat, too few to say. \
     Percentiles are of all requests: never, where more had no good reply.";

/// What stands beside a table with [`limit::told`].
pub const LIMITS: &str = "\
    A capacity lies between a rate of which 99 % was answered and one of which it was not, each in \
    two of three tries; behind them stands how far they are from each other. A server was out of \
    its processor where that was idle for less than 5 % of the time, and out of its quota where it \
    used all of it up in 9 of 10 periods. One that is asked for more than its capacity and is out \
    of neither has no overload: what it loses, it does not lose for want of processor time.";

/// A cell of a table.
#[must_use]
pub fn told(cell: &Cell<'_>, metric: &Metric) -> String {
    let Some(spread) = cell.spread(metric) else { return none() };
    let is_judged = cell.factor(OF_CAPACITY) == Some(0.9) && !cell.is_failed();
    let mark = match is_judged.then(|| cell.is_unstable()) {
        Some(Some(true)) => " ~",
        Some(None) => " ?",
        Some(Some(false)) | None => "",
    };
    marked(format!("{}{mark}", spread_text(&spread)), cell.is_failed())
}

/// With a cross, where a server failed verification.
#[must_use]
pub fn marked(text: String, is_failed: bool) -> String {
    if is_failed { text + " ✗" } else { text }
}

/// A median, with the lowest and the highest: of three repeats quartiles tell less.
#[must_use]
pub fn spread_text(spread: &Spread) -> String {
    let (low, high) = spread.range;
    let median = number(spread.median);
    if spread.count < 2 || low == NEVER {
        return median;
    }
    format!("{median} ({} to {})", number(low), number(high))
}

/// A ratio with the interval in which it lies.
#[must_use]
pub fn ratio_text(ratio: &Ratio) -> String {
    let Ratio { middle, low, high } = *ratio;
    let number = |value: f64| match value.is_infinite() {
        true => String::from("∞"),
        false => number(value),
    };
    format!("{} ({} to {})", number(middle), number(low), number(high))
}

/// Three digits or all before the point, with commas between thousands; or that it never is.
#[must_use]
pub fn number(value: f64) -> String {
    if value == NEVER {
        return String::from("never");
    }
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        0.0 => 0,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    format!("{sign}{}", grouped(text))
}

fn none() -> String {
    String::from(NONE)
}

/// So many of them: `1 point`, `2 points`.
#[must_use]
pub fn counted(count: usize, what: &str) -> String {
    let count_text = grouped(&count.to_string());
    if count == 1 { format!("1 {what}") } else { format!("{count_text} {what}s") }
}

/// A time in words.
#[must_use]
pub fn lasting(seconds: f64) -> String {
    let (minutes, seconds) = ((seconds / 60.0).round(), seconds.round());
    let (count, what) = if seconds < 60.0 { (seconds, "second") } else { (minutes, "minute") };
    counted(count as usize, what)
}

/// With a capital letter at its begin.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What of an experiment failed or could not be measured, in a line each.
#[must_use]
pub fn excluded(known: &Known<'_>, experiment: &str) -> Vec<String> {
    let cells = known.all().iter().filter(|cell| cell.spec.experiment == experiment);
    let mut lines = without_capacity(known, experiment);
    let ignored = cells.clone().flat_map(|cell| {
        let points = cell.points().chain(cell.invalid.iter().copied());
        let ignored = points.flat_map(|point| &point.ignored);
        ignored.map(|what| format!("{} ignores its knob: {what}", cell.subject()))
    });
    lines.extend(ignored.collect::<BTreeSet<_>>());
    for cell in cells {
        for point in cell.points().filter(|point| !point.verdict.is_good()) {
            lines.push(format!("{}: {}", name(&point.spec), point.verdict));
        }
        let in_vain = cell.in_vain().into_iter();
        lines.extend(in_vain.map(|point| format!("{}: {}", name(&point.spec), point.verdict)));
    }
    lines
}

/// Those whose capacity could not be found, and why: nothing is asked of them in multiples of it,
/// and they have no rank.
fn without_capacity(known: &Known<'_>, experiment: &str) -> Vec<String> {
    let line = |probe: &Cell<'_>| {
        let of = probe.subject();
        let why = WhyNot::of(known, experiment, of).map(untold);
        let why = why.or_else(|| unprobed(known, probe))?;
        Some(format!("{of} is in no figure and no rank, as its capacity could not be found: {why}"))
    };
    known.cells(experiment, PROBE).filter_map(line).collect()
}

fn untold(why: WhyNot) -> String {
    match why {
        WhyNot::Goes => String::from("its search is not over"),
        WhyNot::Uncounted(rate, why) => {
            format!("at {} sessions/s no try counts: {why}", number(rate))
        }
        WhyNot::Above(rate) => format!(
            "it answers all that it was asked for, up to {} sessions/s, and may be capable of more",
            number(rate)
        ),
        WhyNot::Below(rate) => format!("it does not answer {} sessions/s", number(rate)),
        WhyNot::Uneven => String::from("its tries do not agree"),
    }
}

/// Why a probe has led to nothing; `None`: tries will come, or came.
fn unprobed(known: &Known<'_>, probe: &Cell<'_>) -> Option<String> {
    let mut tries = known.cells(&probe.spec.experiment, TRIES);
    let mut points = probe.points().chain(probe.invalid.iter().copied());
    let is_answered =
        |point: &crate::point::Point| point.load.as_ref().is_some_and(|load| load.flow.goodput > 0);
    if tries.any(|cell| cell.subject() == probe.subject()) || points.any(is_answered) {
        return None;
    }
    let mut points = probe.invalid.iter().copied().chain(probe.points());
    let bad = points.find(|point| !point.verdict.is_good());
    let none = || String::from("not one good reply was seen");
    Some(bad.map_or_else(none, |point| point.verdict.to_string()))
}

/// What a point is, in a few words.
#[must_use]
pub fn name(spec: &Spec) -> String {
    let factors = spec.factors.iter().map(|(name, value)| format!(" {name} {}", number(*value)));
    let factors: String = factors.collect();
    format!("{} {}{factors}, repeat {}", spec.subject, spec.stage, spec.repeat)
}

/// The commands of one point for each subject, so that a reader can do the same by hand.
#[must_use]
pub fn commands(known: &Known<'_>, experiment: &str, subjects: &[Subject]) -> Vec<String> {
    let of = |subject: &Subject| {
        let of_it =
            |cell: &&Cell<'_>| cell.spec.experiment == experiment && cell.spec.subject == *subject;
        let cells = known.all().iter().rev().filter(of_it);
        // One that does not count was asked in the same way.
        let mut points = cells.flat_map(|cell| cell.points().chain(cell.invalid.iter().copied()));
        let point = points.next()?;
        let of = &point.commands;
        Some([of.server.clone(), of.beside.clone(), of.load.clone()])
    };
    subjects.iter().filter_map(of).flatten().filter(|text| !text.is_empty()).collect()
}

/// The metrics of an overload: what came of it, how long all had waited, and who was answered, and
/// what it cost.
pub const OF_LOAD: [&Metric; 6] =
    [&metric::GOODPUT, &metric::P50, &metric::P99, &metric::GOOD_P99, &metric::CPU, &metric::DROPS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_commas() {
        let rows = [
            (0.0, "0"),
            (0.01234, "0.012"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (123.45, "123"),
            (1_234_567.0, "1,234,567"),
            (-1234.0, "-1,234"),
            (999.96, "1,000"),
            (NEVER, "never"),
        ];
        for (value, expected) in rows {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn times_are_told_in_words() {
        let rows = [
            (0.2, "0 seconds"),
            (1.0, "1 second"),
            (59.0, "59 seconds"),
            (60.0, "1 minute"),
            (89.0, "1 minute"),
            (660.0, "11 minutes"),
            (90_000.0, "1,500 minutes"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(lasting(seconds), expected);
        }
    }
}
