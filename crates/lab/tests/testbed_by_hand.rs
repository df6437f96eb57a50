//! Testbeds that last, in a corner of the machine in which no other labs are seen: a place for
//! names and numbers of processes of its own. Run without the library of tests, which has threads:
//! this takes signals.

mod machine;

use std::env;
use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use lab::Failure;
use lab::testbed::{Layout, Need, Testbed, by_hand};
use machine::{HOSTS, has};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["carry", name, round_trip_ms] => {
            return match by_hand::carry(name, round_trip_ms.parse().unwrap()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
        ["make"] => {
            by_hand::up(&Layout::default(), None, &carrier).unwrap();
        }
        ["fail"] => {
            let failure = by_hand::up(&Layout::default(), None, &carrier).unwrap_err();
            println!("{failure}");
        }
        ["inside"] => inside(),
        // Whoever lists tests finds one.
        [.., "--list"] | ["--list", ..] => println!("by_hand: test"),
        _ if has(&HOSTS) => outside(),
        _ => {}
    }
    ExitCode::SUCCESS
}

/// Starts the tests in their corner.
fn outside() {
    let script = "mount -t tmpfs tmpfs /run && exec \"$0\" inside";
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        script,
    ]);
    let status = command.arg(env::current_exe().unwrap()).status().unwrap();
    assert!(status.success(), "{status}");
}

fn inside() {
    let tests: [(&str, fn()); 8] = [
        ("it_lasts_until_it_is_taken_down", lasts),
        ("it_outlives_its_maker", outlives_its_maker),
        ("commands_lead_into_it", commands_lead_into_it),
        ("a_long_wire_lasts_too", carries),
        ("a_stop_in_the_middle_leaves_nothing", stopped),
        ("it_says_that_it_needs_ip", without_ip),
        ("a_carrier_that_fails_leaves_nothing", carrier_fails),
        ("what_makes_no_sense_is_refused", refused),
    ];
    for (name, test) in tests {
        println!("test {name} ...");
        test();
        assert_eq!(names(), Vec::<PathBuf>::new(), "{name}");
        assert!(!Path::new("/run/weir-lab").exists(), "{name}");
        assert_eq!(ours(&by_hand::status()), Vec::<String>::new(), "{name}");
        println!("test {name} ... ok");
    }
}

fn lasts() {
    assert!(!by_hand::down().unwrap().iter().any(|line| line.ends_with("is gone")));
    let told = by_hand::up(&Layout::default(), None, &carrier).unwrap();
    assert!(told[0].starts_with("server 10.") && told[1].starts_with("client 10."), "{told:?}");
    let kept = names();
    assert_eq!(kept.len(), 2);
    let status = by_hand::status();
    assert!(ours(&status)[0].contains("made by hand"), "{status:?}");
    assert!(told.iter().all(|line| status.contains(&format!("    {line}"))), "{status:?}");
    let other = Testbed::up(&Layout::default()).unwrap();
    assert_eq!(names().len(), 4);
    assert_eq!(ours(&by_hand::status()).len(), 2);
    let lines = by_hand::down().unwrap();
    assert!(lines.iter().any(|line| line.ends_with("is gone")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("stays: of process 1, which runs")), "{lines:?}");
    assert!(names().len() == 2 && !kept.iter().any(|name| name.exists()));
    drop(other);
}

fn outlives_its_maker() {
    let exe = env::current_exe().unwrap();
    assert!(Command::new(exe).arg("make").status().unwrap().success());
    let kept = names();
    assert_eq!(kept.len(), 2);
    drop(Testbed::up(&Layout::default()).unwrap());
    assert_eq!(names(), kept, "nobody sweeps it away");
    by_hand::down().unwrap();
}

