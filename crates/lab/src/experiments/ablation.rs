//! What is each saving worth? (JAWS97 4.)
//!
//! Each of the paper's optimisations is a knob here. Every architecture is measured as it is, and
//! with one of them turned off or set otherwise, under JAWS' own load. A saving that an
//! architecture cannot have is not measured with it.

use super::{frame, jaws97, overload};
use crate::claim::{self, Beside, Claim, Says};
use crate::closed::Closed;
use crate::compare;
use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Known, Spread};
use crate::metric;
use crate::page::{Axis, Comparison, Dot, Figure, Mark, Section, Series, Shape, Table};
use crate::setup::Setup;
use crate::subject::Subject;
use crate::tuning::with_knob;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ablation",
    paper: "JAWS97 4",
    is_as_in_papers: true,
    question: "how much does each saving of JAWS bring in each architecture?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

/// What the paper calls it, with the knob and the value that takes it away.
const SAVINGS: [(&str, &str, &str); 10] = [
    ("pre-computed heads", "head-cache", "off"),
    ("cached date", "date-cache", "off"),
    ("gather-write", "gather", "off"),
    ("cached files", "cache-mb", "0"),
    ("sendfile", "sendfile", "off"),
    ("locks of entries", "cache-locks", "1"),
    ("Nagle's algorithm off", "nodelay", "off"),
    ("a long backlog", "backlog", "16"),
    ("a large send buffer", "send-buffer-kb", "8"),
    ("small files in memory", "small-file-kb", "0"),
];

const ARCHITECTURES: [&str; 4] = ["sped", "amped", "mt", "proactor"];

/// So many at a time: the most of the paper.
const CLIENTS: u32 = 42;

fn closed(setup: &Setup) -> Closed {
    let mut subjects = Vec::new();
    for of in setup.subjects(&ARCHITECTURES) {
        let takes =
            |knob: &str| servers::knobs::knob(knob).is_some_and(|knob| knob.is_taken_by(&of.name));
        // All else is told as a share of it.
        for base in [whole(&of), of.clone()] {
            if !subjects.contains(&base) {
                subjects.push(base);
            }
        }
        let taken = SAVINGS.iter().filter(|(_, knob, _)| takes(knob));
        subjects.extend(taken.map(|(_, knob, value)| with_knob(&of, knob, value)));
    }
    let layout = overload::layout(setup);
    Closed { clients: vec![CLIENTS], layout, ..jaws97::closed(EXPERIMENT.name, setup, subjects) }
}

/// The architecture with all of its savings.
fn whole(of: &Subject) -> Subject {
    let mut of = of.clone();
    of.knobs.retain(|knob, value| !SAVINGS.iter().any(|(_, of, off)| of == knob && off == value));
    of
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    closed(setup).plan()
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let closed = closed(setup);
    let mut question = jaws97::question(&closed);
    question.push(String::from(
        "Every architecture is measured as it is, and without one saving at a time.",
    ));
    vec![Section {
        question,
        answer: answer(&closed, known),
        comparisons: comparisons(&closed, known),
        figures: vec![figure(&closed, known)],
        tables: vec![table(&closed, known)],
        ..frame::section(
            &EXPERIMENT,
            "What each saving is worth (JAWS97 4)",
            known,
            &closed.subjects,
        )
    }]
}

/// Connections/s without a saving, as a share of those with all of them.
struct Share {
    percent: Spread,
    /// Whether verification failed, with the saving or without it.
    is_failed: bool,
}

fn share(closed: &Closed, known: &Known<'_>, of: &Subject) -> Option<Share> {
    let (whole, without) = (closed.at_most(known, &whole(of))?, closed.at_most(known, of)?);
    let with = whole.spread(&metric::CONNECTIONS)?.median;
    let spread = without.spread(&metric::CONNECTIONS)?;
    let percent = |value: f64| 100.0 * value / with;
    let both = |(low, high): (f64, f64)| (percent(low), percent(high));
    (with > 0.0).then(|| Share {
        percent: Spread {
            median: percent(spread.median),
            quartiles: both(spread.quartiles),
            range: both(spread.range),
            count: spread.count,
        },
        is_failed: whole.is_failed() || without.is_failed(),
    })
}

