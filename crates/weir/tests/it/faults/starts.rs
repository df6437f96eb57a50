//! How it begins and how it ends, as its exit status and its lines tell it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use harness::Need;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::chosen::{on_every_architecture, on_mechanisms};
use crate::support::combination::{Combination, Program, combinations};
use crate::support::command::run;
use crate::support::examples::example;
use crate::support::fixture::{DIGITS, Fixture, no_settings};
use crate::support::in_flight::{HUGE_BYTES, at_once, in_flight, site_with_a_huge_file};
use crate::support::load::{Counts, Load, PAUSE};
use crate::support::rights;
use crate::support::server::Server;
use crate::support::slow::{SlowFiles, lacks_slow_files};
use crate::support::users::as_user;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some};

/// Some that were asked for were cut off.
const CUT_OFF: i32 = 1;
/// The machine refuses.
const MACHINE: i32 = 3;

/// Supervisor and worker, and not one thread more: those of a pool, helpers, that of the log.
#[test]
fn a_first_start_that_cannot_succeed_ends_with_a_reason() {
    if harness::lacks(&[Need::Program("prlimit")]) || rights::lacks_user(first_user()) {
        return;
    }
    on_mechanisms(Program::Weir, |combination| {
        let home = home();
        // Who has no threads for serving has one for its log.
        let has_threads = ["thread", "helper"].iter().any(|who| combination.has(who));
        let flags = if has_threads { &[][..] } else { &["--access-log", "/dev/null"] };
        // Who starts again and again is ended with another status.
        let mut command = Command::new("timeout");
        let limited = limited_to(2, combination, home.path(), flags);
        command.arg(PATIENCE.as_secs().to_string()).arg(limited.get_program());
        let (code, output, errors) =
            run(command.args(limited.get_args())).expect("timeout of coreutils");
        assert_eq!(code, Some(MACHINE), "{combination}: {output}{errors}");
        assert!((1..=2).contains(&errors.lines().count()), "{combination}: {errors}");
        let by = [" error worker 0: ", " error keeper: ", " info worker 0: "];
        let is_ours =
            |line: &str| line.starts_with("weir: ") || by.iter().any(|by| line.contains(by));
        let names = errors.lines().all(is_ours);
        assert!(names, "{combination}: not its own lines: {errors}");
        assert!(errors.contains("unavailable"), "{combination}: without a reason: {errors}");
    });
}

/// What several processes share is there from the start, or they do not start.
#[test]
fn a_cache_larger_than_memory_is_told() {
    const MOST_MB: u64 = 65_536;
    let has_less = os::limits::memory().is_some_and(|memory| memory.bytes >> 20 < MOST_MB);
    if !has_less {
        let why = format!("needs a machine with less than {MOST_MB} MB of memory");
        return harness::does_not_apply(why);
    }
    let home = home();
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--cache-mb", &MOST_MB.to_string()];
        let (code, output, errors) =
            run(&mut combination.command(home.path(), &flags)).expect("it ends");
        assert_eq!(code, Some(MACHINE), "{combination}: {output}{errors}");
        let said = format!("weir: --cache-mb {MOST_MB}: there are ");
        assert!(errors.starts_with(&said), "{combination}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{combination}: {errors}");
    });
}

/// Some of the threads that it wants: then it serves with these or ends, and does not hang.
#[test]
fn a_start_with_half_of_its_threads_serves_or_ends() {
    if harness::lacks(&[Need::Program("prlimit")]) || rights::lacks_user(first_user()) {
        return;
    }
    on_mechanisms(Program::Weir, |combination| {
        let home = home();
        let mut server = Server::start(limited_to(4, combination, home.path(), &[]), 0);
        // The content, or how it ended.
        let outcome = await_some(PATIENCE, || match server.ended(Duration::ZERO) {
            Some(status) => Some(Err(status.code())),
            None => answer(&server).map(Ok),
        });
        match outcome.unwrap_or_else(|| panic!("{combination}: neither serves nor ends")) {
            Ok(content) => {
                assert_eq!(content, CONTENT, "{combination}");
                server.signal(Signal::TERM);
                let code = server.ended(PATIENCE).and_then(|status| status.code());
                // The first of several workers serves before the last one is refused.
                let is_refused = combination.row["workers"] != 1 && code == Some(MACHINE);
                assert!(code == Some(0) || is_refused, "{combination}: {code:?}");
            }
            Err(code) => assert_eq!(code, Some(MACHINE), "{combination}"),
        }
    });
}

