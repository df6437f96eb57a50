//! Whether an experiment that was done again agrees with itself, within the spread that it tells.

use std::collections::BTreeMap;

use super::{Source, first_of};
use crate::capacity::{Capacity, RATE, TRIES, capacity};
use crate::compare::{NEAR_SHARE, PAIRS_MIN};
use crate::curves::{self, number};
use crate::design::{OF_CAPACITY, RATES};
use crate::known::{Cell, Known, Spread};
use crate::metric::{self, Metric};
use crate::page::{NONE, Section, Table};
use crate::subject::Subject;

/// What is compared of loads for which both times asked for as much: at another rate it is another
/// figure.
const OF_SAME_RATES: [&Metric; 2] = [&metric::GOOD_P50, &metric::CPU];

/// So many of all figures have to agree. Of one that is the same both times the second median lies
/// in the first one's interval in nine of ten cases with three repeats, and in more than eight with
/// any number: it has noise of its own.
const AGREE_SHARE: f64 = 0.75;

/// So many are told in words; the table, and each one's own section, have all.
const TOLD_MAX: usize = 5;

/// One for each experiment of a run and of what asks it again, or of neighbours that are alike.
pub(super) fn sections(sources: &[Source<'_>]) -> Vec<Section> {
    let mut sections = Vec::new();
    for (a, b) in pairs_of(sources) {
        let (Some(of_a), Some(of_b)) = (a.1.runs.first(), b.1.runs.first()) else { continue };
        if of_a.setup != of_b.setup {
            continue;
        }
        let both = of_a.experiments.iter().filter(|name| of_b.experiments.contains(name));
        sections.extend(both.map(|name| section(name, a, b)));
    }
    sections
}

fn pairs_of<'s, 'r>(sources: &'s [Source<'r>]) -> Vec<(&'s Source<'r>, &'s Source<'r>)> {
    let first = |of: &Source<'r>| first_of(of.1, sources);
    let again = sources.iter().filter_map(|of| Some((first(of)?, of)));
    let own: Vec<&Source<'r>> = sources.iter().filter(|of| first(of).is_none()).collect();
    again.chain(own.windows(2).map(|pair| (pair[0], pair[1]))).collect()
}

fn section(experiment: &str, a: &Source<'_>, b: &Source<'_>) -> Section {
    let (known_a, known_b) = (Known::of(&a.1.points), Known::of(&b.1.points));
    let (a_time, b_time) = (Time::of(experiment, &known_a), Time::of(experiment, &known_b));
    let mut both = Both::default();
    compare_capacities(&mut both, &a_time, &b_time);
    compare_loads(&mut both, &a_time, &b_time);
    let figures = both.capacities.iter().chain(&both.loads).map(Pair::row);
    let rows = figures.chain(both.failed.iter().map(FailedOnce::row));
    let [first, second] =
        [("first", a), ("second", b)].map(|(which, of)| format!("{which} ({})", of.0.display()));
    let head = ["what", "figure"].map(String::from).into_iter().chain([first, second]);
    Section {
        name: format!("{experiment}-repeated"),
        title: format!("{experiment}, done twice"),
        question: vec![format!(
            "A figure agrees where the second median lies in the 95 % interval of the first one, \
             in brackets, or is not more than {0:.0} % from it, of the greater one. Loads are \
             multiples of what each time was the capacity: where capacities differ, so do the \
             rates behind them. So replies are compared as a share of what was asked for; and \
             times only where the rates are not more than {0:.0} % apart. A capacity \
             lies between a rate that was answered and one that was not. Who \
             failed verification once and passed it once does not agree. What was measured less \
             than {PAIRS_MIN} times is not compared.",
            NEAR_SHARE * 100.0
        )],
        answer: answer(&both, [alone(&a_time, &b_time), alone(&b_time, &a_time)]),
        tables: vec![Table {
            title: String::from("Both times"),
            head: head.chain(["apart, %", "agree"].map(String::from)).collect(),
            rows: rows.collect(),
            notes: Vec::new(),
        }],
        ..Section::default()
    }
}

