//! Testbeds that last, in a corner of the machine in which no other labs are seen: a place for
//! names and numbers of processes of its own. Run without the library of tests, which has threads:
//! this takes signals.

#[path = "it/machine/mod.rs"]
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
use lab::testbed::{Disk, Layout, Need, Testbed, by_hand, drop_pages};
use machine::{HOSTS, has};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["lab", "testbed", ..] => {
            return match by_hand::serve(&arguments[2..]) {
                Some(Ok(())) => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            };
        }
        ["make"] => {
            by_hand::up(&Layout::default(), None, &own).unwrap();
        }
        ["fail"] => {
            let failure = by_hand::up(&Layout::default(), None, &own).unwrap_err();
            println!("{failure}");
        }
        ["die"] => die(),
        ["inside"] => inside(),
        // Whoever lists tests finds one.
        [.., "--list"] | ["--list", ..] => println!("by_hand: test"),
        _ if has(&HOSTS) && !harness::lacks(&["unshare", "mount"].map(harness::Need::Program)) => {
            outside();
        }
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
    let inside = command.arg(env::current_exe().unwrap()).spawn().unwrap();
    // Its processes end with it.
    let status = harness::output_of(inside).status;
    assert!(status.success(), "{status}");
}

fn inside() {
    let tests: [(&str, fn()); 10] = [
        ("it_lasts_until_it_is_taken_down", lasts),
        ("it_outlives_its_maker", outlives_its_maker),
        ("commands_lead_into_it", commands_lead_into_it),
        ("a_long_wire_lasts_too", carries),
        ("reads_of_a_slow_disk_wait_beside_each_other", waits),
        ("a_disk_goes_with_who_was_killed", killed),
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
        assert!(!Path::new(DISKS).exists(), "{name}");
        assert_eq!(ours(&by_hand::status()), Vec::<String>::new(), "{name}");
        println!("test {name} ... ok");
    }
}

