//! What the experiments of Choi05 have in common: its models as servers, its traces, its disk, and
//! how what it says of them is judged.
//!
//! The paper simulates its models and leaves real servers for later (7). Here they are
//! architectures of Weir, with as many processes and threads as the paper has for each processor.
//! Contents are sent from the page cache, which all processes share: what each of them has for
//! itself is what it knows of files, as in table 1.

use std::collections::BTreeMap;

use load::trace::presets::PRESETS;
use load::trace::synthesis::Model;

use super::{disk, frame};
use crate::claim::{self, Beside, Says};
use crate::curves::{self, number};
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Axis, Comparison, Figure, Section, Series, Shape, Table};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::{Arm, Disk, Layout};

/// An experiment: all models in each case, as for one processor and as for two.
pub(super) struct Slate {
    pub(super) experiment: &'static Experiment,
    pub(super) title: &'static str,
    /// What cases differ in.
    pub(super) axis: &'static str,
    pub(super) cases: &'static [Case],
    /// By the paper's names.
    pub(super) models: &'static [&'static str],
    pub(super) claims: &'static [Claim],
    /// What the paper says there and is not judged, with the reason.
    pub(super) left_out: &'static str,
}

/// A trace, how much of its files the server's memory holds, and who asks.
pub(super) struct Case {
    /// As it stands in specs, in claims and in figures.
    pub(super) name: &'static str,
    /// As in `--workload`.
    pub(super) trace: &'static str,
    /// So many times the paper's files, but with `--paper`: sets of 166 to 184 MB, so that memory
    /// fills in a second.
    pub(super) scale: f64,
    /// Of the set; none: what the paper has for this trace (6.1), or what the operator says.
    pub(super) memory_percent: Option<u32>,
    pub(super) clients: u32,
}

/// A case by its name, as for so many processors.
pub(super) type At = (&'static str, u32);

/// Something that a figure shows of replies/s: of a model,
pub(super) struct Claim {
    pub(super) figure: &'static str,
    pub(super) paper: &'static str,
    pub(super) of: &'static str,
    /// where,
    pub(super) at: At,
    pub(super) says: Says,
    /// beside each of these,
    pub(super) to: &'static [&'static str],
    /// which are there; none: at the same place.
    pub(super) there: &'static [At],
}

/// The case of most figures: the paper's main trace (5.2).
pub(super) const CSE: Case = Case {
    name: "Penn State CSE",
    trace: "choi-penn-state-cse",
    scale: 0.03,
    memory_percent: None,
    clients: 1_000,
};

pub(super) const MP: &str = "MP";
pub(super) const MT: &str = "MT";
pub(super) const SPED: &str = "SPED";
pub(super) const AMPED: &str = "AMPED";
pub(super) const PIPELINED: &str = "PIPELINED";
pub(super) const MODELS: [&str; 5] = [MP, MT, SPED, AMPED, PIPELINED];
/// MT with a thread for each client, of which 6.3 speaks.
pub(super) const CROWD: &str = "MT, 1,024 threads";

/// What a model is here, as for so many processors.
pub(super) fn here(model: &str, processors: u32) -> String {
    match model {
        // 16 or 32 processes for each (3.3).
        MP => format!("mp:processes={}", 16 * processors),
        // Usually 32 or 64 threads (3.2).
        MT => format!("mt:threads={}", 64 * processors),
        CROWD => String::from("mt:threads=1024"),
        SPED => format!("sped:processes={processors}"),
        // One helper reads, and one translates paths (3.1); here each does both.
        AMPED => format!("amped:helpers=2,processes={processors}"),
        _ => format!("pipelined:pin=on,threads={processors}"),
    }
}

/// Of all that take them. Paths are kept as in table 3. What the paper's models have not is off: a
/// second pass, answers that grow old within a second, and refusals where helpers are behind.
const KNOBS: [(&str, &str); 6] = [
    ("answer-age-ms", "3600000"),
    ("cache-files", "6000"),
    ("connections-max", "3000"),
    ("load-delay-ms", "60000"),
    ("passes", "1"),
    ("small-file-kb", "0"),
];

/// With these knobs, as far as it takes them; none: this build has no such server.
pub(super) fn subject(text: &str, knobs: &[(&str, &str)]) -> Option<Subject> {
    let own: Subject = text.parse().expect("an experiment's own subject");
    own.judge().ok()?;
    Some(knobs.iter().fold(own, |of, (knob, value)| {
        let with = of.with(knob, value).filter(|_| !of.says(knob));
        with.unwrap_or(of)
    }))
}

