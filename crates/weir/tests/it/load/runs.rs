//! Runs against one URL.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::load::{UNPROVEN, load, report, serve};
use crate::support::PATIENCE;
use crate::support::fixture::{Fixture, pattern, write};
use crate::support::wire::nobody;
use harness::output_of;

#[test]
fn nobody_answers() {
    let (_socket, address) = nobody();
    let url = format!("http://{address}/");
    let how = [url.as_str(), "--rate", "100", "--duration", "0.1", "--probe", "off"];
    let report = report(&how);
    assert_eq!(report["outcomes"], serde_json::json!({ "connrefused": 10 }));
    assert_eq!(report["is_valid"], false);
    let (status, summary, _) = load(&how);
    assert_eq!(status, Some(UNPROVEN), "{summary}");
    let words = ["connrefused", "INVALID\n  FAILS answered: no reply came whole"];
    assert!(words.iter().all(|word| summary.contains(word)), "{summary}");
}

#[test]
fn that_nobody_is_there_is_told_before_the_run() {
    let home = tempfile::tempdir().expect("a folder");
    let json = home.path().join("old.json");
    fs::write(&json, "old results").expect("a file");
    let (_socket, address) = nobody();
    let says = |address: SocketAddr, how: &[&str], expected: &str| {
        let (status, output, errors) = load(&[&[address.to_string().as_str()], how].concat());
        assert_eq!((status, output.as_str()), (Some(3), ""), "{how:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{how:?}: {errors}");
        let begin = format!("weir: {address}: ");
        assert!(errors.starts_with(&begin) && errors.contains(expected), "{how:?}: {errors}");
    };
    let other = format!("nobody listens at {address}; start the server, or say another address");
    says(address, &[], &other);
    says(address, &["--processes", "2", "--json", json.to_str().expect("a name")], &other);
    assert_eq!(fs::read_to_string(json).expect("it is there"), "old results");
    // Who comes from that port alone meets itself, where nobody has it.
    let (free, address) = nobody();
    drop(free);
    if let Err(error) = os::Socket::takes_ports(&(address.port()..=address.port())) {
        return harness::skip(format!("needs Linux 6.3, to choose a range of ports: {error}"));
    }
    let own = format!("{0}-{0}", address.port());
    says(address, &["--ports", &own], "nobody listens, and the connection met itself; start");
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
        (&["-c", "4", "-n", "40"], Some(40)),
        (&["-r", "200", "-d", "200ms"], Some(40)),
    ];
    for (how, expected) in rows {
        let report = report(&[&[url.as_str(), "--patience", "600"], *how].concat());
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
    // Few, and all at once: a closed loop has no schedule that they could be behind.
    let (status, summary, _) = load(&[&url, "-c", "64", "-n", "100"]);
    // On a busy machine the generator may be the limit.
    let fails = || summary.lines().filter(|line| line.starts_with("  FAILS "));
    let is_busy = fails().all(|line| line.starts_with("  FAILS client-cpu:"));
    assert!(status == Some(0) || fails().count() == 1 && is_busy, "{summary}");
    assert!(summary.contains("requests  100, all good"), "{summary}");
    let bare = url.trim_start_matches("http://");
    let report = report(&[bare, "-n", "3"]);
    assert_eq!(report["outcomes"], serde_json::json!({ "good": 3 }));
    assert_eq!(report["about"]["target"], url.as_str());
    server.stop();
}

#[test]
fn what_does_not_hold_is_told_and_fails() {
    let (address, asked) = answering();
    thread::spawn(move || asked.into_iter().count());
    let url = format!("http://{address}/");
    let how = ["-c", "1", "-n", "3", "--keeps", "request"];
    let expected = ["--expect", "failed<=0%", "--expect", "good>1000000000/s"];
    let (status, summary, _) = load(&[&[url.as_str()], &how[..], &expected].concat());
    let line = |begin: &str| summary.lines().find(|line| line.starts_with(begin)).expect(begin);
    // On a busy machine the generator may be the limit.
    let is_valid = summary.contains("this run is valid");
    let (expected_status, unproven) = if is_valid { (1, "") } else { (UNPROVEN, ", not proven") };
    assert_eq!(status, Some(expected_status), "{summary}");
    let held = line("  failed<=0% ");
    assert!(held.contains(" 0 % ") && held.ends_with(&format!("holds{unproven}")), "{summary}");
    let missed = line("  good>1000000000/s ");
    assert!(missed.ends_with(&format!("/s  FAILS{unproven}")), "{summary}");
    let (status, report, _) =
        load(&[&[url.as_str()], &how[..], &expected, &["--json", "-"]].concat());
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["expected"][1]["holds"], Value::Bool(false));
    let is_proven = report["expected"][1]["is_proven"].as_bool().expect("whether it is proven");
    assert_eq!(status, Some(if is_proven { 1 } else { UNPROVEN }));
    assert_eq!(report["about"]["knobs"]["expect"], "failed<=0% good>1000000000/s");
}

