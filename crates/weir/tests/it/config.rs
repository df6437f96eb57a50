//! A configuration file as its operator meets it: checked, served by, read again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::combination::Program;
use crate::support::command::run;
use crate::support::server::Server;
use crate::support::{PATIENCE, await_true};
use harness::Need;
use rustix::process::Signal;

/// Wrong usage or configuration.
const USAGE: i32 = 2;
/// The machine refuses.
const MACHINE: i32 = 3;

/// A directory with two sites of one file each.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a directory"));
        for site in ["one", "two"] {
            fs::create_dir(folder.0.path().join(site)).expect("a root");
            folder.write(&format!("{site}/name"), site);
        }
        folder
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.0.path().join(name), content).expect("written");
    }

    /// All that is there, and what is in it.
    fn content(&self) -> Vec<(PathBuf, String)> {
        let names = fs::read_dir(self.0.path()).expect("a directory");
        let paths = names.map(|entry| entry.expect("a name").path()).filter(|path| !path.is_dir());
        let mut all: Vec<_> =
            paths.map(|path| (path.clone(), fs::read_to_string(path).expect("UTF-8"))).collect();
        all.sort();
        all
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Program::Weir.path());
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// What a command says, and its lines of mistakes.
    fn run(&self, arguments: &[&str], status: i32) -> (String, Vec<String>) {
        let (code, output, errors) = run(&mut self.command(arguments)).expect("the binary runs");
        assert_eq!(code, Some(status), "{arguments:?}: {output}{errors}");
        (output, errors.lines().map(String::from).collect())
    }
}

#[test]
fn mistakes_are_told_each_on_its_line() {
    let folder = Folder::new();
    folder.write("weir.toml", "acept-limit = 3\nbacklog = 0\nhelpers = 4\n");
    folder.write("contrary.toml", "architecture = \"mt\"\nthreads = 4\nthreads-min = 5\n");
    let expected = [
        "weir: weir.toml:1:1: acept-limit: no such key; did you mean `accept-limit`?",
        "weir: weir.toml:2:11: backlog: must be a number from 1 to 65535, or auto, not 0",
        "weir: weir.toml:3:1: helpers: sped does not take it (amped, knot, proactor, tux would); \
         leave it out",
    ];
    folder.write("user.toml", "user = \"no such\"\n");
    let rows: [(&[&str], &[&str]); 8] = [
        (
            &["check", "user.toml"],
            &["weir: user.toml:1:8: user: no such: /etc/passwd has no such user; name one that \
               it has"],
        ),
        (&["check", "weir.toml"], &expected),
        (&["serve", "--config", "weir.toml"], &expected),
        (&["serve", "--config", "weir.toml", "--architecture", "amped"], &expected[..2]),
        (&["serve", "--config", "one"], &["weir: one: is a directory; name a file in it"]),
        (
            &["serve", "--config", "weir.toml", "--architecture", "apache"],
            &["weir: --architecture apache: must be one of sped, symped, shared-symped, \
                 amped, mt, thread-per-request, mp, knot, watpipe, pipelined, seda, proactor, tux"],
        ),
        (
            &["check", "contrary.toml"],
            &["weir: contrary.toml:3:15: threads-min: 5 is more than `threads` 4"],
        ),
        (
            &["check", "one/../two/name", "--explain", "http://a/"],
            &["weir: one/../two/name:1:4: key with no value, expected `=`"],
        ),
    ];
    for (arguments, lines) in rows {
        let (output, errors) = folder.run(arguments, USAGE);
        assert_eq!((output.as_str(), errors), ("", told(lines)), "{arguments:?}");
    }
}