/// Of each architecture, what is told from the whole to cost most to do without.
fn answer(closed: &Closed, known: &Known<'_>) -> Vec<String> {
    /// More stand in the table.
    const TOLD_MAX: usize = 3;
    let wholes = closed.subjects.iter().filter(|of| whole(of) == **of);
    let line = |of: &Subject| {
        let cell = closed.at_most(known, of)?;
        if cell.is_failed() {
            return Some(format!("{of} failed verification: its figures do not count."));
        }
        let with = cell.judged(&metric::CONNECTIONS)?;
        let lost = |(saving, knob, value): &(&'static str, &str, &str)| {
            let without = closed.at_most(known, &with_knob(of, knob, value))?;
            let left = without.judged(&metric::CONNECTIONS)?.median;
            let pairs = without.pairs(cell, &metric::CONNECTIONS);
            Some((pairs, (100.0 * (1.0 - left / with.median), *saving)))
        };
        let (pairs, looked): (Vec<_>, Vec<_>) = SAVINGS.iter().filter_map(lost).unzip();
        let told = compare::told(&pairs, |at, ratio| ratio.is_less().then(|| looked[at]));
        let mut told: Vec<(f64, &str)> = told.into_iter().flatten().collect();
        told.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let told: Vec<String> = told
            .iter()
            .take(TOLD_MAX)
            .map(|(percent, saving)| format!("{saving} {} %", curves::number(*percent)))
            .collect();
        match (&*looked, &*told) {
            ([], _) => None,
            (_, []) => Some(format!("{of}: no saving makes a clear difference.")),
            (_, told) => {
                Some(format!("{of} loses most connections/s without: {}.", told.join(", ")))
            }
        }
    };
    wholes.filter_map(line).collect()
}

/// What the paper says of JAWS' savings, of the architecture that it had.
fn comparisons(closed: &Closed, known: &Known<'_>) -> Vec<Comparison> {
    let Some(of) = closed.subjects.iter().find(|of| of.name == "mt" && whole(of) == **of) else {
        return Vec::new();
    };
    let compared = |(saving, paper): &(&str, &'static str)| {
        let (_, knob, value) = SAVINGS.iter().find(|(named, ..)| named == saving)?;
        let without = with_knob(of, knob, value);
        let side = |of: &Subject| (of.to_string(), closed.at_most(known, of));
        Some(Claim {
            figure: "JAWS97 4",
            paper,
            says: Says::More,
            metric: &metric::CONNECTIONS,
            at: String::new(),
            one: side(of),
            beside: Beside::Every,
            others: vec![side(&without)],
        })
    };
    claim::judged(&SAID.iter().filter_map(compared).collect::<Vec<_>>())
}

/// Of savings by the names above; the paper has no numbers for them one by one.
const SAID: [(&str, &str); 6] = [
    ("cached files", "without a file cache a server opens and reads for each request"),
    ("gather-write", "gather-write avoids copying data"),
    ("pre-computed heads", "heads can be computed when a file enters the cache"),
    ("locks of entries", "locks, and how many there are, cost performance"),
    ("a long backlog", "connections are refused where the backlog is short"),
    ("a large send buffer", "send buffers should be as large as they may be"),
];

fn figure(closed: &Closed, known: &Known<'_>) -> Figure {
    let wholes: Vec<Subject> =
        closed.subjects.iter().filter(|of| whole(of) == **of).cloned().collect();
    let series = wholes.iter().map(|of| {
        let dots = SAVINGS.iter().enumerate().filter_map(|(at, (_, knob, value))| {
            let share = share(closed, known, &with_knob(of, knob, value))?;
            let mark = if share.is_failed { Mark::Failed } else { Mark::Plain };
            let Spread { median, range, .. } = share.percent;
            Some(Dot { x: at as f64, y: median, spread: range, mark })
        });
        Series { label: of.to_string(), points: dots.collect(), is_reference: false }
    });
    Figure {
        name: String::from("without"),
        title: String::from("Connections that are left without each saving"),
        x: Axis {
            label: String::from("what is taken away"),
            names: SAVINGS.map(|(saving, _, _)| saving.into()).into(),
            ..Axis::default()
        },
        y: Axis {
            label: String::from("connections/s, of those with all savings"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series: series.collect(),
        shape: Shape::Bars,
    }
}

fn table(closed: &Closed, known: &Known<'_>) -> Table {
    let wholes: Vec<&Subject> = closed.subjects.iter().filter(|of| whole(of) == **of).collect();
    let mut head = vec![String::from("without"), String::from("knob")];
    head.extend(wholes.iter().map(|of| format!("{of}, % of its connections/s")));
    let rows = SAVINGS.iter().map(|(saving, knob, value)| {
        let mut row = vec![String::from(*saving), format!("--{knob} {value}")];
        row.extend(wholes.iter().map(|of| {
            let share = share(closed, known, &with_knob(of, knob, value));
            share.map_or_else(
                || String::from("-"),
                |share| curves::marked(curves::spread_text(&share.percent), share.is_failed),
            )
        }));
        row
    });
    Table {
        title: String::from("Connections/s without each saving"),
        head,
        rows: rows.collect(),
        notes: vec![String::from(
            "Medians, with the lowest and the highest repeat in brackets. -: it has no such \
             knob, or was not measured. A cross: failed verification, with the saving or without \
             it.",
        )],
    }
}
