//! Who the processes are, and what workers can no longer do.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::Program;
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture, LARGE_BYTES, no_settings, pattern, write};
use crate::support::home::Home;
use crate::support::processes::workers_of;
use crate::support::server::Server;
use crate::support::users::as_nobody;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true, rights};

/// The lines of a process's status that say who it is and what it may do.
fn status(pid: u32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn all_threads_of_all_processes_become_the_user() {
    if rights::lacks_users() {
        return;
    }
    let site = Fixture::new();
    fs::set_permissions(site.beside(""), Permissions::from_mode(0o755)).expect("its mode");
    let rows: [(&[&str], &str, &str); 4] = [
        (&["--user", "nobody"], "65534", "65534"),
        (&["--user", "65534", "--group", "4"], "65534", "4"),
        (&["--user", "12345", "--group", "adm"], "12345", "4"),
        (&["--group", "adm"], "0", "4"),
    ];
    on_mechanisms(Program::Weir, |combination| {
        for (flags, uid, gid) in rows {
            let server = combination.start(&site.root(), flags);
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
            let pids = [vec![server.pid()], workers_of(server.pid())].concat();
            assert!(pids.len() > 1, "{combination}: a worker");
            for pid in pids {
                assert_eq!(status(pid, "Uid"), [uid; 4].join(" "), "{combination} {flags:?}");
                assert_eq!(status(pid, "Gid"), [gid; 4].join(" "), "{combination} {flags:?}");
                assert_eq!(status(pid, "Groups"), "", "{combination} {flags:?}");
            }
            server.stop();
        }
    });
}

#[test]
fn workers_are_confined_unless_that_is_turned_off() {
    let site = Fixture::new();
    let rows: [(&[&str], &str, &str, &str); 3] = [
        (&[], "1", "2", "confined by landlock and seccomp"),
        (&["--seccomp", "off", "--landlock", "on"], "1", "0", "confined by landlock"),
        (&["--seccomp", "off", "--landlock", "off"], "0", "0", ""),
    ];
    on_mechanisms(Program::Weir, |combination| {
        for (flags, gains_nothing, filter, says) in rows {
            let server = combination.start(&site.root(), flags);
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
            // Of several one has answered, and the others are perhaps yet to begin.
            for pid in workers_of(server.pid()) {
                let told = || [status(pid, "NoNewPrivs"), status(pid, "Seccomp")];
                let is_so = await_true(PATIENCE, || told() == [gains_nothing, filter]);
                assert!(is_so, "{combination} {flags:?}: {:?}", told());
            }
            assert!(server.stop().contains(says), "{combination} {flags:?}");
        }
    });
}

/// A link that leads away is the only way out that a client has, and the root is the only link
/// that is followed.
#[test]
fn a_root_is_swapped_beside_its_link_and_nowhere_else() {
    let home = tempfile::tempdir().expect("a directory");
    let away = tempfile::tempdir().expect("a directory");
    let home = home.path();
    for (place, name) in [(home, "one"), (home, "two"), (away.path(), "three")] {
        fs::create_dir(place.join(name)).expect("a release");
        fs::write(place.join(name).join("index.html"), name).expect("an index");
    }
    let settings = no_settings(home);
    let swap = |combination: &str, to: &std::path::Path| {
        let (next, link) = (home.join(format!("next-{combination}")), home.join(combination));
        symlink(to, &next).expect("a link");
        fs::rename(next, link).expect("swapped");
    };
    on_mechanisms(Program::Weir, |combination| {
        let name = combination.to_string().replace(' ', "-");
        swap(&name, &home.join("one"));
        let server =
            combination.start(&home.join(&name), &["--landlock", "on", "--config", &settings]);
        let shows = |expected: Result<&[u8], &str>| {
            let is_it = || match (server.fetch("/"), expected) {
                (Ok(body), Ok(expected)) => body == expected,
                (Err(fault), Err(expected)) => fault == expected,
                _ => false,
            };
            assert!(await_true(PATIENCE, is_it), "{combination}: {:?}", server.fetch("/"));
        };
        shows(Ok(b"one"));
        swap(&name, &home.join("two"));
        shows(Ok(b"two"));
        swap(&name, &away.path().join("three"));
        shows(Err("status 403"));
        server.signal(rustix::process::Signal::HUP);
        shows(Ok(b"three"));
        server.stop();
    });
}

/// Where links may lead is reached by workers that are confined, and by a reload more of it.
#[test]
fn a_link_is_followed_out_of_the_root_where_a_rule_permits() {
    on_mechanisms(Program::Weir, |combination| {
        let home = Home::new(Fixture::small());
        let place = home.path("").canonicalize().expect("a home");
        let large = pattern(LARGE_BYTES);
        for (name, content) in [
            ("releases/1/index.html", &b"one"[..]),
            ("releases/1/large.bin", &large),
            ("releases/2/index.html", b"two"),
            ("more/index.html", b"more"),
            ("secrets/index.html", b"SECRET"),
        ] {
            write(&place.join(name), content);
        }
        let link = |to: &str, name: &str| {
            let next = home.path("next");
            symlink(place.join(to), &next).expect("a link");
            fs::rename(next, home.site.root().join(name)).expect("in its place");
        };
        for (to, name) in [("releases/1", "current"), ("more", "more"), ("secrets", "secrets")] {
            link(to, name);
        }
        let configure = |places: &str| {
            let rules = format!(
                "listen = \"127.0.0.1:0\"\nlandlock = \"on\"\nidle-grace-ms = 60000\n\
                 [[host]]\nnames = \"weir.test\"\nroot = {:?}\n\
                 [[host.rule]]\nat = \"/\"\nfollow-links = {places}\n",
                home.site.root(),
            );
            home.configure(combination, &rules);
        };
        configure("[\"releases\"]");
        let mut server = home.serve(&Program::Weir.path());
        let shows = |server: &Server, target: &str, expected: Result<&[u8], &str>| {
            let expected = expected.map(<[u8]>::to_vec).map_err(String::from);
            let is_it = || server.fetch(target) == expected;
            assert!(await_true(PATIENCE, is_it), "{combination} {target}");
        };
        shows(&server, "/current/", Ok(b"one"));
        shows(&server, "/current/large.bin", Ok(&large));
        shows(&server, "/more/", Err("status 404"));
        shows(&server, "/secrets/", Err("status 404"));
        link("secrets", "current");
        shows(&server, "/current/", Err("status 404"));
        link("releases/2", "current");
        shows(&server, "/current/", Ok(b"two"));
        configure("[\"releases\", \"more\"]");
        server.signal(rustix::process::Signal::HUP);
        server.await_line("retires");
        shows(&server, "/more/", Ok(b"more"));
        shows(&server, "/current/", Ok(b"two"));
        shows(&server, "/secrets/", Err("status 404"));
        // A place that is not there changes nothing.
        configure("[\"releases\", \"nowhere\"]");
        server.signal(rustix::process::Signal::HUP);
        server.await_line("not reloaded: ");
        shows(&server, "/more/", Ok(b"more"));
        server.stop();
    });
}

#[test]
fn who_cannot_be_found_or_become_is_told_in_one_line() {
    let check = |code: Option<i32>, errors: &str, expected: i32, says: &[&str]| {
        assert_eq!(code, Some(expected), "{errors}");
        assert_eq!(errors.lines().count(), 1, "one line, not {errors:?}");
        for word in says {
            assert!(errors.contains(word), "{errors:?} does not name {word:?}");
        }
    };
    let rows: [(&[&str], &[&str]); 5] = [
        (&["--user", "nobody-at-all"], &["--user nobody-at-all", "/etc/passwd"]),
        (&["--group", "nobody-at-all"], &["--group nobody-at-all", "/etc/group"]),
        (&["--user", "54321"], &["--user 54321", "--group"]),
        (&["--user", "4294967295", "--group", "0"], &["4294967295"]),
        (&["--landlock", "maybe"], &["--landlock", "on, off or auto"]),
    ];
    for (flags, says) in rows {
        let mut command = Command::new(Program::Weir.path());
        command.args(["serve", ".", "--listen", "127.0.0.1:0"]).args(flags);
        let (code, _, errors) = run(&mut command).expect("the binary runs");
        check(code, &errors, 2, says);
    }
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("its mode");
    let root = home.path().to_str().expect("UTF-8");
    let flags = ["serve", root, "--listen", "127.0.0.1:0", "--user", "root"];
    let mut command = as_nobody(home.path(), &flags.map(str::to_owned));
    let (code, _, errors) = run(&mut command).expect("setpriv");
    check(code, &errors, 3, &["--user root", "start as root"]);
}

/// Whoever is that user already needs no right to become it.
#[test]
fn who_is_the_user_already_stays_so() {
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("its mode");
    fs::write(home.path().join("index.html"), "here").expect("an index");
    let root = home.path().to_str().expect("UTF-8");
    let flags = ["serve", root, "--listen", "127.0.0.1:0", "--user", "nobody"];
    let server = Server::start(as_nobody(home.path(), &flags.map(str::to_owned)), 0);
    assert_eq!(server.fetch("/"), Ok(b"here".to_vec()));
    server.stop();
}

/// The log is judged as the user who will have to open it again.
#[test]
fn a_log_that_the_user_may_not_write_is_told() {
    if rights::lacks_users() {
        return;
    }
    let site = Fixture::new();
    fs::set_permissions(site.beside(""), Permissions::from_mode(0o755)).expect("its mode");
    let log = site.beside("access.log");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(site.root()).args(["--listen", "127.0.0.1:0", "--user", "nobody"]);
    let (code, _, errors) = run(command.arg("--access-log").arg(&log)).expect("the binary runs");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--access-log") && errors.lines().count() == 1, "{errors}");
}

/// A check tries what each of the two users opens: who starts the server, and who serves.
#[test]
fn a_check_is_that_of_who_would_open() {
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    for (name, mode) in [("", 0o755), ("site", 0o755), ("closed", 0o700), ("open", 0o777)] {
        let place = home.path().join(name);
        fs::create_dir_all(&place).expect("a directory");
        fs::set_permissions(place, Permissions::from_mode(mode)).expect("its mode");
    }
    let denied = "Permission denied (os error 13); name a file to write";
    let log = |line: u32| format!("{line}:14: access-log: closed/log: {denied}");
    let trace = |line: u32| format!("{line}:9: trace: closed/trace: {denied}");
    let both = "trace = \"closed/trace\"\naccess-log = \"closed/log\"\n";
    // By root, and by who may not become anybody.
    let rows: [(&str, &[String], &[String]); 4] = [
        (both, &[], &[trace(2), log(3)]),
        (&format!("user = \"nobody\"\n{both}"), &[log(4)], &[trace(3), log(4)]),
        (&format!("user = \"daemon\"\n{both}"), &[log(4)], &[]),
        ("trace = \"closed/trace\"\naccess-log = \"open/log\"\n", &[], &[trace(2)]),
    ];
    for (text, by_root, by_nobody) in rows {
        fs::write(home.path().join("weir.toml"), format!("root = \"site\"\n{text}")).expect("it");
        let arguments = ["check", "weir.toml"].map(str::to_owned);
        let mut root = Command::new(Program::Weir.path());
        root.args(&arguments);
        let nobody = as_nobody(home.path(), &arguments);
        for (mut command, expected) in [(root, by_root), (nobody, by_nobody)] {
            command.current_dir(home.path());
            let (code, _, errors) = run(&mut command).expect("the binary runs");
            let told: Vec<_> = errors.lines().collect();
            let expected = expected.iter().map(|line| format!("weir: weir.toml:{line}"));
            assert_eq!(told, expected.collect::<Vec<_>>(), "{text}");
            assert_eq!(code, Some(if told.is_empty() { 0 } else { 2 }), "{text}");
        }
        assert!(fs::read_dir(home.path().join("closed")).expect("it").next().is_none(), "{text}");
    }
}

/// Most homes are closed to him, and some are none; that of whoever has none is no reason to serve
/// nobody.
#[test]
fn homes_that_are_closed_to_the_user_do_not_matter() {
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("its mode");
    let config = home.path().join("weir.toml");
    let rules = "[[host]]\nnames = [\"*\"]\n\
                 [[host.rule]]\nat = \"/\"\nuser-directories = \"public_html\"\n\
                 [[host.rule]]\nat = \"/\"\nroot = \".\"\n";
    fs::write(&config, rules).expect("a file");
    fs::write(home.path().join("index.html"), "here").expect("an index");
    let config = config.to_str().expect("UTF-8");
    let flags = ["serve", "--config", config, "--listen", "127.0.0.1:0", "--landlock", "on"];
    let mut command = as_nobody(home.path(), &flags.map(str::to_owned));
    command.current_dir(home.path());
    let server = Server::start(command, 0);
    assert_eq!(server.fetch("/"), Ok(b"here".to_vec()));
    assert_eq!(server.fetch("/~root/x"), Err(String::from("status 404")));
    server.stop();
}

/// A name such as /dev/stdout stands for a file that lies elsewhere.
#[test]
fn a_log_may_be_the_standard_output_that_is_a_file() {
    let site = Fixture::new();
    let log = site.beside("said");
    let output = fs::OpenOptions::new().create(true).append(true).open(&log).expect("a file");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(site.root()).args(["--listen", "127.0.0.1:0", "--admin", "off"]);
    command.args(["--landlock", "on", "--access-log", "/dev/stdout"]).stdout(output);
    let mut child = harness::KilledOnDrop(command.spawn().expect("the binary"));
    let said = || fs::read_to_string(&log).expect("UTF-8");
    let listens = || {
        let said = said();
        let (address, _) = said.split_once("http://")?.1.split_once('/')?;
        address.parse().ok()
    };
    let address = await_some(PATIENCE, listens).expect("where it listens");
    let mut wire = Wire::connect(address, 0).expect("a connection");
    wire.get("/digits.txt", "").expect("sent");
    assert_eq!(wire.reply(false).expect("a reply").1, DIGITS);
    let has_line = await_true(PATIENCE, || said().contains("\"GET /digits.txt HTTP/1.1\" 200"));
    crate::support::server::send(child.0.id(), rustix::process::Signal::TERM);
    assert_eq!(harness::await_end(&mut child.0).code(), Some(0));
    assert!(has_line, "{}", said());
}