/// Table 2, the fast one: a read after the other, each behind half of a turn of 10,000 in a minute,
/// and 1,200 Mbit/s.
const FAST: Disk =
    Disk { delay_us: 0, arm: Some(Arm { seek_us: 0, turn_us: 5_980, mb_per_s: 150 }) };

/// For how many processors servers are set: of the paper's 16 as many as a small machine has.
const PROCESSORS: [u32; 2] = [1, 2];
/// What varies, as it stands in [`Spec::factors`].
const FACTOR: &str = "processors";

/// Of one processor, for each: small replies on connections of their own cost the client as much as
/// the server, and with 30 % it still waits for the server.
const QUOTA_PERCENT: u32 = 15;

const SECONDS: f64 = 2.0;
/// Until all clients wait for the server; memory is full before.
const WARM_UP_S: f64 = 2.0;
/// With three a table of so many rows tells nothing that differs by less than a half.
const REPEATS: u32 = 5;

const METRICS: [&Metric; 9] = [
    &metric::REPLIES,
    &metric::SERVER_MBIT,
    &metric::RESPONSE,
    &metric::OWN_CPU,
    &metric::BLOCKED,
    &metric::GROUP_CACHE,
    &metric::SITE_AFTER,
    &metric::MEMORY,
    &metric::CLIENT_BUSY,
];

impl Slate {
    /// All of it: nothing depends on what comes out.
    pub(super) fn plan(&self, setup: &Setup) -> Plan {
        let mut specs = Vec::new();
        for repeat in 0..setup.repeats(REPEATS) {
            for at in self.places() {
                let rivals = self.rivals(setup, at.1);
                specs.extend(rivals.iter().map(|(of, _)| self.spec(setup, at, of, repeat)));
            }
        }
        Plan { specs, later_s: 0.0 }
    }

    pub(super) fn section(&self, setup: &Setup, known: &Known<'_>) -> Section {
        let mut subjects: Vec<Subject> = Vec::new();
        for (of, _) in PROCESSORS.into_iter().flat_map(|on| self.rivals(setup, on)) {
            if !subjects.contains(&of) {
                subjects.push(of);
            }
        }
        let title = format!("{} (Choi05)", self.title);
        Section {
            question: self.question(setup),
            answer: self.answer(setup, known),
            comparisons: self.comparisons(setup, known),
            figures: PROCESSORS.map(|on| self.figure(setup, known, on)).into(),
            tables: vec![self.table(setup, known), self.traces(setup)],
            ..frame::section(self.experiment, title, known, &subjects)
        }
    }

    fn places(&self) -> impl Iterator<Item = (&'static Case, u32)> {
        self.cases.iter().flat_map(|case| PROCESSORS.map(|on| (case, on)))
    }

    /// As for so many processors, with what they are called; those of the operator are as he says.
    fn rivals(&self, setup: &Setup, on: u32) -> Vec<(Subject, String)> {
        if !setup.subjects.is_empty() {
            let named = |of: Subject| {
                let name = of.label();
                (of, name)
            };
            return setup.subjects(&[]).into_iter().map(named).collect();
        }
        let rival = |model: &&str| {
            let of = subject(&here(model, on), &KNOBS)?;
            Some((of, String::from(*model)))
        };
        self.models.iter().filter_map(rival).collect()
    }

    fn spec(&self, setup: &Setup, (case, on): (&Case, u32), of: &Subject, repeat: u32) -> Spec {
        Spec {
            experiment: self.experiment.name.into(),
            stage: case.name.into(),
            subject: of.clone(),
            load: case.load(setup),
            layout: case.layout(setup, on),
            factors: BTreeMap::from([(FACTOR.into(), f64::from(on))]),
            repeat,
            profile: None,
        }
    }

    fn cell<'s, 'k>(
        &self,
        (setup, known): (&Setup, &'s Known<'k>),
        at: (&Case, u32),
        of: &Subject,
    ) -> Option<&'s Cell<'k>> {
        known.cell(&self.spec(setup, at, of, 0))
    }

    /// In each case, the most first.
    fn answer(&self, setup: &Setup, known: &Known<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for at in self.places() {
            let rivals = self.rivals(setup, at.1);
            let (mut told, mut failed) = (Vec::new(), Vec::new());
            for (of, name) in &rivals {
                let Some(cell) = self.cell((setup, known), at, of) else { continue };
                match cell.judged(&metric::REPLIES) {
                    Some(replies) => told.push((name.as_str(), cell, replies.median)),
                    None if cell.is_failed() => failed.push(name.as_str()),
                    None => {}
                }
            }
            told.sort_by(|a, b| b.2.total_cmp(&a.2));
            let place = format!("{}, {}", at.0.name, processors(at.1));
            lines.extend(ranked(&place, &told));
            if !failed.is_empty() {
                lines.push(format!("{place}: failed verification: {}.", failed.join("; ")));
            }
        }
        lines
    }

