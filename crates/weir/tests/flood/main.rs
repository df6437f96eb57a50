//! In a flood: some are admitted and the others refused, whoever decides may fail, and afterwards
//! all are admitted again. This is a program of its own, because the clients of a flood take most
//! of a small machine, and other tests would be late beside them.
#![forbid(unsafe_code)]

mod gate;
mod handover;
mod knobs;
mod record;
mod sockets;
#[path = "../support/mod.rs"]
mod support;
mod workers;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use serde_json::Value;

use support::chosen::on_mechanisms_alone;
use support::combination::{Combination, Program};
use support::fixture::{DIGITS, Fixture};
use support::metrics::queues;
use support::rights;
use support::server::Server;
use support::wire::Wire;
use support::{PATIENCE, await_some, await_true};

/// Not where the site is: what is handed to the next program is told apart by what was said.
const FLAGS: &[&str] = &["--admin", "127.0.0.2:0"];
/// Threads are few enough to be all busy.
const THREADS: &[&str] = &["--threads", "4"];

/// Three times what can be answered where each takes 5 ms.
const RATE: &str = "600";
/// Twice that: each of two queues gets three times its share, also if half of the connections are
/// refused.
const RATE_TWICE: &str = "1200";

/// Clients who come, whether they are answered or not, until it is dropped.
struct Crowd(Child);

impl Crowd {
    fn new(to: SocketAddr) -> Self {
        Self::at_rate(to, RATE)
    }

    fn at_rate(to: SocketAddr, rate: &str) -> Self {
        let url = format!("http://{to}/digits.txt");
        let flags = ["--rate", rate, "--patience", "1", "--duration", "600"];
        let mut command = Command::new(Program::Weir.path());
        command.arg("load").arg(url).args(flags).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("the binary runs"))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Floods that are made at the same time. Each crowd asks hundreds of times in a second, so more of
/// them would keep a small machine from asking in time.
const SERVERS_AT_ONCE_MAX: usize = 12;

#[track_caller]
fn on_each(test: impl Fn(&Combination) + Sync) {
    if !rights::lacks_filters() {
        on_mechanisms_alone(Program::Laborious, test);
    }
}

fn flags(combination: &Combination) -> Vec<&'static str> {
    let threads = if combination.row["holder"] == "thread" { THREADS } else { &[] };
    [FLAGS, threads].concat()
}

/// What is told of a listening socket.
fn queue(admin: SocketAddr, at: SocketAddr) -> Value {
    let queues = queues(admin);
    let is_it = |queue: &&Value| queue["address"] == at.to_string();
    queues.as_array().and_then(|all| all.iter().find(is_it)).expect("the socket").clone()
}

/// What is told of the admission at the only one.
fn admission(admin: SocketAddr) -> Value {
    queues(admin)[0]["admission"].clone()
}

fn turn(admin: SocketAddr, knob: &str, value: &str) {
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    let line = format!("POST /set?knob={knob}&value={value} HTTP/1.1");
    let request = format!("{line}\r\nHost: {admin}\r\nX-Weir: 1\r\n\r\n");
    wire.send(request.as_bytes()).expect("sent");
    let (head, body) = wire.reply(false).expect("a reply");
    assert_eq!(head.status, 200, "{knob} {value}: {}", body.escape_ascii());
}

fn refuses(admission: &Value) -> bool {
    admission["flood"] == true && admission["share"].as_f64().is_some_and(|share| share < 1.0)
}

fn is_calm(admission: &Value) -> bool {
    admission["flood"] == false && admission["share"] == 1.0
}

/// A server in a flood, where it answers its operator, and who makes the flood.
fn flooded(combination: &Combination, site: &Fixture) -> (Server, SocketAddr, Crowd) {
    let mut server = combination.start(&site.root(), &flags(combination));
    let admin = server.await_admin();
    let crowd = Crowd::new(server.address);
    await_flood(combination, admin);
    (server, admin, crowd)
}

fn await_flood(combination: &Combination, admin: SocketAddr) {
    // Whoever has just taken over does not know at once how many come.
    let is_known = |told: &Value| told["offered"].as_f64() > told["capacity"].as_f64();
    let is_flood = |told: &Value| refuses(told) && is_known(told);
    let told = await_some(PATIENCE, || Some(admission(admin)).filter(is_flood));
    let told = told.unwrap_or_else(|| panic!("{combination}: no flood: {}", admission(admin)));
    assert!(told["why"].as_str().is_some_and(|why| why.starts_with("flood: ")), "{told}");
}

/// Each of many who connect gets through: nobody is refused whose hash is a certain one.
fn admits_all(to: SocketAddr) -> bool {
    admitted(to, 50) == 50
}

/// Opens `n` connections and counts those that the kernel completes.
fn admitted(to: SocketAddr, n: usize) -> usize {
    let clients: Vec<OwnedFd> = (0..n).map(|_| knock(to)).collect();
    are_admitted(&clients).into_iter().filter(|is_admitted| *is_admitted).count()
}

/// Which of these connections the kernel has completed.
fn are_admitted(clients: &[OwnedFd]) -> Vec<bool> {
    let is_in = |client: &OwnedFd| {
        let mut fds = [PollFd::new(client, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("polled") == 1
    };
    // On loopback most are connected when `connect` returns. A busy kernel connects some later;
    // those that are refused stay so, because the filter judges their next packet in the same way.
    let mut before = None;
    loop {
        let now = clients.iter().map(is_in).collect();
        if before.as_ref() == Some(&now) {
            return now;
        }
        before = Some(now);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Begins a connection.
fn knock(to: SocketAddr) -> OwnedFd {
    knock_from(SocketAddr::from(([0, 0, 0, 0], 0)), to)
}

/// Begins a connection from that address and port. Dropping the connection resets it, which frees
/// the port, unless another test just starts a process: until that executes its program, it holds a
/// copy of each socket of this one.
fn knock_from(from: SocketAddr, to: SocketAddr) -> OwnedFd {
    let begun = || match connecting(from, to) {
        Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => None,
        begun => Some(begun.unwrap_or_else(|errno| panic!("from {from} to {to}: {errno}"))),
    };
    await_some(PATIENCE, begun).unwrap_or_else(|| panic!("{from} is never free"))
}

fn connecting(from: SocketAddr, to: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let client = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_linger(&client, Some(Duration::ZERO))?;
    if !from.ip().is_unspecified() {
        sockopt::set_socket_reuseaddr(&client, true)?;
        bind(&client, &from)?;
    }
    match connect(&client, &to) {
        Err(Errno::INPROGRESS) => Ok(client),
        done => done.map(|()| client),
    }
}

fn check_calm(combination: &Combination, server: &Server, admin: SocketAddr) {
    let is_over = || {
        // Whoever comes is who makes it look.
        let _ = server.fetch("/digits.txt");
        is_calm(&admission(admin))
    };
    assert!(await_true(PATIENCE, is_over), "{combination}: {}", admission(admin));
    // So many that connect at once may be a flood themselves.
    let all = || is_over() && admits_all(server.address);
    assert!(await_true(PATIENCE, all), "{combination}: some are refused");
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
}

#[test]
fn some_are_refused_until_it_is_over() {
    let site = Fixture::new();
    on_each(|combination| {
        let mut server = combination.start(&site.root(), &flags(combination));
        let admin = server.await_admin();
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        let before = admission(admin);
        assert!(is_calm(&before), "{combination}: {before}");
        let crowd = Crowd::new(server.address);
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}
