//! Runs that are stopped, killed and taken up again: what is known is kept, and nothing else is
//! left.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::machine::{HOSTS, has};
use lab::results::{FILE, Results};
use lab::spec::Spec;
use lab::testbed::Need;
use rustix::process::Signal;

use super::runs::{BRIEF, Ended, Lab, double, ended, weir};
use crate::load::UNPROVEN;
use crate::support::command::{copy_program, write_program};
use crate::support::processes::{children, is_there};
use crate::support::server::send;
use crate::support::{PATIENCE, at_some_scale, await_some, await_true};

/// As ^C ends a program in a shell.
const STOPPED: i32 = 130;

/// Points that nobody waits for.
const LONG: [&str; 7] = ["--seconds", "3600", "--anyway", "--warm-up", "0", "--repeats", "1"];

#[test]
fn a_run_that_is_stopped_goes_on_where_it_was() {
    let arguments = [&["step", "--subject", "sped"][..], &BRIEF].concat();
    let stopped_midway = || {
        let lab = Lab::new();
        let mut first = Started::new(&lab, lab.command(&arguments));
        first.await_points(1);
        send(first.child.id(), Signal::INT);
        let stopped = first.end();
        // On a busy machine the run may be over before the signal comes.
        (!matches!(stopped.status, Some(0 | 1 | UNPROVEN))).then_some((lab, stopped))
    };
    let (lab, stopped) = await_some(PATIENCE, stopped_midway).expect("a run that is stopped");
    assert_eq!(stopped.status, Some(STOPPED), "{}", stopped.errors);
    let told = "weir: stopped; what was measured is kept";
    assert_eq!(stopped.errors.lines().last(), Some(told), "{}", stopped.errors);
    assert!(lab.page().contains("Measured from"));
    let (whole, how) = ("Not finished: ", "To go on: weir lab run ");
    assert!(lab.page().contains(whole) && lab.page().contains(how), "{}", lab.page());
    let before = lab.results();
    assert!(!before.points.is_empty() && !lab.has_scratch());
    others_are_refused(&lab, &before);
    // Broken off within a line, as by a machine that lost its power.
    let mut file = OpenOptions::new().append(true).open(lab.dir().join(FILE)).expect("results");
    file.write_all("{\"line\":\"point\",\"schema\":1,\"run\":\"µ".as_bytes()).expect("a piece");
    drop(file);
    let went_on = lab.run(&arguments);
    assert!(
        matches!(went_on.status, Some(0 | 1 | UNPROVEN)),
        "{:?}: {}",
        went_on.status,
        went_on.errors
    );
    assert!(!lab.page().contains(whole));
    let after = lab.results();
    assert_eq!((before.runs.len(), after.runs.len()), (1, 2));
    assert_eq!(after.points[..before.points.len()], before.points);
    let asked: Vec<_> = after.points.iter().map(|of| (of.spec.key(), of.spec.repeat)).collect();
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "measured twice");
    // And now there is nothing left to do.
    let again = lab.run(&arguments);
    assert_eq!((again.status, again.errors.as_str()), (went_on.status, ""));
    assert_eq!(lab.results().points, after.points);
}

/// The same of one that is simulated; what it says for programs is of what there is.
#[test]
fn a_sweep_that_is_stopped_goes_on_where_it_was() {
    let lab = Lab::new();
    let json = lab.home().join("all.json");
    let mut before = Vec::new();
    for start in 1..=2 {
        let mut sweep = weir(&["sim", "sweep", "choi05", "--seed", "3"]);
        sweep.args(BRIEF).args(lab.places()).arg("--json").arg(&json);
        let mut started = Started::new(&lab, sweep);
        started.await_points(before.len() + 1);
        send(started.child.id(), Signal::INT);
        let stopped = started.end();
        assert_eq!(stopped.status, Some(STOPPED), "{}", stopped.errors);
        let how = "To go on: weir sim sweep choi05 --seed 3 ";
        assert!(lab.page().contains("Simulated from") && lab.page().contains(how));
        let results = lab.results();
        assert_eq!(results.runs.len(), start);
        assert!(results.points.len() > before.len());
        assert_eq!(results.points[..before.len()], before, "what was done is kept");
        before = results.points;
    }
    let asked: BTreeSet<_> = before.iter().map(|of| (of.spec.key(), of.spec.repeat)).collect();
    assert_eq!(asked.len(), before.len(), "simulated twice");
    let has_seed = |spec: &Spec| spec.is_simulated() && spec.load.flags["seed"] == "3";
    assert!(before.iter().all(|point| has_seed(&point.spec)));
    let text = fs::read_to_string(json).expect("a file");
    let told: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&told["schema"], &told["simulated"]), (&1.into(), &true.into()));
    assert_eq!(told["cells"][0]["is_simulated"], true);
    let claims = told["sections"][0]["claims"].as_array().expect("claims");
    let of_all = |claim: &serde_json::Value| claim["agrees"].is_string();
    assert!(!claims.is_empty() && claims.iter().all(of_all), "{text}");
}

