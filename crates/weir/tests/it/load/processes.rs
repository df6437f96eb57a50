//! Runs that several processes share, and what may happen to these.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;

use rustix::process::Signal;

use crate::load::runs::answering_ahead;
use crate::support::processes::children;
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};
use harness::output_of;

/// A run of two processes against a server that answers, and has not answered all yet: it goes on
/// to do so when the receiver is emptied.
fn begun(flags: &[&str]) -> (Child, Receiver<String>) {
    let (address, asked) = answering_ahead(0);
    let url = format!("http://{address}/");
    let run = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["load", &url, "--rate", "100", "--processes", "2", "--json", "-"])
        .args(["--patience", "600"])
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    for _ in 0..5 {
        asked.recv_timeout(PATIENCE).expect("a request");
    }
    (run, asked)
}

/// Lets the server answer until nothing asks.
fn go_on(asked: Receiver<String>) {
    std::thread::spawn(move || asked.into_iter().count());
}

/// To the process that was started last.
fn signal_second(run: &Child, signal: Signal) {
    let second = *children(run.id()).iter().max().expect("it has started some");
    send(second, signal);
}

#[test]
fn a_run_ends_with_the_first_process_that_does() {
    let (run, asked) = begun(&["--duration", "600"]);
    signal_second(&run, Signal::KILL);
    go_on(asked);
    let ended = output_of(run);
    assert_eq!(ended.status.code(), Some(3));
    let errors = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(errors, "weir: process 1 was killed by signal 9, without its results\n");
}

#[test]
fn a_process_alone_ends_nothing_early() {
    let (run, asked) = begun(&["--sessions", "60"]);
    signal_second(&run, Signal::TERM);
    signal_second(&run, Signal::INT);
    go_on(asked);
    let ended = output_of(run);
    let report: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(report["outcomes"], serde_json::json!({ "good": 60 }));
}

/// One that reads what it is to ask from where nothing more comes.
#[test]
fn who_ends_before_the_run_begins_is_named() {
    let home = tempfile::tempdir().expect("a folder");
    let list = home.path().join("list");
    rustix::fs::mkfifoat(rustix::fs::CWD, &list, rustix::fs::Mode::RWXU).expect("a FIFO");
    let run = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["load", "http://127.0.0.1:1/", "--probe", "off", "--processes", "2"])
        .arg(format!("--workload=urls:{}", list.display()))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // The first process reads it to its end, and then starts two that wait for its begin.
    std::fs::write(&list, "/a\n").expect("a list");
    assert!(await_true(PATIENCE, || children(run.id()).len() == 2));
    signal_second(&run, Signal::KILL);
    let ended = output_of(run);
    assert_eq!(ended.status.code(), Some(3));
    let errors = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(errors, "weir: process 1 was killed by signal 9, without its results\n");
}

/// As whoever shares a run with others is told of it.
const SHARE: &str = r#"{"task": {"workload": null, "target": "/", "choices": [], "settings": []},
    "to": "127.0.0.1:1", "host": "127.0.0.1:1", "part": {"place": 1, "of": 2}}"#;

#[test]
fn who_cannot_begin_in_time_says_so() {
    let mut part = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["load", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = part.stdin.take().expect("its input");
    writeln!(input, "{}\n{{\"ns\": 1}}", SHARE.replace('\n', " ")).expect("it reads");
    let ended = output_of(part);
    let said = String::from_utf8(ended.stdout).expect("text");
    let (ready, failed) = said.trim_end().split_once('\n').expect("two words");
    assert_eq!(ready, r#""Ready""#);
    assert!(failed.contains("process 1 was late: it was to begin "), "{failed}");
}
