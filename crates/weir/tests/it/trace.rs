//! Proof that a name is true, from inside: with `--trace` the server tells which process and thread
//! performed each step of a request. That is compared with the registry's row, and with /proc.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use os::process::{Pid, share_descriptors};
use serde_json::Value;

use crate::support::chosen::{on_every, on_every_poller};
use crate::support::combination::{Combination, Program, STEPS};
use crate::support::fixture::{Fixture, pattern, write};
use crate::support::metrics::counted;
use crate::support::processes::{descendants, threads, workers_of};
use crate::support::server::Server;
use crate::support::slow::{SlowFiles, lacks_slow_files};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_lines, await_some, await_true};

#[test]
fn each_step_is_performed_by_whom_the_registry_names() {
    if lacks_slow_files() {
        return;
    }
    on_every_poller(Program::Weir, |combination| drop(expect_performed(combination, &[])));
}

/// One fiber accepts, and each connection has another one.
#[test]
fn where_one_fiber_accepts_others_perform() {
    if lacks_slow_files() {
        return;
    }
    on_every(Program::Weir, |combination| {
        let flags = ["--acceptor", "on"];
        if combination.takes(&flags) {
            let lines = expect_performed(combination, &flags);
            let of = |line: &Value, is_accept: bool| -> HashSet<u64> {
                let steps = line["steps"].as_object().expect("steps").iter();
                let steps = steps.filter(|(step, _)| (*step == "accept") == is_accept);
                steps.filter_map(|(_, who)| who["fiber"].as_u64()).collect()
            };
            let all = |is_accept| -> HashSet<u64> {
                lines.iter().flat_map(|line| of(line, is_accept)).collect()
            };
            assert_eq!(all(true).len(), 1, "{combination}: one accepts, {lines:?}");
            assert!(all(true).is_disjoint(&all(false)), "{combination}: and does nothing else");
        }
    });
}

fn expect_performed(combination: &Combination, flags: &[&str]) -> Vec<Value> {
    let site = Fixture::new();
    // Not in the page cache: pages are what somebody has to wait for.
    let slow = SlowFiles::mount(&site.root().join("slow"));
    slow.release();
    let file = site.beside("trace");
    let path = file.to_str().expect("UTF-8");
    // Otherwise an answer may be too old on a slow machine, and the thread that finds it compares
    // it with the disk.
    let flags = [flags, &["--trace", path, "--answer-age-ms", "3600000"]].concat();
    let server = combination.start(&site.root(), &flags);
    let workers = begun(combination, &server);
    let mut wires = [server.connect(), server.connect()];
    for wire in &mut wires {
        for target in ["/digits.txt", "/digits.txt", "/slow/a.bin", "/missing"] {
            wire.get(target, "").expect("sent");
            wire.reply(false).expect("answered");
        }
    }
    let lines = lines(&file, 8);
    for line in &lines {
        judge_steps(combination, &server, line);
    }
    judge_needed(combination, &lines);
    judge_threads(combination, &workers, &lines, &wires);
    // The connections are open until here, so that each holds its thread.
    drop(wires);
    server.stop();
    lines
}

/// What is in memory of a large file need not leave as heads and small files do.
#[test]
fn parts_of_files_are_sent_by_whom_the_registry_names() {
    let large = pattern(256 << 10);
    on_every(Program::Weir, |combination| {
        let site = Fixture::small();
        write(&site.root().join("large.bin"), &large);
        let file = site.beside("trace");
        let server = combination.start(&site.root(), &["--trace", file.to_str().expect("UTF-8")]);
        let mut wire = server.connect();
        wire.get("/large.bin", "").expect("sent");
        wire.reply(false).expect("answered");
        let sent_by = &lines(&file, 1)[0]["steps"]["send"]["by"];
        assert_eq!(*sent_by, combination.row["files"], "{combination}");
        server.stop();
    });
}

