//! Searches for a rate.

use std::process::{Command, Stdio};

use harness::output_of;
use rustix::process::{Pid, Signal, kill_process};

use super::runs::answering;
use crate::load::{UNPROVEN, load, serve};
use crate::support::fixture::Fixture;
use crate::support::{PATIENCE, at_some_scale};

/// A generator that is late is no reason to judge a run otherwise.
const LATE: [&str; 2] = ["--lag-max", "60"];

/// The bound is a number of replies, between those of two rates that are tried. Replies that come
/// after the end of a short run are too few on a busy machine.
#[test]
fn highest_rate_is_found_between_two_that_are_near() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    for begin in ["100", "400"] {
        at_some_scale(|scale| {
            let duration = (0.5 * f64::from(scale)).to_string();
            let bound = ["--rate", begin, "--find", "replies<146/s", "--duration", &duration];
            let (status, report, told) = load(&[&[url.as_str()], &bound[..], &LATE].concat());
            assert_eq!(status, Some(0), "{begin}: {told}");
            let found = "weir: the highest rate at which it holds: 142/s; at 149/s it does not";
            assert_eq!(told.lines().last(), Some(found), "{begin}: {told}");
            // What is reported is a run at that rate.
            assert!(report.contains("142 sessions/s"), "{report}");
            let of_runs = told.lines().filter(|line| line.contains("/s: replies<146/s "));
            assert_eq!(of_runs.count() + 1, told.lines().count(), "{told}");
        });
    }
}

/// What is expected of the run that is found is not looked for.
#[test]
fn rate_that_is_found_can_miss_what_is_expected_of_it() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    let bounds = ["--find", "replies<3/s", "--expect", "good>1000000/s", "--rate", "2"];
    at_some_scale(|scale| {
        let brief = ["--duration", &(2 * scale).to_string()];
        let (status, report, told) = load(&[&[url.as_str()], &bounds[..], &brief, &LATE].concat());
        assert_eq!(status, Some(1), "{told}");
        assert!(told.contains("weir: the highest rate at which it holds: 2."), "{told}");
        assert!(report.contains("good>1000000/s"), "{report}");
    });
}

#[test]
fn what_holds_at_no_rate_is_missed() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    let bound = ["--rate", "8", "--find", "good>1000000/s", "--duration", "0.5"];
    let (status, report, told) = load(&[&[url.as_str()], &bound[..], &LATE].concat());
    assert_eq!(status, Some(1), "{told}");
    assert!(told.ends_with("weir: it holds at no rate that was tried\n"), "{told}");
    assert!(report.contains("good>1000000/s"), "{report}");
}

#[test]
fn interrupt_ends_a_search() {
    for length in [["--duration", "600"], ["--sessions", "1000000"]] {
        let (address, asked) = answering();
        let url = format!("http://{address}/");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["load", &url, "--rate", "100", "--find", "p99<60s"]).args(length);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        for _ in 0..5 {
            asked.recv_timeout(PATIENCE).expect("a request");
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
        let ended = output_of(child);
        let told = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(UNPROVEN), "{length:?}: {told}");
        assert_eq!(told, "weir: stopped: nothing is known\n", "{length:?}");
    }
}
