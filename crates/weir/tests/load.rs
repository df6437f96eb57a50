//! `weir load` against `weir serve`, against nobody, and with flags that make no sense.
#![forbid(unsafe_code)]

mod support;

use std::net::TcpListener;
use std::process::Command;

use support::fixture::Fixture;
use support::server::{Program, combinations, run};

/// The status, and all that was said.
fn load(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let (status, output, errors) = run(command.arg("load").args(arguments)).expect("it starts");
    (status, output + &errors)
}

#[test]
fn impossible_flags_are_told_in_one_line() {
    let rows: &[(&[&str], &str)] = &[
        (&[], "URL"),
        (&["localhost"], "localhost: a URL begins with http://"),
        (&["https://localhost"], "https is not spoken here"),
        (&["http://localhost", "--rate", "0"], "a rate is a positive number"),
        (&["http://localhost", "--rate", "-1"], "a rate is a positive number"),
        (&["http://localhost", "--rate", "many"], "--rate many: must be a positive number"),
        (&["http://localhost", "--rate", "1", "--clients", "1"], "cannot be used with"),
        (&["http://localhost", "--clients", "-1"], "--clients -1: must be a positive number"),
        (&["http://localhost", "--duration", "0"], "--duration 0: must be a positive number"),
        (&["http://localhost", "--duration", "1e99"], "must be a positive number of seconds"),
        (&["http://localhost", "--patience", "x"], "--patience x: must be a positive number"),
        (&["http://localhost", "--connections-max", "0"], "at least one connection"),
    ];
    for (arguments, expected) in rows {
        let (status, told) = load(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected) && told.lines().count() == 1, "{arguments:?}: {told}");
    }
    let (status, told) = load(&["http://localhost", "--connections-max", "100000000"]);
    assert_eq!(status, Some(3), "{told}");
    assert!(told.contains("descriptors") && told.lines().count() == 1, "{told}");
}

#[test]
fn nobody_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let (status, told) = load(&[&url, "--rate", "100", "--duration", "0.1"]);
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("10 Refused"), "{told}");
}

#[test]
fn a_server_is_loaded() {
    let site = Fixture::new();
    let combination = &combinations(Program::Weir)[0];
    let server = combination.start(&site.root(), &[]);
    let url = format!("http://{}/digits.txt", server.address);
    for how in [["--rate", "200"], ["--clients", "4"]] {
        let (status, told) = load(&[&[url.as_str(), "--duration", "0.2"][..], &how[..]].concat());
        assert_eq!(status, Some(0), "{told}");
        assert_eq!(told.lines().count(), 4, "only good replies: {told}");
    }
    server.stop();
}