fn lasts() {
    assert!(!by_hand::down().unwrap().iter().any(|line| line.ends_with("is gone")));
    let told = by_hand::up(&Layout::default(), None, &own).unwrap();
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
    let told = by_hand::up(&layout, None, &own).unwrap();
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
    let told = by_hand::up(&layout, None, &own).unwrap();
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

const DISKS: &str = "/run/weir-lab-disks";
const DELAY: Duration = Duration::from_millis(100);
const SLOW: Disk = Disk { delay_us: 100_000, arm: None };
const FILES: usize = 16;
const TRIES_MAX: usize = 10;

fn waits() {
    if !has(&[Need::Disk]) {
        return;
    }
    let home = site();
    let layout = Layout { disk: Some(SLOW), ..Layout::default() };
    fs::write(home.path().join("site.ext4"), "of files that have changed since").unwrap();
    let told = by_hand::up(&layout, Some(&home.path().join("site/")), &own).unwrap();
    let mut beside = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(beside.all(|name| name == "site" || name == "site.ext4"));
    assert_eq!(fs::read_dir(home.path().join("site")).unwrap().count(), FILES);
    let at = told.iter().find_map(|line| line.strip_prefix("site on the slow disk: ")).unwrap();
    assert!(ours(&by_hand::status())[0].ends_with("1 process in it"));
    let read = |number: usize| fs::read(Path::new(at).join(number.to_string())).unwrap();
    let begun = Instant::now();
    assert_eq!(read(0), [0; 5_000]);
    assert!(begun.elapsed() >= DELAY);
    // One after the other would take longer, however fast the machine is. So one try is enough to
    // show that files are read together, and a machine that stands still has some more.
    let are_together = |attempt| {
        if attempt > 0 {
            drop_pages(Path::new(at)).unwrap();
        }
        let begun = Instant::now();
        std::thread::scope(|scope| {
            (1..FILES).for_each(|number| {
                drop(scope.spawn(move || assert_eq!(read(number).len(), 5_000)));
            });
        });
        let all = begun.elapsed();
        println!("{FILES} files within {all:?}");
        all >= DELAY && all < DELAY * (FILES as u32 - 1)
    };
    assert!((0..TRIES_MAX).any(are_together));
    by_hand::down().unwrap();
}

/// The files that are on a disk.
fn site() -> tempfile::TempDir {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let site = home.path().join("site");
    fs::create_dir(&site).unwrap();
    for number in 0..FILES {
        fs::write(site.join(number.to_string()), [number as u8; 5_000]).unwrap();
    }
    home
}

fn killed() {
    if !has(&[Need::Disk]) {
        return;
    }
    let home = site();
    let mut command = Command::new(env::current_exe().unwrap());
    let status = command.arg("die").current_dir(home.path()).status().unwrap();
    assert!(!status.success());
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(mounts().contains(DISKS), "{}", mounts());
    drop(Testbed::up(&Layout::default()).unwrap());
    assert!(!mounts().contains(DISKS), "{}", mounts());
}

/// With a disk that is mounted and slow, without a chance to remove it.
fn die() {
    let layout = Layout { disk: Some(SLOW), ..Layout::default() };
    let mut testbed = Testbed::up(&layout).unwrap();
    let site = env::current_dir().unwrap().join("site");
    let at = testbed.slow_disk(&site, &env::current_exe().unwrap()).unwrap();
    testbed.make_slow(true).unwrap();
    fs::read(at.join("0")).unwrap();
    assert!(testbed.make_slow(true).unwrap().unwrap().reads > 0);
    let this = std::process::id().to_string();
    kill("-KILL", &this);
}

fn stopped() {
    let layout = Layout { round_trip_ms: Some(10), ..Layout::default() };
    if !has(&[Need::Tun]) {
        return;
    }
    // In the middle of it: both hosts are there, and the wire is not up.
    let stop = |words: &[String]| {
        assert_eq!(names().len(), 2);
        let this = std::process::id().to_string();
        assert!(kill("-INT", &this));
        own(words)
    };
    let failure = by_hand::up(&layout, None, &stop).unwrap_err();
    assert_eq!(failure, Failure::Stopped);
}

fn without_ip() {
    // In a namespace of mounts where the directories of programs for root are empty.
    let script = "for place in /usr/local/sbin /usr/sbin /sbin; do \
                  mount -t tmpfs none $place; done; PATH=/nowhere exec \"$0\" fail";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(env::current_exe().unwrap());
    let output = command.output().unwrap();
    let failure = String::from_utf8(output.stdout).unwrap();
    assert!(failure.contains("is in the package iproute2"), "{failure}");
}

fn carrier_fails() {
    let layout = Layout { round_trip_ms: Some(10), ..Layout::default() };
    if has(&[Need::Tun]) {
        let failure = by_hand::up(&layout, None, &|_| saying("no")).unwrap_err().to_string();
        assert_eq!(failure, "echo does not say \"carrying\" but \"no\"");
    }
}

fn refused() {
    let layout = Layout { disk: Some(SLOW), ..Layout::default() };
    let failure = by_hand::up(&layout, None, &own).unwrap_err();
    assert!(failure.to_string().starts_with("what is to be on the slow disk?"), "{failure}");
    for site in ["/", "//", "site/.."] {
        let failure = by_hand::up(&layout, Some(Path::new(site)), &own).unwrap_err();
        assert!(matches!(failure, Failure::Operator(_)), "{site}: {failure}");
    }
    for name in ["", "other", "weir-lab-1-2-3-4"] {
        for words in [&["carry", name, "1"][..], &["disk", name, "/dev/null", "delay-us=1"]] {
            let words: Vec<String> = words.iter().map(|word| String::from(*word)).collect();
            by_hand::serve(&words).expect("words").unwrap_err();
        }
    }
}

/// By a shell, because the program of this name comes in a package of its own.
fn kill(signal: &str, process: &str) -> bool {
    let mut sh = Command::new("sh");
    sh.args(["-c", "kill \"$0\" \"$1\"", signal, process]).status().unwrap().success()
}

fn own(words: &[String]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["lab", "testbed"]).args(words);
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