/// What one of them has that is compared.
struct Time<'s, 'k> {
    /// Of each subject that was looked for.
    capacities: Vec<(&'k Subject, Capacity)>,
    /// With points that count, or that the server failed.
    cells: Vec<&'s Cell<'k>>,
}

impl<'s, 'k> Time<'s, 'k> {
    fn of(experiment: &str, known: &'s Known<'k>) -> Self {
        let mut swept: Vec<&Subject> = Vec::new();
        for of in known.cells(experiment, TRIES).map(Cell::subject) {
            if !swept.contains(&of) {
                swept.push(of);
            }
        }
        let capacity = |of| Some((of, capacity(known, experiment, of)?));
        // Rounds of a search are hints: what came of them is asked again at multiples.
        let is_compared = |cell: &&Cell<'_>| {
            let is_it = cell.spec.experiment == experiment;
            is_it && !super::is_on_the_way(&cell.spec.stage) && curves::is_known(cell)
        };
        Self {
            capacities: swept.into_iter().filter_map(capacity).collect(),
            cells: known.all().iter().filter(is_compared).collect(),
        }
    }

    fn capacity(&self, of: &Subject) -> Option<&Capacity> {
        self.capacities.iter().find(|(other, _)| *other == of).map(|(_, found)| found)
    }

    fn alike(&self, to: &Cell<'_>) -> Vec<&'s Cell<'k>> {
        self.cells.iter().copied().filter(|cell| is_alike(cell, to)).collect()
    }
}

/// What both times have.
#[derive(Default)]
struct Both {
    capacities: Vec<Pair>,
    loads: Vec<Pair>,
    failed: Vec<FailedOnce>,
    /// What was asked at several rates, so that nobody knows which belong together.
    several: Vec<String>,
}

/// Something of which a server failed verification in one of them.
struct FailedOnce {
    what: String,
    is_first: bool,
}

impl FailedOnce {
    fn row(&self) -> Vec<String> {
        let both = if self.is_first { ["failed", "passed"] } else { ["passed", "failed"] };
        let rest = ["verification", both[0], both[1], NONE, "no"].map(String::from);
        [self.what.clone()].into_iter().chain(rest).collect()
    }

    fn line(&self) -> String {
        format!("{}, in the {} one", self.what, if self.is_first { "first" } else { "second" })
    }
}

/// A figure of both times.
struct Pair {
    what: String,
    of: &'static Metric,
    a: Spread,
    /// Within what the first one's median is known.
    known: (f64, f64),
    b: Spread,
}

impl Pair {
    /// None, if one of both was measured too seldom.
    fn new(what: String, of: &'static Metric, a: &Cell<'_>, b: &Cell<'_>) -> Option<Self> {
        let known = a.interval(of)?;
        let (a, b) = (a.spread(of)?, b.spread(of)?);
        (a.count.min(b.count) >= PAIRS_MIN).then_some(Self { what, of, a, known, b })
    }

    /// As a share of the greater median.
    fn apart(&self) -> f64 {
        let (a, b) = (self.a.median, self.b.median);
        let most = a.max(b);
        if most > 0.0 { (a - b).abs() / most } else { 0.0 }
    }

    fn is_within(&self) -> bool {
        (self.known.0..=self.known.1).contains(&self.b.median)
    }

    fn agree(&self) -> bool {
        self.is_within() || self.apart() <= NEAR_SHARE
    }

    /// Both medians, the first with its interval.
    fn told(&self) -> [String; 2] {
        let (low, high) = self.known;
        let first = format!("{} ({} to {})", number(self.a.median), number(low), number(high));
        [first, number(self.b.median)]
    }

    fn row(&self) -> Vec<String> {
        let agree = match (self.is_within(), self.agree()) {
            (true, _) => String::from("yes"),
            (false, true) => format!("yes, within {:.0} %", NEAR_SHARE * 100.0),
            (false, false) => String::from("no"),
        };
        let what = [self.what.clone(), self.of.heading()].into_iter();
        what.chain(self.told()).chain([number(100.0 * self.apart()), agree]).collect()
    }