/// Gigabytes are heard through, so that nobody has to wait for all of them.
#[test]
fn a_stop_is_heard_while_a_site_is_made() {
    let lab = Lab::new();
    let mut command = weir(&["lab", "run", "pariag07-processes", "--paper", "--loopback"]);
    command.args(["--anyway", "--subject", "sped"]).args(lab.own_places());
    let mut making = Started::new(&lab, command);
    let site = lab.home().join("sites");
    let made = || fs::read_dir(&site).is_ok_and(|mut all| all.next().is_some());
    assert!(await_true(PATIENCE, made), "no site: {}", making.said());
    send(making.child.id(), Signal::INT);
    assert_eq!(making.end().status, Some(STOPPED));
    let files = files_in(&site);
    // Of 680 directories with 36 each.
    assert!((1..24_480).contains(&files), "{files}");
    assert!(lab.results().points.is_empty() && !lab.has_scratch());
}

fn files_in(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    entries.map(|of| if of.path().is_dir() { files_in(&of.path()) } else { 1 }).sum()
}

/// Of the same directory.
fn others_are_refused(lab: &Lab, before: &Results) {
    let rows: [&[&str]; 3] = [
        &["step", "--subject", "mt"],
        &["step", "--subject", "sped", "--attempts", "2"],
        &["capacity", "--subject", "sped"],
    ];
    for arguments in rows {
        let refused = lab.run(&[&BRIEF[..], arguments].concat());
        let told = format!(
            "weir: {}: its results are of other experiments or other choices; take another --dir\n",
            lab.dir().display()
        );
        assert_eq!((refused.status, refused.errors), (Some(2), told), "{arguments:?}");
    }
    assert_eq!(lab.results(), *before);
}

/// Servers and loads are started from the program that began, also when its file is replaced.
#[test]
fn a_run_is_of_one_build() {
    let (lab, arguments) = (Lab::new(), [&["step", "--subject", "sped"][..], &BRIEF].concat());
    let (program, other) = (lab.home().join("weir"), lab.home().join("other"));
    copy_program(super::executable(), &program);
    // By a byte that nothing reads.
    let longer = [fs::read(&program).expect("a program"), vec![0]].concat();
    write_program(&other, longer);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["lab", "run"]).args(arguments).arg("--loopback").args(lab.places());
        command
    };
    let mut first = Started::new(&lab, run(&arguments));
    first.await_points(1);
    fs::rename(&other, &program).expect("installed");
    let replaced = first.end();
    assert!(matches!(replaced.status, Some(0 | 1 | UNPROVEN)), "{}", replaced.errors);
    assert!(lab.page().contains("Measured from") && !lab.has_scratch());
    let before = lab.results();
    let refused = ended(&mut run(&arguments));
    assert_eq!(refused.status, Some(2), "{}", refused.errors);
    assert!(refused.errors.contains("by another build of this program"), "{}", refused.errors);
    assert_eq!(lab.results(), before);
    let went_on = ended(run(&arguments).arg("--other-build"));
    assert!(
        matches!(went_on.status, Some(0 | 1 | UNPROVEN)),
        "{:?}: {}",
        went_on.status,
        went_on.errors
    );
    assert!(lab.page().contains("Measured by 2 builds of Weir"), "{}", lab.page());
    // Both have been let in.
    let again = ended(&mut run(&arguments));
    assert_eq!(again.status, went_on.status, "{}", again.errors);
    let ran = lab.run(&arguments);
    assert_eq!(ran.status, went_on.status, "{}", ran.errors);
}

#[test]
fn results_of_somebody_else_are_refused_with_their_line() {
    let rows = [
        ("not ours\n", "no line of results: "),
        ("{\"schema\":1,\"line\":\"run\"}\n", "an older weir has written it; take another --dir"),
        ("{\"schema\":3,\"line\":\"run\"}\n", "a newer weir has written it; take another --dir"),
    ];
    for (line, why) in rows {
        let lab = Lab::new();
        fs::create_dir(lab.dir()).expect("a directory");
        fs::write(lab.dir().join(FILE), line).expect("a file");
        let place = format!("weir: {}:1: ", lab.dir().join(FILE).display());
        let report = ended(weir(&["lab", "report"]).arg(lab.dir()));
        for refused in [lab.run(&["capacity"]), report] {
            assert_eq!(refused.status, Some(2), "{}", refused.errors);
            assert!(refused.errors.starts_with(&place), "{}", refused.errors);
            assert!(refused.errors.contains(why), "{}", refused.errors);
            assert_eq!(refused.errors.lines().count(), 1, "{}", refused.errors);
        }
        assert_eq!(fs::read_to_string(lab.dir().join(FILE)).expect("a file"), line);
    }
}

