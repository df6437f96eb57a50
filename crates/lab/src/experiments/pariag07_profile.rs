//! On what does the processor spend a server's time? (Pariag07 table 1.)
//!
//! Functions by what they are for, from samples of where the processor is. The paper's own columns
//! stand beside what was measured, so that a reader sees what twenty years have changed.

use std::collections::BTreeMap;

use super::frame;
use super::promised::{self, RUNS_MIN};
use super::whitebox::{Looked, how_often, seen, share_figure, stacked};
use crate::claim::{self, Beside, Claim, Says};
use crate::curves::{self, number};
use crate::design::{Design, Plan, RATES};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric::{self, Metric};
use crate::page::{Comparison, NONE, Section, Series, Table};
use crate::point::Point;
use crate::profile::{Kind, Part, Seen, Shares};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::{self, Subject};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-profile",
    paper: TABLE,
    is_as_in_papers: true,
    question: "what does the processor spend a server's time on?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

/// With poll and in one pass, as the paper's servers have it, with epoll, and as they are; and who
/// joins where it is there.
const SUBJECTS: [&str; 20] = [
    WITH_POLL,
    WITH_EPOLL,
    "sped",
    "sped:sendfile=off,small-file-kb=0",
    "symped",
    "shared-symped",
    KNOT_C,
    KNOT_NB,
    KNOT_B,
    KNOT_POLL,
    KNOT,
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

const WITH_POLL: &str = "sped:passes=1,poller=poll";
const WITH_EPOLL: &str = "sped:passes=1";

/// The paper's three, and Knot as it is here: by poll as theirs, and by epoll.
const KNOT_C: &str = "knot:helpers=100,poller=poll,sendfile=off,small-file-kb=1024";
const KNOT_NB: &str = "knot:helpers=50,poller=poll,sendfile=nonblocking,small-file-kb=0";
const KNOT_B: &str = "knot:helpers=100,poller=poll,sendfile=blocking,small-file-kb=0";
const KNOT_POLL: &str = "knot:poller=poll";
const KNOT: &str = "knot";

/// What threads of a server's own making may cost of its time: the paper's take 7 to 11 %.
const THREADING_MAX_PERCENT: f64 = 5.0;

/// Of the capacity: the paper's 12,000 requests/s are its peak with its profiler's overhead.
const AT: &[f64] = &[0.8];

/// In memory: what waits for a disk costs no processor time.
const DIRS: u32 = 10;

/// What the claims and the columns are of.
pub(super) const TABLE: &str = "Pariag07 table 1";

/// A column of it.
struct Column {
    name: &'static str,
    replies_per_s: f64,
    mbit: f64,
    /// In the order of [`Part::ALL`].
    percent: [f64; 14],
    /// The paper tells it in kilobytes, whatever its text says.
    cache_mb: f64,
    /// In a second, by the kernel, and by a library in user mode.
    switches: [f64; 2],
}

const PAPER: [Column; 7] = [
    Column {
        name: "the paper's knot-c",
        replies_per_s: 8_394.0,
        mbit: 1_001.0,
        percent: [
            21.72, 6.90, 5.17, 4.72, 6.88, 17.73, 0.86, 4.70, 13.85, 6.84, 0.0, 8.33, 0.03, 2.27,
        ],
        cache_mb: 750.957,
        switches: [1_947.0, 12_345.0],
    },
    Column {
        name: "the paper's knot-nb",
        replies_per_s: 8_852.0,
        mbit: 1_055.0,
        percent: [
            28.59, 7.48, 7.42, 5.15, 7.82, 0.71, 0.81, 4.67, 16.42, 10.52, 0.0, 8.04, 0.03, 2.34,
        ],
        cache_mb: 1_773.02,
        switches: [5_320.0, 20_836.0],
    },
    Column {
        name: "the paper's knot-b",
        replies_per_s: 9_238.0,
        mbit: 1_102.0,
        percent: [
            27.74, 6.94, 7.55, 5.47, 7.91, 0.77, 1.64, 5.40, 15.77, 10.20, 0.0, 8.18, 0.03, 2.40,
        ],
        cache_mb: 1_748.075,
        switches: [8_928.0, 19_158.0],
    },
    Column {
        name: "the paper's userver-shared-nb",
        replies_per_s: 10_712.0,
        mbit: 1_280.0,
        percent: [
            30.94, 7.65, 8.22, 6.11, 8.29, 1.04, 0.15, 4.92, 17.80, 0.01, 5.09, 5.12, 2.60, 2.06,
        ],
        cache_mb: 1_817.925,
        switches: [330.0, 0.0],
    },
    Column {
        name: "the paper's userver-nb",
        replies_per_s: 10_122.0,
        mbit: 1_207.0,
        percent: [
            28.81, 6.95, 9.32, 5.84, 13.06, 1.01, 0.06, 4.35, 16.74, 0.0, 5.06, 4.48, 2.47, 1.85,
        ],
        cache_mb: 1_803.57,
        switches: [107.0, 0.0],
    },
    Column {
        name: "the paper's userver-b",
        replies_per_s: 10_201.0,
        mbit: 1_217.0,
        percent: [
            29.95, 8.32, 8.18, 7.74, 6.16, 1.04, 1.06, 5.93, 16.77, 0.0, 3.60, 4.82, 4.15, 2.28,
        ],
        cache_mb: 1_548.183,
        switches: [4_394.0, 0.0],
    },
    Column {
        name: "the paper's WatPipe",
        replies_per_s: 10_691.0,
        mbit: 1_276.0,
        percent: [
            33.26, 9.00, 6.65, 6.21, 6.52, 1.00, 0.29, 4.88, 19.17, 2.29, 3.34, 3.61, 1.65, 2.13,
        ],
        cache_mb: 1_777.199,
        switches: [1_148.0, 0.0],
    },
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
    let load = load.with("verified", 0.05).with("patience", setup.patience_s(1.0));
    let subjects = setup.subjects(&SUBJECTS);
    Design {
        multiples: AT,
        repeats: setup.repeats(RUNS_MIN),
        ..Design::of(EXPERIMENT.name, setup, subjects, (load, super::overload::layout(setup)))
    }
}

/// The capacities, then profiles of each.
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
    let shares: Vec<Shown<'_>> = seen
        .into_iter()
        .filter_map(|looked| match looked.seen {
            Seen::Shares(shares) => {
                let Looked { of, point, is_failed, .. } = looked;
                Some(Shown { of, point, shares, is_failed })
            }
            Seen::Calls(_) | Seen::Costs(_) => None,
        })
        .collect();
    let names = shares.iter().map(|told| told.of.label());
    let names = names.chain(PAPER.iter().map(|column| String::from(column.name))).collect();
    let series = Part::ALL.iter().enumerate().map(|(at, part)| -> Series {
        let here = shares.iter().map(|told| (percent(part, told.shares), told.is_failed));
        let there = PAPER.iter().map(move |column| (column.percent[at], false));
        stacked(part.title(), here.chain(there))
    });
    let title = "Where the processor's time goes (Pariag07 table 1)";
    vec![Section {
        question: vec![
            format!(
                "Sessions of SPECweb99's files, which are in memory, at {} of each server's \
                 capacity. The function that runs on the server's processors is sampled 1,997 \
                 times a second. The paper has 12,000 requests/s, which was its peak with the \
                 profiler's overhead, an Ethernet card of 2006 (e1000) in place of a virtual \
                 device, and a set of files larger than its memory.",
                AT[0]
            ),
            how_often(design.repeats),
            format!(
                "{WITH_POLL} is the paper's userver-nb but for its processes; {WITH_EPOLL} is the \
                 same with epoll, and sped alone has both passes of its own. {KNOT_C}, {KNOT_NB} \
                 and {KNOT_B} are its knot-c, knot-nb and knot-b with their workers; how many \
                 threads they have here their clients decide."
            ),
            String::from(
                "In a virtual machine, the part called kernel and architecture is mostly waking \
                 another processor, which leaves the guest, and the begin of softirq, where a \
                 sleeping processor's time is seen.",
            ),
        ],
        answer: answer(&shares).into_iter().chain(threading(&design, known)).collect(),
        comparisons: comparisons(&design, known),
        figures: vec![share_figure("shares", title, names, series.collect())],
        tables: vec![table(&shares)],
        excluded,
        ..frame::section(&EXPERIMENT, title, known, &design.subjects)
    }]
}

