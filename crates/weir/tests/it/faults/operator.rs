//! Mistakes of the operator: one line that says what would do, and the right exit status.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use harness::Need;
use rustix::process::Signal;

use crate::support::combination::{Program, combinations_alone};
use crate::support::command::run;
use crate::support::fixture::{Fixture, no_settings};
use crate::support::rights;
use crate::support::server::Server;
use crate::support::users::as_nobody;

/// Wrong usage or configuration.
const USAGE: i32 = 2;
/// The machine refuses.
const MACHINE: i32 = 3;

fn check(arguments: &[&str], status: i32, says: &[&str]) {
    let mut command = Command::new(Program::Weir.path());
    let (code, output, errors) = run(command.args(arguments)).expect("the binary runs");
    assert_eq!(code, Some(status), "{arguments:?}: {output}{errors}");
    assert_eq!(errors.lines().count(), 1, "{arguments:?}: one line, not {errors:?}");
    for word in says {
        assert!(errors.contains(word), "{arguments:?}: {errors:?} does not name {word:?}");
    }
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    check(&["swerve"], USAGE, &["swerve"]);
    check(&["serve", "--no-such-flag"], USAGE, &["--no-such-flag"]);
    check(&["serve", ".", "another"], USAGE, &["another"]);
    check(&["serve", "--architecture", "apache"], USAGE, &["apache", "sped", "mt", "proactor"]);
    check(&["serve", "--poller", "kqueue"], USAGE, &["kqueue", "epoll"]);
    let both = ["--stage-admission", "response", "--admit-percent", "50"];
    let both = [&["serve", "--architecture", "seda"], &both[..]].concat();
    check(&both, USAGE, &["--admit-percent 50", "--stage-admission"]);
    check(&["serve", "--accept-limit", "0"], USAGE, &["--accept-limit"]);
    check(&["serve", "--head-timeout-ms", "soon"], USAGE, &["--head-timeout-ms", "soon"]);
    check(&["serve", "--cache-mb", "-1"], USAGE, &["--cache-mb"]);
    check(&["serve", "--listen", "nonsense:port"], USAGE, &["nonsense:port"]);
    check(&["serve", "--json"], USAGE, &["--list-architectures"]);
}

