//! On what does the processor spend a server's time? (Pariag07 table 1.)
//!
//! Functions by what they are for, from samples of where the processor is. The paper's own columns
//! stand beside what was measured, so that a reader sees what twenty years have changed.

use std::collections::BTreeMap;

use super::frame;
use super::whitebox::{how_often, seen, share_figure, stacked};
use crate::claim::{self, Says};
use crate::curves::{self, number};
use crate::design::{Design, Plan, RATES};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{Comparison, NONE, Section, Series, Table};
use crate::point::Point;
use crate::profile::{Kind, Part, Seen, Shares};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::{self, Subject};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-profile",
    paper: "Pariag07 table 1",
    is_as_in_papers: true,
    question: "on what does the processor spend a server's time?",
    ignores: &["disk"],
    plan,
    sections,
};

/// With poll, as the paper's servers have it, and as they are; and who joins where it is there.
const SUBJECTS: [&str; 15] = [
    "sped:poller=poll",
    "sped",
    "sped:sendfile=off,small-file-kb=0",
    "symped",
    "shared-symped",
    "knot",
    "watpipe",
    "amped",
    "mt",
    "proactor",
    "nginx",
    "lighttpd",
    "h2o",
    "apache-event",
    "caddy",
];

/// Of the capacity: the paper's 12,000 requests/s are its peak with its profiler's overhead.
const AT: &[f64] = &[0.8];

/// In memory: what waits for a disk costs no processor time.
const DIRS: u32 = 10;

/// Columns of the paper's table, in the order of [`Part::ALL`], with its context switches in a
/// second.
const PAPER: [(&str, [f64; 14], f64); 3] = [
    (
        "the paper's userver-nb",
        [28.81, 6.95, 9.32, 5.84, 13.06, 1.01, 0.06, 4.35, 16.74, 0.0, 5.06, 4.48, 2.47, 1.85],
        107.0,
    ),
    (
        "the paper's WatPipe",
        [33.26, 9.00, 6.65, 6.21, 6.52, 1.00, 0.29, 4.88, 19.17, 2.29, 3.34, 3.61, 1.65, 2.13],
        1_148.0,
    ),
    (
        "the paper's knot-nb",
        [28.59, 7.48, 7.42, 5.15, 7.82, 0.71, 0.81, 4.67, 16.42, 10.52, 0.0, 8.04, 0.03, 2.34],
        5_320.0,
    ),
];

fn design(setup: &Setup) -> Design {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("specweb99")),
        seconds: setup.seconds(3.0),
        warm_up: setup.warm_up(WarmUp::Fixed(1.0)),
        flags: BTreeMap::new(),
        idle_connections: 0,
        beside: None,
    };
    let load = match &*load.workload {
        "specweb99" => load.with("dirs", DIRS).with("think", "none"),
        _ => load,
    };
    Design {
        experiment: EXPERIMENT.name,
        subjects: super::disk::present(setup, &SUBJECTS),
        load: load.with("verified", 0.05).with("patience", setup.patience_s(1.0)),
        layout: super::overload::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0],
        multiples: AT,
        sweep_repeats: setup.repeats(1),
        repeats: setup.repeats(1),
        made_of: Vec::new(),
        filling_max_s: setup.filling_max_s(),
    }
}

