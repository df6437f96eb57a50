//! Workers that share a cache and a table of descriptors: what a death in the midst of either
//! leaves behind, and what the end of their keeper does.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::chosen::on_every_architecture;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::load::{Counts, Load, PAUSE};
use crate::support::processes::{children, descriptors, is_there, stands_still, workers_of};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

/// Every answer is compared with the disk, so that a file that has changed is a new one; two that
/// are too large to be kept in memory are kept open.
const FLAGS: &[&str] = &["--processes", "2", "--answer-age-ms", "0", "--restart-wait-max-ms", "1"];

/// Kills at each place.
fn kills() -> usize {
    if harness::is_full() { 100 } else { 20 }
}

/// A file that was changed before that is known by its times.
const SETTLED: Duration = Duration::from_secs(3);
/// Of the load, each with one connection at a time.
const CLIENTS: usize = 4;

/// Places at which workers die here. Nobody is woken for the lock by order.
const PLACES: [&str; 11] = [
    "made",
    "cleared",
    "closed",
    "unlocked",
    "locked",
    "copied",
    "given",
    "published",
    "lent",
    "retired",
    "swept",
];

/// By one poller: none of this is told by how a loop waits.
fn is_kept(combination: &Combination) -> bool {
    let is_usual = combination.poller.as_deref() == Some("epoll");
    combination.row["kept"] == true && is_usual && cfg!(debug_assertions)
}

fn start(combination: &Combination, site: &Fixture, stop: &str) -> Server {
    let mut command = combination.command(&site.root(), FLAGS);
    command.env("WEIR_STOP", stop);
    Server::start(command, combination.program.key())
}

/// Bytes that are another file's each time, and are too many to be kept in memory.
fn large(seed: usize) -> Vec<u8> {
    (0..100_000).map(|at| ((at + seed) % 251) as u8).collect()
}

/// All that is open in the one table.
fn open(server: &Server) -> BTreeMap<u32, String> {
    let worker = || workers_of(server.pid()).into_iter().find(|pid| !stands_still(*pid));
    descriptors(await_some(PATIENCE, worker).expect("a worker"))
}

#[test]
fn who_dies_in_the_midst_of_what_is_shared_takes_nothing_along() {
    let site = Fixture::new();
    for place in PLACES {
        on_every_architecture(Program::Weir, |combination| {
            if !is_kept(combination) {
                return;
            }
            let name = format!("large {combination} {place}.bin").replace(' ', "-");
            let (path, target) = (site.root().join(&name), format!("/{name}"));
            fs::write(&path, large(0)).expect("written");
            let server = start(combination, &site, &format!("{place}*{}", kills()));
            let load = Load::paced(server.address, "/digits.txt", CLIENTS, (true, PAUSE));
            for kill in 1..=kills() {
                // Who asks may be the one who is lost.
                fs::write(&path, large(kill)).expect("written");
                let mut wire = server.asking(server.address, &target);
                let stopped = || {
                    let all = workers_of(server.pid());
                    all.into_iter().find(|pid| stands_still(*pid))
                };
                // Who asks hears nothing if all of them stand still.
                let ask_again = || {
                    let stopped = stopped();
                    if stopped.is_none() {
                        fs::write(&path, large(kill)).expect("written");
                        wire = server.asking(server.address, &target);
                    }
                    stopped
                };
                let worker = await_some(PATIENCE, ask_again);
                let worker = worker.unwrap_or_else(|| panic!("{combination}, {place}: no stop"));
                send(worker, Signal::KILL);
                assert!(await_true(PATIENCE, || !is_there(worker)), "{combination}: not dead");
            }
            let counts = load.stop();
            assert_eq!(Counts::of(&counts.refused), 0, "{combination}, {place}: refused");
            let lost = Counts::of(&counts.broken) + Counts::of(&counts.unanswered);
            assert!(lost <= kills() * CLIENTS, "{combination}, {place}: {counts:?}");
            judge_whole(combination, &server, place, (&path, &target));
            server.stop();
        });
    }
}

