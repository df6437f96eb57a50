//! How much memory does each further process of a server take, and each thread? (Choi05 figure 2.)
//!
//! The paper measures it of Flash, with 100 and 200 MB of cached files, and of Apache's threads.
//! Here contents are in the page cache, which is no process's own, and each process keeps all files
//! open: its memory is what it knows of them. Files have 30 KB, twice as much as the paper's, as a
//! process may have so many descriptors.

use std::collections::BTreeMap;

use super::choi05::subject;
use super::frame;
use super::stages::{self, Stages};
use crate::claim::{self, Beside, Says};
use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{Axis, Comparison, Figure, Section, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "choi05-processes",
    paper: "Choi05 figure 2",
    is_as_in_papers: true,
    question: "how much memory does each further process of a server take, and each thread?",
    ignores: &["workload", "disk", "memory-percent"],
    plan,
    sections,
};

const AMPED_1: &str = "amped:helpers=2,listener-queues=own,processes=1";
const AMPED_8: &str = "amped:helpers=2,listener-queues=own,processes=8";
const SPED_1: &str = "sped:listener-queues=own,processes=1";
const SPED_8: &str = "sped:listener-queues=own,processes=8";
const PIPELINED_1: &str = "pipelined:threads=1";
const PIPELINED_8: &str = "pipelined:threads=8";
const MT_25: &str = "mt:threads=25,threads-min=25";
const MT_50: &str = "mt:threads=50,threads-min=50";

/// Each with a queue of its own, so that none is asked less than others, whoever has time.
const SUBJECTS: [&str; 10] = [
    AMPED_1,
    "amped:helpers=2,listener-queues=own,processes=2",
    "amped:helpers=2,listener-queues=own,processes=4",
    AMPED_8,
    SPED_1,
    SPED_8,
    PIPELINED_1,
    PIPELINED_8,
    MT_25,
    MT_50,
];

/// Of all that take them: room for what is known of all files, which no limit of memory or age
/// takes away, and no contents.
const KNOBS: [(&str, &str); 5] = [
    ("answer-age-ms", "3600000"),
    ("cache-files", "7000"),
    ("cache-mb", "1024"),
    ("passes", "1"),
    ("small-file-kb", "0"),
];

/// What a cache holds.
struct Case {
    /// As it stands in [`Spec::stage`].
    stage: &'static str,
    mb: u32,
    files: u32,
}

const A_HUNDRED: Case = Case { stage: "100 MB of files", mb: 100, files: 3_400 };
const TWO_HUNDRED: Case = Case { stage: "200 MB of files", mb: 200, files: 6_800 };
const CASES: [Case; 2] = [A_HUNDRED, TWO_HUNDRED];

const MEAN_BYTES: u32 = 30 << 10;

/// Until a process has been asked for 99 of 100 files, for each 100 MB of them: 16,000 requests, by
/// half of a processor.
const FILL_S: f64 = 2.0;

/// Of one processor: so the client waits for the server.
const QUOTA_PERCENT: u32 = 50;

/// Enough for each of eight processes to have some at any time.
const CLIENTS: u32 = 64;

impl Case {
    fn spec(&self, setup: &Setup, of: &Subject, repeat: u32) -> Spec {
        let fill_s = FILL_S * f64::from(processes(of) * self.mb) / 100.0;
        let load = Load {
            workload: String::from("synthetic"),
            seconds: setup.seconds(1.0),
            warm_up: setup.warm_up(WarmUp::Fixed(fill_s)),
            flags: BTreeMap::new(),
            idle_connections: 0,
            beside: None,
        };
        // A cache of a half has little more than half of the hits where all are wanted about alike.
        let load = load.with("files", self.files).with("mean-bytes", MEAN_BYTES);
        let load = load.with("cache-mb", self.mb * 52 / 100).with("hits", 0.52);
        // A connection goes to a process by chance: many of them, each with some requests.
        let load = load.with("recency", 0).with("session-requests", 50).with("keeps", "session");
        Spec {
            experiment: EXPERIMENT.name.into(),
            stage: self.stage.into(),
            subject: of.clone(),
            load: load.with("clients", clients(of)).with("verified", 0.05),
            layout: frame::layout(setup, QUOTA_PERCENT),
            factors: BTreeMap::new(),
            repeat,
            profile: None,
        }
    }

    fn cell<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Option<&'s Cell<'k>> {
        stages::cell(known, (EXPERIMENT.name, self.stage), of)
    }
}

