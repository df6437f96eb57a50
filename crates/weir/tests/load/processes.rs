//! Runs that several processes share, and what may happen to these.

use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::runs::answering;
use crate::support::PATIENCE;
use crate::support::processes::children;
use crate::support::server::send;

/// A run of two processes against somebody who answers, which has begun.
fn begun(flags: &[&str]) -> Child {
    let (address, asked) = answering();
    let url = format!("http://{address}/");
    let run = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["load", &url, "--rate", "100", "--processes", "2", "--json", "-"])
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    for _ in 0..5 {
        asked.recv_timeout(PATIENCE).expect("a request");
    }
    // Whoever answers does so until nobody asks.
    std::thread::spawn(move || asked.into_iter().count());
    run
}

/// To the process that was forked last.
fn signal_second(run: &Child, signal: Signal) {
    let second = *children(run.id()).iter().max().expect("it has forked");
    send(second, signal);
}

#[test]
fn a_run_ends_with_the_first_process_that_does() {
    let run = begun(&["--duration", "600"]);
    signal_second(&run, Signal::KILL);
    let ended = run.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(3));
    let errors = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(errors, "weir: process 1 was killed by signal 9, without its results\n");
}

#[test]
fn a_process_alone_ends_nothing_early() {
    let run = begun(&["--sessions", "60"]);
    signal_second(&run, Signal::TERM);
    signal_second(&run, Signal::INT);
    let ended = run.wait_with_output().expect("it ends");
    let report: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(report["outcomes"], serde_json::json!({ "good": 60 }));
}