/// A directory is read, and its page written, by whoever asks the disk for names: it may be large.
#[test]
fn listings_are_made_by_whom_the_registry_names() {
    on_every(Program::Weir, |combination| {
        let site = Fixture::new();
        let file = site.beside("trace");
        let trace = ["--listing", "--trace", file.to_str().expect("UTF-8")];
        let server = combination.start(&site.root(), &trace);
        let mut wire = server.connect();
        wire.get("/types/", "").expect("sent");
        let (_, page) = wire.reply(false).expect("answered");
        assert!(String::from_utf8_lossy(&page).contains("font.woff2"), "{combination}");
        let line = &lines(&file, 1)[0];
        assert_eq!(line["steps"]["path"]["by"], combination.row["path"], "{combination}: {line}");
        server.stop();
    });
}

/// The paper's ways have workers send all parts of files (Pariag07 4.3).
#[test]
fn where_fibers_do_not_look_workers_send() {
    let large = pattern(256 << 10);
    on_every(Program::Weir, |combination| {
        if combination.row["holder"] != "fiber" {
            return;
        }
        for how in ["nonblocking", "blocking"] {
            let site = Fixture::small();
            write(&site.root().join("large.bin"), &large);
            let file = site.beside("trace");
            let trace = ["--trace", file.to_str().expect("UTF-8")];
            let flags = [&["--sendfile", how], &trace[..]].concat();
            let server = combination.start(&site.root(), &flags);
            let mut wire = server.connect();
            wire.get("/large.bin", "").expect("sent");
            wire.reply(false).expect("answered");
            let sent_by = &lines(&file, 1)[0]["steps"]["send"]["by"];
            assert_eq!(*sent_by, "worker", "{combination}: {how}");
            server.stop();
        }
    });
}