/// A subject's shares.
struct Shown<'k> {
    of: &'k Subject,
    point: &'k Point,
    shares: &'k Shares,
    /// Verification.
    is_failed: bool,
}

fn percent(part: &Part, shares: &Shares) -> f64 {
    shares.percent.get(part).copied().unwrap_or(0.0)
}

/// The three greatest parts of each.
fn answer(shares: &[Shown<'_>]) -> Vec<String> {
    let told = shares.iter().map(|Shown { of, shares, is_failed, .. }| {
        let of = of.label();
        if *is_failed {
            return format!("{of} failed verification: its figures do not count.");
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

fn table(shares: &[Shown<'_>]) -> Table {
    let mut head = vec![String::from("% of the time in which something ran")];
    head.extend(shares.iter().map(|told| curves::marked(told.of.label(), told.is_failed)));
    head.extend(PAPER.iter().map(|column| String::from(column.name)));
    let line =
        |title: &str, here: &dyn Fn(&Shown<'_>) -> String, there: &dyn Fn(&Column) -> f64| {
            let there = PAPER.iter().map(|column| number(there(column)));
            let title = [String::from(title)].into_iter();
            title.chain(shares.iter().map(here)).chain(there).collect::<Vec<String>>()
        };
    let of_load = |metric: &'static Metric| {
        move |told: &Shown<'_>| (metric.of)(told.point).map_or_else(|| NONE.into(), number)
    };
    let parts = Part::ALL.iter().enumerate().map(|(at, part)| {
        let here = |told: &Shown<'_>| number(percent(part, told.shares));
        line(part.title(), &here, &|column| column.percent[at])
    });
    let mut rows: Vec<Vec<String>> = parts.collect();
    rows.extend([
        line("replies/s", &of_load(&metric::REPLIES), &|column| column.replies_per_s),
        line("Mbit/s", &of_load(&metric::SERVER_MBIT), &|column| column.mbit),
        line(
            "file system cache, MB",
            &|told| number(told.shares.page_cache_bytes as f64 / 1e6),
            &|column| column.cache_mb,
        ),
        line("context switches/s", &|told| number(told.shares.context_switches_per_s), &|column| {
            column.switches[0]
        }),
        line("user-level switches/s", &user_switches, &|column| column.switches[1]),
    ]);
    Table {
        title: String::from("Shares of the processor's time"),
        head,
        rows,
        notes: vec![String::from(
            "Context switches and the cache are the whole machine's, the lab's client included. \
             User-level switches are counted by the server itself: 0 where it has no user-level \
             threads, and unknown of other servers.",
        )],
    }
}

/// Between threads of a server's own making, in a second.
fn user_switches(told: &Shown<'_>) -> String {
    match (told.of.kind(), told.point.counted_per_s("user_switches")) {
        (_, Some(counted)) => number(counted),
        (Ok(subject::Kind::Floor(_)), None) => number(0.0),
        (_, None) => NONE.into(),
    }
}

/// What fibers cost beside what is promised of them, by the median of five looks or more.
fn threading(design: &Design, known: &Known<'_>) -> Option<String> {
    let knot = design.subjects.iter().find(|of| of.to_string() == KNOT)?;
    let cell = curves::at_multiple(design, known, knot, AT[0])?;
    let spread = cell.judged(&THREADING)?;
    let looks = cell.points().filter_map(THREADING.of).count();
    let told = promised::is_at_most(THREADING_MAX_PERCENT, spread.median, looks);
    Some(format!(
        "Threads of {KNOT}'s own making take {} % of the time, the median of all {}; promised are \
         {THREADING_MAX_PERCENT} % at most: {}. The paper's take 7 to 11 %.",
        curves::spread_text(&spread),
        curves::counted(looks, "look"),
        told.words()
    ))
}

/// Of a point, if its profile counts.
fn of_point(point: &Point, of: impl Fn(&Shares) -> f64) -> Option<f64> {
    let profile = point.profile.as_ref()?.as_ref().ok()?;
    match &profile.seen {
        Seen::Shares(shares) if profile.is_valid() => Some(of(shares)),
        _ => None,
    }
}

const fn share_of(label: &'static str, of: fn(&Point) -> Option<f64>) -> Metric {
    Metric { label, unit: "% of the time", is_logarithmic: false, of }
}

const POLLING: Metric = share_of("event notification", |point| {
    of_point(point, |shares| percent(&Part::EventNotification, shares))
});
const COPYING: Metric =
    share_of("data copying", |point| of_point(point, |shares| percent(&Part::DataCopying, shares)));
const THREADING: Metric = share_of("threading overhead", |point| {
    of_point(point, |shares| percent(&Part::Threading, shares))
});
const SCHEDULING: Metric =
    share_of("scheduling", |point| of_point(point, |shares| percent(&Part::Scheduling, shares)));

/// What section 7 says of the table: the paper's words, who has more, who has less, of what.
pub(super) const CLAIMS: [(&str, &str, &str, &Metric); 8] = [
    (
        "epoll's overhead is noticeably less than poll's, for the same throughput",
        WITH_POLL,
        WITH_EPOLL,
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
        KNOT_NB,
        WITH_POLL,
        &THREADING,
    ),
    ("Knot that copies, too, spends 17.7 % on it, with sendfile 0.7 %", KNOT_C, KNOT_NB, &COPYING),
    (
        "knot-b's scheduling takes more than knot-nb's: 1.64 and 0.81 %",
        KNOT_B,
        KNOT_NB,
        &SCHEDULING,
    ),
    ("WatPipe's threading takes 2.3 %, that of SYMPED nothing", "watpipe", "sped", &THREADING),
    ("threading of Knot takes more than that of WatPipe", KNOT_NB, "watpipe", &THREADING),
];

fn comparisons(design: &Design, known: &Known<'_>) -> Vec<Comparison> {
    let compared = |(paper, more, less, metric): &(&'static str, &str, &str, &'static Metric)| {
        let side = |text: &str| {
            let of: Subject = text.parse().ok()?;
            let of = design.subjects.iter().find(|subject| **subject == of)?;
            Some((of.label(), curves::at_multiple(design, known, of, AT[0])))
        };
        Some(Claim {
            figure: TABLE,
            paper,
            says: Says::More,
            metric,
            at: String::new(),
            one: side(more)?,
            beside: Beside::Every,
            others: vec![side(less)?],
        })
    };
    claim::judged(&CLAIMS.iter().filter_map(compared).collect::<Vec<_>>())
}