/// What a file names and cannot be had: told by `check` without a trace, and by `serve` in the same
/// words.
#[test]
fn what_cannot_be_opened_is_told_with_its_place() {
    let folder = Folder::new();
    folder.write("in.toml", "error-log = \"nodir/in.log\"\n");
    folder.write("old.log", "a line\n");
    let before = folder.content();
    let missing = "No such file or directory (os error 2)";
    let mut count = 0;
    for row in include_str!("config/unopened.txt").split("---\n").skip(1) {
        let at = row.find("\n> ").expect("a mistake in each row");
        let host = "[[host]]\nnames = \"*\"\nroot = \"one\"\n[[host.rule]]";
        let text = row[..=at].replace("HOST", host);
        let lines = row[at + 3..].trim_end().split("\n> ");
        let lines = lines.map(|line| format!("weir: {}", line.replace("ENOENT", missing)));
        let lines: Vec<_> = lines.collect();
        folder.write("weir.toml", &text);
        let (output, told) = folder.run(&["check", "weir.toml"], USAGE);
        assert_eq!((output.as_str(), &told), ("", &lines), "{text}");
        let mut serve = vec!["serve", "--config", "weir.toml"];
        for flag in [["--listen", "127.0.0.1:0"], ["--admin", "off"]] {
            let is_in_file = text.contains(&format!("{} =", &flag[0][2..]));
            serve.extend(flag.iter().filter(|_| !is_in_file));
        }
        let (code, output, errors) = run(&mut folder.command(&serve)).expect("the binary runs");
        assert!(code == Some(USAGE) || code == Some(MACHINE), "{code:?}: {text}");
        // What it opens it opens in turn, so that it may not come to the others.
        let told: Vec<_> = errors.lines().map(String::from).collect();
        assert!(
            !told.is_empty() && told.iter().all(|line| lines.contains(line)),
            "{told:?}: {text}"
        );
        assert_eq!(output, "", "{text}");
        count += 1;
    }
    assert!(count > 10, "only {count} rows");
    fs::remove_file(folder.0.path().join("weir.toml")).expect("it");
    assert_eq!(folder.content(), before, "something is left behind");
}

/// A flag that wins over the file is what is named.
#[test]
fn a_flag_is_named_as_a_flag() {
    let folder = Folder::new();
    folder.write(
        "weir.toml",
        "listen = \"127.0.0.1:0\"\nuser = \"root\"\naccess-log = \"x.log\"\nprocesses = 4\n",
    );
    let rows: [(&[&str], &str); 4] = [
        (&["--user", "no such"], "--user no such: /etc/passwd has no such user; name one"),
        (&["--listen", "unix:no/x"], "cannot listen on unix:no/x: No such file or directory"),
        (&["--access-log", "no/x"], "--access-log no/x: No such file or directory (os error 2);"),
        // The one of the two that stands in the file.
        (
            &["--connections-max", "3"],
            "weir.toml:4:13: processes: 4 is more than --connections-max 3",
        ),
    ];
    // The server refuses the first two before it becomes the user.
    let rows = if harness::lacks(&[Need::Root]) { &rows[..2] } else { &rows };
    for (flags, begins) in rows {
        let serve = [&["serve", "--config", "weir.toml"], *flags].concat();
        let (_, _, errors) = run(&mut folder.command(&serve)).expect("the binary runs");
        let begins = format!("weir: {begins}");
        assert!(errors.starts_with(&begins) && errors.lines().count() == 1, "{errors}");
    }
}

/// What is there and in order is tried and stays as it was.
#[test]
fn a_check_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.write("old.log", "a line\n");
    folder.write(
        "weir.toml",
        "listen = [\"127.0.0.1:0\", \"unix:socket\"]\naccess-log = \"new.log\"\n\
         error-log = \"old.log\"\ntrace = \"trace\"\nadmission-log = \"/dev/null\"\n\
         pid-file = \"pid\"\nadmin = \"unix:admin\"\nroot = \"one\"\n",
    );
    let before = folder.content();
    let (_, errors) = folder.run(&["check", "weir.toml"], 0);
    assert_eq!((errors, folder.content()), (Vec::new(), before.clone()));
    // Nor is a server in the way that has it all.
    let server = Server::start(folder.command(&["serve", "--config", "weir.toml"]), 0);
    folder.run(&["check", "weir.toml"], 0);
    assert_eq!(server.fetch("/name"), Ok("one".into()));
    server.stop();
}

fn told(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| String::from(*line)).collect()
}