/// Loops of one process have a thread each, which performs all that its connections want; together
/// they are one worker that has started once.
#[test]
fn each_of_several_loops_performs_for_its_own_connections() {
    on_every(Program::Weir, |combination| {
        let several = ["--threads", "3"];
        if combination.row["holder"] != "loop" || !combination.takes(&several) {
            return;
        }
        let site = Fixture::small();
        let file = site.beside("trace");
        let path = file.to_str().expect("UTF-8");
        let flags = [&several[..], &["--trace", path, "--admin", "127.0.0.1:0"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let mut wires = [(); 6].map(|()| server.connect());
        for target in ["/digits.txt", "/missing"] {
            for (n, wire) in wires.iter_mut().enumerate() {
                wire.get(&format!("{target}?{n}"), "").expect("sent");
                wire.reply(false).expect("answered");
            }
        }
        let lines = lines(&file, 12);
        let [worker] = workers_of(server.pid())[..] else {
            panic!("{combination}: not one worker")
        };
        let loops = || {
            let loops = threads(worker).into_iter().filter(|(_, name)| name == "weir-loop");
            let loops: HashSet<u64> = loops.map(|(tid, _)| tid.into()).collect();
            // A thread that a loop has just started has the loop's name until it has its own.
            Some(loops).filter(|loops| loops.len() == 3)
        };
        let loops = await_some(PATIENCE, loops).unwrap_or_else(|| panic!("{combination}: not 3"));
        for n in 0..wires.len() {
            let is_its = |line: &&Value| {
                line["request"].as_str().is_some_and(|said| said.contains(&format!("?{n} ")))
            };
            let its: Vec<&Value> = lines.iter().filter(is_its).collect();
            assert_eq!(its.len(), 2, "{combination}: {lines:?}");
            its.iter().for_each(|line| judge_steps(combination, &server, line));
            let steps = its.iter().flat_map(|line| line["steps"].as_object().expect("steps"));
            let of_loop = steps.filter(|(_, who)| who["by"] != "helper");
            let tids: HashSet<u64> = of_loop.filter_map(|(_, who)| who["tid"].as_u64()).collect();
            assert!(tids.len() == 1 && tids.is_subset(&loops), "{combination}: {tids:?} {its:?}");
        }
        assert_eq!(counted(admin, "started"), 1.0, "{combination}: not one worker");
        drop(wires);
        server.stop();
    });
}

/// The workers, once all of them serve: where each has one connection, who is alone has no other to
/// go to.
fn begun(combination: &Combination, server: &Server) -> Vec<u32> {
    let count = combination.row["workers"].as_u64().expect("a number of workers") as usize;
    let begun = |pid: &u32| match combination.row["holder"].as_str() {
        Some("loop") => named(*pid, "weir-loop") == 1,
        Some("thread") if combination.row["accept"] == "acceptor" => {
            named(*pid, "weir-acceptor") == 1
        }
        Some("thread") => named(*pid, "weir-pool") == 1,
        Some("fiber") => named(*pid, "weir-fiber") == 1,
        Some("stages") => named(*pid, "weir-acceptor") == 1,
        _ => named(*pid, "weir-process") == 1,
    };
    let are_all = |all: &Vec<u32>| all.len() >= count && all.iter().all(begun);
    let all = || Some(workers_of(server.pid())).filter(are_all);
    let workers = await_some(PATIENCE, all).expect("workers");
    assert_eq!(workers.len(), count, "{combination}: unless others are asked for");
    workers
}

/// How many threads of a process have that name.
fn named(pid: u32, name: &str) -> usize {
    threads(pid).iter().filter(|(_, this)| this.as_str() == name).count()
}

/// The trace, once it has as many lines as there were requests.
fn lines(file: &Path, count: usize) -> Vec<Value> {
    let text = await_lines(file, count);
    assert_eq!(text.lines().count(), count, "{text}");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Everything that a line says is so: by the registry, and by /proc.
fn judge_steps(combination: &Combination, server: &Server, line: &Value) {
    let workers = descendants(server.pid());
    let steps = line["steps"].as_object().expect("steps");
    for (step, who) in steps {
        let by = who["by"].as_str().expect("by whom");
        let pid = u32::try_from(who["pid"].as_u64().expect("a process")).expect("32 bits");
        let tid = u32::try_from(who["tid"].as_u64().expect("a thread")).expect("32 bits");
        let name = who["thread"].as_str().expect("a thread's name");
        if let Some(row) = combination.row.get(step) {
            // Only waiting is handed over: what a helper has already read is sent at once.
            // Parts of files may be another's to send, or, of fibers, his who has waited for pages.
            let is_fiber = combination.row["holder"] == "fiber";
            let has_waited = is_fiber && steps.get("pages").is_some_and(|pages| pages["by"] == by);
            let is_file = step == "send" && (combination.row["files"] == by || has_waited);
            assert!(row == by || is_file, "{combination}: {step} in {line}");
        }
        assert!(workers.contains(&pid), "{combination}: {pid} is no worker, {line}");
        let threads = threads(pid);
        assert!(threads.contains(&(tid, name.to_owned())), "{combination}: {threads:?}, {line}");
        // A ring has no thread of its own: the loop's submits.
        let is = if by == "ring" { "loop" } else { by };
        assert_eq!(name, format!("weir-{is}"), "{combination}: {step} in {line}");
    }
}

/// Every step that the registry names occurs, and none where it is not needed.
fn judge_needed(combination: &Combination, lines: &[Value]) {
    for step in STEPS {
        let occurs = lines.iter().any(|line| line["steps"].get(step).is_some());
        assert!(occurs, "{combination}: no {step} in {lines:?}");
    }
    for line in lines {
        for step in ["accept", "receive", "find", "send"] {
            assert!(line["steps"].get(step).is_some(), "{combination}: no {step} in {line}");
        }
    }
    let second = &lines[1]["steps"];
    assert!(second.get("path").is_none(), "{combination}: what is cached needs no path, {second}");
    assert!(second.get("pages").is_none(), "{combination}: nor pages, {second}");
}

/// The threads there are, and how the two connections are spread over them. A thread that was just
/// started has the name of the one that started it, until it has its own.
fn judge_threads(combination: &Combination, workers: &[u32], lines: &[Value], _: &[Wire; 2]) {
    judge_tables(combination, workers);
    let has_helpers = combination.has("helper");
    let all = by_process(lines);
    if combination.row["holder"] == "process" {
        assert_eq!(all.len(), 2, "{combination}: a process for each connection");
    }
    for (pid, tids) in all {
        let of = |by: &str| tids.get(by).cloned().unwrap_or_default();
        match combination.row["holder"].as_str() {
            Some("thread") => {
                assert_eq!(of("thread").len(), 2, "{combination}: a thread for each connection");
                assert!(named(pid, "weir-thread") >= 2, "{combination}");
                assert_eq!(named(pid, "weir-loop"), 0, "{combination}: a loop among threads");
            }
            Some("process") => {
                assert_eq!(of("process").len(), 1, "{combination}: of {pid}");
                assert_eq!(threads(pid).len(), 1, "{combination}: threads beside a process");
            }
            Some("fiber") => {
                assert_eq!(of("fiber").len(), 1, "{combination}: of {pid}");
                let is_one = || named(pid, "weir-fiber") == 1;
                assert!(await_true(PATIENCE, is_one), "{combination}: one thread for all");
                assert_eq!(named(pid, "weir-thread"), 0, "{combination}: threads beside fibers");
                judge_fibers(combination, lines);
            }
            Some("stages") => {
                for by in ["acceptor", combination.row["receive"].as_str().expect("a name")] {
                    assert_eq!(of(by).len(), 1, "{combination}: one {by} for all connections");
                }
                let all: Vec<u64> = tids.values().flatten().copied().collect();
                let different: HashSet<u64> = all.iter().copied().collect();
                assert_eq!(all.len(), different.len(), "{combination}: a thread of two stages");
                assert_eq!(named(pid, "weir-loop"), 0, "{combination}: a loop among stages");
                assert_eq!(named(pid, "weir-thread"), 0, "{combination}: threads beside stages");
            }
            _ => {
                assert_eq!(of("loop").union(&of("ring")).count(), 1, "{combination}: of {pid}");
                let is_one = || named(pid, "weir-loop") == 1;
                assert!(await_true(PATIENCE, is_one), "{combination}: one loop");
                assert_eq!(named(pid, "weir-thread"), 0, "{combination}: threads beside a loop");
            }
        }
        let is_right = || (named(pid, "weir-helper") > 0) == has_helpers;
        assert!(await_true(PATIENCE, is_right), "{combination}: helpers");
        let has_workers = combination.has("worker");
        let is_right = || (named(pid, "weir-worker") > 0) == has_workers;
        assert!(await_true(PATIENCE, is_right), "{combination}: workers");
        assert!(of("helper").is_disjoint(&of("loop")), "{combination}: a helper that loops");
    }
}

/// Each connection has a fiber of its own, which performs all that no worker does; another one may
/// have accepted it.
fn judge_fibers(combination: &Combination, lines: &[Value]) {
    let of = |line: &Value| -> HashSet<u64> {
        let steps = line["steps"].as_object().expect("steps").iter();
        let fibers = steps.filter(|(step, who)| *step != "accept" && who["by"] == "fiber");
        fibers.filter_map(|(_, who)| who["fiber"].as_u64()).collect()
    };
    let [first, second] = [&lines[0], &lines[lines.len() - 1]].map(of);
    assert!(first.is_disjoint(&second), "{combination}: {first:?} for both, {lines:?}");
}

/// Of each process that has performed something its threads, by whom they are.
fn by_process(lines: &[Value]) -> BTreeMap<u32, BTreeMap<String, HashSet<u64>>> {
    let mut all: BTreeMap<u32, BTreeMap<String, HashSet<u64>>> = BTreeMap::new();
    for who in lines.iter().flat_map(|line| line["steps"].as_object().expect("steps").values()) {
        let pid = u32::try_from(who["pid"].as_u64().expect("a process")).expect("32 bits");
        let by = String::from(who["by"].as_str().expect("by whom"));
        let tid = who["tid"].as_u64().expect("a thread");
        all.entry(pid).or_default().entry(by).or_default().insert(tid);
    }
    all
}

/// Workers have tables of descriptors of their own, unless the registry says that they are kept.
fn judge_tables(combination: &Combination, workers: &[u32]) {
    let holder = combination.row["holder"].as_str();
    assert!(
        matches!(holder, Some("loop" | "thread" | "process" | "fiber" | "stages")),
        "{combination}: {holder:?}"
    );
    for pair in workers.windows(2) {
        let pids = [pair[0], pair[1]].map(|pid| Pid::new(pid).expect("a process"));
        match share_descriptors(pids[0], pids[1]) {
            Ok(shared) => {
                let kept = combination.row["kept"] == true;
                assert_eq!(shared, kept, "{combination}: {pair:?} and one table");
            }
            Err(error) => harness::skip(format!("needs kcmp: {error}")),
        }
    }
}