    fn line(&self) -> String {
        let [a, b] = self.told();
        let Metric { label, unit, .. } = self.of;
        format!(
            "{}, {label}: {a} and {b} {unit}, {} % apart",
            self.what,
            number(100.0 * self.apart())
        )
    }
}

/// Of each subject that was looked for in both.
fn compare_capacities(both: &mut Both, a: &Time<'_, '_>, b: &Time<'_, '_>) {
    for (of, found) in &a.capacities {
        let Some(other) = b.capacity(of) else { continue };
        let (a, b) = (found.spread(), other.spread());
        both.capacities.push(Pair {
            what: format!("{of} capacity"),
            of: &metric::GOODPUT,
            a,
            known: a.range,
            b,
        });
    }
}

/// Of all that was asked at the same load in both.
fn compare_loads(both: &mut Both, a: &Time<'_, '_>, b: &Time<'_, '_>) {
    for cell in &a.cells {
        let other = match (&*a.alike(cell), &*b.alike(cell)) {
            (_, []) => continue,
            ([_], [other]) => *other,
            _ => {
                add(&mut both.several, what(cell));
                continue;
            }
        };
        match (cell.is_failed(), other.is_failed()) {
            // No figure of it counts, and both say so.
            (true, true) => {}
            (false, false) => {
                let pair = |of: &&'static Metric| Pair::new(what(cell), of, cell, other);
                both.loads.extend(metrics(cell, other).iter().filter_map(pair));
            }
            (is_first, _) => both.failed.push(FailedOnce { what: what(cell), is_first }),
        }
    }
}

/// All that is compared of a load.
fn metrics(a: &Cell<'_>, b: &Cell<'_>) -> Vec<&'static Metric> {
    let (replies, is_same_rate) = match (rate(a), rate(b)) {
        (Some(a), Some(b)) => (&metric::ANSWERED, (a - b).abs() <= NEAR_SHARE * a.max(b)),
        // Clients of a closed loop ask for as much as they are answered.
        (a, b) => (&metric::GOODPUT, a == b),
    };
    let of_rates: &[&Metric] = if is_same_rate { &OF_SAME_RATES } else { &[] };
    [replies].iter().chain(of_rates).copied().collect()
}

/// At which sessions came, or came first.
fn rate(cell: &Cell<'_>) -> Option<f64> {
    let flags = &cell.spec.load.flags;
    let asked = flags.get("rate").or_else(|| flags.get("steps"))?;
    asked.split(':').next()?.parse().ok()
}

