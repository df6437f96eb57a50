//! Every subject starts, answers with what is in its files, is seen at work and goes.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::machine::{HOSTS, has};
use harness::Need;
use lab::floors::Floor;
use lab::subject::{self, Kind, Running};
use lab::testbed::{Layout, Testbed};
use lab::vitals::{Reading, Side, Watch};

use super::{Bench, runs, subject};
use crate::support::PATIENCE;
use crate::support::rights;
use crate::support::wire::Wire;

/// Files of 100 bytes to 1 MB, as SPECweb99 has them.
const SITE: [&str; 3] = ["specweb99", "--dirs", "1"];

#[test]
fn architectures_serve() {
    for (name, kind) in subject::all() {
        if let Kind::Weir(_) = kind {
            check(name, &SITE);
        }
    }
    for text in ["sped:poller=select,backlog=64,sendfile=off", "mt:threads=64"] {
        check(text, &SITE);
    }
}

#[test]
fn floors_serve() {
    for (name, kind) in subject::all() {
        if let Kind::Floor(Floor { refuses: false, .. }) = kind {
            check(name, &["one-packet"]);
        }
    }
}

/// Whatever is measured of them is the cost of that.
#[test]
fn refusers_refuse_everybody() {
    for (name, kind) in subject::all() {
        let Kind::Floor(Floor { refuses: true, .. }) = kind else { continue };
        let has_filter = ["refuse-syn", "refuse-handshake"].contains(&name);
        if has_filter && rights::lacks_filters() {
            continue;
        }
        let bench = Bench::new(&["one-packet"]);
        let (running, address) =
            bench.start(&subject(name)).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        // Silence has no end to wait for; for all else the test waits.
        let (expected, patience) = match name {
            "refuse-syn" | "refuse-queue" => ("no connection", SOON),
            "refuse-handshake" => ("a connection, and nothing by it", SOON),
            "refuse-reset" => ("a connection that ends", PATIENCE),
            "refuse-503" => ("a reply of 503", PATIENCE),
            other => panic!("what does {other} do?"),
        };
        let _fills = [knocked(address, patience), knocked(address, patience)];
        assert_eq!(knocked(address, patience).1, expected, "{name}");
        running.stop();
    }
}

/// How long silence counts as no answer. A SYN that is dropped is sent again after a second.
const SOON: Duration = Duration::from_millis(500);

/// What a client gets that asks for a file and waits for so long, and its connection.
fn knocked(at: SocketAddr, patience: Duration) -> (Option<TcpStream>, &'static str) {
    let mut stream = match TcpStream::connect_timeout(&at, SOON) {
        Ok(stream) => stream,
        // It was made, and ended before this client was told of it.
        Err(e) if e.kind() == ErrorKind::ConnectionReset => {
            return (None, "a connection that ends");
        }
        Err(_) => return (None, "no connection"),
    };
    stream.set_read_timeout(Some(patience)).expect("set");
    let mut reply = [0; 64];
    let asked = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let told = match asked.and_then(|()| stream.read(&mut reply)) {
        Ok(n) if reply[..n].starts_with(b"HTTP/1.1 503 ") => "a reply of 503",
        Ok(1..) => "another reply",
        Err(e) if e.kind() == ErrorKind::WouldBlock => "a connection, and nothing by it",
        Ok(0) | Err(_) => "a connection that ends",
    };
    (Some(stream), told)
}

#[test]
fn floors_send_large_files_whole() {
    for (name, kind) in subject::all() {
        if let Kind::Floor(Floor { refuses: false, .. }) = kind {
            let bench = Bench::new(&["one-packet"]);
            let file = files(&bench.site()).pop().expect("its file");
            fs::write(&file, crate::support::fixture::pattern(20 << 20)).expect("a large one");
            check_on(name, &bench);
        }
    }
}

#[test]
fn peers_that_are_installed_serve() {
    for (name, kind) in subject::all() {
        let Kind::Peer(peer) = kind else { continue };
        if !harness::lacks(&[Need::Program(peer.program)]) {
            check(name, &SITE);
        }
    }
}