/// What is asked for is right, and as much is open as in a server of which nobody has died.
fn judge_whole(
    combination: &Combination,
    server: &Server,
    place: &str,
    (path, target): (&std::path::Path, &str),
) {
    let root = path.parent().expect("a root");
    let fresh = Server::start(combination.command(root, FLAGS), combination.program.key());
    fetch_both(combination, &fresh, place, target, path);
    fetch_both(combination, server, place, target, path);
    // Either may have connections that it has not closed yet, or a worker that is not there yet. A
    // replaced file is closed at the first request after its last reply has ended.
    let agree = await_true(PATIENCE, || {
        let agree = open(server).len() == open(&fresh).len();
        if !agree {
            for server in [server, &fresh] {
                let fetched = server.fetch("/digits.txt");
                assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}, {place}");
            }
        }
        agree
    });
    assert!(agree, "{combination}, {place}: {:?} open, not {:?}", open(server), open(&fresh));
    fresh.stop();
}

fn fetch_both(
    combination: &Combination,
    server: &Server,
    place: &str,
    target: &str,
    path: &std::path::Path,
) {
    let expected = fs::read(path).expect("read");
    for _ in 0..10 {
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}, {place}");
        let fetched = server.fetch(target);
        assert!(
            fetched.is_ok_and(|bytes| bytes == expected),
            "{combination}, {place}: other bytes"
        );
    }
}

/// A client that reads slowly keeps the file open that it is being sent, though it has another name
/// by now; and only until it is gone, also if nothing new is loaded afterwards.
#[test]
fn a_replaced_file_is_closed_when_its_last_reader_is_gone() {
    let site = Fixture::new();
    let [path, next] = ["replaced.bin", "next"].map(|name| site.root().join(name));
    // From then on an answer is held if the times of its file are the same, and nothing is loaded.
    std::thread::sleep(SETTLED);
    on_every_architecture(Program::Weir, |combination| {
        if !is_kept(combination) {
            return;
        }
        // More than the buffers of a connection.
        fs::write(&path, vec![0; 16 << 20]).expect("written");
        let server = start(combination, &site, "");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        let mut slow = Wire::narrow(server.address, combination.program.key(), 4096).expect("one");
        slow.get("/replaced.bin", "").expect("sent");
        assert_eq!(slow.head().map(|head| head.status), Ok(200), "{combination}");
        fs::write(&next, large(0)).expect("written");
        fs::rename(&next, &path).expect("another file");
        assert_eq!(server.fetch("/replaced.bin").as_deref(), Ok(&*large(0)), "{combination}");
        let replaced = || open(&server).values().filter(|file| file.ends_with("(deleted)")).count();
        assert_eq!(replaced(), 1, "{combination}: {:?}", open(&server));
        slow.reset();
        let is_closed = || {
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
            replaced() == 0
        };
        assert!(await_true(PATIENCE, is_closed), "{combination}: {:?}", open(&server));
        server.stop();
    });
}

/// All that it keeps ends with it, and another takes its place.
#[test]
fn a_keeper_that_is_killed_is_started_again_with_all_that_it_keeps() {
    let site = Fixture::new();
    on_every_architecture(Program::Weir, |combination| {
        if !is_kept(combination) {
            return;
        }
        let server = start(combination, &site, "");
        let held = descriptors(server.pid()).len();
        for kill in 0..10 {
            let keeper = await_some(PATIENCE, || children(server.pid()).pop()).expect("a keeper");
            let all = || Some(workers_of(server.pid())).filter(|all| all.len() == 2);
            let workers = await_some(PATIENCE, all).expect("its workers");
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}: {kill}");
            send(keeper, Signal::KILL);
            let all_gone = || workers.iter().chain([&keeper]).all(|pid| !is_there(*pid));
            assert!(await_true(PATIENCE, all_gone), "{combination}: {kill}: some live on");
        }
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        // At its start the server holds a descriptor more for a moment.
        let left = || descriptors(server.pid()).len();
        assert!(await_true(PATIENCE, || left() <= held), "{combination}: {} of {held}", left());
        server.stop();
    });
}