    fn comparisons(&self, setup: &Setup, known: &Known<'_>) -> Vec<Comparison> {
        let side = |model: &str, (case, on): At| {
            let case = self.cases.iter().find(|of| of.name == case)?;
            let rivals = self.rivals(setup, on);
            let (of, name) = rivals.into_iter().find(|(_, name)| name == model)?;
            let cell = self.cell((setup, known), (case, on), &of);
            Some((format!("{name}, {}, {}", case.name, processors(on)), cell))
        };
        let compared = |claim: &Claim| {
            let same = [claim.at];
            let there = if claim.there.is_empty() { &same[..] } else { claim.there };
            let mut others = Vec::new();
            for model in claim.to {
                others.extend(there.iter().filter_map(|at| side(model, *at)));
            }
            let one = side(claim.of, claim.at)?;
            (!others.is_empty()).then(|| claim::Claim {
                figure: claim.figure,
                paper: claim.paper,
                says: claim.says,
                metric: &metric::REPLIES,
                at: String::new(),
                one,
                beside: Beside::Every,
                others,
            })
        };
        claim::judged(&self.claims.iter().filter_map(compared).collect::<Vec<_>>())
    }

    /// A group of bars for each case.
    fn figure(&self, setup: &Setup, known: &Known<'_>, on: u32) -> Figure {
        let series = self.rivals(setup, on).into_iter().map(|(of, label)| {
            let dots = self.cases.iter().enumerate().filter_map(|(x, case)| {
                let cell = self.cell((setup, known), (case, on), &of)?;
                cell.dot(x as f64, &metric::REPLIES)
            });
            Series { label, points: dots.collect(), is_reference: false }
        });
        let x = Axis {
            label: self.axis.into(),
            names: self.cases.iter().map(|case| case.name.into()).collect(),
            ..Axis::default()
        };
        let series = series.filter(|series| !series.points.is_empty()).collect();
        let figure = curves::figure(&format!("replies-{on}"), &metric::REPLIES, x, series);
        let title = format!("Replies/s, {} ({})", processors(on), self.experiment.paper);
        Figure { title, shape: Shape::Bars, ..figure }
    }

    fn table(&self, setup: &Setup, known: &Known<'_>) -> Table {
        let mut rows = Vec::new();
        for at in self.places() {
            for (of, _) in self.rivals(setup, at.1) {
                let cell = self.cell((setup, known), at, &of);
                let Some(cell) = cell.filter(|cell| curves::is_known(cell)) else { continue };
                let own = [at.0.name.into(), at.1.to_string(), of.to_string()];
                let told = METRICS.iter().map(|metric| curves::told(cell, metric));
                rows.push(own.into_iter().chain(told).collect());
            }
        }
        let head = [self.axis, "as for processors", "subject"].map(String::from);
        Table {
            title: String::from("All cases"),
            head: head.into_iter().chain(METRICS.map(Metric::heading)).collect(),
            rows,
            notes: vec![curves::MARKS.into()],
        }
    }