#[test]
fn peers_take_their_knobs() {
    let peer_of = |(_, kind)| if let Kind::Peer(peer) = kind { Some(peer) } else { None };
    let mut peers: Vec<_> = subject::all().filter_map(peer_of).collect();
    let drawn =
        harness::all_or_some("knobs of the peer", peers.iter().map(|peer| peer.name).collect(), 1);
    peers.retain(|peer| drawn.contains(&peer.name));
    for peer in peers {
        if harness::lacks(&[Need::Program(peer.program)]) {
            continue;
        }
        let name = peer.name;
        let program = peer.found().expect("it").display().to_string();
        for knob in peer.knobs {
            let values: &[&str] = match knob.takes {
                subject::Takes::Program => &[&program],
                subject::Takes::Word(words) => words,
                subject::Takes::Number(..) if knob.name == "workers" => &["1", "3"],
                subject::Takes::Number(..) => &["100"],
            };
            for value in values {
                check(&format!("{name}:{}={value}", knob.name), &["one-packet"]);
            }
        }
    }
}

#[test]
fn a_command_of_one_s_own_serves() {
    // The name and the number of the port as a shell takes them, and commas.
    let weir = super::executable().display();
    for line in [
        format!("{weir} serve {{site}} --listen {{address}} --admin off --access-log off"),
        format!("A=1,2 exec {weir} serve {{site}} --listen {{host}}:{{port}} --admin off; false"),
    ] {
        check(&format!("command:{line}"), &["one-packet"]);
    }
}

/// Where the lab's own port is nobody else's, whoever has it here.
#[test]
fn subjects_start_on_a_machine_of_their_own() {
    if !has(&HOSTS) {
        return;
    }
    let testbed = Testbed::up(&Layout::default()).expect("two hosts");
    let bench = Bench::on(testbed, &["one-packet"]);
    let namespace_of = |pid| fs::read_link(format!("/proc/{pid}/ns/net")).expect("a namespace");
    for (name, kind) in subject::all() {
        if let Kind::Peer(peer) = kind
            && harness::lacks(&[Need::Program(peer.program)])
        {
            continue;
        }
        // One for each: the kernel takes down a ring, and what it listens on, when its process has
        // gone.
        let here = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = here.local_addr().expect("its address").port();
        let address = SocketAddr::new(bench.testbed.server.address, port);
        let running = bench.start_at(&subject(name), address);
        let running = running.unwrap_or_else(|failure| panic!("{name}: {failure}"));
        for pid in running.pids() {
            assert_ne!(namespace_of(pid), namespace_of(std::process::id()), "{name}");
        }
        running.counters().expect("its counters, from wherever they are asked for");
        running.stop();
    }
}

fn check(text: &str, workload: &[&str]) {
    check_on(text, &Bench::new(workload));
}

fn check_on(text: &str, bench: &Bench) {
    let before = files(&bench.site());
    let subject = subject(text);
    let (running, address) =
        bench.start(&subject).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    serves(&bench.site(), address).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    seen_at_work(&running, text);
    let pids = running.pids();
    running.stop();
    assert!(!pids.iter().any(|pid| runs(*pid)), "{text}: of {pids:?} some are left");
    assert_eq!(files(&bench.site()), before, "{text}: the site is as it was");
}

/// Every file, all of them over one connection, and one of them over a last one.
fn serves(site: &Path, address: SocketAddr) -> Result<(), String> {
    let target =
        |file: &Path| format!("/{}", file.strip_prefix(site).expect("beneath it").display());
    let mut wire = Wire::connect(address, 0).map_err(|error| error.to_string())?;
    let all = files(site);
    for file in &all {
        let target = target(file);
        wire.get(&target, "")?;
        let (head, content) = wire.reply(false)?;
        let expected = fs::read(file).expect("a file");
        if head.status != 200 || content != expected {
            let (status, bytes) = (head.status, content.len());
            return Err(format!("{target}: {status}, {bytes} bytes for {}", expected.len()));
        }
    }
    let mut last = Wire::connect(address, 0).map_err(|error| error.to_string())?;
    last.get(&target(&all[0]), "Connection: close\r\n")?;
    last.reply(false)?;
    last.end()
}

fn seen_at_work(running: &Running, text: &str) {
    assert!(running.is_alive(), "{text}");
    assert!(!running.pids().is_empty(), "{text}");
    let server = Side { pids: running.pids(), ..Side::default() };
    let watch = Watch { server, client: Side::default() };
    let reading = Reading::take(&watch).expect("a reading");
    let server = reading.finish(&watch).expect("another one").server.processes;
    assert!(server.threads > 0 && server.pss_bytes.is_none_or(|bytes| bytes > 0), "{text}");
    let counters = running.counters().expect("its counters");
    let name = text.split(':').next().unwrap_or_default();
    if servers::architectures::architecture(name).is_some() {
        assert!(counters["replies"] > 0.0 && counters["workers"] > 0.0, "{text}: {counters:?}");
    } else {
        assert!(counters.is_empty(), "{text}");
    }
}

/// Beneath a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