/// The capacities, then one profile of each.
fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let mut plan = design(setup).plan(known);
    for spec in plan.specs.iter_mut().filter(|spec| spec.stage == RATES) {
        spec.profile = Some(Kind::Shares);
    }
    plan
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let (seen, excluded) = seen(EXPERIMENT.name, known);
    let shares: Vec<Told<'_>> = seen
        .into_iter()
        .filter_map(|looked| match looked.seen {
            Seen::Shares(shares) => Some((looked.of, shares, looked.is_failed)),
            Seen::Calls(_) => None,
        })
        .collect();
    let names = shares.iter().map(|(of, ..)| of.label());
    let names = names.chain(PAPER.iter().map(|(name, ..)| String::from(*name))).collect();
    let series = Part::ALL.iter().enumerate().map(|(at, part)| -> Series {
        let here = shares.iter().map(|(_, shares, is_failed)| (percent(part, shares), *is_failed));
        let there = PAPER.iter().map(move |(_, column, _)| (column[at], false));
        stacked(part.title(), here.chain(there))
    });
    let title = "Where the processor's time goes (Pariag07 table 1)";
    vec![Section {
        question: vec![
            format!(
                "Sessions of SPECweb99's files, which are in memory, at {} of each server's \
                 capacity. Which function runs on the server's processors is looked at 1,997 times \
                 a second. The paper has 12,000 requests/s, which was its peak with the profiler's \
                 overhead, an Ethernet card of 2006 (e1000) in place of a virtual device, and a \
                 set of files larger than its memory.",
                AT[0]
            ),
            how_often(design.repeats),
            String::from(
                "On a guest of a hypervisor, kernel and architecture is for the most part waking \
                 another processor, which leaves the guest, and the begin of softirq, where the \
                 time of a sleeping processor is seen.",
            ),
            String::from(
                "What was looked at less than three times is compared by the number of samples: \
                 shares within three standard errors of counting them are open. How much a server \
                 differs from one look to the next is not in that.",
            ),
        ],
        answer: answer(&shares),
        comparisons: comparisons(&design, known),
        figures: vec![share_figure("shares", title, names, series.collect())],
        tables: vec![table(&shares)],
        excluded,
        ..frame::section(&EXPERIMENT, title, known, &design.subjects)
    }]
}

/// A subject, its shares, and whether it failed verification.
type Told<'k> = (&'k Subject, &'k Shares, bool);

fn percent(part: &Part, shares: &Shares) -> f64 {
    shares.percent.get(part).copied().unwrap_or(0.0)
}

