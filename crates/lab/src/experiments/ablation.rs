//! What is each saving worth? (JAWS97 4.)
//!
//! Each of the paper's optimisations is a knob here. Every architecture is measured as it is, and
//! with one of them turned off or set otherwise: at its capacity, where time is what counts. A
//! saving that an architecture cannot have is not measured with it.

use crate::curves;
use crate::design::{Design, OF_CAPACITY, Plan};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Shape, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::tuning::with_knob;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ablation",
    paper: "JAWS97 4",
    question: "what is each saving of JAWS worth in each architecture?",
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

fn design(setup: &Setup) -> Design {
    let mut subjects = Vec::new();
    for of in setup.subjects(&ARCHITECTURES) {
        let takes =
            |knob: &str| servers::knobs::knob(knob).is_some_and(|knob| knob.is_taken_by(&of.name));
        subjects.push(of.clone());
        let taken = SAVINGS.iter().filter(|(_, knob, _)| takes(knob));
        subjects.extend(taken.map(|(_, knob, value)| with_knob(&of, knob, value)));
    }
    let load = Load {
        // Files of 500 bytes to 5 MB, as in the paper: savings are of small files, or of large.
        workload: setup.workload.clone().unwrap_or_else(|| String::from("webstone")),
        seconds: setup.seconds(2.0),
        warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
        flags: Default::default(),
        idle_connections: 0,
    };
    Design {
        experiment: EXPERIMENT.name,
        subjects,
        load: load.with("patience", 1),
        layout: super::flood::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0, 1.2],
        multiples: &[0.9, 1.2],
        sweep_repeats: setup.repeats(3),
        repeats: setup.repeats(3),
        basis: whole,
    }
}

/// The architecture with all of its savings.
fn whole(of: &Subject) -> Subject {
    let mut of = of.clone();
    of.knobs.retain(|knob, value| !SAVINGS.iter().any(|(_, of, off)| of == knob && off == value));
    of
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    design(setup).plan(known)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    vec![Section {
        name: EXPERIMENT.name.into(),
        title: String::from("What each saving is worth (JAWS97 4)"),
        question: vec![format!(
            "Every architecture as it is, and with one saving taken away, asked for {} at 1.2 of \
             the capacity that it has as it is.",
            design.load.workload
        )],
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![figure(&design, known)],
        tables: vec![table(&design, known)],
        excluded: curves::excluded(known, EXPERIMENT.name),
        commands: curves::commands(known, EXPERIMENT.name, &design.subjects),
    }]
}

/// Good replies without a saving, as a share of those with all of them, and the spread of that.
fn share(design: &Design, known: &Known<'_>, of: &Subject) -> Option<(f64, (f64, f64))> {
    let spread = |of: &Subject| {
        let curve = design.curve(known, of);
        let cell = curve.into_iter().find(|cell| cell.factor(OF_CAPACITY) == Some(1.2))?;
        cell.spread(&metric::GOODPUT)
    };
    let (with, without) = (spread(&whole(of))?.median, spread(of)?);
    let (low, high) = without.quartiles;
    (with > 0.0).then(|| (without.median / with, (low / with, high / with)))
}

fn figure(design: &Design, known: &Known<'_>) -> Figure {
    let wholes: Vec<Subject> =
        design.subjects.iter().filter(|of| whole(of) == **of).cloned().collect();
    let series = wholes.iter().map(|of| {
        let dots = SAVINGS.iter().enumerate().filter_map(|(at, (_, knob, value))| {
            let (y, spread) = share(design, known, &with_knob(of, knob, value))?;
            Some(Dot {
                x: at as f64,
                y: y * 100.0,
                spread: (spread.0 * 100.0, spread.1 * 100.0),
                mark: Mark::Plain,
            })
        });
        Series { label: of.to_string(), points: dots.collect(), is_reference: false }
    });
    Figure {
        name: String::from("without"),
        title: String::from("Good replies that are left without each saving"),
        x: Axis {
            label: String::from("what is taken away"),
            names: SAVINGS.map(|(saving, _, _)| saving.into()).into(),
            ..Axis::default()
        },
        y: Axis {
            label: String::from("good replies, of those with all savings"),
            unit: String::from("%"),
            ..Axis::default()
        },
        series: series.collect(),
        shape: Shape::Bars,
    }
}

fn table(design: &Design, known: &Known<'_>) -> Table {
    let wholes: Vec<&Subject> = design.subjects.iter().filter(|of| whole(of) == **of).collect();
    let mut head = vec![String::from("without"), String::from("knob")];
    head.extend(wholes.iter().map(|of| format!("{of}, % of its replies")));
    let rows = SAVINGS.iter().map(|(saving, knob, value)| {
        let mut row = vec![String::from(*saving), format!("--{knob} {value}")];
        row.extend(wholes.iter().map(|of| {
            let share = share(design, known, &with_knob(of, knob, value));
            share.map_or_else(
                || String::from("-"),
                |(share, (low, high))| {
                    let [share, low, high] =
                        [share, low, high].map(|share| curves::number(share * 100.0));
                    format!("{share} ({low} to {high})")
                },
            )
        }));
        row
    });
    Table {
        title: String::from("Good replies without each saving, at 1.2 of the capacity with all"),
        head,
        rows: rows.collect(),
        notes: vec![String::from("Medians and quartiles of the repeats; - : it has no such knob.")],
    }
}