#[test]
fn a_good_file_is_summed_up_and_explained() {
    let folder = Folder::new();
    folder.write(
        "weir.toml",
        "cache-mb = 7\nroot = \"two\"\n[[host]]\nnames = [\"a.org\"]\nroot = \"one\"\n",
    );
    let (output, errors) = folder.run(&["check", "weir.toml"], 0);
    assert_eq!(errors, [""; 0]);
    for line in ["listen :8080", "architecture sped", "cache-mb 7", "host a.org", "host *"] {
        assert!(output.contains(line), "{line}: {output}");
    }
    let rows = [("http://a.org/x", "host a.org"), ("http://b.org/x", "host *")];
    for (url, line) in rows {
        let (output, _) = folder.run(&["check", "weir.toml", "--explain", url], 0);
        assert_eq!(output.lines().next(), Some(line), "{url}");
        assert!(output.contains("answers   /  root"), "{output}");
    }
    folder.run(&["check", "weir.toml", "--explain", "ftp://a.org/"], USAGE);
}

/// The flags' values take the place of all that the file has.
#[test]
fn lists_are_lists_in_flags_and_in_the_file() {
    let folder = Folder::new();
    let rows: [(&str, &[&str], &str); 6] = [
        ("proxy-protocol", &[], "proxy-protocol 10.0.0.0/8,::1/128"),
        ("proxy-protocol", &["::2", "::3"], "proxy-protocol ::2/128,::3/128"),
        ("proxy-protocol", &["::2,::3", "::4"], "proxy-protocol ::2/128,::3/128,::4/128"),
        ("proxy-protocol", &["off"], "limits"),
        ("trusted-proxies", &["::2,unix", "::3"], "trusted-proxies ::2/128,unix,::3/128"),
        ("trusted-proxies", &["off"], "limits"),
    ];
    for (name, values, line) in rows {
        let text = format!("listen = \"127.0.0.1:0\"\n{name} = [\"10.0.0.0/8\", \"::1\"]\n");
        folder.write("weir.toml", &text);
        let flag = format!("--{name}");
        let values = values.iter().flat_map(|value| [&*flag, value]);
        let arguments: Vec<_> =
            ["serve", "--config", "weir.toml"].into_iter().chain(values).collect();
        let mut server = Server::start(folder.command(&arguments), 0);
        let line = server.await_line(line);
        assert!(!line.contains("10.0.0.0/8,::1/128,"), "{line}");
        server.stop();
    }
}

/// They may be meant so, and are told with the summary.
#[test]
fn rules_that_no_request_meets_are_told() {
    let folder = Folder::new();
    folder.write(
        "weir.toml",
        "listen = \"127.0.0.1:0\"\n[[host]]\nnames = [\"*\"]\nroot = \"one\"\n\
         [[host.rule]]\nat = \"/\"\nanswer = 503\n",
    );
    let warning = "warning: weir.toml:4:8: no request meets this rule: that in weir.toml:7:10 \
                   answers all of its paths before";
    let (output, errors) = folder.run(&["check", "weir.toml"], 0);
    assert!(output.contains("host *") && errors == [format!("weir: {warning}")], "{errors:?}");
    let mut server = Server::start(folder.command(&["serve", "--config", "weir.toml"]), 0);
    server.await_line(warning);
    server.stop();
}

#[test]
fn whose_help_tells_more_is_said() {
    let folder = Folder::new();
    let rows: [(&[&str], &str); 4] = [
        (&["check"], "weir check --help"),
        (&["serve", "--listne"], "weir serve --help"),
        (&["completions", "cmd.exe"], "weir completions --help"),
        (&["sevre"], "weir --help"),
    ];
    for (arguments, help) in rows {
        let (_, errors) = folder.run(arguments, USAGE);
        assert!(errors.len() == 1 && errors[0].ends_with(help), "{errors:?}");
    }
}

