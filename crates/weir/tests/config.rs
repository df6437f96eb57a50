//! A configuration file as its operator meets it: checked, served by, read again.
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use support::server::{Program, Server, run};
use support::{PATIENCE, await_true};

/// Wrong usage or configuration.
const USAGE: i32 = 2;

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
    folder.write("weir.toml", "acept-limit = 3\nbacklog = 0\nthreads = 4\n");
    folder.write("contrary.toml", "architecture = \"mt\"\nthreads = 4\nthreads-min = 5\n");
    let expected = [
        "weir: weir.toml:1:1: acept-limit: no such key; did you mean `accept-limit`?",
        "weir: weir.toml:2:11: backlog: must be a number from 1 to 65535, or auto, not 0",
        "weir: weir.toml:3:1: threads: sped does not take it (mt would); leave it out",
    ];
    folder.write("user.toml", "user = \"no such\"\n");
    let rows: [(&[&str], &[&str]); 8] = [
        (
            &["check", "user.toml"],
            &["weir: user.toml: --user no such: /etc/passwd has no such user; name one that it \
               has"],
        ),
        (&["check", "weir.toml"], &expected),
        (&["serve", "--config", "weir.toml"], &expected),
        (&["serve", "--config", "weir.toml", "--architecture", "mt"], &expected[..2]),
        (&["serve", "--config", "one"], &["weir: one: is a directory; name a file in it"]),
        (
            &["serve", "--config", "weir.toml", "--architecture", "apache"],
            &["weir: --architecture apache: must be one of sped, amped, mt, proactor"],
        ),
        (
            &["check", "contrary.toml"],
            &["weir: contrary.toml: --threads-min 5 is more than --threads 4"],
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
    for line in ["listen 0.0.0.0:8080", "architecture sped", "cache-mb 7", "host a.org", "host *"] {
        assert!(output.contains(line), "{line}: {output}");
    }
    let rows = [("http://a.org/x", "host a.org"), ("http://b.org/x", "host *")];
    for (url, line) in rows {
        let (output, _) = folder.run(&["check", "weir.toml", "--explain", url], 0);
        assert_eq!(output.lines().next(), Some(line), "{url}");
        assert!(output.contains("answers   /  root"), "{output}");
    }
    folder.run(&["check", "weir.toml", "--explain", "a.org"], USAGE);
}

/// The flags' values take the place of all that the file has.
#[test]
fn lists_are_lists_in_flags_and_in_the_file() {
    let folder = Folder::new();
    folder.write(
        "weir.toml",
        "listen = \"127.0.0.1:0\"\nproxy-protocol = [\"10.0.0.0/8\", \"::1\"]\n",
    );
    let rows: [(&[&str], &str); 4] = [
        (&[], "proxy-protocol 10.0.0.0/8,::1/128"),
        (&["::2", "::3"], "proxy-protocol ::2/128,::3/128"),
        (&["::2,::3", "::4"], "proxy-protocol ::2/128,::3/128,::4/128"),
        (&["off"], "limits"),
    ];
    for (values, line) in rows {
        let values = values.iter().flat_map(|value| ["--proxy-protocol", value]);
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
    let warning = "warning: weir.toml:4: no request meets this rule: that in weir.toml:7 answers \
                   all of its paths before";
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

/// The shell itself judges its script, where the machine has it.
fn judged(shell: &str, script: &Path) {
    if let Ok(judged) = Command::new(shell).arg("-n").arg(script).output() {
        assert!(judged.status.success(), "{shell}: {judged:?}");
    }
}