    /// What was made of the paper's.
    fn traces(&self, setup: &Setup) -> Table {
        let row = |case: &Case| {
            vec![
                case.name.into(),
                case.trace.into(),
                number(100.0 * case.scale(setup)),
                number(f64::from(case.model(setup).files)),
                number(case.set_bytes(setup) / 1e6),
                number(case.memory_bytes(setup) as f64 / 1e6),
                case.clients.to_string(),
            ]
        };
        let head = [
            self.axis,
            "workload",
            "of the paper's files, %",
            "files",
            "all of them, MB",
            "the server's memory, MB",
            "clients at a time",
        ];
        Table {
            title: String::from("What is asked for"),
            head: head.map(String::from).into(),
            rows: self.cases.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn question(&self, setup: &Setup) -> Vec<String> {
        let mut lines = vec![String::from(
            "Clients ask again as soon as they are answered (5.1), one request on each connection. \
             So they never ask for more than the server can do. Traces are synthesised from tables \
             4 and 5 and have fewer files: the last table says how many, how much they have \
             together, and how much memory the server has, its share of the page cache included.",
        )];
        lines.push(of_disk(setup));
        lines.push(of_processors(setup));
        if setup.subjects.is_empty() {
            lines.push(String::from(
                "For each processor MP has 16 processes, MT 64 threads, SPED and AMPED one \
                 process, AMPED's with two helpers, and PIPELINED one pool of seven threads, which \
                 stay on a processor. Contents are in the page cache, which all processes share; \
                 what each has for itself is what it knows of up to 6,000 files (table 3). In \
                 seconds a process learns of fewer than in the paper's hours, so that MP's \
                 processes, and copies of SPED and AMPED, take less from the page cache than \
                 table 1 has it.",
            ));
        }
        lines.push(self.left_out.into());
        lines
    }
}

fn of_disk(setup: &Setup) -> String {
    match disk::said(setup) {
        _ if setup.is_loopback => {
            String::from("Without limits, as they need root: the files are in memory.")
        }
        None => format!(
            "Memory is filled before. The disk is the fast one of table 2: an image whose reads \
             are answered one after the other, each behind half of a turn ({FAST})."
        ),
        Some(None) => {
            String::from("Memory is filled before. The disk is the machine's own, as it is.")
        }
        Some(Some(disk)) => format!(
            "Memory is filled before. The disk is an image whose reads are answered late, as the \
             operator says: {disk}."
        ),
    }
}

fn of_processors(setup: &Setup) -> String {
    let quota = setup.quota_percent(QUOTA_PERCENT).map_or_else(String::new, |percent| {
        format!(
            " For each of them its processes have {percent} % of one, so that the client is not \
             the limit. A loop that waits for the disk while its time is used up anyway loses \
             less by that than the paper's, which has the whole of a processor."
        )
    });
    format!(
        "Each server is set as for one processor and as for two.{quota} It runs on the server's \
         half of this machine's processors. Where that is one, a server for two runs on it with \
         twice the time: what two processors do to each other, such as threads that want a lock at \
         the same time, is left out then. All that the paper says of 3 to 16 processors is left \
         out."
    )
}

fn processors(on: u32) -> String {
    String::from(if on == 1 { "1 processor" } else { "2 processors" })
}

/// None of nobody.
fn ranked(place: &str, told: &[(&str, &Cell<'_>, f64)]) -> Option<String> {
    let cells: Vec<(&str, &Cell<'_>)> = told.iter().map(|(name, cell, _)| (*name, *cell)).collect();
    let near = frame::beside_first(&metric::REPLIES, &cells);
    let all: Vec<String> =
        told.iter().map(|(name, _, replies)| format!("{name} {}", number(*replies))).collect();
    let all = all.join("; ");
    (!told.is_empty()).then(|| format!("{place}, replies/s, the most first: {all}.{near}"))
}

impl Case {
    fn load(&self, setup: &Setup) -> Load {
        let warm_up_s = if setup.is_paper { 30.0 } else { WARM_UP_S };
        let load = Load {
            workload: self.trace.into(),
            seconds: setup.seconds(SECONDS),
            warm_up: setup.warm_up(WarmUp::Fixed(warm_up_s)),
            flags: BTreeMap::new(),
            idle_connections: 0,
            beside: None,
        };
        let load = load.with("trace-scale", self.scale(setup)).with("clients", self.clients);
        // The contents of some replies: a client that looks at all of them would be the limit.
        load.with("keeps", "request").with("verified", 0.05)
    }

    fn layout(&self, setup: &Setup, on: u32) -> Layout {
        let quota = setup.quota_percent(QUOTA_PERCENT).map(|percent| percent * on);
        let disk = disk::said(setup).unwrap_or(Some(FAST));
        disk::limited_to(frame::joined(setup, quota), self.memory_bytes(setup), disk)
    }

    fn memory_bytes(&self, setup: &Setup) -> u64 {
        match self.memory_percent.or(setup.memory_percent) {
            Some(percent) => (self.set_bytes(setup) * f64::from(percent) / 100.0) as u64,
            None => self.model(setup).cache_bytes,
        }
    }

    fn set_bytes(&self, setup: &Setup) -> f64 {
        let Model { files, mean_bytes, .. } = self.model(setup);
        f64::from(files) * mean_bytes
    }

    fn model(&self, setup: &Setup) -> Model {
        let preset = PRESETS.iter().find(|of| of.name == self.trace);
        preset.expect("a trace of the generator's").model.scaled(self.scale(setup))
    }

    fn scale(&self, setup: &Setup) -> f64 {
        if setup.is_paper { 1.0 } else { self.scale }
    }
}