#[test]
fn a_second_one_is_not_let_into_the_same_directory() {
    let lab = Lab::new();
    let arguments = [&["capacity", "--subject", "sped"][..], &LONG].concat();
    let mut first = Started::new(&lab, lab.command(&arguments));
    first.await_load();
    let second = lab.run(&arguments);
    let told = "another weir lab adds to it; take another --dir\n";
    assert_eq!(second.status, Some(2));
    assert!(second.errors.ends_with(told), "{}", second.errors);
    // The first one does not notice.
    assert!(lab.has_scratch());
    send(first.child.id(), Signal::TERM);
    assert_eq!(first.end().status, Some(STOPPED));
    first.has_left_nobody();
}

#[test]
fn one_that_is_killed_leaves_no_process() {
    let lab = Lab::new();
    let arguments = [&["capacity", "--subject", "sped"][..], &LONG].concat();
    let mut killed = Started::new(&lab, lab.command(&arguments));
    killed.await_load();
    send(killed.child.id(), Signal::KILL);
    killed.end();
    killed.has_left_nobody();
}

/// In a session of their own, and their parent has ended: one beside the server, and the server.
#[test]
fn who_leaves_a_server_is_ended_with_it() {
    let right = double("right");
    let right = right.strip_prefix("command:exec ").expect("a line for a shell");
    for (leaves, stays) in [("exec sleep 1000", right), (right, "sleep 1000")] {
        let lab = Lab::new();
        let told = lab.home().join("pids");
        let note = format!("echo $$ >> {}", told.display());
        let line = format!("command:(setsid sh -c '{note}; {leaves}' &); exec {stays}");
        let ran = lab.run(&[&["step", "--subject", &line][..], &BRIEF].concat());
        assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
        assert!(lab.results().points.iter().all(|point| point.load.is_some()), "{}", ran.errors);
        let pids = fs::read_to_string(&told).expect("who left");
        let pids: Vec<u32> = pids.lines().map(|pid| pid.parse().expect("a number")).collect();
        assert_eq!(pids.len(), lab.results().points.len());
        assert!(!pids.iter().any(|pid| is_there(*pid)), "of {pids:?} some are left");
    }
}

#[test]
fn hosts_are_gone_when_a_run_ends() {
    if !has_hosts() {
        return;
    }
    // A server on a busy machine may not run at all within a short time.
    at_some_scale(check_a_whole_run);
    let lab = Lab::new();
    let mut stopped = Started::new(&lab, on_hosts(&lab, &LONG));
    stopped.await_load();
    let id = stopped.child.id();
    // Groups of both versions, where there are both.
    assert!(matches!(places(id).len(), 3 | 4), "two namespaces and groups: {:?}", places(id));
    // As when its terminal is closed; under nohup neither of both minds that.
    send(id, if os::Signals::is_ignored(os::Signal::Hup) { Signal::INT } else { Signal::HUP });
    assert_eq!(stopped.end().status, Some(STOPPED));
    stopped.has_left_nobody();
    assert!(places(id).is_empty() && !lab.has_scratch());
    assert!(lab.page().contains("Measured from"));
}

#[test]
fn hosts_of_a_run_that_was_killed_are_removed_by_the_next() {
    if !has_hosts() {
        return;
    }
    let lab = Lab::new();
    let mut killed = Started::new(&lab, on_hosts(&lab, &LONG));
    killed.await_load();
    let id = killed.child.id();
    let its = places(id);
    send(id, Signal::KILL);
    killed.end();
    killed.has_left_nobody();
    println!("nobody was there to remove {its:?}");
    let mut next = Started::new(&lab, on_hosts(&lab, &LONG));
    next.await_load();
    assert!(matches!(its.len(), 3 | 4) && places(id).is_empty(), "{its:?}: {:?}", places(id));
    send(next.child.id(), Signal::INT);
    assert_eq!(next.end().status, Some(STOPPED));
    assert!(places(next.child.id()).is_empty() && !lab.has_scratch());
}