/// Who comes waits a second for a thread, for which one that is idle goes, and is told then. Here
/// no transfer is ended for it.
#[test]
fn whom_no_thread_can_be_made_for_is_told_so() {
    if harness::lacks(&[Need::Program("prlimit")]) || rights::lacks_user(first_user()) {
        return;
    }
    on_every_architecture(Program::Weir, |combination| {
        if combination.row["accept"] != "acceptor" || combination.row["holder"] != "thread" {
            return;
        }
        let home = home();
        let huge = fs::File::create(home.path().join("root/huge.bin")).expect("a file");
        huge.set_len(HUGE_BYTES as u64).expect("its length");
        // The supervisor, the worker, and a thread.
        let mut server =
            Server::start(limited_to(3, combination, home.path(), &["--crowded-rate-min", "0"]), 0);
        let mut busy = in_flight(&server, 1);
        for _ in 0..2 {
            let mut wire = server.asking(server.address, "/");
            let told = wire.reply(false).map(|(head, _)| (head.status, head.closes()));
            assert_eq!(told, Ok((503, true)), "{combination}");
        }
        server.await_line("no thread can be made");
        let mut idle = busy.pop().expect("it is served on");
        let came = idle.bytes(HUGE_BYTES).map(|bytes| bytes.len());
        assert_eq!(came, Ok(HUGE_BYTES), "{combination}");
        assert_eq!(server.fetch("/").as_deref(), Ok(CONTENT), "{combination}");
        assert_eq!(idle.rest(), Ok(0), "{combination}: who is idle goes");
        server.stop();
    });
}

/// Some workers of the new generation have clients by then, and the old one serves on.
#[test]
fn a_reload_that_is_refused_a_process_loses_nobody() {
    if harness::lacks(&[Need::Program("prlimit")]) || rights::lacks_user(first_user()) {
        return;
    }
    on_every_architecture(Program::Weir, |combination| {
        if combination.row["workers"] != 4 || combination.row["kept"] == true {
            return;
        }
        let home = home();
        // A client on a busy machine may think for long.
        let patient = ["--idle-grace-ms", "60000", "--drain-timeout-ms", "600000"];
        let settings = no_settings(home.path());
        let flags = [&patient[..], &["--config", &settings]].concat();
        // The supervisor, four workers, and half as many more.
        let mut server = Server::start(limited_to(7, combination, home.path(), &flags), 0);
        let loads = [true, false].map(|keeps| Load::paced(server.address, "/", 4, (keeps, PAUSE)));
        let before = loads.each_ref().map(Load::answered);
        server.signal(Signal::HUP);
        server.await_line("cannot be started");
        let goes_on = loads.iter().zip(before).all(|(load, n)| load.await_answered(n + 200));
        assert!(goes_on, "{combination}: nobody is answered");
        for counts in loads.map(Load::stop) {
            let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
            assert_eq!(lost, [0, 0, 0], "{combination}: {counts:?}");
        }
        server.stop();
    });
}

#[test]
fn a_drain_tells_how_many_it_has_cut_off() {
    let site = site_with_a_huge_file();
    // The time is up, or a second signal comes.
    for (patience, second) in [("300", None), ("600000", Some(Signal::INT))] {
        on_mechanisms(Program::Weir, |combination| {
            let flags = ["--drain-timeout-ms", patience];
            let mut server = combination.start(&site.root(), &flags);
            let clients = in_flight(&server, 2);
            server.signal(Signal::TERM);
            server.await_line("draining");
            second.into_iter().for_each(|signal| server.signal(signal));
            let status = server.ended(PATIENCE).and_then(|status| status.code());
            let said = server.last_words();
            let told = said.lines().find(|line| line.contains("cut off"));
            let told = told.unwrap_or_else(|| panic!("{combination}: not told: {said:?}"));
            let mut numbers = told.split(|c: char| !c.is_ascii_digit());
            assert!(numbers.any(|number| number == "2"), "{combination}: {told}");
            assert_eq!(status, Some(CUT_OFF), "{combination}: {told}");
            drop(clients);
        });
    }
}

/// Whoever waits for it is cut off in time; others are served meanwhile, where the registry says
/// so.
#[test]
fn a_disk_that_never_answers_outlasts_no_drain() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms(Program::Weir, |combination| {
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        // What was asked for once is in memory for as long as this lasts.
        let flags = ["--drain-timeout-ms", "300", "--answer-age-ms", "3600000"];
        let mut server = combination.start(&site.root(), &flags);
        assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
        let mut waits = server.connect();
        waits.get("/slow/a.bin", "").expect("sent");
        slow.await_read("a.bin");
        if combination.row["stalls"] == "nobody" {
            assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
        }
        server.signal(Signal::TERM);
        server.await_line("draining");
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        let said = server.last_words();
        assert!(said.contains("cut off"), "{combination}: not told: {said}");
        assert_eq!(status, Some(CUT_OFF), "{combination}: {said}");
    });
}