fn commands_lead_into_it() {
    let has_groups = has(&[Need::Quota]);
    let quota_percent = has_groups.then_some(50);
    let layout = Layout { quota_percent, ..Layout::default() };
    let told = by_hand::up(&layout, None, &carrier).unwrap();
    let seen = |line: &str, program: &str| {
        let (_, command) = line.split_once(": ").unwrap();
        let command = command.replace("PROGRAM", program);
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The client's name comes first.
    for (line, name) in told[..2].iter().rev().zip(names()) {
        let expected = format!("net:[{}]\n", fs::metadata(&name).unwrap().ino());
        assert_eq!(seen(line, "readlink /proc/self/ns/net"), expected);
        let is_server = line.starts_with("server");
        let groups = seen(line, "cat /proc/self/cgroup");
        assert_eq!(groups.contains("weir-lab-"), is_server && has_groups, "{groups}");
    }
    by_hand::down().unwrap();
}

fn carries() {
    if !has(&[Need::Tun]) {
        return;
    }
    let layout = Layout { round_trip_ms: Some(10), ..Layout::default() };
    let told = by_hand::up(&layout, None, &carrier).unwrap();
    let address = told[0].strip_prefix("server ").unwrap().split_once(':').unwrap().0;
    let [client, server] = names().try_into().unwrap();
    let listener = os::namespace::within(&server, || TcpListener::bind((address, 0))).unwrap();
    let begun = Instant::now();
    let to = listener.local_addr().unwrap();
    let mut stream = os::namespace::within(&client, || TcpStream::connect(to)).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(10));
    drop(listener.accept().unwrap());
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end arrives as well");
    assert!(ours(&by_hand::status())[0].ends_with("1 process in it"));
    by_hand::down().unwrap();
}

fn stopped() {
    let layout = Layout { round_trip_ms: Some(10), ..Layout::default() };
    if !has(&[Need::Tun]) {
        return;
    }
    // In the middle of it: both hosts are there, and the wire is not up.
    let stop = |name: &str, round_trip_ms: u32| {
        assert_eq!(names().len(), 2);
        let this = std::process::id().to_string();
        assert!(Command::new("kill").args(["-INT", &this]).status().unwrap().success());
        carrier(name, round_trip_ms)
    };
    let failure = by_hand::up(&layout, None, &stop).unwrap_err();
    assert_eq!(failure, Failure::Stopped);
}

fn without_ip() {
    let exe = env::current_exe().unwrap();
    let output = Command::new(exe).arg("fail").env("PATH", "/nowhere").output().unwrap();
    let failure = String::from_utf8(output.stdout).unwrap();
    assert!(failure.contains("is in the package iproute2"), "{failure}");
}

fn carrier_fails() {
    let layout = Layout { round_trip_ms: Some(10), ..Layout::default() };
    if has(&[Need::Tun]) {
        let failure = by_hand::up(&layout, None, &|_, _| saying("no")).unwrap_err().to_string();
        assert_eq!(failure, "packets are not carried between the hosts: no");
    }
}

fn refused() {
    let layout = Layout { disk_bytes_per_s: Some(1), ..Layout::default() };
    let failure = by_hand::up(&layout, None, &carrier).unwrap_err();
    assert!(failure.to_string().starts_with("which disk is to be slow?"), "{failure}");
    for name in ["", "other", "weir-lab-1-2-3-4"] {
        by_hand::carry(name, 1).unwrap_err();
    }
}

fn carrier(name: &str, round_trip_ms: u32) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["carry", name, &round_trip_ms.to_string()]);
    command
}

fn saying(what: &str) -> Command {
    let mut command = Command::new("echo");
    command.arg(what);
    command
}

/// Of all namespaces here, in order.
fn names() -> Vec<PathBuf> {
    let entries = match fs::read_dir("/run/netns") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        entries => entries.unwrap(),
    };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

/// Of the lines of a status, those about testbeds that can be seen from here.
fn ours(status: &[String]) -> Vec<String> {
    let names = status.iter().filter(|line| line.starts_with("weir-lab-"));
    names.filter(|line| !line.contains("another container")).cloned().collect()
}