#[test]
fn flags_win_over_the_file_and_without_a_flag_no_file_is_read() {
    let folder = Folder::new();
    folder.write("weir.toml", "root = \"one\"\nlisten = \"127.0.0.1:0\"\ncache-mb = 7\n");
    let rows: [(&[&str], &str, &str); 4] = [
        (&["--config", "weir.toml"], "one", "cache-mb 7"),
        (&["--config", "weir.toml", "--cache-mb", "8"], "one", "cache-mb 8"),
        (&["two", "--config", "weir.toml"], "two", "cache-mb 7"),
        (&["two", "--listen", "127.0.0.1:0"], "two", "cache"),
    ];
    for (arguments, expected, knob) in rows {
        let mut server = Server::start(folder.command(&[&["serve"], arguments].concat()), 0);
        assert_eq!(server.addresses.len(), 1, "{arguments:?}");
        assert_eq!(server.fetch("/name"), Ok(expected.into()), "{arguments:?}");
        server.await_line(knob);
        server.stop();
    }
}

#[test]
fn the_file_is_read_again_and_a_bad_one_changes_nothing() {
    let folder = Folder::new();
    let serves = |root| folder.write("weir.toml", &format!("root = {root:?}"));
    serves("one");
    let arguments = ["serve", "--config", "weir.toml", "--listen", "127.0.0.1:0"];
    let mut server = Server::start(folder.command(&arguments), 0);
    assert_eq!(server.fetch("/name"), Ok("one".into()));
    for (root, line, expected) in [
        ("two", "retires", "two"),
        ("three", "weir.toml:1:8: root:", "two"),
        ("one", "retires", "one"),
    ] {
        serves(root);
        server.signal(Signal::HUP);
        server.await_line(line);
        // Who retires may still take who was waiting.
        let serves = await_true(PATIENCE, || server.fetch("/name") == Ok(expected.into()));
        assert!(serves, "{root}: not {expected}");
    }
    server.stop();
}

#[test]
fn a_reload_is_refused_with_the_place() {
    let folder = Folder::new();
    let good = "root = \"one\"\n";
    folder.write("weir.toml", good);
    let arguments = ["serve", "--config", "weir.toml", "--listen", "127.0.0.1:0"];
    let mut server = Server::start(folder.command(&arguments), 0);
    let rows: [(&str, &[&str]); 4] = [
        ("access-log = \"no/x\"\n", &["weir.toml:2:14: access-log: no/x: No such file"]),
        ("error-log = \"no/x\"\n", &["weir.toml:2:13: error-log: no/x: No such file"]),
        (
            "user = \"no such\"\ngroup = \"nor this\"\n",
            &[
                "weir.toml:3:9: group: nor this: /etc/group has no",
                "weir.toml:2:8: user: no such: /etc/passwd has no",
            ],
        ),
        (
            "[[host]]\nnames = \"a\"\nrule = [{ at = \"/a\", redirect = \"/a\" }]\n",
            &["weir.toml:4:33: host.rule.redirect: leads back to itself"],
        ),
    ];
    for (text, lines) in rows {
        folder.write("weir.toml", &format!("{good}{text}"));
        server.signal(Signal::HUP);
        for line in lines {
            server.await_line(&format!("not reloaded: {line}"));
        }
        assert_eq!(server.fetch("/name"), Ok("one".into()), "{text}");
    }
    folder.write("weir.toml", good);
    server.signal(Signal::HUP);
    server.await_line("retires");
    server.stop();
}

#[test]
fn shells_get_every_flag() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = folder.run(&["completions", shell], 0);
        for name in servers::knobs::all().map(|knob| knob.name).chain(["config", "explain"]) {
            assert!(script.contains(name), "{shell}: {name}");
        }
        let path = folder.0.path().join(shell);
        fs::write(&path, script).expect("written");
        judged(shell, &path);
    }
    folder.run(&["completions", "cmd.exe"], USAGE);
}

/// The shell itself judges its script.
#[track_caller]
fn judged(shell: &'static str, script: &Path) {
    if !harness::lacks(&[Need::Program(shell)]) {
        let (code, _, errors) = run(Command::new(shell).arg("-n").arg(script)).expect(shell);
        assert_eq!(code, Some(0), "{shell}: {errors}");
    }
}