#[test]
fn a_drain_that_needs_no_force_cuts_nobody_off() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "600000"]);
        let mut clients = in_flight(&server, 2);
        server.signal(Signal::TERM);
        server.await_line("draining");
        for rest in at_once(&mut clients, Wire::rest) {
            assert_eq!(rest, Ok(HUGE_BYTES), "{combination}");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        let said = server.last_words();
        assert_eq!(status, Some(0), "{combination}: {said}");
        assert!(!said.contains("cut off"), "{combination}: {said}");
    });
}

/// To more clients, or with more rights, than somebody has asked for.
#[test]
fn what_nobody_has_asked_for_is_warned_of() {
    if rights::lacks_namespaces(&["--net"]) {
        return;
    }
    let home = home();
    let (as_root, to_all) = ("warning: serving as root;", "warning: no --listen:");
    let rows: [(&[&str], &[&str]); 5] = [
        (&[], &[as_root, to_all]),
        (&["--user", "nobody"], &[to_all]),
        (&["--user", "root", "--listen", "0.0.0.0:8080"], &[]),
        (&["--listen", "0.0.0.0:0"], &[as_root]),
        (&["--group", "4", "--listen", "0.0.0.0:0"], &[as_root]),
    ];
    for (flags, says) in rows {
        // Where the default port is free.
        let mut command = Command::new("unshare");
        command.arg("--net").arg(Program::Weir.path()).arg("serve").arg(home.path().join("root"));
        command.args(["--admin", "off"]).args(flags);
        let server = Server::start(command, 0);
        let said = format!("{}{}", server.said.clone(), server.stop());
        for warning in [as_root, to_all] {
            let told = said.lines().filter(|line| line.contains(warning)).count();
            let expected = usize::from(says.contains(&warning));
            assert_eq!(told, expected, "{flags:?}: {warning:?} in {said}");
        }
    }
}

/// One line says so, and another architecture serves.
#[test]
fn where_rings_are_forbidden_sped_serves() {
    let home = home();
    for combination in combinations(Program::Weir) {
        let mut command = Command::new(example("without_rings"));
        command
            .arg(Program::Weir.path())
            .args(combination.arguments(&home.path().join("root"), &[]));
        let server = Server::start(command, 0);
        assert_eq!(server.fetch("/").as_deref(), Ok(CONTENT), "{combination}");
        let needs_rings = combination.has("ring");
        let told = server.said.lines().filter(|line| line.contains("io_uring")).count();
        assert_eq!(told, usize::from(needs_rings), "{combination}: {}", server.said);
        let by_sped = server.said.contains(" by sped with ");
        let is_sped = needs_rings || combination.architecture == "sped";
        assert_eq!(by_sped, is_sped, "{combination}: {}", server.said);
        server.stop();
    }
}

const CONTENT: &[u8] = b"here";

/// A directory that everybody may read, with a root in it.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("its mode");
    let root = home.path().join("root");
    fs::create_dir(&root).expect("a root");
    fs::write(root.join("index.html"), CONTENT).expect("an index");
    home
}

/// The first user of this process, where tests run side by side.
fn first_user() -> u32 {
    1_000_000 + std::process::id() * 64
}

/// Serves the root in `home` as a user who may run so many threads, supervisor and worker
/// included. Needs root.
fn limited_to(threads: u32, combination: &Combination, home: &Path, flags: &[&str]) -> Command {
    /// Threads are counted by user: each server has one for itself.
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = first_user() + USERS.fetch_add(1, Ordering::Relaxed) % 64;
    let server = as_user(user, home, &combination.arguments(&home.join("root"), flags));
    let mut command = Command::new("prlimit");
    command.arg(format!("--nproc={threads}")).arg("--");
    command.arg(server.get_program()).args(server.get_args());
    command
}

/// What it answers, if it does so soon; one that hangs is asked again.
fn answer(server: &Server) -> Option<Vec<u8>> {
    let mut wire = Wire::connect(server.address, 0).ok()?;
    wire.set_patience(Duration::from_millis(500));
    wire.get("/", "Connection: close\r\n").ok()?;
    Some(wire.reply(false).ok()?.1)
}
