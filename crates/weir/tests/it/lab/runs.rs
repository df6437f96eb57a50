//! `weir lab` as users type it, and what it leaves behind: files, words, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lab::bench::Bench;
use lab::known::Known;
use lab::metric;
use lab::point::{Point, Verdict};
use lab::results::{Line, Log, Results};
use lab::setup::WarmUp;
use lab::spec::{Beside, Load, Spec};
use lab::testbed::{Disk, Layout, Need};
use tempfile::TempDir;

use crate::load::UNPROVEN;
use crate::support::command::run;
use crate::support::examples::example;

/// A run that asks for little, beside other tests: points need not be valid there, but are told.
pub(super) const BRIEF: [&str; 9] =
    ["--seconds", "0.2", "--anyway", "--warm-up", "0", "--repeats", "1", "--attempts", "1"];

/// A place for results and sites.
pub(super) struct Lab {
    home: TempDir,
}

/// What became of a command.
pub(super) struct Ended {
    pub(super) status: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Lab {
    pub(super) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a directory") }
    }

    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where results go.
    pub(super) fn dir(&self) -> PathBuf {
        self.home().join("results")
    }

    /// `weir lab run` with these arguments, on the loopback.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = weir(&["lab", "run"]);
        command.args(arguments).arg("--loopback").args(self.places());
        command
    }

    /// Flags for where it keeps what.
    pub(super) fn places(&self) -> [String; 4] {
        self.places_with(sites())
    }

    /// The same with sites that are its own, for whom the others' are none of his.
    pub(super) fn own_places(&self) -> [String; 4] {
        self.places_with(self.home().join("sites"))
    }

    fn places_with(&self, sites: PathBuf) -> [String; 4] {
        let shown = |path: PathBuf| path.display().to_string();
        ["--dir".into(), shown(self.dir()), "--sites".into(), shown(sites)]
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        ended(&mut self.command(arguments))
    }

    /// Every line of it can be read.
    pub(super) fn results(&self) -> Results {
        Results::read(&self.dir()).expect("lines of results")
    }

    /// The page's words: neither where its lines break nor what is escaped tells anything.
    pub(super) fn page(&self) -> String {
        words(&fs::read_to_string(self.dir().join("index.md")).expect("a page"))
    }

    pub(super) fn has_scratch(&self) -> bool {
        self.dir().join("scratch").exists()
    }
}

/// The files that all of these tests serve: made once, and kept.
fn sites() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let sites = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-sites");
        for workload in ["one-packet", "webstone"] {
            let site = sites.join(workload);
            let made = ended(weir(&["load", "make-site"]).arg(site).args(["--workload", workload]));
            assert_eq!(made.status, Some(0), "{}", made.errors);
        }
        sites
    });
    made.clone()
}

