//! One directory shared by flags alone: what is listed, what is said instead of a 404, and what the
//! operator hears of one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program};
use crate::support::command::run;
use crate::support::server::Server;
use crate::support::{PATIENCE, await_true};
use rustix::process::Signal;

/// Wrong usage or configuration.
const USAGE: i32 = 2;

/// A directory without an index file.
struct Share(tempfile::TempDir);

impl Share {
    fn new() -> Self {
        let share = Self(tempfile::tempdir().expect("a directory"));
        for (name, content) in [
            ("root/docs/a.txt", "a"),
            ("root/app.html", "the app"),
            ("root/missing.html", "nothing here"),
            ("outside/secret", "secret"),
        ] {
            let path = share.0.path().join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, content).expect("written");
        }
        symlink("../outside", share.root().join("out")).expect("a link");
        share
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }

    fn serve(&self, flags: &[&str]) -> Server {
        let mut command = Command::new(Program::Weir.path());
        command.arg("serve").arg(self.root()).args(["--listen", "127.0.0.1:0", "--admin", "off"]);
        command.args(flags);
        Server::start(command, 0)
    }
}

/// The status and the content.
fn get(server: &Server, target: &str) -> (u16, String) {
    let mut wire = server.connect();
    wire.get(target, "").expect("sent");
    let (head, body) = wire.reply(false).expect("a reply");
    (head.status, String::from_utf8_lossy(&body).into_owned())
}

#[test]
fn flags_say_what_is_there_instead_of_nothing() {
    let share = Share::new();
    let rows: [(&[&str], &str, u16, &str); 11] = [
        (&[], "/docs/", 404, "Not Found"),
        (&["--listing"], "/docs/", 200, "a.txt"),
        (&["--listing"], "/app.html", 200, "the app"),
        (&["--listing"], "/docs/b", 404, "Not Found"),
        (&["--fallback", "/app.html"], "/docs/b", 200, "the app"),
        (&[], "/app", 404, "Not Found"),
        (&["--clean-urls"], "/app", 200, "the app"),
        (&["--clean-urls", "--fallback", "/app"], "/docs/b", 200, "the app"),
        (&["--error-page", "404=/missing.html"], "/docs/b", 404, "nothing here"),
        (&["--listing", "--error-page", "404=/missing.html"], "/", 200, "docs/"),
        (&["--error-page", "404=/missing.html", "--error-page", "405=/app.html"], "/b", 404, "no"),
    ];
    for (flags, target, status, part) in rows {
        let server = share.serve(flags);
        let (got, content) = get(&server, target);
        assert!(got == status && content.contains(part), "{flags:?} {target}: {got} {content}");
        assert!(server.said.contains(&*share.root().to_string_lossy()), "{}", server.said);
        server.stop();
    }
}

#[test]
fn flags_hold_after_a_reload_and_beside_a_file_without_hosts() {
    let share = Share::new();
    let file = share.0.path().join("weir.toml");
    fs::write(&file, "cache-mb = 8\n").expect("written");
    let mut server = share.serve(&["--listing", "--config", file.to_str().expect("UTF-8")]);
    assert_eq!(get(&server, "/docs/").0, 200);
    server.signal(Signal::HUP);
    server.await_line("generation 2 serves");
    assert_eq!(get(&server, "/docs/").0, 200);
    server.stop();
}