fn processes(of: &Subject) -> u32 {
    of.knobs.get("processes").and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Or pools, or threads of one connection each.
fn threads(of: &Subject) -> u32 {
    of.knobs.get("threads").and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// So many that each thread has one.
fn clients(of: &Subject) -> u32 {
    if of.name == "mt" { threads(of) } else { CLIENTS }
}

/// With what they are called in claims.
fn subjects(setup: &Setup) -> Vec<(Subject, String)> {
    if !setup.subjects.is_empty() {
        let named = |of: Subject| {
            let name = of.to_string();
            (of, name)
        };
        return setup.subjects(&[]).into_iter().map(named).collect();
    }
    let own = |text: &&str| Some((subject(text, &KNOBS)?, String::from(*text)));
    SUBJECTS.iter().filter_map(own).collect()
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let subjects: Vec<Subject> = subjects(setup).into_iter().map(|(of, _)| of).collect();
    stages::rounds(setup.repeats(3), &CASES, &subjects, |case, of, repeat| {
        case.spec(setup, of, repeat)
    })
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let named = subjects(setup);
    let subjects: Vec<Subject> = named.iter().map(|(of, _)| of.clone()).collect();
    let stages = &CASES.map(|case| (case.stage, case.stage));
    let shown = Stages { experiment: EXPERIMENT.name, stages, known, subjects: &subjects };
    let further = further(known, &named);
    let told = further.rows.iter();
    let answer = told.map(|row| format!("{} more, with {}: {} KB.", row[0], row[1], row[2]));
    let answer: Vec<String> = answer.collect();
    let title = "Memory of processes and threads (Choi05)";
    vec![Section {
        question: question(setup),
        answer,
        comparisons: comparisons(known, &named),
        figures: vec![figure(known, &subjects)],
        tables: vec![
            further,
            shown.table(&[&metric::MEMORY, &metric::REPLIES, &metric::CLIENT_BUSY]),
        ],
        ..frame::section(&EXPERIMENT, title, known, &subjects)
    }]
}

fn question(setup: &Setup) -> Vec<String> {
    let quota = setup.quota_percent(QUOTA_PERCENT).map_or_else(String::new, |percent| {
        format!(" The server's processes have {percent} % of one processor.")
    });
    vec![
        format!(
            "{CLIENTS} clients (of MT as many as it has threads) ask for files that are wanted \
             about alike, 100 MB of them and 200 MB, until each process has been asked for nearly \
             all, and again as soon as they are answered.{quota} All files are in the page cache, \
             and each process keeps them open, with their heads. Its memory is what is its own, of \
             what several share its part, without files that are mapped, and without the kernel's \
             memory for it."
        ),
        String::from(
            "Files have 30 KB, and the paper's 15 KB: of 20,000 descriptors, which many machines \
             allow a process, half are for files. So it knows of 3,400 and of 6,800 files, where \
             Flash knew of twice as many.",
        ),
        String::from(
            "Left out are the 3 MB that Flash's two helpers take, which are processes: here they \
             are threads. What a thread takes that does nothing, 10 KB in the paper's program of \
             barriers, is `thread-bytes` of the experiment `parameters`. MP has more processes \
             than are asked about here; table 1 gives each what it gives one of SPED.",
        ),
    ]
}

/// What so many more take.
struct Step {
    what: &'static str,
    less: &'static str,
    more: &'static str,
    count: u32,
    /// With 100 MB and with 200.
    paper: [&'static str; 2],
}

const STEPS: [Step; 4] = [
    Step {
        what: "One process of AMPED",
        less: AMPED_1,
        more: AMPED_8,
        count: 7,
        paper: ["from 5 MB for one to 120 MB for eight", "almost 200 MB for eight"],
    },
    Step {
        what: "One process of SPED",
        less: SPED_1,
        more: SPED_8,
        count: 7,
        paper: ["as AMPED, but for 3 MB of helpers", "as AMPED, but for 3 MB of helpers"],
    },
    Step {
        what: "One pool of PIPELINED",
        less: PIPELINED_1,
        more: PIPELINED_8,
        count: 7,
        paper: ["175 KB: seven threads", "175 KB: seven threads"],
    },
    Step {
        what: "One thread of MT",
        less: MT_25,
        more: MT_50,
        count: 25,
        paper: ["25 KB", "25 KB"],
    },
];

fn further(known: &Known<'_>, named: &[(Subject, String)]) -> Table {
    let mut rows = Vec::new();
    for step in &STEPS {
        for (case, paper) in CASES.iter().zip(step.paper) {
            let cell = |text: &str| {
                let (of, _) = named.iter().find(|(_, name)| name == text)?;
                case.cell(known, of)
            };
            let (Some(more), Some(less)) = (cell(step.more), cell(step.less)) else { continue };
            let pairs = more.pairs(less, &metric::MEMORY).into_iter();
            let each = pairs.map(|(more, less)| 1e3 * (more - less) / f64::from(step.count));
            let Some(each) = Spread::of(each.collect()) else { continue };
            let told = curves::spread_text(&each);
            rows.push(vec![step.what.into(), case.stage.into(), told, paper.into()]);
        }
    }
    let head = ["one more", "beside", "takes, KB", "the paper's"];
    Table {
        title: String::from("What each further one takes"),
        head: head.map(String::from).into(),
        rows,
        notes: vec![String::from(
            "Of processes and pools a seventh of what eight take more than one, of threads a \
             twenty-fifth of what 50 take more than 25. Medians, with the lowest and the highest \
             repeat in brackets.",
        )],
    }
}

fn figure(known: &Known<'_>, subjects: &[Subject]) -> Figure {
    let mut series = Vec::new();
    for case in &CASES {
        for (name, label) in [("amped", "AMPED"), ("sped", "SPED"), ("pipelined", "PIPELINED")] {
            let of_it = subjects.iter().filter(|of| of.name == name);
            let cells: Vec<&Cell<'_>> = of_it.filter_map(|of| case.cell(known, of)).collect();
            let label = format!("{label}, {}", case.stage);
            let x = |cell: &Cell<'_>| {
                let of = cell.subject();
                Some(f64::from(processes(of) * threads(of)))
            };
            series.push(curves::series(label, &cells, &metric::MEMORY, x, false));
        }
    }
    series.retain(|series| !series.points.is_empty());
    let x = Axis { label: String::from("processes, or pools"), ..Axis::default() };
    let figure = curves::figure("memory", &metric::MEMORY, x, series);
    let title = String::from("Memory by the number of processes (Choi05 figure 2)");
    Figure { title, ..figure }
}

/// Something that the paper says of memory.
pub(super) struct Row {
    pub(super) place: &'static str,
    pub(super) paper: &'static str,
    pub(super) of: &'static str,
    case: &'static Case,
    says: Says,
    pub(super) to: &'static str,
    beside: &'static Case,
}

const fn row(
    (place, paper): (&'static str, &'static str),
    (of, says, to): (&'static str, Says, &'static str),
    case: &'static Case,
) -> Row {
    Row { place, paper, of, case, says, to, beside: case }
}

pub(super) const CLAIMS: [Row; 7] = [
    row(
        ("Choi05 figure 2", "with 100 MB eight servers take 115 MB more than one beside the cache"),
        (AMPED_8, Says::More, AMPED_1),
        &A_HUNDRED,
    ),
    row(
        ("Choi05 figure 2", "with 200 MB eight servers take almost 200 MB, far more than one"),
        (AMPED_8, Says::More, AMPED_1),
        &TWO_HUNDRED,
    ),
    Row {
        beside: &A_HUNDRED,
        ..row(
            ("Choi05 figure 2", "the more files are cached, the more eight servers take"),
            (AMPED_8, Says::More, AMPED_8),
            &TWO_HUNDRED,
        )
    },
    row(
        ("Choi05 3.2", "SPED takes as much as AMPED, but for its helpers"),
        (SPED_8, Says::Alike, AMPED_8),
        &A_HUNDRED,
    ),
    row(
        ("Choi05 3.2", "MT does not take much more with 50 threads than with 25"),
        (MT_50, Says::Alike, MT_25),
        &A_HUNDRED,
    ),
    row(
        ("Choi05 4", "what PIPELINED takes is almost constant, however many pools there are"),
        (PIPELINED_8, Says::Alike, PIPELINED_1),
        &A_HUNDRED,
    ),
    row(
        ("Choi05 4", "PIPELINED takes less than AMPED and SPED"),
        (PIPELINED_8, Says::Less, SPED_8),
        &A_HUNDRED,
    ),
];

fn comparisons(known: &Known<'_>, named: &[(Subject, String)]) -> Vec<Comparison> {
    let compared = |row: &Row| {
        let side = |text: &str, case: &Case| {
            let (of, name) = named.iter().find(|(_, name)| name == text)?;
            Some((format!("{name}, {}", case.stage), case.cell(known, of)))
        };
        Some(claim::Claim {
            figure: row.place,
            paper: row.paper,
            says: row.says,
            metric: &metric::MEMORY,
            at: String::new(),
            one: side(row.of, row.case)?,
            beside: Beside::Every,
            others: vec![side(row.to, row.beside)?],
        })
    };
    claim::judged(&CLAIMS.iter().filter_map(compared).collect::<Vec<_>>())
}
