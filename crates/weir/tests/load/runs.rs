//! Runs against one URL.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::PATIENCE;
use crate::support::fixture::{Fixture, pattern, write};
use crate::support::wire::nobody;
use crate::{load, report, serve};

#[test]
fn nobody_answers() {
    let (_socket, address) = nobody();
    let url = format!("http://{address}/");
    let report = report(&[&url, "--rate", "100", "--duration", "0.1"]);
    assert_eq!(report["outcomes"], serde_json::json!({ "connrefused": 10 }));
    assert_eq!(report["is_valid"], false);
    let (status, summary, _) = load(&[&url, "--rate", "100", "--duration", "0.1"]);
    assert_eq!(status, Some(1), "{summary}");
    let words = ["connrefused", "INVALID", "no reply came whole"];
    assert!(words.iter().all(|word| summary.contains(word)), "{summary}");
}

#[test]
fn a_url_is_asked_for_at_every_pace() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    // How, for how long, and how many requests that are, if it is known.
    let rows: &[(&[&str], Option<u64>)] = &[
        (&["--rate", "200", "--duration", "0.2"], Some(40)),
        (&["--rate", "200", "--duration", "0.2", "--warm-up", "0.1"], Some(40)),
        (&["--rate", "200", "--duration", "0.2", "--gaps", "poisson"], None),
        (&["--steps", "100:0.1,200:0.1", "--duration", "0.2"], Some(30)),
        (&["--ramp", "0:200:0.2", "--duration", "0.2"], None),
        (&["--clients", "4", "--duration", "0.1"], None),
        (&["--clients", "4", "--sessions", "40"], Some(40)),
        (&["--clients", "2", "--rest", "exponential:0.001", "--sessions", "10"], Some(10)),
        (&["--clients", "1", "--keeps", "request", "--sessions", "5"], Some(5)),
        (&["--clients", "4", "--sessions", "41", "--processes", "3"], Some(41)),
        (&["--rate", "200", "--duration", "0.2", "--processes", "2"], Some(40)),
        (&["--rate", "200", "--duration", "0.2", "--sources", "127.0.0.2-127.0.0.4"], Some(40)),
        (&["--rate", "200", "--duration", "0.2", "--conditional", "1"], Some(40)),
    ];
    for (how, expected) in rows {
        let report = report(&[&[url.as_str()], *how].concat());
        let outcomes = report["outcomes"].as_object().expect("outcomes");
        assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["good"], "{how:?}: {outcomes:?}");
        let good = outcomes["good"].as_u64().expect("a count");
        // A rate has its time, whenever the last reply came.
        if let (["--rate", rate, ..], Some(good)) = (*how, expected) {
            let offered = report["figures"]["offered_per_s"].as_f64().expect("a rate");
            assert!((offered - rate.parse::<f64>().unwrap()).abs() < 1e-6, "{good}: {offered}");
        }
        assert!(good > 0 && expected.is_none_or(|expected| good == expected), "{how:?}: {good}");
    }
    server.stop();
}

/// Judged from below alone: a slow machine takes longer.
#[test]
fn slow_readers_take_their_time() {
    const KB: u32 = 300;
    let site = Fixture::new();
    write(&site.root().join("large"), &pattern((KB as usize) << 10));
    let server = serve(&site.root());
    let url = format!("http://{}/large", server.address);
    // KiB in a second, what their patience is, and what becomes of three of them. What is taken
    // last comes at once, and is a tenth of a second's.
    let rows =
        [("600", "60", "good", 0.4), ("1000", "60", "good", 0.2), ("50", "1", "client-timo", 0.0)];
    for (reads, patience, expected, least_s) in rows {
        let how = ["--clients", "3", "--sessions", "3", "--duration", "60"];
        let slow = ["--reads-kb-per-s", reads, "--patience", patience];
        let report = report(&[&[url.as_str()], &how[..], &slow[..]].concat());
        assert_eq!(report["outcomes"], serde_json::json!({ expected: 3 }), "{reads}");
        if expected == "good" {
            let mean_ms = report["times_ms"]["whole"]["mean"].as_f64().expect("a time");
            assert!(mean_ms >= least_s * 1000.0, "{reads}: {mean_ms}");
        }
        assert_eq!(report["about"]["knobs"]["reads-kb-per-s"], reads);
    }
    server.stop();
}