#[test]
fn what_cannot_be_meant_is_told_in_one_line() {
    let share = Share::new();
    let file = share.0.path().join("hosts.toml");
    fs::write(&file, "[[host]]\nnames = [\"a\"]\nroot = \"root\"\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let rows: [(&[&str], &[&str]); 14] = [
        (&["--listing", "--listing"], &["--listing"]),
        (&["--clean-urls", "--clean-urls"], &["--clean-urls"]),
        (&["--clean-urls=yes"], &["--clean-urls", "yes"]),
        (&["--clean-url"], &["did you mean `--clean-urls`"]),
        (&["--config", file, "--clean-urls"], &["--clean-urls", "hosts.toml has hosts", "rule"]),
        (&["--fallback", "/a", "--fallback", "/b"], &["--fallback"]),
        (&["--fallback", "app.html"], &["--fallback app.html", "slash"]),
        (&["--error-page", "404"], &["--error-page 404: must be CODE=PATH"]),
        (&["--error-page", "x=/missing.html"], &["CODE=PATH", "404=/missing.html"]),
        (&["--error-page", "404=x"], &["--error-page 404=x", "slash"]),
        (&["--error-page", "200=/missing.html"], &["--error-page 200=/missing.html", "200", "400"]),
        (&["--error-page", "404=/not-there"], &["--error-page 404=/not-there: cannot read"]),
        (
            &["--error-page", "404=/missing.html", "--error-page", "404=/app.html"],
            &["--error-page 404=/app.html", "404=/missing.html is there", "leave one out"],
        ),
        (&["--config", file, "--listing"], &["--listing", "hosts.toml has hosts", "rule"]),
    ];
    for (flags, parts) in rows {
        let mut command = Command::new(Program::Weir.path());
        command.arg("serve").arg(share.root()).args(["--listen", "127.0.0.1:0"]).args(flags);
        let (code, output, errors) = run(&mut command).expect("the binary runs");
        assert_eq!((code, errors.lines().count()), (Some(USAGE), 1), "{flags:?}: {output}{errors}");
        for part in parts {
            assert!(errors.contains(part), "{flags:?}: {errors}");
        }
    }
}

/// Once, however often a path is asked for; and not where the directory is listed.
#[test]
fn the_operator_hears_why_it_is_404() {
    let share = Share::new();
    let root = share.root();
    let no_index = format!("info worker 0: 404 for {}/: it has no index.html", root.display());
    let leads_out = format!("warn worker 0: 404 for {}/out: a symbolic link", root.display());
    on_mechanisms_alone(Program::Weir, |combination: &Combination| {
        for (target, told) in [("/", &no_index), ("/out/secret", &leads_out)] {
            let home = tempfile::tempdir().expect("a directory");
            let errors = home.path().join("error.log");
            let flags = ["--error-log", errors.to_str().expect("UTF-8"), "--answer-age-ms", "0"];
            // Each process tells what it has met.
            let one = ["--processes", "1"];
            let is_several = combination.row["holder"] == "process";
            let own = if is_several { &one[..] } else { &[] };
            let server = combination.start(&root, &[&flags, own].concat());
            for _ in 0..3 {
                assert_eq!(get(&server, target).0, 404, "{combination} {target}");
            }
            assert_eq!(get(&server, "/docs/b").0, 404, "{combination}");
            server.stop();
            assert_eq!(count(&errors, "404 for "), 1, "{combination} {target}");
            assert_eq!(count(&errors, told), 1, "{combination} {target}: {told}");
        }
    });
}

/// Whatever hosts clients ask for.
#[test]
fn request_for_a_host_without_a_name_is_told_once() {
    let share = Share::new();
    let [config, errors] = ["weir.toml", "error.log"].map(|name| share.0.path().join(name));
    let host = format!("[[host]]\nnames = \"a.test\"\nroot = {:?}\n", share.root());
    fs::write(&config, host).expect("written");
    let mut command = Command::new(Program::Weir.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "off", "--config"]).arg(&config);
    command.arg("--error-log").arg(&errors);
    let server = Server::start(command, 0);
    for (host, expected) in [("a.test", 200), ("b.test", 421), ("c.test", 421), ("b.test", 421)] {
        let mut wire = server.connect();
        let request = format!("GET /docs/a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n");
        wire.send(request.as_bytes()).expect("sent");
        let (head, _) = wire.reply(false).expect("a reply");
        assert_eq!(head.status, expected, "{host}");
    }
    server.stop();
    assert_eq!(count(&errors, "421 for a host that no `names` have"), 1);
}

#[test]
fn a_link_that_leads_out_is_left_out_of_a_list() {
    let share = Share::new();
    let errors = share.0.path().join("error.log");
    let server = share.serve(&["--listing", "--error-log", errors.to_str().expect("UTF-8")]);
    let (status, content) = get(&server, "/");
    assert!(status == 200 && !content.contains("out/"), "{content}");
    assert_eq!(get(&server, "/out/").0, 404);
    let told = await_true(PATIENCE, || count(&errors, "a symbolic link that leads out") == 1);
    assert!(told, "{:?}", fs::read_to_string(&errors));
    server.stop();
}

/// Lines of the log that have it.
fn count(log: &Path, what: &str) -> usize {
    let text = fs::read_to_string(log).expect("a log");
    text.lines().filter(|line| line.contains(what)).count()
}