/// A name is bytes (POSIX), so an argument need not be UTF-8: a path is taken as it is, and what is
/// no path is refused.
#[test]
fn arguments_may_be_any_bytes() {
    let home = tempfile::tempdir().expect("a directory");
    let strange = OsStr::from_bytes(b"caf\xe9");
    let site = home.path().join(strange);
    fs::create_dir(&site).expect("a directory");
    fs::write(site.join("weir.toml"), "no-such-key = 1\n").expect("a file");
    let rows: [(&[&str], &Path, &str); 11] = [
        (&["serve", "--list-architectures", "--json", "--no-such"], strange.as_ref(), "--no-such"),
        (&["check"], &site.join("weir.toml"), "no-such-key"),
        (&["check"], &site.join("none.toml"), "none.toml"),
        (&["load"], strange.as_ref(), "UTF-8"),
        (&["load", "compare", "a"], strange.as_ref(), "UTF-8"),
        (&["load", "describe"], strange.as_ref(), "UTF-8"),
        (&["lab", "run"], strange.as_ref(), "UTF-8"),
        (&["lab", "report"], &site, "no results"),
        (&["sim", "run"], strange.as_ref(), "UTF-8"),
        (&["completions"], strange.as_ref(), "caf\u{FFFD}"),
        (&[], strange.as_ref(), "caf\u{FFFD}"),
    ];
    for (arguments, path, says) in rows {
        let mut command = Command::new(Program::Weir.path());
        let (code, output, errors) = run(command.args(arguments).arg(path)).expect("it runs");
        assert_eq!(code, Some(USAGE), "{arguments:?}: {output}{errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
        assert!(errors.contains(says), "{arguments:?}: {errors}");
    }
    fs::write(site.join("index.html"), "here").expect("an index");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(&site).args(["--listen", "127.0.0.1:0", "--admin", "off"]);
    let server = Server::start(command, 0);
    assert_eq!(server.fetch("/").as_deref(), Ok(&b"here"[..]));
    server.stop();
}

#[test]
fn a_knob_that_the_architecture_does_not_take_is_wrong_usage() {
    check(&["serve", "--architecture", "mt", "--poller", "epoll"], USAGE, &["--poller", "mt"]);
    check(&["serve", "--architecture", "sped", "--helpers", "4"], USAGE, &["--helpers", "sped"]);
}

/// Loops of a process share its connections, and no machine has use for thousands of loops.
#[test]
fn loops_that_cannot_be_are_told() {
    let check = |flags: &[&str], words: &[&str]| {
        check(&[&["serve", "--architecture", "sped"][..], flags].concat(), USAGE, words);
    };
    check(&["--threads", "1025"], &["--threads 1025: there are 1024 loops at most"]);
    check(
        &["--processes", "3", "--threads", "400"],
        &["--threads 400, in each process: there are 1024 loops at most"],
    );
    check(
        &["--connections-max", "3", "--threads", "4"],
        &["--connections-max 3 is less than one for each of --threads 4"],
    );
}

/// No call can name a socket that is a slot of a ring.
#[test]
fn slots_cannot_be_sent_to_by_calls() {
    let flags = ["--ring-sockets", "direct", "--ring-files", "sendfile"];
    for architecture in ["proactor", "tux"] {
        let flags = [&["serve", "--architecture", architecture], &flags[..]].concat();
        check(&flags, USAGE, &["--ring-files sendfile: takes --ring-sockets ordinary"]);
    }
}

/// What of the cache cannot be: each in one line.
#[test]
fn caches_that_cannot_be_are_told() {
    let site = Fixture::new();
    let hints = site.beside("hints");
    fs::write(&hints, "/digits.txt\n# nothing\nhttp://a/b\n").expect("written");
    let hints = hints.to_str().expect("UTF-8");
    let roots = site.beside("roots");
    fs::write(&roots, "/digits.txt\n").expect("written");
    fs::set_permissions(&roots, Permissions::from_mode(0o600)).expect("its mode");
    fs::set_permissions(site.beside(""), Permissions::from_mode(0o755)).expect("its mode");
    let roots = roots.to_str().expect("UTF-8");
    let rows: [(&[&str], &[&str]); 8] = [
        (
            &["--cache-hints", roots, "--cache-policy", "hinted", "--user", "nobody"],
            &["roots: cannot be read: Permission denied"],
        ),
        (&["--cache-policy", "siev"], &["--cache-policy siev", "lru", "did you mean `sieve`?"]),
        (&["--cache-locks", "entry", "--cache-policy", "lru"], &["--cache-locks entry", "s3-fifo"]),
        (&["--cache-locks", "entries"], &["--cache-locks entries", "1 to 256, or entry"]),
        (&["--cache-hints", hints, "--cache-policy", "lru"], &["takes --cache-policy hinted"]),
        (
            &["--cache-hints", "/dev/zero", "--cache-policy", "hinted"],
            &["--cache-hints /dev/zero: cannot be read: it is no file with lines"],
        ),
        (
            &["--cache-hints", "/no/such/file", "--cache-policy", "hinted"],
            &["--cache-hints /no/such/file: cannot be read: No such file"],
        ),
        (
            &["--cache-hints", hints, "--cache-policy", "hinted"],
            &["hints:3: \"http://a/b\" is no path: it does not begin with a slash"],
        ),
    ];
    let root = site.root();
    let root = root.to_str().expect("UTF-8");
    // The first row becomes another user.
    let rows = if harness::lacks(&[Need::Root]) { &rows[1..] } else { &rows };
    // Threads share a cache; a loop of its own that has one thread would need no lock at all.
    for architecture in ["mt", "sped"] {
        for (flags, words) in rows {
            let serve = ["serve", root, "--listen", "127.0.0.1:0", "--architecture", architecture];
            check(&[&serve[..], flags].concat(), USAGE, words);
        }
    }
}

/// What is never kept, and what leads nowhere: each in one line, and the server serves.
#[test]
fn what_a_cache_does_not_hold_is_told() {
    let site = Fixture::new();
    let hints = site.beside("hints");
    fs::write(&hints, "# two of three\n/digits.txt\n/none\n/gone.html\n").expect("written");
    let hints = hints.to_str().expect("UTF-8");
    let rows: [(&[&str], &str); 4] = [
        (
            &["--cache-mb", "0"],
            "--cache-mb 0: nothing is kept, and each request opens its file anew",
        ),
        (
            &["--cache-mb", "1", "--cache-locks", "8", "--small-file-kb", "1000"],
            "--cache-mb 1: files above 119 KiB are not kept, as each of its 8 parts has no more",
        ),
        (
            &["--cache-hints", hints, "--cache-policy", "hinted"],
            "hints: of the first 3 paths 2 lead to no file, in line 3 and after",
        ),
        (
            &["--cache-files", "8"],
            "--cache-files 8: no file is kept open, as 16 parts share them; give more, or fewer",
        ),
    ];
    let combinations = combinations_alone(Program::Weir);
    let threads = combinations.iter().find(|combination| combination.architecture == "mt");
    for (flags, expected) in rows {
        let server = threads.expect("mt").start(&site.root(), flags);
        assert!(server.fetch("/digits.txt").is_ok(), "{flags:?}");
        let told = format!("{}{}", server.said.clone(), server.stop());
        assert_eq!(told.lines().filter(|line| line.contains(expected)).count(), 1, "{told}");
    }
}

/// What a log tells of a site is taken as it is, odd paths and all, and read again at a reload.
#[test]
fn hints_of_a_log_are_heeded() {
    let site = Fixture::new();
    let [log, hints] = ["access.log", "hints"].map(|name| site.beside(name));
    let line = |path: &str| {
        format!("127.0.0.1 - - [26/Nov/2026:10:00:00 +0000] \"GET {path} HTTP/1.1\" 200 36\n")
    };
    let lines = [line("/digits.txt"), line("/.git/config")].concat().repeat(3);
    fs::write(&log, lines).expect("written");
    let workload = format!("clf:{}", log.display());
    let mut describe = Command::new(Program::Weir.path());
    describe.args(["load", "describe", "--workload", &workload, "--hints"]).arg(&hints);
    let (code, output, errors) = run(&mut describe).expect("the binary runs");
    assert_eq!(code, Some(0), "{output}{errors}");
    let combinations = combinations_alone(Program::Weir);
    let sped = combinations.iter().find(|combination| combination.architecture == "sped");
    let file = hints.to_str().expect("UTF-8");
    let settings = no_settings(&site.beside(""));
    let flags = ["--cache-policy", "hinted", "--cache-hints", file, "--config", &settings];
    let mut server = sped.expect("sped").start(&site.root(), &flags);
    let told = "hints: of the first 2 paths 1 lead to no file, in line 2 and after";
    assert!(server.said.contains(told), "{}", server.said);
    fs::write(&hints, "/none\n").expect("written");
    server.signal(Signal::HUP);
    server.await_line("hints: of the first 1 paths 1 lead to no file, in line 1 and after");
    server.stop();
}

#[test]
fn a_directory_that_is_none_is_told() {
    let site = Fixture::new();
    let listen = ["--listen", "127.0.0.1:0"];
    check(
        &[&["serve", "/no/such/directory"][..], &listen].concat(),
        USAGE,
        &["/no/such/directory"],
    );
    let file = site.root().join("digits.txt");
    let file = file.to_str().expect("UTF-8");
    check(&[&["serve", file][..], &listen].concat(), USAGE, &[file]);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_else() {
    for flag in ["--access-log", "--error-log", "--trace"] {
        let mut command = Command::new(Program::Weir.path());
        command.args(["serve", ".", "--listen", "127.0.0.1:0", flag, "/no/such/directory/log"]);
        let (code, output, errors) = run(&mut command).expect("the binary runs");
        assert_eq!((code, output.as_str()), (Some(USAGE), ""), "{flag}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{flag}: {errors}");
        assert!(errors.contains(flag) && errors.contains("/no/such"), "{flag}: {errors}");
    }
}

#[test]
fn root_writes_to_no_file_by_a_link() {
    if harness::lacks(&[Need::Root]) {
        return;
    }
    let site = Fixture::new();
    let link = site.beside("link");
    std::os::unix::fs::symlink(site.beside("elsewhere"), &link).expect("a link");
    let link = link.to_str().expect("UTF-8");
    for flag in ["--access-log", "--error-log", "--trace"] {
        check(&["serve", ".", "--listen", "127.0.0.1:0", flag, link], USAGE, &[flag, "link"]);
        assert!(!site.beside("elsewhere").exists(), "{flag}: made");
    }
}

#[test]
fn a_descriptor_that_nobody_handed_over_is_told() {
    check(&["serve", ".", "--listen", "fd:77"], MACHINE, &["fd:77", "hand over"]);
}

#[test]
fn values_of_several_flags_that_do_not_fit_are_told() {
    let mt = ["serve", "--architecture", "mt", "--listen", "127.0.0.1:0"];
    let few = ["--threads", "4", "--threads-min", "8"];
    check(&[&mt[..], &few].concat(), USAGE, &["--threads-min 8", "--threads 4"]);
    check(&[&mt[..], &["--sendfile", "nonblocking"]].concat(), USAGE, &["--sendfile", "mt"]);
    let few = ["serve", ".", "--processes", "2", "--processes-min", "3"];
    check(&few, USAGE, &["--processes-min 3", "--processes 2"]);
    let twice = ["serve", ".", "--listen", "127.0.0.1:9", "--listen", "127.0.0.1:9"];
    check(&twice, USAGE, &["--listen 127.0.0.1:9", "named twice"]);
}

#[test]
fn a_port_that_is_taken_is_told() {
    let site = Fixture::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let root = site.root();
    let root = root.to_str().expect("UTF-8");
    check(&["serve", root, "--listen", &address], MACHINE, &[&address]);
}

#[test]
fn an_address_that_is_not_here_is_told() {
    // A network set aside for documentation (RFC 5737): on no interface of any machine.
    check(&["serve", ".", "--listen", "192.0.2.1:0"], MACHINE, &["192.0.2.1"]);
}

/// Run as a user without rights; root may read everything.
#[test]
fn a_directory_that_may_not_be_read_is_told() {
    if rights::lacks_users() {
        return;
    }
    let (code, errors) = served_by_nobody(&["--listen", "127.0.0.1:0"], 0o700);
    assert!(matches!(code, Some(USAGE | MACHINE)), "{code:?} {errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn a_port_without_the_right_to_it_is_told() {
    if rights::lacks_users() {
        return;
    }
    let start = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let start: u16 = start.expect("the first port for all").trim().parse().expect("a number");
    if start == 0 {
        return harness::does_not_apply("needs ports that are not for all users");
    }
    let (code, errors) =
        served_by_nobody(&["--listen", &format!("127.0.0.1:{}", start - 1)], 0o755);
    assert_eq!(code, Some(MACHINE), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

/// Serves a directory of the given mode as a user without rights.
fn served_by_nobody(flags: &[&str], mode: u32) -> (Option<i32>, String) {
    let home = tempfile::tempdir().expect("a directory");
    let set = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
    };
    set(home.path(), 0o755);
    let root = home.path().join("root");
    fs::create_dir(&root).expect("a root");
    set(&root, mode);
    let root = root.to_str().expect("UTF-8");
    let arguments = [&["serve", root], flags].concat();
    let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
    let mut command = as_nobody(home.path(), &arguments);
    let (code, _, errors) = run(&mut command).expect("setpriv");
    (code, errors)
}

#[test]
fn nothing_but_serve_serves_the_current_directory() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("index.html"), "here").expect("an index");
    // Whether port 8080 is free on this machine is not for this test to say.
    let is_free = TcpListener::bind("0.0.0.0:8080").is_ok();
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").current_dir(home.path());
    if is_free {
        let mut server = Server::start(command, 0);
        server.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        assert_eq!(server.address.port(), 8080);
        assert_eq!(server.fetch("/"), Ok(b"here".to_vec()));
        server.stop();
    } else {
        let (code, _, errors) = run(&mut command).expect("the binary runs");
        assert_eq!(code, Some(MACHINE), "{errors}");
        assert!(errors.contains("8080"), "{errors}");
    }
}