/// All have the error log by one number. Whoever opens it again leaves it to the others by that
/// number: a client who got it would be closed by the next one who opens the log again.
#[test]
fn an_error_log_that_is_opened_again_keeps_its_number() {
    let site = Fixture::new();
    on_every_architecture(Program::Weir, |combination| {
        if !is_kept(combination) {
            return;
        }
        let home = tempfile::tempdir().expect("a directory");
        let [log, moved] = ["error.log", "moved"].map(|name| home.path().join(name));
        let to = log.to_str().expect("UTF-8");
        let server = combination.start(&site.root(), &[FLAGS, &["--error-log", to]].concat());
        let workers = || Some(workers_of(server.pid())).filter(|all| all.len() == 2);
        let all = await_some(PATIENCE, workers).expect("workers");
        let keeper = children(server.pid()).pop().expect("a keeper");
        let open = descriptors(keeper).into_iter().find(|(_, path)| path == to);
        let (number, _) = open.expect("the log is open");
        for rotation in 0..3 {
            fs::rename(&log, &moved).expect("another name");
            server.signal(Signal::USR1);
            // At once, though nobody has anything to say.
            let is_new = || descriptors(keeper).get(&number).is_some_and(|path| path == to);
            assert!(await_true(PATIENCE, is_new), "{combination}: the file of before is open");
            let victim = workers().unwrap_or_default().pop().unwrap_or(all[0]);
            send(victim, Signal::KILL);
            let says = || fs::read_to_string(&log).is_ok_and(|said| said.contains("keeper: "));
            assert!(await_true(PATIENCE, says), "{combination}: {rotation}: no line");
            assert!(is_new(), "{combination}: {rotation}: another number");
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        server.stop();
    });
}

/// Somebody has written where he should not: in what the cache is found by, and it begins anew; in
/// all of what is known of it, and nobody goes on with that.
#[test]
fn what_makes_no_sense_is_thrown_away_or_the_end_of_all_who_share_it() {
    let site = Fixture::new();
    for (bytes, said, ends) in [(1 << 20, "begins anew", false), (16 << 20, "makes no sense", true)]
    {
        on_every_architecture(Program::Weir, |combination| {
            if !is_kept(combination) {
                return;
            }
            let mut server = start(combination, &site, "");
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
            let keeper = children(server.pid()).pop().expect("a keeper");
            if !scribble(keeper, bytes) {
                return harness::skip("needs the right to write to another process (ptrace)");
            }
            // Whoever asks meets it.
            let _ = server.fetch("/digits.txt");
            server.await_line(said);
            let answered = || server.fetch("/digits.txt").is_ok_and(|bytes| bytes == DIGITS);
            assert!(await_true(PATIENCE, answered), "{combination}, {said}: not served");
            assert_eq!(is_there(keeper), !ends, "{combination}, {said}");
            server.signal(Signal::TERM);
            // Who asked of a worker that has ended may be told of as cut off.
            assert!(server.ended(PATIENCE).is_some(), "{combination}, {said}: it goes on");
        });
    }
}

/// Writes over so much of the largest memory that a process shares, but for the lock. False if the
/// machine does not permit it.
fn scribble(pid: u32, bytes: usize) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its maps");
    let shared = maps.lines().filter(|line| line.split_whitespace().nth(1) == Some("rw-s"));
    let range = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(from)?, number(to)?))
    };
    let largest = shared.filter_map(range).max_by_key(|(from, to)| to - from);
    let (from, _) = largest.expect("memory that it shares");
    let memory = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/mem"));
    if memory.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        return false;
    }
    let memory = memory.expect("its memory");
    memory.write_all_at(&vec![0x5a; bytes], from + 4096).expect("written");
    true
}