#[test]
fn results_go_where_they_are_wanted() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    let home = tempfile::tempdir().expect("a folder");
    let path = |name: &str| home.path().join(name).to_str().expect("a name").to_owned();
    let (json, hgrm, records) = (path("a.json"), path("a"), path("a.csv"));
    let (_, summary, errors) = load(&[
        &url,
        "--sessions",
        "20",
        "--clients",
        "2",
        "--json",
        &json,
        "--hgrm",
        &hgrm,
        "--records",
        &records,
        "--processes",
        "2",
    ]);
    let (status, _, full) = load(&[&url, "--sessions", "2", "--json", "/dev/full"]);
    assert_eq!((status, full.lines().count()), (Some(3), 1), "{full}");
    assert!(summary.contains("20") && errors.is_empty(), "{summary}{errors}");
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).expect("JSON");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["about"]["knobs"]["processes"], "2");
    assert_eq!(report["about"]["knobs"]["keeps"], "client", "what was left to the workload");
    assert_eq!(report["results"]["processes"].as_array().map(Vec::len), Some(2));
    for name in ["connect", "first-byte", "whole", "lag"] {
        let text = fs::read_to_string(format!("{hgrm}.{name}.hgrm")).expect(name);
        assert!(text.contains("#[Max"), "{name}: {text}");
    }
    let lines = |part| fs::read_to_string(format!("{records}.{part}")).expect("records");
    let (first, second) = (lines(0), lines(1));
    assert_eq!(first.lines().count() + second.lines().count(), 22, "{first}{second}");
    // The sessions of each are its own.
    let odd = |line: &str| line.split(',').next().and_then(|number| number.parse::<u64>().ok());
    assert!(first.lines().filter_map(odd).all(|number| number % 2 == 0), "{first}");
    assert!(second.lines().filter_map(odd).all(|number| number % 2 == 1), "{second}");
    server.stop();
}

#[test]
fn what_could_not_be_told_is_complained_of() {
    let (address, asked) = answering();
    thread::spawn(move || asked.into_iter().count());
    let url = format!("http://{address}/");
    for how in [&[][..], &["--json", "-"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["load", &url, "--clients", "1", "--sessions", "2"]).args(how);
        let full = fs::File::create("/dev/full").expect("a full disk");
        let ended = command.stdout(full).stderr(Stdio::piped()).output().expect("it ends");
        let errors = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(3), "{how:?}: {errors}");
        assert!(errors.starts_with("weir: standard output: "), "{how:?}: {errors}");
    }
}

#[test]
fn whoever_has_seen_enough_ends_a_run_and_gets_its_results() {
    for processes in ["1", "2"] {
        let (address, asked) = answering();
        let url = format!("http://{address}/");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["load", &url, "--rate", "100", "--duration", "600", "--json", "-"]);
        let mut child = command
            .args(["--processes", processes])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        for _ in 0..5 {
            asked.recv_timeout(PATIENCE).expect("a request");
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
        let mut text = String::new();
        child.stdout.take().expect("output").read_to_string(&mut text).expect("text");
        child.wait().expect("it ends");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert!(report["outcomes"]["good"].as_u64() >= Some(4), "{processes}: {text}");
        let measured_s = report["figures"]["measured_s"].as_f64().expect("a time");
        assert!(measured_s < 600.0, "{processes}: {measured_s}");
    }
}

/// A server that answers each connection once and tells of it.
pub(crate) fn answering() -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (told, asked) = mpsc::channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let mut head = [0; 1024];
            let _ = client.read(&mut head);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            if told.send(()).is_err() {
                return;
            }
        }
    });
    (address, asked)
}
