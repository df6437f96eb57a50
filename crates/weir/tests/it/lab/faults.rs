//! Subjects that do not start, or end: what is said of them, and that nothing is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};

use harness::Need;
use lab::Failure;
use lab::subject::{self, Kind, NotStarted, Subject};
use rustix::process::Signal;

use super::{Bench, free_address, is_taken, runs, subject};
use crate::support::command::await_input;
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};

#[test]
fn what_makes_no_sense_is_the_operator_s() {
    let rows = [
        ("spde", "spde: no such subject; did you mean sped?"),
        ("ngnix", "ngnix: no such subject; did you mean nginx?"),
        ("iis", "iis: no such subject; there are sped, "),
        ("", ": no such subject; there are sped, "),
        ("sped:backlog", "sped:backlog: backlog has to be KNOB=VALUE"),
        ("sped:backlgo=1", "sped: backlgo: no such knob; did you mean backlog?"),
        ("sped:backlog=0", "sped: backlog=0 must be a number from 1 to 65535"),
        ("sped:threads-min=8", "sped: threads-min=8: only mt take it"),
        ("sped:listen=:80", "sped: listen=:80: the lab itself says that"),
        ("nginx:worker=2", "nginx: worker: no such knob; did you mean workers?"),
        ("nginx:workers=0", "nginx: workers=0 must be a number from 1 to 1024"),
        ("nginx:sendfile=yes", "nginx: sendfile=yes must be auto or on or off"),
        ("floor-sendfile:x=1", "floor-sendfile: x: no such knob; it has none"),
        ("command:true", "command:true has to say where it listens, as in "),
    ];
    for (text, told) in rows {
        match subject::resolve(text) {
            Err(Failure::Operator(what)) => assert!(what.starts_with(told), "{text}: {what}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn one_that_ends_is_told_with_its_last_words() {
    let rows = [
        ("exec 2>&1; echo one; echo two >&2; exit 3 # {port}", ": one; two"),
        ("printf '\\033[31mred\\n' # {port}", ": [31mred"),
        ("true {port}", ": it said nothing"),
        ("/no/such/program {port}", "not found"),
        ("yes | head -c 1000000; echo last # {port}", ": y; last"),
    ];
    let bench = Bench::new(&["one-packet"]);
    for (line, told) in rows {
        let why = refused(&bench, &format!("command:{line}"), free_address());
        assert!(matches!(why, NotStarted::Itself(_)), "{line}: {why:?}");
        let what = why.to_string();
        assert!(what.contains(" ended before it listened on 127.0.0.1:"), "{line}: {what}");
        assert!(what.ends_with(told), "{line}: {what}");
        assert_eq!(what.lines().count(), 1, "{what}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let bench = Bench::new(&["one-packet"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    for (name, kind) in subject::all() {
        if let Kind::Peer(peer) = kind
            && harness::lacks(&[Need::Program(peer.program)])
        {
            continue;
        }
        let why = refused(&bench, name, address);
        // Nobody's fault, and another time it may be free.
        assert!(matches!(why, NotStarted::Prevented(Failure::Machine(_))), "{name}: {why:?}");
        let what = why.to_string();
        assert!(what.contains(&address.to_string()) && is_taken(&what), "{name}: {what}");
    }
}

#[test]
fn more_connections_than_there_are_descriptors_for_are_refused() {
    let bench = Bench::new(&["one-packet"]);
    for (name, kind) in subject::all() {
        let Kind::Peer(peer) = kind else { continue };
        let has_knob = peer.knobs.iter().any(|knob| knob.name == "connections");
        if !has_knob || harness::lacks(&[Need::Program(peer.program)]) {
            continue;
        }
        let what =
            refused(&bench, &format!("{name}:connections=1000000,workers=1"), free_address());
        let what = what.to_string();
        assert!(what.starts_with(&format!("{name}: connections=1000000 is more than ")), "{what}");
    }
}

#[test]
fn a_site_that_cannot_be_served_is_told() {
    let bench = Bench::new(&["specweb99", "--dirs", "1"]);
    let what = refused(&bench, "floor-readiness", free_address()).to_string();
    assert!(what.starts_with("floor-readiness serves one file, and "), "{what}");
    fs::remove_dir_all(bench.site()).expect("gone");
    let what = refused(&bench, "sped", free_address()).to_string();
    assert!(what.contains(" ended before it listened on "), "{what}");
    assert!(what.contains("site"), "{what}");
}

#[test]
fn one_that_dies_is_seen_and_leaves_nobody() {
    let bench = Bench::new(&["one-packet"]);
    let (running, _) = bench.start(&beneath_a_shell()).expect("it starts");
    let pids = running.pids();
    assert!(pids.len() >= 3, "a shell, a server and its worker: {pids:?}");
    let shell = pids.iter().find(|pid| name_of(**pid) == "sh").expect("a shell");
    send(*shell, Signal::KILL);
    assert!(await_true(PATIENCE, || !running.is_alive()));
    drop(running);
    assert!(!pids.iter().any(|pid| runs(*pid)), "of {pids:?} some are left");
}

/// Set where this test is another one's victim.
const VICTIM: &str = "WEIR_TEST_VICTIM";

#[test]
fn a_lab_that_is_killed_leaves_nobody() {
    if std::env::var_os(VICTIM).is_some() {
        let bench = Bench::new(&["one-packet"]);
        let (running, _) = bench.start(&beneath_a_shell()).expect("it starts");
        println!("\npids {:?}", running.pids());
        std::thread::sleep(PATIENCE);
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "lab::faults::a_lab_that_is_killed_leaves_nobody", "--nocapture"]);
    let mut lab = command.env(VICTIM, "1").stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(lab.stdout.take().expect("its output"));
    let mut line = String::new();
    while !line.starts_with("pids ") {
        line.clear();
        assert!(await_input(&output), "no numbers of its subject's within {PATIENCE:?}");
        let read = output.read_line(&mut line).expect("UTF-8");
        assert!(read > 0, "it ended before it told its subject's numbers");
    }
    let pids: Vec<u32> = serde_json::from_str(&line["pids ".len()..]).expect("numbers");
    assert!(pids.len() >= 3 && pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    lab.kill().expect("its end");
    lab.wait().expect("its end");
    assert!(await_true(PATIENCE, || !pids.iter().any(|pid| runs(*pid))), "{pids:?} are left");
}

/// A server that would live on without its first process.
fn beneath_a_shell() -> Subject {
    let weir = super::executable().display();
    subject(&format!(
        "command:{weir} serve {{site}} --listen {{address}} --admin off & echo bye; sleep 1000"
    ))
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from(name.trim())
}

/// Why a subject did not start.
fn refused(bench: &Bench, text: &str, address: SocketAddr) -> NotStarted {
    match bench.start_at(&subject(text), address) {
        Ok(_) => panic!("{text} starts"),
        Err(why) => why,
    }
}