/// What one of them has and the other one has not: subjects, such as another winner of a search, or
/// some of their loads.
fn alone(here: &Time<'_, '_>, there: &Time<'_, '_>) -> Vec<String> {
    let mut names = Vec::new();
    for cell in &here.cells {
        let of = cell.subject();
        let mut same = there.cells.iter().filter(|other| other.subject() == of);
        let is_there = same.clone().next().is_some() || there.capacity(of).is_some();
        if !is_there {
            add(&mut names, of.to_string());
        } else if !same.any(|other| other.spec.stage == cell.spec.stage) {
            add(&mut names, format!("{of} {}", cell.spec.stage));
        } else if there.alike(cell).is_empty() {
            add(&mut names, what(cell));
        }
    }
    for (of, _) in here.capacities.iter().filter(|(of, _)| there.capacity(of).is_none()) {
        if !names.contains(&of.to_string()) {
            names.push(format!("{of} capacity"));
        }
    }
    names
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Whether both are the same question: rates are multiples of what each time was the capacity.
fn is_alike(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    let is_same = a.spec.stage == b.spec.stage && a.subject() == b.subject();
    is_same && factors(a) == factors(b)
}

/// What varies, but for the rate.
fn factors(cell: &Cell<'_>) -> BTreeMap<String, f64> {
    let mut factors = cell.spec.factors.clone();
    factors.remove(RATE);
    factors
}

fn answer(both: &Both, [first, second]: [Vec<String>; 2]) -> Vec<String> {
    let all = || both.capacities.iter().chain(&both.loads);
    let same = all().filter(|pair| pair.agree()).count();
    let count = all().count() + both.failed.len();
    let mut lines = vec![match count {
        0 => format!("No figure has {PAIRS_MIN} repeats in both, so that none is compared."),
        _ => format!("{same} of {count} figures agree. {}", verdict(both, same, count)),
    }];
    let furthest = |pairs: &mut dyn Iterator<Item = &Pair>| {
        let mut pairs: Vec<&Pair> = pairs.collect();
        pairs.sort_by(|a, b| b.apart().total_cmp(&a.apart()));
        pairs.into_iter().map(Pair::line).collect::<Vec<_>>()
    };
    if let Some(line) = furthest(&mut both.capacities.iter()).first() {
        lines.push(format!("Of the capacities these differ most: {line}."));
    }
    let told = [
        (
            "Failed verification in one of them alone",
            both.failed.iter().map(FailedOnce::line).collect(),
        ),
        (
            "Those that do not agree, the furthest first",
            furthest(&mut all().filter(|pair| !pair.agree())),
        ),
        ("Only the first one has", first),
        ("Only the second one has", second),
        ("Not compared, as it was asked at several rates", both.several.clone()),
    ];
    let told = told.into_iter().filter(|(_, names)| !names.is_empty());
    lines.extend(told.map(|(what, names)| format!("{what}: {}.", shortened(&names))));
    lines
}

/// Whether so many agree as have to, and what would be seen.
fn verdict(both: &Both, same: usize, count: usize) -> String {
    let judged = match same as f64 >= AGREE_SHARE * count as f64 {
        true => "Three of four or more: the two agree within what is known of the first",
        false => "Less than three of four: the two do not agree within what is known of the first",
    };
    let pairs = || both.capacities.iter().chain(&both.loads);
    let within = pairs().filter(|pair| pair.is_within()).count();
    let widths = pairs().filter(|of| of.a.median > 0.0 && of.known.1.is_finite());
    let widths = widths.map(|of| (of.known.1 - of.known.0) / of.a.median);
    let seen = Spread::of(widths.collect()).map_or_else(String::new, |width| {
        let percent = number(100.0 * width.median);
        format!(
            " Half of the intervals are wider than {percent} % of their median; less is not seen."
        )
    });
    format!("{judged}. Of {count}, {within} are within the intervals themselves.{seen}")
}

/// As many as are told in words.
fn shortened(names: &[String]) -> String {
    let more = names.len().saturating_sub(TOLD_MAX);
    let told = names[..names.len() - more].join("; ");
    if more > 0 { format!("{told}; and {more} more") } else { told }
}

/// The load, without the rate, which differs.
fn what(cell: &Cell<'_>) -> String {
    let mut factors = factors(cell);
    let stage = match &*cell.spec.stage {
        RATES => String::new(),
        stage => format!(" {stage}"),
    };
    let multiple = factors.remove(OF_CAPACITY);
    let at = multiple.map_or_else(String::new, |of| format!(" at {of} of its capacity"));
    let rest: String = factors.iter().map(|(of, value)| format!(", {of} {value}")).collect();
    format!("{}{stage}{at}{rest}", cell.subject())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_the_interval_or_near_agrees() {
        let rows = [
            // The first median with its interval, and the second one.
            ((90.0, 100.0, 110.0), 109.0, true),
            ((90.0, 100.0, 110.0), 120.0, false),
            ((100.0, 100.0, 100.0), 104.0, true),
            ((100.0, 100.0, 100.0), 94.0, false),
            ((0.0, 0.0, f64::INFINITY), 308.0, true),
            ((0.0, 0.0, 0.0), 0.0, true),
        ];
        for ((low, median, high), second, expected) in rows {
            let of = |value| Spread::of(vec![value; PAIRS_MIN]).expect("values");
            let (a, b, known) = (of(median), of(second), (low, high));
            let pair = Pair { what: String::new(), of: &metric::GOODPUT, a, known, b };
            assert_eq!(pair.agree(), expected, "{median} {second}");
        }
    }
}