/// As in a container whose root may not have everything.
#[test]
fn a_client_that_may_not_be_first_is_told() {
    if !has_hosts() || harness::lacks(&[harness::Need::Program("setpriv")]) {
        return;
    }
    const FACT: &str = "client's priority";
    let lab = Lab::new();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]).arg(super::executable());
    command.args(["lab", "run", "capacity", "--subject", "sped", "--quota", "50"]);
    let ran = ended(command.args(BRIEF).args(lab.places()));
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let told = "that of all tasks, as SCHED_FIFO is refused (Operation not permitted";
    let results = lab.results();
    assert!(!results.points.is_empty());
    for point in &results.points {
        assert!(point.testbed[FACT].starts_with(told), "{:?}", point.testbed);
        assert!(point.load.is_some(), "{}", point.verdict);
    }
    assert!(lab.page().contains(FACT) && lab.page().contains(told), "{}", lab.page());
}

fn on_hosts(lab: &Lab, how_long: &[&str]) -> Command {
    let mut command = weir(&["lab", "run", "step", "--subject", "sped", "--quota", "50"]);
    command.args(how_long).args(lab.places());
    command
}

fn check_a_whole_run(scale: u32) {
    let lab = Lab::new();
    let seconds = (0.2 * f64::from(scale)).to_string();
    let how_long = [&["--seconds", &seconds], &BRIEF[2..]].concat();
    let mut whole = Started::new(&lab, on_hosts(&lab, &how_long));
    let id = whole.child.id();
    let ended = whole.end();
    assert!(matches!(ended.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ended.status, ended.errors);
    let point = &lab.results().points[0];
    assert_eq!(point.testbed["hosts"], "network namespaces, joined by veth");
    assert!(point.load.is_some() && point.vitals.is_some(), "{}", point.verdict);
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("what is mounted");
    if mounts.contains(" - cgroup2 ") {
        // Less than a tick of each process is seen as well.
        let used = point.vitals.as_ref().map(|vitals| &vitals.server.processes);
        assert!(used.is_some_and(|of| of.user_us + of.system_us > 0), "{used:?}");
    }
    assert!(places(id).is_empty() && !lab.has_scratch());
}

/// Whether two hosts and a quota can be had here. If not, records that the calling test is skipped.
#[track_caller]
fn has_hosts() -> bool {
    has(&HOSTS) && has(&[Need::Quota])
}

/// Namespaces and control groups of a lab, by its process.
fn places(of: u32) -> Vec<PathBuf> {
    let groups = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    let groups = groups.map(|entry| entry.path()).filter(|path| path.is_dir());
    let is_its = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("weir-lab-") && name.split('-').nth(3) == Some(&of.to_string())
    };
    let mut found = Vec::new();
    for place in groups.chain(["/sys/fs/cgroup".into(), "/run/netns".into()]) {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(is_its));
    }
    // One directory may go by several names.
    found.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    found.dedup_by_key(|path| fs::metadata(path).map(|is| (is.dev(), is.ino())).ok());
    found
}

/// A lab that runs; killed when dropped before it has ended.
struct Started {
    child: Child,
    dir: PathBuf,
    errors: PathBuf,
    /// All that it has started, when it was last looked at.
    family: Vec<u32>,
}

impl Started {
    fn new(lab: &Lab, mut command: Command) -> Self {
        let errors = lab.home().join("errors");
        let into = File::create(&errors).expect("a file");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(into);
        let child = command.spawn().expect("it starts");
        Self { child, dir: lab.dir(), errors, family: Vec::new() }
    }

    fn await_points(&self, count: usize) {
        let there = || Results::read(&self.dir).expect("lines of results").points.len() >= count;
        assert!(await_true(PATIENCE, there), "no points: {}", self.said());
    }

    /// Until a server is asked.
    fn await_load(&mut self) {
        let asked = || {
            let line = |pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_load = |pid| line(pid).windows(11).any(|part| part == b"load\0http:/");
            children(self.child.id()).into_iter().any(is_load)
        };
        assert!(await_true(PATIENCE, asked), "no load: {}", self.said());
        let mut family = children(self.child.id());
        let mut at = 0;
        while at < family.len() {
            family.extend(children(family[at]));
            at += 1;
        }
        assert!(family.len() >= 3, "a server, its worker and a load: {family:?}");
        self.family = family;
    }

    fn has_left_nobody(&self) {
        let is_gone = || !self.family.iter().any(|pid| is_there(*pid));
        assert!(await_true(PATIENCE, is_gone), "of {:?} some are left", self.family);
    }

    fn end(&mut self) -> Ended {
        let status = await_some(PATIENCE, || self.child.try_wait().expect("a child"));
        let status = status.unwrap_or_else(|| panic!("it does not end: {}", self.said()));
        Ended { status: status.code(), output: String::new(), errors: self.said() }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.errors).expect("what it said")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