#[test]
fn reports_are_compared() {
    let (address, asked) = answering();
    thread::spawn(move || asked.into_iter().count());
    let url = format!("http://{address}/");
    let home = tempfile::tempdir().expect("a folder");
    let path = |name: &str| home.path().join(name).to_str().expect("a name").to_owned();
    let (a, b) = (path("a.json"), path("b.json"));
    let how = ["-c", "1", "-n", "3", "--keeps", "request", "--json"];
    load(&[&[url.as_str()], &how[..], &[&a]].concat());
    load(&[&[format!("{url}b").as_str()], &how[..], &[&b]].concat());
    let (status, told, errors) = load(&["compare", &a, &b]);
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{told}");
    let words = ["replies/s ", "p50 ", "p99 ", "failed ", "Repeat both", "path: / in A, /b in B"];
    assert!(words.iter().all(|words| told.contains(words)), "{told}");
    assert!(!told.contains("--json"), "{told}");
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
        let ended = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).spawn();
        let ended = output_of(ended.expect("it starts"));
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
        let child = command
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
        let text = String::from_utf8(output_of(child).stdout).expect("text");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert!(report["outcomes"]["good"].as_u64() >= Some(4), "{processes}: {text}");
        let measured_s = report["figures"]["measured_s"].as_f64().expect("a time");
        assert!(measured_s < 600.0, "{processes}: {measured_s}");
    }
}

#[test]
fn requests_say_what_they_are_told_to() {
    let home = tempfile::tempdir().expect("a folder");
    let list = home.path().join("list");
    fs::write(&list, "/a\n").expect("a list");
    let list = format!("urls:{}", list.display());
    let said = ["-H", "X-One: a, b", "-H", "x-one: c", "--host", "a.example", "-m", "HEAD"];
    // What is asked for.
    let rows: [&[&str]; 3] = [&[], &["--workload", "one-packet"], &["--workload", &list]];
    for asked in rows {
        let (address, heads) = answering();
        let url = format!("http://{address}/");
        let how = ["--clients", "1", "--sessions", "2", "--keeps", "request"];
        let report = report(&[&[url.as_str()], asked, &how, &said].concat());
        for _ in 0..2 {
            let head = heads.recv_timeout(PATIENCE).expect("a request");
            let is_head = head.starts_with("HEAD /");
            let words = ["\r\nHost: a.example\r\n", "\r\nX-One: a, b\r\nx-one: c\r\n"];
            assert!(is_head && words.iter().all(|words| head.contains(words)), "{head}");
        }
        let about = &report["about"];
        let knobs = ["header", "host", "method"].map(|name| about["knobs"][name].clone());
        assert_eq!(knobs, ["X-One: a, b\nx-one: c", "a.example", "HEAD"], "{about}");
        let command = about["command"].as_str().expect("a command");
        assert!(command.contains("-H 'X-One: a, b' -H 'x-one: c' --host a.example"), "{command}");
        let workload = about["workload"].as_str().expect("a workload");
        let words = ", method HEAD, host a.example, header X-One: a, b, header x-one: c";
        assert!(workload.ends_with(words), "{workload}");
    }
}

#[test]
fn body_is_sent_with_each_request() {
    let home = tempfile::tempdir().expect("a folder");
    let body = home.path().join("order.json");
    fs::write(&body, "{}").expect("a body");
    let body = ["--body", body.to_str().expect("UTF-8")];
    for (method, begins) in [(&[][..], "POST /"), (&["--method", "PUT"], "PUT /")] {
        let (address, heads) = answering();
        let url = format!("http://{address}/");
        let how = ["-c", "1", "-n", "1", "--keeps", "request"];
        report(&[&[url.as_str()], &body[..], method, &how].concat());
        let head = heads.recv_timeout(PATIENCE).expect("a request");
        let has_length = head.contains("\r\nContent-Length: 2\r\n");
        assert!(head.starts_with(begins) && has_length && head.ends_with("\r\n\r\n{}"), "{head}");
    }
}

/// Reports are handed on.
#[test]
fn secrets_stay_at_home() {
    let (address, heads) = answering();
    let url = format!("http://{address}/");
    let secrets = ["-H", "authorization:Basic secret", "--header=Cookie: a=secret"];
    let how = ["-c", "1", "-n", "1", "--keeps", "request", "-HProxy-Authorization: secret"];
    let report = report(&[&[url.as_str()], &secrets[..], &how].concat());
    let head = heads.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(head.matches("secret").count(), 3, "{head}");
    assert!(!report.to_string().contains("secret"), "{report}");
    let hidden = ["authorization", "Cookie", "Proxy-Authorization"];
    let hidden = hidden.map(|name| format!("{name}: (hidden)"));
    let about = &report["about"];
    assert_eq!(about["knobs"]["header"], hidden.join("\n"));
    let command = about["command"].as_str().expect("a command");
    assert!(hidden.iter().all(|field| command.contains(field)), "{command}");
    thread::spawn(move || heads.into_iter().count());
    let (_, summary, _) = load(&[&[url.as_str()], &secrets[..], &how].concat());
    assert!(summary.contains(&hidden[0]) && !summary.contains("secret"), "{summary}");
}

/// A server that answers each connection once and tells the head of what was asked.
pub(crate) fn answering() -> (SocketAddr, Receiver<String>) {
    answering_ahead(10_000)
}

/// The same, and it answers only so many before their heads are taken.
pub(crate) fn answering_ahead(most: usize) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (told, asked) = mpsc::sync_channel(most);
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let mut head = [0; 1024];
            // Who looks whether somebody is there asks nothing.
            let Some(count) = client.read(&mut head).ok().filter(|&count| count > 0) else {
                continue;
            };
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            if told.send(String::from_utf8_lossy(&head[..count]).into_owned()).is_err() {
                return;
            }
        }
    });
    (address, asked)
}