/// The three greatest parts of each.
fn answer(shares: &[Told<'_>]) -> Vec<String> {
    let told = shares.iter().map(|(of, shares, is_failed)| {
        let of = of.label();
        if *is_failed {
            return format!("{of} failed verification: it tells nothing.");
        }
        let mut parts: Vec<(&Part, f64)> =
            Part::ALL.iter().map(|part| (part, percent(part, shares))).collect();
        parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let told: Vec<String> = parts
            .iter()
            .take(3)
            .map(|(part, share)| format!("{} {} %", part.title(), number(*share)))
            .collect();
        format!("{of}: {}.", told.join(", "))
    });
    told.collect()
}

fn table(shares: &[Told<'_>]) -> Table {
    let mut head = vec![String::from("% of the time in which something ran")];
    head.extend(shares.iter().map(|(of, _, is_failed)| curves::marked(of.label(), *is_failed)));
    head.extend(PAPER.iter().map(|(name, ..)| String::from(*name)));
    let line = |title: &str, here: Vec<String>, there: [f64; PAPER.len()]| {
        let title = [String::from(title)].into_iter();
        title.chain(here).chain(there.map(number)).collect::<Vec<String>>()
    };
    let row = |title: &str, here: &dyn Fn(&Shares) -> f64, there: [f64; PAPER.len()]| {
        line(title, shares.iter().map(|(_, shares, _)| number(here(shares))).collect(), there)
    };
    let mut rows: Vec<Vec<String>> = Part::ALL
        .iter()
        .enumerate()
        .map(|(at, part)| {
            row(part.title(), &|of| percent(part, of), PAPER.map(|(_, column, _)| column[at]))
        })
        .collect();
    // The paper tells it in kilobytes, whatever its text says.
    let caches = [1_803.57, 1_777.2, 1_773.02];
    rows.push(row("file system cache, MB", &|of| of.page_cache_bytes as f64 / 1e6, caches));
    let switches = PAPER.map(|(.., switches)| switches);
    rows.push(row("context switches/s", &|of| of.context_switches_per_s, switches));
    let user = [0.0, 0.0, 20_836.0];
    let here = shares.iter().map(|(of, ..)| String::from(user_switches(of))).collect();
    rows.push(line("user-level switches/s", here, user));
    Table {
        title: String::from("Shares of the processor's time"),
        head,
        rows,
        notes: vec![String::from(
            "Context switches and the cache are the whole machine's, the lab's client included. \
             User-level switches are seen by the server alone: none where no thread is of its own \
             making, as in all that Weir has, and not told of other servers.",
        )],
    }
}

/// Between threads of a server's own making, in a second.
fn user_switches(of: &Subject) -> &'static str {
    match of.kind() {
        Ok(subject::Kind::Weir(_) | subject::Kind::Floor(_)) => "0",
        _ => NONE,
    }
}

/// Of a point, if its profile counts.
fn of_point(point: &Point, of: impl Fn(&Shares) -> f64) -> Option<f64> {
    let profile = point.profile.as_ref()?.as_ref().ok()?;
    match &profile.seen {
        Seen::Shares(shares) if profile.is_valid() => Some(of(shares)),
        _ => None,
    }
}

const fn metric(label: &'static str, of: fn(&Point) -> Option<f64>) -> Metric {
    Metric { label, unit: "% of the time", is_logarithmic: false, of }
}

const POLLING: Metric = metric("event notification", |point| {
    of_point(point, |shares| percent(&Part::EventNotification, shares))
});
const COPYING: Metric =
    metric("data copying", |point| of_point(point, |shares| percent(&Part::DataCopying, shares)));
const THREADING: Metric = metric("threading overhead", |point| {
    of_point(point, |shares| percent(&Part::Threading, shares))
});
const SCHEDULING: Metric =
    metric("scheduling", |point| of_point(point, |shares| percent(&Part::Scheduling, shares)));

/// What section 7 says of the table: the paper's words, who has more, who has less, of what.
const CLAIMS: [(&str, &str, &str, &Metric); 6] = [
    (
        "epoll's overhead is noticeably less than poll's, for the same throughput",
        "sped:poller=poll",
        "sped",
        &POLLING,
    ),
    (
        "without sendfile copying takes 17.7 %, with it about 1 %",
        "sped:sendfile=off,small-file-kb=0",
        "sped",
        &COPYING,
    ),
    (
        "whose calls block is scheduled more: 1.06 % beside 0.06 % of userver-nb",
        "mt",
        "sped",
        &SCHEDULING,
    ),
    (
        "Knot's threading takes 7 to 11 %, that of the event-driven µserver nothing",
        "knot",
        "sped",
        &THREADING,
    ),
    ("WatPipe's threading takes 2.3 %, that of SYMPED nothing", "watpipe", "sped", &THREADING),
    ("threading of Knot takes more than that of WatPipe", "knot", "watpipe", &THREADING),
];

fn comparisons(design: &Design, known: &Known<'_>) -> Vec<Comparison> {
    let compared = |(paper, more, less, metric): &(&str, &str, &str, &Metric)| {
        let side = |text: &str| {
            let of: Subject = text.parse().ok()?;
            let of = design.subjects.iter().find(|subject| **subject == of)?;
            Some((of.label(), curves::at_multiple(design, known, of, AT[0])))
        };
        let (a, b) = (side(more)?, side(less)?);
        let of = ("Pariag07 table 1", *paper);
        let row = frame::beside(of, Says::More, (metric, ""), ((&a.0, a.1), (&b.0, b.1)));
        let counted = |cell: Option<&Cell<'_>>| counted(cell?, metric);
        Some(match (counted(a.1), counted(b.1)) {
            (Some(a), Some(b)) => Comparison {
                here: format!("{}; of {} and {} samples", row.here, number(a.1), number(b.1)),
                agrees: claim::is_counted_more(a, b),
                ..row
            },
            _ => row,
        })
    };
    CLAIMS.iter().filter_map(compared).collect()
}

/// A share as a part of one, and of how many samples it is, where there are too few repeats for
/// anything else.
fn counted(cell: &Cell<'_>, metric: &Metric) -> Option<(f64, f64)> {
    let told = |point: &Point| {
        let samples = of_point(point, |shares| shares.samples as f64)?;
        Some(((metric.of)(point)? / 100.0 * samples, samples))
    };
    let told: Vec<(f64, f64)> = cell.points().filter_map(told).collect();
    let of_all = told.iter().map(|(_, samples)| samples).sum::<f64>();
    let is_seldom = cell.is_good() && told.len() < claim::REPEATS_MIN;
    let seen = told.iter().map(|(seen, _)| seen).sum::<f64>();
    (is_seldom && of_all > 0.0).then(|| (seen / of_all, of_all))
}