pub(super) fn words(text: &str) -> String {
    text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn weir(arguments: &[&str]) -> Command {
    let mut command = Command::new(super::executable());
    command.args(arguments);
    command
}

pub(super) fn ended(command: &mut Command) -> Ended {
    let (status, output, errors) = run(command).expect("it runs");
    Ended { status, output, errors }
}

/// The double, as a subject.
pub(super) fn double(way: &str) -> String {
    format!("command:exec {} {way} {{address}} {{site}}", example("wrong").display())
}

#[test]
fn a_short_run_is_told_whole() {
    let lab = Lab::new();
    let ran = lab.run(&[&["step", "--subject", "sped:backlog=64"][..], &BRIEF].concat());
    // Points of a busy machine may be invalid.
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    is_answered(&ran.output, &lab.dir());
    for line in ran.errors.lines() {
        assert!(line.starts_with("weir: sped:backlog=64 "), "{line}");
        assert!(line.chars().count() <= 200, "{line}");
    }
    let results = lab.results();
    assert_eq!(results.runs.len(), 1);
    // A point that is invalid may end the search for the capacity.
    let points = results.points.len();
    assert!(
        points > 1 || (points == 1 && ran.status == Some(UNPROVEN)),
        "{points}: {}",
        ran.errors
    );
    for point in &results.points {
        assert!(point.load.is_some() && point.vitals.is_some(), "{}", point.verdict);
        assert!(point.counters.contains_key("replies"), "{:?}", point.counters);
        assert!(point.ignored.is_empty(), "{:?}", point.ignored);
    }
    results.points.iter().for_each(adds_up);
    assert!(lab.page().contains("Not to be quoted: "), "{}", lab.page());
    is_page_whole(&lab, &results);
    is_drawn_again(&lab);
    assert!(!lab.has_scratch());
}

#[test]
fn a_run_is_asked_again() {
    let lab = Lab::new();
    // A closed loop looks for no capacity, which a busy machine may not let it find.
    let ran = lab.run(&[&["jaws97-protocol", "--subject", "sped"][..], &BRIEF].concat());
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let [once, first] = ["results", "first"].map(|name| lab.home().join(name));
    let again = |of: &Path, to: &str| {
        let dir = lab.home().join(to).display().to_string();
        let sites = sites().display().to_string();
        let mut command = weir(&["lab", "again", "--dir", &dir, "--sites", &sites]);
        ended(command.arg(of))
    };
    let refused = again(&once, "nowhere");
    assert_eq!(refused.status, Some(2), "{}", refused.errors);
    assert!(refused.errors.contains("nothing in it has repeats enough"), "{}", refused.errors);
    // As if one of its points had been measured three times, on a machine that has nothing to do.
    let results = lab.results();
    let point = results.points.last().expect("a point");
    fs::create_dir(&first).expect("a directory");
    let (mut log, _) = Log::open(&first).expect("a place");
    log.add(&Line::Run(Box::new(results.runs[0].clone()))).expect("a line");
    for repeat in 0..3 {
        let spec = Spec { repeat, ..point.spec.clone() };
        let good = Point { spec, verdict: Verdict::Good, attempt: 0, ..point.clone() };
        log.add(&Line::Point(Box::new(good))).expect("a line");
    }
    drop(log);
    let ran = again(&first, "second");
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let second = Results::read(&lab.home().join("second")).expect("lines of results");
    assert_eq!(second.runs[0].again_of.as_ref(), Some(&results.runs[0].run));
    assert_eq!(second.runs[0].setup, results.runs[0].setup);
    let asked = |point: &Point| (point.spec.key(), point.spec.repeat);
    let expected: Vec<_> = (0..3).map(|repeat| (point.spec.key(), repeat)).collect();
    assert_eq!(second.points.iter().map(asked).collect::<Vec<_>>(), expected);
    let page = fs::read_to_string(lab.home().join("second/index.md")).expect("a page");
    assert!(words(&page).contains("jaws97-protocol, done twice"), "{page}");
}

/// First what came out, and last where the page is.
fn is_answered(output: &str, dir: &Path) {
    let last = format!("\n\n{}\n", dir.join("index.html").display());
    assert!(output.ends_with(&last), "{output}");
    let page = words(&fs::read_to_string(dir.join("index.md")).expect("a page"));
    let answer = words(output.trim_end_matches(&last));
    assert!(answer.contains(" verification, ") && answer.contains(" not count"), "{answer}");
    assert!(page.contains(&answer), "{answer}: {page}");
}

/// No part of what a point cost is told twice, or as more than there was.
fn adds_up(point: &Point) {
    let (cost, load) = (point.cost, point.load.as_ref().expect("a load"));
    let parts = [cost.start_s, cost.warm_up_s, cost.load_s];
    let sum: f64 = parts.iter().sum();
    assert!(parts.iter().all(|part| *part >= 0.0) && sum <= cost.whole_s, "{cost:?}");
    let within_s = load.warm_up.as_secs_f64() + load.measured.as_secs_f64();
    assert!(within_s > 0.0 && within_s <= cost.load_s, "{within_s} s of {cost:?}");
    let beside_s = (metric::BESIDE.of)(point).expect("it had a load");
    assert!(beside_s >= cost.start_s, "{beside_s} s of {cost:?}");
}

/// Of the same results, elsewhere.
fn is_drawn_again(lab: &Lab) {
    let (page, other) = (lab.page(), lab.home().join("other"));
    let dir = lab.dir();
    let mut report = weir(&["lab", "report"]);
    let told = ended(report.arg(&dir).arg("--out").arg(&other));
    assert_eq!((told.status, told.errors.as_str()), (Some(0), ""));
    is_answered(&told.output, &other);
    let files = |dir: &Path| {
        let entries = fs::read_dir(dir).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.filter(|name| name != lab::results::FILE).collect();
        names.sort();
        names
    };
    assert_eq!(files(&dir), files(&other));
    assert_eq!(words(&fs::read_to_string(other.join("index.md")).expect("a page")), page);
}

/// Files that a reader looks for, and what he looks for in them.
fn is_page_whole(lab: &Lab, results: &Results) {
    let run = &results.runs[0];
    let page = lab.page();
    let html = words(&fs::read_to_string(lab.dir().join("index.html")).expect("a page"));
    let facts = [&run.machine, &run.versions].map(|facts| facts.iter());
    for (name, value) in facts.into_iter().flatten() {
        assert!(page.contains(&words(name)) && page.contains(&words(value)), "{name}: {page}");
    }
    let knob = "sped:backlog=64";
    let commands = [run.command.as_str(), "weir serve SITE", "--backlog=64", "weir load http://"];
    for text in [knob].into_iter().chain(commands) {
        assert!(page.contains(text), "{text}: {page}");
        assert!(html.contains(text), "{text}: {html}");
    }
    let file = |name: &str| fs::read(lab.dir().join(name)).expect("a figure");
    let svg = String::from_utf8(file("step-goodput.svg")).expect("text");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(page.contains("(step-goodput.svg)"), "{page}");
    let cells = fs::read_to_string(lab.dir().join("cells.jsonl")).expect("cells");
    let known = Known::of(&results.points);
    assert_eq!(cells.lines().count(), known.all().len());
    for (line, cell) in cells.lines().zip(known.all()) {
        let told: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!(told["spec"]["subject"], "sped:backlog=64");
        assert_eq!(told["invalid"], cell.invalid.len(), "{line}");
        let beside = &told["metrics"]["spent beside what is measured, s"];
        assert_eq!(beside.is_array(), cell.points().next().is_some(), "{line}");
    }
}

/// One point by itself, of so many requests a second.
pub(super) fn alone(subject: &str, workload: &str, rate: &str, seconds: f64) -> Spec {
    Spec {
        experiment: String::from("alone"),
        stage: String::from("alone"),
        subject: super::subject(subject),
        load: Load {
            workload: workload.into(),
            seconds,
            warm_up: WarmUp::Fixed(0.0),
            flags: BTreeMap::from([(String::from("rate"), rate.into())]),
            idle_connections: 0,
            beside: None,
        },
        layout: Layout { is_loopback: true, ..Layout::default() },
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    }
}

pub(super) fn point(spec: &Spec) -> Point {
    let lab = Lab::new();
    let mut bench =
        Bench::new(super::executable(), "of a test", &sites(), &lab.home().join("scratch"));
    bench.as_mut().expect("a place").measure(std::slice::from_ref(spec), 0).expect("a point")
}

/// A loop is blocked by the first read of each file, which the kernel counts. What the server
/// counts of that (`what_a_disk_has_held_up_is_told`) is less, the busier the machine is.
#[test]
fn a_slow_disk_is_slow_while_it_is_measured() {
    const TRIES_MAX: usize = 3;
    let mut spec = alone("sped:small-file-kb=0", "webstone", "50", 1.5);
    spec.layout.disk = Some(Disk { delay_us: 20_000, arm: None });
    if !super::machine::has(&[Need::Root, Need::Disk]) {
        return;
    }
    let waits_us = |of: &Point| of.vitals.as_ref()?.server.processes.disk_waits_us;
    let replies = |of: &Point| of.load.as_ref().map_or(0, |load| load.flow.replies);
    // The kernel now and then takes a wait for as long as the machine is up: then it is not told.
    // On a busy machine not one reply may come in the measured time.
    let tells = |of: &Point| waits_us(of).is_some() && replies(of) > 0;
    let mut points: Vec<Point> = Vec::new();
    while points.len() < TRIES_MAX && !points.last().is_some_and(tells) {
        points.push(point(&spec));
    }
    let point = points.pop().expect("one was measured");
    let told = &point.testbed["reads from the disk"];
    assert!(told.contains("reads answered late (delay-us=20000)"), "{told}");
    assert!(!told.starts_with("0 "), "{told}; {} replies", replies(&point));
    match waits_us(&point) {
        Some(waits_us) => assert!(waits_us >= 20_000, "{waits_us} {told}"),
        None => harness::skip("needs a kernel that counts waits for the disk"),
    }
}

/// On a loopback both ends of each are seen.
#[test]
fn idle_connections_are_there_when_the_load_begins() {
    const IDLE: u32 = 250;
    let mut spec = alone("sped", "one-packet", "50", 0.2);
    spec.load.idle_connections = IDLE;
    let queues = point(&spec).vitals.expect("vitals").queues;
    assert!(queues.open >= 2 * u64::from(IDLE), "{queues:?}");
}

/// From before the measured time until its end, and of files of its own.
#[test]
fn a_second_load_runs_beside_the_first() {
    for (target, clients) in [(None, "2"), (Some("/webstone/file500.html"), "3")] {
        // Long enough for several replies, and patient enough for each, on a slow machine.
        let mut spec = alone("sped", "one-packet", "50", 3.0);
        let flags = [("clients", clients), ("patience", "60")];
        spec.load.beside = Some(Beside {
            workload: String::from("webstone"),
            target: target.map(String::from),
            flags: flags.map(|(name, value)| (name.into(), value.into())).into(),
            begins_s: 0.2,
        });
        let point = point(&spec);
        let second = point.beside.expect("a second load");
        assert!(second.flow.goodput > 0 && second.flow.failed == 0, "{target:?} {second:?}");
        assert_eq!(second.measured, point.load.expect("a load").measured, "{target:?}");
        let command = point.commands.beside;
        assert_eq!(command.contains("wsesslog:SCRATCH/"), target.is_some(), "{command}");
    }
}

/// At the maximum nobody goes for another where figures stand beside a paper's; who asks for the
/// best server of his own has it as he will run it.
#[test]
fn servers_are_as_in_the_papers_where_a_paper_is_followed() {
    let rows = [("jaws97-threads", true), ("ablation", true), ("tune", false), ("step", false)];
    for (experiment, is_off) in rows {
        let spec = Spec { experiment: experiment.into(), ..alone("sped", "one-packet", "50", 0.2) };
        let command = point(&spec).commands.server;
        assert_eq!(command.contains(" --make-room=off"), is_off, "{experiment}: {command}");
    }
}
