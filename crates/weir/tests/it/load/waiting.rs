//! What a terminal shows while a run waits for replies, and how ^C ends that.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use harness::Need;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::terminal::Shown;
use crate::support::{PATIENCE, await_true};
use harness::output_of;

/// Connections that are dead.
const DEAD: usize = 2;

/// How a run is called, and what is seen before each ^C.
const ROWS: [(&[&str], &[&str]); 4] = [
    (&["-n", "50"], &["s over, waits for 2 replies, for "]),
    (&["-n", "50", "--processes", "2"], &["s over, waits for 2 replies, for "]),
    (&["-d", "600"], &["  open ", "s over, waits for 2 replies, for "]),
    (&["-d", "600", "--processes", "2"], &["  open ", "s over, waits for 2 replies, for "]),
];

#[test]
fn who_does_not_wait_for_replies_gets_the_results() {
    if harness::lacks(&[Need::File("/dev/ptmx")]) {
        return;
    }
    for (how, seen) in ROWS {
        let (address, answered) = dying();
        let url = format!("http://{address}/");
        let (terminal, shown) = Shown::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        // With rests, so that whoever looks has a processor to look with.
        command.args(["load", &url, "-c", "6", "--rest", "0.01", "--patience", "600"]);
        command.args(["--json", "-"]).args(how);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(terminal);
        let run = command.spawn().expect("it starts");
        drop(command);
        for words in seen {
            shown.until(words, |all| all.contains(words));
            // The connections without a reply are the first that ask.
            let is_answered = || answered.load(Ordering::Relaxed) > 0;
            assert!(await_true(PATIENCE, is_answered), "{how:?}: no request was answered");
            kill_process(Pid::from_child(&run), Signal::INT).expect("a signal");
        }
        let text = String::from_utf8(output_of(run).stdout).expect("text");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(report["outcomes"]["client-timo"], DEAD, "{how:?}: {text}");
        let good = report["outcomes"]["good"].as_u64().expect("good replies");
        assert!(good == 48 || (how[0] == "-d" && good > 0), "{how:?}: {good}");
    }
}

/// A server that answers on all connections but the first ones, and how many answers it has given.
fn dying() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (asked, answered) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let counted = Arc::clone(&answered);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a client");
            let (asked, answered) = (Arc::clone(&asked), Arc::clone(&counted));
            thread::spawn(move || answer(client, &asked, &answered));
        }
    });
    (address, answered)
}

fn answer(mut client: TcpStream, asked: &AtomicUsize, answered: &AtomicUsize) {
    let reader = BufReader::new(client.try_clone().expect("a socket"));
    let mut place = None;
    for line in reader.lines().map_while(Result::ok) {
        // Who looks whether somebody is there asks nothing.
        let place = *place.get_or_insert_with(|| asked.fetch_add(1, Ordering::Relaxed));
        if line.is_empty() && place >= DEAD {
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}
